// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/balanced_measures.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/batching/vector_options.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/chain_cost.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/vision_language_cost.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/plan/detail/placed_measures.hpp>
#include <ballast/plan/plan_data.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_data` for samples of several measures, such as image tiles and tokens.

namespace ballast::inline v0_2 {

/// @brief Plans an epoch of samples with several measures, under any cost.
///
/// The last measure counts tokens, those of images included. Another one may count image tiles, for example: it limits what a micro-batch
/// holds, and the cost says how long that takes. Steps are those of `balanced_steps`: ranks have nearly the same cost and nearly the same
/// of each measure, because a vision tower and a language model take their time from different measures, and may wait for each other.
/// Samples cannot be cut, and `least_fill` is not read: packs are as full as the packers make them.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   a `row_cost`
/// @param samples  measures of each sample; tokens are the last one, at least 1
/// @param options  the capacity of tokens is `steps.capacity`, those of the measures in front of them are `others`:
/// `{.steps = {.capacity = 4096, .ranks = 64}, .others = {9}}`
/// @param cost     maps the measures of a sample to its cost, positive; a pure function
/// @return the plan; `others` holds the measures in front of the tokens, and `steps.critical.cost` compares the most expensive sample with
/// the mean packs of a rank's step
/// @post every sample is in a step exactly once, or is named by `samples.set_aside`, `steps.dropped` or `steps.repeated`; no micro-batch
/// exceeds a capacity or `max_samples`
/// @throws invalid_input if an option, measure or cost is out of range, or a sample exceeds a capacity under `oversize::reject`
/// @par Complexity
/// As `plan_steps` for several measures, and that of `deal_steps` for each window that is tried.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, row_cost Cost>
  requires(!std::same_as<Cost, weighted_sum>)
[[nodiscard]] data_plan<Index> plan_data(sample_measures const& samples, data_plan_options const& options, Cost const& cost) {
  auto const& o = options.steps;
  auto const last = samples.measures() - 1;
  require(options.others.size() == last,
          [&] { return sentence("others has ", options.others.size(), " capacities for ", last, " measures in front of the tokens"); });
  require(options.oversize == oversize::reject || options.oversize == oversize::set_aside,
          [] { return "oversize: a sample of several measures can be rejected or set aside"; });
  auto const capacity = detail::capacities_of(options);
  data_plan<Index> out;
  out.samples.tokens.assign(samples.column(last).begin(), samples.column(last).end());
  for (std::size_t i = 0; i < samples.size(); ++i)
    require(out.samples.tokens[i] > 0, [&] { return entry("tokens", i, out.samples.tokens[i]) + " must be positive"; });
  for (std::size_t m = 0; m < last; ++m) out.others.emplace_back(samples.column(m).begin(), samples.column(m).end());
  if (options.oversize == oversize::set_aside)
    for (std::size_t i = 0; i < samples.size(); ++i)
      for (std::size_t m = 0; m <= last; ++m)
        if (samples.column(m)[i] > capacity[m]) {
          out.samples.set_aside.push_back(static_cast<Index>(i));
          break;
        }
  detail::placed_measures<Index> const placed(out);
  auto plan = balanced_steps<Index>(placed.view(), {.steps = o, .others = options.others, .max_samples = options.max_samples}, cost);
  if (!placed.kept.empty()) renumber<Index>(plan, placed.kept);
  out.packs.value = std::count_if(plan.table.begin(), plan.table.end(), [&](Index p) { return p != plan.none; });
  out.packs.lower_bound = plan.dropped.empty() && plan.repeated.empty()
                              ? plan.pack_count.lower_bound
                              : detail::packs_of_trained(plan, placed.view().size(), options).packs;
  out.steps = std::move(plan);
  std::int64_t most = 0;
  out.samples.cost.assign(samples.size(), 0);
  std::vector<std::int64_t> row(last + 1);
  for (std::size_t k = 0; k < placed.view().size(); ++k) {
    auto const i = placed.kept.empty() ? k : static_cast<std::size_t>(placed.kept[k]);
    for (std::size_t m = 0; m <= last; ++m) row[m] = samples.column(m)[i];
    out.samples.cost[i] = static_cast<std::int64_t>(cost(std::span<std::int64_t const>(row)));
    require(out.samples.cost[i] > 0, [&] { return sentence("sample ", i, " has no cost"); });
    out.samples.all_cost += out.samples.cost[i];
    most = (std::max)(most, out.samples.cost[i]);
    out.samples.all_tokens += out.samples.tokens[i];
  }
  if (most > 0)
    out.steps.critical.cost = static_cast<double>(most) * static_cast<double>(out.packs.value) /
                              (static_cast<double>(o.micro_batches) * static_cast<double>(out.samples.all_cost));
  return out;
}

/// @brief Plans an epoch of image tiles and tokens for a chain of layers: `plan_data` under the cost of its samples and micro-batches.
///
/// @tparam Index  type of the sample indices
/// @param samples  image tiles and tokens of each sample: `{tiles, tokens}`; tokens include those of images
/// @param options  as for the other overload, with one capacity of `others`: the most tiles of a micro-batch
/// @param cost     such as `chain_cost_of(layers, {.tokens = capacity, .tiles = tiles}, rates)`
/// @return the plan; `others[0]` are the tiles
/// @throws invalid_input as the other overload, with `with_constant`, or if there are not two measures
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index = std::uint32_t>
[[nodiscard]] data_plan<Index> plan_data(sample_measures const& samples, data_plan_options const& options, chain_cost const& cost) {
  require(samples.measures() == 2,
          [&] { return sentence("a chain of layers takes two measures, tiles and tokens, not ", samples.measures()); });
  auto const units = [&cost](std::span<std::int64_t const> measures) { return cost.fits(measures) ? cost(measures) : checked::none; };
  return plan_data<Index>(samples, with_constant(options, cost), units);
}

/// @brief Plans an epoch of image tiles and tokens for a vision-language model: `plan_data` under the cost that its shape implies.
///
/// @tparam Index  type of the sample indices
/// @param samples  image tiles and tokens of each sample: `{tiles, tokens}`; tokens include those of images
/// @param options  as for the other overload, with one capacity of `others`: the most tiles of a micro-batch
/// @param model    the shape of the model
/// @param by       how it is trained; what is frozen costs less
/// @return the plan; `others[0]` are the tiles
/// @throws invalid_input as the other overload, or if the shape is not valid, or there are not two measures
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index = std::uint32_t>
[[nodiscard]] data_plan<Index> plan_data(sample_measures const& samples, data_plan_options const& options,
                                         vision_language_model const& model, model_setting const& by = {}) {
  require(samples.measures() == 2,
          [&] { return sentence("a vision-language model takes two measures, tiles and tokens, not ", samples.measures()); });
  return plan_data<Index>(samples, options, sample_cost(model, by));
}

}  // namespace ballast::inline v0_2
