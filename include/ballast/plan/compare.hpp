// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/vector_options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/detail/placed_measures.hpp>
#include <ballast/plan/figures.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/training_plan.hpp>
#include <ballast/plan/training_setting.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `compare_with_usual` and `compare_training`: compare a plan with what trainers usually do.

namespace ballast::inline v0_2 {

/// @brief The two plans that a plan is compared with.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct usual_batchings {
  batching<Index> naive;  ///< the naive plan: packs by next fit in input order, dealt in order
  batching<Index> usual;  ///< the usual plan: packs by best-fit decreasing, dealt at random
};

namespace detail {

/// Packs samples of several measures in input order into one open pack.
template <index_type Index>
[[nodiscard]] groups<Index> next_fit_of_measures(sample_measures const& samples, std::span<std::int64_t const> capacity,
                                                 std::uint64_t max_samples) {
  groups<Index> packs;
  std::vector<Index> open;
  std::vector<std::int64_t> room(capacity.begin(), capacity.end());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    auto fits = max_samples == 0 || open.size() < max_samples;
    for (std::size_t m = 0; m < room.size(); ++m) fits = fits && samples.column(m)[i] <= room[m];
    if (!fits) {
      packs.push_back(std::exchange(open, {}));
      room.assign(capacity.begin(), capacity.end());
    }
    open.push_back(static_cast<Index>(i));
    for (std::size_t m = 0; m < room.size(); ++m) room[m] -= samples.column(m)[i];
  }
  if (!open.empty()) packs.push_back(open);
  return packs;
}

}  // namespace detail

/// @brief Plans the samples of a plan in the naive and in the usual way, with the same shape of steps, seed and left-over policy.
///
/// @tparam Index  type of the sample indices
/// @param plan     the plan of an epoch, as `plan_data` returned it
/// @param options  the options that it was planned with
/// @return both plans; their samples are indices into `plan.samples`, as those of the plan are
/// @throws invalid_input as `deal_steps`
/// @par Complexity
/// O(n log n).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index>
[[nodiscard]] usual_batchings<Index> usual_batchings_of(data_plan<Index> const& plan, data_plan_options const& options) {
  auto o = options.steps;
  auto const placed = detail::place_samples(plan.samples.tokens, plan.samples.cost, plan.samples.set_aside, o);
  groups<Index> by_next_fit, by_best_fit;
  if (plan.others.empty()) {
    packing_options const pack{.capacity = o.capacity, .max_samples = options.max_samples};
    auto const& tokens = placed.samples.tokens;
    by_next_fit = next_fit<Index>(tokens, pack).packs;
    by_best_fit = best_fit_decreasing<Index>(tokens, pack).packs;
  } else {
    detail::placed_measures<Index> const measures(plan);
    auto const capacity = detail::capacities_of(options);
    by_next_fit = detail::next_fit_of_measures<Index>(measures.view(), capacity, options.max_samples);
    by_best_fit = vector_best_fit<Index>(measures.view(), {.capacity = capacity, .max_samples = options.max_samples}).packs;
    o.equal_micro_batches = false;  // which may merge packs, by their tokens alone
  }
  usual_batchings<Index> out{.naive = deal_steps(std::move(by_next_fit), placed.samples, o, {.how = dealing::in_order}),
                             .usual = deal_steps(std::move(by_best_fit), placed.samples, o, {.how = dealing::random})};
  if (placed.kept.empty()) return out;
  for (auto* const made : {&out.naive, &out.usual})
    for (auto* const list : {&made->packs.members, &made->dropped, &made->repeated})
      for (auto& sample : *list) sample = placed.kept[static_cast<std::size_t>(sample)];
  return out;
}

/// @brief Figures of three plans of the same samples.
struct plan_comparison {
  plan_figures planned;  ///< figures of the plan itself
  plan_figures naive;    ///< figures of the naive plan
  plan_figures usual;    ///< figures of the usual plan
};

/// @brief Compares a plan with the naive and the usual plan for the same samples, shape of steps, seed and left-over policy.
///
/// @tparam Index  type of the sample indices
/// @param plan         the plan of an epoch, as `plan_data` returned it
/// @param others       the naive and the usual plan, as `usual_batchings_of` returned them
/// @param options      the options that all were planned with
/// @param ms_per_unit  milliseconds that one unit of cost takes on one device
/// @return the figures of all three plans
/// @throws invalid_input as `figures_of`
/// @par Complexity
/// O(samples + places).
/// @par Determinism
/// Figures are doubles, computed from exact sums.
template <index_type Index>
[[nodiscard]] plan_comparison compare_with_usual(data_plan<Index> const& plan, usual_batchings<Index> const& others,
                                                 data_plan_options const& options, double ms_per_unit) {
  auto const score = [&](batching<Index> const& steps) { return figures_of(steps, plan.samples, options.steps, ms_per_unit); };
  return {.planned = score(plan.steps), .naive = score(others.naive), .usual = score(others.usual)};
}

/// @brief Makes the naive and the usual plan, and compares a plan with them.
///
/// @tparam Index  type of the sample indices
/// @param plan         the plan of an epoch, as `plan_data` returned it
/// @param options      the options that it was planned with
/// @param ms_per_unit  milliseconds that one unit of cost takes on one device
/// @return the figures of all three plans
/// @throws invalid_input as `usual_batchings_of` and the other overload
/// @par Complexity
/// O(n log n).
/// @par Determinism
/// As the other overload.
template <index_type Index>
[[nodiscard]] plan_comparison compare_with_usual(data_plan<Index> const& plan, data_plan_options const& options, double ms_per_unit) {
  return compare_with_usual(plan, usual_batchings_of(plan, options), options, ms_per_unit);
}

/// @brief Compares a plan with the naive and the usual plan, with times modelled from the shape of a model and a cluster.
///
/// @tparam Index  type of the sample indices
/// @param plan     the plan of an epoch, as `plan_data` returned it for this model: its costs are FLOPs, not the times of kernels
/// @param options  the options that it was planned with
/// @param model    the shape of the model
/// @param on       the devices, at `cluster::utilisation` of their peak
/// @return the figures of all three plans
/// @throws invalid_input as the other overloads, and as `ms_per_unit`
/// @par Complexity
/// O(n log n).
/// @par Determinism
/// As the other overloads.
template <index_type Index>
[[nodiscard]] plan_comparison compare_with_usual(data_plan<Index> const& plan, data_plan_options const& options, transformer const& model,
                                                 cluster const& on = {}) {
  return compare_with_usual(plan, options, ms_per_unit(sample_cost(model), on));
}

/// @brief Three plans of the same samples with the stages of a model, simulated.
struct training_comparison {
  training_plan planned;  ///< stages and timelines of the plan itself
  training_plan naive;    ///< those of the naive plan; infeasible if it does not fit in memory
  training_plan usual;    ///< those of the usual plan; infeasible if it does not fit in memory
};

/// @brief Plans and simulates a training with a plan, with the naive and with the usual plan. Each of them gets stages of its own.
///
/// @tparam Index  type of the sample indices
/// @param plan     the plan of an epoch, as `plan_data` returned it
/// @param others   the naive and the usual plan, as `usual_batchings_of` returned them
/// @param layers   the layers of the model, first to last; see `layers_of`
/// @param options  stages, memory, schedule
/// @param rates    rates that turn work into time; see `rates_of`
/// @return the training of all three plans
/// @throws invalid_input as `plan_training` and `shapes_of`
/// @par Complexity
/// Three times that of `plan_training`.
/// @par Determinism
/// A pure function of its arguments, in integers.
template <index_type Index>
[[nodiscard]] training_comparison compare_training(data_plan<Index> const& plan, usual_batchings<Index> const& others,
                                                   std::span<layer const> layers, training_options const& options,
                                                   layer_rates const& rates) {
  auto const run = [&](batching<Index> const& steps) {
    auto const packs = shapes_of(steps.packs, std::span<std::int64_t const>(plan.samples.tokens), plan.tiles());
    return plan_training<Index>(steps, packs, layers, options, rates);
  };
  return {.planned = run(plan.steps), .naive = run(others.naive), .usual = run(others.usual)};
}

/// @brief Plans and simulates a training of a language model under a setting, with a plan, with the naive and with the usual plan.
///
/// Where the tensors of a framework are counted, stages fit as `memory_of` counts them.
///
/// @tparam Index  type of the sample indices
/// @param plan    the plan of an epoch, as `plan_data` returned it
/// @param others  the naive and the usual plan, as `usual_batchings_of` returned them
/// @param model   the shape
/// @param by      how the model is trained, and stages, memory and schedule; its cut is where planning begins
/// @param on      the devices; kernels are timed for the mean micro-batch of the plan
/// @return the training of all three plans
/// @throws invalid_input as the other overload
/// @par Complexity
/// As the other overload.
/// @par Determinism
/// As the other overload.
template <index_type Index>
[[nodiscard]] training_comparison compare_training(data_plan<Index> const& plan, usual_batchings<Index> const& others,
                                                   transformer const& model, training_setting const& by, cluster const& on) {
  auto const shapes = [&](batching<Index> const& steps) {
    return shapes_of(steps.packs, std::span<std::int64_t const>(plan.samples.tokens));
  };
  auto const planned = shapes(plan.steps);
  auto const chain = detail::chain_for(plan.steps, std::span<batch_shape const>(planned), model, by, on);  // the same for all
  auto const run = [&](batching<Index> const& steps) {
    return detail::plan_setting<Index>(steps, shapes(steps), model, by, chain, is_hopper(on.device));
  };
  return {.planned = run(plan.steps), .naive = run(others.naive), .usual = run(others.usual)};
}

}  // namespace ballast::inline v0_2
