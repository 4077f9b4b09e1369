// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/vector/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

/// @file
/// @brief Options and result of the planners of steps for samples of several measures.

namespace ballast::inline v0_2 {

/// @brief Options of a planner of steps for samples of several measures. Only `steps.capacity` has no default.
struct vector_batching_options {
  /// The shape of a step, as for samples of one measure. `capacity` is that of the last measure; `least_fill` is not read. With
  /// `synchronisation::pipeline` and several stages, rows of similar cost share a step. Only the last step of each kind of samples can have
  /// unequal micro-batches, if there are too few samples to split packs.
  batching_options steps{};
  std::vector<std::int64_t> others{};  ///< largest total in one pack of each measure in front of the last, at least 1
  /// What happens to a sample that exceeds a capacity: `reject`, `set_aside` (it is listed as dropped) or `alone`.
  ballast::oversize oversize = ballast::oversize::reject;
  std::uint64_t max_samples = 0;  ///< most samples in one pack; 0 = no limit
  /// Number of steps whose packs are balanced together, after all packs were put in a random order; 0 = all steps. Wider windows balance
  /// better, but their steps are less random.
  std::uint64_t window = 16;
  /// Weight of a unit of each measure, such as its time; 0 = the measure is not balanced. Empty: the totals of all measures weigh the same.
  std::vector<std::int64_t> weights{};
  /// A measure that is 0 for some samples, such as text without images. Samples with 0 of it never share a pack or a step with others.
  std::optional<std::size_t> separate{};
  /// Whether samples change places between the ranks of a step until the ranks have nearly the same of each measure that is balanced, and
  /// of the cost, whose slowest rank then takes at most 1 % more than the mean, or as much as before. Not if packs are repeated.
  bool exchange = false;
};

/// @brief The default cost of a sample: the sum of its measures times `vector_batching_options::weights`.
struct weighted_sum {};

/// @brief The cost of a sample with several measures: `weighted_sum`, or a pure callable from the span of its measures to an integer.
template <class C>
concept row_cost =
    std::same_as<C, weighted_sum> || (std::copy_constructible<C> && std::regular_invocable<C const&, std::span<std::int64_t const>> &&
                                      integer<std::invoke_result_t<C const&, std::span<std::int64_t const>>>);

/// @brief A plan of steps for samples of several measures, with the balance of each. `tokens` sums the last measure; `critical` is 0.
///
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct vector_batching : batching<Index> {
  /// For each measure: the balance of the ranks' loads in the steps; `mean_ratio` is the distance ratio of OmniBal.
  std::vector<step_balance> balance;
  step_balance cost_balance;  ///< the same for the cost
  certificate pack_count;     ///< set by `plan_steps`: number of packs before left-overs were settled, and its lower bound
};

namespace detail {

/// The capacities of all measures, the last one behind the others.
template <class Options>
[[nodiscard]] std::vector<std::int64_t> capacities_of(Options const& o) {
  auto capacity = o.others;
  capacity.push_back(o.steps.capacity);
  return capacity;
}

}  // namespace detail
}  // namespace ballast::inline v0_2
