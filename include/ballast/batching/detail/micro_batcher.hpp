// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/balance.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/rate_matching.hpp>
#include <ballast/balance/refine.hpp>
#include <ballast/batching/detail/place_micro_batches.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/near_optimal.hpp>
#include <ballast/packing/raise_pack_count.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

// The algorithm of `micro_batches`.

namespace ballast::inline v0_2::detail {

/// Splits one global batch of units (samples, or groups of samples with one `together` key) into micro-batches.
template <index_type Index>
class micro_batcher {
 public:
  micro_batcher(weighed_samples const& units, std::span<std::uint64_t const> apart, batching_options const& o,
                micro_batch_constraints const& c, search_limits const& limits)
      : units_(units), apart_(apart), o_(o), c_(c), limits_(limits), n_(units.size()), order_(n_), best_(units, o, c) {
    std::iota(order_.begin(), order_.end(), Index{0});
    if (!apart.empty()) sort_by(order_, [&](Index a, Index b) { return apart[a] != apart[b] ? apart[a] < apart[b] : a < b; });
  }

  void run(micro_batching<Index>& out) {
    static_cast<batching<Index>&>(out) = {};
    out.ranks = o_.ranks;
    out.micro_batches = c_.exactly != 0 ? c_.exactly : whole(1);
    out.count = {};
    out.status = status::feasible;
    if (n_ == 0) return;
    pack(false);
    auto const enough = [&] { return c_.exactly != 0 ? c_.exactly : whole(least_); };
    if (!c_.equal_counts && packs_.size() > enough() * o_.ranks && static_cast<std::uint64_t>(least_) <= enough() * o_.ranks) pack(true);
    auto const least = static_cast<std::uint64_t>(whole(least_));
    out.count = {static_cast<std::int64_t>(c_.exactly), static_cast<std::int64_t>(least)};
    if (c_.equal_counts) {
      search_equal(least, out);
    } else if (c_.exactly != 0 && packs_.size() > c_.exactly * o_.ranks) {
      out.status = least > c_.exactly ? status::infeasible : status::unknown;
    } else {
      out.count.value = static_cast<std::int64_t>(c_.exactly != 0 ? c_.exactly : whole(static_cast<std::int64_t>(packs_.size())));
      plan(static_cast<std::uint64_t>(out.count.value));
    }
    if (out.status == status::feasible) static_cast<batching<Index>&>(out) = best_.take();
    out.complete = complete_;
    if (out.status == status::feasible && c_.exactly != 0) out.count.lower_bound = out.count.value;
  }

 private:
  /// Whether micro-batches are to cost the same, rather than ranks. Those of a single rank are, since nothing else is left to balance.
  [[nodiscard]] bool by_rows() const { return o_.synchronisation == synchronisation::per_micro_batch || o_.ranks == 1; }
  [[nodiscard]] std::int64_t tokens(std::uint64_t u) const { return units_.tokens[static_cast<std::size_t>(u)]; }
  [[nodiscard]] auto numbers() const { return std::views::iota(std::int64_t{0}, static_cast<std::int64_t>(n_)); }
  /// The number of micro-batches of a rank for that many packs, at least `at_least`.
  [[nodiscard]] std::uint64_t whole(std::int64_t packs) const {
    auto const each = (std::max)({divide_up(static_cast<std::uint64_t>(packs), o_.ranks), c_.at_least, std::uint64_t{1}});
    return round_up(each, o_.micro_batches);
  }

  /// Packs the units of each key into as few packs as possible: by best fit or by a search.
  void pack(bool search) {
    groups<Index> packs;
    std::int64_t least = 0;
    std::vector<std::int64_t> lengths;
    std::vector<Index> members;
    for (std::size_t begin = 0, end = 0; begin < n_; begin = end) {
      lengths.clear();
      for (; end < n_ && (apart_.empty() || apart_[order_[end]] == apart_[order_[begin]]); ++end) lengths.push_back(tokens(order_[end]));
      auto share = limits_;
      share.work = multiply_divide_up(limits_.work, end - begin, n_);
      auto const found = search ? near_optimal<Index>(lengths, {.capacity = o_.capacity}, share)
                                : best_fit_decreasing<Index>(lengths, {.capacity = o_.capacity});
      least += found.count.lower_bound;
      complete_ = complete_ && found.complete;
      for (auto const pack : found.packs) {
        members.clear();
        for (auto k : pack) members.push_back(order_[begin + k]);
        packs.push_back(members);
      }
    }
    least_ = (std::max)(least_, least);
    if (packs_.empty() || packs.size() < packs_.size()) packs_ = std::move(packs);
  }

  /// The best plan with `each` micro-batches of a rank, into which `packs_` fit.
  void plan(std::uint64_t each) {
    auto const places = each * o_.ranks;
    if (!by_rows() && deal_to_ranks(each) && best_.good()) return;
    auto const affordable = [](std::uint64_t a, std::uint64_t b) { return a <= (std::uint64_t{1} << 22) / b; };
    if (apart_.empty() && affordable(n_, places)) {
      balance_options const bins{.sets = places, .capacity = o_.capacity};
      if (by_rows() || each > 1 || n_ < places) {
        deal_units(bins);
        if (sets_.status == status::feasible) place(sets_.sets, each);
        if (best_.good()) return;
      }
      if (affordable(places, places)) {  // the packs found before, balanced by exchanges
        sets_ = {.sets = packs_, .load = {}, .set_aside = {}};
        sets_.sets.offsets.resize(static_cast<std::size_t>(places) + 1, n_);
        refine(numbers(), bins, cost_, tokens_, work_, sets_);
        return place(sets_.sets, each);
      }
    }
    place(packs_, each);
  }

  /// Calls `balance`, or only its first method if that would take long. The items are unit numbers.
  template <class Cost, class Size>
  void deal(std::size_t items, balance_options const& into, Cost const& cost, Size const& size, balanced_sets<Index>& out) {
    auto const numbers = std::views::iota(std::int64_t{0}, static_cast<std::int64_t>(items));
    if (into.sets <= (std::uint64_t{1} << 24) / (items + 1))
      balance(numbers, into, cost, size, work_, out);
    else
      longest_processing_time(numbers, into, cost, size, work_, out);
  }
  void deal_units(balance_options const& into) { deal(n_, into, cost_, tokens_, sets_); }

  /// Distributes units over the ranks, then packs each rank's units into its micro-batches. Returns false if some rank needs more
  /// micro-batches, or has too few units.
  [[nodiscard]] bool deal_to_ranks(std::uint64_t each) {
    if (n_ < each * o_.ranks) return false;  // every unit gets its own place
    auto const share = each > static_cast<std::uint64_t>(units_.all_tokens / o_.capacity) ? (std::max)(units_.all_tokens, o_.capacity)
                                                                                          : o_.capacity * static_cast<std::int64_t>(each);
    balance_options const ranks{.sets = o_.ranks, .capacity = share, .target = rate_target::capacity};
    deal_units(ranks);
    auto const balanced = fill_ranks(each);
    if (balanced && best_.good()) return true;
    rate_matching(numbers(), ranks, cost_, cost_, tokens_, work_, sets_);  // if tokens are as balanced as costs, every rank has more room
    refine(numbers(), ranks, cost_, tokens_, work_, sets_);
    return fill_ranks(each) || balanced;
  }
  /// Packs the units of each rank, as given by `sets_`.
  [[nodiscard]] bool fill_ranks(std::uint64_t each) {
    if (sets_.status != status::feasible) return false;
    rank_filler<Index> filler(units_, apart_, o_.capacity, static_cast<std::size_t>(each), sets_.sets);
    groups<Index> packs;
    std::vector<std::uint64_t> rank;
    if (!filler.run(packs, rank)) return false;
    best_.offer(packs, rank, each);
    return true;
  }

  /// Finds the smallest number of micro-batches for which equal counts fit: in growing strides from the lower bound up, then by bisection,
  /// since a plan with fewer micro-batches implies one with more.
  void search_equal(std::uint64_t least, micro_batching<Index>& out) {
    auto const stride = o_.micro_batches;
    if (c_.exactly != 0) {
      out.status = least > c_.exactly ? status::infeasible : place_equal(c_.exactly);
      if (out.status == status::infeasible)
        out.count.lower_bound = static_cast<std::int64_t>((std::max)(least, c_.exactly + stride));  // what fits fewer also fits more
      return;
    }
    auto proven = least;  // lower bound on the number
    auto const fits = [&](std::uint64_t each) {
      auto const found = place_equal(each);
      if (found == status::infeasible) proven = (std::max)(proven, each + stride);
      return found == status::feasible;
    };
    auto failed = least - stride, each = least;  // `least` is a multiple of the stride, so `failed` may be 0, which is never possible
    for (std::uint64_t step = stride; !fits(each); step *= 2) {
      failed = each;
      each = (std::min)(each + step, whole(static_cast<std::int64_t>(n_)));  // each sample alone fits
    }
    while (each - failed > stride) {
      auto const middle = failed + (each - failed) / stride / 2 * stride;
      (fits(middle) ? each : failed) = middle;
    }
    out.count = {static_cast<std::int64_t>(each), static_cast<std::int64_t>((std::min)(proven, each))};
  }
  [[nodiscard]] status place_equal(std::uint64_t each) {
    balance_options const bins{.sets = each * o_.ranks, .capacity = o_.capacity, .equal_counts = true};
    deal_units(bins);
    if (sets_.status == status::unknown) {  // balanced tokens meet the capacity best; costs are balanced afterwards
      deal(n_, bins, tokens_, tokens_, sets_);
      sets_.load.lower_bound = 0;  // the bound on tokens does not apply to costs
      refine(numbers(), bins, cost_, tokens_, work_, sets_);
    }
    if (sets_.status != status::feasible) return sets_.status;
    best_.clear();
    place(sets_.sets, each, false);
    return status::feasible;
  }

  /// Distributes packs, some of which may be empty, over the ranks.
  void place(groups<Index> const& sets, std::uint64_t each, bool split = true) {
    groups<Index> packs;
    for (auto const set : sets)
      if (!set.empty()) packs.push_back(set);
    auto const wanted = (std::min)(static_cast<std::size_t>(each * o_.ranks), n_);
    if (split && packs.size() < wanted) static_cast<void>(raise_pack_count(packs, wanted, [&](Index u) { return tokens(u); }));
    std::vector<std::uint64_t> rank(packs.size());
    if (!by_rows()) {
      auto const cost = best_.costs_of(packs);
      balanced_sets<Index> dealt;
      deal(
          packs.size(), {.sets = o_.ranks, .equal_counts = true}, [&](std::int64_t p) { return cost[static_cast<std::size_t>(p)]; },
          [](std::int64_t) { return 0; }, dealt);
      for (std::uint64_t r = 0; r < o_.ranks; ++r)
        for (auto p : dealt.sets[static_cast<std::size_t>(r)]) rank[p] = r;
    }
    best_.offer(packs, rank, each);
  }
  /// A cost model that looks up a unit by its number.
  struct look_up {
    std::vector<std::int64_t> const& of;
    std::int64_t operator()(std::int64_t u) const { return of[static_cast<std::size_t>(u)]; }
  };

  weighed_samples const& units_;
  look_up cost_{units_.cost}, tokens_{units_.tokens};
  std::span<std::uint64_t const> apart_;
  batching_options const& o_;
  micro_batch_constraints const& c_;
  search_limits const& limits_;
  std::size_t n_;
  std::vector<Index> order_;  ///< units by key
  groups<Index> packs_;       ///< the fewest packs found
  std::int64_t least_ = 0;    ///< lower bound on the number of packs
  balance_workspace<Index> work_;
  balanced_sets<Index> sets_;
  best_layout<Index> best_;
  bool complete_ = true;
};

}  // namespace ballast::inline v0_2::detail
