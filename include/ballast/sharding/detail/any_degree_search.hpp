// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/detail/any_degree_times.hpp>
#include <ballast/sharding/detail/block_state.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/group_runs.hpp>
#include <ballast/sharding/detail/leaf_builder.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// The search on the step time T with passes on runs of neighbouring ranks, and all plans of such runs.

namespace ballast::inline v0_2::detail {

/// Searches for a plan on any number of neighbouring ranks.
template <shard_cost_model Cost>
class any_degree_search {
 public:
  /// @param powers_of_two  whether groups have 1, 2, 4, ... ranks only @param degrees  how many ranks samples get within T
  /// @param known  value of a plan that is known
  any_degree_search(any_degree_times<Cost> const& t, std::int64_t lower, bool powers_of_two, degree_rule degrees, std::int64_t known)
      : t_(t), lower_(lower), degrees_(degrees), waiting_(t.alone), leaves_(t.alone) {
    best_.value = known;
    auto const rounds = t.allows_all(true);  // whether all samples have room on powers of two
    auto const add = [&](pass_count counts, leaf_order order, std::int64_t share) {
      for (auto const rounded : {false, true})
        if (rounded ? rounds : !powers_of_two) rules_.push_back({rounded, counts, order, share});
    };
    add(pass_count::by_tokens, leaf_order::least_load, 1000);
    add(pass_count::by_supply, leaf_order::by_pass, 1000);
    add(pass_count::by_supply, leaf_order::least_load, 1030);
    add(pass_count::by_supply, leaf_order::by_ratio, 1020);
  }

  /// Constructs at most `attempts` plans, and returns the best that is faster than the known one; its value is `block_plan::none` if none
  /// is.
  run_plan run(std::int64_t attempts) {
    attempts_ = attempts;
    for (auto const thousandths : {1, 10, 50, 120, 250})
      if (attempts_ > 0 && meets(lower_ + lower_ / 1000 * thousandths + thousandths, thousandths == 1 ? 2 : 4)) break;
    std::int64_t low = 0;  // no plan was found at this distance from the bound
    while (attempts_ > 0 && best_.value - lower_ - low > lower_ / 1000) {
      auto const middle = low + (best_.value - lower_ - low) / 2;
      if (!meets(lower_ + middle, rules_.size())) low = middle;
    }
    if (best_.pass_of.empty()) best_.value = block_plan::none;
    return std::move(best_);
  }

 private:
  struct rules {
    bool rounded;  // degrees to powers of two
    pass_count counts;
    leaf_order order;
    std::int64_t share;
  };
  /// Whether a plan meets the time, by one of the first `most` rules, the most recently successful first.
  bool meets(std::int64_t limit, std::size_t most) {
    for (std::size_t k = 0; k < most && attempts_ > 0 && best_.value > limit; ++k) {
      --attempts_;
      construct(limit, rules_[k]);
      if (best_.value <= limit)
        std::rotate(rules_.begin(), rules_.begin() + static_cast<std::ptrdiff_t>(k), rules_.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    }
    return best_.value <= limit;
  }
  /// Replaces the best plan if the rule gives a better one.
  void construct(std::int64_t limit, rules const& rule) {
    limit_ = limit;
    rounded_ = rule.rounded;
    waiting_.reset();
    next_.passes.clear();
    next_.pass_of.assign(t_.samples(), 0);
    load_.assign(static_cast<std::size_t>(t_.alone.options.ranks), 0);
    place_wide();
    leaf_passes_.clear();
    if (*std::max_element(load_.begin(), load_.end()) >= best_.value) return;
    if (!leaves_.build(limit, rule.counts, rule.order, rule.share, load_, best_.value, waiting_, leaf_passes_)) return;
    auto const before = static_cast<std::uint32_t>(next_.passes.size());
    for (auto const& p : leaf_passes_.passes) next_.passes.push_back({p.block, 1});
    for (auto const& p : leaf_passes_.placements) next_.pass_of[p.position] = before + p.pass;
    next_.value = leaf_passes_.value;
    if (next_.value < best_.value) std::swap(best_, next_);
  }

  struct wide_sample {
    std::size_t position;
    std::int64_t degree;
  };
  /// Places all samples that need several ranks, for room or for time.
  void place_wide() {
    auto const within = limit_ - t_.alone.options.cost_per_pass;
    wide_.clear();
    degree_.clear();  // of the leading positions
    auto const wide = [&](std::size_t i) { return t_.alone.length[i] > t_.alone.options.capacity || t_.at(i, 1) > within; };
    for (std::size_t i = 0; i < t_.samples() && (!t_.alone.by_length || wide(i)); ++i) {
      degree_.push_back(t_.degree(i, within, rounded_, degrees_));
      if (degree_.back() > 1) wide_.push_back({i, degree_.back()});
    }
    std::sort(wide_.begin(), wide_.end(), [](wide_sample const& a, wide_sample const& b) {
      return a.degree != b.degree ? a.degree > b.degree : a.position < b.position;
    });
    for (auto const& s : wide_)
      if (waiting_.from(s.position) == s.position) open_pass(s);
  }
  /// A pass that begins with the sample, on its number of ranks; on more of them if that meets the time and it does not.
  void open_pass(wide_sample const& s) {
    auto const fixed = t_.alone.options.cost_per_pass;
    auto width = s.degree;
    auto place = earliest(width);
    if (place.start + fixed + t_.at(s.position, width) > limit_)
      for (auto d = t_.allowed(s.position, width + 1, rounded_); d != 0 && d <= 4 * s.degree;
           d = t_.allowed(s.position, d + (d + 3) / 4, rounded_)) {
        auto const wider = earliest(d);
        if (wider.start + fixed + t_.at(s.position, d) > limit_) continue;
        place = wider;
        width = d;
        break;
      }
    auto time = fixed;
    auto room = t_.alone.options.capacity * width;
    auto const add = [&](std::size_t i) {
      time += t_.at(i, width);
      room -= t_.alone.length[i];
      next_.pass_of[i] = static_cast<std::uint32_t>(next_.passes.size());
      waiting_.take(i);
    };
    add(s.position);
    for (;;) {
      auto const left = limit_ - place.start - time;
      auto const i = longest_fitting(room, width, left);
      if (i == t_.samples() || !pays(i, width, left)) break;
      add(i);
    }
    next_.passes.push_back({static_cast<std::uint32_t>(place.first), static_cast<std::uint32_t>(width)});
    std::fill_n(load_.begin() + static_cast<std::ptrdiff_t>(place.first), width, place.start + time);
  }
  /// The longest waiting sample of at most `room` tokens that takes at most `left` on `width` ranks, if longer samples take longer.
  [[nodiscard]] std::size_t longest_fitting(std::int64_t room, std::int64_t width, std::int64_t left) {
    auto const n = t_.samples();
    auto low = waiting_.from(waiting_.shorter(0, room));
    if (low == n || t_.at(low, width) <= left) return low;
    if (t_.alone.by_length)
      low = first_where(low, n, [&](std::size_t i) { return t_.at(i, width) <= left; });
    else
      while (low < n && t_.at(low, width) > left) low = waiting_.from(low + 1);
    auto const i = waiting_.from(low);
    return i < n && t_.at(i, width) <= left ? i : n;
  }
  /// Whether to share the sample among so many ranks: its rank-time grows by less than its tokens' part of a pass, or too little time is
  /// left for another pass.
  [[nodiscard]] bool pays(std::size_t i, std::int64_t width, std::int64_t left) const {
    auto const fixed = t_.alone.options.cost_per_pass;
    auto const degree = i < degree_.size() ? degree_[i] : 1;
    if (degree == width || left < fixed + fixed / 2) return true;
    auto const more = t_.at(i, width) * width - t_.at(i, degree) * degree;
    return compare_products(more, t_.alone.options.capacity, fixed, t_.alone.length[i]) <= 0;
  }
  struct run_place {
    std::size_t first;
    std::int64_t start;
  };
  /// The neighbouring ranks that are all free earliest; the first of equal ones.
  [[nodiscard]] run_place earliest(std::int64_t width) {
    auto const d = static_cast<std::size_t>(width);
    run_place best{0, block_plan::none};
    peak_.clear();  // ranks with descending loads, the largest of the last `d` first
    std::size_t head = 0;
    for (std::size_t r = 0; r < load_.size(); ++r) {
      while (peak_.size() > head && load_[peak_.back()] <= load_[r]) peak_.pop_back();
      peak_.push_back(r);
      if (peak_[head] + d <= r) ++head;
      if (r + 1 >= d && load_[peak_[head]] < best.start) best = {r + 1 - d, load_[peak_[head]]};
    }
    return best;
  }

  any_degree_times<Cost> const& t_;
  std::int64_t lower_, limit_ = 0, attempts_ = 0;
  degree_rule degrees_;
  bool rounded_ = false;
  std::vector<rules> rules_;  // the most recently successful first
  waiting_samples waiting_;
  leaf_builder leaves_;
  block_plan leaf_passes_;
  std::vector<wide_sample> wide_;
  std::vector<std::int64_t> degree_, load_;
  std::vector<std::size_t> peak_;
  run_plan best_, next_;
};

/// The best plan below `best` on runs of the sizes of `t`; its value is `block_plan::none` if none is found.
/// @param t  the samples, at least one @param deep  whether plans of more kinds are tried for large batches
template <shard_cost_model Cost>
[[nodiscard]] run_plan search_runs(any_degree_times<Cost> const& any, degree_times const& t, std::int64_t lower, std::int64_t best,
                                   bool powers_of_two, std::int64_t attempts, bool deep) {
  constexpr std::uint64_t few = 4096;  // pairs of a sample and a rank
  run_plan plan;
  auto const known = [&] { return (std::min)(best, plan.value); };
  auto const keep = [&](run_plan&& next) {
    if (next.value < known()) plan = std::move(next);
  };
  keep(equal_runs(t, known(), true));
  if (deep || (t.length.size() <= few / t.options.ranks && known() > lower)) {
    keep(divided_runs(t));
    keep(one_pass_runs(t));
    keep(fixed_runs(t, lower));
  }
  if (known() - lower > lower / 1000) keep(round_runs(t, known() == block_plan::none ? known() : known() + known() / 8));
  if (deep) {
    keep(lockstep_runs(t, 6));
    keep(all_round_runs(t, 1));
  }
  auto const search = [&](degree_rule degrees, std::int64_t from) {
    keep(any_degree_search(any, lower, powers_of_two, degrees, from).run(attempts));
  };
  search(degree_rule::cheapest, known());
  search(degree_rule::fewest, known());
  // T depends on the plan that is known: one that is less good leads to others.
  if (known() - lower > lower / 1000) search(degree_rule::fewest_of_all, best);
  return plan;
}

}  // namespace ballast::inline v0_2::detail
