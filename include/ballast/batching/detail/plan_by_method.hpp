// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/detail/choose_plan.hpp>
#include <ballast/batching/detail/pack_for_steps.hpp>
#include <ballast/batching/detail/pipeline_streamer.hpp>
#include <ballast/batching/detail/plan_at_price.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

// The methods that `plan_steps` tries, and their order.

namespace ballast::inline v0_2::detail {

/// The plan of the narrowest window with the slowest ranks within 1 % of the mean, or else the fastest; plans after the first count if
/// `allowed` accepts them. `deal(window)` deals packs that are sorted by cost in windows of so many steps. `complete` is false if a stop
/// cut the trials short.
template <class Deal, class Allowed>
[[nodiscard]] auto deal_in_windows(std::span<std::uint64_t const> windows, Deal const& deal, Allowed const& allowed, search_watch& watch) {
  auto best = deal(windows.front());
  for (auto const window : windows.subspan(1)) {
    if (waits_at_most(best, 1)) break;
    if (watch.interrupted(0)) {
      best.complete = false;
      break;
    }
    if (window >= best.steps()) continue;
    auto plan = deal(window);
    if (plan.slowest.value < best.slowest.value && allowed(plan)) best = std::move(plan);
  }
  return best;
}

/// The plan of packs that are sorted by cost in windows of steps, dealt, and balanced by exchanges if `choice` may keep them; the deviation
/// of wider windows than a step is at most `most_deviation`. `refused` tells whether it is larger for one of them.
template <index_type Index>
[[nodiscard]] batching<Index> plan_in_windows(plan_choice<Index> const& choice, pack_sorter<Index> const& sorter, batching_options const& o,
                                              std::uint64_t most_deviation, bool& refused, search_watch& watch) {
  constexpr std::uint64_t all[] = {1, 4, 8, 16, 64, 0}, ends[] = {1, 0};
  auto const windows = o.micro_batches > 1 ? std::span<std::uint64_t const>(ends) : all;
  auto const lengths = sorter.lengths();
  auto allowed = true, full = false;
  auto most = o.micro_batches > 1 ? any_time : 0;  // of two windows, the wide one is seldom allowed
  auto const deal = [&](std::uint64_t window) {
    auto plan = sort_in_window(sorter, window);
    allowed = window == windows.front() || choice.deviation(plan, lengths) <= most_deviation;
    full = std::ranges::find(plan.table, plan.none) == plan.table.end();  // each step then keeps its samples
    if (allowed && choice.may_keep(plan)) {
      auto const good = multiply_divide_up(static_cast<std::uint64_t>(plan.cost), 101, 100 * plan.ranks);  // 1 % above the mean
      plan = sorter.finish(std::move(plan), true, full ? (std::max)(most, static_cast<std::int64_t>(good)) : any_time);
      allowed = full || choice.deviation(plan) <= most_deviation;
    }
    refused = refused || !allowed;
    return plan;
  };
  // Each is balanced as far as it may wait at most 1 %; if all wait longer, from the widest on, as far as it may be the fastest.
  auto best = deal_in_windows(windows, deal, [&](auto const&) { return allowed; }, watch);
  if (!full || most != 0 || waits_at_most(best, 1)) return best;
  most = any_time;
  for (auto k = windows.size(); k-- > 0;) {
    if (k != 0 && windows[k] >= best.steps()) continue;
    auto plan = deal(windows[k]);
    if (!allowed || plan.slowest.value > most) continue;
    most = plan.slowest.value;
    best = std::move(plan);
    best.complete = k == 0 || !watch.interrupted(0);
    if (!best.complete) break;
  }
  return best;
}

/// The plan of packs with at most `max_samples` samples. No pack gets a sample of another one.
template <index_type Index>
[[nodiscard]] batching<Index> plan_limited(weighed_samples const& items, batching_options const& o, std::uint64_t max_samples,
                                           search_watch& watch) {
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
  return deal_in_windows(std::span(windows).first(pipelines ? 3 : std::size(windows)), deal, [](auto const&) { return true; }, watch);
}

/// Why `plan_by_method` lets ranks share no samples, or null if it does.
[[nodiscard]] inline char const* why_unshared(step_constraints const& c, batching_options const& o) noexcept {
  if (!c.together.empty()) return "under `together` keys";
  if (!c.apart.empty()) return "under `apart` keys";
  if (o.synchronisation == synchronisation::per_micro_batch && o.micro_batches > 1) return "if they wait at each of several micro-batches";
  if (o.synchronisation == synchronisation::pipeline && o.stages > 1) return "if they are pipelines";
  return nullptr;
}

/// Plans for ranks that wait per step: streams samples or, if no way to stream them is good enough, makes packs first. In a long epoch,
/// ways are tried on a part of it, and only the one that is good there is used for all of it.
template <index_type Index>
[[nodiscard]] batching<Index> plan_per_step(weighed_samples const& items, step_constraints const& c, batching_options const& o,
                                            search_watch& watch) {
  auto const ways = ways_to_stream(items, c, o);
  stream_trials<Index> trials(items, ways, o, watch);
  auto& choice = trials.choice();
  auto const take = [&](bool complete) {
    auto plan = choice.take();
    plan.complete = complete;
    return plan;
  };
  auto const steps = choice.fewest_steps();
  auto const random = costs_fit(items, o.capacity * static_cast<std::int64_t>(o.micro_batches), 900);
  auto const may_pack = items.longest <= o.capacity && (o.micro_batches == 1 || random || steps <= 3 || o.least_fill != 0);
  auto const windows = may_pack && o.micro_batches == 1 && c.most_ranks_shared == 1 && steps >= 150;  // wide ones are about as random
  auto const many_in_a_pack = items.size() / 32 >= steps * static_cast<std::size_t>(o.ranks);         // streams are then fast, and full
  if (windows && !random && !many_in_a_pack) return plan_windows<Index>(items, o, watch);
  expected_way likely;
  if (may_pack && steps >= 256 && o.cost_per_step == 0 && o.least_fill == 0) {
    if (!random && steps < 1024) {  // a part would be a large one, and the first way is often good
      if (trials.run(0, 1) == 0) return take(true);
      if (watch.interrupted(0)) return take(false);
      likely.way = 1;
    }
    auto const part = random ? (std::max)(std::size_t{32}, steps / 16) : steps / 4;
    auto const first = likely.way;
    likely = try_on_part<Index>(items, ways, first, (std::min)(std::size_t{128}, part), steps, o, watch);
    if (!likely.good && watch.interrupted(0)) {
      if (first == 0) trials.run(likely.way, 1);  // there is no plan yet
      return take(false);
    }
  }
  std::optional<pack_sorter<Index>> sorter;
  auto refused = false;
  auto const in_windows = [&] {
    if (!sorter) sorter.emplace(pack_for_steps<Index>(items, o), items, o);
    auto const deviation = (std::max)(likely.deviation, trials.deviation());
    return plan_in_windows(choice, *sorter, o, deviation + deviation / 2, refused, watch);  // with a margin: an estimate
  };
  // If few steps wait for their most expensive samples, packs in windows are often faster than gathered samples. They are planned after the
  // first way, whose deviation allows windows, and end the other ways early.
  if (may_pack && !random && o.micro_batches == 1 && steps < 32 && c.most_ranks_shared == 1 && many_in_a_pack &&
      (o.left_over == left_over::split || o.left_over == left_over::shorten)) {
    if (trials.run(0, 1) != trials.none) return take(true);
    if (watch.interrupted(0)) return take(false);
    likely.way = 1;
    if (choice.far_from_bound()) {
      auto rival = in_windows();
      trials.end_above(choice.most_waiting(rival));
      if (trials.run(1, ways.size()) != trials.none) return take(true);
      auto const settled = !refused && rival.complete && choice.settles(rival);
      if (settled) choice.offer(std::move(rival));
      if (settled || watch.interrupted(0)) return take(settled);
      if (!trials.ended()) likely.way = ways.size();
      trials.end_above(any_time);
    }
  }
  if (likely.good) {
    if (trials.run(likely.way, ways.size()) != trials.none) return take(true);
    if (watch.interrupted(0)) return take(false);
  }
  if (!may_pack && (items.longest > o.capacity || choice.frugal())) return take(true);
  if (windows) {
    choice.offer(plan_windows<Index>(items, o, watch));
    if (likely.good || choice.balanced() || watch.interrupted(0)) return take(!watch.interrupted(0));
    trials.run(likely.way, 1);
    return take(true);
  }
  auto const deviation = (std::max)(likely.deviation, trials.deviation());
  auto const offer = [&] {
    auto plan = in_windows();
    auto const complete = plan.complete;
    choice.offer(std::move(plan));
    return complete;
  };
  auto complete = offer();
  if (complete && !likely.good && !choice.balanced()) {
    complete = !watch.interrupted(0);
    if (complete) trials.run(likely.way, 1);
    // Rare samples deviate less in a part: wider windows may be random enough.
    if (complete && trials.deviation() > deviation) complete = offer();
  }
  return take(complete);
}

/// Chooses a planner by `synchronisation` and by the critical ratios.
template <index_type Index>
[[nodiscard]] batching<Index> plan_by_method(weighed_samples const& items, std::span<std::uint64_t const> apart, step_constraints const& c,
                                             batching_options const& o, search_watch& watch) {
  auto const made_by = [](batching<Index> plan, step_method method) {
    plan.method = method;
    return plan;
  };
  plan_choice<Index> choice(items, o);
  if (o.synchronisation == synchronisation::per_micro_batch && o.micro_batches > 1 && apart.empty() && choice.fewest_steps() <= 8)
    return made_by(rows_into_steps(pack_for_steps<Index>(items, o), items, o, {.window = 16, .redeal = true}),
                   step_method::rows);  // with few steps, one step more would cost much
  if (o.synchronisation == synchronisation::per_micro_batch && o.micro_batches > 1)
    return made_by(rows_into_steps(pack_apart<Index>(items, apart, o), items, o, {.window = 16, .redeal = apart.empty()}),
                   step_method::rows);  // `redeal` would mix keys
  if (!apart.empty()) return made_by(sort_into_steps(pack_apart<Index>(items, apart, o), items, o, {}), step_method::windows);
  if (o.synchronisation == synchronisation::pipeline && o.stages > 1) {
    choice.offer(made_by(pipeline_streamer<Index>(items, o, 980).run(), step_method::pipeline));
    if (!choice.frugal()) choice.offer(made_by(sort_into_steps(pack_for_steps<Index>(items, o), items, o, {}), step_method::windows));
    return choice.take();
  }
  if (o.time_for_randomness != batching_options::automatic) return plan_at_price<Index>(items, c, o, watch);
  return plan_per_step<Index>(items, c, o, watch);
}

}  // namespace ballast::inline v0_2::detail
