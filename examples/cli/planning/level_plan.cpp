// SPDX-License-Identifier: Apache-2.0
#include "planning/level_plan.hpp"

#include "report/output.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace ballast_cli {

namespace {

[[nodiscard]] std::string ratio(double value) { return formatted("%.4f", value); }

[[nodiscard]] nlohmann::ordered_json figures_of(ballast::level_figures const& f) {
  return {{"packs", f.packs},         {"fill", f.fill},       {"steps", f.steps}, {"cr", f.communication_ratio},
          {"abr", f.attention_ratio}, {"dbr", f.token_ratio}, {"idle", f.idle},   {"modelled_seconds", f.seconds}};
}

}  // namespace

compared_plan plan_choice(std::span<std::int64_t const> lengths, level_choice const& choice, ballast::level_options options) {
  compared_plan out{plan_of(lengths, choice, options), {}};
  if (choice.rule == level_rule::hbp) {
    options.fill = ballast::level_fill::always;
    out.usual = ballast::compare_levels(lengths, out, options, ballast::attention_only);
  } else {
    out.usual = ballast::compare_levels(lengths, out, options);
  }
  return out;
}

std::vector<report_level> levels_of(ballast::level_plan<> const& plan) {
  std::vector<report_level> out;
  std::int64_t all = 0;
  std::vector<std::int64_t> tokens;
  for (auto const& steps : plan.steps.steps) {
    tokens.push_back(steps.tokens);
    all += steps.tokens;
  }
  for (std::size_t i = 0; i < plan.levels.size(); ++i) {
    auto const& at = plan.levels[i].setting;
    auto const& steps = plan.steps.steps[i];
    auto const packs = static_cast<std::uint64_t>(
        std::count_if(steps.table.begin(), steps.table.end(), [&](auto p) { return p != ballast::batching<>::none; }));
    out.push_back(
        {.length = static_cast<std::uint64_t>(at.capacity),
         .sp = at.sp,
         .recomputed_layers = at.recomputed_layers,
         .ranks = steps.ranks,
         .micro_batches = steps.micro_batches,
         .packs = packs,
         .steps = steps.steps(),
         .fill = packs == 0 ? 0.0 : static_cast<double>(tokens[i]) / (static_cast<double>(at.capacity) * static_cast<double>(packs)),
         .share = all == 0 ? 0.0 : static_cast<double>(tokens[i]) / static_cast<double>(all)});
  }
  return out;
}

void add_level_figures(nlohmann::ordered_json& json, level_choice const& choice, compared_plan const& plan) {
  auto& levels = json["levels"] = nlohmann::ordered_json::array();
  auto const shown = levels_of(plan);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    auto const& l = shown[i];
    auto const& t = plan.levels[i].time;
    levels.push_back({{"length", l.length},
                      {"sp", l.sp},
                      {"recomputed_layers", l.recomputed_layers},
                      {"share", l.share},
                      {"packs", l.packs},
                      {"fill", l.fill},
                      {"steps", l.steps},
                      {"ranks", l.ranks},
                      {"micro_batches", l.micro_batches},
                      {"picoseconds", {{"pack", t.per_pack}, {"token", t.per_token}, {"square", t.per_square}}}});
  }
  auto const& f = plan.figures;
  json["cr"] = f.communication_ratio;
  json["abr"] = f.attention_ratio;
  json["rule"] = choice.rule == level_rule::given ? "given" : level_rules[static_cast<std::size_t>(choice.rule)].word;
  json["modelled_speedup"] = plan.figures.speedup_over(plan.usual.naive);
  if (choice.time) {
    auto const seconds = [&](std::int64_t device_ns) {
      return static_cast<double>(device_ns) / 1e9 / static_cast<double>(plan.steps.steps[0].ranks * plan.steps.levels[0].sp);
    };
    json["at_volume"] = {{"candidates", choice.candidates},
                         {"modelled_seconds", seconds(choice.time->value)},
                         {"lower_bound", seconds(choice.time->lower_bound)},
                         {"gap", choice.time->gap()},
                         {"optimal", choice.time->optimal()}};
  }
  json["planned"] = figures_of(plan.figures);
  json["one_level"] = figures_of(plan.usual.one_level);
  json["naive"] = figures_of(plan.usual.naive);
}

std::vector<std::string> limits_in_words(level_choice const& choice, ballast::level_plan<> const& plan) {
  std::vector<std::string> out;
  if (!choice.time) return out;
  auto const among = grouped(choice.candidates) + " candidate settings";
  out.push_back(choice.time->optimal() ? "With full packs and balanced ranks no choice of " +
                                             (choice.most_levels == 0 ? "" : "at most " + grouped(choice.most_levels) + " ") +
                                             "levels among " + among + " takes less time (proof: all are compared)."
                                       : "With full packs and balanced ranks the best choice of levels among " + among +
                                             " takes less time: these take up to " + percent_up(choice.time->gap()) + " more.");
  auto const devices = static_cast<double>(plan.steps.steps[0].ranks * plan.steps.levels[0].sp);
  if (auto const least = static_cast<double>(choice.time->value) / 1e9 / devices; plan.figures.seconds > least)
    out.push_back("Packs that are not full and ranks that wait add " + percent_up(plan.figures.seconds / least - 1) + ".");
  return out;
}

std::string in_words(level_choice const& choice, compared_plan const& plan) {
  std::string text = "      length    SP  recomputed  share of tokens      packs      fill     steps  ranks x micro-batches\n";
  for (auto const& l : levels_of(plan))
    text += formatted("%12s %5s %11s %16s %10s %9s %9s %22s\n", grouped(l.length).c_str(), grouped(l.sp).c_str(),
                      grouped(l.recomputed_layers).c_str(), percent(l.share).c_str(), grouped(l.packs).c_str(), percent(l.fill).c_str(),
                      grouped(l.steps).c_str(), (grouped(l.ranks) + " x " + grouped(l.micro_batches)).c_str());
  text += "\n               packs     steps      fill      idle     ABR      CR        a step          all\n";
  for (auto const& r : plans_of(plan)) {
    auto const& f = r.name == "planned" ? plan.figures : r.name == "naive" ? plan.usual.naive : plan.usual.one_level;
    text += formatted("%-9s %10s %9s %9s %9s %7s %7s %13s %12s\n", r.name.c_str(), grouped(r.packs).c_str(), grouped(r.steps).c_str(),
                      percent(r.fill).c_str(), percent(r.idle).c_str(), ratio(r.abr).c_str(), ratio(f.communication_ratio).c_str(),
                      duration(r.modelled_step_ms).c_str(), duration(r.modelled_hours * 3.6e6).c_str());
  }
  text += "\n";
  for (auto const& r : plans_of(plan)) text += r.name + ": " + r.how + ". ";
  text += "Times are modelled.\nModelled, the plan is " + formatted("%.3f", plan.figures.speedup_over(plan.usual.naive)) +
          " times as fast as naive, " + formatted("%.3f", plan.figures.speedup_over(plan.usual.one_level)) +
          " times as fast as one level.\n";
  for (auto const& sentence : limits_in_words(choice, plan)) text += sentence + "\n";
  return text;
}

std::vector<report_plan> plans_of(compared_plan const& plan) {
  auto const shown = [](std::string name, std::string how, ballast::level_figures const& f) {
    report_plan out{.name = std::move(name),
                    .how = std::move(how),
                    .packs = f.packs,
                    .steps = f.steps,
                    .fill = f.fill,
                    .idle = f.idle,
                    .slowest_over_mean = f.idle < 1 ? 1 / (1 - f.idle) : 1.0,
                    .dbr = f.token_ratio,
                    .abr = f.attention_ratio,
                    .modelled_step_ms = f.steps == 0 ? 0.0 : f.seconds * 1e3 / static_cast<double>(f.steps),
                    .modelled_hours = f.seconds / 3600,
                    .loads = {}};
    for (auto const load : f.loads) out.loads.push_back(static_cast<double>(load) / 1e6);
    return out;
  };
  auto const longest = grouped(static_cast<std::uint64_t>(plan.levels.back().setting.capacity));
  return {shown("naive", "all samples in packs of " + longest + ", in random steps, the baseline of HBP", plan.usual.naive),
          shown("one level", "the same packs, similar ones share a step", plan.usual.one_level),
          shown("planned", "packs by level, similar ones share a step", plan.figures)};
}

}  // namespace ballast_cli
