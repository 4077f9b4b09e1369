// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/guided_dive.hpp>
#include <ballast/packing/detail/search/stock.hpp>
#include <ballast/packing/detail/search/tuning.hpp>
#include <ballast/packing/detail/search/vector_slices.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/bin_completion.hpp>
#include <ballast/packing/vector/bounds.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace ballast::inline v0_2::detail {

/// Renames the classes of a plan by another list; classes descend in each pattern.
template <class Patterns>
[[nodiscard]] pooled_patterns renamed(Patterns const& plan, std::span<std::uint32_t const> names) {
  pooled_patterns out;
  pooled_vector<pattern_item> pattern;
  for (std::size_t p = 0; p < plan.size(); ++p) {
    pattern.assign(plan[p].begin(), plan[p].end());
    for (auto& item : pattern) item.item_class = names[item.item_class];
    std::sort(pattern.begin(), pattern.end(), [](auto const& a, auto const& b) { return a.item_class > b.item_class; });
    out.push_back(pattern, plan.repeats[p]);
  }
  return out;
}

/// The remaining samples of a dive over several measures, and their packing by best fit and completion.
template <class = when_called>
class vector_rest {
 public:
  using shape = vector_slices;
  static constexpr bool stops_at_bound = true, finishes = true;
  static constexpr std::uint64_t round_work = 20'000;
  static constexpr std::uint64_t round_cells = 4'000'000;
  static constexpr std::uint64_t little_work = 10'000'000;  // most work of best fit in a round

  vector_rest(measure_classes const& classes, std::span<std::int64_t const> capacity, vector_slices const& slices)
      : classes_(classes), capacity_(capacity), slices_(slices) {}

  [[nodiscard]] vector_slices const& samples() const noexcept { return slices_; }
  void collect(stock const& left) {
    rest_.measures = classes_.measures;
    rest_.values.clear();
    rest_.counts.clear();
    position_.clear();
    fit_.clear();
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      auto const p = slices_.position[c];
      if (left.left(p) == 0) continue;
      rest_.values.insert(rest_.values.end(), classes_[c].begin(), classes_[c].end());
      rest_.counts.push_back(left.left(p));
      position_.push_back(p);
    }
    of_ = position_;
    std::sort(of_.begin(), of_.end());
    volume_ = volume_packs(rest_, capacity_);
  }
  /// The remaining positions, ascending.
  [[nodiscard]] pooled_vector<std::uint32_t> const& positions() const noexcept { return of_; }
  [[nodiscard]] std::int64_t volume() const noexcept { return volume_; }
  [[nodiscard]] std::int64_t packs() const noexcept { return volume_; }

  /// Packs all remaining samples by best fit and returns the number of packs.
  [[nodiscard]] std::uint64_t plan() {
    fit_ = plan_vector_best_fit(rest_, capacity_);
    return fit_.packs();
  }
  [[nodiscard]] std::uint64_t work() const { return 10 * classes_.size() + 2000 * rest_.size(); }
  /// Appends that plan, as patterns of positions.
  void append(pooled_patterns& out) const { out.append(renamed(fit_, position_)); }
  /// Appends patterns of that plan for the next linear program.
  void append_columns(pooled_patterns& out) const { append(out); }

  /// Packs the remaining samples by completion, if that takes at most `most` packs.
  [[nodiscard]] bool finish(std::uint64_t most, pooled_patterns& best, search_budget& budget) const {
    if (rest_.size() == 0 || rest_.size() >= default_vector_tuning.most_completed) return false;
    budget.spend(default_vector_tuning.completion_work * rest_.size());
    best = renamed(plan_bin_completion(rest_, capacity_), position_);
    return best.packs() <= most;
  }

 private:
  measure_classes const& classes_;
  std::span<std::int64_t const> capacity_;
  vector_slices const& slices_;
  measure_classes rest_;
  pooled_vector<std::uint32_t> position_, of_;  // positions of the remaining classes, and the same positions ascending
  std::int64_t volume_ = 0;
  pack_patterns fit_;
};
using vector_dive = guided_dive<vector_rest<>>;

}  // namespace ballast::inline v0_2::detail
