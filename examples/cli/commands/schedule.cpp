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

#include <cstddef>
#include <cstdint>
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
  std::string out;    ///< file; empty: standard output
  std::string costs;  ///< file; empty: by length
};

/// The cost of each sample: a file of as many entries, of which those of rows that were left out count for nothing.
[[nodiscard]] std::vector<std::int64_t> costs_of(std::string const& file, sample_lengths const& samples) {
  constexpr auto most = std::int64_t{1} << 53;
  input_arguments const input{.files = {file}, .select = {}};
  auto const read = [&] {
    try {
      return read_lengths(input);
    } catch (bad_input const& why) {
      throw bad_input(std::string("--costs takes one column, a whole number of nanoseconds, at least 1, for each sample: ") + why.what());
    }
  };
  auto const rows = read();
  auto const count = samples.view().size() + samples.skipped().size();
  if (rows.rows() != count)
    throw bad_input("--costs " + file + ": has " + counted(rows.rows(), "entry") + " for " + counted(count, "sample") +
                    "; it takes one for each");
  std::vector<std::int64_t> out;
  auto skipped = samples.skipped().begin();
  for (std::size_t i = 0; i < count; ++i) {
    if (skipped != samples.skipped().end() && *skipped == i) {
      ++skipped;
      continue;
    }
    out.push_back(rows.values()[i]);
    if (out.back() >= most) throw bad_input(rows.where(i) + ": " + std::to_string(out.back()) + " nanoseconds are 2^53 or more");
  }
  return out;
}

void run(schedule_arguments const& arguments) {
  auto const& method = named("--method", arguments.method, schedulers());
  sample_lengths const samples(arguments.shared.input, "schedule", (std::numeric_limits<std::int64_t>::max)(), ballast::oversize::reject);
  auto const lengths = samples.view();
  if (lengths.empty()) throw bad_input(title_of(arguments.shared.input.files) + ": there are no samples to plan");
  auto const capacity = capacity_of(arguments.shared);
  auto const model = modelled_cluster(arguments.shared.cluster, capacity);
  auto const on = scheduling_of(arguments.shared, model, capacity, lengths);
  std::vector<std::int64_t> costs;
  if (!arguments.costs.empty()) {
    if (method.by_costs == nullptr)
      throw bad_input("--costs: " + arguments.method + " goes by lengths; --method takes one of " + methods_by_costs());
    costs = costs_of(arguments.costs, samples);
  }
  std::string text;
  std::uint64_t batch = 0;
  auto const write = [&](scheduled of, auto const& cost, std::span<std::int64_t const> mine, std::span<std::uint64_t const> numbers) {
    require_plan(method, of.shards, mine, on, batch);
    of.shards.time.value = time_shards(of.shards, cost, on.options.cost_per_pass).makespan;
    text += line_of(of.shards, of.attention, numbers, batch++);
  };
  if (method.epoch != nullptr) {
    for (auto const& step : method.epoch(lengths, on)) {
      std::vector<std::int64_t> mine;
      for (auto const i : step.samples) mine.push_back(lengths[static_cast<std::size_t>(i)]);
      write(step.plan, on.cost, mine, step.samples);
    }
  } else {
    auto const plan_batch = method.start(on);
    batch_feed feed(lengths, arguments.shared.batch);
    while (feed.next()) {
      scheduled plan;
      if (costs.empty()) {
        plan = plan_batch(feed.lengths());
        write(plan, on.cost, feed.lengths(), feed.samples());
      } else {
        std::vector<std::int64_t> mine;
        for (auto const i : feed.samples()) mine.push_back(costs[static_cast<std::size_t>(i)]);
        timed_samples const timed(feed.lengths(), mine, on.cost);
        plan = method.by_costs(feed.lengths(), timed.cost(), on);
        write(plan, timed.cost(), feed.lengths(), feed.samples());
      }
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
  command.add_option("--costs", arguments->costs,
                     "file of nanoseconds that each sample takes on one GPU, in place of what the model says of its length");
  command.add_option("--out", arguments->out, "file to write, one JSON object a line for each batch; standard output by default");
  command.callback([arguments] { run(*arguments); });
}

}  // namespace ballast_cli
