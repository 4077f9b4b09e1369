// SPDX-License-Identifier: Apache-2.0
#include "planning/offload_plan.hpp"

#include "errors.hpp"
#include "planning/model_setting.hpp"
#include "report/words.hpp"

#include <ballast/footprint/cluster.hpp>

#include <limits>
#include <utility>

namespace ballast_cli {

namespace {

[[nodiscard]] no_plan no_offload(std::string const& name, model_offload const& of) {
  auto const& plan = of.plan;
  if (plan.shortage == ballast::short_memory::device)
    return no_plan(name + ": the device needs at least " + many_bytes(of.memory - of.options.device_memory + plan.needed) +
                   " with all states in host memory, and --memory is " + many_bytes(of.memory));
  if (plan.shortage == ballast::short_memory::host)
    return no_plan(name + ": the host needs at least " + many_bytes(plan.needed) +
                   " for what the device cannot hold, and --host-memory is " + many_bytes(of.options.host_memory));
  return no_plan(name + ": no choice was found that keeps --memory and --host-memory, and none is proven impossible");
}

}  // namespace

model_offload plan_model_offload(offload_request const& asked) {
  auto const shape = model_of(asked.on.model);
  auto const& device = device_of(asked.on.device);
  auto const setting = setting_for(asked.setting, asked.ranks, shape, asked.on.model);
  if (asked.length > std::int64_t{1} << 28 || asked.batch > std::int64_t{1} << 20)
    throw bad_input("--length and --batch: at most 2^28 tokens and 2^20 sequences");
  ballast::cluster const on{.device = device, .mfu = asked.on.mfu, .time = {}, .links = {}, .hidden = {}};
  model_offload out{.model = ballast::offload_model_of(
                        shape, setting, {.tokens = asked.length * asked.batch, .squares = asked.length * asked.length * asked.batch}, on,
                        asked.recomputed),
                    .memory = asked.memory.value_or(device.memory_bytes / 10 * 9),
                    .options = asked.options,
                    .plan = {},
                    .others = {}};
  auto const name = name_of_language_part(asked.on.model);
  auto const beside = out.model.activations + out.model.working;
  if (beside > out.memory)
    throw no_plan(name + ": activations take " + many_bytes(beside) + ", and --memory is " + many_bytes(out.memory) +
                  "; --recompute full keeps less");
  out.options.device_memory = out.memory - beside;
  if (asked.down) out.options.rates.down = *asked.down;
  if (out.options.rates.down == 0) out.options.rates.down = out.options.rates.up;
  out.plan = ballast::plan_offload(out.model.layers, out.options);
  if (out.plan.status != ballast::status::feasible) throw no_offload(name, out);
  for (auto const& l : out.model.layers) out.compute_ns += l.forward + l.backward + l.device_update;

  auto const judge = [&](std::string about, ballast::offload_plan const& plan) {
    auto const fits = plan.status == ballast::status::feasible;
    out.others.push_back({std::move(about), fits ? std::optional(plan.time.value) : std::nullopt, plan.memory});
  };
  using enum ballast::offload_rule;
  judge("nothing", ballast::offload_by_rule(out.model.layers, everything, out.options, ballast::hosted::none));
  judge("everything", ballast::offload_by_rule(out.model.layers, everything, out.options));
  judge("first layers", ballast::offload_by_rule(out.model.layers, first, out.options));
  judge("uniform stride", ballast::offload_by_rule(out.model.layers, stride, out.options));
  judge("all optimizer states", ballast::offload_by_rule(out.model.layers, everything, out.options, ballast::hosted::optimizer));
  judge("planned", out.plan);
  return out;
}

}  // namespace ballast_cli
