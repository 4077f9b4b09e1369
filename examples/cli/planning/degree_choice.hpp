// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/model_plan.hpp"
#include "planning/sample_cost.hpp"

#include <ballast/cost/schedule.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/searched_settings.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

// `plan --gpus` without --levels: the degrees of a training, chosen for a number of devices.

namespace ballast_cli {

/// What the options leave to the choice.
struct degree_request {
  std::int64_t gpus = 0;                                                               ///< 0: nothing is chosen
  std::int64_t global_batch = 0;                                                       ///< packs of a step; 0: one for each GPU
  bool tensor = false, context = false, expert = false, stages = false, zero = false;  ///< whether an option gives the only value
  std::vector<ballast::any_schedule> schedules = {};                                   ///< empty: 1F1B and interleaved ones
  std::vector<std::uint64_t> chunks = {};                                              ///< of interleaved schedules; empty: any
};

/// The best settings for the data, of which the plan takes the first. Throws no_plan, beginning with `title`, where none fits.
[[nodiscard]] ballast::searched_settings choose_degrees(degree_request const& what, model_request const& asked, model_on_device const& on,
                                                        ballast::data_plan_options const& options, std::span<std::int64_t const> lengths,
                                                        std::string const& title);
/// The same for image tiles and tokens.
[[nodiscard]] ballast::searched_settings choose_degrees(degree_request const& what, model_request const& asked, model_on_device const& on,
                                                        ballast::data_plan_options const& options, ballast::sample_measures const& samples,
                                                        std::string const& title);
/// The options of a plan with the first setting.
void take_first(ballast::searched_settings const& found, model_request& asked, ballast::data_plan_options& options);

[[nodiscard]] std::string in_words(ballast::searched_settings const& found);
/// Adds `search` and `ranked`.
void add_search(nlohmann::ordered_json& json, ballast::searched_settings const& found);

}  // namespace ballast_cli
