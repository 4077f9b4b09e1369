// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/graph_plan.hpp"
#include "planning/sample_cost.hpp"
#include "planning/symbolic_plan.hpp"
#include "readers/dimensions.hpp"
#include "readers/file_bytes.hpp"
#include "readers/graph.hpp"
#include "report/json.hpp"
#include "report/memory_order.hpp"
#include "report/output.hpp"
#include "report/replace.hpp"
#include "report/symbolic_order.hpp"
#include "report/words.hpp"

#include <ballast/footprint/training_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace ballast_cli {

namespace {

struct order_arguments {
  std::string file, model;
  std::int64_t length = 0, batch = 1;  ///< tokens of a sequence, sequences
  bool scores = false, json = false;
  order_request asked{.budget = {}, .layout = false, .work = 2'000'000'000};
  std::string write_graph, out, svg, report, command_line;
  std::string dimensions;           ///< ranges; empty where sizes are numbers
  std::vector<std::string> values;  ///< of each batch
  std::int64_t time_per_megabyte = 0;
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

/// Tokens of a sequence or sequences of --model: a dimension, or the number that an option gives, 0 if it does not.
[[nodiscard]] ballast::symbolic size_of_batch(std::string const& name, std::int64_t given, bool twice,
                                              std::vector<ballast::dimension> const& dimensions) {
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].name != name) continue;
    if (twice) throw bad_input("order: --" + name + " and the dimension " + name + " say the same; leave one of them out");
    return ballast::symbolic::of(d);
  }
  if (given == 0) throw bad_input("--model requires --" + name + ", or --dimensions with " + name + "=LOW..HIGH");
  return given;
}

[[nodiscard]] ballast::basic_graph<ballast::symbolic> symbolic_graph_of(order_arguments const& arguments,
                                                                        std::vector<ballast::dimension> const& dimensions) {
  if (!arguments.file.empty()) {
    file_bytes const file(arguments.file);
    return read_symbolic_graph(file.view(), shown_name(arguments.file), dimensions);
  }
  for (auto const& d : dimensions)
    if (d.name != "batch" && d.name != "length")
      throw bad_input("--dimensions " + printable(d.name) + ": the dimensions of --model are batch and length");
  auto const length = size_of_batch("length", arguments.length, arguments.length != 0, dimensions);
  auto const batch = size_of_batch("batch", arguments.batch, arguments.batch != 1, dimensions);
  auto made = ballast::training_graph(model_of(arguments.model), batch, length, {.scores = arguments.scores});
  make_names_differ(made);
  return made;
}

void run_symbolic(order_arguments const& arguments) {
  symbolic_request asked{.dimensions = read_dimensions("--dimensions", arguments.dimensions),
                         .batches = {},
                         .budget = arguments.asked.budget,
                         .time_per_megabyte = arguments.time_per_megabyte,
                         .work = arguments.asked.work};
  for (auto const& text : arguments.values) asked.batches.push_back(read_values("--values", text, asked.dimensions));
  auto graph = symbolic_graph_of(arguments, asked.dimensions);
  file_set files;
  if (!arguments.write_graph.empty()) files.add(arguments.write_graph, graph_json(graph, asked.dimensions));
  if (std::all_of(graph.operators.begin(), graph.operators.end(), [](auto const& o) { return o.time == ballast::symbolic{}; }))
    for (auto& o : graph.operators) o.time = 1;
  auto const title = arguments.file.empty() ? name_of_language_part(arguments.model) : shown_name(arguments.file);
  auto const plan = plan_symbolic(graph, title, asked);
  symbolic_order_report const report{.title = title, .graph = graph, .asked = asked, .plan = plan};
  auto const runs = [](batch_order const& batch) { return batch.run.status == ballast::status::feasible; };
  if (!plan.batches.empty() && std::none_of(plan.batches.begin(), plan.batches.end(), runs))
    throw no_plan(title + ": " + no_run_in_words(report, 0) + (plan.batches.size() > 1 ? "; nor do the other batches have one" : ""));
  files.commit();
  arguments.json ? print_json(to_json(report)) : write_standard_output(in_words(report));
}

void run(order_arguments const& arguments) {
  if (!arguments.dimensions.empty()) return run_symbolic(arguments);
  if (arguments.file.empty() && arguments.length == 0) throw bad_input("--model requires --length");
  auto graph = graph_of(arguments);
  auto const title = arguments.file.empty() ? name_of_language_part(arguments.model) + ", " +
                                                  counted(static_cast<std::uint64_t>(arguments.batch), "sequence") + " of " +
                                                  counted(static_cast<std::uint64_t>(arguments.length), "token")
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
  add_value(command, "--length", arguments->length, positive, "tokens of a sequence of --model")->needs(model);
  add_value(command, "--batch", arguments->batch, positive, "sequences of --model; 1 by default")->needs(model);
  command.add_flag("--scores", arguments->scores, "attention of --model writes its scores to memory")->needs(model);
  command.add_option("--write-graph", arguments->write_graph, "file for the graph as JSON");
  auto* const budget = add_value(command, "--budget", arguments->asked.budget, bytes,
                                 "bytes that the step may take, Ki, Mi or Gi allowed: says what to compute again");
  auto* const layout = command.add_flag("--layout", arguments->asked.layout, "give tensors addresses, too");
  command.add_option("--out", arguments->out, "CSV file for the buffers with their addresses")->needs(layout);
  auto* const svg = command.add_option("--svg", arguments->svg, "file for a picture of memory over time");
  auto* const page = command.add_option("--report", arguments->report, "file for a page with figures and pictures");
  auto* const dimensions = command
                               .add_option("--dimensions", arguments->dimensions,
                                           "sizes are polynomials over these, planned for all batches: batch=1..64,length=16..4096")
                               ->excludes(layout)
                               ->excludes(svg)
                               ->excludes(page);
  command.add_option("--values", arguments->values, "a batch, as in batch=8,length=512: its order, and what it evicts; may be given again")
      ->needs(dimensions)
      ->allow_extra_args(false);
  add_value(command, "--time-per-megabyte", arguments->time_per_megabyte, positive,
            "time in which 10^6 bytes move to the host, or back, in the unit of the operators; by default nothing moves")
      ->needs(dimensions)
      ->needs(budget);
  add_value(command, "--work", arguments->asked.work, positive,
            "operations that each search may take, about a nanosecond each; 2000000000 by default");
  command.add_flag("--json", arguments->json, json_help);
  command.callback([arguments] {
    if (arguments->file.empty() && arguments->model.empty()) throw bad_input("order: GRAPH, or --model with --length, is required");
    run(*arguments);
  });
}

}  // namespace ballast_cli
