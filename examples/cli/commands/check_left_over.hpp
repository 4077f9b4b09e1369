// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "readers/plan_folder.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Plans that leave samples of the last step out, or train on some twice, as their plan.json lists.

namespace ballast_cli {

/// One measure of every sample and piece as it is packed, and what a pack holds of it.
struct packed_measure {
  std::span<std::int64_t const> weights;
  std::int64_t capacity = 0;
};

/// Checks that the packs hold every sample once, except those that are set aside or listed, that they exceed no capacity and no number of
/// samples (0: none is demanded), and that the steps are full. Throws bad_input, naming the folder.
void check_left_over(plan_in_folder const& plan, std::string const& folder, std::span<packed_measure const> measures,
                     std::span<std::uint64_t const> set_aside, std::uint64_t most_samples);

/// What the packs of such a plan hold, in the order of the samples: repeated ones as often as they are trained on.
[[nodiscard]] std::vector<std::int64_t> trained_on(plan_in_folder const& plan, std::span<std::int64_t const> of_samples);

/// What was found, for people; `capacity` as in "its capacity".
[[nodiscard]] std::string valid_in_words(plan_in_folder const& plan, std::string const& capacity, std::uint64_t most_samples);

/// The lists that are not empty.
void add_left_over(nlohmann::ordered_json& json, plan_in_folder const& plan);

}  // namespace ballast_cli
