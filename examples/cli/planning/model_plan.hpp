// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/sample_cost.hpp"
#include "planning/timed_step.hpp"
#include "report/page.hpp"

#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/compare.hpp>
#include <ballast/plan/export/flags.hpp>
#include <ballast/plan/export/setting.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/training_setting.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The model side of `plan`: stages, memory and the timeline of every step.

namespace ballast_cli {

/// What the options say of the model side.
struct model_request {
  std::uint64_t stages = 0;            ///< of a rank's pipeline; 0: the data alone are planned
  std::optional<std::int64_t> memory;  ///< bytes of a device; none: nine tenths of those of the datasheet
  ballast::any_schedule schedule = ballast::one_f_one_b_schedule{};
  ballast::model_setting setting = {.optimizer = ballast::optimizer_named("adam")};  ///< how the model is trained, but for the ranks
  bool any_vision_tensor = false;             ///< whether the search chooses the degree of the tower, too
  bool stored = false;                        ///< whether matrices that are not trained are in memory as the model's file stores them
  ballast::hidden_share hidden;               ///< of exchanges
  ballast::recompute_setting recompute = {};  ///< what --capacity auto counts with; stages choose by themselves
  std::string layers;                         ///< file of layers, in milliseconds of a full micro-batch; empty: the model's
};

/// A chain of layers with the rates of its devices.
struct rated_layers {
  std::vector<ballast::layer> layers;
  ballast::layer_rates rates;
  ballast::cluster devices = {};                       ///< without effect if the layers were measured
  std::optional<ballast::model_setting> setting = {};  ///< how the model is trained; none: the layers were measured
  std::optional<ballast::transformer> shape = {};      ///< of the model; none: the layers were measured
  std::int64_t capacity = 0;                           ///< tokens of a micro-batch
  bool images = false;                                 ///< whether it has layers of a vision tower
};

/// The layers as the options name them, and what a sample costs on one device of each stage.
struct model_input {
  rated_layers model;
  timed_cost cost;
};
/// `shape` says the capacity and the ranks; with two measures, a model that reads images has its vision tower. Throws bad_input.
[[nodiscard]] model_input read_model(model_request const& asked, model_on_device const& on, ballast::batching_options const& shape,
                                     std::size_t measures = 1);

struct planned_model {
  std::string schedule;
  rated_layers model;
  ballast::training_comparison runs;              ///< simulated: the plan, and those that it is compared with
  std::vector<std::uint64_t> stage_of;            ///< for each virtual stage, its stage
  std::vector<std::string> recompute, selective;  ///< names of layers that are recomputed in full, in part
  std::optional<std::string> layout;              ///< of Megatron-LM
  ballast::megatron_recompute megatron;
  ballast::exported_setting flags;  ///< of Megatron-LM
  timed_step time;                  ///< of a mean step, with what each layer recomputes
};
/// Throws no_plan, beginning with `title`, where no cut fits.
[[nodiscard]] planned_model plan_model(model_request const& asked, model_on_device const& on, rated_layers model,
                                       ballast::data_plan<> const& data, ballast::usual_batchings<> const& others,
                                       std::string const& title);

/// Where the device-time goes.
[[nodiscard]] nlohmann::ordered_json limits_json(ballast::time_shares const& of);
[[nodiscard]] nlohmann::ordered_json to_json(planned_model const& plan);
[[nodiscard]] std::string in_words(planned_model const& plan);
/// The page of stages: `stages` says their layers; `stage_of` is the stage of each virtual stage.
[[nodiscard]] report_model page_of_stages(ballast::training_plan const& of, std::string schedule,
                                          std::vector<std::uint64_t> const& stage_of, std::vector<report_stage> stages);
/// `others` says what all times but those by kernels are modelled by.
[[nodiscard]] report_model on_page(planned_model const& plan, std::string const& others);

}  // namespace ballast_cli
