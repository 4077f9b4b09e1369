// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/choose_plan.hpp>
#include <ballast/batching/detail/pack_for_steps.hpp>
#include <ballast/batching/detail/pipeline_streamer.hpp>
#include <ballast/batching/detail/rows_into_steps.hpp>
#include <ballast/batching/detail/sort_into_steps.hpp>
#include <ballast/batching/detail/streamer.hpp>
#include <ballast/batching/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

// The methods that `plan_steps` tries, and their order.

namespace ballast::inline v0_2::detail {

/// The plan of the narrowest window with the slowest ranks within 1 % of the mean, or else the fastest; plans after the first count if
/// `allowed` accepts them. `deal(window)` deals packs that are sorted by cost in windows of so many steps. `complete` is false if a stop
/// cut the trials short.
template <class Deal, class Allowed>
[[nodiscard]] auto deal_in_windows(std::span<std::uint64_t const> windows, batching_options const& o, Deal const& deal,
                                   Allowed const& allowed, std::stop_token const& stop) {
  auto best = deal(windows.front());
  for (auto const window : windows.subspan(1)) {
    if (compare_products(best.slowest.value, 100 * static_cast<std::int64_t>(o.ranks), best.cost, 101) <= 0) break;
    if (stop.stop_requested()) {
      best.complete = false;
      break;
    }
    if (window >= best.steps()) continue;
    auto plan = deal(window);
    if (plan.slowest.value < best.slowest.value && allowed(plan)) best = std::move(plan);
  }
  return best;
}

/// Offers a plan whose packs are made first, then sorted by cost in windows of steps, dealt, and balanced by exchanges; the deviation of
/// wider windows than a step is at most `most_deviation`.
/// @return whether no stop cut the trials short
template <index_type Index>
[[nodiscard]] bool offer_windows(plan_choice<Index>& choice, weighed_samples const& items, batching_options const& o,
                                 std::uint64_t most_deviation, std::stop_token const& stop) {
  constexpr std::uint64_t all[] = {1, 4, 8, 16, 64, 0}, ends[] = {1, 0};
  auto const packs = pack_for_steps<Index>(items, o);
  auto const deal = [&](std::uint64_t window) {
    auto plan = sort_into_steps(packs, items, o, {.window = window, .redeal = true});
    plan.method = step_method::windows;
    plan.window = window;
    return plan;
  };
  auto best = deal_in_windows(
      o.micro_batches > 1 ? std::span<std::uint64_t const>(ends) : all, o, deal,
      [&](auto const& plan) { return choice.deviation(plan) <= most_deviation; }, stop);
  auto const complete = best.complete;
  choice.offer(std::move(best));
  return complete;
}

/// The plan of packs with at most `max_samples` samples. No pack gets a sample of another one.
template <index_type Index>
[[nodiscard]] batching<Index> plan_limited(weighed_samples const& items, batching_options const& o, std::uint64_t max_samples,
                                           std::stop_token const& stop) {
  constexpr std::uint64_t windows[] = {1, 4, 16, 64, 0};  // wide ones hardly make a pipeline faster: it waits for its slowest micro-batch
  auto const packs = pack_limited<Index>(items, o, max_samples);
  auto const rows = o.synchronisation == synchronisation::per_micro_batch && o.micro_batches > 1;
  auto const pipelines = o.synchronisation == synchronisation::pipeline && o.stages > 1;
  auto const deal = [&](std::uint64_t window) {
    auto plan = rows ? rows_into_steps(packs, items, o, {.window = window}) : sort_into_steps(packs, items, o, {.window = window});
    plan.method = rows ? step_method::rows : step_method::windows;
    if (!rows) plan.window = window;
    return plan;
  };
  return deal_in_windows(std::span(windows).first(pipelines ? 3 : std::size(windows)), o, deal, [](auto const&) { return true; }, stop);
}

/// The options of `stream_steps` to try, in order, chosen by the critical ratios of the samples. All let ranks share the samples that are
/// longer than the capacity.
template <class = when_called>
[[nodiscard]] inline std::vector<stream_options> ways_to_stream(weighed_samples const& items, step_constraints const& c,
                                                                batching_options const& o) {
  auto const room = o.capacity * static_cast<std::int64_t>(o.micro_batches);
  auto const gathered = [&](std::uint32_t fill, std::uint32_t threshold) {
    return stream_options{.fill = fill,
                          .threshold = threshold,
                          .pool = stream_options::whole_epoch,
                          .share_overhead = c.share_overhead,
                          .most_ranks_shared = c.most_ranks_shared};
  };
  auto const random = [&](std::uint32_t fill) {
    return stream_options{.fill = fill, .threshold = 0, .share_overhead = c.share_overhead, .most_ranks_shared = c.most_ranks_shared};
  };
  auto const split = [&](std::uint32_t share) {
    return stream_options{.threshold = 0, .share = share, .share_overhead = c.share_overhead, .most_ranks_shared = c.most_ranks_shared};
  };
  if (costs_fit(items, room, 900))
    return {random(squares_fit(items, room) ? 980 : 0), random(1000), gathered(950, 700), gathered(950, 350)};
  if (items.longest > o.capacity) return {split(400), split(200), split(100), split(50)};
  if (c.most_ranks_shared > 1) return {split(400), split(200)};
  if (o.micro_batches == 1) return {gathered(990, 350), gathered(990, 200), gathered(1000, 250)};
  return {gathered(950, costs_fit(items, room, 1200) ? 900 : 700), gathered(950, 350), gathered(950, 200)};
}

/// Why `plan_items` lets ranks share no samples, or null if it does.
[[nodiscard]] inline char const* why_unshared(step_constraints const& c, batching_options const& o) noexcept {
  if (!c.together.empty()) return "under `together` keys";
  if (!c.apart.empty()) return "under `apart` keys";
  if (o.synchronisation == synchronisation::per_micro_batch && o.micro_batches > 1) return "if they wait at each of several micro-batches";
  if (o.synchronisation == synchronisation::pipeline && o.stages > 1) return "if they are pipelines";
  return nullptr;
}

/// Chooses a planner by `synchronisation` and by the critical ratios.
template <index_type Index>
[[nodiscard]] batching<Index> plan_items(weighed_samples const& items, std::span<std::uint64_t const> apart, step_constraints const& c,
                                         batching_options const& o, std::stop_token const& stop) {
  auto const made_by = [](batching<Index> plan, step_method method) {
    plan.method = method;
    return plan;
  };
  plan_choice<Index> choice(items, o);
  auto const take = [&](bool complete) {
    auto plan = choice.take();
    plan.complete = complete;
    return plan;
  };
  if (o.synchronisation == synchronisation::per_micro_batch && o.micro_batches > 1 && apart.empty() && choice.fewest_steps() <= 8)
    return made_by(rows_into_steps(pack_for_steps<Index>(items, o), items, o, {.window = 16, .redeal = true}),
                   step_method::rows);  // with few steps, one step more would cost much
  if (o.synchronisation == synchronisation::per_micro_batch && o.micro_batches > 1)
    return made_by(rows_into_steps(pack_apart<Index>(items, apart, o), items, o, {.window = 16, .redeal = apart.empty()}),
                   step_method::rows);  // `redeal` would mix keys
  if (!apart.empty()) return made_by(sort_into_steps(pack_apart<Index>(items, apart, o), items, o, {}), step_method::windows);
  if (o.synchronisation == synchronisation::pipeline && o.stages > 1) {
    choice.offer(made_by(pipeline_streamer<Index>(items, o, 980).run(), step_method::pipeline));
    return choice.take();
  }
  auto const too_long = items.longest > o.capacity;  // for one rank
  std::uint64_t deviation = 0;
  for (auto const& way : ways_to_stream(items, c, o)) {
    if (deviation != 0 && choice.balanced() != (way.threshold == 0 && way.share == 0))
      continue;  // balanced steps are only filled more; other steps are only gathered
    auto plan = streamer<Index>(items, o, way).run();
    plan.method = way.share != 0 || too_long ? step_method::shared : way.threshold != 0 ? step_method::gathered : step_method::random;
    deviation = (std::max)(deviation, choice.deviation(plan));
    choice.offer(std::move(plan));
    if (choice.good_enough()) return choice.take();
    if (stop.stop_requested()) return take(false);
  }
  auto const room = o.capacity * static_cast<std::int64_t>(o.micro_batches);
  if (!too_long && (o.micro_batches == 1 || costs_fit(items, room, 900) || choice.fewest_steps() <= 3 || o.least_fill != 0))
    return take(offer_windows(choice, items, o, deviation + deviation / 2, stop));  // with a margin: few steps give only an estimate
  return choice.take();
}

}  // namespace ballast::inline v0_2::detail
