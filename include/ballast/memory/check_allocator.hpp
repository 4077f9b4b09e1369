// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>
#include <ballast/memory/replay_allocator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `check_allocator`: the validator of `replay_allocator`. It shares no code with the allocator.

namespace ballast::inline v0_2 {

/// @brief The rule that a replay breaks; `index` is the buffer unless something else is said.
struct allocator_fault : common_fault {
  static constexpr rule wrong_size{"there are {found} blocks for {expected} buffers"};
  static constexpr rule wrong_status{"the status does not suit buffer {index}, the one that failed, or that buffer has a block"};
  static constexpr rule wrong_reservation{
      "reservation {index} takes what is taken, gives back what is not or is in use, or is out of order"};
  static constexpr rule over_capacity{"reservation {index} exceeds the capacity"};
  static constexpr rule too_small{"the block of buffer {index} is too small, or the buffer has 0 bytes and needs none"};
  static constexpr rule outside{"the block of buffer {index} is not inside of what its segment has reserved"};
  static constexpr rule overlap{"the block of buffer {index} overlaps another one in use"};
  static constexpr rule misaligned{"the block of buffer {index} does not begin and end at multiples of 512"};
  static constexpr rule wrong_peak{"peak {index} of live, allocated and reserved bytes is {expected}, not {found}"};
  static constexpr rule wrong_retries{"there are {found} retries, but memory was given back {expected} times"};
};

namespace detail {

// Disjoint intervals of addresses (segment, offset), each with its end. Neighbours are joined where that is asked for.
struct address_intervals {
  using address = std::pair<std::uint32_t, std::int64_t>;
  std::map<address, std::int64_t> ends;

  // Whether an interval overlaps one of these.
  [[nodiscard]] bool overlaps(std::uint32_t segment, std::int64_t begin, std::int64_t end) const {
    auto const after = ends.lower_bound({segment, end});
    if (after == ends.begin()) return false;
    auto const& last = *std::prev(after);
    return last.first.first == segment && last.second > begin;
  }
  // The interval that contains another one, or the end.
  [[nodiscard]] auto around(std::uint32_t segment, std::int64_t begin, std::int64_t end) {
    auto const after = ends.upper_bound({segment, begin});
    if (after == ends.begin()) return ends.end();
    auto const found = std::prev(after);
    return found->first.first == segment && found->second >= end ? found : ends.end();
  }
  void add_joined(std::uint32_t segment, std::int64_t begin, std::int64_t end) {
    if (auto const right = ends.find({segment, end}); right != ends.end()) {
      end = right->second;
      ends.erase(right);
    }
    if (auto const after = ends.lower_bound({segment, begin}); after != ends.begin()) {
      auto const left = std::prev(after);
      if (left->first.first == segment && left->second == begin) {
        left->second = end;
        return;
      }
    }
    ends[{segment, begin}] = end;
  }
};

// What a replay holds while its events are read again.
template <class = when_called>
class allocator_rules {
 public:
  explicit allocator_rules(std::int64_t capacity) : capacity_(capacity) {}

  [[nodiscard]] rule reserve(reservation const& r) {
    constexpr auto farthest = std::int64_t{1} << 62;
    if (r.bytes == 0 || r.bytes < -farthest || r.bytes > farthest || r.offset < 0 || r.offset >= farthest)
      return allocator_fault::wrong_reservation;
    auto const end = r.offset + (r.bytes < 0 ? -r.bytes : r.bytes);
    if (r.bytes > 0) {
      if (mapped_.overlaps(r.segment, r.offset, end)) return allocator_fault::wrong_reservation;
      if (r.bytes > capacity_ - reserved_) return allocator_fault::over_capacity;
      mapped_.add_joined(r.segment, r.offset, end);
      peaks[2] = (std::max)(peaks[2], reserved_ += r.bytes);
      return allocator_fault::none;
    }
    auto const found = mapped_.around(r.segment, r.offset, end);
    if (found == mapped_.ends.end() || used_.overlaps(r.segment, r.offset, end)) return allocator_fault::wrong_reservation;
    reserved_ += r.bytes;
    auto const [at, last] = *found;
    mapped_.ends.erase(found);
    if (at.second < r.offset) mapped_.ends[at] = r.offset;
    if (end < last) mapped_.ends[{r.segment, end}] = last;
    return allocator_fault::none;
  }
  [[nodiscard]] rule place(std::int64_t bytes, allocation const& b) {
    if (b.size < bytes || (bytes == 0 && b.size != 0)) return allocator_fault::too_small;
    if (bytes == 0) return allocator_fault::none;
    if (b.offset % 512 != 0 || b.size % 512 != 0) return allocator_fault::misaligned;
    if (b.offset < 0 || b.size > (std::numeric_limits<std::int64_t>::max)() - b.offset) return allocator_fault::outside;
    auto const end = b.offset + b.size;
    if (mapped_.around(b.segment, b.offset, end) == mapped_.ends.end()) return allocator_fault::outside;
    if (used_.overlaps(b.segment, b.offset, end)) return allocator_fault::overlap;
    used_.ends[{b.segment, b.offset}] = end;
    peaks[0] = (std::max)(peaks[0], live_ += bytes);
    peaks[1] = (std::max)(peaks[1], allocated_ += b.size);
    return allocator_fault::none;
  }
  void free(std::int64_t bytes, allocation const& b) {
    if (bytes == 0 || used_.ends.erase({b.segment, b.offset}) == 0) return;
    live_ -= bytes;
    allocated_ -= b.size;
  }

  std::int64_t peaks[3] = {};  // live, allocated, reserved

 private:
  address_intervals mapped_, used_;
  std::int64_t capacity_, live_ = 0, allocated_ = 0, reserved_ = 0;
};

}  // namespace detail

/// @brief Checks that a replay places every buffer in reserved memory that no other buffer uses at that time, and that its peaks add up.
///
/// A buffer before which memory was given back is a retry, and so is one that failed; with `max_split_size`, a buffer before which only
/// blocks of at least that size were given back may be one or not. It does not check that the allocator's rules were followed, nor that a
/// buffer that failed could not be placed.
///
/// @param replay   the result of `replay_allocator`
/// @param buffers  the buffers that it was given
/// @param options  the settings that it was given
/// @return the first broken rule
/// @par Complexity
/// O((n + reservations) log n).
template <class = when_called>
[[nodiscard]] inline verdict check_allocator(allocator_replay const& replay, std::span<buffer const> buffers,
                                             caching_allocator_options const& options) {
  auto const n = buffers.size();
  if (replay.blocks.size() != n) return {allocator_fault::wrong_size, 0, replay.blocks.size(), n};
  auto const infeasible = replay.status == status::infeasible;
  if (infeasible != (replay.failed < n) || (infeasible && replay.blocks[replay.failed].size != 0))
    return {allocator_fault::wrong_status, replay.failed};
  std::vector<std::pair<std::int64_t, std::uint64_t>> events;  // i: buffer i is freed; n + i: it is allocated
  for (std::size_t i = 0; i < n; ++i) {
    events.emplace_back(buffers[i].upper, i);
    events.emplace_back(buffers[i].lower, n + i);
  }
  std::sort(events.begin(), events.end());
  detail::allocator_rules<> rules(options.capacity);
  std::size_t next = 0;
  std::uint64_t least = infeasible ? 1 : 0, most = least;  // retries
  for (auto const& event : events) {
    auto const i = event.second % n;
    if (event.second < n) {
      rules.free(buffers[i].size, replay.blocks[i]);
      continue;
    }
    bool given = false, lesser = false;
    for (; next < replay.reservations.size() && replay.reservations[next].buffer == i; ++next) {
      auto const& r = replay.reservations[next];
      if (auto const fault = rules.reserve(r); fault != allocator_fault::none) return {fault, next};
      given = given || r.bytes < 0;
      lesser = lesser || (r.bytes < 0 && (options.expandable_segments || -r.bytes < options.max_split_size));
    }
    if (i == replay.failed) break;
    most += given ? 1 : 0;
    least += lesser ? 1 : 0;
    if (auto const fault = rules.place(buffers[i].size, replay.blocks[i]); fault != allocator_fault::none) return {fault, i};
  }
  if (next != replay.reservations.size()) return {allocator_fault::wrong_reservation, next};
  std::int64_t const found[] = {replay.live_peak, replay.peak_allocated, replay.peak_reserved};
  for (std::size_t k = 0; k < 3; ++k)
    if (found[k] != rules.peaks[k]) return {allocator_fault::wrong_peak, k, found[k], rules.peaks[k]};
  if (replay.retries < least || replay.retries > most) return {allocator_fault::wrong_retries, 0, replay.retries, most};
  return {};
}

}  // namespace ballast::inline v0_2
