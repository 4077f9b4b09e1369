// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/phases.hpp>
#include <ballast/batching/detail/items.hpp>
#include <ballast/batching/detail/phase_redealer.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `phase_steps`: steps of samples with a cost in each of several phases (vision, audio, language), balanced in all phases together.

namespace ballast::inline v0_2 {

/// @brief A plan of steps whose ranks wait for each other after each phase. `slowest` is that of the sums of the costs of all phases.
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct phase_batching : batching<Index> {
  std::uint64_t phases = 0;  ///< number of phases; 0 without samples
  /// Sum over the steps and the phases of the cost of the slowest rank; if ranks wait at every micro-batch, over the micro-batches too. The
  /// lower bound holds for every other distribution of the same samples over the ranks of the same steps (or micro-batches) that leaves
  /// each rank the number of its micro-batches.
  certificate time;
  std::int64_t time_of_sums = 0;  ///< the same for the plan of `plan_steps` on the sums, from which this one was made; at least `time`
};

/// @brief Plans the steps of an epoch of samples that cost time in several phases, where ranks wait for each other after each phase.
///
/// The encoders and the language model of a multimodal model are such phases: each lasts as long as its slowest rank. `plan_steps` on the
/// sums of the costs chooses the samples of each step. Then `refine_phases` and, where every place is taken, `balance_phases` deal the
/// samples of a step to its micro-batches again under the capacity; the better of both is kept if the step takes less time.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Costs  a `phase_cost_model`
/// @param lengths  tokens of each sample in a micro-batch, at most the capacity
/// @param options  shape of a step, as for `plan_steps`; ranks wait per step or per micro-batch. `cost_per_micro_batch` belongs to the last
/// phase
/// @param costs    costs of a sample in each phase by its *index* in `lengths`; equally many for every sample, not negative, and not all 0
/// @return the plan, its time and a lower bound
/// @post `time.value` is at most `time_of_sums`, and equals `slowest.value` if there is one phase. `check_batching` accepts the plan, with
/// the sum of the costs as cost
/// @throws invalid_input as `plan_steps` with the sums as costs, for pipelines, or for different numbers of costs
/// @par Complexity
/// That of `plan_steps`, and for each step that of `balance_phases` and `refine_phases`.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The phases: "OrchMLLM", arXiv 2503.23830, which deals the samples of each phase anew, as `phase_shards` does. One deal for all phases:
/// this library.
template <index_type Index = std::uint32_t, length_range R, phase_cost_model Costs>
[[nodiscard]] phase_batching<Index> phase_steps(R const& lengths, batching_options const& options, Costs const& costs) {
  require(options.synchronisation != synchronisation::pipeline,
          [] { return std::string("synchronisation = pipeline: phases are barriers of ranks, so ask for per_step or per_micro_batch"); });
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "lengths");
  std::vector<std::int64_t> flat, sums(n, 0);
  phase_batching<Index> out;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const of_sample = costs(static_cast<std::int64_t>(i));
    auto const count = static_cast<std::size_t>(std::ranges::size(of_sample));
    if (i == 0) out.phases = count;
    require(count == out.phases && count > 0,
            [&] { return "sample " + std::to_string(i) + " has " + std::to_string(count) + " costs, not " + std::to_string(out.phases); });
    auto const cost = read_by_position(of_sample);
    for (std::size_t p = 0; p < count; ++p) {
      require(std::in_range<std::int64_t>(cost[p]), [&] { return "sample " + std::to_string(i) + " has a cost outside [0, 2^63)"; });
      auto const c = static_cast<std::int64_t>(cost[p]);
      add_checked(all, c, "costs of samples", i);
      flat.push_back(c);
      sums[i] += c;
    }
  }
  auto const samples = weigh(lengths, sums, options);
  static_cast<batching<Index>&>(out) = plan_steps<Index>(samples, options);
  if (n == 0) return out;
  detail::phase_redealer<Index> redeal(out, samples, flat, static_cast<std::size_t>(out.phases), options);
  redeal.run();
  out.time = redeal.time();
  out.time_of_sums = redeal.before();
  detail::certify(static_cast<batching<Index>&>(out), samples, options);
  return out;
}

}  // namespace ballast::inline v0_2
