// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "commands/simulate_chunks.hpp"
#include "errors.hpp"
#include "planning/layer_times.hpp"
#include "planning/stage_plan.hpp"
#include "readers/file_bytes.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/partition/second_objective.hpp>
#include <ballast/partition/virtual_stages.hpp>
#include <ballast/pipeline/simulate.hpp>
#include <ballast/staging/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ballast_cli {

namespace {

struct simulate_arguments {
  std::string file;
  std::uint64_t stages = 1, micro_batches = 0;
  std::string schedule_name = "1f1b";
  std::uint64_t chunks = 0;  ///< of a stage, for the interleaved schedule; 0: as many as it has of itself
  ballast::any_schedule schedule = ballast::one_f_one_b_schedule{};
  std::vector<std::uint64_t> boundaries;  ///< of the chunks; none: an exact cut
  std::optional<std::int64_t> memory;     ///< bytes of a stage; none: nothing is recomputed
  std::int64_t bytes_per_1 = 0;           ///< bytes between stages in 1 of the file's unit of time; 0: they take no time
  chunk_arguments chunked;
  bool json = false;
};

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
  require_layers(shown_name(arguments.file), n, arguments.stages, chunks);
  std::vector<std::int64_t> time;
  for (auto const& l : table.layers) time.push_back(l.forward + l.backward);
  if (std::holds_alternative<ballast::interleaved_schedule>(arguments.schedule))
    return ballast::virtual_stages<std::uint64_t>(time, {.devices = arguments.stages, .chunks = chunks}).boundaries;
  return ballast::least_squares_partition<std::uint64_t>(time, {.stages = arguments.stages * chunks}).partition.boundaries;
}

/// Stages and what they recompute, where there is a limit to their memory.
[[nodiscard]] stage_plan memory_plan(simulate_arguments const& arguments, layer_table const& table) {
  if (!arguments.memory) return {};
  require_layers(shown_name(arguments.file), table.layers.size(), arguments.stages);
  auto const held = ballast::held_by_stage(arguments.schedule, arguments.stages, arguments.micro_batches);
  return plan_memory(table, held, {arguments.file, *arguments.memory, {}}, kinds_of(names_of(table)));
}

/// Where the chunks of the pipeline begin and end, what their layers do, and what stages hold all the time.
struct chunks_of_layers {
  std::vector<std::uint64_t> cuts;
  std::vector<ballast::stage_work> works;  ///< by chunk
  std::vector<std::int64_t> parameters;    ///< bytes, by stage
  stage_plan plan;                         ///< where there is a limit to memory
};

[[nodiscard]] chunks_of_layers chunks_of(simulate_arguments const& arguments, layer_table const& table) {
  auto const chunks = std::visit([](auto const& s) { return s.chunks_per_stage(); }, arguments.schedule);
  auto const splits = std::visit([](auto const& s) { return s.splits_backward; }, arguments.schedule);
  chunks_of_layers out{.cuts = {}, .works = {}, .parameters = {}, .plan = memory_plan(arguments, table)};
  auto& cuts = out.cuts;
  if (arguments.memory)
    cuts.assign(out.plan.joint.partition.boundaries.begin(), out.plan.joint.partition.boundaries.end());
  else
    cuts = cuts_of(arguments, table, chunks);
  constexpr auto most_works = std::uint64_t{1} << 26;
  if (cuts.size() - 1 > most_works / arguments.micro_batches)
    throw bad_input("--micro-batches " + std::to_string(arguments.micro_batches) + ": more than 2^26 forwards in " +
                    std::to_string(cuts.size() - 1) + " stages and chunks are too many to simulate");
  out.works.resize(cuts.size() - 1);
  out.parameters.resize(static_cast<std::size_t>(arguments.stages));
  for (std::size_t k = 0; k < out.works.size(); ++k) {
    auto& work = out.works[k];
    auto const stage = std::visit([&](auto const& s) { return s.stage_of(k, arguments.stages); }, arguments.schedule);
    for (auto i = static_cast<std::size_t>(cuts[k]); i < cuts[k + 1]; ++i) {
      auto const& row = table.layers[i];
      work.forward += row.forward;
      work.backward += row.backward;
      auto const again = arguments.memory && out.plan.joint.option[i] != 0;
      work.recompute += again ? row.forward : 0;
      work.kept += again ? row.checkpoint_bytes : row.activation_bytes;
      out.parameters[static_cast<std::size_t>(stage)] += row.parameter_bytes;
    }
    if (cuts[k + 1] > 0)
      work.transfer = link_time(table.layers[static_cast<std::size_t>(cuts[k + 1]) - 1].boundary_bytes, arguments.bytes_per_1, table);
    if (splits) {  // the file does not say: halves
      work.weight = work.backward / 2;
      work.backward -= work.weight;
      if (arguments.memory) work.residue = work.kept;  // as much as the plan counted on
    }
  }
  return out;
}

[[nodiscard]] nlohmann::ordered_json to_json(simulate_arguments const& arguments, layer_table const& table, chunks_of_layers const& chunks,
                                             ballast::pipeline_timeline const& timeline) {
  nlohmann::ordered_json json{{"makespan", in_unit(timeline.makespan.value, table)}, {"bubble", timeline.bubble()}};
  auto& stages = json["stages"] = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < timeline.stages.size(); ++s)
    stages.push_back({{"busy", in_unit(timeline.stages[s].busy, table)},
                      {"peak_memory", stage_bytes_json(chunks.parameters[s] + timeline.stages[s].peak_memory, table)}});
  if (arguments.memory) {
    json["boundaries"] = chunks.cuts;
    json["recompute"] = chunks.plan.recompute;
  }
  return json;
}

[[nodiscard]] std::string in_words(simulate_arguments const& arguments, layer_table const& table, chunks_of_layers const& chunks,
                                   ballast::pipeline_timeline const& timeline) {
  auto const& makespan = timeline.makespan;
  auto text = shown_name(arguments.file) + ": " + counted(arguments.micro_batches, "micro-batch") + " through " +
              counted(arguments.stages, "stage") + " under " + arguments.schedule_name + " take " + shown(makespan.value, table) +
              "; stages wait " + percent_up(timeline.bubble()) + " of it.\n" +
              (makespan.optimal() ? std::string("No order of the same work takes less")
                                  : "No order of the same work takes less than " + shown(makespan.lower_bound, table)) +
              ".\n" + scale_in_words(table) + recomputed_in_words(chunks.plan.recompute) +
              "\nstage          busy  waits       peak memory\n";
  for (std::size_t s = 0; s < timeline.stages.size(); ++s) {
    auto const& of = timeline.stages[s];
    auto const waits = makespan.value == 0 ? 0.0 : static_cast<double>(makespan.value - of.busy) / static_cast<double>(makespan.value);
    text += formatted("%5zu  %12s  %7s  %s\n", s, shown(of.busy, table).c_str(), percent_up(waits).c_str(),
                      stage_bytes(chunks.parameters[s] + of.peak_memory, table).c_str());
  }
  return text;
}

void run(simulate_arguments const& arguments) {
  auto const table = read_layers_file(arguments.file, arguments.bytes_per_1 != 0);
  auto const chunked = !arguments.chunked.lengths.empty();
  if (arguments.memory && !(chunked && knows_bytes(table)))
    require_bytes(table, arguments.file, chunked ? "--memory decides which chunks run when" : "--memory decides the cut");
  if (chunked)
    return simulate_chunks(arguments.chunked, {.table = table,
                                               .title = shown_name(arguments.file),
                                               .cuts = cuts_of(arguments, table, 1),
                                               .bytes_per_1 = arguments.bytes_per_1,
                                               .memory = arguments.memory,
                                               .json = arguments.json});
  auto const chunks = chunks_of(arguments, table);
  auto const timeline =
      ballast::simulate_pipeline(arguments.schedule, {.stages = arguments.stages, .micro_batches = arguments.micro_batches},
                                 [&](std::uint64_t k, std::uint64_t) { return chunks.works[static_cast<std::size_t>(k)]; });
  if (arguments.json) return print_json(to_json(arguments, table, chunks, timeline));
  write_standard_output(in_words(arguments, table, chunks, timeline));
}

}  // namespace

void add_simulate(CLI::App& app) {
  auto const arguments = std::make_shared<simulate_arguments>();
  auto& command = *app.add_subcommand("simulate", "simulate a step: makespan, waits and peak memory of every stage");
  command.add_option("LAYERS", arguments->file, layers_help)->required();
  add_value(command, "--stages", arguments->stages, small_positive, "stages of the pipeline")->required();
  add_value(command, "--micro-batches", arguments->micro_batches, small_positive, "micro-batches of a step, if they are equal");
  command.add_option("--schedule", arguments->schedule_name, "gpipe, 1f1b (default), interleaved, zb1p, zb2p or zbv");
  add_value(command, "--chunks", arguments->chunks, small_positive, "chunks of a stage, with --schedule interleaved; 2 by default");
  add_value(command, "--boundaries", arguments->boundaries, whole_numbers,
            "where the stages (their chunks) begin and end, as in 0,12,24; an exact cut by default");
  add_value(command, "--memory", arguments->memory, bytes,
            "bytes of each stage, as for partition; decides the cut and what is recomputed, or which chunks run when");
  add_value(command, "--bandwidth", arguments->bytes_per_1, some_bytes,
            "bytes that a link between stages moves in one unit of the file's time");
  add_chunks(command, arguments->chunked);
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] {
    auto& a = *arguments;
    a.schedule_name = lower_case(a.schedule_name);
    a.schedule = ballast::schedule_named(a.schedule_name, a.chunks == 0 ? 2 : a.chunks);
    auto const chunked = !a.chunked.lengths.empty();
    if (chunked == (a.micro_batches != 0)) throw bad_input("simulate takes either --micro-batches, or --lengths with --chunk");
    if (chunked && a.schedule_name != ballast::one_f_one_b_schedule::name) throw bad_input("--lengths is for --schedule 1f1b");
    if (!chunked && a.memory && !a.boundaries.empty()) throw bad_input("--memory decides the cut: give it or --boundaries");
    if (a.chunks != 0 && a.schedule_name != ballast::interleaved_schedule::name) throw bad_input("--chunks is for --schedule interleaved");
    run(a);
  });
}

}  // namespace ballast_cli
