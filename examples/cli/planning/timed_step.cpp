// SPDX-License-Identifier: Apache-2.0
#include "planning/timed_step.hpp"

#include "readers/file_bytes.hpp"

#include <ballast/core/error.hpp>
#include <ballast/footprint/cluster.hpp>

#include <algorithm>
#include <utility>

namespace ballast_cli {

std::string why_untimed(ballast::model_setting const& by) {
  if (by.language.what != ballast::trained::all) return "adapters and frozen weights are not modelled";
  return by.moved != ballast::offload::none ? "the way of states from and to host memory is not modelled" : "";
}

timed_step time_step(ballast::transformer const& model, ballast::training_setting const& by, model_on_device const& asked,
                     ballast::time_setting with, ballast::training_plan const& judged, std::string untimed,
                     std::span<ballast::layer_option const> taken) {
  auto const& on = device_of(asked.device);
  timed_step out{.untimed = std::move(untimed),
                 .device = asked.device,
                 .kernels = asked.kernels.empty() ? "" : shown_name(asked.kernels),
                 .calibration = asked.calibration.empty() ? "" : shown_name(asked.calibration),
                 .experts = model.experts > 0};
  out.lower_bound = std::ranges::any_of(judged.memory, [&](auto const& stage) { return stage.bytes() > on.memory_bytes / 100 * 92; });
  if (auto why = why_untimed(by.model); !why.empty()) out.untimed = std::move(why);
  if (!out.untimed.empty()) return out;
  try {
    out.rates = with.rates;
    out.stages = ballast::time_of(model, by, on, with, judged.mean, taken);
  } catch (ballast::invalid_input const& e) {
    out.untimed = e.what();
  }
  return out;
}

ballast::model_setting overlapping(ballast::model_setting by, ballast::hidden_share const& hidden) {
  by.kernels.tensor_overlap = hidden.tensor > 0;
  by.kernels.expert_overlap = hidden.expert > 0;
  return by;
}

ballast::time_setting kernels_of(model_on_device const& on, ballast::model_setting const& by, ballast::hidden_share const& hidden) {
  auto out = kernels_of(on, by);
  out.gradient_overlap = hidden.gradient > 0 && hidden.parameter > 0;
  return out;
}

ballast::cluster cluster_of(model_on_device const& on, ballast::model_setting const& by, ballast::hidden_share const& hidden) {
  ballast::cluster out{.device = device_of(on.device), .mfu = on.mfu, .time = {}, .links = {}, .hidden = hidden};
  if (!on.mfu) out.time = kernels_of(on, by, hidden);
  return out;
}

}  // namespace ballast_cli
