// SPDX-License-Identifier: Apache-2.0
#include "planning/weight_layouts.hpp"

#include "errors.hpp"
#include "planning/sample_cost.hpp"
#include "report/words.hpp"

#include <ballast/cost/collective.hpp>
#include <ballast/methods/tap_operators.hpp>

#include <algorithm>
#include <cmath>

namespace ballast_cli {

weight_plans plan_weights(weight_request const& asked) {
  if (!(asked.mfu >= 0.001 && asked.mfu <= 1)) throw bad_input("--mfu " + std::to_string(asked.mfu) + ": expected a share from 0.001 to 1");
  auto const& device = device_of(asked.device);
  weight_plans out{.planned = {},
                   .megatron = {},
                   .data_parallel = {},
                   .model = name_of_language_part(asked.model),
                   .device = device_in_words(asked.device, asked.mfu),
                   .length = asked.length != 0 ? asked.length : (std::min)(asked.tokens, std::int64_t{4096})};
  if (asked.tokens % out.length != 0)
    throw bad_input("--tokens " + std::to_string(asked.tokens) + ": expected a multiple of " + std::to_string(out.length) +
                    ", the tokens of a sequence (--length)");
  auto const operators = ballast::tap::operators_of(model_of(asked.model), out.length);
  ballast::layout_setting const on{.devices = asked.ranks,
                                   .tokens = asked.tokens,
                                   .sequences = asked.tokens / out.length,
                                   .passes = asked.passes,
                                   .memory = asked.memory.value_or(device.memory_bytes),
                                   .flops_per_s = std::llround(static_cast<double>(device.bf16_flops) * asked.mfu),
                                   .links = datasheet_fabric(device)};
  out.planned = asked.mesh ? ballast::tap::shard_mesh(operators, on) : ballast::tap::shard(operators, on);
  out.megatron = ballast::tap::shard_as_megatron(operators, on);
  out.data_parallel = ballast::tap::shard_as_data_parallel(operators, on);
  if (out.planned.plan.status != ballast::status::feasible)
    throw no_plan(out.model + " on " + counted(static_cast<std::uint64_t>(asked.ranks), "rank") + ": no layouts of its weights fit into " +
                  many_bytes(on.memory) + "; " + many_bytes(out.planned.plan.shortage) + " are missing");
  return out;
}

}  // namespace ballast_cli
