// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "errors.hpp"
#include "planning/level_plan.hpp"
#include "readers/data_set.hpp"
#include "report/output.hpp"
#include "report/packing.hpp"
#include "report/page.hpp"
#include "report/plan_folder.hpp"
#include "report/words.hpp"

#include <ballast/core/hash.hpp>
#include <ballast/levels/device_table.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>

namespace ballast_cli {

namespace {

using level_plan = ballast::level_plan<>;
using device_table = ballast::device_table<>;

[[nodiscard]] std::uint64_t hash_of(device_table const& table) {
  ballast::fnv1a h;
  for (auto const offset : table.packs.offsets) h.append(offset);
  for (auto const member : table.packs.members) h.append(member);
  for (auto const pack : table.table) h.append(pack);
  for (auto const level : table.level) h.append(level);
  return h.value();
}

[[nodiscard]] std::string plan_json(nlohmann::ordered_json const& figures, level_plan const& plan, plan_arguments const& arguments,
                                    level_run_model const& on) {
  nlohmann::ordered_json json{{"schema", plan_format}, {"files", arguments.input.files}};
  json.update(figures);
  json["options"] = {{"oversize", word_of(arguments.options.oversize)},
                     {"seed", arguments.options.steps.seed},
                     {"levels", arguments.levels},
                     {"model", on.model},
                     {"device", on.device}};
  auto& pieces = json["pieces"] = nlohmann::ordered_json::array();
  for (auto const& p : plan.packed.pieces) pieces.push_back({{"sample", p.sample}, {"offset", p.offset}, {"length", p.length}});
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

[[nodiscard]] std::string page_of(level_choice const& choice, compared_plan const& plan, std::uint64_t samples, std::int64_t tokens,
                                  plan_arguments const& arguments, level_run_model const& on) {
  report_data page{.title = title_of(arguments.input.files),
                   .samples = samples,
                   .tokens = static_cast<std::uint64_t>(tokens),
                   .capacity = static_cast<std::uint64_t>(plan.levels.back().setting.capacity),
                   .ranks = arguments.gpus,
                   .micro_batches = arguments.options.steps.micro_batches,
                   .model = on.model,
                   .device = on.device,
                   .bin_edges = {},
                   .bin_samples = {},
                   .bin_tokens = {},
                   .runs = runs_of(plan),
                   .single_sample_bound = 1,
                   .pack_bound = 0,
                   .pack_bound_by = {},
                   .limits = limits_in_words(choice, plan),
                   .command = arguments.command,
                   .levels = levels_of(plan),
                   .order = plan.order.source,
                   .curriculum = arguments.curriculum,
                   .warm_up = plan.order.warm_up,
                   .switches = plan.order.switches()};
  std::vector<std::int64_t> trained;
  for (auto const i : plan.packed.packs.members) trained.push_back(plan.packed.lengths[i]);
  if (!trained.empty()) add_histogram(page, trained);
  return render_report(page);
}

[[nodiscard]] level_choice choice_of(plan_arguments const& arguments, level_run_model const& on, level_request const& request,
                                     ballast::histogram const& lengths) {
  auto const capacity = arguments.options.steps.capacity;
  auto const rule = arguments.levels == "hbp" ? level_rule::hbp : level_rule::exact;
  return choose(rule, within(lengths, capacity, arguments.options.oversize), capacity, usual_levels, request, on);
}

}  // namespace

void run_plan_levels(plan_arguments const& arguments) {
  stopwatch watch;
  auto const& o = arguments.options.steps;
  level_request const request{
      .model = arguments.model, .device = arguments.device, .mfu = arguments.mfu, .gpus = arguments.gpus, .table = {}};
  level_run_model const on(request);
  auto const given = arguments.levels != "auto" && arguments.levels != "hbp";
  auto choice = given ? read_levels(arguments.levels, on) : level_choice{};
  auto const longest = given ? choice.levels.back().setting.capacity : o.capacity;
  auto const input = read_lengths(arguments.input.files, arguments.input.select);
  require_one_measure(input, "plan");
  refuse_oversize(input, std::array{longest}, {.oversize = arguments.options.oversize}, "set-aside, truncate or split");
  auto const h = to_histogram(input);
  refuse_too_many(h.samples());
  std::vector<std::int64_t> expanded;
  auto const lengths = to_lengths(input, expanded);
  auto const read_seconds = watch.lap();

  auto const& order =
      *std::find_if(std::begin(curricula), std::end(curricula), [&](auto const& c) { return c.word == arguments.curriculum; });
  if (!given) choice = choice_of(arguments, on, request, h);
  auto const plan = plan_choice(lengths, choice,
                                {.devices = arguments.gpus,
                                 .micro_batches = o.micro_batches,
                                 .oversize = arguments.options.oversize,
                                 .order = {.order = order.order, .warm_up = order.warm_up},
                                 .seed = o.seed});
  auto const table = ballast::table_of(plan);
  auto const plan_seconds = watch.lap();

  std::int64_t tokens = 0;
  for (auto const& steps : plan.steps.steps) tokens += steps.tokens;
  auto const& f = plan.figures;
  nlohmann::ordered_json json{{"samples", h.samples()},
                              {"tokens", tokens},
                              {"capacity", longest},
                              {"strategy", "levels"},
                              {"packs", plan.figures.packs},
                              {"fill", plan.figures.fill},
                              {"hash", hash_digits(hash_of(table))},
                              {"set_aside", plan.packed.set_aside},
                              {"gpus", arguments.gpus},
                              {"micro_batches", table.micro_batches},
                              {"steps", f.steps},
                              {"modelled_step_ms", f.steps == 0 ? 0.0 : f.seconds * 1e3 / static_cast<double>(f.steps)}};
  add_level_figures(json, choice, plan);
  json["curriculum"] = {
      {"order", arguments.curriculum}, {"warm_up", plan.order.warm_up}, {"steps", plan.order.size()}, {"switches", plan.order.switches()}};
  if (!arguments.out.empty()) {
    auto files = pack_files(table.packs);
    std::array const shape{table.level.size(), static_cast<std::size_t>(table.devices), static_cast<std::size_t>(table.micro_batches)};
    files.push_back(array_file<std::uint32_t>("steps.npy", "<i4", shape, table.table));
    files.push_back(array_file<std::uint32_t>("levels.npy", "<i4", std::array{table.level.size()}, table.level));
    auto const page = page_of(choice, plan, h.samples(), tokens, arguments, on);
    files.push_back({"report.html", {}, page});
    write_plan(arguments.out, files, plan_json(json, plan, arguments, on));
  }
  json["seconds"] = {{"read", read_seconds}, {"plan", plan_seconds}, {"write", watch.lap()}};
  if (arguments.json) return write_standard_output(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  auto text = title_of(arguments.input.files) + ": " + counted(h.samples(), "sample") + ", " +
              counted(static_cast<std::uint64_t>(tokens), "token") + " on " + counted(arguments.gpus, "GPU") + "; " + on.model + " on " +
              on.device + ".\n\n" + in_words(choice, plan);
  text += "Order " + arguments.curriculum + ": " + counted(plan.order.size(), "step") +
          (plan.order.warm_up == 0 ? "" : ", of which the first " + grouped(plan.order.warm_up) + " are a warm-up on the shortest level") +
          "; the level changes " + counted(plan.order.switches(), "time") + ".\n";
  if (auto const aside = plan.packed.set_aside.size(); aside != 0)
    text += counted(aside, "sample") + " longer than the capacity set aside.\n";
  write_standard_output(text);
}

}  // namespace ballast_cli
