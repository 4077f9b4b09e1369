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
/// @brief What a planner of steps for samples of several measures is asked, and what it returns.

namespace ballast::inline v0_2 {

/// @brief The request to a planner of steps for samples of several measures. Only `capacity` has no default.
struct measured_batching_options {
  std::vector<std::int64_t> capacity{};  ///< largest total of each measure in one pack: one entry per measure, each at least 1
  std::uint64_t ranks = 1;               ///< data-parallel ranks; at least 1
  std::uint64_t micro_batches = 1;       ///< packs of one rank in one step; at least 1
  ballast::left_over left_over = ballast::left_over::split;  ///< what happens to an incomplete last step
  /// What happens to a sample that exceeds a capacity: `reject`, `set_aside` (it is listed as dropped) or `alone`.
  ballast::oversize oversize = ballast::oversize::reject;
  /// Steps whose packs, in a random order of all packs, are sorted together; 0 = the whole set. Wider windows balance better, and less
  /// random.
  std::uint64_t window = 16;
  /// What a unit of each measure counts, say in time; 0 = this measure is not balanced. Empty: all measures count alike in sum.
  std::vector<std::int64_t> weights{};
  /// A measure of which some samples have nothing (text without images, say): those never share a pack or a step with the others.
  std::optional<std::size_t> separate{};
  std::uint64_t seed = 0;   ///< any value; another seed is another order
  std::uint64_t epoch = 0;  ///< another epoch is another order of the same seed
};

/// @brief The cost of a sample unless a callable is given: its measures times `measured_batching_options::weights`.
struct weighted_sum {};

/// @brief What a sample costs by its measures: `weighted_sum`, or a pure callable from the row of a sample's measures to an integer.
template <class C>
concept row_cost =
    std::same_as<C, weighted_sum> || (std::copy_constructible<C> && std::regular_invocable<C const&, std::span<std::int64_t const>> &&
                                      integer<std::invoke_result_t<C const&, std::span<std::int64_t const>>>);

/// @brief Steps of samples of several measures, and how balanced each measure is. `tokens` is the last measure; `critical` stays 0.
///
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct measured_batching : batching<Index> {
  std::vector<step_balance> balance;  ///< of each measure: the loads of ranks in steps; `mean_ratio` is the published distance
  step_balance cost_balance;          ///< of the cost
  certificate pack_count;             ///< of `plan_steps`: packs before left-overs were settled, and what no packing can go below
};

}  // namespace ballast::inline v0_2
