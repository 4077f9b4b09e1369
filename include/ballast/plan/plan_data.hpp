// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/member_lengths.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/plan/cluster.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/limits.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_data`: what each rank trains on in a whole epoch, beside what trainers do without a plan.

namespace ballast::inline v0_2 {

/// @brief The request: the shape of a step, and what to do with samples that no micro-batch can hold.
struct data_plan_options {
  batching_options steps;  ///< capacity, ranks, micro-batches, where ranks wait, what is left over, seed and epoch; for all three plans
  ballast::oversize oversize = ballast::oversize::reject;  ///< any policy but `own`: a micro-batch never exceeds the capacity
};

/// @brief The plan of an epoch, its proofs, and the figures that tell what it is worth.
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct data_plan {
  batching<Index> steps;  ///< the plan by `plan_steps`; members are sample indices in `[0, n)`, an index `n + j` is `pieces[j]`
  certificate packs;      ///< packs of the plan, and the number below which no plan of the same samples can go
  packing_bound bound = packing_bound::none;  ///< what proves it
  std::vector<std::int64_t> tokens;           ///< tokens of each sample as it is trained on, then of each piece
  std::vector<Index> set_aside;               ///< samples longer than the capacity that the policy left out, ascending
  std::vector<sample_piece> pieces;           ///< second and later pieces of split samples
  plan_figures planned;                       ///< the figures of `steps`
  plan_figures naive;                         ///< of packs by next fit in input order, dealt in order
  plan_figures usual;                         ///< of packs by best-fit decreasing, dealt at random
  plan_limits<Index> limits;                  ///< what keeps `steps` from being level

  /// @brief What `slowest_over_mean` cannot go below in any plan of the same samples; where micro-batches or steps have a price, in any
  /// plan of as much work as this one.
  [[nodiscard]] double slowest_over_mean_bound() const noexcept {
    if (steps.cost == 0) return 1.0;
    return (std::max)(1.0, static_cast<double>(limits.bound) * static_cast<double>(steps.ranks) / static_cast<double>(steps.cost));
  }
};

/// @brief Plans an epoch under any cost.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths      tokens of each sample
/// @param options      `{.steps = {.capacity = 131072, .ranks = 64}, .oversize = oversize::truncate}`
/// @param cost         what a sample costs
/// @param ms_per_unit  milliseconds that one unit of cost takes on one device
/// @return the plan, what the naive and the usual plan of the same samples are worth, and what limits it
/// @post every sample stands in a step exactly once, or is named by `set_aside`, `steps.dropped` or `steps.repeated`
/// @throws invalid_input for a bad option, length or cost, or a length above the capacity under `oversize::reject`
/// @par Complexity
/// That of `plan_steps`, and O(n log n) for the plans it is compared with.
/// @par Determinism
/// Plans and bounds are pure functions of the arguments; figures are doubles computed from exact sums.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] data_plan<Index> plan_data(R const& lengths, data_plan_options const& options, Cost const& cost, double ms_per_unit) {
  auto const& o = options.steps;
  require(options.oversize != oversize::own, [] { return std::string("oversize = own: a micro-batch never exceeds the capacity"); });
  packing_options pack{.capacity = o.capacity, .oversize = options.oversize};
  auto cut = next_fit<Index>(lengths, pack);
  data_plan<Index> out;
  out.tokens = member_lengths(lengths, cut, pack);
  out.set_aside = std::move(cut.set_aside);
  out.pieces = std::move(cut.pieces);
  pack.oversize = oversize::reject;

  // Planners see the samples that have a place; where some have none, the rest is renumbered.
  std::vector<Index> kept;
  std::vector<std::int64_t> rest;
  if (!out.set_aside.empty())
    for (std::size_t i = 0; i < out.tokens.size(); ++i)
      if (out.tokens[i] <= o.capacity) {
        kept.push_back(static_cast<Index>(i));
        rest.push_back(out.tokens[i]);
      }
  auto const& placed = out.set_aside.empty() ? out.tokens : rest;

  auto best_fit = best_fit_decreasing<Index>(placed, pack);
  out.packs.lower_bound = best_fit.count.lower_bound;
  out.bound = best_fit.bound;
  auto const score = [&](batching<Index> const& plan) { return figures_of(plan, placed, o, ms_per_unit, cost); };
  out.naive = score(deal_steps(next_fit<Index>(placed, pack).packs, placed, o, cost, {.how = dealing::in_order}));
  out.usual = score(deal_steps(std::move(best_fit.packs), placed, o, cost, {.how = dealing::random}));
  out.steps = plan_steps<Index>(placed, o, cost);
  out.planned = score(out.steps);
  out.limits = limits_of(out.steps, placed, o, cost);
  out.packs.value = static_cast<std::int64_t>(out.planned.packs);
  if (!out.steps.dropped.empty() || !out.steps.repeated.empty()) {  // other samples than the bound counted
    out.packs.lower_bound = divide_up(out.steps.tokens, o.capacity);
    out.bound = packing_bound::volume;
  }
  if (out.set_aside.empty()) return out;
  renumber(out.steps, std::span<Index const>(kept));
  for (auto& s : out.limits.samples) s.sample = kept[s.sample];
  return out;
}

/// @brief Plans an epoch for a model on a cluster: `plan_data` under the cost and the time that its shape implies.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample
/// @param options  as above
/// @param model    the shape of the model, such as `transformer_preset("llama-3.1-8b")`
/// @param on       the devices
/// @return as above
/// @throws invalid_input as above, or for a shape that makes no sense
/// @par Complexity
/// As above.
/// @par Determinism
/// As above.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] data_plan<Index> plan_data(R const& lengths, data_plan_options const& options, transformer const& model,
                                         cluster const& on = {}) {
  auto const cost = sample_cost(model);
  return plan_data<Index>(lengths, options, cost, ms_per_unit(cost, on));
}

}  // namespace ballast::inline v0_2
