// SPDX-License-Identifier: Apache-2.0
#include "commands/check.hpp"
#include "commands/scheduling.hpp"
#include "errors.hpp"
#include "planning/comparison.hpp"
#include "readers/data_set.hpp"
#include "readers/file_bytes.hpp"
#include "readers/shards.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace ballast_cli {

namespace {

/// The planner of this library for an execution, by its name in `compare`.
constexpr std::string_view own_scheduler = "ballast";

[[nodiscard]] nlohmann::ordered_json json_of_shards(judged_scheduler const& row) {
  return {{"samples", row.samples}, {"step_ms", row.step_ms},   {"lower_bound_ms", row.bound_ms}, {"gap", row.gap()},
          {"idle", row.waiting},    {"exchange", row.exchange}, {"most_tokens", row.most_tokens}, {"steps", row.steps},
          {"dropped", row.dropped}};
}

}  // namespace

void check_shards(check_arguments const& arguments, std::string_view text) {
  auto const& file = arguments.input.files.front();
  auto const name = shown_name(file);
  if (arguments.input.files.size() < 2) throw bad_input("check takes the shards, then the lengths of their samples");
  if (!arguments.asked.gpus) throw bad_input("--gpus is required for shards: the GPUs that train a batch together");
  auto const plan = read_shards(text, name);
  scheduling_arguments shared{.input = arguments.input,
                              .cluster = {.on = arguments.modelled(),
                                          .gpus = static_cast<std::uint64_t>(*arguments.asked.gpus),
                                          .micro_batch_ms = arguments.micro_batch_overhead_ms},
                              .capacity = arguments.limits.options.capacity};
  shared.input.files.erase(shared.input.files.begin());
  sample_lengths const samples(shared.input, "check of shards", (std::numeric_limits<std::int64_t>::max)(), ballast::oversize::reject);
  auto const all = samples.view();
  if (all.empty()) throw bad_input(title_of(shared.input.files) + ": there are no samples");
  shared.batch = arguments.batch != 0 ? arguments.batch : ballast::divide_up(std::uint64_t{all.size()}, std::uint64_t{plan.size()});
  auto const planned = (std::min)(std::uint64_t{all.size()}, shared.batch * plan.size());
  auto const model = modelled_cluster(shared.cluster, shared.capacity);
  auto on = scheduling_of(shared, model, shared.capacity, all);
  on.planned = planned;
  batch_bounds bounds(on);
  auto const row = judge(name, plan, all, shared.batch, plan.size(), on, bounds);
  if (row.dropped != 0)
    throw bad_input(name + ": not valid shards: " + counted(row.dropped, "sample") + " of the first " + grouped(planned) +
                    " are in no batch; put each into a pass, or say by --batch how many samples a batch has");
  auto const ours = judge(schedulers_named("ballast", std::string(own_scheduler)).front(), all.first(static_cast<std::size_t>(planned)),
                          shared.batch, plan.size(), on, bounds);
  if (arguments.json) {
    auto json = json_of_shards(row);
    json["kind"] = "shards";
    json["gpus"] = shared.cluster.gpus;
    json["capacity"] = shared.capacity;
    json["batch"] = shared.batch;
    json["model"] = model.model;
    json["device"] = model.device;
    json["ballast"] = ours.no_plan ? nlohmann::ordered_json() : json_of_shards(ours);
    return print_json(json);
  }
  write_standard_output(
      "Valid: every sample and every token is in one pass, and no pass exceeds its capacity.\nThese shards: " +
      counted(row.samples, "sample") + ", " + counted(row.tokens, "token") + " in " + counted(row.steps, "batch") + " on " +
      counted(shared.cluster.gpus, "GPU") + "; " + model.model + " on " + model.device + ".\nA batch takes " + duration(row.step_ms) +
      " on average, and GPUs wait " + percent_up(row.waiting) + " of it. No shards of these batches take less than " +
      duration(row.bound_ms) + " (proof): these are at most " + percent_up(row.gap()) + " above the best possible.\n" +
      (ours.no_plan ? "ballast has no plan: " + *ours.no_plan
                    : "ballast schedule takes " + duration(ours.step_ms) + ", and GPUs wait " + percent_up(ours.waiting) + " of it.") +
      "\n");
}

}  // namespace ballast_cli
