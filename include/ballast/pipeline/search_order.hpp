// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/status.hpp>
#include <ballast/pipeline/detail/list_runner.hpp>
#include <ballast/pipeline/list_schedule.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <stop_token>
#include <utility>
#include <vector>

/// @file
/// @brief `search_order`: a search for the order of chains whose list schedule takes least time.

namespace ballast::inline v0_2 {

namespace detail {

// What the search chooses.
struct list_choice {
  std::vector<std::uint32_t> chains;  // their order
  std::vector<std::int64_t> warm_up;  // of each stage
};

// Searches orders of chains and warm-ups for a list schedule of less makespan.
template <class = when_called>
class order_search {
 public:
  // `workspace` and `best` are as `list_schedule` leaves them after it has scheduled the chains with the options.
  order_search(groups<std::uint32_t> const& chains, list_options const& options, std::int64_t bound, search_limits const& simulations,
               list_workspace& workspace, scheduled_pipeline& best)
      : chains_(chains),
        options_(options),
        bound_(bound),
        count_(simulations),
        workspace_(workspace),
        best_(best),
        choice_{std::vector<std::uint32_t>(chains.size()), {}} {
    count_.spend(1);  // that of `best`
    std::iota(choice_.chains.begin(), choice_.chains.end(), 0U);
    for (auto const& on : memory_of(workspace).rules.stages) choice_.warm_up.push_back(on.warm_up);
  }

  void run() {
    auto const given = choice_;
    auto const orders = start_orders();
    for (auto const& warm_up : {given.warm_up, longer_warm_up()})
      for (auto const& order : orders)
        if (goes_on()) try_choice({order, warm_up});
    while (goes_on()) try_choice(neighbour());
  }

  [[nodiscard]] list_choice const& choice() const noexcept { return choice_; }
  [[nodiscard]] std::uint64_t simulations() const noexcept { return count_.spent(); }
  [[nodiscard]] bool stopped() const noexcept { return count_.interrupted(); }

 private:
  [[nodiscard]] bool goes_on() { return best_.timeline.makespan.value > bound_ && count_.allows(); }

  // Simulates a choice, and keeps it if it is no worse than the best: a walk among equal ones leads to better ones.
  void try_choice(list_choice choice) {
    count_.spend(1);
    order_.clear();
    for (auto const c : choice.chains) order_.push_back(chains_[c]);
    for (std::size_t s = 0; s < choice.warm_up.size(); ++s) memory_of(workspace_).rules.stages[s].warm_up = choice.warm_up[s];
    list_runner<>(order_, memory_of(workspace_).works, memory_of(workspace_).rules, options_.tie, options_.events,
                  memory_of(workspace_).runner, trial_.order, trial_.timeline)
        .run();
    if (trial_.timeline.makespan.value > best_.timeline.makespan.value) return;
    choice_ = std::move(choice);
    std::swap(best_.order, trial_.order);
    std::swap(best_.timeline, trial_.timeline);
  }

  // By the work of a chain: from the shortest at both ends to the longest in the middle, descending, short and long in turn, ascending.
  [[nodiscard]] std::array<std::vector<std::uint32_t>, 4> start_orders() const {
    auto const count = chains_.size(), stages = memory_of(workspace_).works.virtual_stages;
    std::vector<std::int64_t> work(count);
    for (std::size_t c = 0; c < count; ++c)
      for (auto const m : chains_[c])
        for (std::size_t s = 0; s < stages; ++s) {
          auto const& w = memory_of(workspace_).works.works[m * stages + s];
          work[c] += w.forward + w.recompute + w.backward + w.weight;
        }
    std::vector<std::uint32_t> ascending(count);
    std::iota(ascending.begin(), ascending.end(), 0U);
    std::sort(ascending.begin(), ascending.end(), [&](auto a, auto b) { return work[a] != work[b] ? work[a] < work[b] : a < b; });
    std::vector<std::uint32_t> const descending(ascending.rbegin(), ascending.rend());
    std::vector<std::uint32_t> ends(count), alternating(count);
    for (std::size_t i = 0; i < count; ++i) {
      ends[i % 2 == 0 ? i / 2 : count - 1 - i / 2] = ascending[i];
      alternating[i] = i % 2 == 0 ? ascending[i / 2] : descending[i / 2];
    }
    return {ends, descending, alternating, ascending};
  }

  // Twice the stages that follow, and one: enough for a stage to go on until the first gradients come back.
  [[nodiscard]] std::vector<std::int64_t> longer_warm_up() const {
    std::vector<std::int64_t> out;
    auto const& stages = memory_of(workspace_).rules.stages;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      auto const micro_batches = 2 * static_cast<std::int64_t>(stages.size() - s) - 1, largest = stages[s].largest_kept;
      out.push_back(largest > no_limit / micro_batches ? no_limit : micro_batches * largest);
    }
    return out;
  }

  // The best choice with two chains exchanged, one moved, or a warm-up longer or shorter by a micro-batch.
  [[nodiscard]] list_choice neighbour() {
    auto next = choice_;
    auto const below = [&](std::size_t n) { return static_cast<std::size_t>(uniform_below(n, random_)); };
    auto const chains = next.chains.size();
    auto const kind = chains < 2 ? 8 : below(10);
    if (kind < 8) {
      auto const from = below(chains), other = below(chains - 1), to = other + (other >= from ? 1 : 0);
      auto const at = [&](std::size_t i) { return next.chains.begin() + static_cast<std::ptrdiff_t>(i); };
      if (kind < 4)
        std::iter_swap(at(from), at(to));
      else if (from < to)
        std::rotate(at(from), at(from + 1), at(to + 1));
      else
        std::rotate(at(to), at(from), at(from + 1));
    } else {
      auto const s = below(next.warm_up.size());
      auto const largest = memory_of(workspace_).rules.stages[s].largest_kept;
      auto& warm_up = next.warm_up[s];
      if (below(2) == 0)
        warm_up = (std::max)(warm_up - largest, std::int64_t{0});
      else
        warm_up = warm_up > no_limit - largest ? no_limit : warm_up + largest;
    }
    return next;
  }

  static constexpr auto no_limit = (std::numeric_limits<std::int64_t>::max)();

  groups<std::uint32_t> const& chains_;
  list_options const& options_;
  std::int64_t bound_;
  search_budget count_;
  list_workspace& workspace_;
  scheduled_pipeline& best_;  // the schedule of `choice_`
  list_choice choice_;
  scheduled_pipeline trial_;
  groups<std::uint32_t> order_;
  splitmix64 random_{0};
};

}  // namespace detail

/// @brief When the search for an order stops.
struct order_search_limits {
  std::uint64_t simulations = 600;  ///< most schedules that are simulated, at least 1
  std::stop_token stop{};           ///< when a stop is requested, the best schedule so far is returned
  progress_callback progress{};     ///< is told how many of `simulations` are done
};

/// @brief The result of `search_order`: the best schedule, and how `list_schedule` makes it.
struct searched_pipeline : scheduled_pipeline {
  list_options options;           ///< the given ones with the best warm-up; `order.chains` has the best order of the chains
  std::uint64_t simulations = 0;  ///< schedules that were simulated
  bool complete = true;           ///< false if a requested stop ended the search
};

/// @brief Searches for the order of chains, and the warm-up of each stage, whose list schedule has the least makespan.
///
/// The first schedule is that of the options and the order as given. Then come four orders of the chains by their work (from the shortest
/// at both ends to the longest in the middle, descending, short and long in turn, ascending), each with the given warm-up and with one of
/// twice the stages that follow and one micro-batches. Then the best schedule is changed: two chains change places, one moves, or the
/// warm-up of a stage grows or shrinks by its largest micro-batch. A schedule that is no worse replaces the best. The search ends when the
/// makespan equals its lower bound.
///
/// @tparam Work  a `stage_work_model`
/// @param chains   chains of micro-batches in any order; each micro-batch is in one of them
/// @param options  stages, limits of memory, ties, and the warm-up to begin with
/// @param work     times and bytes of a micro-batch on a stage, as for `list_schedule`
/// @param limits   when the search stops
/// @return the best schedule with its lower bound (`pipeline_lower_bound`); or the shortage that proves that no order exists
/// @post never worse than `list_schedule(chains, options, work)`, nor than with fewer simulations; no stage ever exceeds its capacity
/// @throws invalid_input as `list_schedule`, or if `simulations` is 0
/// @par Complexity
/// That of `list_schedule`, once for each simulation.
/// @par Determinism
/// A pure function of its arguments, unless a stop is requested.
template <stage_work_model Work>
[[nodiscard]] searched_pipeline search_order(groups<std::uint32_t> const& chains, list_options const& options, Work const& work,
                                             order_search_limits const& limits = {}) {
  require(limits.simulations > 0, [] { return "simulations must be at least 1"; });
  list_workspace workspace;
  searched_pipeline out;
  list_schedule(chains, options, work, workspace, out);
  out.options = options;
  out.simulations = 1;
  if (out.status == status::infeasible) return out;
  auto const lower_bound = out.timeline.makespan.lower_bound;  // of any order: the search replaces the timeline
  auto const bound = out.timeline.bound;
  detail::order_search<> search(chains, options, lower_bound,
                                {.work = limits.simulations, .stop = limits.stop, .progress = limits.progress}, workspace, out);
  search.run();
  out.options.warm_up = search.choice().warm_up;
  out.simulations = search.simulations();
  out.complete = !search.stopped();
  out.timeline.makespan.lower_bound = lower_bound;
  out.timeline.bound = bound;
  return out;
}

}  // namespace ballast::inline v0_2
