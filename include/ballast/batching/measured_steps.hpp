// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/deal_alike.hpp>
#include <ballast/batching/detail/measured_items.hpp>
#include <ballast/batching/detail/pack_kind.hpp>
#include <ballast/batching/measured_options.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/portfolio.hpp>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief Steps of samples with several measures: each measure's load is balanced across the ranks, and so is the cost.

namespace ballast::inline v0_2 {

/// @brief Makes steps of finished packs of samples with several measures, so that each measure's load is balanced across the ranks of a
/// step.
///
/// Windows of packs, in a random order of all packs, are cut into rows: a row is one micro-batch across all ranks. A window is halved along
/// the measure, and at the place, that saves most of what ranks would wait for, and each part again, until the packs of a row are alike in
/// *every* measure. Rows of unlike cost share a step. As each micro-batch is balanced, so are the ranks that wait for each other at every
/// one.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   what a sample costs
/// @param packs    which samples share a micro-batch; samples in none of them are listed as dropped
/// @param samples  their measures
/// @param options  capacities, shape of a step, window, weights
/// @param cost     from a row of measures to an integer that is not negative; balanced beside the measures
/// @return the plan, the balance of each measure and of the cost, and the certificate of the slowest rank's cost
/// @throws invalid_input for a bad option, measure or cost, or packs that overlap, are empty, exceed a capacity or mix what is separate
/// @par Complexity
/// O(samples + measures^2 packs log(packs) log(window)).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The distance that is lowered: Yao et al., OmniBal, arXiv 2407.20761. The rows are our own.
template <index_type Index, row_cost Cost = weighted_sum>
[[nodiscard]] measured_batching<Index> deal_steps(groups<Index> packs, sample_measures const& samples,
                                                  measured_batching_options const& options, Cost const& cost = {}) {
  return detail::deal_alike<Index>(std::move(packs), detail::weigh_measures<Index>(samples, options, cost), options);
}

/// @brief Plans the steps of an epoch of samples with several measures: packs by the default packer, then `deal_steps`. Where near-optimal
/// search saved a thousandth of the packs at most, those of the simpler packers are kept if their ranks wait less.
///
/// Another epoch has other packs: samples that agree in all measures take each other's places at random. What `options.separate` keeps
/// apart is packed apart, too.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   what a sample costs
/// @param samples  measures of each sample
/// @param options  capacities, shape of a step, window, weights
/// @param cost     from a row of measures to an integer that is not negative; balanced beside the measures
/// @return the plan; samples set aside are among the dropped, and `pack_count` certifies the packing
/// @throws invalid_input for a bad option, measure or cost
/// @par Complexity
/// That of `pack` and `deal_steps`.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, row_cost Cost = weighted_sum>
[[nodiscard]] measured_batching<Index> plan_steps(sample_measures const& samples, measured_batching_options const& options,
                                                  Cost const& cost = {}) {
  auto const items = detail::weigh_measures<Index>(samples, options, cost);
  auto const seed = epoch_seed(detail::shape_of(options));
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
  // A search saves packs and cares for nothing else: where it saved next to none, simpler packs may be alike more often.
  auto packs = packed({.members = {vector_packer::completion, vector_packer::best_fit, vector_packer::iterative_sampling}});
  if (count.value - plan.pack_count.value > plan.pack_count.value / 1000) return plan;
  auto other = detail::deal_alike<Index>(std::move(packs), items, options);
  if (other.slowest.value >= plan.slowest.value) return plan;
  other.pack_count = {count.value, plan.pack_count.lower_bound};
  return other;
}

}  // namespace ballast::inline v0_2
