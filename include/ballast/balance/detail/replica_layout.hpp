// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/search_limits.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Units of a row: loads of copies are exact for up to 16 copies, and for other divisors of it.
inline constexpr std::int64_t replica_units = 720'720;  // the least common multiple of 1 ... 16

/// Counts the work of a search against its limits.
class replica_budget {
 public:
  explicit replica_budget(search_limits const& limits)
      : limits_(limits), deadline_(limits.wall_clock.count() > 0 ? clock::now() + limits.wall_clock : clock::time_point{}) {}
  /// A part of the limit, with the same clock; what it spends is added by `add`.
  [[nodiscard]] replica_budget part(std::uint64_t of) const {
    auto out = *this;
    out.limits_.work /= of;
    out.spent_ = out.asked_ = 0;
    return out;
  }
  void add(replica_budget const& part) noexcept {
    spent_ += part.spent_;
    interrupted_ = interrupted_ || part.interrupted_;
  }
  /// Counts work; false if the search has to end.
  bool spend(std::uint64_t work) {
    spent_ += work;
    return !over();
  }
  [[nodiscard]] bool over() {
    if (spent_ >= asked_ + 65'536) {  // a clock is read now and then
      asked_ = spent_;
      interrupted_ = interrupted_ || limits_.stop.stop_requested() || (limits_.wall_clock.count() > 0 && clock::now() >= deadline_);
    }
    return interrupted_ || spent_ >= limits_.work;
  }
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }
  /// Whether a value is as close to its lower bound as is asked for.
  [[nodiscard]] bool satisfied(std::int64_t value, std::int64_t bound) const noexcept {
    return value <= bound || (limits_.gap > 0 && static_cast<double>(value - bound) <= limits_.gap * static_cast<double>(bound));
  }

 private:
  using clock = std::chrono::steady_clock;
  search_limits limits_;
  clock::time_point deadline_;
  std::uint64_t spent_ = 0, asked_ = 0;
  bool interrupted_ = false;
};

/// Experts that may be on any of some ranks.
struct replica_problem {
  std::vector<std::int64_t> weights;  ///< rows of each expert
  std::size_t ranks = 1, each = 1;    ///< number of ranks, slots of each
  bool may_share = false;             ///< whether copies of one expert may be on the same rank

  [[nodiscard]] std::size_t slots() const noexcept { return ranks * each; }
  [[nodiscard]] std::int64_t share(std::size_t expert, std::int64_t copies) const noexcept {
    return divide_up(replica_units * weights[expert], copies);
  }
  [[nodiscard]] std::int64_t most_copies() const noexcept {
    return static_cast<std::int64_t>((std::min)(slots() - weights.size() + 1, may_share ? slots() : ranks));
  }
};

/// A plan of a problem.
struct replica_layout {
  std::vector<std::int64_t> copies;  ///< of each expert
  std::vector<std::uint32_t> held;   ///< expert of each slot, rank after rank
  std::vector<std::int64_t> loads;   ///< of each rank
  std::int64_t value = 0;            ///< the largest of them
};

/// Gives each further copy to the expert whose copies are the largest: no other numbers of copies have a smaller largest copy. `limits` are
/// the most copies of each expert; the result is empty if they do not fill the slots.
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> fewest_rows_per_copy(replica_problem const& of, std::vector<std::int64_t> const& limits) {
  auto const n = of.weights.size();
  std::vector<std::int64_t> copies(n, 1);
  auto const smaller = [&](std::size_t a, std::size_t b) {  // loads below 2^42, copies below 2^21
    auto const x = of.weights[a] * copies[b], y = of.weights[b] * copies[a];
    return x != y ? x < y : a > b;
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(smaller)> queue(smaller);
  for (std::size_t e = 0; e < n; ++e) queue.push(e);
  for (auto left = of.slots() - n; left > 0;) {
    if (queue.empty()) return {};
    auto const e = queue.top();
    queue.pop();
    if (copies[e] >= limits[e]) continue;
    ++copies[e];
    --left;
    queue.push(e);
  }
  return copies;
}

/// The same, without limits but those of the problem.
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> fewest_rows_per_copy(replica_problem const& of) {
  return fewest_rows_per_copy(of, std::vector<std::int64_t>(of.weights.size(), of.most_copies()));
}

/// A lower bound on the largest load: the mean; the largest copy, with the smallest ones that may fill its rank.
template <class = when_called>
[[nodiscard]] std::int64_t replica_bound(replica_problem const& of, std::vector<std::int64_t> const& fewest) {
  std::int64_t all = 0, copy = 0;
  std::vector<std::int64_t> least;
  for (std::size_t e = 0; e < fewest.size(); ++e) {
    all += of.weights[e];
    copy = (std::max)(copy, of.share(e, fewest[e]));
    least.push_back(of.share(e, of.most_copies()));
  }
  std::sort(least.begin(), least.end());
  if (of.may_share) std::fill(least.begin(), least.end(), least.front());
  for (std::size_t i = 0; i + 1 < of.each; ++i) copy += least[(std::min)(i, least.size() - 1)];
  return (std::max)(copy, divide_up(replica_units * all, static_cast<std::int64_t>(of.ranks)));
}

/// Deals copies out and exchanges them.
template <class = when_called>
class replica_dealer {
 public:
  replica_dealer(replica_problem const& of, std::int64_t bound, replica_budget& budget) : of_(of), bound_(bound), budget_(budget) {
    if (of.each > 6 || of.ranks < 2) return;
    for (std::uint32_t mask = 0; mask < 1U << (2 * of.each); ++mask)
      if ((mask & 1U) != 0 && static_cast<std::size_t>(std::popcount(mask)) == of.each) splits_.push_back(mask);
  }

  /// Largest copy first, to the least loaded rank that has room for it, then exchanges until none helps.
  [[nodiscard]] replica_layout deal(std::vector<std::int64_t> const& copies) {
    static_cast<void>(deal_out(copies));
    refine();
    return plan_;
  }

  /// The same without exchanges: the largest load.
  [[nodiscard]] std::int64_t deal_out(std::vector<std::int64_t> const& copies) {
    auto& p = plan_;
    p.copies = copies;
    shares_.clear();
    for (std::size_t e = 0; e < copies.size(); ++e) shares_.push_back(of_.share(e, copies[e]));
    p.held.assign(of_.slots(), empty);
    p.loads.assign(of_.ranks, 0);
    used_.assign(of_.ranks, 0);
    std::vector<std::uint32_t> order(copies.size());
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
      auto const x = share(a), y = share(b);
      return x != y ? x > y : a < b;
    });
    for (auto const e : order)
      for (std::int64_t c = 0; c < copies[e]; ++c) place(e);
    budget_.spend(4 * of_.slots() * of_.ranks);
    return *std::max_element(p.loads.begin(), p.loads.end());
  }

 private:
  static constexpr auto empty = ~std::uint32_t{0};

  [[nodiscard]] std::int64_t share(std::uint32_t e) const { return shares_[e]; }
  [[nodiscard]] std::uint32_t* slots_of(std::size_t rank) { return plan_.held.data() + rank * of_.each; }
  [[nodiscard]] bool holds(std::size_t rank, std::uint32_t e) {
    return !of_.may_share && std::find(slots_of(rank), slots_of(rank) + of_.each, e) != slots_of(rank) + of_.each;
  }

  void place(std::uint32_t e) {
    auto to = of_.ranks, open = of_.ranks;
    for (std::size_t r = 0; r < of_.ranks; ++r) {
      if (used_[r] == of_.each) continue;
      if (open == of_.ranks) open = r;
      if ((to == of_.ranks || plan_.loads[r] < plan_.loads[to]) && !holds(r, e)) to = r;
    }
    if (to == of_.ranks) to = make_room(open, e);
    slots_of(to)[used_[to]++] = e;
    plan_.loads[to] += share(e);
  }

  /// All ranks with room hold a copy already. A full rank without one has an expert that the rank with room lacks: it moves there.
  [[nodiscard]] std::size_t make_room(std::size_t open, std::uint32_t e) {
    for (std::size_t r = 0; r < of_.ranks; ++r) {
      if (used_[r] < of_.each || holds(r, e)) continue;
      for (std::size_t i = 0; i < of_.each; ++i) {
        auto const other = slots_of(r)[i];
        if (holds(open, other)) continue;
        slots_of(open)[used_[open]++] = other;
        plan_.loads[open] += share(other);
        plan_.loads[r] -= share(other);
        slots_of(r)[i] = slots_of(r)[--used_[r]];
        return r;
      }
    }
    return open;  // not reached: fewer copies than ranks, and no fewer experts than slots of a rank
  }

  void refine() {
    auto& loads = plan_.loads;
    for (;;) {
      auto const most = static_cast<std::size_t>(std::max_element(loads.begin(), loads.end()) - loads.begin());
      plan_.value = loads[most];
      if (plan_.value <= bound_ || budget_.over()) return;
      if (!exchange_one(most) && !split_anew(most)) return;
    }
  }

  /// The exchange of a copy on the most loaded rank with a smaller one elsewhere that lowers the larger of both loads most.
  [[nodiscard]] bool exchange_one(std::size_t most) {
    auto best = plan_.loads[most];
    std::size_t best_rank = most, best_here = 0, best_there = 0;
    for (std::size_t i = 0; i < of_.each; ++i) {
      auto const a = slots_of(most)[i];
      auto const of_a = share(a);
      for (std::size_t r = 0; r < of_.ranks; ++r)
        for (std::size_t j = 0; j < of_.each; ++j) {
          auto const b = slots_of(r)[j];
          auto const less = of_a - share(b);
          auto const larger = (std::max)(plan_.loads[most] - less, plan_.loads[r] + less);
          if (less <= 0 || larger >= best || holds(r, a) || holds(most, b)) continue;
          best = larger;
          best_rank = r;
          best_here = i;
          best_there = j;
        }
    }
    budget_.spend(2 * of_.each * of_.slots());
    if (best_rank == most) return false;
    auto &a = slots_of(most)[best_here], &b = slots_of(best_rank)[best_there];
    auto const less = share(a) - share(b);
    plan_.loads[most] -= less;
    plan_.loads[best_rank] += less;
    std::swap(a, b);
    return true;
  }

  /// Splits the copies of the most loaded rank and of another one anew, in every way; the first rank that helps is taken.
  [[nodiscard]] bool split_anew(std::size_t most) {
    if (splits_.empty()) return false;
    std::array<std::uint32_t, 12> pool{};
    std::array<std::int64_t, 64> low{}, high{};
    std::copy_n(slots_of(most), of_.each, pool.begin());
    for (std::size_t r = 0; r < of_.ranks; ++r) {
      if (r == most) continue;
      std::copy_n(slots_of(r), of_.each, pool.begin() + static_cast<std::ptrdiff_t>(of_.each));
      auto const all = plan_.loads[most] + plan_.loads[r];
      for (std::uint32_t half = 1; half < 1U << of_.each; ++half) {
        auto const bit = static_cast<std::size_t>(std::countr_zero(half));
        low[half] = low[half & (half - 1)] + share(pool[bit]);
        high[half] = high[half & (half - 1)] + share(pool[bit + of_.each]);
      }
      auto best = plan_.loads[most];
      std::uint32_t chosen = 0;
      for (auto const mask : splits_) {
        auto const sum = low[mask & ((1U << of_.each) - 1)] + high[mask >> of_.each];
        auto const larger = (std::max)(sum, all - sum);
        if (larger < best && separates(pool, mask)) {
          best = larger;
          chosen = mask;
        }
      }
      if (!budget_.spend(2 * splits_.size() + (std::size_t{4} << of_.each))) return false;
      if (chosen == 0) continue;
      std::size_t here = 0, there = 0;
      plan_.loads[most] = plan_.loads[r] = 0;
      for (std::size_t i = 0; i < 2 * of_.each; ++i) {
        auto const stays = (chosen >> i & 1U) != 0;
        (stays ? slots_of(most)[here++] : slots_of(r)[there++]) = pool[i];
        plan_.loads[stays ? most : r] += share(pool[i]);
      }
      return true;
    }
    return false;
  }

  [[nodiscard]] bool separates(std::array<std::uint32_t, 12> const& pool, std::uint32_t mask) const {
    if (of_.may_share) return true;
    for (std::size_t i = 0; i < of_.each; ++i)
      for (std::size_t j = of_.each; j < 2 * of_.each; ++j)
        if (pool[i] == pool[j] && (mask >> i & 1U) == (mask >> j & 1U)) return false;
    return true;
  }

  replica_problem const& of_;
  std::int64_t bound_;
  replica_budget& budget_;
  replica_layout plan_;
  std::vector<std::int64_t> shares_;
  std::vector<std::size_t> used_;
  std::vector<std::uint32_t> splits_;
};

}  // namespace ballast::inline v0_2::detail
