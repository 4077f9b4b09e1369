// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/layer_times.hpp"
#include "planning/stage_plan.hpp"
#include "readers/file_bytes.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/partition/second_objective.hpp>
#include <ballast/plan/export/setting.hpp>
#include <ballast/staging/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast_cli {

namespace {

struct partition_arguments {
  std::string file;
  std::uint64_t stages = 1;
  std::uint64_t micro_batches = 0;     ///< 0: memory is not looked at
  std::optional<std::int64_t> memory;  ///< bytes of a stage; none: nothing is recomputed
  ballast::any_schedule schedule = ballast::one_f_one_b_schedule{};
  offload_link offload;
  bool json = false;
};

/// The cut for time alone; of those with the least bottleneck the one that moves least, or the most balanced one.
[[nodiscard]] ballast::staged<> cut_for_time(layer_table const& table, std::uint64_t stages) {
  std::vector<std::int64_t> time, crossing;
  for (auto const& l : table.layers) {
    time.push_back(l.forward + l.backward);
    crossing.push_back(l.boundary_bytes);
  }
  crossing.pop_back();
  auto const moves = std::any_of(crossing.begin(), crossing.end(), [](auto bytes) { return bytes > 0; });
  if (moves) return ballast::least_volume_partition(time, crossing, {.stages = stages}).partition;
  return ballast::least_squares_partition(time, {.stages = stages}).partition;
}

/// The fastest cut for time alone that Megatron-LM has of a chain with towers, and how much slower it is: they are in the first stage.
[[nodiscard]] std::string towers_first(layer_table const& table, std::vector<ballast::layer_kind> const& kinds, std::uint64_t stages,
                                       std::int64_t bottleneck) {
  auto const last = std::find_if(kinds.begin(), kinds.end(), [](auto kind) { return kind > ballast::layer_kind::embedding; });
  auto const joined = last - kinds.begin() - 1;
  auto chain = table;
  auto& first = chain.layers[static_cast<std::size_t>(joined)];
  for (std::ptrdiff_t i = 0; i < joined; ++i) {
    first.forward += table.layers[static_cast<std::size_t>(i)].forward;
    first.backward += table.layers[static_cast<std::size_t>(i)].backward;
  }
  chain.layers.erase(chain.layers.begin(), chain.layers.begin() + joined);
  if (chain.layers.size() < stages) return ".\n";
  auto cut = cut_for_time(chain, stages);
  for (std::size_t s = 1; s < cut.boundaries.size(); ++s) cut.boundaries[s] += static_cast<std::uint32_t>(joined);
  auto const layout = ballast::megatron_layout(std::span<std::uint32_t const>(cut.boundaries), kinds);
  if (!layout) return ".\n";
  return formatted("; the best cut that it has is %.2f %% slower:\n  --pipeline-model-parallel-layout \"%s\"\n",
                   100 * (static_cast<double>(cut.bottleneck.value) / static_cast<double>(bottleneck) - 1), layout->c_str());
}

/// What stages hold if they keep everything.
[[nodiscard]] std::vector<ballast::staged_figures> figures_of(std::vector<std::uint32_t> const& cuts, layer_table const& table,
                                                              std::vector<std::uint64_t> const& held, std::string const& name) {
  constexpr auto most = std::int64_t{1} << 62;
  std::vector<ballast::staged_figures> out(cuts.size() - 1);
  for (std::size_t s = 0; s < out.size(); ++s) {
    auto& of = out[s];
    for (auto i = cuts[s]; i < cuts[s + 1]; ++i) {
      of.time += table.layers[i].forward + table.layers[i].backward;
      of.state += table.layers[i].parameter_bytes;
      of.activations += table.layers[i].activation_bytes;
    }
    if (held.empty()) continue;
    auto const copies = static_cast<std::int64_t>(held[s]);
    if (of.activations > (most - of.state) / copies) throw bad_input(name + ": stage " + std::to_string(s) + " holds more than 2^62 bytes");
    of.memory = of.state + copies * of.activations;
  }
  return out;
}

/// "--recompute-granularity ..." and what it loses, as a line.
[[nodiscard]] std::string flags_in_words(stage_plan const& plan) {
  auto const& nearest = plan.megatron;
  if (nearest.status != ballast::status::feasible) return "  " + std::string(no_megatron_setting) + "\n";
  auto const flags = ballast::megatron_recompute_flags(nearest.setting).value_or(std::vector<std::string>{});
  return "  " + (flags.empty() ? std::string("nothing recomputed") : ballast::in_shell(flags)) +
         " (the nearest setting: " + loss_in_words(nearest) + ")\n";
}

[[nodiscard]] std::string in_words(partition_arguments const& arguments, layer_table const& table, stage_plan const& plan,
                                   std::vector<ballast::layer_kind> const& kinds, std::optional<std::string> const& layout) {
  auto const& cut = plan.joint.partition;
  auto text = shown_name(arguments.file) + ": " + counted(table.layers.size(), "layer") + " in " + counted(arguments.stages, "stage") +
              "; the slowest takes " + shown(cut.bottleneck.value, table) + " for a micro-batch, and " +
              (cut.bottleneck.optimal() ? std::string("no plan takes less")
                                        : "no plan takes less than " + shown(cut.bottleneck.lower_bound, table)) +
              ".\n" + scale_in_words(table) + "\n";
  auto const names = names_of(table);
  std::vector<stage_line> lines;
  for (std::size_t s = 0; s < plan.joint.figures.size(); ++s) {
    auto const begin = cut.boundaries[s], end = cut.boundaries[s + 1];
    auto const& of = plan.joint.figures[s];
    lines.push_back({span_in_words(names, begin, end), end - begin, shown(of.time + of.added, table), stage_bytes(of.memory, table)});
  }
  text += stage_table(lines, arguments.micro_batches == 0 ? "" : "memory");
  text += "\n" + recomputed_in_words(plan.recompute) + list_in_words("Sent to the host: ", plan.offload);
  if (layout) {
    text += "Megatron-LM:\n  --pipeline-model-parallel-layout \"" + *layout + "\"\n";
    if (arguments.memory) text += flags_in_words(plan);
  } else if (kinds[0] == ballast::layer_kind::tower) {
    text += towers_in_first_stage +
            (arguments.memory ? std::string(".\n") : towers_first(table, kinds, arguments.stages, cut.bottleneck.value));
  }
  return text + deepspeed_in_words(cut.boundaries);
}

void run(partition_arguments const& arguments) {
  auto const table = read_layers_file(arguments.file, arguments.offload.bytes_per_1 != 0);
  if (arguments.memory) require_bytes(table, arguments.file, "--memory decides what is recomputed");
  require_layers(shown_name(arguments.file), table.layers.size(), arguments.stages);
  auto const kinds = kinds_of(names_of(table));
  auto const held = arguments.micro_batches == 0 ? std::vector<std::uint64_t>{}
                                                 : ballast::held_by_stage(arguments.schedule, arguments.stages, arguments.micro_batches);
  stage_plan plan;
  if (arguments.memory) {
    plan = plan_memory(table, held, {arguments.file, *arguments.memory, arguments.offload}, kinds);
  } else {
    plan.joint.partition = cut_for_time(table, arguments.stages);
    plan.joint.figures = figures_of(plan.joint.partition.boundaries, table, held, shown_name(arguments.file));
  }
  auto const& cut = plan.joint.partition;
  auto const layout = ballast::megatron_layout(std::span<std::uint32_t const>(cut.boundaries), kinds);
  if (!arguments.json) return write_standard_output(in_words(arguments, table, plan, kinds, layout));
  auto memory = nlohmann::ordered_json::array();
  for (auto const& s : plan.joint.figures)
    if (!held.empty()) memory.push_back(stage_bytes_json(s.memory, table));
  nlohmann::ordered_json const json{{"status", "feasible"},
                                    {"boundaries", cut.boundaries},
                                    {"bottleneck", in_unit(cut.bottleneck.value, table)},
                                    {"lower_bound", in_unit(cut.bottleneck.lower_bound, table)},
                                    {"optimal", cut.bottleneck.optimal()},
                                    {"recompute", plan.recompute},
                                    {"offload", plan.offload},
                                    {"memory", memory},
                                    {"megatron", layout.value_or("")},
                                    {"deepspeed", cut.boundaries}};
  print_json(json);
}

}  // namespace

void add_partition(CLI::App& app) {
  auto const arguments = std::make_shared<partition_arguments>();
  auto& command = *app.add_subcommand("partition", "cut a model's layers into pipeline stages, and choose what they recompute");
  command.add_option("LAYERS", arguments->file, layers_help)->required();
  add_value(command, "--stages", arguments->stages, small_positive, "stages of the pipeline")->required();
  auto* const micro_batches = add_value(command, "--micro-batches", arguments->micro_batches, small_positive, "micro-batches of a step");
  auto* const memory =
      add_value(command, "--memory", arguments->memory, bytes, "bytes of each stage, Ki, Mi or Gi allowed; decides what is recomputed")
          ->needs(micro_batches);
  add_value(command, "--schedule", arguments->schedule, schedule,
            "schedule, which decides how many micro-batches a stage holds: gpipe, 1f1b (default), zb1p or zb2p")
      ->needs(micro_batches);
  add_offload(command, arguments->offload)->needs(memory);
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] { run(*arguments); });
}

}  // namespace ballast_cli
