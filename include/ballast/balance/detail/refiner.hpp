// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/exchange_search.hpp>
#include <ballast/balance/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// The algorithm of `refine`.
template <index_type Index>
class refiner {
 public:
  refiner(dealt_sets<Index>& d, refinement const& r, std::int64_t lower_bound) : d_(d) {
    auto const k = d.load.size();
    auto& sets = d_.sorted_sets;
    if (sets.size() < k) sets.resize(k);
    for (std::size_t s = 0; s < k; ++s) sets[s].clear();
    std::uint64_t placed = 0;
    for (auto const& sample : d_.order)
      if (d_.set_of[sample.item] != d_.none) {
        sets[d_.set_of[sample.item]].push_back(sample);
        ++placed;
      }
    fewest_ = d_.equal ? placed / k : 0;
    most_ = (std::min)(d_.equal ? (placed + k - 1) / k : placed, d_.max_items != 0 ? d_.max_items : placed);
    search_exchanges(
        d_, r, lower_bound, [&](std::uint32_t x, std::uint32_t y, std::int64_t& best) { try_all(x, y, best); },
        [&](std::uint32_t x) { perform(x); });
  }

 private:
  using item = keyed_item<Index>;
  /// Item `give` of the most expensive set for item `take` of another, if it swaps.
  struct exchange {
    std::uint32_t to;
    std::size_t give, take;
    bool swaps;
  };

  void try_all(std::uint32_t x, std::uint32_t y, std::int64_t& best) {
    auto const& mine = d_.sorted_sets[x];
    auto const& theirs = d_.sorted_sets[y];
    auto const half = (d_.load[x] - d_.load[y]) / 2;
    auto const may_move = mine.size() > fewest_ && theirs.size() < most_;
    for (std::size_t i = 0; i < mine.size(); ++i) {
      auto const cost = mine[i].key, size = d_.size[mine[i].item];
      if (i > 0 && mine[i - 1].key == cost && d_.size[mine[i - 1].item] == size) continue;
      auto const offer = [&](std::size_t j, bool swaps, std::int64_t back, std::int64_t back_size) {
        auto const load = (std::max)(d_.load[x] - cost + back, d_.load[y] + cost - back);
        if (load >= best || size - back_size > d_.room[y] || back_size - size > d_.room[x]) return;
        best = load;
        best_ = {y, i, j, swaps};
      };
      if (may_move) offer(0, false, 0, 0);
      auto const nearest =
          std::partition_point(theirs.begin(), theirs.end(), [&](item const& t) { return t.key > cost - half; }) - theirs.begin();
      auto const from = static_cast<std::size_t>((std::max)(nearest, std::ptrdiff_t{1}) - 1);
      for (auto j = from; j < theirs.size() && j < static_cast<std::size_t>(nearest) + 2; ++j)
        if (theirs[j].key < cost) offer(j, true, theirs[j].key, d_.size[theirs[j].item]);
    }
  }
  void perform(std::uint32_t x) {
    auto& mine = d_.sorted_sets[x];
    auto& theirs = d_.sorted_sets[best_.to];
    auto const given = mine[best_.give];
    mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(best_.give));
    if (best_.swaps) {
      auto const taken = theirs[best_.take];
      theirs.erase(theirs.begin() + static_cast<std::ptrdiff_t>(best_.take));
      transfer(d_, taken, best_.to, x);
    }
    transfer(d_, given, x, best_.to);
  }

  dealt_sets<Index>& d_;
  std::uint64_t fewest_ = 0, most_ = 0;  ///< fewest and most items of a set after a move
  exchange best_{};
};

}  // namespace ballast::inline v0_2::detail
