// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/detail/recomputed_layers.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/time_stages.hpp>
#include <ballast/plan/training_plan.hpp>
#include <ballast/plan/training_setting.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `judge_setting`: memory and time of a training whose cut and recomputation are given, as a framework's setting gives them;
/// `improve_setting`: the fastest plan that is known for its degrees.

namespace ballast::inline v0_2 {

/// @brief Computes memory and time of a training for a setting that leaves nothing to choose.
///
/// Every stage has the layers that the cut gives it, and every layer recomputes what the setting says. Timelines are those of
/// `plan_training`. If the framework's tensors are counted (`tensor_count::megatron`), memory is that of `memory_of`, and
/// `stage_memory::activations` has all but the states. The result also has memory and times if a stage needs more memory than there is.
///
/// @tparam Index  index type of the data plan
/// @param steps   which packs each rank trains in each step; each rank is a pipeline
/// @param packs   tokens, squares and tiles of each pack; see `shapes_of`
/// @param model   the shape
/// @param by      the setting, with the memory of a device in `pipeline.memory`
/// @param on      the devices
/// @return as `plan_training`; `status` is infeasible if the peak of a stage is above the memory, and `stages.partition.bottleneck` has the
///         least time of the slowest stage for any cut of the same layers as its bound
/// @throws invalid_input as `require_valid` of the setting, and as `plan_training`
/// @par Complexity
/// O(layers + micro-batches * stages).
/// @par Determinism
/// A pure function of its arguments, in integers.
template <index_type Index>
[[nodiscard]] training_plan judge_setting(batching<Index> const& steps, std::span<batch_shape const> packs, transformer const& model,
                                          training_setting const& by, cluster const& on) {
  auto const cuts = boundaries_of(by, model);
  auto const [layers, rates] = detail::rated(detail::recomputed_layers(model, by, cuts), model, by.model, on,
                                             detail::batches_of(steps, packs).mean, by.pipeline.stages);
  auto out = time_stages<Index>(steps, packs, layers, cuts, by.pipeline, rates);
  if (by.model.framework.count == tensor_count::table) return out;
  auto const parts = memory_of(model, by, out.largest, is_hopper(on.device));
  auto fits = true;
  for (std::size_t s = 0; s < parts.size(); ++s) {
    auto& to = out.memory[s];
    to.state = parts[s].states;
    to.activations = parts[s].peak() - parts[s].states;
    out.stages.figures[s].memory = to.bytes();
    fits = fits && to.bytes() <= to.budget;
  }
  out.status = out.stages.partition.status = fits ? status::feasible : status::infeasible;
  return out;
}

/// @brief The fastest known plan with the degrees, stages and micro-batches of a setting: that of `plan_training`, or the setting itself.
///
/// `plan_training` balances stages, and chooses among the options of `layers_of`. Where tensors are counted, both stand on `memory_of`. A
/// setting that fits may still be faster, by chunks that wait less for each other or by a recomputation that is no such option; then it is
/// returned.
///
/// @tparam Index  index type of the data plan
/// @param steps   as `judge_setting`
/// @param packs   as `judge_setting`
/// @param model   as `judge_setting`
/// @param by      as `judge_setting`
/// @param on      as `judge_setting`
/// @param judged  what `judge_setting` returned for the same arguments
/// @return as `plan_training`, or `judged` if it fits and `plan_training` finds nothing faster; its options are then those of the setting
/// @post if `judged` fits, the plan fits and takes no longer
/// @throws invalid_input as `judge_setting`
/// @par Complexity
/// That of `plan_training`.
/// @par Determinism
/// A pure function of its arguments, in integers.
template <index_type Index>
[[nodiscard]] training_plan improve_setting(batching<Index> const& steps, std::span<batch_shape const> packs, transformer const& model,
                                            training_setting const& by, cluster const& on, training_plan const& judged) {
  auto out = detail::plan_setting<Index>(steps, packs, model, by, detail::chain_for(steps, packs, model, by, on), is_hopper(on.device));
  auto const faster = out.status == status::feasible && out.time.value < judged.time.value;
  return judged.status == status::feasible && !faster ? judged : out;
}

/// @brief Computes memory and time of a training for a setting and a data plan.
/// @tparam Index  index type of the data plan
/// @param data   the plan of an epoch, as `plan_data` returned it, for the ranks of the setting
/// @param model  the shape
/// @param by     the setting, with the memory of a device in `pipeline.memory`
/// @param on     the devices
/// @return as the first overload
/// @throws invalid_input as the first overload, or if the data plan has other ranks than the setting
/// @par Complexity
/// As the first overload.
/// @par Determinism
/// As the first overload.
template <index_type Index>
[[nodiscard]] training_plan judge_setting(data_plan<Index> const& data, transformer const& model, training_setting const& by,
                                          cluster const& on) {
  require(std::cmp_equal(data.steps.ranks, by.ranks()), [&] {
    return "the data plan has " + std::to_string(data.steps.ranks) + " ranks, the setting has " + std::to_string(by.ranks());
  });
  auto const packs = shapes_of(data.steps.packs, std::span<std::int64_t const>(data.samples.tokens));
  return judge_setting<Index>(data.steps, packs, model, by, on);
}

/// @brief One step of one rank with full sequences, and the sizes of its micro-batches.
struct full_step {
  batching<> steps;                ///< one step: as many micro-batches as the setting has
  std::vector<batch_shape> packs;  ///< the size of each
};

/// @brief The step of a setting in which all sequences have its length. All ranks take the same time then, so one stands for all.
/// @param by  the setting
/// @return one step of one rank
/// @pre the setting is valid, see `require_valid`
/// @par Complexity
/// O(micro-batches).
template <class = when_called>
[[nodiscard]] inline full_step full_step_of(training_setting const& by) {
  full_step out;
  auto const count = static_cast<std::uint32_t>(by.micro_batches);
  out.steps.micro_batches = count;
  for (std::uint32_t m = 0; m < count; ++m) {
    out.steps.table.push_back(m);
    out.steps.packs.push_back(std::span<std::uint32_t const>(&m, 1));
  }
  auto const tokens = by.micro_batch * by.sequence;
  out.packs.assign(count, {.tokens = tokens, .squares = tokens * by.sequence, .tiles = 0});
  return out;
}

/// @brief Computes memory and time of one step of a training for a setting, with full sequences of its length.
/// @param model  the shape
/// @param by     the setting, with the memory of a device in `pipeline.memory`
/// @param on     the devices
/// @return as the first overload, with the step of `full_step_of`
/// @throws invalid_input as the first overload
/// @par Complexity
/// As the first overload.
/// @par Determinism
/// As the first overload.
template <class = when_called>
[[nodiscard]] training_plan judge_setting(transformer const& model, training_setting const& by, cluster const& on) {
  require_valid(by, model);
  auto const full = full_step_of(by);
  return judge_setting<std::uint32_t>(full.steps, full.packs, model, by, on);
}

BALLAST_INSTANTIATE(training_plan judge_setting(data_plan<std::uint32_t> const&, transformer const&, training_setting const&,
                                                cluster const&))
BALLAST_INSTANTIATE(training_plan judge_setting(transformer const&, training_setting const&, cluster const&))

}  // namespace ballast::inline v0_2
