// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/scheduling.hpp"
#include "errors.hpp"
#include "readers/data_set.hpp"
#include "report/output.hpp"
#include "report/replace.hpp"
#include "report/shards.hpp"
#include "report/words.hpp"

#include <ballast/sharding/time_shards.hpp>

#include <limits>
#include <memory>
#include <string>

namespace ballast_cli {

namespace {

struct schedule_arguments {
  scheduling_arguments shared;
  std::string method = "ballast";
  std::string out;  ///< file; empty: standard output
};

void run(schedule_arguments const& arguments) {
  auto const& method = named("--method", arguments.method, schedulers());
  sample_lengths const samples(arguments.shared.input, "schedule", (std::numeric_limits<std::int64_t>::max)(), ballast::oversize::reject);
  auto const lengths = samples.view();
  if (lengths.empty()) throw bad_input(title_of(arguments.shared.input.files) + ": there are no samples to plan");
  auto const model = modelled_cluster(arguments.shared.cluster, capacity_of(arguments.shared, lengths));
  auto const on = scheduling_of(arguments.shared, model, lengths);
  auto const plan_batch = method.start(on);
  std::string text;
  batch_feed feed(lengths, arguments.shared.batch);
  for (std::uint64_t batch = 0; feed.next(); ++batch) {
    auto const mine = feed.lengths();
    auto plan = plan_batch(mine).shards;
    require_plan(method, plan, mine, on, batch);
    plan.time.value = time_shards(plan, on.cost, on.options.cost_per_pass).makespan;
    text += line_of(plan, feed.samples(), batch);
    feed.planned(plan);
  }
  arguments.out.empty() ? write_standard_output(text) : replace_file(arguments.out, text);
}

}  // namespace

void add_schedule(CLI::App& app) {
  auto const arguments = std::make_shared<schedule_arguments>();
  auto& command = *app.add_subcommand("schedule", "write the shards of each batch: which tokens each GPU trains on in each pass");
  add_scheduling(command, arguments->shared);
  command.add_option("--method", arguments->method, "the scheduler; ballast by default, compare shows all");
  command.add_option("--out", arguments->out, "file to write, one JSON object a line for each batch; standard output by default");
  command.callback([arguments] { run(*arguments); });
}

}  // namespace ballast_cli
