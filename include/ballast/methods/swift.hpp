// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/packing/best_fit.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief `swift::pack_in_windows`: packs as ms-swift does, a window of samples at a time.

namespace ballast::inline v0_2::swift {

/// @brief Packs windows of samples by best-fit decreasing, each on its own; the pack opened last is taken apart and goes into the next.
///
/// A baseline: `ballast::pack` sees all samples at once, needs fewer packs and proves how few there could be.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths   sample lengths in tokens, each at least 1; may be empty
/// @param capacity  most tokens of a pack
/// @param window    samples that join those carried over; ms-swift's constant is 1,000
/// @return packs, window after window, in the order they were opened; the members of a pack are sorted by length, longest first
/// @throws invalid_input if the window is 0, or a length is not positive or above the capacity
/// @par Complexity
/// O(n log window).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// ms-swift 4.6, swift/dataset/packing.py with PACKING_BATCH_SIZE = 1000, which calls the package binpacking; equal lengths keep their
/// order here.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] groups<Index> pack_in_windows(R const& lengths, std::int64_t capacity, std::size_t window = 1000) {
  require(window > 0, [] { return "window = 0 must be positive"; });
  auto const length_at = read_by_position(lengths);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  groups<Index> packs;
  std::vector<std::pair<std::int64_t, Index>> samples;  // those carried over, then the window
  std::vector<std::int64_t> tokens;
  std::vector<Index> members;
  for (std::size_t first = 0; first < n; first += window) {
    auto const last = first + (std::min)(window, n - first);
    for (auto i = first; i < last; ++i) samples.emplace_back(length_at[i], static_cast<Index>(i));
    std::sort(samples.begin(), samples.end(),
              [](auto const& a, auto const& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    tokens.clear();
    for (auto const& s : samples) tokens.push_back(s.first);
    auto const found = best_fit<Index>(tokens, {.capacity = capacity}).packs;
    auto const kept = found.size() - (last == n ? 0 : 1);
    for (std::size_t p = 0; p < kept; ++p) {
      members.clear();
      for (auto const k : found[p]) members.push_back(samples[k].second);
      packs.push_back(members);
    }
    std::vector<std::pair<std::int64_t, Index>> carried;
    for (auto p = kept; p < found.size(); ++p)
      for (auto const k : found[p]) carried.push_back(samples[k]);
    samples = std::move(carried);
  }
  return packs;
}

}  // namespace ballast::inline v0_2::swift
