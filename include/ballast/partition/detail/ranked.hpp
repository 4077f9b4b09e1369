// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/partition/detail/least_sum.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/stage_cost.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Counts and lists the partitions under a limit, in order.

namespace ballast::inline v0_2::detail {

/// How many partitions keep a limit, and the range of limits with the same number.
struct cut_count {
  std::uint64_t cuts;    ///< number of partitions, at most the number requested
  std::int64_t at_most;  ///< the largest stage cost at or below the limit
  std::int64_t next;     ///< the smallest stage cost above the limit
};
template <class Chain>
[[nodiscard]] cut_count count_cuts(Chain const& chain, std::int64_t limit, std::uint64_t enough) {
  auto const n = chain.layers();
  cut_count out{0, 0, unaffordable};
  std::vector<std::uint64_t> before(n + 1), here(n + 1);
  before[0] = 1;
  for (std::size_t s = 0; s < chain.stages(); ++s) {
    std::fill(here.begin(), here.end(), std::uint64_t{0});
    for (std::size_t end = 0; end <= n; ++end) {
      auto const start = chain.latest_start(end);
      if (start == nowhere) continue;
      for (auto begin = start + 1; begin-- > 0;) {
        if (before[begin] == 0) continue;
        auto const cost = chain.cost(begin, end, s);
        if (cost <= limit) {
          here[end] = (std::min)(enough, here[end] + before[begin]);
          out.at_most = (std::max)(out.at_most, cost);
        } else {
          out.next = (std::min)(out.next, cost);
          if (chain.monotone()) break;
        }
      }
    }
    std::swap(before, here);
  }
  out.cuts = before[n];
  return out;
}

/// Lists the `most` partitions of least sum of squares under a limit, optionally only those in which some stage costs exactly `hit`. Among
/// equal sums, the partition whose last inner boundary is lower comes first, then the one whose boundary before is lower, and so on.
template <class Chain>
class cut_list {
 public:
  cut_list(Chain const& chain, std::int64_t limit, std::int64_t hit, std::size_t most) : chain_(chain), hit_(hit), wants_hit_(hit >= 0) {
    auto const p = chain.stages(), n = chain.layers();
    cells_.resize((p + 1) * (n + 1) * 2);
    cell(0, 0, false).push_back({});
    for (std::size_t s = 0; s < p; ++s)
      for (std::size_t end = s + 1 == p ? n : 0; end <= n; ++end)
        for (auto const with_hit : {false, true}) merge(s, end, with_hit, limit, most);
  }
  [[nodiscard]] std::size_t size() { return result().size(); }
  [[nodiscard]] wide squares(std::size_t rank) { return result()[rank].sum; }
  [[nodiscard]] std::vector<std::size_t> cuts(std::size_t rank) {
    std::vector<std::size_t> out(chain_.stages() + 1, chain_.layers());
    auto at = result()[rank];
    for (auto s = chain_.stages(); s-- > 0;) {
      out[s] = at.begin;
      at = cell(s, at.begin, at.hit)[at.rank];
    }
    return out;
  }

 private:
  /// A partition of the layers before some end: its last begin, and which of the partitions before that begin it extends.
  struct entry {
    wide sum{};
    std::size_t begin = 0, rank = 0;
    bool hit = false;
  };
  std::vector<entry>& cell(std::size_t stages, std::size_t end, bool with_hit) {
    return cells_[(stages * (chain_.layers() + 1) + end) * 2 + (with_hit ? 1 : 0)];
  }
  std::vector<entry>& result() { return cell(chain_.stages(), chain_.layers(), wants_hit_); }
  /// Whether `a` comes before `b`; both are partitions of the layers before one end into `stages` stages.
  [[nodiscard]] bool before(entry a, entry b, std::size_t stages) {
    if (a.sum != b.sum) return a.sum < b.sum;
    while (a.begin == b.begin && --stages > 0) {
      auto const begin = a.begin;
      a = cell(stages, begin, a.hit)[a.rank];
      b = cell(stages, begin, b.hit)[b.rank];
    }
    return a.begin < b.begin;
  }
  void merge(std::size_t stage, std::size_t end, bool with_hit, std::int64_t limit, std::size_t most) {
    auto const start = chain_.latest_start(end);
    if (start == nowhere) return;
    heap_.clear();
    for (auto begin = start + 1; begin-- > 0;) {
      auto const cost = chain_.cost(begin, end, stage);
      if (cost > limit) {
        if (chain_.monotone()) break;
        continue;
      }
      if (cost == hit_ && !with_hit) continue;
      for (auto const hit : {false, true})
        if ((hit == with_hit || (with_hit && cost == hit_)) && !cell(stage, begin, hit).empty())
          heap_.push_back(continued(stage, begin, end, 0, hit));
    }
    auto const later = [&](entry const& a, entry const& b) { return before(b, a, stage + 1); };
    std::make_heap(heap_.begin(), heap_.end(), later);
    auto& out = cell(stage + 1, end, with_hit);
    while (!heap_.empty() && out.size() < most) {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      auto const best = heap_.back();
      heap_.pop_back();
      out.push_back(best);
      if (best.rank + 1 == cell(stage, best.begin, best.hit).size()) continue;
      heap_.push_back(continued(stage, best.begin, end, best.rank + 1, best.hit));
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }
  [[nodiscard]] entry continued(std::size_t stage, std::size_t begin, std::size_t end, std::size_t rank, bool hit) {
    auto const load = static_cast<std::uint64_t>(chain_.cost(begin, end, stage));
    return {cell(stage, begin, hit)[rank].sum + multiply(load, load), begin, rank, hit};
  }

  Chain const& chain_;
  std::int64_t hit_;
  bool wants_hit_;
  std::vector<std::vector<entry>> cells_;
  std::vector<entry> heap_;
};

/// Turns a list into public results.
template <index_type Index, class Chain>
void append_plans(Chain const& chain, cut_list<Chain>& list, staged<Index> const& best, std::vector<balanced_stages<Index>>& out) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    balanced_stages<Index> plan{best, list.squares(i)};
    auto const cuts = list.cuts(i);
    plan.partition.bottleneck.value = 0;
    plan.partition.boundaries.assign(1, 0);
    for (std::size_t s = 0; s < chain.stages(); ++s) {
      plan.partition.bottleneck.value = (std::max)(plan.partition.bottleneck.value, chain.cost(cuts[s], cuts[s + 1], s));
      plan.partition.boundaries.push_back(static_cast<Index>(cuts[s + 1]));
    }
    out.push_back(std::move(plan));
  }
}

template <index_type Index, class Chain>
void rank_cuts(Chain const& chain, std::uint64_t count, staged<Index> const& best, ranked_stages<Index>& out) {
  auto least = best.bottleneck.value;  // the least limit that at least `count` partitions keep
  auto const all = count_cuts(chain, unaffordable - 1, count);
  out.every = all.cuts < count;
  auto enough = all.at_most;
  while (!out.every && least < enough) {
    auto const middle = least + (enough - least) / 2;
    auto const found = count_cuts(chain, middle, count);
    if (found.cuts == count)
      enough = found.at_most;
    else
      least = found.next;
  }
  auto const most = static_cast<std::size_t>(count);
  cut_list<Chain> below(chain, out.every ? enough : enough - 1, -1, most);  // fewer than `count`, so all are listed
  append_plans(chain, below, best, out.plans);
  std::sort(out.plans.begin(), out.plans.end(), [](auto const& a, auto const& b) {
    if (a.partition.bottleneck.value != b.partition.bottleneck.value) return a.partition.bottleneck.value < b.partition.bottleneck.value;
    if (a.squares != b.squares) return a.squares < b.squares;
    return std::lexicographical_compare(a.partition.boundaries.rbegin(), a.partition.boundaries.rend(), b.partition.boundaries.rbegin(),
                                        b.partition.boundaries.rend());
  });
  if (out.every) return;
  cut_list<Chain> at(chain, enough, enough, most - out.plans.size());
  append_plans(chain, at, best, out.plans);
}

}  // namespace ballast::inline v0_2::detail
