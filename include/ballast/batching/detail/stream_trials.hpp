// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/choose_plan.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/detail/streamer.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

// The ways to stream samples that `plan_steps` tries.

namespace ballast::inline v0_2::detail {

/// The options of `stream_steps` to try, in order, chosen by the critical ratios of the samples. All let ranks share the samples that are
/// longer than the capacity.
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

/// Tries ways to stream samples, in order, until a plan is good enough.
template <index_type Index>
class stream_trials {
 public:
  static constexpr std::size_t none = (std::numeric_limits<std::size_t>::max)();

  stream_trials(weighed_samples const& items, std::span<stream_options const> ways, batching_options const& o, std::stop_token stop)
      : items_(items), ways_(ways), o_(o), stop_(std::move(stop)), choice_(items, o) {}

  /// Tries the ways from `first` on, `count` at most. Returns the one that is good enough, where random steps may miss that by some
  /// percent, or `none`.
  std::size_t run(std::size_t first, std::size_t count, std::int64_t random_misses = 0) {
    for (auto k = first; k < ways_.size() && k - first < count; ++k) {
      auto const& way = ways_[k];
      auto const random = way.tuning.threshold == 0 && way.tuning.share == 0;
      if (deviation_ != 0 && choice_.balanced() != random) continue;  // balanced steps are only filled more; other steps are only gathered
      auto plan = streamer<Index>(items_, o_, way).run();
      plan.method = way.tuning.share != 0 || items_.longest > o_.capacity ? step_method::shared
                    : random                                              ? step_method::random
                                                                          : step_method::gathered;
      deviation_ = (std::max)(deviation_, choice_.deviation(plan));
      auto const busy = choice_.busy_share();
      choice_.offer(std::move(plan));
      if (choice_.busy_share() > busy) best_ = k;
      if (choice_.good_enough(random ? random_misses : 0)) return k;
      if (stop_.stop_requested()) break;
    }
    return none;
  }
  [[nodiscard]] plan_choice<Index>& choice() noexcept { return choice_; }
  [[nodiscard]] std::uint64_t deviation() const noexcept { return deviation_; }  ///< the largest of all plans
  [[nodiscard]] std::size_t best() const noexcept { return best_; }              ///< the way of the fastest plan

 private:
  weighed_samples const& items_;
  std::span<stream_options const> ways_;
  batching_options const& o_;
  std::stop_token stop_;
  plan_choice<Index> choice_;
  std::uint64_t deviation_ = 0;
  std::size_t best_ = 0;
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
                                       std::size_t part, std::size_t whole, batching_options o, std::stop_token const& stop) {
  o.left_over = left_over::drop;  // the last step of a part must not count
  auto const some = random_part<Index>(items, part, whole, ~epoch_seed(o));
  stream_trials<Index> trials(some, ways, o, stop);
  auto const found = trials.run(first, ways.size(), 2);  // a part is seldom further than that from the whole
  auto const good = found != trials.none;
  return {good, good ? found : trials.best(), trials.deviation()};
}

}  // namespace ballast::inline v0_2::detail
