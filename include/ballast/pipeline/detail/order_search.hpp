// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/pipeline/detail/list_runner.hpp>
#include <ballast/pipeline/list_schedule.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

// Searches orders of chains and warm-ups for a list schedule of less makespan.

namespace ballast::inline v0_2::detail {

// What the search chooses.
struct list_choice {
  std::vector<std::uint32_t> chains;  // their order
  std::vector<std::int64_t> warm_up;  // of each stage
};

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

}  // namespace ballast::inline v0_2::detail
