// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/memory/buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <vector>

/// @file
/// @brief The validator of layouts. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief The rule that a layout breaks.
struct layout_fault : common_fault {
  static constexpr rule wrong_size{"there are {found} offsets, and should be {expected}"};
  static constexpr rule negative{"offsets[{index}] = {found} is negative"};
  static constexpr rule misaligned{"offsets[{index}] = {found} is not a multiple of the alignment {expected}"};
  static constexpr rule wrong_address{"offsets[{index}] = {found} is not the fixed address {expected}"};
  static constexpr rule overlap{"offsets[{index}] = {found} overlaps an earlier buffer, which ends at {expected}"};
  static constexpr rule wrong_height{"height.value = {found}, but the offsets make it {expected}"};
  static constexpr rule over_capacity{"height.value = {found} exceeds the capacity {expected}"};
};

namespace detail {

/// Where a buffer ends, or the greatest integer.
[[nodiscard]] constexpr std::int64_t end_of(buffer const& b, std::int64_t offset) noexcept {
  return (std::min)(offset, (std::numeric_limits<std::int64_t>::max)() - b.size) + b.size;
}

/// Whether any two buffers overlap in time and address.
template <class = when_called>
[[nodiscard]] bool any_overlap(std::span<buffer const> buffers, std::span<std::int64_t const> offsets) {
  struct event {
    std::int64_t time;
    bool start;  // what ends at a time makes room for what starts then
    std::size_t index;
  };
  std::vector<event> events;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size == 0) continue;
    events.push_back({buffers[i].lower, true, i});
    events.push_back({buffers[i].upper, false, i});
  }
  std::sort(events.begin(), events.end(),
            [](auto const& a, auto const& b) { return std::tie(a.time, a.start, a.index) < std::tie(b.time, b.start, b.index); });
  std::map<std::int64_t, std::int64_t> in_use;  // from begin to end
  for (auto const& e : events) {
    auto const begin = offsets[e.index], end = end_of(buffers[e.index], begin);
    if (!e.start) {
      in_use.erase(begin);
      continue;
    }
    auto const above = in_use.lower_bound(begin);
    if (above != in_use.end() && above->first < end) return true;
    if (above != in_use.begin() && std::prev(above)->second > begin) return true;
    in_use.emplace_hint(above, begin, end);
  }
  return false;
}

/// The first buffer that overlaps an earlier one, and the end of that one.
template <class = when_called>
[[nodiscard]] verdict first_overlap(std::span<buffer const> buffers, std::span<std::int64_t const> offsets) {
  for (std::size_t i = 0; i < buffers.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      auto const &a = buffers[i], &b = buffers[j];
      auto const in_time = a.lower < b.upper && b.lower < a.upper;
      auto const end = end_of(b, offsets[j]);
      if (a.size > 0 && b.size > 0 && in_time && offsets[i] < end && offsets[j] < end_of(a, offsets[i]))
        return {layout_fault::overlap, i, offsets[i], end};
    }
  return {};
}

}  // namespace detail

/// @brief Checks a layout against its definition.
///
/// Every buffer has an address that is not negative, a multiple of its alignment and its fixed address if it has one. Buffers in use at the
/// same time do not overlap. The height follows from the offsets, is within the capacity, and is not below its lower bound.
///
/// @param buffers   the buffers
/// @param layout    a layout of them, or the statement that there is none
/// @param capacity  the largest height, in bytes; 0: any
/// @throws invalid_input if a buffer is invalid: it does not end behind its begin, has a negative size or an alignment below 1
/// @return the first broken rule, in the order of `layout_fault` (those of single offsets buffer by buffer); its index is the buffer
/// @par Complexity
/// O(n log n); O(n^2) to name the first overlap where there is one.
template <class = when_called>
[[nodiscard]] verdict check_layout(std::span<buffer const> buffers, memory_layout const& layout, std::int64_t capacity = 0) {
  detail::check_buffers(buffers);
  auto const& offsets = layout.offsets;
  auto const count = layout.status == status::feasible ? buffers.size() : 0;
  if (offsets.size() != count) return {layout_fault::wrong_size, 0, offsets.size(), count};
  std::int64_t height = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto const& b = buffers[i];
    if (offsets[i] < 0) return {layout_fault::negative, i, offsets[i], 0};
    if (offsets[i] % b.alignment != 0) return {layout_fault::misaligned, i, offsets[i], b.alignment};
    if (b.fixed >= 0 && offsets[i] != b.fixed) return {layout_fault::wrong_address, i, offsets[i], b.fixed};
    height = (std::max)(height, detail::end_of(b, offsets[i]));
  }
  if (count > 0 && detail::any_overlap(buffers, offsets)) return detail::first_overlap(buffers, offsets);
  auto const& h = layout.height;
  if (h.value != height) return {layout_fault::wrong_height, 0, h.value, height};
  if (layout.status == status::feasible) {
    if (capacity > 0 && height > capacity) return {layout_fault::over_capacity, 0, height, capacity};
    if (h.lower_bound > height) return {layout_fault::wrong_bound, 0, h.lower_bound, height};
  } else if (layout.status == status::infeasible && layout.bound != layout_bound::fixed_addresses && h.lower_bound <= capacity) {
    return {layout_fault::wrong_bound, 0, h.lower_bound, capacity};
  }
  return {};
}

}  // namespace ballast::inline v0_2
