// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "errors.hpp"
#include "planning/layer_times.hpp"
#include "planning/stage_plan.hpp"
#include "readers/file_bytes.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/partition/second_objective.hpp>
#include <ballast/partition/virtual_stages.hpp>
#include <ballast/pipeline/simulate.hpp>
#include <ballast/staging/options.hpp>

#include <algorithm>
#include <cstddef>
#include <variant>

namespace ballast_cli {

namespace {

/// The boundaries that were given, checked, or an exact cut; of interleaved chunks the best one that is found.
[[nodiscard]] std::vector<std::uint64_t> cuts_of(simulate_arguments const& arguments, layer_table const& table, std::uint64_t chunks) {
  auto const n = table.layers.size();
  auto const& given = arguments.boundaries;
  if (!given.empty()) {
    if (given.size() != arguments.stages * chunks + 1)
      throw bad_input("--boundaries has " + std::to_string(given.size()) + " numbers; " + counted(arguments.stages, "stage") + " of " +
                      counted(chunks, "chunk") + " take " + std::to_string(arguments.stages * chunks + 1));
    if (given.front() != 0 || given.back() != n || !std::is_sorted(given.begin(), given.end()))
      throw bad_input("--boundaries must rise from 0 to the number of layers, " + std::to_string(n));
    return given;
  }
  if (arguments.stages * chunks > n)
    throw no_plan(shown_name(arguments.file) + ": " + counted(n, "layer") + " cannot fill " + counted(arguments.stages, "stage") +
                  (chunks > 1 ? " of " + counted(chunks, "chunk") : "") + ", each of which takes one at least");
  std::vector<std::int64_t> time;
  for (auto const& l : table.layers) time.push_back(l.forward + l.backward);
  if (std::holds_alternative<ballast::interleaved_schedule>(arguments.schedule))
    return ballast::virtual_stages<std::uint64_t>(time, {.devices = arguments.stages, .chunks = chunks}).boundaries;
  return ballast::least_squares_partition<std::uint64_t>(time, {.stages = arguments.stages * chunks}).plan.boundaries;
}

/// Stages and what they recompute, where there is a limit to their memory.
[[nodiscard]] model_plan memory_plan(simulate_arguments const& arguments, layer_table const& table) {
  if (!arguments.memory) return {};
  require_layers(table, arguments.stages, arguments.file);
  auto const held = ballast::held_by_stage(arguments.schedule, arguments.stages, arguments.micro_batches);
  return plan_memory(table, held, {arguments.file, *arguments.memory, {}}, kinds_of(table));
}

}  // namespace

void run_simulate(simulate_arguments const& arguments) {
  auto const table = read_layers_file(arguments.file, arguments.bytes_per_1 != 0);
  auto const chunks = std::visit([](auto const& s) { return s.chunks_per_stage(); }, arguments.schedule);
  auto const splits = std::visit([](auto const& s) { return s.splits_backward; }, arguments.schedule);
  auto const plan = memory_plan(arguments, table);
  auto const cuts = arguments.memory ? std::vector<std::uint64_t>(plan.joint.plan.boundaries.begin(), plan.joint.plan.boundaries.end())
                                     : cuts_of(arguments, table, chunks);
  constexpr auto most_works = std::uint64_t{1} << 26;
  if (cuts.size() - 1 > most_works / arguments.micro_batches)
    throw bad_input("--micro-batches " + std::to_string(arguments.micro_batches) + ": more than 2^26 forwards in " +
                    std::to_string(cuts.size() - 1) + " stages and chunks are too many to simulate");

  std::vector<ballast::stage_work> works(cuts.size() - 1);
  std::vector<std::int64_t> parameters(static_cast<std::size_t>(arguments.stages));
  for (std::size_t k = 0; k < works.size(); ++k) {
    auto& work = works[k];
    auto const stage = std::visit([&](auto const& s) { return s.stage_of(k, arguments.stages); }, arguments.schedule);
    for (auto i = static_cast<std::size_t>(cuts[k]); i < cuts[k + 1]; ++i) {
      auto const& row = table.layers[i];
      work.forward += row.forward;
      work.backward += row.backward;
      auto const again = arguments.memory && plan.joint.option[i] != 0;
      work.recompute += again ? row.forward : 0;
      work.kept += again ? row.checkpoint_bytes : row.activation_bytes;
      parameters[static_cast<std::size_t>(stage)] += row.parameter_bytes;
    }
    if (cuts[k + 1] > 0)
      work.transfer = link_time(table.layers[static_cast<std::size_t>(cuts[k + 1]) - 1].boundary_bytes, arguments.bytes_per_1, table);
    if (splits) {  // the file does not say: halves
      work.weight = work.backward / 2;
      work.backward -= work.weight;
      if (arguments.memory) work.residue = work.kept;  // as much as the plan counted on
    }
  }
  auto const timeline =
      ballast::simulate_pipeline(arguments.schedule, {.stages = arguments.stages, .micro_batches = arguments.micro_batches},
                                 [&](std::uint64_t k, std::uint64_t) { return works[static_cast<std::size_t>(k)]; });
  if (arguments.json) {
    nlohmann::ordered_json json{{"makespan", in_unit(timeline.makespan.value, table)}, {"bubble", timeline.bubble()}};
    auto& stages = json["stages"] = nlohmann::ordered_json::array();
    for (std::size_t s = 0; s < timeline.stages.size(); ++s)
      stages.push_back(
          {{"busy", in_unit(timeline.stages[s].busy, table)}, {"peak_memory", parameters[s] + timeline.stages[s].peak_memory}});
    if (arguments.memory) {
      json["boundaries"] = cuts;
      json["recompute"] = plan.recompute;
    }
    return write_standard_output(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  }
  auto text = shown_name(arguments.file) + ": " + grouped(arguments.micro_batches) + " micro-batch" +
              (arguments.micro_batches == 1 ? "" : "es") + " through " + counted(arguments.stages, "stage") + " under " +
              std::visit([](auto const& s) { return std::string(s.name); }, arguments.schedule) + " take " +
              shown(timeline.makespan.value, table) + "; stages wait " + percent_up(timeline.bubble()) + " of it.\n" +
              (timeline.makespan.optimal() ? std::string("No order of the same work takes less")
                                           : "No order of the same work takes less than " + shown(timeline.makespan.lower_bound, table)) +
              ".\n" + scale_in_words(table) + recomputed_in_words(plan.recompute) + "\nstage          busy  waits       peak memory\n";
  for (std::size_t s = 0; s < timeline.stages.size(); ++s) {
    auto const& of = timeline.stages[s];
    auto const waits = timeline.makespan.value == 0
                           ? 0.0
                           : static_cast<double>(timeline.makespan.value - of.busy) / static_cast<double>(timeline.makespan.value);
    text += formatted("%5zu  %12s  %7s  %s bytes\n", s, shown(of.busy, table).c_str(), percent_up(waits).c_str(),
                      grouped(static_cast<std::uint64_t>(parameters[s] + of.peak_memory)).c_str());
  }
  write_standard_output(text);
}

}  // namespace ballast_cli
