// SPDX-License-Identifier: Apache-2.0
#include "commands/model_commands.hpp"

#include "commands/option_values.hpp"
#include "errors.hpp"
#include "readers/rows.hpp"

#include <CLI/CLI.hpp>

#include <cstddef>

namespace ballast_cli {

namespace {

[[nodiscard]] std::uint64_t count(std::string const& option, std::string const& text) {
  return static_cast<std::uint64_t>(number<std::int32_t>(option, text, 1));
}

[[nodiscard]] std::vector<std::uint64_t> numbers(std::string const& option, std::string const& text) {
  std::vector<std::uint64_t> out;
  for (std::size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
    end = text.find(',', begin);
    out.push_back(
        static_cast<std::uint64_t>(number<std::int64_t>(option, text.substr(begin, end == std::string::npos ? end : end - begin), 0)));
  }
  return out;
}

[[nodiscard]] offload_arguments offload_of(std::string const& link, std::string const& overlap) {
  offload_arguments out;
  if (!link.empty()) out.bytes_per_1 = bytes("--offload", link, 1);
  if (!overlap.empty()) out.overlap = number<std::int64_t>("--overlap", overlap, 0);
  if (out.overlap > 100) throw bad_input("--overlap " + printable(overlap) + ": expected is a percentage, at most 100");
  return out;
}

constexpr auto layers_file = "CSV of layers with a header: name, forward, backward and bytes; - is standard input";

}  // namespace

void model_commands::add_to(CLI::App& app) {
  auto const add_offload = [&](CLI::App& command) {
    auto* const link = command.add_option("--offload", offload_, "bytes that the link to the host moves in one unit of the file's time");
    command.add_option("--overlap", overlap_, "percent of the compute time under which transfers to the host hide; 0 without it")
        ->needs(link);
    return link;
  };

  auto& partition = *app.add_subcommand("partition", "cut a model's layers into pipeline stages, and choose what they recompute");
  partition.add_option("LAYERS", partition_.file, layers_file)->required();
  partition.add_option("--stages", stages_, "stages of the pipeline")->required();
  auto* const micro_batches = partition.add_option("--micro-batches", micro_batches_, "micro-batches of a step");
  auto* const memory = partition.add_option("--memory", memory_, "bytes of each stage, Ki, Mi or Gi allowed; decides what is recomputed")
                           ->needs(micro_batches);
  partition.add_option("--schedule", schedule_, "what stages hold: gpipe, 1f1b (default), zb1p or zb2p")->needs(micro_batches);
  add_offload(partition)->needs(memory);
  partition.add_flag("--json", partition_.json, "print one JSON object");
  partition.callback([this] {
    partition_.stages = count("--stages", stages_);
    if (!micro_batches_.empty()) partition_.micro_batches = count("--micro-batches", micro_batches_);
    if (!memory_.empty()) partition_.memory = bytes("--memory", memory_, 0);
    partition_.schedule = ballast::schedule_named(schedule_);
    partition_.offload = offload_of(offload_, overlap_);
    run_partition(partition_);
  });

  auto& recompute = *app.add_subcommand("recompute", "choose which layers to recompute under a budget of memory");
  recompute.add_option("LAYERS", recompute_.file, layers_file)->required();
  recompute.add_option("--budget", budget_, "bytes that all layers may hold of one micro-batch, Ki, Mi or Gi allowed")->required();
  add_offload(recompute);
  recompute.add_flag("--json", recompute_.json, "print one JSON object");
  recompute.callback([this] {
    recompute_.budget = bytes("--budget", budget_, 0);
    recompute_.offload = offload_of(offload_, overlap_);
    run_recompute(recompute_);
  });

  auto& simulate = *app.add_subcommand("simulate", "the timeline of a step: makespan, waits and peak memory of every stage");
  simulate.add_option("LAYERS", simulate_.file, layers_file)->required();
  simulate.add_option("--stages", stages_, "stages of the pipeline")->required();
  simulate.add_option("--micro-batches", micro_batches_, "micro-batches of a step")->required();
  simulate.add_option("--schedule", schedule_, "gpipe, 1f1b (default), interleaved, zb1p, zb2p or zbv");
  simulate.add_option("--chunks", chunks_, "chunks of a stage, with --schedule interleaved; 2 without it");
  auto* const boundaries = simulate.add_option("--boundaries", boundaries_,
                                               "where the stages (their chunks) begin and end, as in 0,12,24; an exact cut without it");
  simulate.add_option("--memory", memory_, "bytes of each stage, as for partition; decides cut and what is recomputed")
      ->excludes(boundaries);
  simulate.add_option("--bandwidth", bandwidth_, "bytes that a link between stages moves in one unit of the file's time");
  simulate.add_flag("--json", simulate_.json, "print one JSON object");
  simulate.callback([this] {
    simulate_.stages = count("--stages", stages_);
    simulate_.micro_batches = count("--micro-batches", micro_batches_);
    simulate_.schedule = ballast::schedule_named(schedule_, chunks_.empty() ? 2 : count("--chunks", chunks_));
    if (!chunks_.empty() && schedule_ != ballast::interleaved_schedule::name) throw bad_input("--chunks is for --schedule interleaved");
    if (!boundaries_.empty()) simulate_.boundaries = numbers("--boundaries", boundaries_);
    if (!memory_.empty()) simulate_.memory = bytes("--memory", memory_, 0);
    if (!bandwidth_.empty()) simulate_.bytes_per_1 = bytes("--bandwidth", bandwidth_, 1);
    run_simulate(simulate_);
  });
}

}  // namespace ballast_cli
