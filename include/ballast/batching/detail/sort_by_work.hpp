// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The indices of values that are not negative, largest value first; of equal values the lower index first. Many values are sorted digit by
/// digit, which takes a fraction of the time of comparisons.
inline std::vector<std::uint32_t> sort_by_work(std::span<std::int64_t const> work) {
  constexpr std::size_t few = 512;
  constexpr int digit = 11;
  constexpr std::size_t mask = (1U << digit) - 1;
  using entry = std::pair<std::uint64_t, std::uint32_t>;  // complement of the value: ascending is largest first
  std::int64_t most = 0;
  for (auto const w : work) most = (std::max)(most, w);
  std::vector<entry> entries(work.size());
  for (std::size_t i = 0; i < work.size(); ++i) entries[i] = {static_cast<std::uint64_t>(most - work[i]), static_cast<std::uint32_t>(i)};
  if (work.size() <= few) {
    std::sort(entries.begin(), entries.end());
  } else {
    std::vector<entry> other(work.size());
    for (int shift = 0; shift < 63 && most >> shift != 0; shift += digit) {
      std::array<std::uint32_t, mask + 2> begin{};
      for (auto const& e : entries) ++begin[(e.first >> shift & mask) + 1];
      for (std::size_t d = 1; d < begin.size(); ++d) begin[d] += begin[d - 1];
      for (auto const& e : entries) other[begin[e.first >> shift & mask]++] = e;
      entries.swap(other);
    }
  }
  std::vector<std::uint32_t> order(work.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = entries[i].second;
  return order;
}

}  // namespace ballast::inline v0_2::detail
