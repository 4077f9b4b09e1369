// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/executor.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/chain_cost.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/result.hpp>
#include <ballast/packing/vector/bounds.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_data`: plans an epoch, that is, which samples each rank trains on in each step.

namespace ballast::inline v0_2 {

/// @brief Options of `plan_data`: the shape of a step, and the policy for samples that are longer than the capacity.
struct data_plan_options {
  batching_options steps;  ///< capacity, ranks, micro-batches, where ranks wait, left-over policy, seed and epoch
  ballast::oversize oversize = ballast::oversize::reject;  ///< any policy but `alone`: a micro-batch never exceeds the capacity
  /// Samples of several measures (vector_data.hpp): the capacity of each measure in front of the tokens, such as image tiles.
  std::vector<std::int64_t> others{};
  std::uint64_t max_samples = 0;  ///< most samples in a micro-batch, a piece of a sample being one; 0 = no limit
};

/// @brief Adds what a micro-batch costs beside its samples to the options of a plan: for planners that take `chain_cost::tokens` as the
/// cost of a sample, such as `plan_rest` and `training_run`.
/// @param options  options whose fixed costs are in units of the cost
/// @param cost     the cost of a chain of layers
/// @return the options, for `plan_data` and all that follows it: reports, comparisons, plans of the rest
/// @throws invalid_input if the sum of both constants reaches 2^63
[[nodiscard]] inline data_plan_options with_constant(data_plan_options options, chain_cost const& cost) {
  auto& constant = options.steps.cost_per_micro_batch;
  auto const sum = checked(constant) + checked(cost.per_micro_batch);
  require(sum.fits(), [&] {
    return sentence("cost_per_micro_batch = ", constant, " and ", cost.per_micro_batch, " units of the layers are negative, or reach 2^63");
  });
  constant = sum.value;
  return options;
}

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

/// The packs that samples need at least if some are dropped or repeated, which changes what is packed.
template <index_type Index>
[[nodiscard]] packs_needed packs_of_trained(batching<Index> const& steps, std::size_t samples, data_plan_options const& options) {
  packs_needed const by_tokens{divide_up(steps.tokens, options.steps.capacity), packing_bound::volume};
  if (options.max_samples == 0) return by_tokens;
  auto const trained = std::uint64_t{samples - steps.dropped.size() + steps.repeated.size()};
  packs_needed const by_number{static_cast<std::int64_t>(divide_up(trained, options.max_samples)), packing_bound::cardinality};
  return by_number.packs > by_tokens.packs ? by_number : by_tokens;
}

/// The packs that all samples need at least. A limit of samples is a second measure, of which each needs 1; its sums with tokens bound more
/// than each alone.
template <class = when_called>
[[nodiscard]] inline packs_needed packs_of_all(weighed_samples const& samples, data_plan_options const& options, std::int64_t planned) {
  auto const lengths = ballast::fold(samples.tokens);
  auto const most = options.max_samples != 0 ? options.max_samples : std::uint64_t{samples.size()} + 1;
  auto const by_either = packing_lower_bound(lengths, options.steps.capacity, most, planned);
  if (options.max_samples == 0 || by_either.packs >= planned) return by_either;
  measure_classes both{2, {}, lengths.counts};
  for (auto const length : lengths.lengths) both.values.insert(both.values.end(), {length, 1});
  std::int64_t const capacity[] = {options.steps.capacity,
                                   static_cast<std::int64_t>((std::min)(options.max_samples, std::uint64_t{samples.size()}))};
  auto const by_sums = vector_lower_bound(both, capacity, planned);
  return by_sums.packs > by_either.packs && by_sums.bound == vector_bound::mixture ? packs_needed{by_sums.packs, packing_bound::mixture}
                                                                                   : by_either;
}

/// Bounds the number of packs of a plan of steps of these samples.
template <index_type Index>
void bound_packs(data_plan<Index>& plan, weighed_samples const& samples, data_plan_options const& options) {
  auto const& steps = plan.steps;
  plan.packs.value = std::count_if(steps.table.begin(), steps.table.end(), [&](Index p) { return p != steps.none; });
  auto const needed = steps.dropped.empty() && steps.repeated.empty() ? packs_of_all(samples, options, plan.packs.value)
                                                                      : packs_of_trained(steps, samples.size(), options);
  plan.packs.lower_bound = needed.packs;
  plan.bound = needed.bound;
}

/// The samples that are not set aside; none if all are kept.
template <index_type Index>
[[nodiscard]] std::vector<Index> kept_of(std::size_t samples, std::vector<Index> const& set_aside) {
  std::vector<Index> kept;
  auto next = set_aside.begin();
  for (std::size_t i = 0; !set_aside.empty() && i < samples; ++i)
    if (next != set_aside.end() && *next == i)
      ++next;
    else
      kept.push_back(static_cast<Index>(i));
  return kept;
}

/// The samples that have a place, renumbered if some have none: number k is sample `kept[k]`. `kept` is empty if all samples are kept.
template <index_type Index>
struct placed_samples {
  weighed_samples samples;
  std::vector<Index> kept{};
};

/// Takes over the lists of all samples, and leaves out those that are set aside.
template <index_type Index>
[[nodiscard]] placed_samples<Index> place_samples(std::vector<std::int64_t> tokens, std::vector<std::int64_t> cost,
                                                  std::vector<Index> const& set_aside, batching_options const& o) {
  auto kept = kept_of(tokens.size(), set_aside);
  for (auto* const list : {&tokens, &cost}) {
    for (std::size_t k = 0; k < kept.size(); ++k) (*list)[k] = (*list)[static_cast<std::size_t>(kept[k])];
    if (!set_aside.empty()) list->resize(kept.size());
  }
  return {take_over(std::move(tokens), std::move(cost), o), std::move(kept)};
}

/// Plans the steps of all samples that are not set aside.
template <index_type Index, executor Executor = serial>
[[nodiscard]] data_plan<Index> plan_weighed(trained_samples<Index> samples, data_plan_options const& options,
                                            search_limits const& limits = {}, Executor const& execute = {}) {
  data_plan<Index> out;
  out.samples = std::move(samples);
  auto& [tokens, cost, set_aside, alone, pieces, all_tokens, all_cost] = out.samples;
  auto const all = set_aside.empty();  // both have the same lists then: millions of samples are listed once
  auto placed = all ? place_samples<Index>(std::move(tokens), std::move(cost), set_aside, options.steps)
                    : place_samples<Index>(tokens, cost, set_aside, options.steps);
  out.steps = plan_steps<Index>(placed.samples, options.steps, {.max_samples = options.max_samples}, limits, execute);
  bound_packs(out, placed.samples, options);
  if (!placed.kept.empty()) renumber(out.steps, std::span<Index const>(placed.kept));
  if (!all) return out;
  tokens = std::move(placed.samples.tokens);
  cost = std::move(placed.samples.cost);
  return out;
}

}  // namespace detail

/// @brief Plans an epoch under any cost.
///
/// The over-size policy is applied and samples are weighed once (`apply_oversize`); `plan_steps` plans the result. Use
/// `report_balance(plan.steps, plan.samples, options.steps)` to see what limits the plan, and `compare_with_usual` to see what it gains.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Executor  an `executor`
/// @param lengths  tokens of each sample
/// @param options  for example `{.steps = {.capacity = 131072, .ranks = 64}, .oversize = oversize::truncate}`
/// @param cost     cost of a sample; called once for each sample or piece, and not for samples that are set aside
/// @param limits   what cuts planning short, as for `plan_steps`
/// @param execute  `threads{}` plans millions of samples on several threads; the plan does not depend on it
/// @return the plan
/// @post every sample is in a step exactly once, or is named by `samples.set_aside`, `steps.dropped` or `steps.repeated`; no micro-batch
/// exceeds the capacity or `max_samples`
/// @throws invalid_input if an option, length or cost is out of range, or a length exceeds the capacity under `oversize::reject`
/// @par Complexity
/// As `plan_steps`.
/// @par Determinism
/// A pure function of its arguments, if no stop is requested.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost, executor Executor = serial>
[[nodiscard]] data_plan<Index> plan_data(R const& lengths, data_plan_options const& options, Cost const& cost,
                                         search_limits const& limits = {}, Executor const& execute = {}) {
  auto const& o = options.steps;
  require(options.oversize != oversize::alone, [] { return "oversize = alone: a micro-batch never exceeds the capacity"; });
  return detail::plan_weighed(apply_oversize<Index>(lengths, {.capacity = o.capacity, .oversize = options.oversize}, cost), options, limits,
                              execute);
}

/// @brief Plans an epoch for a model: `plan_data` under the cost that the shape of the model implies.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Executor  an `executor`
/// @param lengths  tokens of each sample
/// @param options  as for the other overload
/// @param model    the shape of the model, such as `transformer_preset("llama-3.1-8b")`
/// @param limits   as for the other overload
/// @param execute  as for the other overload
/// @return the plan
/// @throws invalid_input as the other overload, or if the shape is not valid
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index = std::uint32_t, length_range R, executor Executor = serial>
[[nodiscard]] data_plan<Index> plan_data(R const& lengths, data_plan_options const& options, transformer const& model,
                                         search_limits const& limits = {}, Executor const& execute = {}) {
  return plan_data<Index>(lengths, options, sample_cost(model), limits, execute);
}

/// @brief Plans an epoch for a chain of layers: `plan_data` under the cost of its samples and of its micro-batches.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Executor  an `executor`
/// @param lengths  tokens of each sample
/// @param options  as for the other overload; fixed costs are in units of `cost`
/// @param cost     such as `chain_cost_of(layers, {.tokens = capacity}, rates)`
/// @param limits   as for the other overload
/// @param execute  as for the other overload
/// @return the plan
/// @throws invalid_input as the other overload, with `with_constant`
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index = std::uint32_t, length_range R, executor Executor = serial>
[[nodiscard]] data_plan<Index> plan_data(R const& lengths, data_plan_options const& options, chain_cost const& cost,
                                         search_limits const& limits = {}, Executor const& execute = {}) {
  return plan_data<Index>(lengths, with_constant(options, cost), cost.tokens, limits, execute);
}

BALLAST_INSTANTIATE(data_plan<std::uint32_t> detail::plan_weighed(trained_samples<std::uint32_t>, data_plan_options const&,
                                                                  search_limits const&, serial const&))
BALLAST_INSTANTIATE(data_plan<std::uint64_t> detail::plan_weighed(trained_samples<std::uint64_t>, data_plan_options const&,
                                                                  search_limits const&, serial const&))
BALLAST_INSTANTIATE(data_plan<std::uint32_t> detail::plan_weighed(trained_samples<std::uint32_t>, data_plan_options const&,
                                                                  search_limits const&, threads const&))
BALLAST_INSTANTIATE(data_plan<std::uint64_t> detail::plan_weighed(trained_samples<std::uint64_t>, data_plan_options const&,
                                                                  search_limits const&, threads const&))

}  // namespace ballast::inline v0_2
