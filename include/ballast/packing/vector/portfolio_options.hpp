// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/vector/result.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief Which packers of several measures are tried, for how long, and how their plans are compared.

namespace ballast::inline v0_2 {

/// @brief What makes one plan better than another.
enum class portfolio_criterion : std::uint8_t {
  packs,          ///< fewer packs
  rank_distance,  ///< a lower sum over the measures of `rank_distances`, packs in random order
};

/// @brief Which packers are tried, for how long, and how their plans are compared.
struct portfolio_options {
  /// Tried in this order, at least one.
  std::vector<vector_packer> members{vector_packer::completion, vector_packer::best_fit, vector_packer::iterative_sampling,
                                     vector_packer::near_optimal};
  /// The first criterion in which two plans differ decides; where none does, the earlier plan stays. At least one.
  std::vector<portfolio_criterion> order{portfolio_criterion::packs, portfolio_criterion::rank_distance};
  std::uint64_t ranks = 8;  ///< of `rank_distance`: packs of a step, at least 1
  /// Members too expensive for what is left of `work` are skipped, and so are those that would take more than an eighth of it from
  /// near-optimal search; the cheapest always runs. Near-optimal search is also skipped where a plan is within `pack_gap` of its bound.
  /// `gap` ends the search where fewer packs are the first criterion.
  search_limits limits{};
};

/// @brief Throws unless the options are in range.
/// @param portfolio  members, criteria and ranks
/// @throws invalid_input if there is no member, no criterion or no rank
inline void require_valid(portfolio_options const& portfolio) {
  require(!portfolio.members.empty(), [] { return std::string("a portfolio needs at least one member"); });
  require(!portfolio.order.empty(), [] { return std::string("a portfolio needs at least one criterion"); });
  require(portfolio.ranks > 0, [] { return std::string("ranks = 0 must be positive"); });
}

}  // namespace ballast::inline v0_2
