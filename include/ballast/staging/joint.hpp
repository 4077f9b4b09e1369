// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/partition/stage_cost.hpp>
#include <ballast/staging/detail/oracle.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>
#include <ballast/staging/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

/// @file
/// @brief `plan_stages`: a chain cut into pipeline stages, and what each stage recomputes, decided together within memory;
/// `plan_stages_in_sequence`: first the cut, then what is recomputed, as a baseline.

namespace ballast::inline v0_2 {

/// @brief Cuts a chain into stages and chooses what each stage recomputes or sends to the host, such that all fits in memory and the
/// slowest stage is as fast as possible.
///
/// A stage costs the forward and backward of its layers, plus the least time that a selection of options adds if it fits in the memory that
/// remains beside the states and the largest working set, divided by the micro-batches in flight. This cost does not decrease if the stage
/// grows, because neither the states nor the largest working set decrease. So one probe decides a limit (`min_max_partition` by stage
/// cost), and no table over all ranges of layers is needed. The probe uses lower bounds, which greedy selections prove. Exact selections
/// are computed only for the stages of the partition that it finds, and the probe is repeated until partition and bound meet. This may find
/// a plan where none is found by cutting for time first and fitting into memory afterwards
/// (`plan_stages_in_sequence`).
///
/// @tparam Index  type of the boundaries
/// @param chain    the folded chain of layers
/// @param options  stages, memory, micro-batches in flight
/// @param limits   when the search stops
/// @return the plan; infeasible if every partition has a stage that does not fit even with the least bytes of each layer
/// @post no stage exceeds its capacity; the plan is optimal unless `limits` cut a selection short; the certificate then shows the gap
/// @throws invalid_input as `require_valid` of the chain and of the options
/// @par Complexity
/// O(p log n log C) evaluations of stages for n layers, p stages and a bottleneck of C, each in O(log runs), or O(runs) plus a greedy
/// selection on classes; then about as many exact selections as stages. All selections together spend at most `limits.work`, plus at most
/// one greedy selection for each stage.
/// @par Determinism
/// A pure function of its arguments, unless a stop or the clock ends the search.
/// @par Source
/// This library (docs/staging.md). The problem: Sun et al., "AdaPipe", ASPLOS 2024; the sequential method: OmniBal, arXiv 2407.20761,
/// section 4.
template <index_type Index = std::uint32_t>
[[nodiscard]] joint_stages<Index> plan_stages(layer_chain const& chain, staging_options const& options,
                                              search_limits const& limits = {.work = staging_work}) {
  detail::stage_oracle<> oracle(chain, options, limits);
  joint_stages<Index> out;
  // First find out whether any plan exists: a stage costs its time without recomputation, or does not fit.
  auto next = min_max_partition<Index>(oracle.layers(), oracle.cut(), [&](std::uint64_t b, std::uint64_t e, std::uint64_t s) {
    auto const of = oracle.sums(b, e);
    return oracle.fits(of, s) ? of.time : unaffordable;
  });
  auto best = unaffordable;
  std::int64_t bound = 0;
  for (bool first = true; next.status == status::feasible; first = false) {
    bound = (std::max)(bound, next.bottleneck.value);
    std::int64_t value = 0;  // in the first round, of greedy selections: an upper bound
    for (std::size_t s = 0; s < options.stages; ++s)
      value = (std::max)(value, oracle.settle(next.boundaries[s], next.boundaries[s + 1], s, first ? unaffordable : bound));
    if (value < best) {
      best = value;
      out.partition = std::move(next);
    }
    if (best <= bound || !(oracle.learned() || first)) break;
    // Minimise over lower bounds on the cost of stages. A lower bound may decrease if a stage grows, but no plan is below its least
    // bottleneck (see `min_max_partition`), and a partition that is not as fast as its bounds has a stage that was not solved yet.
    next = min_max_partition<Index>(oracle.layers(), oracle.cut(),
                                    [&](std::uint64_t b, std::uint64_t e, std::uint64_t s) { return oracle.at_least(b, e, s, best); });
  }
  if (best == unaffordable) {
    out.partition = std::move(next);
    return out;
  }
  detail::fill_stages(oracle, out);
  out.partition.bottleneck.lower_bound = (std::min)(bound, out.partition.bottleneck.value);
  return out;
}

/// @brief Plans stages for single layers; equal layers are folded first.
/// @param layers   the layers, first to last
/// @param options  stages, memory, micro-batches in flight
/// @param limits   when the search stops
/// @return as the other overload
/// @throws invalid_input as the other overload
template <index_type Index = std::uint32_t>
[[nodiscard]] joint_stages<Index> plan_stages(std::span<stage_layer const> layers, staging_options const& options,
                                              search_limits const& limits = {.work = staging_work}) {
  return plan_stages<Index>(fold_layers(layers), options, limits);
}

/// @brief Cuts a chain for time alone, and then fits each stage into memory with the selection that adds least time.
///
/// Each of the two steps is exact, but not both together: the partition may have a stage that does not fit with any selection, or a slow
/// stage where another partition has a fast one. `plan_stages` is never worse.
///
/// @tparam Index  type of the boundaries
/// @param chain    the folded chain of layers
/// @param options  as for `plan_stages`
/// @param limits   as for `plan_stages`
/// @return the plan, with the bottleneck of the partition without memory as lower bound; infeasible if a stage of it does not fit
/// @throws invalid_input as `plan_stages`
/// @par Complexity
/// O(p log n log C) for the partition, then one selection per stage.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The two steps of OmniBal, arXiv 2407.20761, section 4.
template <index_type Index = std::uint32_t>
[[nodiscard]] joint_stages<Index> plan_stages_in_sequence(layer_chain const& chain, staging_options const& options,
                                                          search_limits const& limits = {.work = staging_work}) {
  detail::stage_oracle<> oracle(chain, options, limits);
  joint_stages<Index> out;
  out.partition = min_max_partition<Index>(oracle.layers(), oracle.cut(),
                                           [&](std::uint64_t b, std::uint64_t e, std::uint64_t) { return oracle.sums(b, e).time; });
  if (out.partition.status != status::feasible) return out;
  auto const& cuts = out.partition.boundaries;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    auto const of = oracle.sums(cuts[s], cuts[s + 1]);
    if (oracle.fits(of, s)) {
      static_cast<void>(oracle.settle(cuts[s], cuts[s + 1], s, 0));
      continue;
    }
    out.partition = {.status = status::infeasible,
                     .bottleneck = {options.capacity[s], stage_bytes(of.state, of.working, of.least, options.in_flight[s])},
                     .bound = partition_bound::capacity,
                     .boundaries = {}};
    return out;
  }
  detail::fill_stages(oracle, out);
  return out;
}

BALLAST_INSTANTIATE(joint_stages<std::uint32_t> plan_stages(layer_chain const&, staging_options const&, search_limits const&))
BALLAST_INSTANTIATE(joint_stages<std::uint32_t> plan_stages_in_sequence(layer_chain const&, staging_options const&, search_limits const&))

}  // namespace ballast::inline v0_2
