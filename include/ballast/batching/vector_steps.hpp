// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/deal_alike.hpp>
#include <ballast/batching/detail/weighed_vectors.hpp>
#include <ballast/batching/vector_options.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/portfolio.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Plans steps of samples with several measures: balances each measure, and the cost, over the ranks.

namespace ballast::inline v0_2 {

namespace detail {

/// Packs the samples of one kind, with the samples of a class in random order, and appends the packs. Returns the packer that made them.
template <index_type Index>
vector_packer pack_kind(std::vector<Index> const& chosen, weighed_vectors const& of, vector_batching_options const& o, std::uint64_t seed,
                        portfolio_options const& by, groups<Index>& packs, certificate& count) {
  std::vector<std::vector<std::int64_t>> columns(of.samples.measures());
  std::vector<std::span<std::int64_t const>> views;
  for (std::size_t m = 0; m < columns.size(); ++m) {
    columns[m].reserve(chosen.size());
    for (auto i : chosen) columns[m].push_back(of.samples.column(m)[i]);
    views.emplace_back(columns[m]);
  }
  auto plan = pack_portfolio<Index>(sample_measures(std::move(views)),
                                    {.capacity = of.capacity, .max_samples = o.max_samples, .oversize = o.oversize, .seed = seed}, by);
  count.value += plan.count.value;
  count.lower_bound += plan.count.lower_bound;
  for (auto& i : plan.packs.members) i = chosen[i];
  if (packs.empty()) {
    packs = std::move(plan.packs);
    return plan.packer;
  }
  for (auto const group : plan.packs) packs.push_back(group);
  return plan.packer;
}

}  // namespace detail

/// @brief Deals packs of samples with several measures to steps, such that each measure is balanced over the ranks of a step.
///
/// All packs are put in a random order and cut into windows, and each window is cut into rows: a row is one micro-batch across all ranks. A
/// window is divided along the measure and at the place that saves most waiting, and each part is divided again, until the packs of each
/// row are similar in *every* measure. Rows of different cost share a step. Since every micro-batch is balanced, the plan also suits
/// trainers that wait at every micro-batch.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   cost of a sample by its measures
/// @param packs    sample indices of each pack; samples in no pack are listed in `dropped`
/// @param samples  measures of each sample
/// @param options  capacities, shape of a step, window and weights
/// @param cost     maps the measures of a sample to an integer that is not negative; the cost is balanced in addition to the measures
/// @return the plan, the balance of each measure and of the cost, and the certificate of the slowest ranks' cost
/// @throws invalid_input for a bad option, measure or cost, or packs that overlap, are empty, exceed a capacity or `max_samples`, or mix
/// samples that `separate` keeps apart
/// @par Complexity
/// O(samples + measures^2 packs log(packs) log(window)).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The distance ratio: Yao et al., OmniBal, arXiv 2407.20761. Rows: this library.
template <index_type Index, row_cost Cost = weighted_sum>
[[nodiscard]] vector_batching<Index> deal_steps(groups<Index> packs, sample_measures const& samples, vector_batching_options const& options,
                                                Cost const& cost = {}) {
  return detail::deal_alike<Index>(std::move(packs), detail::weigh_measures<Index>(samples, options, cost), options);
}

/// @brief Plans the steps of an epoch of samples with several measures: packs by `pack_portfolio`, then calls `deal_steps`.
///
/// If near-optimal search saves at most a thousandth of the packs, the packs of the simpler packers are used if their ranks wait less.
/// Packs differ from epoch to epoch: samples that agree in all measures exchange places at random. Samples that `options.separate` keeps
/// apart are also packed apart.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   cost of a sample by its measures
/// @param samples  measures of each sample
/// @param options  capacities, shape of a step, window and weights
/// @param cost     maps the measures of a sample to an integer that is not negative; the cost is balanced in addition to the measures
/// @return the plan; samples that were set aside are in `dropped`, and `pack_count` certifies the packing
/// @throws invalid_input for a bad option, measure or cost
/// @par Complexity
/// That of `pack_portfolio` and `deal_steps`.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, row_cost Cost = weighted_sum>
[[nodiscard]] vector_batching<Index> plan_steps(sample_measures const& samples, vector_batching_options const& options,
                                                Cost const& cost = {}) {
  auto const items = detail::weigh_measures<Index>(samples, options, cost);
  auto const seed = epoch_seed(options.steps);
  std::array<std::vector<Index>, 2> chosen;
  for (auto i : random_permutation<Index>(samples.size(), splitmix64(seed)())) chosen[items.kind(options.separate, i)].push_back(i);
  certificate count;
  auto searched = false;
  auto const packed = [&](portfolio_options const& by) {
    groups<Index> packs;
    count = {};
    for (auto const& part : chosen)
      if (!part.empty() && detail::pack_kind(part, items, options, seed, by, packs, count) == vector_packer::near_optimal) searched = true;
    return packs;
  };
  auto plan = detail::deal_alike<Index>(packed({}), items, options);
  plan.pack_count = count;
  if (!searched) return plan;
  // The search only saves packs. If it saved almost none, the packs of simpler packers may balance better.
  auto packs = packed({.members = {vector_packer::completion, vector_packer::best_fit, vector_packer::iterative_sampling}});
  if (count.value - plan.pack_count.value > plan.pack_count.value / 1000) return plan;
  auto other = detail::deal_alike<Index>(std::move(packs), items, options);
  if (other.slowest.value >= plan.slowest.value) return plan;
  other.pack_count = {count.value, plan.pack_count.lower_bound};
  return other;
}

}  // namespace ballast::inline v0_2
