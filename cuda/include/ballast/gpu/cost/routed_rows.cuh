// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/routed_rows.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/map_each.cuh>
#include <ballast/gpu/core/search.cuh>
#include <ballast/gpu/core/sort.cuh>
#include <ballast/gpu/core/workspace.cuh>

#include <bit>
#include <cstddef>
#include <cstdint>

/// @file
/// @brief Rows counted as a router sends them, on the device: loads of experts in segments, and the rows that a capacity drops.

namespace ballast::inline v0_2::gpu {

namespace detail {

// A block counts a chunk of the rows. The loads of consecutive segments are neighbours, so it counts as many segments at a time as its
// shared memory holds, and adds what it has counted to the loads. Experts beyond that memory are counted there at once. A row without an
// expert or a segment is bad, and not counted.
struct count_rows {
  static constexpr unsigned most_lanes = 256, ahead = 4;  // number of rows that a lane reads before it counts the first
  std::uint32_t const* expert_of;
  std::size_t rows, chunk;  // a chunk has fewer than 2^32 rows
  std::uint64_t const* offsets;
  std::uint64_t segments;
  std::uint32_t experts;
  std::uint32_t words;  // of shared memory
  std::uint64_t* loads;
  std::uint64_t* first_bad;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto const begin = b * chunk, end = rows - begin < chunk ? rows : begin + chunk;
    auto const together = std::uint64_t{experts < words ? words / (experts == 0 ? 1 : experts) : 1};
    auto const behind = first_above(offsets + 1, segments, std::uint64_t{end} - 1);  // the last segment, or one more than there are
    auto const early = segments != 0 && offsets[0] > begin;                          // rows before the first segment
    auto const first = !early ? begin : offsets[0] < end ? static_cast<std::size_t>(offsets[0]) : end;
    auto segment = first_above(offsets + 1, segments, std::uint64_t{first});
    for (auto at = first; at < end && segment < segments; segment += together) {
      auto const left = segments - segment, touched = segment < behind ? behind - segment + 1 : 1;
      auto const most = left < together ? left : together, some = touched < most ? touched : most;
      auto const upto = offsets[segment + some];
      auto const stop = upto < end ? upto < at ? at : static_cast<std::size_t>(upto) : end;
      if (at < stop) count(block, segment, some, at, stop);
      at = stop;
    }
    auto const known = segments == 0 ? 0 : offsets[segments];
    block.each([&](unsigned lane) {
      if (lane == 0 && (early || known < end)) atomic_min(*first_bad, early || known < begin ? begin : known);
    });
  }

 private:
  // Counts rows [at, stop) of `some` segments.
  template <class Block>
  BALLAST_HD void count(Block& block, std::uint64_t segment, std::uint64_t some, std::size_t at, std::size_t stop) const {
    auto* const local = block.template shared<std::uint32_t>();
    auto const all = some * experts, kept = all < words ? all : std::uint64_t{words};
    block.each([&](unsigned lane) {
      for (auto c = lane; c < kept; c += block.lanes()) local[c] = 0;
    });
    block.each([&](unsigned lane) {
      for (auto i = at + lane; i < stop; i += ahead * block.lanes()) {
        std::uint32_t read[ahead]{};
        for (unsigned k = 0; k < ahead && i + k * block.lanes() < stop; ++k) read[k] = expert_of[i + k * block.lanes()];
        for (unsigned k = 0; k < ahead && i + k * block.lanes() < stop; ++k) {
          auto const row = i + k * block.lanes();
          auto const own = some == 1 ? 0 : first_above(offsets + segment + 1, some - 1, std::uint64_t{row});
          auto const counter = own * experts + read[k];
          if (read[k] >= experts)
            atomic_min(*first_bad, row);
          else if (counter < kept)
            atomic_add(local[counter], std::uint32_t{1});
          else
            atomic_add(loads[segment * experts + counter], std::uint64_t{1});
        }
      }
    });
    block.each([&](unsigned lane) {
      for (auto c = lane; c < kept; c += block.lanes())
        if (local[c] != 0) atomic_add(loads[segment * experts + c], std::uint64_t{local[c]});
    });
  }
};

// Finds offsets that do not rise from 0 to the number of rows.
struct check_segment {
  std::uint64_t const* offsets;
  std::uint64_t segments, rows;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t s) const {
    auto const rises = s == 0 ? offsets[0] == 0 : offsets[s - 1] <= offsets[s];
    if (!rises || (s == segments && offsets[s] != rows)) atomic_min(*first_bad, rows);
  }
};

// The key that puts rows in ascending order of their experts, if keys are sorted to descend.
struct key_row {
  std::uint32_t experts;
  std::uint64_t* first_bad;
  template <class Key>
  BALLAST_HD void operator()(std::size_t i, std::uint32_t expert, Key& key, std::uint32_t& row) const {
    auto const known = expert < experts;
    key = static_cast<Key>(known ? experts - 1 - expert : 0);
    row = static_cast<std::uint32_t>(i);
    if (!known) atomic_min(*first_bad, i);
  }
};

// Finds the rows of an expert among the sorted keys.
template <class Key>
struct find_expert {
  Key const* keys;
  std::uint32_t rows, experts;
  std::int64_t* loads;
  std::uint32_t* begin;
  BALLAST_HD void operator()(std::size_t expert) const {
    auto const key = experts - 1 - static_cast<std::uint32_t>(expert);
    auto const first = first_where(rows, [&](std::uint32_t p) { return keys[p] <= key; });
    begin[expert] = first;
    loads[expert] = first_where(rows - first, [&](std::uint32_t p) { return keys[first + p] < key; });
  }
};

// The i-th row in the order of experts is this far behind the first of its expert.
template <class Key>
struct clip_row {
  Key const* keys;
  std::uint32_t const* rows;
  std::uint32_t const* begin;
  std::uint32_t experts, capacity;
  std::uint32_t* slot_of;
  BALLAST_HD void operator()(std::size_t i) const {
    auto const place = static_cast<std::uint32_t>(i) - begin[experts - 1 - keys[i]];
    slot_of[rows[i]] = place < capacity ? place : dropped_row;
  }
};

}  // namespace detail

/// @brief Counts the rows of each expert in each segment; twin of `ballast::segment_loads`. One segment makes a histogram.
///
/// @tparam On  the backend
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param expert_of  the expert of each row
/// @param rows       number of rows
/// @param offsets    `segments` + 1 entries, which rise from 0 to `rows`
/// @param segments   number of segments
/// @param experts    number of experts
/// @param loads      array of `segments * experts` entries: the rows of expert e in segment s at s * experts + e
/// @param first_bad  one word: the first row without an expert or a segment; `rows` if only the offsets are wrong; `~0` if nothing is.
/// Other
///                   rows are counted all the same
/// @return the error, if any
/// @par Complexity
/// O(rows log(segments) + segments experts). A block counts 4096 rows or more in shared memory, with 8192 counters for experts of
/// neighbouring segments, and adds them up in `loads`: 4 bytes are read per row. Rows of one segment are not searched for it.
/// @par Determinism
/// Sums of integers.
template <class On>
[[nodiscard]] typename On::error_type segment_loads(On on, void* temp, std::size_t& bytes, std::uint32_t const* expert_of, std::size_t rows,
                                                    std::uint64_t const* offsets, std::size_t segments, std::uint32_t experts,
                                                    std::int64_t* loads, std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (temp == nullptr) return bytes = 1, error_type{};
  if (auto const error = on.fill(first_bad, 0xff, sizeof(std::uint64_t)); error != error_type{}) return error;
  if (auto const error = on.fill(loads, 0, segments * experts * sizeof(std::int64_t)); error != error_type{}) return error;
  auto const checked = on.for_each(segments + 1, detail::check_segment{offsets, segments, rows, first_bad});
  if (checked != error_type{}) return checked;
  auto const all = segments * experts;
  constexpr std::size_t least = 4096, most = 2048, room = 8192;  // rows of a block; number of blocks; counters of a block
  auto const chunk = rows / most < least ? least : rows / most + 1, words = all < room ? all : room;
  return on.blocks(divide_up(rows, chunk), detail::count_rows::most_lanes, words * sizeof(std::uint32_t),
                   detail::count_rows{expert_of, rows, chunk, offsets, segments, experts, static_cast<std::uint32_t>(words),
                                      reinterpret_cast<std::uint64_t*>(loads), first_bad});
}

/// @brief Gives each row a slot at its expert until the expert is full; twin of `ballast::clip_rows`.
///
/// @tparam On  the backend
/// @param on         the backend
/// @param temp       scratch memory, or null to get its size
/// @param bytes      size of `temp` in bytes; set if `temp` is null
/// @param expert_of  the expert of each row
/// @param rows       number of rows, below 2^32 - 1
/// @param experts    number of experts, at least 1
/// @param capacity   rows that an expert takes
/// @param loads      array of one entry for each expert: the rows that were sent to it, dropped ones included
/// @param slot_of    array of one entry for each row: its place among the rows that its expert keeps, or `dropped_row`
/// @param first_bad  one word: the first row without an expert; `~0` if there is none. The results are unspecified unless it is `~0`
/// @return the error, if any; `invalid_value` if there are too many rows, no experts, or too few bytes
/// @par Complexity
/// A stable sort of the rows by expert, a pass over them before and one behind it, and two searches for each expert. Bytes moved per row:
/// 10 for the keys (12 above 65536 experts), 12 (16) for each 8 bits of a key, 2 (4) to count its digits, 10 (12) for the slots.
/// @par Determinism
/// Slots follow the order of the rows, as on the host.
template <class On>
[[nodiscard]] typename On::error_type clip_rows(On on, void* temp, std::size_t& bytes, std::uint32_t const* expert_of, std::size_t rows,
                                                std::uint32_t experts, std::uint32_t capacity, std::int64_t* loads, std::uint32_t* slot_of,
                                                std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (rows >= dropped_row || experts == 0) return On::invalid_value;
  auto const clip = [&]<class Key>(Key) {
    workspace cut(temp);
    auto* const keys = cut.take<Key>(rows);
    auto* const sorted_keys = cut.take<Key>(rows);
    auto* const order = cut.take<std::uint32_t>(rows);
    auto* const sorted = cut.take<std::uint32_t>(rows);
    auto* const begin = cut.take<std::uint32_t>(experts);
    auto const sort = [&](void* room, std::size_t& need) {
      auto const bits = experts == 1 ? 1 : static_cast<int>(std::bit_width(experts - 1));
      return on.sort_descending(room, need, keys, sorted_keys, order, sorted, rows, bits);
    };
    auto room = cut.finish<On>(bytes, sort);
    if (room.ends) return room.error;
    auto error = on.fill(first_bad, 0xff, sizeof(std::uint64_t));
    if (error == error_type{}) error = map_each(on, rows, expert_of, detail::key_row{experts, first_bad}, keys, order);
    if (error == error_type{}) error = sort(room.memory, room.bytes);
    if (error == error_type{})
      error = on.for_each(experts, detail::find_expert<Key>{sorted_keys, static_cast<std::uint32_t>(rows), experts, loads, begin});
    if (error == error_type{}) error = on.for_each(rows, detail::clip_row<Key>{sorted_keys, sorted, begin, experts, capacity, slot_of});
    return error;
  };
  return experts <= 65536 ? clip(std::uint16_t{}) : clip(std::uint32_t{});
}

/// @brief As the overload with `temp`, with scratch memory from the backend; waits for the results.
/// @param on the backend @param expert_of the expert of each row @param rows number of rows @param offsets where segments begin
/// @param segments number of segments @param experts number of experts
/// @return the rows of each expert in each segment, on the device
/// @throws gpu_error if the backend reports an error
/// @throws invalid_input as the host twin, with the same message
template <class On>
[[nodiscard]] array<std::int64_t, On> segment_loads(On on, std::uint32_t const* expert_of, std::size_t rows, std::uint64_t const* offsets,
                                                    std::size_t segments, std::uint32_t experts) {
  ballast::detail::require_experts({}, experts);
  array<std::int64_t, On> out(on, segments * experts);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "segment_loads", [&](void* temp, std::size_t& bytes) {
    return segment_loads(on, temp, bytes, expert_of, rows, offsets, segments, experts, out.data(), bad.data());
  });
  if (fetch_one(on, bad.data()) != none_bad)
    static_cast<void>(ballast::segment_loads(fetch(on, expert_of, rows), fetch(on, offsets, segments + 1), experts));
  return out;
}

/// @brief As the overload with `temp`, with scratch memory from the backend; waits for the results.
/// @param on the backend @param expert_of the expert of each row @param rows number of rows @param experts number of experts
/// @param capacity rows that an expert takes @param loads array of one entry for each expert
/// @param slot_of array of one entry for each row
/// @throws gpu_error if the backend reports an error
/// @throws invalid_input as the host twin, with the same message
template <class On>
void clip_rows(On on, std::uint32_t const* expert_of, std::size_t rows, std::uint32_t experts, std::uint32_t capacity, std::int64_t* loads,
               std::uint32_t* slot_of) {
  ballast::detail::require_experts({}, experts);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "clip_rows", [&](void* temp, std::size_t& bytes) {
    return clip_rows(on, temp, bytes, expert_of, rows, experts, capacity, loads, slot_of, bad.data());
  });
  if (fetch_one(on, bad.data()) != none_bad) static_cast<void>(ballast::clip_rows(fetch(on, expert_of, rows), experts, capacity));
}

}  // namespace ballast::inline v0_2::gpu
