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

namespace ballast::inline v0_2 {

/// @brief Cuts a chain into stages, and chooses what each recomputes or sends to the host, so that the slowest stage costs as little as any
/// such plan allows.
///
/// A stage costs the forward and backward of its layers and what the cheapest selection adds that fits the memory left beside its states,
/// divided by its micro-batches in flight. That cost does not fall when the stage grows, so one probe decides a limit
/// (`min_max_partition` by a stage cost), and no table over all ranges of layers is needed. The probe asks for bounds, which a greedy
/// selection proves; only the stages of the cut that it finds are solved, and the probe is asked again, until cut and bound meet. Cutting
/// for time first and making room afterwards may find no plan where this one does.
///
/// @tparam Index  type of the boundaries
/// @param chain    the layers, folded
/// @param options  stages, memory, micro-batches in flight
/// @return the plan; infeasible where every cut has a stage that does not fit even at the least bytes of each layer
/// @post no stage is above its capacity; optimal unless `work` was spent, and then the certificate has the gap
/// @throws invalid_input as `require_valid` of the chain and of the options
/// @par Complexity
/// O(p log n log C) stages asked for n layers, p stages and a bottleneck of C, each in O(log runs), or O(runs) and a greedy selection on
/// classes; then about as many exact selections as stages. All selections together spend `options.work`, and at most one greedy selection
/// for each stage beyond.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// This library (docs/staging.md). The problem: Sun et al., "AdaPipe", ASPLOS 2024; in sequence: OmniBal, arXiv 2407.20761, section 4.
template <index_type Index = std::uint32_t>
[[nodiscard]] joint_stages<Index> plan_stages(layer_chain const& chain, staging_options const& options) {
  detail::stage_oracle oracle(chain, options);
  joint_stages<Index> out;
  // First whether there is a plan at all: no stage is asked for less than its time.
  auto next = min_max_partition<Index>(oracle.layers(), oracle.cut(), [&](std::uint64_t b, std::uint64_t e, std::uint64_t s) {
    return oracle.fits(b, e, s) ? oracle.sums(b, e).time : unaffordable;
  });
  auto best = unaffordable;
  std::int64_t bound = 0;
  for (bool first = true; next.status == status::feasible; first = false) {
    bound = (std::max)(bound, next.bottleneck.value);
    std::int64_t value = 0;  // of the first cut as the greedy selections have it: to know what is too slow
    for (std::size_t s = 0; s < options.stages; ++s)
      value = (std::max)(value, oracle.settle(next.boundaries[s], next.boundaries[s + 1], s, first ? unaffordable : bound));
    if (value < best) {
      best = value;
      out.partition = std::move(next);
    }
    if (best <= bound || !(oracle.learned() || first)) break;
    // The least of what stages cost at least. Where a bound is no real cost, it may fall when a stage grows; what the probe rules out, it
    // rules out all the same, since the cost itself, which does not fall, is above.
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

/// @brief The same for layers one by one; equal ones are folded.
/// @param layers   first to last
/// @param options  stages, memory, micro-batches in flight
/// @return as the other overload
/// @throws invalid_input as the other overload
template <index_type Index = std::uint32_t>
[[nodiscard]] joint_stages<Index> plan_stages(std::span<stage_layer const> layers, staging_options const& options) {
  return plan_stages<Index>(fold_layers(layers), options);
}

}  // namespace ballast::inline v0_2
