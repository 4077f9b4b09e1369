// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/workspace.hpp>
#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/detail/counted_stages.hpp>
#include <ballast/plan/detail/timelines.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/training_options.hpp>
#include <ballast/plan/training_plan.hpp>
#include <ballast/plan/training_setting.hpp>
#include <ballast/staging/chunk_options.hpp>
#include <ballast/staging/chunks.hpp>
#include <ballast/staging/joint.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>
#include <ballast/staging/shortage.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// @file
/// @brief `plan_training`: pipeline stages, recomputation, memory and a modelled timeline for every step of a data plan.

namespace ballast::inline v0_2 {

namespace detail {

/// A plan of which the stages are missing, and the most micro-batches of a rank in a step, empty ones of interleaved schedules included.
struct begun_training {
  training_plan plan;
  std::uint64_t most = 1;
};
template <index_type Index>
[[nodiscard]] begun_training begin_training(batching<Index> const& steps, std::span<batch_shape const> packs, std::span<layer const> layers,
                                            training_options const& options, layer_rates const& rates) {
  require(packs.size() == steps.packs.size(),
          [&] { return "packs has " + std::to_string(packs.size()) + " entries for " + std::to_string(steps.packs.size()) + " packs"; });
  require(steps.shared.empty(), [&] {
    return "sample " + std::to_string(steps.shared[0].sample) +
           " is shared by ranks: make `shards_of` every step, and plan them with `plan_training` of plan/train_shards.hpp";
  });
  require(options.stages >= 1 && options.stages <= std::uint64_t{1} << 20,
          [&] { return "stages = " + std::to_string(options.stages) + " must be in 1 ... 2^20"; });
  require(options.memory >= 0, [&] { return "memory = " + std::to_string(options.memory) + " must not be negative"; });
  auto const batches = batches_of(steps, packs);
  begun_training begun{.plan = {}, .most = batches.most_of_a_rank};
  auto& [out, most] = begun;
  if (auto const* const interleaved = std::get_if<interleaved_schedule>(&options.schedule)) {
    require(interleaved->chunks >= 2,
            [&] { return "chunks = " + std::to_string(interleaved->chunks) + ": an interleaved schedule has at least 2"; });
    most = divide_up(most, options.stages) * options.stages;
  }
  for (std::uint64_t s = 0; s < options.stages; ++s) out.in_flight.push_back(in_flight(options.schedule, s, options.stages, most).held);
  out.mean = batches.mean;
  out.largest = {.tokens = (std::max)(batches.largest.tokens, options.largest.tokens),
                 .squares = (std::max)(batches.largest.squares, options.largest.squares),
                 .tiles = (std::max)(batches.largest.tiles, options.largest.tiles)};
  // the last layer of ZB-V is on the stage of the first
  auto const apart = std::holds_alternative<zbv_schedule>(options.schedule) ? 1 : options.stages;
  out.layers = stage_layers_of(layers, out.mean, out.largest, rates, apart);
  return begun;
}

/// Adds memory and timelines to a plan with stages. `first` says which ranks run a place together, as `step_timer` takes it.
template <index_type Index>
void time_training(batching<Index> const& steps, std::span<batch_shape const> packs, std::span<layer const> layers,
                   training_options const& options, layer_rates const& rates, training_plan& out,
                   std::span<std::uint32_t const> first = {}) {
  layer_evaluator const evaluate(rates);
  if (out.capacity.empty()) out.capacity.assign(static_cast<std::size_t>(options.stages), options.memory);
  for (auto const& s : out.stages.figures) out.memory.push_back({.state = s.state, .activations = 0, .budget = options.memory});
  step_timer<>(joined_stages(layers, out.stages), options.stages, evaluate, options.schedule, out.mean, out.largest, packs)
      .time(steps, out, first);
}

/// Plans the stages for micro-batches that ranks may run together. `fit_for(begun, held)` has a function `fit`, as `counted_stages` has,
/// which decides what of the memory planners of chains get.
template <index_type Index, class FitFor>
[[nodiscard]] training_plan plan_joint_training(batching<Index> const& steps, std::span<batch_shape const> packs,
                                                std::span<layer const> layers, training_options const& options, layer_rates const& rates,
                                                std::span<std::uint32_t const> first, FitFor const& fit_for) {
  require(!layers.empty(), [] { return std::string("layers is empty"); });
  auto begun = begin_training<Index>(steps, packs, layers, options, rates);
  auto& out = begun.plan;
  auto const chunks = std::visit([](auto const& s) { return s.chunks_per_stage(); }, options.schedule);
  auto const held = chunks == 1 ? one_chunk(out.in_flight) : held_by_chunk(options.schedule, options.stages, begun.most);
  auto&& stages = fit_for(begun, held);
  auto const finish = [&](training_plan& plan, fitted_stages fitted) {
    plan.stages = std::move(fitted.stages);
    plan.capacity = std::move(fitted.capacity);
    plan.status = plan.stages.partition.status;
    if (plan.status != status::feasible) return false;
    time_training<Index>(steps, packs, layers, options, rates, plan, first);
    if (!fitted.memory.empty()) plan.memory = std::move(fitted.memory);
    return true;
  };
  if (chunks == 1) {
    auto const planned = finish(out, stages.fit([&](std::span<std::int64_t const> capacity) {
      return plan_stages<>(std::span<stage_layer const>(out.layers),
                           {.stages = options.stages, .capacity = capacity, .in_flight = out.in_flight});
    }));
    if (!planned && out.layers.size() >= options.stages)
      out.shortage = shortage_of(out.layers, out.in_flight, options.memory, out.capacity);
    return std::move(out);
  }
  auto even = out;  // balanced stages may have unequal chunks, which wait for each other
  auto const fitted = [&](bool move_cuts, bool again) {
    auto const plan = [&](std::span<std::int64_t const> capacity) {
      return plan_chunks<>(out.layers, held, {.capacity = capacity, .move_cuts = move_cuts});
    };
    return stages.fit(plan, again);
  };
  auto balanced = fitted(false, true), moved = fitted(true, balanced.memory.empty());
  if (!finish(out, std::move(moved)))
    return !balanced.memory.empty() && finish(even, std::move(balanced)) ? std::move(even) : std::move(out);
  auto const same = balanced.stages.partition.boundaries == out.stages.partition.boundaries && balanced.stages.option == out.stages.option;
  if (same || !finish(even, std::move(balanced))) return std::move(out);
  auto& bound = even.stages.partition.bottleneck.lower_bound;
  bound = (std::max)(bound, out.stages.partition.bottleneck.lower_bound);
  return even.time.value < out.time.value ? std::move(even) : std::move(out);
}

/// Gives planners of chains all memory: a stage holds what its layers hold.
struct whole_memory {
  std::vector<std::int64_t> capacity;
  template <class Plan>
  [[nodiscard]] fitted_stages fit(Plan const& plan, bool = true) const {
    return {.stages = plan(capacity), .capacity = capacity, .memory = {}};
  }
};
template <index_type Index>
[[nodiscard]] training_plan plan_joint_training(batching<Index> const& steps, std::span<batch_shape const> packs,
                                                std::span<layer const> layers, training_options const& options, layer_rates const& rates,
                                                std::span<std::uint32_t const> first) {
  return plan_joint_training<Index>(steps, packs, layers, options, rates, first, [&](begun_training const&, chunks_in_flight const&) {
    return whole_memory{std::vector<std::int64_t>(static_cast<std::size_t>(options.stages), options.memory)};
  });
}

/// The chain of a setting for some packs.
template <class Index, class Model>
[[nodiscard]] rated_chain chain_for(batching<Index> const& steps, std::span<batch_shape const> packs, Model const& model,
                                    training_setting const& by, cluster const& on) {
  return chain_of(model, by.model, on, batches_of(steps, packs).mean, by.pipeline.stages);
}

/// Plans the stages of a language model under a setting, within what `memory_of` counts if the framework's tensors are counted.
template <index_type Index>
[[nodiscard]] training_plan plan_setting(batching<Index> const& steps, std::span<batch_shape const> packs, transformer const& model,
                                         training_setting by, rated_chain const& chain, bool hopper,
                                         std::span<std::uint32_t const> first = {}) {
  auto const& [layers, rates] = chain;
  if (by.model.framework.count == tensor_count::table) return plan_joint_training<Index>(steps, packs, layers, by.pipeline, rates, first);
  by.micro_batches = (std::max)(by.micro_batches, static_cast<std::int64_t>(batches_of(steps, packs).most_of_a_rank));
  return plan_joint_training<Index>(steps, packs, layers, by.pipeline, rates, first,
                                    [&](begun_training& begun, chunks_in_flight const& held) {
                                      return counted_stages<>(model, by, begun.plan.largest, hopper, layers, begun.plan.layers, held);
                                    });
}

/// The options with the memory that workspace and inputs leave.
template <index_type Index, class Model>
[[nodiscard]] training_options beside_workspace(training_options options, batching<Index> const& steps, std::span<batch_shape const> packs,
                                                Model const& model, model_setting const& by, device const& on) {
  if (by.framework.count == tensor_count::table) return options;
  auto const most = batches_of(steps, packs).largest;
  batch_shape const largest{.tokens = (std::max)(most.tokens, options.largest.tokens),
                            .squares = (std::max)(most.squares, options.largest.squares),
                            .tiles = (std::max)(most.tiles, options.largest.tiles)};
  options.memory = memory_for_stages(options.memory, model, by, largest, is_hopper(on));
  return options;
}

}  // namespace detail

/// @brief Plans the stages of a model for the micro-batches of a data plan, and computes the time of every step.
///
/// One plan of stages serves all steps. Stages and what they recompute are chosen together (`plan_stages`): balanced in time for the mean
/// micro-batch, and within memory for the largest. If the schedule has several chunks per stage, the stages of `plan_chunks` are compared
/// with chunks that are as equal in time as they can be, and the faster ones by their timelines are taken. Then every rank of every step
/// gets a timeline of its own packs, in their order; a step takes as long as its slowest rank, and then exchanges gradients and parameters
/// and runs the optimiser. Memory includes the working set of the layer whose backward pass runs. If the schedule splits backwards, both
/// parts take half the time, and activations are held until the second ends.
///
/// @tparam Index  index type of the data plan
/// @param steps    which packs each rank trains in each step; each rank is a pipeline
/// @param packs    tokens, squares and tiles of each pack; see `shapes_of`
/// @param layers   the layers of the model, first to last; see `layers_of`
/// @param options  stages, memory, schedule
/// @param rates    rates that turn work into time; see `rates_of`
/// @return stages, times, memory, what limits the training, and the timeline of the slowest rank; infeasible if no partition fits in memory
/// @post no stage exceeds its memory in any step; the shares add up to the time of all devices
/// @throws invalid_input if an option, rate or layer is out of range, sizes do not match, ranks share a sample (see train_shards.hpp), or
///         times or bytes come near 2^63
/// @par Complexity
/// As `plan_stages`, and O(micro-batches * stages) for the timelines.
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// This library (docs/plan.md).
template <index_type Index>
[[nodiscard]] training_plan plan_training(batching<Index> const& steps, std::span<batch_shape const> packs, std::span<layer const> layers,
                                          training_options const& options, layer_rates const& rates) {
  return detail::plan_joint_training<Index>(steps, packs, layers, options, rates, {});
}

/// @brief Plans the stages of a language model on a cluster for a data plan. Each rank is a pipeline of tensor-parallel groups.
///
/// Where the tensors of the framework are counted, every stage fits as `memory_of` counts it (docs/memory-model.md), and the plan's memory
/// has these bytes. The bound on the slowest stage then is that of stages which recompute nothing, and a plan that
/// is infeasible was not found: which cuts are tried depends on `training_plan::capacity`, an estimate.
///
/// @tparam Index  index type of the data plan
/// @param data     the plan of an epoch, as `plan_data` returned it
/// @param options  stages, memory, schedule
/// @param model    the shape of the model
/// @param on       the devices
/// @param by       how the model is trained; `by.spread.data` devices share states, usually the ranks times the context-parallel degree
/// @return as the other overload
/// @throws invalid_input as the other overload, `chain_of` and `shapes_of`
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index>
[[nodiscard]] training_plan plan_training(data_plan<Index> const& data, training_options const& options, transformer const& model,
                                          cluster const& on, model_setting const& by) {
  auto const packs = shapes_of(data.steps.packs, std::span<std::int64_t const>(data.samples.tokens));
  training_setting const setting{.model = by, .pipeline = options};
  auto const chain = detail::chain_for(data.steps, std::span<batch_shape const>(packs), model, setting, on);
  return detail::plan_setting<Index>(data.steps, packs, model, setting, chain, is_hopper(on.device));
}

/// @brief Plans the stages of a vision-language model on a cluster for a data plan of image tiles and tokens.
///
/// @tparam Index  index type of the data plan
/// @param data     the plan of an epoch, as `plan_data` (vector_data.hpp) returned it
/// @param options  stages, memory, schedule
/// @param model    the shape of the model
/// @param on       the devices
/// @param by       how the model is trained, as for a language model. If the framework's tensors are counted, inputs and the workspace of
///                 the language model are taken from the memory (`memory_for_stages`)
/// @return as the other overload
/// @throws invalid_input as the other overload, or if the samples have tokens alone
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index>
[[nodiscard]] training_plan plan_training(data_plan<Index> const& data, training_options const& options, vision_language_model const& model,
                                          cluster const& on, model_setting const& by) {
  require(!data.others.empty(),
          [] { return std::string("others is empty: a vision-language model needs the image tiles of each sample"); });
  auto const packs = shapes_of(data.steps.packs, std::span<std::int64_t const>(data.samples.tokens), data.tiles());
  auto const [layers, rates] =
      detail::chain_for(data.steps, std::span<batch_shape const>(packs), model, {.model = by, .pipeline = options}, on);
  return plan_training<Index>(data.steps, packs, layers, detail::beside_workspace<Index>(options, data.steps, packs, model, by, on.device),
                              rates);
}

BALLAST_INSTANTIATE(training_plan plan_training(data_plan<std::uint32_t> const&, training_options const&, transformer const&,
                                                cluster const&, model_setting const&))
BALLAST_INSTANTIATE(training_plan plan_training(data_plan<std::uint32_t> const&, training_options const&, vision_language_model const&,
                                                cluster const&, model_setting const&))

}  // namespace ballast::inline v0_2
