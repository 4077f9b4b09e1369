// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/memory/detail/layout_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Which of several pieces is tried first.
template <class = when_called>
class value_order {
 public:
  value_order(layout_problem<> const& problem, std::vector<std::int64_t> const& loads, std::uint64_t seed)
      : problem_(problem), generator_(seed), rank_(problem.pieces.size()) {
    for (auto const& p : problem.pieces) heaviest_.push_back(*std::max_element(loads.begin() + p.first, loads.begin() + p.last));
  }
  void guide(std::vector<std::int64_t> const& starts) { guide_ = starts; }
  /// The order of the run of this number: by area, or by the guide in every second run.
  void sort(std::uint64_t number) {
    if (number % 2 == 1 && !guide_.empty())
      order_by_guide(number >= 6);
    else
      order_by_area(number >= 3);
  }
  [[nodiscard]] std::uint32_t rank(std::uint32_t i) const { return rank_[i]; }

 private:
  /// A factor of a value: 1, or a draw from 3/4 to 5/4; in 1 / 1024.
  [[nodiscard]] std::uint64_t factor(bool drawn) { return drawn ? 768 + uniform_below(512, generator_) : 1024; }

  /// Pieces that take much time and room go first.
  void order_by_area(bool drawn) {
    struct value {
      std::uint64_t span;
      wide area;
    };
    std::vector<value> values(rank_.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto const& p = problem_.pieces[i];
      auto const span = std::uint64_t{p.last - p.first};
      values[i].span = span * factor(drawn);
      values[i].area = multiply(span * factor(drawn), static_cast<std::uint64_t>(p.size));
    }
    rank_by([&](auto a, auto b) {
      if (values[a].span != values[b].span) return values[a].span > values[b].span;
      if (values[a].area != values[b].area) return values[b].area < values[a].area;
      return heaviest_[a] != heaviest_[b] ? heaviest_[a] > heaviest_[b] : a < b;
    });
  }
  /// As in the best layout so far: what is lowest there goes first.
  void order_by_guide(bool drawn) {
    std::vector<wide> values(rank_.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = multiply(static_cast<std::uint64_t>(guide_[i]), factor(drawn));
    rank_by([&](auto a, auto b) { return values[a] == values[b] ? a < b : values[a] < values[b]; });
  }
  template <class Less>
  void rank_by(Less const& less) {
    std::vector<std::uint32_t> order(rank_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), less);
    for (std::uint32_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
  }

  layout_problem<> const& problem_;
  splitmix64 generator_;
  std::vector<std::int64_t> heaviest_;  ///< of a piece: the largest load of its sections
  std::vector<std::int64_t> guide_;     ///< of a piece: its start in the layout to come near to
  std::vector<std::uint32_t> rank_;     ///< of a piece: its place in the order
};

}  // namespace ballast::inline v0_2::detail
