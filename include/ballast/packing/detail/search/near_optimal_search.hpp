// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/bound_zoom.hpp>
#include <ballast/packing/detail/search/coarse_classes.hpp>
#include <ballast/packing/detail/search/dive_program.hpp>
#include <ballast/packing/detail/search/grown_block.hpp>
#include <ballast/packing/detail/search/length_rest.hpp>
#include <ballast/packing/detail/search/pair_concentration.hpp>
#include <ballast/packing/detail/search/random_fill.hpp>
#include <ballast/packing/detail/search/ruin_recreate.hpp>
#include <ballast/packing/detail/search/tuning.hpp>
#include <ballast/patterns/cutting_stock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace ballast::inline v0_2::detail {

/// One near-optimal search: best fit, then dives, improvements and the lower bound of the linear program. The order does not depend on the
/// limits; only what the exact finish may take is a share of the work that is left.
template <class = when_called>
class near_optimal_search {
 public:
  /// `best_fit` must have planned the lengths.
  near_optimal_search(histogram const& lengths, std::int64_t capacity, best_fit_patterns<>& best_fit, search_budget& budget,
                      search_tuning const& tuning)
      : lengths_(lengths), capacity_(capacity), shape_{lengths, capacity}, budget_(budget), best_fit_(best_fit), tuning_(tuning) {}

  /// `bound` is the best lower bound by formula. With a `goal`, a plan may also be good enough by its gap to that number of packs.
  void run(packs_needed const& bound, std::int64_t goal = 0) {
    goal_ = goal;
    best_packs_ = best_fit_.packs();
    bound_ = bound;
    budget_.spend(best_fit_.work());
    if (!open() || !worth_searching()) return keep_best_fit();
    if (search_reduced()) return;
    natural_ = natural_borders(bound_, capacity_);
    if (auto const parts = fewer_lengths(); parts != 0) return search_rounded(parts);
    auto filled = search_at_random();
    if (!open()) return;
    auto const distinct = lengths_.lengths.size();
    if (tuning_.exact_classes && distinct <= tuning_.most_exact && lengths_.samples() / distinct >= tuning_.least_repeats)
      search_exact();
    else
      search_dive(tuning_.first_bands);
    if (filled.packs() < best_packs_) take(std::move(filled));
    refill_while_it_pays();
    auto const full = all_full();
    auto const left = [&] { return budget_.limit() - budget_.spent(); };
    auto const most_work = [&] { return budget_.spent() + left() / 8 * 7; };
    auto const first_work = [&] { return budget_.spent() + (std::min)(tuning_.first_finish_work, left() / 2); };
    if (open()) finish_exactly(full ? tuning_.most_rows : tuning_.few_rows, full ? most_work() : first_work());
    if (open()) concentrate(tuning_.first_pair_work);
    if (open()) prove_by_program((std::min)(tuning_.bound_work, left() / (lengths_.lengths.size() > tuning_.most_rows ? 1 : 8)));
    if (open() && !full) finish_exactly(tuning_.most_rows, most_work());
    for (std::size_t round = 0; open(); ++round) {
      auto const gap = best_packs_ - static_cast<std::uint64_t>(bound_.packs);
      auto const far = gap > tuning_.far_gap;
      for (int trial = 0; trial < tuning_.trials && open(); ++trial) ruin(far && round != 0 && trial % 4 == 0 ? tuning_.large_ruin : 1);
      if (open()) pack_block();
      if (open()) concentrate(tuning_.pair_work);
      if (open()) (void)refill(round % tuning_.refill_rounds * tuning_.refill_share);
      if (tuning_.finer_dives && open() && (far ? round % tuning_.finer_every_far == 0 : (round + 1) % tuning_.finer_every == 0))
        search_dive(tuning_.finer_bands[dives_++ % tuning_.finer_bands.size()]);
    }
    tighten();
    if (best_.repeats.empty()) keep_best_fit();
  }

  [[nodiscard]] pooled_patterns& patterns() noexcept { return best_; }
  [[nodiscard]] packs_needed const& bound() const noexcept { return bound_; }
  [[nodiscard]] dual_proof& proof() noexcept { return proof_; }

 private:
  [[nodiscard]] bool open() {
    auto const packs = static_cast<std::int64_t>(best_packs_);
    return packs > bound_.packs && !budget_.satisfied({packs + made_, (goal_ != 0 ? goal_ : bound_.packs) + made_}) && budget_.allows();
  }
  // Above this size sums could overflow, or there is nothing to decide.
  [[nodiscard]] bool worth_searching() const { return lengths_.samples() <= tuning_.most_samples && lengths_.lengths.size() > 1; }
  // The number of parts of the capacity to which lengths are rounded; 0 = no rounding.
  [[nodiscard]] std::int64_t fewer_lengths() const {
    if (tuning_.coarse_lengths && lengths_.lengths.size() > tuning_.most_lengths) return capacity_ > tuning_.parts ? tuning_.parts : 0;
    return capacity_ > tuning_.largest_capacity ? tuning_.fine_parts : 0;
  }
  // Makes packs that some best plan has, and searches what is left. False if that is more than 9/20 of the samples: they are missed in a
  // search for the last pack.
  [[nodiscard]] bool search_reduced() {
    if (!tuning_.reduction || goal_ != 0) return false;
    reduced_stock const stock(lengths_, capacity_, budget_, budget_.spent() + (budget_.limit() - budget_.spent()) / 8);
    auto const made = static_cast<std::int64_t>(stock.made.packs());
    if (made == 0 || stock.left.samples() > lengths_.samples() / 20 * 9) return false;
    best_fit_patterns<> best_fit;
    auto const packs = static_cast<std::int64_t>(best_fit.plan(stock.left, capacity_));
    near_optimal_search rest(stock.left, capacity_, best_fit, budget_, tuning_);
    rest.made_ = made;
    rest.exact_ = this;
    auto const bound = packing_lower_bound(stock.left, capacity_, ~std::uint64_t{0}, packs);
    rest.run(bound.packs + made < bound_.packs ? packs_needed{bound_.packs - made, bound_.bound} : bound);
    for (auto& item : rest.best_.items) item.item_class = stock.class_of[item.item_class];
    rest.best_.append(stock.made);
    if (rest.best_.packs() < best_packs_) take(std::move(rest.best_));
    if (best_.repeats.empty()) keep_best_fit();
    if (rest.bound_.packs + made > bound_.packs) bound_ = {rest.bound_.packs + made, packing_bound::cutting_stock};
    return true;
  }
  void search_rounded(std::int64_t parts) {
    coarse_classes const coarse(lengths_, capacity_, parts);
    best_fit_patterns<> best_fit;
    auto const packs = static_cast<std::int64_t>(best_fit.plan(coarse.classes(), parts));
    near_optimal_search rough(coarse.classes(), parts, best_fit, budget_, tuning_);
    if (capacity_ <= tuning_.largest_capacity) rough.exact_ = this;
    rough.made_ = made_;
    rough.run(packing_lower_bound(coarse.classes(), parts, ~std::uint64_t{0}, packs), bound_.packs);
    if (rough.best_packs_ < best_packs_) take(coarse.unfold(rough.best_));
    if (best_.repeats.empty()) keep_best_fit();
  }

  void keep_best_fit() { best_ = best_fit_.patterns(lengths_); }

  void take(pooled_patterns found) {
    auto const packs = found.packs();
    if (packs > best_packs_ || (packs == best_packs_ && !best_.repeats.empty())) return;
    best_packs_ = packs;
    best_ = std::move(found);
    loose_.reset();
  }
  void take(dual_proof found) {
    if (found.packs <= bound_.packs) return;
    bound_ = {found.packs, packing_bound::linear_program};
    worths_.assign(found.value.begin(), found.value.end());
    proof_ = std::move(found);
  }

  void search_dive(std::size_t bands) {
    if (!dive_) dive_.emplace(length_rest<>(shape_), natural_, budget_);
    tighten();
    take(dive_->run(lengths_.counts, {.bands = bands, .seed = ++seeds_}));
    if (worths_.empty()) worths_ = dive_->worths();
  }

  void search_exact() {
    auto start = start_from_exact_classes(shape_, best_fit_.patterns(lengths_), budget_);
    worths_ = std::move(start.worths);
    take(std::move(start.proof));
    dive_.emplace(length_rest<>(shape_), natural_, budget_);
    for (auto const bands : tuning_.exact_bands) {
      if (!open()) return;
      auto found = start.whole;
      auto const rest = dive_->run(start.rest, {.bands = bands, .seed = ++seeds_});
      found.append(rest);
      take(std::move(found));
    }
  }

  void prove_by_program(std::uint64_t most) {
    if (!tuning_.program_bound || fractional_) return;
    if (exact_ != nullptr) {  // for a proof that is of the lengths as they were given
      exact_->prove_by_program(most);
      goal_ = exact_->bound_.packs + exact_->made_ - made_;
      if (goal_ > bound_.packs) bound_ = {goal_, exact_->bound_.bound};
      return;
    }
    std::int64_t unit = 1;
    auto const classes = [&] { return (std::min)(static_cast<std::int64_t>(lengths_.lengths.size()), capacity_ / unit); };
    while (capacity_ / unit > tuning_.bound_cells / (std::max)(classes(), std::int64_t{1})) unit *= 2;
    bound_zoom<> zoom(lengths_, capacity_, unit);
    take(zoom.run(natural_, best_fit_.patterns(lengths_, tuning_.bound_patterns), static_cast<std::int64_t>(best_packs_), budget_,
                  budget_.spent() + most));
  }

  // Whether every pack of a plan that meets the bound is full. Then that plan is looked for before all else.
  [[nodiscard]] bool all_full() const { return lengths_.tokens() == bound_.packs * capacity_; }
  // Finds the fewest packs, or what proves that fewer are impossible, unless there are too many lengths or the work is spent before.
  void finish_exactly(std::size_t most_rows, std::uint64_t end) {
    if (!tuning_.exact_finish || lengths_.lengths.size() > most_reduced) return;
    tighten();
    cutting_stock_options options{.capacity = capacity_, .packs = static_cast<std::uint64_t>(bound_.packs), .most_rows = most_rows};
    auto found = solve_fewest(lengths_, options, best_packs_, tuning_.most_full_cells, budget_, end, std::move(basis_));
    basis_ = std::move(found.basis);
    fractional_ = found.fractional;
    if (auto const packs = static_cast<std::int64_t>(options.packs); packs > bound_.packs) {
      bound_ = {packs, packing_bound::cutting_stock};
      proof_ = {};
    }
    if (found.status != status::feasible) return;
    pooled_patterns plan;
    plan.append(found.patterns);
    take(std::move(plan));
  }

  void concentrate(std::uint64_t work) {
    if (!tuning_.pair_concentration) return;
    loosen();
    pair_concentration<> finisher(lengths_, capacity_, ++seeds_, tuning_);
    auto const fixed = best_.packs();
    auto const enough = static_cast<std::uint64_t>(bound_.packs) > fixed ? static_cast<std::uint64_t>(bound_.packs) - fixed : 1;
    finisher.run(*loose_, static_cast<std::size_t>(enough), budget_, budget_.spent() + work);
    best_packs_ = fixed + loose_->size();
  }

  void pack_block() {
    if (!tuning_.grown_blocks || worths_.empty() || lengths_.samples() < tuning_.least_for_blocks ||
        static_cast<std::int64_t>(best_packs_) - bound_.packs > tuning_.block_gap)
      return;
    loosen();
    if (!block_) block_.emplace(lengths_, capacity_, worths_, ++seeds_, budget_, tuning_);
    if (block_->step(*loose_, budget_.spent() + tuning_.block_work)) best_packs_ = best_.packs() + loose_->size();
  }

  void ruin(std::size_t scale) {
    if (!tuning_.ruin_recreate || worths_.empty()) return budget_.spend(tuning_.idle_work);
    loosen();
    if (!ruin_) ruin_.emplace(lengths_, capacity_, natural_, worths_, ++seeds_, budget_, tuning_);
    ruin_->step(*loose_, scale);
    best_packs_ = best_.packs() + loose_->size();
  }

  // Fills the packs of best fit again at random: all packs, or as many packs with room as `refill` takes. The result is kept if it is good
  // enough.
  [[nodiscard]] pooled_patterns search_at_random() {
    keep_best_fit();
    auto const packs = best_packs_;
    if (lengths_.samples() <= tuning_.most_refilled && lengths_.samples() >= tuning_.many_per_pack * packs) (void)refill(256);
    refill_while_it_pays();
    if (!open()) return {};
    best_packs_ = packs;
    return std::exchange(best_, {});
  }

  // Continues as long as each time closes a quarter of the gap.
  void refill_while_it_pays() {
    for (auto more = true; more && open();) {
      auto const before = best_packs_;
      more = refill(0) && 4 * (before - best_packs_) >= before - static_cast<std::uint64_t>(bound_.packs);
    }
  }

  // Fills the samples of the packs with room, and of `share` 256ths of the full ones, into packs at random. Returns whether one was saved.
  [[nodiscard]] bool refill(std::uint64_t share) {
    if (!tuning_.random_fill) return false;
    tighten();
    if (best_.repeats.empty()) keep_best_fit();
    if (!filled_) {
      filled_.emplace(lengths_, capacity_);
      filler_.emplace(capacity_);
    }
    pooled_vector<std::uint64_t> counts(lengths_.lengths.size(), 0), taken(best_.size(), 0);
    std::uint64_t packs = 0, poor = 0, samples = 0;
    auto const start = static_cast<std::size_t>(uniform_below(best_.size(), generator_));
    for (std::size_t i = 0; i < best_.size() && samples < tuning_.most_refilled; ++i) {
      auto const p = i + start < best_.size() ? i + start : i + start - best_.size();
      auto room = capacity_;
      std::uint64_t n = 0;
      for (auto const& [c, copies] : best_[p]) {
        room -= lengths_.lengths[c] * copies;
        n += copies;
      }
      if (n == 1 && room < lengths_.lengths.front()) continue;
      auto const repeats = room != 0 ? best_.repeats[p] : (best_.repeats[p] * share + uniform_below(256, generator_)) / 256;
      taken[p] = (std::min)(repeats, (tuning_.most_refilled - samples) / n + 1);
      for (auto const& [c, copies] : best_[p]) counts[c] += taken[p] * copies;
      packs += taken[p];
      poor += room != 0 ? taken[p] : 0;
      samples += taken[p] * n;
    }
    budget_.spend(tuning_.pattern_item_work * best_.items.size());
    filled_->reset(counts);
    pooled_patterns anew;
    if (share != 256 && poor > best_packs_ / 4) return false;  // the mixture of samples is the cause, not bad luck
    if (packs < 2 || !filler_->run(*filled_, generator_, packs - 1, budget_, budget_.spent() + tuning_.fill_work * samples, anew))
      return false;
    for (std::size_t p = 0; p < best_.size(); ++p)
      if (taken[p] != best_.repeats[p]) anew.push_back(best_[p], best_.repeats[p] - taken[p]);
    take(std::move(anew));
    return true;
  }

  void loosen() {
    if (loose_) return;
    if (best_.repeats.empty()) keep_best_fit();
    budget_.spend(tuning_.pattern_work * best_.size());
    loose_.emplace();
    take_loose(best_, *loose_, lengths_, capacity_, tuning_);
  }
  void tighten() {
    if (loose_) put_back(best_, *loose_);
    loose_.reset();
  }

  histogram const& lengths_;
  std::int64_t capacity_;
  length_shape shape_;
  search_budget& budget_;
  best_fit_patterns<>& best_fit_;
  search_tuning const& tuning_;
  near_optimal_search* exact_ = nullptr;  // of all lengths, before rounding
  std::int64_t goal_ = 0;
  std::int64_t made_ = 0;  // packs beside those of the lengths
  packs_needed bound_;
  dual_proof proof_;
  pooled_vector<std::int64_t> natural_, worths_;
  std::optional<length_dive> dive_;
  std::optional<ruin_recreate<>> ruin_;
  std::optional<grown_block<>> block_;
  std::optional<stock> filled_;
  std::optional<random_filler<>> filler_;
  splitmix64 generator_{1};
  pooled_patterns best_;  // with loose_, the best plan; empty as long as that is the plan of best fit
  std::optional<loose_packs> loose_;
  std::uint64_t best_packs_ = 0, seeds_ = 0;
  std::size_t dives_ = 0;
  pack_patterns basis_;      // of the last exact program
  bool fractional_ = false;  // whether it allows as many packs as the bound
};

}  // namespace ballast::inline v0_2::detail
