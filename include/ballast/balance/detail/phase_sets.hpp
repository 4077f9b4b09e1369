// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/options.hpp>
#include <ballast/core/concepts.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Sets of items that have a cost in each phase. The value is the sum over phases of the largest load of a set. A set may consist of bins
// with a capacity.

namespace ballast::inline v0_2::detail {

/// The bins of every set. Without sizes there is one bin in a set, and room for everything.
struct phase_bins {
  std::vector<std::int64_t> sizes{};  ///< of each item, or empty
  std::int64_t capacity = 0;          ///< of a bin
  std::size_t each = 1;               ///< bins of a set
  [[nodiscard]] std::int64_t size(std::size_t item) const { return sizes.empty() ? 0 : sizes[item]; }
};

template <index_type Index>
class phase_dealer {
 public:
  phase_dealer(std::vector<std::int64_t> const& costs, std::size_t phases, std::size_t sets, phase_bins const& bins)
      : costs_(costs),
        bins_(bins),
        p_(phases),
        k_(sets),
        load_(sets * phases, 0),
        members_(sets),
        top_(phases),
        room_(sets * bins.each, bins.capacity),
        count_(sets * bins.each, 0),
        bin_(costs.size() / phases, 0) {}

  void put(Index item, std::size_t set, std::size_t bin) {
    members_[set].push_back(item);
    for (std::size_t p = 0; p < p_; ++p) load_[set * p_ + p] += cost(item, p);
    bin_[item] = bin;
    room_[bin] -= bins_.size(item);
    ++count_[bin];
  }
  /// Whether every bin is within the capacity.
  [[nodiscard]] bool fits() const {
    return std::all_of(room_.begin(), room_.end(), [](auto r) { return r >= 0; });
  }
  /// Puts each item, in this order, where the value grows least; of equal sets, where the sum of all phases is least. Returns whether all
  /// items had room.
  bool deal(std::vector<Index> const& order) {
    std::vector<std::int64_t> largest(p_, 0), total(k_, 0);
    for (auto const item : order) {
      std::size_t best = k_;
      std::int64_t best_growth = -1;
      for (std::size_t s = 0; s < k_; ++s) {
        if (bin_for(item, s, false) == nowhere) continue;
        std::int64_t growth = 0;
        for (std::size_t p = 0; p < p_; ++p) growth += (std::max)(load_[s * p_ + p] + cost(item, p) - largest[p], std::int64_t{0});
        if (best_growth >= 0 && (growth != best_growth ? growth > best_growth : total[s] >= total[best])) continue;
        best = s;
        best_growth = growth;
      }
      if (best == k_) return false;
      put(item, best, bin_for(item, best, false));
      for (std::size_t p = 0; p < p_; ++p) {
        largest[p] = (std::max)(largest[p], load_[best * p_ + p]);
        total[best] += cost(item, p);
      }
    }
    return true;
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
  /// The items of each bin, ascending.
  [[nodiscard]] std::vector<std::vector<Index>> bins() const {
    std::vector<std::vector<Index>> out(room_.size());
    for (auto const& set : members_)
      for (auto const item : set) out[bin_[item]].push_back(item);
    for (auto& bin : out) std::sort(bin.begin(), bin.end());
    return out;
  }
  [[nodiscard]] std::vector<std::int64_t> const& loads() const { return load_; }

 private:
  static constexpr auto nowhere = static_cast<std::size_t>(-1);
  static constexpr std::size_t most_given = 32, most_taken = 16;  // items of a set that an exchange tries
  struct exchange {
    bool found = false;
    std::int64_t change = 0, pair = 0;  // of the value, and of the sum of the larger loads of both sets
    std::size_t from = 0, to = 0, give = 0, take = 0;
    bool swaps = false;
  };

  [[nodiscard]] std::int64_t cost(Index item, std::size_t p) const { return costs_[static_cast<std::size_t>(item) * p_ + p]; }
  /// The bin of a set with the most room, of those with items if `used`; or `nowhere` if the item does not fit.
  [[nodiscard]] std::size_t bin_for(Index item, std::size_t set, bool used) const {
    if (bins_.sizes.empty()) return set;
    auto best = nowhere;
    for (auto b = set * bins_.each; b < (set + 1) * bins_.each; ++b)
      if (room_[b] >= bins_.size(item) && (!used || count_[b] != 0) && (best == nowhere || room_[b] > room_[best])) best = b;
    return best;
  }
  /// Whether an exchange keeps to the capacity. With sizes, no bin loses its last item, and none gets a first one.
  [[nodiscard]] bool has_room(Index given, Index const* taken, std::size_t to) const {
    if (bins_.sizes.empty()) return true;
    if (taken == nullptr) return count_[bin_[given]] > 1 && bin_for(given, to, true) != nowhere;
    auto const more = bins_.size(given) - bins_.size(*taken);
    return room_[bin_[*taken]] >= more && room_[bin_[given]] >= -more;
  }
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
    if (!has_room(members_[from][i], swaps ? &members_[to][j] : nullptr, to)) return;
    best = {true, change, pair, from, to, i, j, swaps};
  }
  void perform(exchange const& e) {
    auto const given = members_[e.from][e.give];
    auto to = nowhere;
    if (e.swaps) {
      auto const taken = members_[e.to][e.take];
      to = bin_[taken];
      remove(e.to, e.take);
      put(taken, e.from, bin_[given]);
    } else {
      to = bin_for(given, e.to, true);
    }
    remove(e.from, e.give);
    put(given, e.to, to);
  }
  void remove(std::size_t set, std::size_t at) {
    auto const item = members_[set][at];
    for (std::size_t p = 0; p < p_; ++p) load_[set * p_ + p] -= cost(item, p);
    room_[bin_[item]] += bins_.size(item);
    --count_[bin_[item]];
    members_[set].erase(members_[set].begin() + static_cast<std::ptrdiff_t>(at));
  }

  struct top {
    std::int64_t load;
    std::size_t set;
  };
  std::vector<std::int64_t> const& costs_;
  phase_bins const& bins_;
  std::size_t p_, k_;
  std::vector<std::int64_t> load_;  // of each set, phase after phase
  std::vector<std::vector<Index>> members_;
  std::vector<std::array<top, 3>> top_;
  std::vector<std::int64_t> room_;        // of each bin, set after set
  std::vector<std::size_t> count_, bin_;  // items of each bin; the bin of each item
  std::vector<std::int64_t> rest_;        // of each phase: the largest load of a set that takes no part
};

}  // namespace ballast::inline v0_2::detail
