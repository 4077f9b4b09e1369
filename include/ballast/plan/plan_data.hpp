// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/result.hpp>
#include <ballast/packing/run_length.hpp>
#include <ballast/plan/detail/placed_samples.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_data`: plans an epoch, that is, which samples each rank trains on in each step.

namespace ballast::inline v0_2 {

/// @brief Options of `plan_data`: the shape of a step, and the policy for samples that are longer than the capacity.
struct data_plan_options {
  batching_options steps;  ///< capacity, ranks, micro-batches, where ranks wait, left-over policy, seed and epoch
  ballast::oversize oversize = ballast::oversize::reject;  ///< any policy but `alone`: a micro-batch never exceeds the capacity
  /// Samples of several measures (measured_data.hpp): the capacity of each measure in front of the tokens, such as image tiles.
  std::vector<std::int64_t> others{};
};

/// @brief The plan of an epoch, with its bounds.
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct data_plan {
  batching<Index> steps;           ///< the result of `plan_steps`; members are indices of `samples`
  trained_samples<Index> samples;  ///< tokens and cost of each sample as it is trained, then of each piece; samples that are set aside
  certificate packs;               ///< number of packs, and the lower bound for the same samples
  packing_bound bound = packing_bound::none;  ///< the argument that proves the lower bound of `packs`; none with several measures
  /// Samples of several measures: each measure in front of the tokens, one list for all samples. The first are image tiles, if the model
  /// reads images.
  std::vector<std::vector<std::int64_t>> others{};

  /// @brief Image tiles of each sample. @return a view of `others[0]`; empty if samples have tokens alone
  [[nodiscard]] std::span<std::int64_t const> tiles() const& noexcept {
    return others.empty() ? std::span<std::int64_t const>() : std::span<std::int64_t const>(others.front());
  }
  std::span<std::int64_t const> tiles() const&& = delete;  ///< a view of a temporary would dangle
};

namespace detail {

/// Bounds the number of packs of a plan of steps of these samples.
template <index_type Index>
void bound_packs(data_plan<Index>& plan, weighed_samples const& samples, batching_options const& o) {
  auto const& steps = plan.steps;
  plan.packs.value = std::count_if(steps.table.begin(), steps.table.end(), [&](Index p) { return p != steps.none; });
  if (steps.dropped.empty() && steps.repeated.empty()) {
    auto const tally = count_packs(ballast::fold(samples.tokens), {.capacity = o.capacity});
    plan.packs.lower_bound = tally.count.lower_bound;
    plan.bound = tally.bound;
  } else {  // dropped or repeated samples change what is packed
    plan.packs.lower_bound = divide_up(steps.tokens, o.capacity);
    plan.bound = packing_bound::volume;
  }
}

/// Plans the steps of all samples that are not set aside.
template <index_type Index>
[[nodiscard]] data_plan<Index> plan_trained(trained_samples<Index> samples, batching_options const& o, step_limits const& limits = {}) {
  data_plan<Index> out;
  out.samples = std::move(samples);
  auto const placed = detail::placed_samples(out.samples, o);
  out.steps = plan_steps<Index>(placed.samples, o, {}, limits);
  bound_packs(out, placed.samples, o);
  if (!placed.kept.empty()) renumber(out.steps, std::span<Index const>(placed.kept));
  return out;
}

}  // namespace detail

/// @brief Plans an epoch under any cost.
///
/// The over-size policy is applied and samples are weighed once (`apply_oversize`); `plan_steps` plans the result. Use
/// `limits_of(plan.steps, plan.samples, options.steps)` to see what limits the plan, and `compare_with_usual` to see what it gains.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param lengths  tokens of each sample
/// @param options  for example `{.steps = {.capacity = 131072, .ranks = 64}, .oversize = oversize::truncate}`
/// @param cost     cost of a sample; called once for each sample or piece, and not for samples that are set aside
/// @param limits   what cuts planning short, as for `plan_steps`
/// @return the plan
/// @post every sample is in a step exactly once, or is named by `samples.set_aside`, `steps.dropped` or `steps.repeated`
/// @throws invalid_input if an option, length or cost is out of range, or a length exceeds the capacity under `oversize::reject`
/// @par Complexity
/// As `plan_steps`.
/// @par Determinism
/// A pure function of its arguments, if no stop is requested.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] data_plan<Index> plan_data(R const& lengths, data_plan_options const& options, Cost const& cost,
                                         step_limits const& limits = {}) {
  auto const& o = options.steps;
  require(options.oversize != oversize::alone, [] { return std::string("oversize = alone: a micro-batch never exceeds the capacity"); });
  return detail::plan_trained(apply_oversize<Index>(lengths, {.capacity = o.capacity, .oversize = options.oversize}, cost), o, limits);
}

/// @brief Plans an epoch for a model: `plan_data` under the cost that the shape of the model implies.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample
/// @param options  as for the other overload
/// @param model    the shape of the model, such as `transformer_preset("llama-3.1-8b")`
/// @param limits   as for the other overload
/// @return the plan
/// @throws invalid_input as the other overload, or if the shape is not valid
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] data_plan<Index> plan_data(R const& lengths, data_plan_options const& options, transformer const& model,
                                         step_limits const& limits = {}) {
  return plan_data<Index>(lengths, options, sample_cost(model), limits);
}

}  // namespace ballast::inline v0_2
