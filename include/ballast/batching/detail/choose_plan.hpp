// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/token_means.hpp>
#include <ballast/batching/bounds.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/detail/streamer.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// How `plan_steps` compares plans of the same samples, and tries ways to stream samples, on all of them or on a part.

namespace ballast::inline v0_2::detail {

/// About `part` of `whole` samples, each chosen at random.
template <index_type Index>
[[nodiscard]] weighed_samples random_part(weighed_samples const& items, std::size_t part, std::size_t whole, std::uint64_t seed) {
  std::vector<Index> chosen;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (multiply(splitmix64(seed + i)(), whole).high < part) chosen.push_back(static_cast<Index>(i));
  return some_of<Index>(items, std::span<Index const>(chosen));
}

/// Packs, and the samples in them.
template <index_type Index>
struct packed_part {
  weighed_samples items;
  groups<Index> packs;
};

/// That many packs, chosen at random. A part of the packs is as full as all of them, which packs of a part of the samples are not.
template <index_type Index>
[[nodiscard]] packed_part<Index> random_packs(groups<Index> const& packs, weighed_samples const& items, std::size_t count,
                                              std::uint64_t seed) {
  auto const order = random_permutation<Index>(packs.size(), seed);
  std::vector<Index> chosen, pack;
  packed_part<Index> out;
  for (auto const p : std::span(order).first(count)) {
    pack.clear();
    for (auto const i : packs[p]) {
      pack.push_back(static_cast<Index>(chosen.size()));
      chosen.push_back(i);
    }
    out.packs.push_back(pack);
  }
  out.items = some_of<Index>(items, std::span<Index const>(chosen));
  return out;
}

/// Whether the slowest ranks of a plan take at most some percent more than the mean.
template <index_type Index>
[[nodiscard]] bool waits_at_most(batching<Index> const& b, std::int64_t percent) {
  return compare_products(b.slowest.value, 100 * static_cast<std::int64_t>(b.ranks), b.cost, 100 + percent) <= 0;
}

/// Compares plans and keeps the best. All decisions are made in integers.
template <index_type Index>
class plan_choice {
 public:
  /// @param shares whether ranks may share samples
  plan_choice(weighed_samples const& items, batching_options const& o, bool shares = false)
      : items_(items), o_(o), means_(token_means_of(items)), shares_(shares || items.longest > o.capacity) {}

  /// Keeps the faster plan of the two.
  void offer(batching<Index> plan) {
    auto& best = plan_;
    if (best.table.empty() || faster(plan, best)) std::swap(best, plan);
    if (plan.table.empty()) return;
    // The slower plan is kept too if it is full enough and the faster plan is not.
    if (fills(plan, floor_of(best)) && !fills(best, floor_of(best)) && (full_.table.empty() || faster(plan, full_)))
      full_ = std::move(plan);
  }
  /// Whether a plan may be the faster one, or be full enough where the best is not, if ranks are balanced up to its lower bound.
  [[nodiscard]] bool may_keep(batching<Index> const& plan) const {
    auto const& best = plan_;
    return best.table.empty() || compare_products(plan.slowest.lower_bound, work(best), best.slowest.value, work(plan)) < 0 ||
           (fills(plan, floor_of(best)) && !fills(best, floor_of(best)));
  }
  /// Whether the slowest ranks of the best plan take at most 1 % more than the mean.
  [[nodiscard]] bool balanced() const { return waits_at_most(plan_, 1); }
  /// The share of time in which ranks work under the best plan, in millionths; 0 if there is none.
  [[nodiscard]] std::uint64_t busy_share() const { return plan_.slowest.value == 0 ? 0 : busy(plan_); }
  /// Whether the best plan takes at most 0.5 % more than the lower bound of all plans, which is asked for only if the most expensive
  /// samples are what its steps wait for.
  [[nodiscard]] bool none_much_faster() {
    auto const takes_little_more = [&](std::int64_t bound) { return compare_products(plan_.slowest.value, 200, bound, 201) <= 0; };
    if (shares_ || !plan_.dropped.empty() || !plan_.repeated.empty() || !takes_little_more(plan_.slowest.lower_bound)) return false;
    if (!bound_) bound_ = steps_lower_bound(items_, o_);
    return takes_little_more(*bound_);
  }
  /// What the slowest ranks of a balanced plan take above the mean, at most.
  [[nodiscard]] std::int64_t most_waiting() const {
    auto const fixed = o_.cost_per_micro_batch * static_cast<std::int64_t>(o_.micro_batches) + o_.cost_per_step;
    return (items_.all_cost / static_cast<std::int64_t>(o_.ranks) + 2 * fixed * static_cast<std::int64_t>(fewest_steps())) / 100;
  }
  /// Whether the best plan takes more than 2 % above the lower bound of all plans.
  [[nodiscard]] bool far_from_bound() {
    if (!bound_) bound_ = steps_lower_bound(items_, o_);
    return compare_products(plan_.slowest.value, 50, *bound_, 51) > 0;
  }
  /// As `most_waiting`, of plans of all samples in one micro-batch that are good enough or not slower than `rival`.
  [[nodiscard]] std::int64_t most_waiting(batching<Index> const& rival) const {
    auto const least = items_.all_cost / static_cast<std::int64_t>(o_.ranks) +
                       (o_.cost_per_micro_batch + o_.cost_per_step) * static_cast<std::int64_t>(fewest_steps());
    return (std::max)(most_waiting(), (std::max)(rival.slowest.value, *bound_ + *bound_ / 200 + 1) - least);
  }
  /// Whether a plan is faster than the best one, and no slower one is kept for its fill beside it.
  [[nodiscard]] bool settles(batching<Index> const& plan) const {
    return faster(plan, plan_) && (fills(plan, floor_of(plan)) || plan.steps() <= fewest_steps());
  }
  /// Whether a plan that is not balanced may take little more than the lower bound of all plans.
  [[nodiscard]] bool must_wait() {
    if (!bound_) bound_ = steps_lower_bound(items_, o_);
    auto const fixed = static_cast<std::int64_t>(fewest_steps()) * (o_.cost_per_step + o_.cost_per_micro_batch);
    auto const mean = items_.all_cost / static_cast<std::int64_t>(o_.ranks);
    return shares_ || *bound_ - fixed - mean > mean / 256;
  }
  /// Whether the fixed costs of the best plan's micro-batches take at most 1 % more than in as few micro-batches as could hold all tokens.
  [[nodiscard]] bool frugal() const {
    if (o_.cost_per_micro_batch == 0) return true;
    auto const may_be_empty = o_.left_over == left_over::shorten || (o_.synchronisation == synchronisation::pipeline && o_.stages > 1);
    auto const places = static_cast<std::int64_t>(o_.ranks * o_.micro_batches);
    auto const fewest = may_be_empty ? divide_up(items_.all_tokens, o_.capacity) : static_cast<std::int64_t>(fewest_steps()) * places;
    return compare_products(o_.cost_per_micro_batch, 100 * (std::max)(taken(plan_) - fewest, std::int64_t{0}), plan_.cost, 1) <= 0;
  }
  /// Whether the best plan is balanced and frugal, and full enough or of fewest steps; if steps have a cost, it must have the fewest steps.
  /// It may miss balance and fill by some percent.
  [[nodiscard]] bool good_enough(std::int64_t misses = 0) {
    auto const least = floor_of(plan_) - 10 * static_cast<std::uint64_t>(misses);
    return (waits_at_most(plan_, 1 + misses) || none_much_faster()) && frugal() &&
           (plan_.steps() <= fewest_steps() || (fills(plan_, least) && o_.cost_per_step == 0));
  }
  /// The fastest plan. If it is not full enough, returns the fastest plan that is, provided that it is at most one percentage point more
  /// idle, has three steps or fewer, or meets `least_fill` while the fastest does not.
  [[nodiscard]] batching<Index> take() {
    if (full_.table.empty() || fills(plan_, floor_of(plan_))) return std::move(plan_);
    auto const asked = o_.least_fill != 0 && !fills(plan_, o_.least_fill) && fills(full_, o_.least_fill);
    return asked || full_.steps() <= 3 || busy(full_) + 10'000 >= busy(plan_) ? std::move(full_) : std::move(plan_);
  }
  [[nodiscard]] std::size_t fewest_steps() const noexcept {
    auto const room = o_.capacity * static_cast<std::int64_t>(o_.ranks * o_.micro_batches);
    return static_cast<std::size_t>(divide_up(items_.all_tokens, room));
  }
  /// The variance of the token-mean length over the steps.
  [[nodiscard]] std::uint64_t deviation(batching<Index> const& b) const { return means_.variance(b, 1); }
  /// The same, from the lengths in each pack.
  [[nodiscard]] std::uint64_t deviation(batching<Index> const& b, std::vector<length_moments> const& packs) const {
    return means_.variance(b, 1, [&](Index p) { return packs[p]; });
  }
  /// What a plan does, beside fixed costs.
  [[nodiscard]] std::int64_t work(batching<Index> const& b) const {
    return b.cost - o_.cost_per_micro_batch * taken(b) - o_.cost_per_step * static_cast<std::int64_t>(b.steps() * o_.ranks);
  }

 private:
  /// Compares the time per unit of cost, since plans may drop samples, repeat samples, or pay for splitting samples.
  [[nodiscard]] bool faster(batching<Index> const& a, batching<Index> const& b) const {
    return compare_products(a.slowest.value, work(b), b.slowest.value, work(a)) < 0;
  }
  /// The number of micro-batches.
  [[nodiscard]] static std::int64_t taken(batching<Index> const& b) {
    return static_cast<std::int64_t>(b.table.size()) - std::count(b.table.begin(), b.table.end(), b.none);
  }
  /// The share of time in which ranks work, in millionths.
  [[nodiscard]] static std::uint64_t busy(batching<Index> const& b) {
    return multiply_divide_up(static_cast<std::uint64_t>(b.cost) / b.ranks, 1'000'000, static_cast<std::uint64_t>(b.slowest.value));
  }
  [[nodiscard]] std::uint64_t floor_of(batching<Index> const& b) const noexcept {
    return (std::max)(std::uint64_t{o_.least_fill}, std::uint64_t{b.steps() <= 4 ? 930U : 970U});
  }
  [[nodiscard]] bool fills(batching<Index> const& b, std::uint64_t thousandths) const {
    auto const tokens = multiply_divide_up(static_cast<std::uint64_t>(b.tokens), 1000, thousandths);
    return tokens / static_cast<std::uint64_t>(o_.capacity) + 1 > b.table.size();
  }

  weighed_samples const& items_;
  batching_options const& o_;
  token_means<std::vector<std::int64_t>> means_;
  bool shares_;
  std::optional<std::int64_t> bound_;
  batching<Index> plan_, full_;
};

/// The options of `stream_steps` to try, in order, by the critical ratios. All let ranks share samples that are longer than the capacity.
template <class = when_called>
[[nodiscard]] inline std::vector<stream_options> ways_to_stream(weighed_samples const& items, step_constraints const& c,
                                                                batching_options const& o) {
  auto const room = o.capacity * static_cast<std::int64_t>(o.micro_batches);
  auto const way = [&](stream_tuning const& by) { return stream_options{c.share_overhead, c.most_ranks_shared, by}; };
  auto const gathered = [&](std::uint32_t fill, std::uint32_t threshold) { return way({.fill = fill, .threshold = threshold}); };
  auto const random = [&](std::uint32_t fill) { return way({.fill = fill, .threshold = 0}); };
  auto const split = [&](std::uint32_t share) { return way({.threshold = 0, .share = share}); };
  if (costs_fit(items, room, 900))
    return {random(squares_fit(items, room) ? 980 : 0), random(1000), gathered(950, 700), gathered(950, 350)};
  if (items.longest > o.capacity) return {split(400), split(200), split(100), split(50)};
  if (c.most_ranks_shared > 1) return {split(400), split(200)};
  if (o.micro_batches == 1) return {gathered(990, 350), gathered(990, 200), gathered(1000, 250)};
  return {gathered(950, costs_fit(items, room, 1200) ? 900 : 700), gathered(950, 350), gathered(950, 200)};
}

/// What `batching::method` says of plans that were streamed in this way.
[[nodiscard]] inline step_method method_of(stream_options const& way, weighed_samples const& items, batching_options const& o) noexcept {
  if (way.tuning.share != 0 || items.longest > o.capacity) return step_method::shared;
  return way.tuning.threshold == 0 ? step_method::random : step_method::gathered;
}

/// Tries ways to stream samples, in order, until a plan is good enough.
template <index_type Index>
class stream_trials {
 public:
  static constexpr std::size_t none = (std::numeric_limits<std::size_t>::max)();

  stream_trials(weighed_samples const& items, std::span<stream_options const> ways, batching_options const& o, search_watch& watch)
      : items_(items), ways_(ways), o_(o), watch_(watch), choice_(items, o, ways.front().tuning.share != 0) {}

  /// Tries the ways from `first` on, `count` at most. Returns the one that is good enough, where random steps may miss that by some
  /// percent, or `none`.
  std::size_t run(std::size_t first, std::size_t count, std::int64_t random_misses = 0) {
    std::vector<std::size_t> given_up;  // plans that are not good enough: they do not matter if another one is
    for (auto k = first; k < ways_.size() && k - first < count; ++k) {
      auto const& way = ways_[k];
      auto const random = way.tuning.threshold == 0 && way.tuning.share == 0;
      if (deviation_ != 0 && choice_.balanced() != random) continue;  // balanced steps are only filled more; other steps are only gathered
      auto const gives_up = count > 1 && random_misses == 0 && way.tuning.threshold != 0 && choice_.fewest_steps() >= 32;
      auto plan = stream(k, gives_up ? choice_.most_waiting() : end_above_);
      if (!plan) continue;
      if (end_above_ != any_time && plan->table.empty()) {
        ended_ = true;
        continue;
      }
      if (gives_up && plan->table.empty() && !choice_.must_wait()) {
        given_up.push_back(k);
        continue;
      }
      if (gives_up && plan->table.empty()) plan = stream(k);
      offer(k, std::move(plan));
      if (choice_.good_enough(random ? random_misses : 0)) return k;
      if (watch_.interrupted(0)) break;
    }
    for (auto const k : given_up)
      if (deviation_ == 0 || !watch_.interrupted(0)) offer(k, stream(k));
    return none;
  }
  /// Ends ways, which then do not count, once their steps wait longer in all.
  void end_above(std::int64_t waiting) noexcept { end_above_ = waiting; }
  [[nodiscard]] bool ended() const noexcept { return ended_; }  ///< whether that has happened
  [[nodiscard]] plan_choice<Index>& choice() noexcept { return choice_; }
  [[nodiscard]] std::uint64_t deviation() const noexcept { return deviation_; }  ///< the largest of all plans
  [[nodiscard]] std::size_t best() const noexcept { return best_; }              ///< the way of the fastest plan

 private:
  /// The plan of a way, or nothing if it gathers the same samples as the last plan, and so leads to that one again.
  [[nodiscard]] std::optional<batching<Index>> stream(std::size_t k, std::int64_t most_waiting = any_time) {
    if (!drawn_) drawn_.emplace(items_, o_);
    streamer<Index> made(items_, *drawn_, o_, ways_[k]);
    std::vector<Index> key;  // what decides the plan, if it may be that of another way
    if (ways_[k].tuning.threshold != 0 && ways_[k].tuning.share == 0 && o_.left_over != left_over::repeat) {
      key = made.gathered();
      key.push_back(static_cast<Index>(ways_[k].tuning.fill));
      if (key == last_) return std::nullopt;
    }
    auto plan = made.run(most_waiting);
    streamed_ = made.deviation();
    plan.method = method_of(ways_[k], items_, o_);
    if (!plan.table.empty()) last_ = std::move(key);
    return plan;
  }
  void offer(std::size_t k, std::optional<batching<Index>> plan) {
    if (!plan) return;
    deviation_ = (std::max)(deviation_, streamed_);
    auto const busy = choice_.busy_share();
    choice_.offer(*std::move(plan));
    if (choice_.busy_share() > busy) best_ = k;
  }

  weighed_samples const& items_;
  std::span<stream_options const> ways_;
  batching_options const& o_;
  search_watch& watch_;
  plan_choice<Index> choice_;
  std::optional<stream_draw<Index>> drawn_;     ///< for all ways
  std::vector<Index> last_;                     ///< the samples that the last plan gathered, and its fill
  std::uint64_t deviation_ = 0, streamed_ = 0;  ///< the largest; that of the last plan
  std::size_t best_ = 0;
  std::int64_t end_above_ = any_time;
  bool ended_ = false;
};

/// What trials on a part of the samples lead to expect.
struct expected_way {
  bool good = true;             ///< whether a way is good enough there
  std::size_t way = 0;          ///< the way that is, or else the fastest
  std::uint64_t deviation = 0;  ///< the largest there
};

/// Tries the ways from `first` on on a random part of the samples, of about `part` of `whole` steps.
template <index_type Index>
[[nodiscard]] expected_way try_on_part(weighed_samples const& items, std::span<stream_options const> ways, std::size_t first,
                                       std::size_t part, std::size_t whole, batching_options o, search_watch& watch) {
  o.left_over = left_over::drop;  // the last step of a part must not count
  auto const some = random_part<Index>(items, part, whole, ~epoch_seed(o));
  stream_trials<Index> trials(some, ways, o, watch);
  auto const found = trials.run(first, ways.size(), 2);  // a part is seldom further than that from the whole
  auto const good = found != trials.none;
  return {good, good ? found : trials.best(), trials.deviation()};
}

}  // namespace ballast::inline v0_2::detail
