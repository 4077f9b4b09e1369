// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/level_choice.hpp"
#include "report/page.hpp"

#include <nlohmann/json_fwd.hpp>

#include <ballast/levels/plan.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

// A plan in levels, and how it is shown.

namespace ballast_cli {

/// A plan, and the same samples in one level.
struct compared_plan : ballast::level_plan<> {
  ballast::level_comparison usual;
};

/// Plans with the choice, and the same samples in one level.
[[nodiscard]] compared_plan plan_choice(std::span<std::int64_t const> lengths, level_choice const& choice, ballast::level_options options);

/// The levels of a plan, in numbers.
[[nodiscard]] std::vector<report_level> levels_of(ballast::level_plan<> const& plan);

/// "levels", "cr", "abr" and the other figures of the plan and its baselines.
void add_level_figures(nlohmann::ordered_json& json, level_choice const& choice, compared_plan const& plan);

/// Sentences on how good the choice is proven to be, and how far the plan is from it.
[[nodiscard]] std::vector<std::string> limits_in_words(level_choice const& choice, ballast::level_plan<> const& plan);

/// The levels, the plan and its baselines as tables of text, and sentences.
[[nodiscard]] std::string in_words(level_choice const& choice, compared_plan const& plan);

/// Naive, one level, planned: for pages and tables.
[[nodiscard]] std::vector<report_plan> plans_of(compared_plan const& plan);

}  // namespace ballast_cli
