// SPDX-License-Identifier: Apache-2.0
#include "commands/plan.hpp"
#include "errors.hpp"
#include "planning/level_plan.hpp"
#include "planning/model_words.hpp"
#include "planning/packers.hpp"
#include "readers/data_set.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/packing.hpp"
#include "report/page.hpp"
#include "report/plan_folder.hpp"
#include "report/words.hpp"

#include <ballast/levels/plan.hpp>

#include <algorithm>
#include <array>

namespace ballast_cli {

namespace {

using level_plan = ballast::level_plan<>;
using device_table = ballast::device_table<>;

[[nodiscard]] std::string plan_json(nlohmann::ordered_json const& figures, level_plan const& plan, device_table const& table,
                                    plan_arguments const& arguments, level_setup const& on) {
  auto document = plan_document(arguments.input, hash_of_files(table.packs, table.table, table.level), figures,
                                {{"oversize", word_of(arguments.options.oversize)},
                                 {"seed", arguments.options.steps.seed},
                                 {"levels", arguments.levels},
                                 {"model", on.model},
                                 {"device", on.device}});
  document["pieces"] = pieces_json(plan.packed.pieces);
  return text_of(document);
}

/// What the plan was made of, and what it trains on.
struct planned_levels {
  level_choice choice;
  compared_plan plan;
  std::uint64_t samples = 0;
  std::int64_t tokens = 0;
};

[[nodiscard]] std::string page_of(planned_levels const& planned, plan_arguments const& arguments, level_setup const& on) {
  auto const& plan = planned.plan;
  report_data page{.title = title_of(arguments.input.files),
                   .samples = planned.samples,
                   .tokens = static_cast<std::uint64_t>(planned.tokens),
                   .capacity = static_cast<std::uint64_t>(plan.levels.back().setting.capacity),
                   .ranks = arguments.gpus,
                   .micro_batches = arguments.options.steps.micro_batches,
                   .model = on.model,
                   .device = on.device,
                   .bin_edges = {},
                   .bin_samples = {},
                   .bin_tokens = {},
                   .plans = plans_of(plan),
                   .single_sample_bound = 1,
                   .pack_bound = 0,
                   .pack_bound_by = {},
                   .limits = limits_in_words(planned.choice, plan),
                   .command = arguments.command_line,
                   .levels = levels_of(plan),
                   .order = plan.order.source,
                   .curriculum = std::string(arguments.curriculum.word),
                   .warm_up = plan.order.warm_up,
                   .switches = plan.order.switches()};
  std::vector<std::int64_t> trained;
  for (auto const i : plan.packed.packs.members) trained.push_back(plan.packed.lengths[i]);
  if (!trained.empty()) add_histogram(page, trained);
  return render_report(page);
}

[[nodiscard]] nlohmann::ordered_json to_json(planned_levels const& planned, device_table const& table, plan_arguments const& arguments) {
  auto const& plan = planned.plan;
  auto const& f = plan.figures;
  nlohmann::ordered_json json{{"samples", planned.samples},
                              {"tokens", planned.tokens},
                              {"capacity", plan.levels.back().setting.capacity},
                              {"strategy", "levels"},
                              {"packs", plan.figures.packs},
                              {"fill", plan.figures.fill},
                              {"hash", hash_digits(ballast::hash(table))},
                              {"set_aside", plan.packed.set_aside},
                              {"gpus", arguments.gpus},
                              {"micro_batches", table.micro_batches},
                              {"steps", f.steps},
                              {"modelled_step_ms", f.steps == 0 ? 0.0 : f.seconds * 1e3 / static_cast<double>(f.steps)}};
  add_level_figures(json, planned.choice, plan);
  json["curriculum"] = {{"order", arguments.curriculum.word},
                        {"warm_up", plan.order.warm_up},
                        {"steps", plan.order.size()},
                        {"switches", plan.order.switches()}};
  return json;
}

[[nodiscard]] std::string in_words(planned_levels const& planned, plan_arguments const& arguments, level_setup const& on) {
  auto const& [choice, plan, samples, tokens] = planned;
  auto text =
      title_of(arguments.input.files) + ": " + counted(samples, "sample") + ", " + counted(static_cast<std::uint64_t>(tokens), "token") +
      " on " + counted(arguments.gpus, "GPU") + "; " + on.model + " on " + on.device + ".\n\n" + in_words(choice, plan) + "Order " +
      std::string(arguments.curriculum.word) + ": " + counted(plan.order.size(), "step") +
      (plan.order.warm_up == 0 ? "" : ", of which the first " + grouped(plan.order.warm_up) + " are a warm-up on the shortest level") +
      "; the level changes " + counted(plan.order.switches(), "time") + ".\n";
  if (auto const aside = plan.packed.set_aside.size(); aside != 0)
    text += counted(aside, "sample") + " longer than the capacity set aside.\n";
  return text;
}

void write(planned_levels const& planned, device_table const& table, nlohmann::ordered_json const& json, plan_arguments const& arguments,
           level_setup const& on) {
  auto files = pack_files(table.packs);
  std::array const shape{table.level.size(), static_cast<std::size_t>(table.devices), static_cast<std::size_t>(table.micro_batches)};
  files.push_back(array_file<std::uint32_t>("steps.npy", "<i4", shape, table.table));
  files.push_back(array_file<std::uint32_t>("levels.npy", "<i4", std::array{table.level.size()}, table.level));
  auto const page = page_of(planned, arguments, on);
  files.push_back({"report.html", {}, page});
  write_plan(arguments.out, files, plan_json(json, planned.plan, table, arguments, on));
}

}  // namespace

void plan_several_levels(plan_arguments const& arguments) {
  stopwatch watch;
  auto const& o = arguments.options.steps;
  level_request request;
  request.on = arguments.on;
  request.gpus = arguments.gpus;
  level_setup on(request);
  auto const given = arguments.levels_from_file();
  planned_levels planned;
  if (given) planned.choice = read_levels(arguments.levels, request, on);
  auto const longest = given ? planned.choice.levels.back().setting.capacity : o.capacity;
  sample_lengths const samples(arguments.input, "plan --levels", longest, arguments.options.oversize);
  auto const read_seconds = watch.lap();

  if (!given)
    planned.choice = choose(arguments.levels == "hbp" ? level_rule::hbp : level_rule::exact,
                            within(samples.counts(), longest, arguments.options.oversize), longest, usual_levels, request, on);
  auto const& curriculum = arguments.curriculum;
  planned.plan = plan_choice(samples.view(), planned.choice,
                             {.devices = arguments.gpus,
                              .micro_batches = o.micro_batches,
                              .oversize = arguments.options.oversize,
                              .order = {.order = curriculum.order, .warm_up = curriculum.warm_up},
                              .seed = o.seed});
  planned.samples = samples.counts().samples();
  for (auto const& steps : planned.plan.steps.steps) planned.tokens += steps.tokens;
  auto const table = ballast::table_of(planned.plan);
  auto const plan_seconds = watch.lap();

  auto json = to_json(planned, table, arguments);
  if (!arguments.out.empty()) write(planned, table, json, arguments, on);
  if (!arguments.json) return write_standard_output(config_in_words(arguments.on.model) + in_words(planned, arguments, on));
  json["seconds"] = {{"read", read_seconds}, {"plan", plan_seconds}, {"write", watch.lap()}};
  print_json(json);
}

}  // namespace ballast_cli
