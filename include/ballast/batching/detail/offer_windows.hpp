// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/choose_plan.hpp>
#include <ballast/batching/detail/random_part.hpp>
#include <ballast/batching/detail/sort_into_steps.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <utility>

// Packs first, sorted by cost in windows of steps.

namespace ballast::inline v0_2::detail {

/// The plan of the narrowest window with the slowest ranks within 1 % of the mean, or else the fastest; plans after the first count if
/// `allowed` accepts them. `deal(window)` deals packs that are sorted by cost in windows of so many steps. `complete` is false if a stop
/// cut the trials short.
template <class Deal, class Allowed>
[[nodiscard]] auto deal_in_windows(std::span<std::uint64_t const> windows, Deal const& deal, Allowed const& allowed,
                                   std::stop_token const& stop) {
  auto best = deal(windows.front());
  for (auto const window : windows.subspan(1)) {
    if (waits_at_most(best, 1)) break;
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

/// Sorts packs by cost in windows, deals them, and balances each step by exchanges.
template <index_type Index>
[[nodiscard]] batching<Index> deal_in_window(groups<Index> const& packs, weighed_samples const& items, batching_options const& o,
                                             std::uint64_t window) {
  auto plan = sort_into_steps(packs, items, o, {.window = window, .redeal = true});
  plan.method = step_method::windows;
  plan.window = window;
  return plan;
}

/// Those windows that are left once the narrow ones are tried on 64 steps of random packs: from the one that `deal_in_windows` would choose
/// there on. If a window is too wide there, those from it on are not left. `complete` becomes false if a stop cut the trials short.
template <index_type Index>
[[nodiscard]] std::span<std::uint64_t const> likely_windows(std::span<std::uint64_t const> windows, groups<Index> const& packs,
                                                            weighed_samples const& items, batching_options const& o,
                                                            std::uint64_t most_deviation, std::stop_token const& stop, bool& complete) {
  constexpr std::size_t steps = 64;
  auto const places = static_cast<std::size_t>(o.ranks);
  if (o.micro_batches > 1 || packs.size() / places < 2 * steps) return windows;
  auto const part = random_packs(packs, items, steps * places, ~epoch_seed(o));
  plan_choice<Index> const choice(part.items, o);
  std::size_t best = 0;
  std::int64_t time = 0;
  for (std::size_t k = 0; k < windows.size() && windows[k] != 0 && windows[k] < steps; ++k) {
    complete = !stop.stop_requested();
    if (!complete) return windows.subspan(best, 1);
    auto const plan = deal_in_window(part.packs, part.items, o, windows[k]);
    if (k != 0 && choice.deviation(plan) > most_deviation) return windows.first(k).subspan(best);
    if (k != 0 && plan.slowest.value >= time) continue;
    best = k;
    time = plan.slowest.value;
    if (waits_at_most(plan, 1)) break;
  }
  return windows.subspan(best);
}

/// Offers a plan of packs that are sorted by cost in windows of steps, dealt, and balanced by exchanges; the deviation of wider windows
/// than a step is at most `most_deviation`.
/// @return whether no stop cut the trials short
template <index_type Index>
[[nodiscard]] bool offer_windows(plan_choice<Index>& choice, groups<Index> const& packs, weighed_samples const& items,
                                 batching_options const& o, std::uint64_t most_deviation, std::stop_token const& stop) {
  constexpr std::uint64_t all[] = {1, 4, 8, 16, 64, 0}, ends[] = {1, 0};
  auto const windows = o.micro_batches > 1 ? std::span<std::uint64_t const>(ends) : all;
  auto const deal = [&](std::uint64_t window) { return deal_in_window(packs, items, o, window); };
  auto const allowed = [&](auto const& plan) { return choice.deviation(plan) <= most_deviation; };
  auto complete = true;
  auto const likely = likely_windows(windows, packs, items, o, most_deviation, stop, complete);
  auto best = deal_in_windows(likely, deal, allowed, stop);
  complete = complete && best.complete;
  if (best.window != windows.front() && !allowed(best)) {
    best = deal_in_windows(windows, deal, allowed, stop);
    complete = complete && best.complete;
  }
  choice.offer(std::move(best));
  return complete;
}

}  // namespace ballast::inline v0_2::detail
