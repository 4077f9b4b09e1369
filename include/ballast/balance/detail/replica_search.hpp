// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/replica_dealer.hpp>
#include <ballast/balance/detail/replica_layout.hpp>
#include <ballast/core/config.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Tries all numbers of copies, and for each all placements that could be better than the best plan so far.
template <class = when_called>
class replica_search {
 public:
  replica_search(replica_problem const& of, std::int64_t bound, search_budget& budget, replica_layout& best)
      : of_(of), bound_(bound), budget_(budget), best_(best), order_(of.weights.size()), copies_(of.weights.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::sort(order_.begin(), order_.end(),
              [&](auto a, auto b) { return of.weights[a] != of.weights[b] ? of.weights[a] > of.weights[b] : a < b; });
  }

  /// Whether all was tried: then no plan is better than the best one.
  [[nodiscard]] bool run() {
    count(0, of_.slots());
    return !stopped_;
  }

 private:
  [[nodiscard]] bool done() { return stopped_ = stopped_ || !budget_.allows(); }
  [[nodiscard]] std::int64_t target() const noexcept { return best_.value - 1; }

  /// Chooses the number of copies of the i-th expert, most rows first, of the slots that are left.
  void count(std::size_t i, std::size_t left) {
    if (best_.value <= bound_ || done()) return;
    if (i == order_.size()) {
      if (left == 0) place_counted();
      return;
    }
    auto const e = order_[i];
    auto const behind = order_.size() - i - 1;
    auto most = (std::min)(of_.most_copies(), static_cast<std::int64_t>(left - behind));
    if (i > 0 && of_.weights[order_[i - 1]] == of_.weights[e]) most = (std::min)(most, copies_[order_[i - 1]]);
    for (std::int64_t c = 1; c <= most; ++c) {
      if (of_.share(e, c) > target()) continue;
      if (static_cast<std::int64_t>(left) - c > static_cast<std::int64_t>(behind) * of_.most_copies()) continue;
      budget_.spend(1);
      copies_[e] = c;
      count(i + 1, left - static_cast<std::size_t>(c));
      if (stopped_) return;
    }
  }

  void place_counted() {
    items_.clear();
    for (std::uint32_t e = 0; e < copies_.size(); ++e)
      for (std::int64_t c = 0; c < copies_[e]; ++c) items_.push_back(e);
    std::sort(items_.begin(), items_.end(), [&](auto a, auto b) {
      auto const x = of_.share(a, copies_[a]), y = of_.share(b, copies_[b]);
      return x != y ? x > y : a < b;
    });
    shares_.clear();
    for (auto const e : items_) shares_.push_back(of_.share(e, copies_[e]));
    all_ = std::accumulate(shares_.begin(), shares_.end(), std::int64_t{0});
    loads_.assign(of_.ranks, 0);
    used_.assign(of_.ranks, 0);
    at_.assign(items_.size(), 0);
    place(0);
  }

  /// Whether the ranks can still take all that is left: a rank whose slots would not hold enough leaves less to the others.
  [[nodiscard]] bool roomy(std::size_t i) const {
    auto slack = static_cast<std::int64_t>(of_.ranks) * target() - all_;
    for (std::size_t r = 0; r < of_.ranks && slack >= 0; ++r) {
      if (loads_[r] > target()) return false;  // a better plan was found on the way
      auto const most = loads_[r] + static_cast<std::int64_t>(of_.each - used_[r]) * shares_[i];
      if (most < target()) slack -= target() - most;
    }
    return slack >= 0;
  }

  void place(std::size_t i) {
    if (i == items_.size()) return keep();
    budget_.spend(4 * of_.ranks);
    if (done() || !roomy(i)) return;
    auto const again = i > 0 && items_[i] == items_[i - 1];  // copies of an expert are alike: theirs are ascending ranks
    for (auto r = again ? at_[i - 1] + (of_.may_share ? 0U : 1U) : 0U; r < of_.ranks; ++r) {
      if (used_[r] == of_.each) continue;
      auto const left = static_cast<std::int64_t>(of_.each - used_[r] - 1);
      if (loads_[r] + shares_[i] + left * shares_.back() > target()) continue;
      auto const fresh = used_[r] == 0;
      at_[i] = r;
      loads_[r] += shares_[i];
      ++used_[r];
      place(i + 1);
      loads_[r] -= shares_[i];
      --used_[r];
      if (stopped_ || fresh) return;  // empty ranks are alike
      if (best_.value <= bound_) return;
    }
  }

  void keep() {
    best_.copies = copies_;
    best_.loads = loads_;
    best_.value = *std::max_element(loads_.begin(), loads_.end());
    std::vector<std::size_t> next(of_.ranks);
    for (std::size_t r = 0; r < of_.ranks; ++r) next[r] = r * of_.each;
    for (std::size_t i = 0; i < items_.size(); ++i) best_.held[next[at_[i]]++] = items_[i];
  }

  replica_problem const& of_;
  std::int64_t bound_;
  search_budget& budget_;
  replica_layout& best_;
  std::vector<std::uint32_t> order_, items_;
  std::vector<std::size_t> used_;
  std::vector<std::uint32_t> at_;
  std::vector<std::int64_t> copies_, shares_, loads_;
  std::int64_t all_ = 0;
  bool stopped_ = false;
};

/// A plan of a problem with its lower bound.
struct bounded_layout {
  replica_layout plan;
  std::int64_t bound = 0;
};

/// Tries fewer copies of the two experts with the most: ranks without one then have room for others. All numbers are dealt out, and the
/// best few exchanged.
template <class = when_called>
void limit_copies(replica_problem const& of, std::int64_t bound, replica_dealer<>& dealer, search_budget& budget, replica_layout& best) {
  constexpr std::size_t exchanged = 4;
  auto const first = best.copies;
  std::size_t a = 0, b = first.size();
  for (std::size_t e = 1; e < first.size(); ++e)
    if (first[e] > first[a]) a = e;
  for (std::size_t e = 0; e < first.size(); ++e)
    if (e != a && (b == first.size() || first[e] > first[b])) b = e;
  if (b == first.size()) return;
  std::vector<std::int64_t> limits(first.size(), of.most_copies());
  std::vector<std::array<std::int64_t, 3>> found;  // largest load, copies of both
  for (auto c = first[a]; c >= 1 && of.share(a, c) < best.value; --c)
    for (auto d = first[b]; d >= 1 && of.share(b, d) < best.value; --d) {
      if (budget.satisfied({best.value, bound}) || !budget.allows()) return;
      limits[a] = c;
      limits[b] = d;
      auto const copies = fewest_rows_per_copy(of, limits);
      if (copies.empty() || (c == first[a] && d == first[b])) continue;
      found.push_back({dealer.deal_out(copies), c, d});
    }
  std::sort(found.begin(), found.end());
  for (std::size_t i = 0; i < (std::min)(found.size(), exchanged); ++i) {
    if (budget.satisfied({best.value, bound}) || !budget.allows()) return;
    limits[a] = found[i][1];
    limits[b] = found[i][2];
    if (auto plan = dealer.deal(fewest_rows_per_copy(of, limits)); plan.value < best.value) best = std::move(plan);
  }
}

/// Improves the numbers of copies: the experts of the most loaded rank get one more, at the cost of those that miss it least.
template <class = when_called>
void move_copies(replica_problem const& of, std::int64_t bound, replica_dealer<>& dealer, search_budget& budget, replica_layout& best) {
  constexpr std::size_t givers = 8;
  for (auto better = true; better;) {
    better = false;
    auto const most = static_cast<std::size_t>(std::max_element(best.loads.begin(), best.loads.end()) - best.loads.begin());
    std::vector<std::uint32_t> from;
    for (std::uint32_t e = 0; e < best.copies.size(); ++e)
      if (best.copies[e] > 1) from.push_back(e);
    std::sort(from.begin(), from.end(), [&](auto a, auto b) {
      auto const x = of.share(a, best.copies[a] - 1), y = of.share(b, best.copies[b] - 1);
      return x != y ? x < y : a < b;
    });
    from.resize((std::min)(from.size(), givers));
    for (std::size_t i = 0; i < of.each && !better; ++i) {
      auto const to = best.held[most * of.each + i];
      if (best.copies[to] == of.most_copies()) continue;
      for (auto const e : from) {
        if (e == to) continue;
        if (budget.satisfied({best.value, bound}) || !budget.allows()) return;
        auto copies = best.copies;
        --copies[e];
        ++copies[to];
        auto plan = dealer.deal(copies);
        if (plan.value >= best.value) continue;
        best = std::move(plan);
        better = true;
        break;
      }
    }
  }
}

/// Plans the experts of some ranks: the heuristics, and for up to 32 slots the search.
template <class = when_called>
[[nodiscard]] bounded_layout plan_replicas(replica_problem const& of, search_budget& budget) {
  constexpr std::size_t searched = 32;
  auto const fewest = fewest_rows_per_copy(of);
  bounded_layout out{.plan = {}, .bound = replica_bound(of, fewest)};
  replica_dealer<> dealer(of, out.bound, budget);
  out.plan = dealer.deal(fewest);
  limit_copies(of, out.bound, dealer, budget, out.plan);
  move_copies(of, out.bound, dealer, budget, out.plan);
  if (budget.satisfied({out.plan.value, out.bound}) || of.slots() > searched) return out;
  replica_search<> search(of, out.bound, budget, out.plan);
  if (search.run()) out.bound = out.plan.value;
  return out;
}

}  // namespace ballast::inline v0_2::detail
