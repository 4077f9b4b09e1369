// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/graph_plan.hpp"
#include "planning/sample_cost.hpp"
#include "readers/file_bytes.hpp"
#include "readers/graph.hpp"
#include "report/json.hpp"
#include "report/memory_order.hpp"
#include "report/output.hpp"
#include "report/replace.hpp"
#include "report/words.hpp"

#include <ballast/footprint/training_graph.hpp>

#include <memory>
#include <string>

namespace ballast_cli {

namespace {

struct order_arguments {
  std::string file, model;
  std::int64_t length = 0, batch = 1;  ///< tokens of a sequence, sequences
  bool scores = false, json = false;
  order_request asked{.budget = {}, .layout = false, .work = 2'000'000'000};
  std::string write_graph, out, svg, report, command_line;
};

[[nodiscard]] ballast::graph graph_of(order_arguments const& arguments) {
  if (arguments.file.empty()) {
    auto made = ballast::training_graph(model_of(arguments.model), arguments.batch, arguments.length, {.scores = arguments.scores});
    make_names_differ(made);
    return made;
  }
  file_bytes const file(arguments.file);
  return read_graph(file.view(), shown_name(arguments.file));
}

void run(order_arguments const& arguments) {
  auto graph = graph_of(arguments);
  auto const title = arguments.file.empty() ? name_of_language_part(arguments.model) + ", " +
                                                  counted(static_cast<std::uint64_t>(arguments.batch), "sequence") + " of " +
                                                  grouped(static_cast<std::uint64_t>(arguments.length)) + " tokens"
                                            : shown_name(arguments.file);
  file_set files;
  if (!arguments.write_graph.empty()) files.add(arguments.write_graph, graph_json(graph));
  auto const no_times = time_of(graph) == 0;
  if (no_times)
    for (auto& o : graph.operators) o.time = 1;
  auto const plan = plan_graph(graph, title, arguments.asked);
  memory_order_report const report{.title = title,
                                   .command = arguments.command_line,
                                   .graph = graph,
                                   .plan = plan,
                                   .budget = arguments.asked.budget,
                                   .counted = no_times};
  if (!arguments.out.empty()) files.add(arguments.out, addresses_of(report));
  if (!arguments.svg.empty()) files.add(arguments.svg, picture_of(report));
  if (!arguments.report.empty()) files.add(arguments.report, page_of(report));
  files.commit();
  arguments.json ? print_json(to_json(report)) : write_standard_output(in_words(report));
}

}  // namespace

void add_order(CLI::App& app, std::string const& command_line) {
  auto const arguments = std::make_shared<order_arguments>();
  arguments->command_line = command_line;
  auto& command = *app.add_subcommand("order", "order the operators of a training step so that its memory is small");
  auto* const file = command.add_option("GRAPH", arguments->file, "JSON of operators and tensors; - is standard input");
  auto* const model = add_model(command, arguments->model, "a preset or a model's config.json, in place of GRAPH")->excludes(file);
  auto* const length = add_value(command, "--length", arguments->length, positive, "tokens of a sequence of --model")->needs(model);
  model->needs(length);
  add_value(command, "--batch", arguments->batch, positive, "sequences of --model; 1 by default")->needs(model);
  command.add_flag("--scores", arguments->scores, "attention of --model writes its scores to memory")->needs(model);
  command.add_option("--write-graph", arguments->write_graph, "file for the graph as JSON");
  add_value(command, "--budget", arguments->asked.budget, bytes,
            "bytes that the step may take, Ki, Mi or Gi allowed: says what to compute again");
  auto* const layout = command.add_flag("--layout", arguments->asked.layout, "give tensors addresses, too");
  command.add_option("--out", arguments->out, "CSV file for the buffers with their addresses")->needs(layout);
  command.add_option("--svg", arguments->svg, "file for a picture of memory over time");
  command.add_option("--report", arguments->report, "file for a page with figures and pictures");
  add_value(command, "--work", arguments->asked.work, positive,
            "operations that each search may take, about a nanosecond each; 2000000000 by default");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] {
    if (arguments->file.empty() && arguments->model.empty()) throw bad_input("order: GRAPH, or --model with --length, is required");
    run(*arguments);
  });
}

}  // namespace ballast_cli
