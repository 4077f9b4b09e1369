// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/memory/detail/layout_problem.hpp>
#include <ballast/memory/detail/layout_state.hpp>

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
  value_order(layout_problem<> const& problem, std::uint64_t seed) : problem_(problem), generator_(seed), rank_(problem.pieces.size()) {
    auto const& loads = problem.loads;
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

/// The section in which the search branches next.
struct layout_branch {
  std::uint32_t section = 0;
  bool waste = false;  ///< whether nothing need start at its floor
};

/// How the next section is chosen: the least score wins.
enum class section_rule : std::uint8_t { fewest_for_weight, fewest_then_lowest, tightest_for_weight };

/// Chooses the next section, among the valleys of a component, and learns from failures which sections are hard.
template <class = when_called>
class section_choice {
 public:
  explicit section_choice(std::size_t sections) : weight_(sections, one) {}

  void failed_at(std::uint32_t s) { weight_[s] = (std::min)(weight_[s] + one, std::uint64_t{1} << 30); }
  void forget() {
    for (auto& w : weight_) w = one + (w - one) * 19 / 20;
  }
  [[nodiscard]] std::uint64_t weight(std::uint32_t s) const { return weight_[s]; }

  [[nodiscard]] layout_branch choose(layout_state<>& state, section_rule rule, std::uint32_t first, std::uint32_t last) {
    best_ = {};
    found_ = done_ = false;
    for (auto i = first; i < last && !done_;) {
      auto j = i + 1;
      auto const h = state.floor[i];
      while (j < last && state.floor[j] == h) ++j;
      if ((i == first || state.floor[i - 1] > h) && (j == last || state.floor[j] > h))
        for (auto s = i; s < j && !done_; ++s) consider(state, rule, s);
      i = j;
    }
    state.work += last - first;
    return best_;
  }

 private:
  static constexpr std::uint64_t one = 256;
  struct score {
    std::uint64_t value = 0;
    std::uint64_t weight = one;
    std::int64_t height = 0;
  };
  [[nodiscard]] static bool less(score const& a, score const& b) {
    auto const x = a.value * b.weight, y = b.value * a.weight;
    return x != y ? x < y : a.height < b.height;
  }
  [[nodiscard]] score score_of(layout_state<> const& state, section_rule rule, std::uint32_t s, std::uint64_t options) const {
    switch (rule) {
      case section_rule::fewest_for_weight: return {options, weight_[s], 0};
      case section_rule::fewest_then_lowest: return {options, one, state.floor[s]};
      case section_rule::tightest_for_weight: break;
    }
    auto slack = static_cast<std::uint64_t>(state.slack(s)), limit = static_cast<std::uint64_t>(state.limit[s]);
    while (limit >> 40 != 0) limit >>= 8, slack >>= 8;
    return {options * (one + 50 * one * slack / limit), weight_[s], 0};
  }
  void consider(layout_state<>& state, section_rule rule, std::uint32_t s) {
    auto const ties = std::uint64_t{state.tied[s]};
    auto const slack = state.slack(s);
    auto waste = slack > 0;
    if (waste && rule != section_rule::fewest_for_weight && (ties < 2 || !found_ || less(score_of(state, rule, s, ties), best_score_))) {
      auto const within = state.floor[s] + slack;
      waste = state.next_start(s, within) <= within;
    }
    auto const options = ties + (waste ? 1 : 0);
    auto const own = score_of(state, rule, s, options);
    if (options > 1 && found_ && !less(own, best_score_)) return;
    best_ = {s, waste};
    best_score_ = own;
    found_ = true;
    done_ = options <= 1;
  }

  std::vector<std::uint64_t> weight_;  ///< in 1 / 256
  layout_branch best_;
  score best_score_;
  bool found_ = false, done_ = false;
};

}  // namespace ballast::inline v0_2::detail
