// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/options.hpp>
#include <ballast/core/concepts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

// Sets of items that have a cost in each phase. The value is the sum over phases of the largest load of a set.

namespace ballast::inline v0_2::detail {

template <index_type Index>
class phase_dealer {
 public:
  phase_dealer(std::vector<std::int64_t> const& costs, std::size_t phases, std::size_t sets)
      : costs_(costs), p_(phases), k_(sets), load_(sets * phases, 0), members_(sets), top_(phases) {}

  void put(Index item, std::size_t set) {
    members_[set].push_back(item);
    for (std::size_t p = 0; p < p_; ++p) load_[set * p_ + p] += cost(item, p);
  }
  /// Puts each item, in this order, where the value grows least; of equal sets, where the sum of all phases is least.
  void deal(std::vector<Index> const& order) {
    std::vector<std::int64_t> largest(p_, 0), total(k_, 0);
    for (auto const item : order) {
      std::size_t best = 0;
      std::int64_t best_growth = -1;
      for (std::size_t s = 0; s < k_; ++s) {
        std::int64_t growth = 0;
        for (std::size_t p = 0; p < p_; ++p) growth += (std::max)(load_[s * p_ + p] + cost(item, p) - largest[p], std::int64_t{0});
        if (best_growth >= 0 && (growth != best_growth ? growth > best_growth : total[s] >= total[best])) continue;
        best = s;
        best_growth = growth;
      }
      put(item, best);
      for (std::size_t p = 0; p < p_; ++p) {
        largest[p] = (std::max)(largest[p], load_[best * p_ + p]);
        total[best] += cost(item, p);
      }
    }
  }
  [[nodiscard]] std::int64_t value() const {
    std::int64_t sum = 0;
    for (std::size_t p = 0; p < p_; ++p) sum += load_[fullest(p) * p_ + p];
    return sum;
  }
  /// Moves and swaps items between the fullest set of a phase and the emptiest ones, while the value falls or these sets get more even.
  void refine(refinement const& how, std::int64_t enough) {
    auto const rounds = how.rounds != 0 ? how.rounds : 3 * std::uint64_t{k_} * p_;
    std::uint64_t idle = 0;  // phases in turn without an exchange
    for (std::uint64_t round = 0; round < rounds && idle < p_ && value() > enough; ++round) {
      auto const phase = static_cast<std::size_t>(round % p_);
      auto const best = best_exchange(fullest(phase), phase, how.partners, round / p_);
      idle = best.found ? 0 : idle + 1;
      if (best.found) perform(best);
    }
  }
  [[nodiscard]] std::vector<std::vector<Index>>& members() { return members_; }
  [[nodiscard]] std::vector<std::int64_t> const& loads() const { return load_; }

 private:
  static constexpr std::size_t most_given = 32, most_taken = 16;  // items of a set that an exchange tries
  struct exchange {
    bool found = false;
    std::int64_t change = 0, pair = 0;  // of the value, and of the sum of the larger loads of both sets
    std::size_t from = 0, to = 0, give = 0, take = 0;
    bool swaps = false;
  };

  [[nodiscard]] std::int64_t cost(Index item, std::size_t p) const { return costs_[static_cast<std::size_t>(item) * p_ + p]; }
  [[nodiscard]] std::size_t fullest(std::size_t p) const {
    std::size_t best = 0;
    for (std::size_t s = 1; s < k_; ++s)
      if (load_[s * p_ + p] > load_[best * p_ + p]) best = s;
    return best;
  }
  /// The three largest loads of each phase, with their sets: two of them may take part in an exchange.
  void rank_loads() {
    for (std::size_t p = 0; p < p_; ++p) {
      top_[p].fill({-1, k_});
      for (std::size_t s = 0; s < k_; ++s) {
        top entry{load_[s * p_ + p], s};
        for (auto& place : top_[p])
          if (entry.load > place.load) std::swap(entry, place);
      }
    }
  }
  [[nodiscard]] std::int64_t others(std::size_t p, std::size_t a, std::size_t b) const {
    for (auto const& t : top_[p])
      if (t.set != a && t.set != b) return (std::max)(t.load, std::int64_t{0});
    return 0;
  }
  /// Tries every move and swap with the sets that are emptiest in a phase; of large sets, every few items, others in each turn.
  [[nodiscard]] exchange best_exchange(std::size_t from, std::size_t phase, std::uint64_t partners, std::uint64_t turn) {
    rank_loads();
    std::vector<std::size_t> order;
    for (std::size_t s = 0; s < k_; ++s)
      if (s != from) order.push_back(s);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) {
      auto const x = load_[a * p_ + phase], y = load_[b * p_ + phase];
      return x != y ? x < y : a < b;
    });
    if (partners != 0 && partners < order.size()) order.resize(static_cast<std::size_t>(partners));
    rest_.resize(p_);
    exchange best;
    auto const every = [turn](std::size_t count, std::size_t most) {  // the first item, and the step
      auto const step = (count + most - 1) / most;
      return std::pair{step == 0 ? 0 : static_cast<std::size_t>(turn % step), step};
    };
    for (auto const to : order) {
      for (std::size_t p = 0; p < p_; ++p) rest_[p] = others(p, from, to);
      auto const [i0, give] = every(members_[from].size(), most_given);
      auto const [j0, take] = every(members_[to].size(), most_taken);
      for (auto i = i0; i < members_[from].size(); i += give) {
        offer(from, to, i, 0, false, best);
        for (auto j = j0; j < members_[to].size(); j += take) offer(from, to, i, j, true, best);
      }
    }
    return best;
  }
  void offer(std::size_t from, std::size_t to, std::size_t i, std::size_t j, bool swaps, exchange& best) const {
    std::int64_t change = 0, pair = 0;
    for (std::size_t p = 0; p < p_; ++p) {
      auto const given = cost(members_[from][i], p) - (swaps ? cost(members_[to][j], p) : 0);
      auto const a = load_[from * p_ + p], b = load_[to * p_ + p];
      auto const before = (std::max)(a, b), after = (std::max)(a - given, b + given);
      change += (std::max)(after, rest_[p]) - (std::max)(before, rest_[p]);
      pair += after - before;
    }
    if (change > 0 || (change == 0 && pair >= 0)) return;
    if (best.found && (change != best.change ? change > best.change : pair >= best.pair)) return;
    best = {true, change, pair, from, to, i, j, swaps};
  }
  void perform(exchange const& e) {
    auto const given = members_[e.from][e.give];
    auto const taken = e.swaps ? members_[e.to][e.take] : given;
    remove(e.from, e.give);
    if (e.swaps) {
      remove(e.to, e.take);
      put(taken, e.from);
    }
    put(given, e.to);
  }
  void remove(std::size_t set, std::size_t at) {
    for (std::size_t p = 0; p < p_; ++p) load_[set * p_ + p] -= cost(members_[set][at], p);
    members_[set].erase(members_[set].begin() + static_cast<std::ptrdiff_t>(at));
  }

  struct top {
    std::int64_t load;
    std::size_t set;
  };
  std::vector<std::int64_t> const& costs_;
  std::size_t p_, k_;
  std::vector<std::int64_t> load_;  // of each set, phase after phase
  std::vector<std::vector<Index>> members_;
  std::vector<std::array<top, 3>> top_;
  std::vector<std::int64_t> rest_;  // of each phase: the largest load of a set that takes no part
};

}  // namespace ballast::inline v0_2::detail
