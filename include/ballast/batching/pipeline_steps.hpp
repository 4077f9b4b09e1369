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
/// @brief `pipeline_steps`: random steps for replicas that are pipelines, with micro-batches of about equal cost.

namespace ballast::inline v0_2 {

/// @brief Draws random steps and distributes each draw over pipelines such that the slowest pipeline finishes early.
///
/// A pipeline of P stages takes the sum of its micro-batches' costs plus (P - 1) times the largest of them. Samples are dealt to
/// micro-batches of equal cost, the same number on every replica. Where single samples cost too much for that, micro-batches are cut from
/// the samples sorted by length, so that expensive micro-batches are in few replicas, and packs are split until all replicas have equal
/// numbers; without `equal_micro_batches`, replicas with expensive micro-batches run fewer. Replicas train on different numbers of tokens,
/// so weigh the loss by tokens.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  tokens of each sample, at most the capacity
/// @param options  shape of a step, `stages`, seed and `left_over` (`split` and `shorten` spread the samples evenly over the steps)
/// @param cost     cost of a sample by its length
/// @param fill     share of a step's capacity that is drawn for it, in thousandths
/// @return the plan; `micro_batches` is the largest number of any replica in any step, and replicas with fewer have empty places at their
/// end
/// @throws invalid_input for a bad option, length or cost
/// @par Complexity
/// O(samples log samples), plus about 80 trials a step in O(micro-batches log ranks) each, and a bounded number of exchanges.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> pipeline_steps(R const& lengths, batching_options const& options, Cost const& cost,
                                             std::uint32_t fill = 980) {
  return pipeline_steps<Index>(weigh(lengths, options, cost), options, fill);
}

/// @brief As above, for samples that were weighed before.
/// @tparam Index  type of the sample indices
/// @param samples  result of `weigh`
/// @param options  as above
/// @param fill     as above
/// @return as above
/// @throws invalid_input as above, or if the samples were weighed for other options and do not fit these
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
