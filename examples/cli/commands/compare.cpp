// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/scheduling.hpp"
#include "planning/comparison.hpp"
#include "readers/data_set.hpp"
#include "readers/file_bytes.hpp"
#include "readers/shards.hpp"
#include "report/comparison.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/replace.hpp"
#include "report/words.hpp"

#include <ballast/footprint/model_degree_cost.hpp>
#include <ballast/footprint/sequence_parallel.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>

namespace ballast_cli {

namespace {

struct compare_arguments {
  scheduling_arguments shared;
  std::uint64_t batches = 8;
  std::string methods;  ///< names between commas; empty: all
  std::string plan;     ///< file of somebody's shards
  std::string report, command_line;
  bool json = false;
};

void run(compare_arguments const& arguments) {
  auto const methods = schedulers_named("--methods", arguments.methods);
  sample_lengths const samples(arguments.shared.input, "compare", (std::numeric_limits<std::int64_t>::max)(), ballast::oversize::reject);
  auto const all = samples.view();
  if (all.empty()) throw bad_input(title_of(arguments.shared.input.files) + ": there are no samples to plan");
  auto const capacity = capacity_of(arguments.shared);
  auto const model = modelled_cluster(arguments.shared.cluster, capacity);
  auto const batch = arguments.shared.batch;
  auto const planned = static_cast<std::size_t>((std::min)(static_cast<std::uint64_t>(all.size()), batch * arguments.batches));
  auto on = scheduling_of(arguments.shared, model, capacity, all);
  on.planned = planned;

  comparison_report report{.title = title_of(arguments.shared.input.files),
                           .model = model.model,
                           .device = model.device,
                           .command = arguments.command_line,
                           .samples = planned,
                           .gpus = on.options.ranks,
                           .batch = (std::min)(batch, static_cast<std::uint64_t>(planned)),
                           .steps = (planned + batch - 1) / batch,
                           .capacity = on.options.capacity,
                           .ms_per_pass = static_cast<double>(on.options.cost_per_pass) * 1e-6,
                           .tokens_with_memory = tokens_that_fit(model.memory, model.recomputed_layers),
                           .lengths = {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(planned)},
                           .rows = {}};
  for (auto const l : report.lengths) report.tokens += static_cast<std::uint64_t>(l);
  report.longest = static_cast<std::uint64_t>(*std::max_element(report.lengths.begin(), report.lengths.end()));
  batch_bounds bounds(on);
  for (auto const& method : methods) report.rows.push_back(judge(method, report.lengths, batch, report.steps, on, bounds));
  if (!arguments.plan.empty()) {
    file_bytes const file(arguments.plan);
    auto const name = shown_name(arguments.plan);
    report.rows.push_back(judge(name, read_shards(file.view(), name), all, batch, report.steps, on, bounds));
  }
  for (auto& row : report.rows)
    if (row.most_tokens > 0 && row.most_tokens < std::int64_t{1} << 31)
      row.memory_bytes = model.memory.device.memory_bytes -
                         remaining_memory(model.memory, {.capacity = row.most_tokens, .recomputed_layers = model.recomputed_layers});
  if (!arguments.report.empty()) replace_file(arguments.report, page_of(report));
  arguments.json ? print_json(to_json(report)) : write_standard_output(in_words(report));
}

}  // namespace

void add_compare(CLI::App& app, std::string const& command_line) {
  auto const arguments = std::make_shared<compare_arguments>();
  arguments->command_line = command_line;
  auto& command =
      *app.add_subcommand("compare", "compare schedulers of long and short samples: their step times, waiting and planning time");
  add_scheduling(command, arguments->shared);
  add_value(command, "--batches", arguments->batches, small_positive, "batches to plan, from the first sample on; 8 by default");
  command.add_option("--methods", arguments->methods, "names between commas; all methods by default");
  command.add_option("--plan", arguments->plan, "shards of any planner, as schedule writes them, to compare with the methods");
  command.add_option("--report", arguments->report, "file for a page with table and plots");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] { run(*arguments); });
}

}  // namespace ballast_cli
