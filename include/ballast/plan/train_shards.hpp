// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/training_plan.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/time_shards.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_training` for the shards of every step: stages, memory and modelled times of a training whose ranks share long samples.

namespace ballast::inline v0_2 {

namespace detail {

/// Shards as a plan of steps: every pass is a pack of its own.
struct shard_steps {
  batching<std::uint64_t> table;     ///< its packs are empty; passes with pieces have places
  std::vector<batch_shape> passes;   ///< size of each pack
  std::vector<std::uint32_t> first;  ///< for each place, the first of the ranks that run it together
};

/// For each place of one step, the first of the ranks that run it together. `starts` has the micro-batch of each pass.
template <index_type Index>
void meet(shards<Index> const& plan, std::vector<std::int64_t> const& starts, std::size_t places, std::span<std::uint32_t> first) {
  auto const at = [&](std::size_t rank, std::size_t m) -> std::uint32_t& { return first[rank * places + m]; };
  auto const root = [&](std::size_t rank, std::size_t m) {
    while (at(rank, m) != rank) rank = at(rank, m);
    return static_cast<std::uint32_t>(rank);
  };
  for (std::size_t r = 0; r < plan.ranks(); ++r)
    for (std::size_t m = 0; m < places; ++m) at(r, m) = plan.execution == execution::lockstep ? 0 : static_cast<std::uint32_t>(r);
  std::vector<std::size_t> holder(plan.rank_groups.size(), plan.ranks());
  for (std::size_t r = 0; r < plan.ranks() && plan.execution != execution::lockstep; ++r)
    for (auto p = static_cast<std::size_t>(plan.rank_offsets[r]); p < plan.rank_offsets[r + 1]; ++p)
      for (auto const& held : plan.of_pass(p)) {
        if (held.group == not_shared) continue;
        auto const m = static_cast<std::size_t>(starts[p]);
        if (auto& other = holder[held.group]; other == plan.ranks()) {
          other = r;
        } else {
          auto const [less, more] = std::minmax({root(r, m), root(other, m)});
          at(more, m) = less;
        }
      }
  for (std::size_t r = 0; r < plan.ranks(); ++r)
    for (std::size_t m = 0; m < places; ++m) at(r, m) = root(r, m);
}

/// Gives every pass the first micro-batch in which all ranks that share it can run it. Passes that wait for each other have the same one.
template <index_type Index>
[[nodiscard]] shard_steps steps_of(std::span<shards<Index> const> steps) {
  shard_steps out;
  auto& table = out.table;
  if (steps.empty()) return out;
  table.ranks = steps.front().ranks();
  require(table.ranks > 0, [] { return "steps[0] has no ranks"; });
  std::vector<std::vector<std::int64_t>> starts;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    auto const what = [&] { return sentence("steps[", s, "]"); };
    auto const& plan = steps[s];
    require(plan.status == status::feasible,
            [&] { return what() + " is no plan: it is " + (plan.status == status::unknown ? "unknown" : "infeasible"); });
    require(plan.ranks() == table.ranks, [&] { return sentence(what(), " has ", plan.ranks(), " ranks, steps[0] has ", table.ranks); });
    auto const sizes = shapes_of(plan);
    out.passes.insert(out.passes.end(), sizes.begin(), sizes.end());
    // With passes that all take one unit of time, each starts in the micro-batch that it can have at the earliest.
    auto times = time_shards(plan, [](std::int64_t, std::int64_t) { return std::int64_t{0}; }, 1);
    table.micro_batches = (std::max)(table.micro_batches, static_cast<std::uint64_t>(times.makespan));
    starts.push_back(std::move(times.start));
  }
  table.packs.offsets.assign(out.passes.size() + 1, 0);
  auto const places = static_cast<std::size_t>(table.micro_batches), of_step = places * static_cast<std::size_t>(table.ranks);
  table.table.assign(steps.size() * of_step, table.none);
  out.first.resize(table.table.size());
  std::uint64_t before = 0;  // passes of earlier steps
  for (std::size_t s = 0; s < steps.size(); before += steps[s++].passes()) {
    for (std::size_t r = 0; r < table.ranks; ++r)
      for (auto p = static_cast<std::size_t>(steps[s].rank_offsets[r]); p < steps[s].rank_offsets[r + 1]; ++p)
        if (!steps[s].of_pass(p).empty()) table.table[s * of_step + r * places + static_cast<std::size_t>(starts[s][p])] = before + p;
    meet(steps[s], starts[s], places, std::span(out.first).subspan(s * of_step, of_step));
  }
  return out;
}

}  // namespace detail

/// @brief Plans the stages of a model for the shards of every step, and computes the time of every step.
///
/// Each pass of a rank is a micro-batch of the tokens and squares that the rank holds (`shapes_of`). Stages, recomputation and memory are
/// planned for these micro-batches as for packs, so the largest pass must fit. On the timeline, ranks that share a pass begin it together,
/// in each stage and direction, and take as long as the slowest of them; under `execution::lockstep` all ranks do so in every pass. With
/// one stage, a step takes the makespan of `time_shards`, and `end_of_step`.
///
/// Some times are above those of a trainer that plans its waits better:
/// - With several stages, ranks that share a pass run it as the same micro-batch, after empty ones if need be.
/// - With several stages or chunks, each part of a shared pass takes the longest time of that part on any of its ranks.
/// - In a step in which ranks share passes, the weight part of a split backward follows its input part at once.
///
/// Some costs are missing, so times and memory are below those of a trainer:
/// - The exchange of keys and values, or of heads, inside a group takes no time and no memory. To bound the time from above, give the
///   layers exchanges of the widest group; they then count in every pass.
/// - The keys and values of earlier tokens, if a sample is in several passes, take no memory.
///
/// @tparam Index  index type of the shards
/// @param steps    the shards of each step, each accepted by `check_shards`; they may come from any scheduler, or from `shards_of`
/// @param layers   the layers of the model, first to last, as one rank runs them: without context parallelism; see `layers_of`
/// @param options  stages, memory, schedule
/// @param rates    rates that turn work into time; see `rates_of`
/// @return as `plan_training` of a data plan. `shares.waiting` includes the waits for ranks that share a pass; `timeline` is that of the
///         rank that takes longest by itself, without these waits
/// @post no step takes less time than any of its ranks by itself; the shares add up to the time of all devices
/// @throws invalid_input if the shards of a step are no plan, differ in the number of ranks, or make ranks wait in a circle, or as
///         `shapes_of` and the overload for a data plan
/// @par Complexity
/// As for a data plan, and O(ranks * stages) for each micro-batch of the longest rank of a step.
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// This library (docs/plan.md).
template <index_type Index>
[[nodiscard]] training_plan plan_training(std::span<shards<Index> const> steps, std::span<layer const> layers,
                                          training_options const& options, layer_rates const& rates) {
  auto const of = detail::steps_of(steps);
  return detail::plan_joint_training<std::uint64_t>(of.table, of.passes, layers, options, rates, of.first);
}

/// @brief Plans the stages of a language model on a cluster for the shards of every step.
///
/// Where the tensors of the framework are counted, every stage fits as `memory_of` counts it, as for a data plan.
///
/// @tparam Index  index type of the shards
/// @param steps    the shards of each step
/// @param options  stages, memory, schedule
/// @param model    the shape of the model
/// @param on       the devices
/// @param by       how the model is trained; the shards say how ranks share samples, so `by.spread.context` is 1
/// @return as the other overload
/// @throws invalid_input as the other overload and `chain_of`, or if `by.spread.context` is not 1
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index>
[[nodiscard]] training_plan plan_training(std::span<shards<Index> const> steps, training_options const& options, transformer const& model,
                                          cluster const& on, model_setting const& by) {
  require(by.spread.context == 1,
          [&] { return sentence("spread.context = ", by.spread.context, " must be 1: the shards say which ranks share samples"); });
  auto const of = detail::steps_of(steps);
  training_setting const setting{.model = by, .pipeline = options};
  auto const chain = detail::chain_for(of.table, std::span<batch_shape const>(of.passes), model, setting, on);
  return detail::plan_setting<std::uint64_t>(of.table, of.passes, model, setting, chain, is_hopper(on.device), of.first);
}

}  // namespace ballast::inline v0_2
