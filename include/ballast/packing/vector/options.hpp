// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief Options of the packers of samples with several measures (vector bin packing), and of a portfolio of them.

namespace ballast::inline v0_2 {

/// @brief Options of a packer of several measures. Only `capacity` has no default.
struct vector_packing_options {
  std::vector<std::int64_t> capacity{};   ///< largest total of each measure in one pack: one entry for each measure, at least 1
  std::uint64_t max_samples = 0;          ///< most samples in one pack; 0 = no limit
  std::uint64_t pack_count_multiple = 1;  ///< the number of packs is a multiple of this (ranks * micro-batches)
  /// What happens to a sample that exceeds a capacity: `reject`, `set_aside` or `alone`. Samples of several measures cannot be cut.
  ballast::oversize oversize = ballast::oversize::reject;
  std::uint64_t seed = 0;  ///< seed of the packers that draw at random
};

/// @brief A criterion by which one plan is better than another.
enum class portfolio_criterion : std::uint8_t {
  packs,          ///< fewer packs
  rank_distance,  ///< a smaller sum over the measures of `rank_distances`, with the packs in a random order
};

/// @brief Options of `pack_portfolio`: which packers are tried, for how long, and how their plans are compared.
struct portfolio_options {
  /// Packers, in the order in which they are tried; at least one.
  std::vector<vector_packer> members{vector_packer::completion, vector_packer::best_fit, vector_packer::iterative_sampling,
                                     vector_packer::near_optimal};
  /// Criteria, at least one: the first in which two plans differ decides. If no criterion decides, the earlier plan is kept.
  std::vector<portfolio_criterion> order{portfolio_criterion::packs, portfolio_criterion::rank_distance};
  std::uint64_t ranks = 8;  ///< packs of a step, for `rank_distance`; at least 1
  /// Limits of the search. Members that are too expensive for the remaining `work` are skipped, and so are members that would take more
  /// than an eighth of it before a near-optimal search; the cheapest member is always tried. Near-optimal search is also skipped if a plan
  /// is within `pack_gap` of its lower bound. `gap` ends the search if `packs` is the first criterion.
  search_limits limits{};
};

/// @brief Throws unless the options are in range and match the samples.
/// @param samples  the samples to be packed
/// @param options  the options
/// @throws invalid_input unless there is one capacity for each measure, every number is in range, and the policy does not cut samples
inline void require_valid(sample_measures const& samples, vector_packing_options const& options) {
  require(options.capacity.size() == samples.measures(),
          [&] { return sentence("capacity has ", options.capacity.size(), " entries for ", samples.measures(), " measures"); });
  for (std::size_t m = 0; m < options.capacity.size(); ++m)
    require(options.capacity[m] > 0, [&] { return entry("capacity", m, options.capacity[m]) + " must be positive"; });
  require(options.oversize != oversize::truncate && options.oversize != oversize::split,
          [] { return std::string("oversize: a sample of several measures can be rejected, set aside or packed alone, but not cut"); });
  require(options.pack_count_multiple > 0 && options.pack_count_multiple <= std::uint64_t{1} << 62,
          [&] { return sentence("pack_count_multiple = ", options.pack_count_multiple, " must be in 1 ... 2^62"); });
}

/// @brief Throws unless the options are in range.
/// @param portfolio  the options
/// @throws invalid_input unless there are a member, a criterion and a rank
inline void require_valid(portfolio_options const& portfolio) {
  require(!portfolio.members.empty(), [] { return std::string("a portfolio needs at least one member"); });
  require(!portfolio.order.empty(), [] { return std::string("a portfolio needs at least one criterion"); });
  require(portfolio.ranks > 0, [] { return std::string("ranks = 0 must be positive"); });
}

}  // namespace ballast::inline v0_2
