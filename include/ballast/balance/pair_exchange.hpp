// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/detail/exchange_search.hpp>
#include <ballast/core/kept_memory.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief `exchange_pairs`: exchanges of up to two items for up to two, for sets that hold few items each.

namespace ballast::inline v0_2 {

namespace detail {
/// The algorithm of `exchange_pairs`: the most loaded set exchanges up to two items for up to two items of one of the least loaded sets.
template <index_type Index>
class pair_exchanger {
 public:
  static constexpr std::size_t most_items = 12;  ///< number of cheapest items of a set that form pairs
  static constexpr std::size_t partners = 8;

  /// `d.sorted_sets` are the current sets. Stops at a largest load of `enough`, or if none of the partners helps.
  template <class Accepts>
  void operator()(dealt_sets<Index>& d, std::int64_t enough, Accepts const& accepts) {
    listed_.fill(d.none);
    search_exchanges(
        d, {.partners = partners}, enough, [&](std::uint32_t x, std::uint32_t y, std::int64_t& best) { try_all(d, x, y, best); },
        [&](std::uint32_t x) { return perform(d, x, accepts); });
  }

 private:
  struct pick {
    std::int64_t cost = 0, size = 0;
    std::array<std::uint8_t, 2> at{};  ///< positions in the sorted set
    std::uint8_t count = 0;
  };
  struct move {
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
  /// As `list`, of a set that may have been listed before: the least loaded sets are partners in many rounds.
  [[nodiscard]] std::vector<pick> const& choices_of(dealt_sets<Index> const& d, std::uint32_t s) {
    auto const known = static_cast<std::size_t>(std::ranges::find(listed_, s) - listed_.begin());
    if (known < listed_.size()) return picks_[known];
    oldest_ = (oldest_ + 1) % listed_.size();
    listed_[oldest_] = s;
    list(d, s, picks_[oldest_]);
    return picks_[oldest_];
  }
  void try_all(dealt_sets<Index> const& d, std::uint32_t x, std::uint32_t y, std::int64_t& best) {
    if (y == memory_of(d.scratch).by_load.front()) list(d, x, given_);  // the first partner of a round
    auto const& taken = choices_of(d, y);
    auto const count = taken.size();
    auto const half = (d.load[x] - d.load[y]) / 2;
    auto const load_after = [&](pick const& give, pick const& take) {
      auto const gain = give.cost - take.cost;
      return (std::max)(d.load[x] - gain, d.load[y] + gain);
    };
    std::size_t nearest = 0;  // both lists descend, and so does the choice that would balance the two sets
    for (auto const& give : given_) {
      if (d.load[x] - give.cost >= best) break;  // the cheaper choices give no more
      while (nearest < count && taken[nearest].cost > give.cost - half) ++nearest;
      auto const offer = [&](std::size_t j) {
        auto const load = load_after(give, taken[j]);
        if (load >= best || give.size - taken[j].size > d.room[y] || taken[j].size - give.size > d.room[x]) return;
        best = load;
        best_ = {y, give, taken[j]};
      };
      // The further choice on either side leaves no smaller load.
      if (nearest > 0 && load_after(give, taken[nearest - 1]) < best) {
        if (nearest > 1) offer(nearest - 2);
        offer(nearest - 1);
      }
      if (nearest < count && load_after(give, taken[nearest]) < best) {
        offer(nearest);
        if (nearest + 1 < count) offer(nearest + 1);
      }
    }
  }
  template <class Accepts>
  [[nodiscard]] bool perform(dealt_sets<Index>& d, std::uint32_t x, Accepts const& accepts) {
    moved_.clear();
    auto const lift = [&](std::uint32_t s, pick const& p) {
      auto& set = d.sorted_sets[s];
      for (std::size_t k = 0; k < p.count; ++k) {  // the later position first
        moved_.push_back({set[p.at[k]], s});
        set.erase(set.begin() + p.at[k]);
      }
    };
    lift(x, best_.give);
    lift(best_.to, best_.take);
    std::ranges::replace(listed_, x, d.none);
    std::ranges::replace(listed_, best_.to, d.none);
    auto const other = [&](std::uint32_t s) { return s == x ? best_.to : x; };
    for (auto const& [what, from] : moved_) transfer(d, what, from, other(from));
    if (accepts(x) && accepts(best_.to)) return true;
    for (auto const& [what, from] : moved_) move_listed(d, what, other(from), from);
    return false;
  }

  std::vector<pick> given_;
  std::array<std::uint32_t, 32> listed_{};   ///< sets that did not change since they were listed, or none
  std::array<std::vector<pick>, 32> picks_;  ///< the choices of each
  std::size_t oldest_ = 0;
  std::vector<std::pair<keyed_item<Index>, std::uint32_t>> moved_;
  move best_{};
};
}  // namespace detail

/// @brief Scratch memory of `exchange_pairs`, kept between calls.
/// @tparam Index  type of the item numbers
template <index_type Index = std::uint32_t>
using pair_exchange_workspace = kept_memory<detail::pair_exchanger<Index>>;

/// @brief Lowers the largest load of refined sets further: the most loaded set exchanges up to two items for up to two items of one of the
/// least loaded sets.
///
/// In sets of few items, a swap of one item for one (`refine`) seldom balances two sets, but an exchange of two for two nearly always does.
/// Pairs are made of the twelve cheapest items of a set. A round tries eight partners, and there are at most three rounds for each set.
///
/// @tparam Index  type of the item numbers
/// @tparam Accepts  returns a bool for the number of a set
/// @param sets       sets after `refine`: their items are in `sorted_sets`
/// @param enough     the exchanges end when the largest load is at most this
/// @param workspace  scratch memory
/// @param accepts    whether a set may stay as it is now; the first exchange that leaves one that may not is undone, and is the last
/// @pre no limits other than the capacity: `max_items` is 0 and `equal` is false
/// @post the largest load has not grown, and no set exceeds the capacity unless it did before
/// @par Complexity
/// O(sets log sets), plus O(sets + m^2) for each round with m items in a set; of more than 12 items, only the 12 cheapest form pairs.
/// @par Determinism
/// A pure function of the sets.
/// @par Source
/// This library.
template <index_type Index, class Accepts = detail::accept_all>
void exchange_pairs(dealt_sets<Index>& sets, std::int64_t enough, pair_exchange_workspace<Index>& workspace, Accepts const& accepts = {}) {
  detail::memory_of(workspace)(sets, enough, accepts);
}

}  // namespace ballast::inline v0_2
