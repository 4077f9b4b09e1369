// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/token_means.hpp>
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/detail/choose_plan.hpp>
#include <ballast/batching/detail/pack_for_steps.hpp>
#include <ballast/batching/detail/streamer.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// How `plan_steps` buys randomness with time.

namespace ballast::inline v0_2::detail {

/// Sorts packs by cost in windows and deals them; `pack_sorter::finish` then balances each step by exchanges.
template <index_type Index>
[[nodiscard]] batching<Index> sort_in_window(pack_sorter<Index> const& sorter, std::uint64_t window) {
  auto plan = sorter.sort({.window = window});
  plan.method = step_method::windows;
  plan.window = window;
  return plan;
}

/// Makes plans in several ways, on a part of the samples where there are many steps, and takes the fastest of those that are about as
/// random as time allows. `price` is in thousandths of the fastest plan's time; 1000 is any time.
template <index_type Index>
class priced_plans {
 public:
  priced_plans(weighed_samples const& items, batching_options const& o, std::uint64_t price, search_watch& watch)
      : items_(items), o_(o), price_(price), watch_(watch), choice_(items, o) {}

  /// Tries ways to stream the samples.
  void try_ways(std::span<stream_options const> ways) {
    auto part = o_;
    part.left_over = left_over::drop;  // the last step of a part must not count
    auto const some = in_part() ? random_part<Index>(items_, part_steps, choice_.fewest_steps(), ~epoch_seed(o_)) : weighed_samples{};
    for (auto const& way : ways) {
      if (interrupted()) return;
      method by{.way = way, .in_full = !in_part(), .balanced = true};
      auto plan = by.in_full ? make(by) : stream<Index>(some, part, way);
      auto const means = token_means_of(by.in_full ? items_ : some);
      note(by, std::move(plan), means, [&](auto const& made, std::size_t in_a_row) { return means.variance(made, in_a_row); });
    }
  }
  /// Tries packs that are sorted by cost in windows of steps, from wide windows on until one is random enough, or too slow. The widest is
  /// always tried in full: a part has a narrower one, and it is the fastest. Any is balanced where that decides.
  void try_windows(groups<Index> packs) {
    auto const places = static_cast<std::size_t>(o_.ranks * o_.micro_batches);
    auto const& some = parts_.emplace_back(
        in_part() ? random_packs(packs, items_, (std::min)(part_steps * places, packs.size()), ~epoch_seed(o_)) : packed_part<Index>{});
    auto const& all = sorters_.emplace_back(std::move(packs), items_, o_);
    auto const& part = in_part() ? sorters_.emplace_back(some.packs, some.items, o_) : all;
    auto const means_of_all = token_means_of(items_), means_of_part = token_means_of(some.items);
    auto const sums_of_all = all.lengths(), sums_of_part = in_part() ? part.lengths() : sums_of_all;
    for (auto const window : {0U, 64U, 16U, 8U, 4U, 1U}) {
      if (interrupted()) return;
      auto const in_full = window == 0 || !in_part();
      auto const& tried = in_full ? all : part;
      auto const& means = in_full ? means_of_all : means_of_part;
      auto const& sums = in_full ? sums_of_all : sums_of_part;
      note({.all = &all, .tried = &tried, .window = window, .in_full = in_full}, sort_in_window(tried, window), means,
           [&](auto const& made, std::size_t in_a_row) { return means.variance(made, in_a_row, [&](Index p) { return sums[p]; }); });
      auto const last = tried_.size() - 1;
      if (window == 0) widest_.push_back(last);
      if (tried_[last].deviation <= 2 * random_ || !affordable(last)) return;
    }
  }
  [[nodiscard]] batching<Index> take() {
    std::vector<std::size_t> by_deviation(tried_.size());
    std::iota(by_deviation.begin(), by_deviation.end(), std::size_t{0});
    sort_by(by_deviation, [&](std::size_t a, std::size_t b) {
      return tried_[a].deviation != tried_[b].deviation ? tried_[a].deviation < tried_[b].deviation : a < b;
    });
    std::size_t best = 0;
    std::uint64_t enough = 0;
    bool found = false;
    for (auto const k : by_deviation) {
      if (found && tried_[k].deviation > enough) break;
      if (affordable(k)) balance(k, affordable_time(k));
      if (!affordable(k)) continue;
      if (!found)  // nothing is paid for hardly more randomness, or for more than draws have
        enough = (std::max)(tried_[k].deviation / 2 * 3, 2 * random_);
      if (!found || faster(tried_[k], tried_[best])) best = k;
      found = true;
    }
    auto plan = whole(best);
    // The part may have promised more. No plan takes less than the mean of all ranks.
    auto const sure = price_ >= 1000 || waits_at_most(plan, static_cast<std::int64_t>(price_ / 10));
    if (!sure && !interrupted()) find_fastest();
    if (best != fastest_ && !sure && !interrupted()) {
      auto other = whole(fastest_);
      if (!costs_at_most({.time = plan.slowest.value, .work = choice_.work(plan)}, other.slowest.value, choice_.work(other)))
        plan = std::move(other);
    }
    plan.complete = complete_;
    return plan;
  }

 private:
  /// A way to make steps, and the plan that it led to.
  struct method {
    stream_options way{};
    pack_sorter<Index> const *all = nullptr, *tried = nullptr;  ///< null if samples are streamed
    std::uint64_t window = 0;
    bool in_full = false;   ///< whether `plan` has all samples
    bool balanced = false;  ///< otherwise `time` is a lower bound
    std::int64_t time = 0, work = 0;
    std::uint64_t deviation = 0;  ///< variance of the token-mean length over some steps in a row
    batching<Index> plan{};
  };
  static constexpr std::size_t part_steps = 128;

  [[nodiscard]] bool in_part() const noexcept { return choice_.fewest_steps() >= 2 * part_steps; }
  [[nodiscard]] bool interrupted() {
    if (!tried_.empty() && watch_.interrupted(0)) complete_ = false;
    return !complete_;
  }
  [[nodiscard]] static bool faster(method const& a, method const& b) { return compare_products(a.time, b.work, b.time, a.work) < 0; }
  [[nodiscard]] bool costs_at_most(method const& m, std::int64_t time, std::int64_t work) const {
    auto const most = divide(multiply(static_cast<std::uint64_t>(time), 1000 + price_), 1000).whole;
    return compare_products(m.time, work, static_cast<std::int64_t>(most), m.work) <= 0;
  }
  /// Whether a plan takes no more than the price above the fastest one. If what is known of the widest windows before they are balanced
  /// does not tell, balances them.
  [[nodiscard]] bool affordable(std::size_t k) {
    if (price_ >= 1000) return true;
    if (!tried_[k].balanced && std::ranges::find(widest_, k) != widest_.end()) {
      if (widest_.size() == 1 && fastest_ == none) return true;
      find_fastest();
    }
    auto by_least = fastest_ == none || costs_at_most(tried_[k], tried_[fastest_].time, tried_[fastest_].work), by_most = by_least;
    for (auto const w : widest_) {
      if (tried_[w].balanced) continue;
      by_least = by_least && costs_at_most(tried_[k], tried_[w].time, tried_[w].work);
      by_most = by_most && costs_at_most(tried_[k], tried_[w].plan.slowest.value, tried_[w].work);
    }
    if (by_least == by_most) return by_least;
    find_fastest();
    return costs_at_most(tried_[k], tried_[fastest_].time, tried_[fastest_].work);
  }
  void find_fastest() {
    for (auto const w : widest_) balance(w);
  }

  using means_of_steps = token_means<std::vector<std::int64_t>>;
  template <class Variance>
  void note(method by, batching<Index> plan, means_of_steps const& means, Variance const& variance) {
    auto const in_a_row = (std::max)(std::size_t{1}, (std::min)(std::size_t{8}, plan.steps() / 4));
    by.time = by.balanced ? plan.slowest.value : plan.slowest.lower_bound;
    by.work = choice_.work(plan);
    by.deviation = variance(plan, in_a_row);
    if (tried_.empty()) random_ = means.variance_of_random(plan.steps(), in_a_row);
    by.plan = std::move(plan);
    tried_.push_back(std::move(by));
    if (by.balanced) count(tried_.size() - 1);
  }
  /// A time above which a plan is not affordable.
  [[nodiscard]] std::int64_t affordable_time(std::size_t k) const {
    if (price_ >= 1000) return any_time;
    auto least = any_time;
    auto const count = [&](method const& m, std::int64_t time) {
      auto const most = multiply_divide_up(static_cast<std::uint64_t>(time), 1000 + price_, 1000);
      auto const work = static_cast<std::uint64_t>((std::max)(m.work, std::int64_t{1}));
      least = (std::min)(least, static_cast<std::int64_t>(multiply_divide_up(most, static_cast<std::uint64_t>(tried_[k].work), work)));
    };
    if (fastest_ != none) count(tried_[fastest_], tried_[fastest_].time);
    for (auto const w : widest_)
      if (!tried_[w].balanced && w != k) count(tried_[w], tried_[w].plan.slowest.value);
    return least;
  }
  /// Balances the steps of packs, which changes no step's samples, unless it will take more than `most`.
  void balance(std::size_t k, std::int64_t most = any_time) {
    auto& m = tried_[k];
    if (m.balanced) return;
    m.plan = m.tried->finish(std::move(m.plan), true, most);
    m.time = m.plan.slowest.value;
    m.balanced = true;
    count(k);
  }
  void count(std::size_t k) {
    if (fastest_ == none || faster(tried_[k], tried_[fastest_])) fastest_ = k;
  }
  [[nodiscard]] batching<Index> whole(std::size_t k) {
    if (!tried_[k].in_full) return make(tried_[k]);
    balance(k);
    return std::move(tried_[k].plan);
  }
  [[nodiscard]] batching<Index> make(method const& by) const {
    if (by.all != nullptr) return by.all->finish(sort_in_window(*by.all, by.window), true);
    auto plan = stream<Index>(items_, o_, by.way);
    plan.method = method_of(by.way, items_, o_);
    return plan;
  }

  weighed_samples const& items_;
  batching_options const& o_;
  std::uint64_t price_;
  search_watch& watch_;
  plan_choice<Index> choice_;
  std::deque<packed_part<Index>> parts_;  // sorters refer to their samples
  std::deque<pack_sorter<Index>> sorters_;
  std::vector<method> tried_;
  static constexpr std::size_t none = (std::numeric_limits<std::size_t>::max)();
  std::size_t fastest_ = none;       ///< of those that are balanced
  std::vector<std::size_t> widest_;  ///< windows of all steps, one of which may be the fastest
  std::uint64_t random_ = 0;         ///< the deviation of random draws
  bool complete_ = true;
};

/// The plan of all methods at the price of the options.
template <index_type Index>
[[nodiscard]] batching<Index> plan_at_price(weighed_samples const& items, step_constraints const& c, batching_options const& o,
                                            search_watch& watch) {
  auto ways = ways_to_stream(items, c, o);
  stream_options const random{.tuning = {.fill = 980, .threshold = 0}};
  auto const shared = items.longest > o.capacity || c.most_ranks_shared > 1;
  if (!shared && std::ranges::find(ways, random) == ways.end()) ways.push_back(random);
  priced_plans<Index> plans(items, o, o.time_for_randomness, watch);
  plans.try_ways(ways);
  if (items.longest <= o.capacity) {
    plans.try_windows(pack_for_steps<Index>(items, o));
    plans.try_windows(best_fit_decreasing<Index>(items.tokens, {.capacity = o.capacity}).packs);
  }
  return plans.take();
}

/// The plan of packs in windows at a price of 1 %. Of many steps, these are the fastest and fullest, and about as random over eight steps
/// in a row as other plans that balance samples of high cost.
template <index_type Index>
[[nodiscard]] batching<Index> plan_windows(weighed_samples const& items, batching_options const& o, search_watch& watch) {
  priced_plans<Index> plans(items, o, 10, watch);
  plans.try_windows(pack_for_steps<Index>(items, o));
  return plans.take();
}

}  // namespace ballast::inline v0_2::detail
