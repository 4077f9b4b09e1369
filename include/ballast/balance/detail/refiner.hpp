// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// An exchange of the refinement: `give` items of the most expensive set for `take` of another.
template <index_type Index>
struct exchange {
  std::int64_t load;  ///< the larger of both loads after the exchange
  std::uint32_t to;
  std::size_t give, take;
  bool swaps;
};

template <index_type Index>
class refiner {
 public:
  refiner(dealt_sets<Index>& d, refinement const& r, std::int64_t lower_bound)
      : d_(d), k_(d.load.size()), partners_(r.partners != 0 && r.partners < k_ ? static_cast<std::size_t>(r.partners) : k_ - 1) {
    auto& sets = d_.sorted_sets;
    if (sets.size() < k_) sets.resize(k_);
    for (std::size_t s = 0; s < k_; ++s) sets[s].clear();
    std::uint64_t placed = 0;
    for (auto const& sample : d_.order)
      if (d_.set_of[sample.item] != d_.none) {
        sets[d_.set_of[sample.item]].push_back(sample);
        ++placed;
      }
    fewest_ = d_.equal ? placed / k_ : 0;
    most_ = (std::min)(d_.equal ? (placed + k_ - 1) / k_ : placed, d_.max_items != 0 ? d_.max_items : placed);
    for (auto rounds = r.rounds != 0 ? r.rounds : 3 * std::uint64_t{k_}; rounds > 0; --rounds) {
      auto const most_expensive = static_cast<std::size_t>(std::max_element(d_.load.begin(), d_.load.end()) - d_.load.begin());
      if (d_.load[most_expensive] <= lower_bound) return;
      auto const best = best_exchange(most_expensive);
      if (best.load >= d_.load[most_expensive]) return;
      perform(most_expensive, best);
    }
  }

 private:
  using item = keyed_item<Index>;

  [[nodiscard]] exchange<Index> best_exchange(std::size_t x) {
    auto& cheapest = d_.cheapest;
    cheapest.clear();
    for (std::size_t s = 0; s < k_; ++s)
      if (s != x) cheapest.push_back(static_cast<std::uint32_t>(s));
    auto const last = cheapest.begin() + static_cast<std::ptrdiff_t>(partners_);
    exchange<Index> best{d_.load[x], 0, 0, 0, false};
    for (auto it = cheapest.begin(), sorted = it; it != last; ++it) {
      if (it == sorted) {  // sorts twice as many partners as before, since seldom are many tried
        sorted += (std::min)((std::max)(std::ptrdiff_t{8}, it - cheapest.begin()), last - it);
        std::partial_sort(it, sorted, cheapest.end(),
                          [&](auto a, auto b) { return d_.load[a] != d_.load[b] ? d_.load[a] < d_.load[b] : a < b; });
      }
      if (best.load - d_.load[*it] <= (d_.load[x] - d_.load[*it]) / 2) break;  // the mean of both loads, which no exchange goes below
      try_all(x, *it, best);
    }
    return best;
  }
  void try_all(std::size_t x, std::uint32_t y, exchange<Index>& best) const {
    auto const& mine = d_.sorted_sets[x];
    auto const& theirs = d_.sorted_sets[y];
    auto const half = (d_.load[x] - d_.load[y]) / 2;
    auto const may_move = mine.size() > fewest_ && theirs.size() < most_;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      auto const cost = mine[i].key, size = d_.size[mine[i].item];
      if (i > 0 && mine[i - 1].key == cost && d_.size[mine[i - 1].item] == size) continue;
      auto const offer = [&](std::size_t j, bool swaps, std::int64_t back, std::int64_t back_size) {
        auto const load = (std::max)(d_.load[x] - cost + back, d_.load[y] + cost - back);
        if (load < best.load && size - back_size <= d_.room[y] && back_size - size <= d_.room[x]) best = {load, y, i, j, swaps};
      };
      if (may_move) offer(0, false, 0, 0);
      auto const nearest =
          std::partition_point(theirs.begin(), theirs.end(), [&](item const& t) { return t.key > cost - half; }) - theirs.begin();
      auto const from = static_cast<std::size_t>((std::max)(nearest, std::ptrdiff_t{1}) - 1);
      for (auto j = from; j < theirs.size() && j < static_cast<std::size_t>(nearest) + 2; ++j)
        if (theirs[j].key < cost) offer(j, true, theirs[j].key, d_.size[theirs[j].item]);
    }
  }
  void perform(std::size_t x, exchange<Index> const& e) {
    auto& mine = d_.sorted_sets[x];
    auto& theirs = d_.sorted_sets[e.to];
    auto const given = mine[e.give];
    mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(e.give));
    if (e.swaps) {
      auto const taken = theirs[e.take];
      theirs.erase(theirs.begin() + static_cast<std::ptrdiff_t>(e.take));
      transfer(taken, e.to, x);
    }
    transfer(given, x, e.to);
  }
  void transfer(item const& what, std::size_t from, std::size_t to) {
    auto& target = d_.sorted_sets[to];
    target.insert(std::lower_bound(target.begin(), target.end(), what), what);
    d_.set_of[what.item] = static_cast<std::uint32_t>(to);
    d_.load[from] -= what.key;
    d_.load[to] += what.key;
    d_.room[from] += d_.size[what.item];
    d_.room[to] -= d_.size[what.item];
    --d_.count[from];
    ++d_.count[to];
  }

  dealt_sets<Index>& d_;
  std::size_t k_, partners_;
  std::uint64_t fewest_ = 0, most_ = 0;  ///< fewest and most items of a set after a move
};

}  // namespace ballast::inline v0_2::detail
