// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/attention/detail/attention_parts.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// @file
/// @brief `water_filling`: balances the causal attention of a batch over servers by moving parts of samples, with few bytes.

namespace ballast::inline v0_2 {

namespace detail {

/// Moves parts of tasks between servers until their loads are alike.
template <index_type Index>
class water_filler {
 public:
  water_filler(std::span<attention_task<Index> const> tasks, water_filling_options const& o)
      : o_(o), parts_(tasks, o), retired_(parts_.servers(), false) {
    // Below a ten-thousandth of the mean, what is too small for any window is not searched for.
    auto const mean = parts_.mean();
    tolerated_ = (std::max)(mean / 1000 * o.tolerance + mean % 1000 * o.tolerance / 1000,
                            (std::min)(triangle<std::int64_t>(o.multiple), mean / 10'000));
  }

  [[nodiscard]] attention_plan<Index> run() {
    if (o_.filling == filling::one_sided)
      fill_receivers();
    else
      fill_both();
    return parts_.finish();
  }

 private:
  using candidate = typename attention_parts<Index>::candidate;
  using entry = std::pair<std::int64_t, std::uint32_t>;  ///< surplus or deficit, and the server; ties: the lower number
  struct less_urgent {
    bool operator()(entry const& a, entry const& b) const { return a.first != b.first ? a.first < b.first : a.second > b.second; }
  };
  using heap = std::priority_queue<entry, std::vector<entry>, less_urgent>;

  void fill_both() {
    heap donors, receivers;
    auto const enter = [&](std::uint32_t s) {
      if (retired_[s]) return;
      if (parts_.surplus(s) > 0) donors.push({parts_.surplus(s), s});
      if (parts_.deficit(s) > 0) receivers.push({parts_.deficit(s), s});
    };
    for (std::uint32_t s = 0; s < parts_.servers(); ++s) enter(s);
    auto overshoots = 4 * std::uint64_t{parts_.servers()};  // moves that could go on for long
    for (;;) {
      while (!donors.empty() && (retired_[donors.top().second] || parts_.surplus(donors.top().second) != donors.top().first)) donors.pop();
      while (!receivers.empty() && (retired_[receivers.top().second] || parts_.deficit(receivers.top().second) != receivers.top().first))
        receivers.pop();
      if (donors.empty() || receivers.empty()) return;
      auto from = donors.top().second;
      auto const to = receivers.top().second;
      auto const more = donors.top().first, less = receivers.top().first;
      if (more <= tolerated_ && less <= tolerated_) return;
      auto found = parts_.cheapest(from, to, (std::min)(more, less));
      if (!found.found() && more > tolerated_ && overshoots > 0) {
        found = parts_.smallest(from, to, more + less);  // then the larger of the two gets smaller
        --overshoots;
      }
      if (!found.found() && less > tolerated_) std::tie(found, from) = of_another_donor(from, to);
      candidate back;
      if (!found.found() && overshoots > 0) {
        std::tie(found, back) = exchange(from, to);
        --overshoots;
      }
      if (!found.found()) {
        retired_[more >= less ? from : to] = true;
        continue;
      }
      parts_.move(found, from, to);
      if (back.found()) parts_.move(back, to, from);
      enter(from);
      enter(to);
    }
  }
  /// The donor's smallest part for one of the receiver that is a little smaller, if together they bring both nearer to the mean.
  [[nodiscard]] std::pair<candidate, candidate> exchange(std::uint32_t from, std::uint32_t to) const {
    auto const more = parts_.surplus(from), less = parts_.deficit(to);
    auto const there = parts_.smallest(from, to, (std::numeric_limits<std::int64_t>::max)());
    auto const most = there.pairs - divide_up((std::min)(more, less), std::int64_t{2});
    if (!there.found() || most <= 0) return {};
    auto const back = parts_.cheapest(to, from, most);
    if (!back.found() || there.pairs - back.pairs >= more + less) return {};
    return {there, back};
  }
  /// A move of another donor that neither side has too much of; of the donors, the one with the largest surplus.
  [[nodiscard]] std::pair<candidate, std::uint32_t> of_another_donor(std::uint32_t without, std::uint32_t to) {
    order_.clear();
    for (std::uint32_t s = 0; s < parts_.servers(); ++s)
      if (s != without && parts_.surplus(s) > 0) order_.push_back({parts_.surplus(s), s});
    std::sort(order_.begin(), order_.end(), [](entry const& a, entry const& b) { return less_urgent{}(b, a); });
    for (auto const& [more, from] : order_)
      if (auto const found = parts_.cheapest(from, to, (std::min)(more, parts_.deficit(to))); found.found()) return {found, from};
    return {candidate{}, without};
  }

  /// The published way: the receivers one after the other, each from the donor that gives with the least bytes per pair.
  void fill_receivers() {
    std::vector<entry> receivers;
    for (std::uint32_t s = 0; s < parts_.servers(); ++s)
      if (parts_.deficit(s) > 0) receivers.push_back({parts_.deficit(s), s});
    std::sort(receivers.begin(), receivers.end(), [](entry const& a, entry const& b) { return less_urgent{}(b, a); });
    for (auto const& [less, to] : receivers)
      while (parts_.deficit(to) > tolerated_) {
        candidate best;
        std::uint32_t giver = 0;
        for (std::uint32_t from = 0; from < parts_.servers(); ++from) {
          if (parts_.surplus(from) <= 0) continue;
          auto const found = parts_.cheapest(from, to, (std::min)(parts_.surplus(from), parts_.deficit(to)));
          if (found.found() && (!best.found() || attention_parts<Index>::cheaper(found, best))) {
            best = found;
            giver = from;
          }
        }
        if (!best.found()) break;
        parts_.move(best, giver, to);
      }
  }

  water_filling_options const& o_;
  attention_parts<Index> parts_;
  std::vector<bool> retired_;  ///< servers that no move helps
  std::vector<entry> order_;
  std::int64_t tolerated_ = 0;
};

}  // namespace detail

/// @brief Balances the attention of a batch over servers: each task stays at home, moves, or is split into parts that move.
///
/// Servers above the mean are donors, those below are receivers. The donor with the largest surplus gives to the receiver with the largest
/// deficit: the part that moves with the least bytes per pair, as much of it as neither side has too much. A part is a window of
/// neighbouring queries, or queries off both ends of a task; their numbers are multiples of `multiple`, or all that is left. If no part is
/// small enough, the donor gives more, as long as the larger of the two distances from the mean shrinks; or another donor gives; or the
/// two exchange parts. It ends when the largest surplus and the largest deficit are within the tolerance, or no part helps. Neither of
/// them ever grows.
///
/// @tparam Index  type of the sample indices
/// @param tasks    the attention as it is placed: of shards by `attention_tasks_of`, or a task for each whole sample. No query occurs twice
/// @param options  servers, bytes and tolerance
/// @return the tasks of each server, in the order of the given tasks they are part of; the parts of one task on one server are merged where
/// they are neighbours
/// @post each query is in one task. Of each given task, all parts but one (with a tail: but two) have a multiple of `multiple` queries in
/// their heads and tails
/// @throws invalid_input for a bad option, a task without queries or with 2^31 keys, or if sums of pairs or bytes reach 2^63
/// @par Complexity
/// O(servers log servers + tasks), and for each move O(tasks of a server), or O(tasks) where the donor has no part that is small enough.
/// There are about as many moves as servers, and several times as many with a tolerance near 0. `filling::one_sided` looks at the tasks
/// of all donors for each move.
/// @par Determinism
/// A pure function of its arguments; decided in integers.
/// @par Source
/// Zhuang et al., "Efficient Long-context Language Model Training by Core Attention Disaggregation" (DistCA), arXiv 2510.18121, fills the
/// receivers only; the donors are left with what all receivers may lack.
template <index_type Index>
[[nodiscard]] attention_plan<Index> water_filling(std::span<attention_task<Index> const> tasks, water_filling_options const& options) {
  detail::require_valid(tasks, options);
  return detail::water_filler<Index>(tasks, options).run();
}

/// @brief As above, for a vector.
/// @tparam Index type of the sample indices
/// @param tasks the attention as it is placed
/// @param options servers, bytes and tolerance
/// @return the tasks of each server, in the order of the given tasks they are part of
/// @throws invalid_input as the overload above
template <index_type Index>
[[nodiscard]] attention_plan<Index> water_filling(std::vector<attention_task<Index>> const& tasks, water_filling_options const& options) {
  return water_filling(std::span<attention_task<Index> const>(tasks), options);
}

BALLAST_INSTANTIATE(attention_plan<std::uint32_t> water_filling(std::span<attention_task<std::uint32_t> const>,
                                                                water_filling_options const&))

}  // namespace ballast::inline v0_2
