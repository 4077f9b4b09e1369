// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The algorithm of `exchange_pairs`: the most loaded set exchanges up to two items for up to two items of one of the least loaded sets.
template <index_type Index>
class pair_exchanger {
 public:
  static constexpr std::size_t most_items = 12;  ///< number of cheapest items of a set that form pairs
  static constexpr std::size_t partners = 8;

  /// `d.sorted_sets` are the current sets. Stops at a largest load of `enough`, or if none of the partners helps.
  void operator()(dealt_sets<Index>& d, std::int64_t enough) {
    auto const k = d.load.size();
    for (auto rounds = 3 * k; rounds > 0; --rounds) {
      auto const x = static_cast<std::uint32_t>(std::max_element(d.load.begin(), d.load.end()) - d.load.begin());
      if (d.load[x] <= enough) return;
      auto& cheapest = d.cheapest;
      cheapest.clear();
      for (std::uint32_t s = 0; s < k; ++s)
        if (s != x) cheapest.push_back(s);
      auto const last = cheapest.begin() + static_cast<std::ptrdiff_t>((std::min)(partners, cheapest.size()));
      std::partial_sort(cheapest.begin(), last, cheapest.end(),
                        [&](auto a, auto b) { return d.load[a] != d.load[b] ? d.load[a] < d.load[b] : a < b; });
      list(d, x, given_);
      best_ = {d.load[x], 0, {}, {}};
      for (auto it = cheapest.begin(); it != last; ++it) {
        if (best_.load - d.load[*it] <= (d.load[x] - d.load[*it]) / 2) break;  // the mean of both loads, which no exchange goes below
        try_all(d, x, *it);
      }
      if (best_.load >= d.load[x]) return;
      perform(d, x);
    }
  }

 private:
  struct pick {
    std::int64_t cost = 0, size = 0;
    std::array<std::uint8_t, 2> at{};  ///< positions in the sorted set
    std::uint8_t count = 0;
  };
  struct move {
    std::int64_t load;
    std::uint32_t to;
    pick give, take;
  };

  /// Lists the choices of no, one or two items of a set, most expensive first.
  static void list(dealt_sets<Index> const& d, std::uint32_t s, std::vector<pick>& out) {
    auto const& set = d.sorted_sets[s];
    out.assign(1, {});
    auto const n = (std::min)(set.size(), std::size_t{255});
    for (std::uint8_t i = 0; i < n; ++i) {
      out.push_back({set[i].key, d.size[set[i].item], {i, 0}, 1});
      for (std::uint8_t j = n > most_items ? static_cast<std::uint8_t>(n - most_items) : std::uint8_t{0}; j < i; ++j)
        out.push_back({set[i].key + set[j].key, d.size[set[i].item] + d.size[set[j].item], {i, j}, 2});
    }
    std::sort(out.begin(), out.end(), [](pick const& a, pick const& b) { return a.cost != b.cost ? a.cost > b.cost : a.at < b.at; });
  }
  void try_all(dealt_sets<Index> const& d, std::uint32_t x, std::uint32_t y) {
    list(d, y, taken_);
    auto const half = (d.load[x] - d.load[y]) / 2;
    std::size_t nearest = 0;  // both lists descend, and so does the choice that would balance the two sets
    for (auto const& give : given_) {
      while (nearest < taken_.size() && taken_[nearest].cost > give.cost - half) ++nearest;
      for (auto j = nearest >= 2 ? nearest - 2 : 0; j < taken_.size() && j < nearest + 2; ++j) {
        auto const& take = taken_[j];
        auto const gain = give.cost - take.cost;
        auto const load = (std::max)(d.load[x] - gain, d.load[y] + gain);
        if (load < best_.load && give.size - take.size <= d.room[y] && take.size - give.size <= d.room[x]) best_ = {load, y, give, take};
      }
    }
  }
  void perform(dealt_sets<Index>& d, std::uint32_t x) {
    moved_.clear();
    auto const lift = [&](std::uint32_t s, pick const& p, std::uint32_t to) {
      auto& set = d.sorted_sets[s];
      for (std::size_t k = 0; k < p.count; ++k) {  // the later position first
        moved_.push_back({set[p.at[k]], to});
        set.erase(set.begin() + p.at[k]);
      }
      d.load[s] -= p.cost;
      d.room[s] += p.size;
      d.count[s] -= p.count;
      d.load[to] += p.cost;
      d.room[to] -= p.size;
      d.count[to] += p.count;
    };
    lift(x, best_.give, best_.to);
    lift(best_.to, best_.take, x);
    for (auto const& [what, to] : moved_) {
      auto& target = d.sorted_sets[to];
      target.insert(std::lower_bound(target.begin(), target.end(), what), what);
      d.set_of[what.item] = to;
    }
  }

  std::vector<pick> given_, taken_;
  std::vector<std::pair<keyed_item<Index>, std::uint32_t>> moved_;
  move best_{};
};

}  // namespace ballast::inline v0_2::detail
