// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/dive_program.hpp>
#include <ballast/packing/detail/search/tuning.hpp>
#include <ballast/packing/detail/search/vector_bound.hpp>
#include <ballast/packing/detail/search/vector_rest.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/bin_completion.hpp>
#include <ballast/packing/vector/bounds.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

namespace ballast::inline v0_2::detail {

/// One near-optimal search over samples of several measures: a first plan, the lower bound of the linear program, then dives and repairs.
/// The order does not depend on the limits, so more work only continues the same search.
template <class = when_called>
class vector_search {
 public:
  vector_search(measure_classes const& classes, std::span<std::int64_t const> capacity, search_limits const& limits)
      : classes_(classes), capacity_(capacity), budget_(limits) {}

  void run(pack_patterns const* start) {
    begin(start);
    if (!open() || !slices_) return;
    dive_.emplace(vector_rest<>(classes_, capacity_, *slices_), pooled_vector<std::int64_t>{}, budget_);
    known_ = renamed(best_, slices_->position);
    auto const few = few_classes();
    if ((!few || slices_->positions() > tuning_.few_positions) && !slices_->rounded && slices_->positions() < tuning_.most_positions)
      prove(tuning_.first_bound, tuning_.coarse_cells * vector_rest<>::round_cells);
    if (few) plan_exactly();
    for (std::size_t round = 0; open(); ++round) {
      take(dive(slices_->count, tuning_.bands[round % 4], best_packs_ - 1, bends_));
      if (round == 0) learn_from_dive();
      for (int failures = 0; failures < tuning_.failures && open() && !worths_.empty();)
        failures = repair(tuning_.others << round % 4) ? 0 : failures + 1;
    }
  }

  /// Computes only the lower bound.
  void bound_only() {
    begin(nullptr);
    if (!open() || !slices_ || slices_->rounded) return;
    known_ = renamed(best_, slices_->position);
    prove(tuning_.only_bound, tuning_.fine_cells * vector_rest<>::round_cells);
  }

  [[nodiscard]] pooled_patterns& best() noexcept { return best_; }
  [[nodiscard]] pack_patterns patterns() const {
    pack_patterns out;
    out.append(best_);
    return out;
  }
  [[nodiscard]] vector_packs_needed const& bound() const noexcept { return bound_; }
  [[nodiscard]] search_budget const& budget() const noexcept { return budget_; }
  [[nodiscard]] std::int64_t dual_capacity() const noexcept { return proof_.capacity; }
  /// By class.
  [[nodiscard]] std::vector<std::int32_t> duals() const {
    std::vector<std::int32_t> out;
    out.reserve(classes_.size());
    for (std::size_t c = 0; c < classes_.size(); ++c) out.push_back(proof_.value[slices_->position[c]]);
    return out;
  }

 private:
  static constexpr auto const& tuning_ = default_vector_tuning;

  [[nodiscard]] bool open() { return !budget_.satisfied({static_cast<std::int64_t>(best_packs_), bound_.packs}) && budget_.allows(); }

  void begin(pack_patterns const* start) {
    best_.append(start != nullptr ? *start : plan_vector_best_fit(classes_, capacity_));
    best_packs_ = best_.packs();
    bound_ = vector_lower_bound(classes_, capacity_, static_cast<std::int64_t>(best_packs_));
    budget_.spend(tuning_.best_fit_work * classes_.size());
    if (!open()) return;
    if (start == nullptr) {
      auto const try_to = [&](std::uint64_t work, std::uint64_t most, auto const& plan) {
        if (!open() || work > most) return;
        take(plan());
        budget_.spend(work);
      };
      auto const n = std::uint64_t{classes_.size()};
      try_to(tuning_.completion_work * n, tuning_.most_completion, [&] { return plan_bin_completion(classes_, capacity_); });
      try_to(tuning_.sampling_work * n + tuning_.sampling_sample_work * classes_.samples(), budget_.limit() / 16, [&] {
        return plan_iterative_sampling(classes_, capacity_, {.filter = full_packs(capacity_)}, 1, static_cast<std::size_t>(best_packs_));
      });
      if (!open()) return;
    }
    for (auto const most_states : tuning_.most_states) {
      slices_.emplace(classes_, capacity_, most_states);
      if (workable()) return;
    }
    slices_.reset();
  }
  // Whether packs can be drawn of that many samples, the linear programs can afford their tables, and no sum can overflow.
  [[nodiscard]] bool workable() const {
    std::uint64_t most = 0;
    for (std::size_t p = 0; p < slices_->positions(); ++p)
      most = (std::max)(most, slices_->most_copies(slices_->slice[p], slices_->size[p], slices_->capacity));
    auto const places = multiply(static_cast<std::uint64_t>(slices_->capacity) + 2, classes_.samples() * slices_->slices());
    return most <= 4096 && slices_->slices() <= 256 && slices_->capacity <= std::int64_t{1} << 31 &&
           classes_.samples() < std::uint64_t{1} << 33 && places.high == 0 && places.low >> 62 == 0 &&
           slices_->resolution(all_positions()) != 0;
  }

  void take(pack_patterns const& found) {
    pooled_patterns plan;
    plan.append(found);
    take(std::move(plan));
  }
  void take(pooled_patterns found) {
    auto const packs = found.packs();
    if (found.size() == 0 || packs >= best_packs_) return;
    best_packs_ = packs;
    best_ = std::move(found);
  }
  void take(dual_proof found) {
    if (found.packs <= bound_.packs) return;
    bound_ = {found.packs, vector_bound::linear_program, 0, packing_bound::none};
    proof_ = std::move(found);
  }

  void prove(std::uint64_t work, std::uint64_t cells) {
    auto const enough = static_cast<std::int64_t>(best_packs_);
    auto found = bound_by_program(*slices_, known_, bound_.packs, enough, cells, budget_, budget_.spent() + work);
    worths_ = found.proof.value;
    known_ = std::move(found.patterns);
    bends_ = std::move(found.bends);
    take(std::move(found.proof));
  }

  [[nodiscard]] pooled_vector<std::uint32_t> all_positions() const {
    pooled_vector<std::uint32_t> all(classes_.size());
    std::iota(all.begin(), all.end(), 0U);
    return all;
  }
  // The step after the first dive: a lower bound over many classes, which starts from the patterns of the plan, or only the values that
  // repairs need if slices are rounded, which allows no bound.
  void learn_from_dive() {
    if (slices_->rounded) {
      for (auto const w : dive_->worths()) worths_.push_back(static_cast<std::int32_t>((std::min)(w, std::int64_t{2} * value_one)));
    } else if (worths_.empty() && open()) {
      known_ = renamed(best_, slices_->position);
      prove(tuning_.later_bound, tuning_.fine_cells * vector_rest<>::round_cells);
    }
  }

  [[nodiscard]] bool few_classes() const {
    auto const n = slices_->positions();
    return !slices_->rounded && n <= default_tuning.most_exact && classes_.samples() / n >= default_tuning.least_repeats &&
           !slices_->ambiguous() && slices_->resolution(all_positions(), tuning_.exact_cells) == slices_->capacity;
  }
  // Solves the linear program with one row for each of few classes; dives pack the samples that remain after rounding its solution down.
  void plan_exactly() {
    if (slices_->positions() > tuning_.few_positions) {  // the patterns of a good plan save most of the pivots
      take(dive(slices_->count, tuning_.few_bands, best_packs_ - 1, bends_));
      if (!open()) return;
      auto columns = renamed(best_, slices_->position);
      std::fill(columns.repeats.begin(), columns.repeats.end(), 1);
      known_.append(columns);
    }
    auto found = start_from_exact_classes(*slices_, known_, budget_);
    worths_ = found.proof.value;
    known_ = std::move(found.tight);
    take(std::move(found.proof));
    for (auto& item : found.whole.items) item.item_class = slices_->item_class[item.item_class];
    if (std::all_of(found.rest.begin(), found.rest.end(), [](auto n) { return n == 0; })) return take(std::move(found.whole));
    for (auto const bands : default_tuning.exact_bands) {
      auto const whole = found.whole.packs();
      if (!open() || whole >= best_packs_) return;
      auto plan = found.whole;
      auto const rest = dive(found.rest, bands, best_packs_ - whole - 1, {});
      plan.append(rest);
      if (rest.size() != 0) take(std::move(plan));
    }
  }

  // Packs `counts` samples of each position in at most `most` packs, as patterns of classes; returns no pattern if that fails.
  [[nodiscard]] pooled_patterns dive(std::span<std::uint64_t const> counts, std::size_t bands, std::uint64_t most,
                                     std::span<std::uint32_t const> bends) {
    return renamed(dive_->run(counts, {.bands = bands, .seed = ++seeds_, .most = most}, known_, bends), slices_->item_class);
  }

  // Dissolves the packs that waste most value under the dual values, and `others` times as many other packs, and packs their samples again.
  // Returns whether that saved a pack.
  [[nodiscard]] bool repair(std::uint64_t others) {
    pooled_vector<std::pair<std::int64_t, std::size_t>> ranked;
    std::uint64_t poor = 0;
    for (std::size_t p = 0; p < best_.size(); ++p) {
      auto missing = std::int64_t{value_one};
      for (auto const& [c, copies] : best_[p]) missing -= std::int64_t{worths_[slices_->position[c]]} * copies;
      if (missing > value_one / 1000) poor += best_.repeats[p];
      ranked.emplace_back(-(std::max)(missing, std::int64_t{1}) * static_cast<std::int64_t>(uniform_below(1024, generator_)), p);
    }
    std::sort(ranked.begin(), ranked.end());
    pooled_vector<std::uint64_t> taken(best_.size(), 0), counts(slices_->positions(), 0);
    std::uint64_t chosen = 0;
    std::size_t next = 0;
    auto const choose = [&](std::uint64_t most) {
      for (; next < ranked.size() && most > 0; ++next) {
        auto const p = ranked[next].second;
        taken[p] = (std::min)(best_.repeats[p], most);
        most -= taken[p];
        chosen += taken[p];
        for (auto const& [c, copies] : best_[p]) counts[slices_->position[c]] += taken[p] * copies;
      }
    };
    auto const worst = (std::clamp)(poor, tuning_.least_worst,
                                    (std::max)((std::min)(best_packs_ / tuning_.worst_share, tuning_.most_worst), tuning_.least_worst));
    choose(worst);
    shuffle(std::span(ranked).subspan(next), generator_);
    choose(others * worst);
    budget_.spend(tuning_.repair_work * best_.size());
    auto const anew = dive(counts, tuning_.few_bands, chosen - 1, bends_);
    if (anew.size() == 0) return false;
    pooled_patterns kept;
    for (std::size_t p = 0; p < best_.size(); ++p)
      if (taken[p] != best_.repeats[p]) kept.push_back(best_[p], best_.repeats[p] - taken[p]);
    kept.append(anew);
    take(std::move(kept));
    return true;
  }

  measure_classes const& classes_;
  std::span<std::int64_t const> capacity_;
  search_budget budget_;
  std::optional<vector_slices> slices_;  // empty if the linear program would be too large
  std::optional<vector_dive> dive_;
  pooled_patterns best_;
  std::uint64_t best_packs_ = 0;
  vector_packs_needed bound_;
  dual_proof proof_;  // with values by position
  // From the linear program, by position: values of samples, patterns of small reduced cost, and where the values bend.
  pooled_vector<std::int32_t> worths_;
  pooled_patterns known_;
  pooled_vector<std::uint32_t> bends_;
  splitmix64 generator_{1};
  std::uint64_t seeds_ = 0;
};

}  // namespace ballast::inline v0_2::detail
