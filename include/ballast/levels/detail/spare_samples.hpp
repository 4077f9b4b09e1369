// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/fold_values.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Spare samples by length; finds the longest remaining sample up to a given length.
template <index_type Index>
class spare_samples {
 public:
  spare_samples(std::span<Index const> spare, std::span<std::int64_t const> length) {
    std::vector<std::int64_t> lengths(spare.size());
    for (std::size_t j = 0; j < spare.size(); ++j) lengths[j] = length[static_cast<std::size_t>(spare[j])];
    classes_ = ballast::fold(lengths);
    next_.reserve(classes_.lengths.size());
    std::size_t first = 0;
    for (auto const count : classes_.counts) next_.push_back(std::exchange(first, first + static_cast<std::size_t>(count)));
    order_.resize(spare.size());
    auto at = next_;
    if (!lengths.empty() && classes_.lengths.back() <= longest_for_a_table(lengths.size())) {
      std::vector<std::uint32_t> class_of(static_cast<std::size_t>(classes_.lengths.back()) + 1);
      for (std::size_t c = 0; c < classes_.lengths.size(); ++c)
        class_of[static_cast<std::size_t>(classes_.lengths[c])] = static_cast<std::uint32_t>(c);
      for (std::size_t j = 0; j < spare.size(); ++j) order_[at[class_of[static_cast<std::size_t>(lengths[j])]]++] = spare[j];
    } else {
      for (std::size_t j = 0; j < spare.size(); ++j) order_[at[up_to(lengths[j]) - 1]++] = spare[j];
    }
    below_.resize(classes_.lengths.size() + 1);
    std::iota(below_.begin(), below_.end(), std::size_t{0});
  }
  /// Moves into `pack` as many samples as fit, longest first; returns the remaining room.
  std::int64_t fill(std::int64_t room, std::vector<Index>& pack) {
    for (auto c = find(up_to(room)); c > 0;) {
      auto const length = classes_.lengths[c - 1];
      auto& left = classes_.counts[c - 1];
      auto const take = (std::min)(left, static_cast<std::uint64_t>(room / length));
      for (std::uint64_t k = 0; k < take; ++k) pack.push_back(order_[next_[c - 1]++]);
      left -= take;
      room -= static_cast<std::int64_t>(take) * length;
      if (left == 0) below_[c] = c - 1;
      c = find((std::min)(c, up_to(room)));
    }
    return room;
  }
  [[nodiscard]] bool empty() { return find(classes_.lengths.size()) == 0; }

 private:
  /// The number of classes of at most `length`.
  [[nodiscard]] std::size_t up_to(std::int64_t length) const {
    return static_cast<std::size_t>(std::upper_bound(classes_.lengths.begin(), classes_.lengths.end(), length) - classes_.lengths.begin());
  }
  /// The last of the first `c` classes with remaining samples, counted from 1; 0 = none. Shortens the path by halving.
  [[nodiscard]] std::size_t find(std::size_t c) {
    while (below_[c] != c) c = below_[c] = below_[below_[c]];
    return c;
  }
  histogram classes_;
  std::vector<std::size_t> next_, below_;
  std::vector<Index> order_;
};

}  // namespace ballast::inline v0_2::detail
