// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/cost/routed_rows.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/scan.cuh>
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

// Counts row i at its expert and segment. A row without either is bad, and not counted.
struct count_row {
  std::uint32_t const* expert_of;
  std::uint64_t const* offsets;
  std::uint64_t segments;
  std::uint32_t experts;
  std::uint64_t* loads;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t i) const {
    auto const expert = expert_of[i];
    auto const segment = first_above(offsets + 1, segments, i);
    if (expert >= experts || segment == segments)
      atomic_min(*first_bad, i);
    else
      atomic_add(loads[segment * experts + expert], 1);
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
  std::uint32_t const* expert_of;
  std::uint32_t experts;
  std::uint64_t* loads;
  std::uint32_t* keys;
  std::uint32_t* rows;
  std::uint64_t* first_bad;
  BALLAST_HD void operator()(std::size_t i) const {
    auto const expert = expert_of[i];
    auto const known = expert < experts;
    keys[i] = known ? experts - 1 - expert : 0;
    rows[i] = static_cast<std::uint32_t>(i);
    atomic_add(loads[known ? expert : experts - 1], 1);
    if (!known) atomic_min(*first_bad, i);
  }
};

// The i-th row in the order of experts is this far behind the first of its expert.
struct clip_row {
  std::uint32_t const* keys;
  std::uint32_t const* rows;
  std::uint64_t const* begin;
  std::uint32_t experts, capacity;
  std::uint32_t* slot_of;
  BALLAST_HD void operator()(std::size_t i) const {
    auto const place = i - begin[experts - 1 - keys[i]];
    slot_of[rows[i]] = place < capacity ? static_cast<std::uint32_t>(place) : dropped_row;
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
/// O(rows log(segments) + segments experts), an atomic addition for each row.
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
  return on.for_each(rows, detail::count_row{expert_of, offsets, segments, experts, reinterpret_cast<std::uint64_t*>(loads), first_bad});
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
/// A stable sort of the rows by expert, and three passes over them.
/// @par Determinism
/// Slots follow the order of the rows, as on the host.
template <class On>
[[nodiscard]] typename On::error_type clip_rows(On on, void* temp, std::size_t& bytes, std::uint32_t const* expert_of, std::size_t rows,
                                                std::uint32_t experts, std::uint32_t capacity, std::int64_t* loads, std::uint32_t* slot_of,
                                                std::uint64_t* first_bad) {
  using error_type = typename On::error_type;
  if (rows >= dropped_row || experts == 0) return On::invalid_value;
  auto* const counts = reinterpret_cast<std::uint64_t*>(loads);
  auto const bits = experts == 1 ? 1 : static_cast<int>(std::bit_width(experts - 1));
  workspace cut(temp);
  auto* const keys = cut.take<std::uint32_t>(rows);
  auto* const sorted_keys = cut.take<std::uint32_t>(rows);
  auto* const order = cut.take<std::uint32_t>(rows);
  auto* const sorted = cut.take<std::uint32_t>(rows);
  auto* const begin = cut.take<std::uint64_t>(experts);
  auto const sort = [&](void* room, std::size_t& need) {
    return on.sort_descending(room, need, keys, sorted_keys, order, sorted, rows, bits);
  };
  auto const sum = [&](void* room, std::size_t& need) { return on.exclusive_sum(room, need, counts, begin, experts, std::uint64_t{0}); };
  auto room = cut.finish<On>(bytes, sort, sum);
  if (room.ends) return room.error;
  if (auto const error = on.fill(first_bad, 0xff, sizeof(std::uint64_t)); error != error_type{}) return error;
  if (auto const error = on.fill(loads, 0, experts * sizeof(std::int64_t)); error != error_type{}) return error;
  if (auto const error = on.for_each(rows, detail::key_row{expert_of, experts, counts, keys, order, first_bad}); error != error_type{})
    return error;
  if (auto const error = sort(room.memory, room.bytes); error != error_type{}) return error;
  if (auto const error = sum(room.memory, room.bytes); error != error_type{}) return error;
  return on.for_each(rows, detail::clip_row{sorted_keys, sorted, begin, experts, capacity, slot_of});
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
