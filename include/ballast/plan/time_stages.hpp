// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/plan/detail/counted_stages.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/training_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

/// @file
/// @brief `time_stages`: memory and a modelled timeline of every step for stages whose cut and recomputation are given.

namespace ballast::inline v0_2 {

/// @brief Computes memory and time of a training whose stages are given. Every layer takes its first option.
///
/// Timelines are those of `plan_training`. The result also has memory and times if a stage needs more memory than there is.
///
/// @tparam Index  index type of the data plan
/// @param steps       which packs each rank trains in each step; each rank is a pipeline
/// @param packs       tokens, squares and tiles of each pack; see `shapes_of`
/// @param layers      the layers of the model; the first option of each is what it keeps and recomputes
/// @param boundaries  stages (times chunks per stage) + 1 layers, ascending from 0 to all; only the first part
///                    must have a layer
/// @param options     stages, memory, schedule
/// @param rates       rates that turn work into time; see `rates_of`
/// @return as `plan_training`; `status` is infeasible if the peak of a stage is above the memory, and `stages.partition.bottleneck` has the
///         mean time of a stage as its bound
/// @throws invalid_input if the boundaries are no cut of the layers into the stages, or as `plan_training`
/// @par Complexity
/// O(layers + micro-batches * stages).
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// This library (docs/plan.md).
template <index_type Index>
[[nodiscard]] training_plan time_stages(batching<Index> const& steps, std::span<batch_shape const> packs, std::span<layer const> layers,
                                        std::span<std::uint32_t const> boundaries, training_options const& options,
                                        layer_rates const& rates) {
  auto out = detail::begin_training<Index>(steps, packs, layers, options, rates).plan;
  auto const cuts = boundaries;
  auto const chunks = options.stages * std::visit([](auto const& s) { return s.chunks_per_stage(); }, options.schedule);
  auto const rises = [&] {
    return cuts[0] == 0 && cuts[1] > 0 && cuts.back() == layers.size() && std::is_sorted(cuts.begin(), cuts.end());
  };
  require(cuts.size() == chunks + 1 && rises(), [&] {
    return sentence("boundaries must be ", chunks + 1, " numbers that rise from 0 to the number of layers, ", layers.size());
  });
  std::vector<std::uint32_t> stage_of;
  stage_of.reserve(static_cast<std::size_t>(chunks));
  for (std::uint64_t k = 0; k < chunks; ++k)
    stage_of.push_back(
        static_cast<std::uint32_t>(std::visit([&](auto const& s) { return s.stage_of(k, options.stages); }, options.schedule)));
  out.stages = detail::given_stages<>(out.layers, stage_of, options.stages, cuts, std::vector<std::uint32_t>(layers.size()));
  detail::time_training<Index>(steps, packs, layers, options, rates, out);
  for (std::size_t s = 0; s < out.memory.size(); ++s) out.stages.figures[s].memory = out.memory[s].bytes();
  auto const fits = std::all_of(out.memory.begin(), out.memory.end(), [](stage_memory const& m) { return m.bytes() <= m.budget; });
  out.status = fits ? status::feasible : status::infeasible;
  out.stages.partition.status = out.status;
  return out;
}

}  // namespace ballast::inline v0_2
