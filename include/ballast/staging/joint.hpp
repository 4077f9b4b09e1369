// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/partition/probe.hpp>
#include <ballast/partition/stage_cost.hpp>
#include <ballast/staging/detail/oracle.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>
#include <ballast/staging/result.hpp>

#include <cstdint>
#include <span>
#include <utility>

/// @file
/// @brief The joint plan: where a chain is cut and what each stage recomputes, decided together under the memory of each stage.

namespace ballast::inline v0_1 {

/// @brief Cuts a chain into stages, and chooses what each recomputes or sends to the host, so that the dearest stage costs as little as any
/// such plan allows.
///
/// A stage costs the forward and backward of its layers and what the cheapest selection adds that fits the memory left beside its states,
/// divided by its micro-batches in flight. That cost does not fall when the stage grows, so one probe decides a limit
/// (`min_max_partition` by a stage cost), and no table over all ranges of layers is needed. Stages of the same layers under the same room
/// are solved once. Cutting for time first and making room afterwards may find no plan where this one does.
///
/// @tparam Index  type of the boundaries
/// @param chain    the layers, folded
/// @param options  stages, memory, micro-batches in flight
/// @return the plan; infeasible where every cut has a stage that does not fit even at the least bytes of each layer
/// @post no stage is above its capacity; optimal unless `work` cut a selection short, and then the certificate has the gap
/// @throws invalid_input as `require_valid` of the chain and of the options
/// @par Complexity
/// O(p log n log C) stages asked for n layers, p stages and a bottleneck of C, each in O(log runs), or O(runs) and a selection on classes.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// This library (docs/staging.md). The problem: Sun et al., "AdaPipe", ASPLOS 2024; in sequence: OmniBal, arXiv 2407.20761, section 4.
template <index_type Index = std::uint32_t>
[[nodiscard]] joint_stages<Index> plan_stages(layer_chain const& chain, staging_options const& options) {
  require_valid(chain);
  require_valid(options);
  detail::stage_oracle oracle(chain, options);
  partition_options const cut{.stages = options.stages, .min_layers = options.min_layers};
  joint_stages<Index> out;
  out.plan = min_max_partition<Index>(oracle.layers(), cut, [&](std::uint64_t b, std::uint64_t e, std::uint64_t s) {
    return oracle.fits(b, e, s) ? oracle.sums(b, e).time : unaffordable;  // decides whether there is a plan, and bounds it
  });
  if (out.plan.status != status::feasible) return out;
  auto const bound = out.plan.bottleneck.value;
  auto best = min_max_partition<Index>(oracle.layers(), cut,
                                       [&](std::uint64_t b, std::uint64_t e, std::uint64_t s) { return oracle.cost(b, e, s); });
  if (best.status == status::feasible) out.plan = std::move(best);  // always, unless selections were cut short
  detail::fill_stages(oracle, out);
  if (!oracle.exact()) out.plan.bottleneck.lower_bound = bound;
  return out;
}

/// @brief The same for layers one by one; equal ones are folded.
/// @param layers   first to last
/// @param options  stages, memory, micro-batches in flight
/// @return as the other overload
/// @throws invalid_input as the other overload
template <index_type Index = std::uint32_t>
[[nodiscard]] joint_stages<Index> plan_stages(std::span<stage_layer const> layers, staging_options const& options) {
  return plan_stages<Index>(fold_layers(layers), options);
}

}  // namespace ballast::inline v0_1
