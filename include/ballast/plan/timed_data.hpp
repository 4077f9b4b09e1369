// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/sample_time.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/vector_data.hpp>

#include <cstdint>

/// @file
/// @brief `plan_data` for a model on its devices: samples are weighed by the time of kernels.

namespace ballast::inline v0_2 {

/// @brief Plans an epoch for a model on its devices: `plan_data` under `sample_time`, with what a micro-batch takes beside its samples;
/// with `cluster::mfu`, under `sample_cost`.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample
/// @param options  as for the other overloads; fixed costs are in picoseconds or, with `cluster::mfu`, units of `sample_cost`
/// @param model    the shape of the model
/// @param on       the devices
/// @param by       how the model is trained
/// @return the plan; its costs are in picoseconds, so compare it by `compare_with_usual(plan, options, 1e-9)`, unless `mfu` is given
/// @throws invalid_input as the other overloads, `times_of` and `sample_time`
/// @par Complexity
/// As the other overloads, and `sample_time`.
/// @par Determinism
/// As the other overloads.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] data_plan<Index> plan_data(R const& lengths, data_plan_options const& options, transformer const& model, cluster const& on,
                                         model_setting const& by) {
  if (on.mfu) return plan_data<Index>(lengths, options, model);
  return plan_data<Index>(lengths, options, sample_time(model, on.device, times_of(on, by), by, {.capacity = options.steps.capacity}));
}

/// @brief The same for samples of image tiles and tokens, and a vision-language model.
///
/// @tparam Index  type of the sample indices
/// @param samples  image tiles and tokens of each sample: `{tiles, tokens}`; tokens include those of images
/// @param options  as for the other overload, with one capacity of `others`: the most tiles of a micro-batch
/// @param model    the shape of the model
/// @param on       the devices
/// @param by       how the model is trained; what is frozen takes less
/// @return the plan; `others[0]` are the tiles
/// @throws invalid_input as the other overload, or if there are not two measures
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index = std::uint32_t>
[[nodiscard]] data_plan<Index> plan_data(sample_measures const& samples, data_plan_options const& options,
                                         vision_language_model const& model, cluster const& on, model_setting const& by) {
  if (on.mfu) return plan_data<Index>(samples, options, model, by);
  return plan_data<Index>(samples, options, sample_time(model, on.device, times_of(on, by), by, {.capacity = options.steps.capacity}));
}

}  // namespace ballast::inline v0_2
