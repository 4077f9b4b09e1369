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

/// Numbers of GPUs to choose from, `--gpus auto:8..512`.
struct gpu_range {
  std::int64_t least = 0, most = 0;  ///< 0: the number is given
};

/// What the options leave to the choice.
struct degree_request {
  std::int64_t gpus = 0;          ///< 0: nothing is chosen
  gpu_range range = {};           ///< in place of a number
  double within_ms = 0;           ///< in which all of the data are to be trained on, with a range; 0: the fewest GPUs that fit
  std::int64_t epochs = 1;        ///< times that they are trained on then
  std::int64_t global_batch = 0;  ///< packs of a step; 0: one for each GPU
  bool tensor = false, context = false, expert = false, stages = false, zero = false;  ///< whether an option gives the only value
  std::vector<ballast::any_schedule> schedules = {};                                   ///< empty: 1F1B and interleaved ones
  std::vector<std::uint64_t> chunks = {};                                              ///< of interleaved schedules; empty: any
};

/// A number of GPUs that was tried.
struct tried_gpus {
  std::int64_t gpus = 0;
  double modelled_ms = 0;  ///< of all epochs, by the simulated steps; 0: no setting fits, or none divides the packs of a step
  [[nodiscard]] double gpu_hours() const { return static_cast<double>(gpus) * modelled_ms / 3.6e6; }
};

/// The best settings of a number of GPUs.
struct chosen_degrees {
  ballast::searched_settings best;
  std::vector<tried_gpus> tried = {};  ///< where the number is chosen
  double within_ms = 0;                ///< in which it is to end; 0: it is the fewest that fit
  std::int64_t epochs = 1;             ///< times that the data are trained on then
  bool simulated = true;               ///< whether the settings are ranked by steps of the data, not by equal steps
};

/// The batches of data whose rows are padded, as a search sees them.
struct padded_data {
  ballast::pack_sizes sizes;
  double batches = 0;  ///< number of them
};

/// The numbers that are tried: powers of two below a node; multiples of a node, all of them if there are few, or else 1, 2, 3, 4, 6, 8, 12,
/// ... nodes.
[[nodiscard]] std::vector<std::int64_t> numbers_to_try(gpu_range range, std::int64_t per_node);

/// The best settings for the data, of which the plan takes the first. Throws no_plan, beginning with `title`, where none fits.
[[nodiscard]] chosen_degrees choose_degrees(degree_request const& what, model_request const& asked, model_on_device const& on,
                                            ballast::data_plan_options const& options, std::span<std::int64_t const> lengths,
                                            std::string const& title);
/// The same for image tiles and tokens.
[[nodiscard]] chosen_degrees choose_degrees(degree_request const& what, model_request const& asked, model_on_device const& on,
                                            ballast::data_plan_options const& options, ballast::sample_measures const& samples,
                                            std::string const& title);
/// The same for rows that are padded to the longest of their batch, by equal steps of the mean batch.
[[nodiscard]] chosen_degrees choose_degrees(degree_request const& what, model_request const& asked, model_on_device const& on,
                                            ballast::data_plan_options const& options, padded_data const& data, std::string const& title);
/// The options of a plan with the first setting.
void take_first(chosen_degrees const& found, model_request& asked, ballast::data_plan_options& options);

[[nodiscard]] std::string in_words(chosen_degrees const& found);
/// What to say where all of the data, of which an epoch takes `modelled_ms` planned in full, do not end in the time that was asked for;
/// empty if they do.
[[nodiscard]] std::string late_in_words(chosen_degrees const& found, double modelled_ms);
/// Adds `search` and `ranked`, and `gpus_tried` where the number is chosen.
void add_search(nlohmann::ordered_json& json, chosen_degrees const& found);

}  // namespace ballast_cli
