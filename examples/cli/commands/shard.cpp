// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "planning/weight_layouts.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/weight_layouts.hpp"

#include <memory>

namespace ballast_cli {

void add_shard(CLI::App& app) {
  struct arguments {
    weight_request asked;
    bool json = false;
  };
  auto const given = std::make_shared<arguments>();
  auto& asked = given->asked;
  auto& command = *app.add_subcommand("shard", "choose which weights of a model are split over ranks, and how");
  add_model(command, asked.model, "a preset or a model's config.json")->required();
  add_value(command, "--ranks", asked.ranks, positive, "ranks that share tokens and weights")->required();
  add_value(command, "--tokens", asked.tokens, positive, "tokens of a pass, on all ranks together")->required();
  add_value(command, "--length", asked.length, positive, "tokens of a sequence; 4096 by default, or --tokens if these are fewer");
  add_value(command, "--passes", asked.passes, positive, "passes of a step; 1 by default");
  add_value(command, "--memory", asked.memory, some_bytes, "bytes of a device, Ki, Mi or Gi allowed; by default what its datasheet says");
  add_device(command, asked.device);
  add_value(command, "--mfu", asked.mfu, share, share_help);
  command.add_flag("--mesh", asked.mesh, "also try groups of fewer ranks, each with tokens of its own");
  add_value(command, "--group", asked.group, positive, "ranks of a group, of which each has tokens of its own; --ranks by default");
  command.add_flag("--json", given->json, json_help);
  command.callback([given] {
    auto const plans = plan_weights(given->asked);
    given->json ? print_json(to_json(plans)) : write_standard_output(in_words(plans));
  });
}

}  // namespace ballast_cli
