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
#include <span>
#include <string>
#include <vector>

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
  auto const capacity = capacity_of(arguments.shared);
  auto const model = modelled_cluster(arguments.shared.cluster, capacity);
  auto const on = scheduling_of(arguments.shared, model, capacity, lengths);
  std::string text;
  std::uint64_t batch = 0;
  auto const write = [&](scheduled of, std::span<std::int64_t const> mine, std::span<std::uint64_t const> numbers) {
    require_plan(method, of.shards, mine, on, batch);
    of.shards.time.value = time_shards(of.shards, on.cost, on.options.cost_per_pass).makespan;
    text += line_of(of.shards, of.attention, numbers, batch++);
  };
  if (method.epoch != nullptr) {
    for (auto const& step : method.epoch(lengths, on)) {
      std::vector<std::int64_t> mine;
      for (auto const i : step.samples) mine.push_back(lengths[static_cast<std::size_t>(i)]);
      write(step.plan, mine, step.samples);
    }
  } else {
    auto const plan_batch = method.start(on);
    batch_feed feed(lengths, arguments.shared.batch);
    while (feed.next()) {
      auto const plan = plan_batch(feed.lengths());
      write(plan, feed.lengths(), feed.samples());
      feed.planned(plan.shards);
    }
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
