// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/packing/detail/search/guided_dive.hpp>
#include <ballast/packing/detail/search/length_shape.hpp>
#include <ballast/packing/detail/search/pooled_patterns.hpp>
#include <ballast/packing/detail/search/run_patterns.hpp>
#include <ballast/packing/detail/search/search_budget.hpp>
#include <ballast/packing/detail/search/subset_sum_fill.hpp>
#include <ballast/packing/detail/search/tuning.hpp>

#include <cstdint>
#include <utility>

namespace ballast::inline v0_2::detail {

/// The remaining samples of a dive over lengths, and their packing by best fit and random filling.
template <class = when_called>
class length_rest {
 public:
  using shape = length_shape;
  static constexpr bool stops_at_bound = false;
  static constexpr std::uint64_t round_work = 0, round_cells = 0;
  static constexpr auto little_work = ~std::uint64_t{0};  // best fit is tried in every round

  length_rest(length_shape const& all, search_tuning const& tuning) : all_(all), tuning_(tuning), filler_(all.capacity) {}

  [[nodiscard]] length_shape const& samples() const noexcept { return all_; }
  void collect(stock const& left) {
    rest_.clear();
    left.remaining(rest_, of_);
    tokens_ = left.tokens();
  }
  /// The remaining positions, ascending.
  [[nodiscard]] pooled_vector<std::uint32_t> const& positions() const noexcept { return of_; }
  [[nodiscard]] std::int64_t volume() const noexcept { return tokens_; }
  /// The volume in full packs.
  [[nodiscard]] std::int64_t packs() const noexcept { return tokens_ / all_.capacity; }

  /// Packs all remaining samples by best fit and returns the number of packs.
  [[nodiscard]] std::uint64_t plan() { return best_fit_.plan(rest_, all_.capacity); }
  [[nodiscard]] std::uint64_t work() const noexcept { return best_fit_.work() + 4 * all_.positions(); }
  /// Appends that plan, as patterns of positions.
  void append(pooled_patterns& out) {
    if (!of_.empty()) best_fit_.append(rest_, of_, out);
  }
  /// Appends patterns of that plan for the next linear program.
  void append_columns(pooled_patterns& out) { best_fit_.append(rest_, of_, out, 1500); }

  /// Packs the remaining samples by the best of a few random fillings, if that takes at most `most` packs.
  [[nodiscard]] bool finish(stock& left, splitmix64& generator, std::uint64_t most, pooled_patterns& best, search_budget& budget) {
    if (!tuning_.subset_sum_packs || packs() >= tuning_.last_packs) return false;
    auto const begin = left.counts();
    auto found = false;
    for (int attempt = 0; attempt < tuning_.last_attempts && budget.allows(); ++attempt) {
      pooled_patterns filled;
      if ((!found || most != 0) && filler_.run(left, generator, found ? most - 1 : most, filled)) {
        found = true;
        most = filled.packs();
        best = std::move(filled);
      }
      budget.spend(filler_.take_work());
      left.reset(begin);
    }
    return found;
  }

 private:
  length_shape const& all_;
  search_tuning const& tuning_;
  histogram rest_;
  pooled_vector<std::uint32_t> of_;
  std::int64_t tokens_ = 0;
  best_fit_patterns<> best_fit_;
  subset_sum_filler<> filler_;
};
using length_dive = guided_dive<length_rest<>>;

}  // namespace ballast::inline v0_2::detail
