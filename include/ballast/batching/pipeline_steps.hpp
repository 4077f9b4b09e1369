// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/pipeline_streamer.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weigh.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief Random steps for replicas that are pipelines: like with like inside a replica, and as many micro-batches as each one can take.

namespace ballast::inline v0_2 {

/// @brief Draws random steps and deals each of them to pipelines so that the slowest finishes early.
///
/// A pipeline of P stages takes the sum of its micro-batches and (P - 1) times the most expensive of them. Micro-batches are cut from the
/// sorted samples, so that expensive ones meet in few replicas, which then run fewer of them: weigh the loss by tokens.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  tokens of each sample, at most the capacity
/// @param options  shape of a step, `stages`, seed and `left_over` (`split` and `shorten` spread the samples evenly over the steps)
/// @param cost     what a sample costs
/// @param fill     share of a step's capacity that is drawn for it, in thousandths
/// @return the plan with `micro_batches` set to the most of any replica; the places of the others are empty at their end
/// @throws invalid_input for a bad option, length or cost
/// @par Complexity
/// O(samples log samples) and about 40 trials a step of O(micro-batches log ranks).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> pipeline_steps(R const& lengths, batching_options const& options, Cost const& cost,
                                             std::uint32_t fill = 980) {
  return pipeline_steps<Index>(weigh(lengths, options, cost), options, fill);
}

/// @brief As above, of samples weighed before.
/// @tparam Index  type of the sample indices
/// @param samples  from `weigh`
/// @param options  as above
/// @param fill     as above
/// @return as above
/// @throws invalid_input as above, or if the samples were weighed for other options and these cannot hold them
/// @par Complexity
/// As above.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t>
[[nodiscard]] batching<Index> pipeline_steps(weighed_samples const& samples, batching_options const& options, std::uint32_t fill = 980) {
  require(fill > 0 && fill <= 1000, [&] { return "fill = " + std::to_string(fill) + " must be in 1 ... 1000"; });
  auto o = options;
  o.synchronisation = synchronisation::pipeline;
  detail::require_fit<Index>(samples, o);
  return detail::pipeline_streamer<Index>(samples, o, fill).run();
}

}  // namespace ballast::inline v0_2
