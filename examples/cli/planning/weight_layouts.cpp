// SPDX-License-Identifier: Apache-2.0
#include "planning/weight_layouts.hpp"

#include "errors.hpp"
#include "planning/sample_cost.hpp"
#include "report/words.hpp"

#include <ballast/core/math.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/sample_time.hpp>
#include <ballast/methods/tap_operators.hpp>

#include <algorithm>
#include <cmath>

namespace ballast_cli {

namespace {

/// FLOP/s of all kernels together, in a pass of sequences whose tokens are spread over all ranks. Weights that a pass reads once are left
/// out: how many of them a rank holds is what is planned.
[[nodiscard]] double mean_rate(ballast::transformer const& model, ballast::device const& on, ballast::time_setting const& with,
                               std::int64_t tokens, std::int64_t length) {
  auto const time = ballast::sample_time(model, on, with, {}, {.capacity = tokens});
  auto const sequences = static_cast<double>(tokens) / static_cast<double>(length);
  auto const flops = ballast::training_factor * static_cast<double>(forward_flops(model)(length)) * sequences;
  return flops / (static_cast<double>(time.tokens(length)) * sequences) * 1e12;
}

}  // namespace

weight_plans plan_weights(weight_request const& asked) {
  if (asked.mfu && !(*asked.mfu >= 0.001 && *asked.mfu <= 1))
    throw bad_input("--mfu " + std::to_string(*asked.mfu) + ": expected a share from 0.001 to 1");
  auto const& device = device_of(asked.device);
  model_on_device const by{.model = asked.model, .device = asked.device, .mfu = asked.mfu};
  weight_plans out{.planned = {},
                   .megatron = {},
                   .data_parallel = {},
                   .model = name_of_language_part(asked.model),
                   .device = device_in_words(by),
                   .length = asked.length != 0 ? asked.length : (std::min)(asked.tokens, std::int64_t{4096})};
  if (asked.tokens % out.length != 0)
    throw bad_input("--tokens " + std::to_string(asked.tokens) + ": expected a multiple of " + std::to_string(out.length) +
                    ", the tokens of a sequence (--length)");
  auto const model = model_of(asked.model);
  auto const operators = ballast::tap::operators_of(model, out.length);
  ballast::layout_setting const on{
      .devices = asked.ranks,
      .tokens = asked.tokens,
      .sequences = asked.tokens / out.length,
      .passes = asked.passes,
      .memory = asked.memory.value_or(device.memory_bytes),
      .flops_per_s =
          std::llround(asked.mfu ? static_cast<double>(device.bf16_flops) * *asked.mfu
                                 : mean_rate(model, device, kernels_of(by), ballast::divide_up(asked.tokens, asked.ranks), out.length)),
      .links = datasheet_fabric(device)};
  auto each = on;
  if (asked.group > 0) {
    if (asked.mesh) throw bad_input("--mesh and --group: one chooses the size of groups, the other says it");
    each.data = asked.ranks / asked.group;
    if (asked.ranks % asked.group != 0 || on.sequences % each.data != 0)
      throw bad_input("--group " + std::to_string(asked.group) + ": expected a divisor of --ranks " + std::to_string(asked.ranks) +
                      " whose groups have equally many of the " + counted(static_cast<std::uint64_t>(on.sequences), "sequence"));
    each.devices = asked.group;
    each.tokens = on.tokens / each.data;
    each.sequences = on.sequences / each.data;
  }
  out.planned = asked.mesh ? ballast::tap::shard_mesh(operators, on) : ballast::tap::shard(operators, each);
  out.megatron = ballast::tap::shard_as_megatron(operators, on);
  out.data_parallel = ballast::tap::shard_as_data_parallel(operators, on);
  if (out.planned.plan.status != ballast::status::feasible)
    throw no_plan(out.model + " on " + counted(static_cast<std::uint64_t>(asked.ranks), "rank") + ": no layouts of its weights fit into " +
                  many_bytes(on.memory) + "; " + many_bytes(out.planned.plan.shortage) +
                  " are missing; a rank holds less with fewer --tokens, or where --ranks divide the heads and widths of the model");
  return out;
}

}  // namespace ballast_cli
