// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/sample_cost.hpp"
#include "planning/timed_step.hpp"
#include "readers/framework_setting.hpp"
#include "readers/setting_writers.hpp"
#include "report/page.hpp"

#include <ballast/batching/result.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/searched_settings.hpp>
#include <ballast/plan/training_plan.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

// A setting of a framework with what is computed for it.

namespace ballast_cli {

/// What another model takes of each device, at most.
struct role_memory {
  std::string role;
  std::int64_t bytes = 0;
  bool resident = true;  ///< whether it is there while the first model trains; then the budget of that is less by `bytes`
};

struct judged_setting {
  std::string file, device;
  imported_setting given;
  ballast::training_plan judged;
  std::vector<ballast::memory_parts> parts;  ///< the memory of each stage, part by part, where tensors are counted
  std::vector<role_memory> roles;
  timed_step time;                ///< of a mean step
  ballast::training_plan better;  ///< the best cut and recomputation found for the same degrees, stages and micro-batches, or `judged`
  ballast::searched_settings
      best;              ///< the fastest setting of all degrees for the same devices and sequences of a step, or the given degrees
  bool is_best = false;  ///< whether `best` has the given degrees, as the search found nothing faster
  bool sayable = false;  ///< whether `best` is of what a framework's files can say
  std::optional<double> mfu = {};  ///< share of the device's peak in all times but `time`; none: kernels are timed
};

/// Judges a setting on its micro-batches, whatever model `devices` names. The memory of a device is in the setting. `best` has up to `keep`
/// settings, fastest first; in the space `as` of what a framework can say, if there is one.
[[nodiscard]] judged_setting judge(imported_setting given, model_on_device const& devices, ballast::batching<> const& steps,
                                   std::vector<ballast::batch_shape> const& packs, std::size_t keep = 1, written_space const* as = nullptr);

[[nodiscard]] nlohmann::ordered_json to_json(judged_setting const& of);
[[nodiscard]] std::string in_words(judged_setting const& of);
/// The page of the setting that `command` judged.
[[nodiscard]] report_data on_page(judged_setting const& of, std::string const& command);

}  // namespace ballast_cli
