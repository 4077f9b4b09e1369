// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/plan/plan_data.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_rest`: plans the steps of an epoch that are still to come anew, under a cost that is now better known.

namespace ballast::inline v0_2 {

/// @brief The rest of an epoch, planned anew where that is faster.
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct rest_plan {
  /// The steps to come, numbered from 0: train on these. `samples.set_aside` names all samples that are in none of them, also those that
  /// were trained on before.
  data_plan<Index> plan;
  bool anew = false;          ///< whether the steps are planned anew; if not, they are those of the plan before
  std::int64_t going_on = 0;  ///< time of the steps to come as they were planned before, in units of the new cost
  std::int64_t found = 0;     ///< time of the steps that were planned anew, in the same units
};

/// @brief Returns the steps of a plan that are still to come, unchanged, valued under a new cost.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   a `cost_model`
/// @param plan     the plan of an epoch, or of its rest
/// @param done     number of steps that were trained on, from step 0 on
/// @param options  the options that it was planned with; their fixed costs are in units of the new cost
/// @param cost     new cost of a sample
/// @return the steps, numbered from 0; `samples.set_aside` names the samples that were set aside before or trained on, and
/// `steps.repeated` those that these steps train on again
/// @throws invalid_input if `done` exceeds the steps of the plan, ranks share a sample, or the cost of a sample is out of range
/// @par Complexity
/// O(samples + places), and a sort of the lengths.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index, cost_model Cost>
[[nodiscard]] data_plan<Index> keep_rest(data_plan<Index> const& plan, std::size_t done, data_plan_options const& options,
                                         Cost const& cost) {
  require(done <= plan.steps.steps(),
          [&] { return sentence("done = ", done, " is out of range: the plan has ", plan.steps.steps(), " steps"); });
  auto const n = plan.samples.tokens.size();
  std::vector<char> comes(n, 0), aside(n, 0);
  for (auto const i : samples_left(plan.steps, std::views::iota(std::size_t{0}, done))) comes[i] = 1;
  for (auto const i : plan.steps.dropped) comes[i] = 1;
  for (auto const i : plan.samples.set_aside) aside[i] = 1;
  auto priced = comes;  // a sample that is repeated may have been trained on before
  for (auto const i : plan.steps.repeated) priced[i] = 1;

  data_plan<Index> rest;
  auto& samples = rest.samples;
  samples.tokens = plan.samples.tokens;
  samples.pieces = plan.samples.pieces;
  samples.cost.assign(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    auto const name = [&] { return entry("samples.tokens", i, samples.tokens[i]); };
    if (priced[i] != 0) samples.cost[i] = checked_cost(samples.tokens[i], cost_of_sample{cost, i}, "cost", name);
    if (comes[i] == 0 || aside[i] != 0) samples.set_aside.push_back(static_cast<Index>(i));
  }
  rest.steps = steps_from<Index>(plan.steps, done, samples.tokens, samples.cost, options.steps);
  auto const placed = detail::place_samples(samples.tokens, samples.cost, samples.set_aside, options.steps);
  samples.all_tokens = placed.samples.all_tokens;
  samples.all_cost = placed.samples.all_cost;
  rest.steps.repeated.clear();
  for (auto const i : samples.set_aside) comes[i] = 0;
  for (auto const i : rest.steps.packs.members)
    if (std::exchange(comes[i], char{0}) == 0) rest.steps.repeated.push_back(i);
  std::sort(rest.steps.repeated.begin(), rest.steps.repeated.end());
  detail::bound_packs(rest, placed.samples, options);
  return rest;
}

/// @brief Plans the steps that are still to come anew under a new cost, and keeps them as they are unless that saves a thousandth of the
/// time.
///
/// The samples are those of the steps to come; with `left_over::drop`, also those that the plan had dropped. They are drawn in another
/// order than before. Call it again with the result and the steps of it that are done. If the number of ranks changes, plan the
/// `samples_left` instead: there is then nothing to go on with.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   a `cost_model`
/// @param plan     the plan of an epoch, or of its rest
/// @param done     number of steps that were trained on, from step 0 on
/// @param options  the options that it was planned with; their fixed costs are in units of the new cost. The over-size policy was applied
/// before, and is not read
/// @param cost     new cost of a sample
/// @return the steps to train on, and the times of both choices
/// @post the steps of the result train once on every sample that the steps done did not train on, except for those in `steps.dropped`
/// of the result and those that were set aside before, and once for each entry of its `steps.repeated`
/// @post for the work that is left, the result does not take longer than the steps of `plan`, under the new cost
/// @throws invalid_input as `keep_rest`, or if the options have another number of ranks
/// @par Complexity
/// As `plan_steps`, for the samples that are left.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index, cost_model Cost>
[[nodiscard]] rest_plan<Index> plan_rest(data_plan<Index> const& plan, std::size_t done, data_plan_options const& options,
                                         Cost const& cost) {
  auto again = options;
  auto& o = again.steps;
  require(o.ranks == plan.steps.ranks, [&] { return sentence("ranks = ", o.ranks, " must be those of the plan, ", plan.steps.ranks); });
  rest_plan<Index> out;
  out.plan = keep_rest(plan, done, options, cost);
  o.seed = splitmix64(epoch_seed(o) + done)();
  auto anew = detail::plan_weighed(out.plan.samples, again);
  out.going_on = out.plan.steps.slowest.value;
  out.found = anew.steps.slowest.value;
  auto const work = [&](data_plan<Index> const& of) {  // of samples: the plans may drop or repeat different ones
    return of.steps.cost - o.cost_per_micro_batch * of.packs.value -
           o.cost_per_step * static_cast<std::int64_t>(of.steps.steps() * o.ranks);
  };
  out.anew = compare_products(out.found, work(out.plan), out.going_on - out.going_on / 1000, work(anew)) < 0;
  if (out.anew) out.plan = std::move(anew);
  return out;
}

}  // namespace ballast::inline v0_2
