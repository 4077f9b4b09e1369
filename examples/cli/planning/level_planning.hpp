// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/level_rules.hpp"

#include <ballast/core/classes.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/footprint/sequence_parallel.hpp>
#include <ballast/levels/plan.hpp>
#include <ballast/packing/options.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// How levels are chosen and planned, without files and options: the Python package does the same.

namespace ballast_cli {

/// The histogram of what is trained on, under a policy for samples above `longest`.
[[nodiscard]] ballast::histogram within(ballast::histogram const& lengths, std::int64_t longest, ballast::oversize policy);

/// Settings whose times and memory are modelled: the length asked for and its halves, at every degree.
[[nodiscard]] std::vector<ballast::timed_level> candidate_levels(ballast::sequence_parallel_setup const& on, std::int64_t longest);

/// Chooses levels for lengths of at least one sample; none if no candidate holds the longest.
[[nodiscard]] level_choice choose_among(std::vector<ballast::timed_level> const& candidates, level_rule rule,
                                        ballast::histogram const& lengths, std::size_t most_levels);

/// Plans an epoch with the choice. Packs of HBP's levels are filled and grouped as published, packs of other levels where it pays and by
/// time.
[[nodiscard]] ballast::level_plan<> plan_of(std::span<std::int64_t const> lengths, level_choice const& choice,
                                            ballast::level_options options);

}  // namespace ballast_cli
