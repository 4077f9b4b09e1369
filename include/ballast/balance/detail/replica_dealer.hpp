// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/replica_layout.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/search_watch.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Deals copies out and exchanges them.
template <class = when_called>
class replica_dealer {
 public:
  replica_dealer(replica_problem const& of, std::int64_t bound, search_budget& budget) : of_(of), bound_(bound), budget_(budget) {
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
      if (plan_.value <= bound_ || !budget_.allows()) return;
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
      budget_.spend(2 * splits_.size() + (std::size_t{4} << of_.each));
      if (!budget_.allows()) return false;
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
  search_budget& budget_;
  replica_layout plan_;
  std::vector<std::int64_t> shares_;
  std::vector<std::size_t> used_;
  std::vector<std::uint32_t> splits_;
};

}  // namespace ballast::inline v0_2::detail
