// SPDX-License-Identifier: Apache-2.0
#include "commands/check.hpp"
#include "errors.hpp"
#include "nearest.hpp"
#include "planning/layer_times.hpp"
#include "planning/stage_plan.hpp"
#include "readers/file_bytes.hpp"
#include "readers/layers.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include <ballast/partition/check.hpp>
#include <ballast/partition/second_objective.hpp>
#include <ballast/pipeline/simulate.hpp>
#include <ballast/recompute/check.hpp>
#include <ballast/recompute/choose.hpp>
#include <ballast/staging/check.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

// Stages of a pipeline, and selections of what layers recompute or send to the host, against the layers that they are made for.

namespace ballast_cli {

namespace {

/// Stages and choices, with what their layers may do.
struct given_layers {
  layer_table table;
  std::string name;  ///< of the file that is checked
  std::vector<layer_options> ways;
  std::vector<std::uint32_t> option;      ///< that each layer takes
  std::vector<std::uint64_t> boundaries;  ///< empty for a selection
  bool chosen = false;                    ///< whether any layer does other than keep

  [[nodiscard]] bad_input refusal(std::string const& what, std::string const& why) const {
    return bad_input(name + ": not " + what + ": " + why);
  }
};

/// The boundaries of stages that are said layer by layer.
[[nodiscard]] std::vector<std::uint64_t> boundaries_as_said(stages_of_layers const& given, std::vector<std::size_t> const& said_in,
                                                            given_layers const& of) {
  std::vector<std::uint64_t> out{0};
  for (std::size_t i = 0; i < said_in.size(); ++i) {
    auto const& layer = of.table.layers[i].name;
    if (said_in[i] == given.layers.size())
      throw of.refusal("valid stages", "layer " + printable(layer) + " has no stage: name every layer of the file of layers");
    auto const& said = given.layers[said_in[i]];
    auto const current = std::uint64_t{out.size() - 1};
    if (said.stage != current && !(i > 0 && said.stage == current + 1))
      throw bad_input(said.place + ": layer " + printable(layer) + " is in stage " + std::to_string(said.stage) +
                      ", and in the order of the layers it is in stage " + std::to_string(current) +
                      (i > 0 ? " or " + std::to_string(current + 1) : ""));
    if (said.stage != current) out.push_back(i);
  }
  out.push_back(said_in.size());
  return out;
}

/// Finds the layers that are named. Throws bad_input.
[[nodiscard]] given_layers match_layers(check_arguments const& arguments, stages_of_layers const& given) {
  auto const& file = arguments.input.files.back();
  given_layers out{.table = read_layers_file(file, arguments.offload.bytes_per_1 != 0),
                   .name = shown_name(arguments.input.files.front()),
                   .ways = {},
                   .option = {},
                   .boundaries = given.boundaries};
  std::unordered_map<std::string_view, std::size_t> number;
  for (auto const& row : out.table.layers) {
    number.emplace(row.name, out.ways.size());
    out.ways.push_back(options_of(row, arguments.offload, out.table));
  }
  out.option.resize(out.ways.size());
  std::vector<std::size_t> said_in(out.ways.size(), given.layers.size());
  for (std::size_t k = 0; k < given.layers.size(); ++k) {
    auto const& said = given.layers[k];
    auto const found = number.find(said.name);
    if (found == number.end())
      throw bad_input(said.place + ": " + shown_name(file) + " has no layer " + printable(said.name) +
                      did_you_mean(said.name, names_of(out.table)));
    auto const i = found->second;
    if (said_in[i] != given.layers.size())
      throw bad_input(said.place + ": layer " + printable(said.name) + " is named a second time, first at " +
                      given.layers[said_in[i]].place);
    said_in[i] = k;
    if (said.choice == layer_choice::keep) continue;
    auto const again = said.choice == layer_choice::recompute;
    auto const option = again ? out.ways[i].recompute : out.ways[i].offload;
    if (option == 0 && out.table.layers[i].activation_bytes > 0)
      throw bad_input(said.place + ": layer " + printable(said.name) +
                      (again ? " has nothing to recompute: its checkpoint_bytes are not below its activation_bytes"
                             : " cannot be sent to the host: --offload says what the link moves"));
    out.option[i] = static_cast<std::uint32_t>(option);
    out.chosen = true;
  }
  if (given.staged) out.boundaries = boundaries_as_said(given, said_in, out);
  return out;
}

[[nodiscard]] nlohmann::ordered_json layers_score_json(ballast::certificate const& score, layer_table const& table) {
  return {{"value", in_unit(score.value, table)},
          {"lower_bound", in_unit(score.lower_bound, table)},
          {"gap", score.lower_bound == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(score.gap())},
          {"optimal", score.optimal()}};
}

/// "; no cut takes less: this one is optimal", or by how much some might.
[[nodiscard]] std::string best_of_such_plans(ballast::certificate const& score, layer_table const& table) {
  if (score.optimal()) return "no such plan takes less (proof): this one is optimal.\n";
  return "no such plan takes less than " + shown(score.lower_bound, table) + " (proof)" +
         (score.lower_bound == 0 ? ".\n" : ": this one is at most " + percent_up(score.gap()) + " above the best possible.\n");
}

/// What each stage does for a micro-batch, with what its layers recompute.
[[nodiscard]] std::vector<ballast::stage_work> works_of_stages(given_layers const& of, std::span<std::uint64_t const> cuts,
                                                               std::span<std::uint32_t const> option, bool splits) {
  std::vector<ballast::stage_work> out(cuts.size() - 1);
  for (std::size_t s = 0; s < out.size(); ++s) {
    for (auto i = static_cast<std::size_t>(cuts[s]); i < cuts[s + 1]; ++i) {
      out[s].forward += of.table.layers[i].forward;
      out[s].backward += of.table.layers[i].backward;
      out[s].recompute += of.ways[i].options[option[i]].time;
    }
    if (!splits) continue;  // the file does not say it: halves
    out[s].weight = out[s].backward / 2;
    out[s].backward -= out[s].weight;
  }
  return out;
}

/// A cut with its choices, as it is scored: for a micro-batch, and for a step if its micro-batches are known.
struct scored_stages {
  ballast::certificate bottleneck;
  std::vector<std::int64_t> memory;  ///< bytes by stage; empty without micro-batches
  std::optional<ballast::pipeline_timeline> step;

  void simulate(given_layers const& of, std::span<std::uint64_t const> cuts, std::span<std::uint32_t const> option,
                ballast::any_schedule const& schedule, std::uint64_t micro_batches) {
    for (std::size_t i = 0; i < option.size(); ++i)
      if (option[i] != 0 && option[i] == of.ways[i].offload) return;  // transfers are no part of the simulation
    auto const works = works_of_stages(of, cuts, option, std::visit([](auto const& s) { return s.splits_backward; }, schedule));
    step = ballast::simulate_pipeline(schedule, {.stages = works.size(), .micro_batches = micro_batches},
                                      [&](std::uint64_t s, std::uint64_t) { return works[static_cast<std::size_t>(s)]; });
  }
  [[nodiscard]] nlohmann::ordered_json to_json(layer_table const& table) const {
    auto out = layers_score_json(bottleneck, table);
    if (!memory.empty()) {
      out["memory"] = nlohmann::ordered_json::array();
      for (auto const bytes : memory) out["memory"].push_back(stage_bytes_json(bytes, table));
    }
    if (!step) return out;
    out["makespan"] = in_unit(step->makespan.value, table);
    out["makespan_lower_bound"] = in_unit(step->makespan.lower_bound, table);
    out["bubble"] = step->bubble();
    return out;
  }
  [[nodiscard]] std::string step_in_words(layer_table const& table) const {
    return step ? shown(step->makespan.value, table) + ", of which stages wait " + percent_up(step->bubble()) : std::string();
  }
};

/// The figures of given stages, as `plan_stages` has them. `held`: micro-batches of each stage, or empty.
[[nodiscard]] ballast::joint_stages<std::uint64_t> joint_of(given_layers const& of, std::vector<std::uint64_t> const& held,
                                                            std::int64_t overlap) {
  ballast::joint_stages<std::uint64_t> out;
  out.partition.status = ballast::status::feasible;
  out.partition.boundaries = of.boundaries;
  out.option = of.option;
  for (std::size_t s = 0; s + 1 < of.boundaries.size(); ++s) {
    auto& figures = out.figures.emplace_back();
    for (auto i = static_cast<std::size_t>(of.boundaries[s]); i < of.boundaries[s + 1]; ++i) {
      auto const& row = of.table.layers[i];
      auto const& taken = of.ways[i].options[of.option[i]];
      figures.time += row.forward + row.backward;
      figures.added += taken.time;
      figures.transfer += taken.transfer;
      figures.state += row.parameter_bytes;
      figures.activations += taken.memory;
    }
    auto const hidden = figures.time / 100 * overlap + figures.time % 100 * overlap / 100;
    figures.added += (std::max)(figures.transfer - hidden, std::int64_t{0});
    figures.memory = ballast::stage_bytes(figures.state, 0, figures.activations, held.empty() ? 1 : held[s]);
    out.partition.bottleneck.value = (std::max)(out.partition.bottleneck.value, figures.time + figures.added);
  }
  return out;
}

/// The sentence of a rule that a cut breaks, with what mends it.
[[nodiscard]] std::string broken_cut(ballast::verdict const& v, std::size_t layers, std::uint64_t stages) {
  using broken = ballast::partition_fault;
  if (v.fault == broken::too_few_layers) return "stage " + std::to_string(v.index) + " has no layer: give it one, or cut into fewer stages";
  return describe(v) + "; " + counted(stages, "stage") + " of " + counted(layers, "layer") + " have " + counted(stages + 1, "boundary") +
         " from 0 to " + std::to_string(layers);
}

}  // namespace

void check_stages(check_arguments const& arguments, stages_of_layers const& given) {
  auto const& file = arguments.input.files.back();
  auto const of = match_layers(arguments, given);
  auto const& table = of.table;
  auto const n = table.layers.size();
  if (of.boundaries.size() < 2)
    throw of.refusal("valid stages", "it has one boundary; a stage lies between two, as in 0," + std::to_string(n));
  auto const stages = std::uint64_t{of.boundaries.size() - 1};
  std::vector<std::int64_t> time;
  for (auto const& l : table.layers) time.push_back(l.forward + l.backward);
  if (auto const v = ballast::check_partition(std::span<std::uint64_t const>(of.boundaries), time, {.stages = stages}); !v.valid())
    throw of.refusal("valid stages", broken_cut(v, n, stages));
  if (arguments.memory && !arguments.asked.micro_batches)
    throw bad_input("--memory requires --micro-batches, which decide how many activations a stage holds");
  if (of.chosen && !arguments.memory)
    throw bad_input(of.name + ": says what layers recompute or send to the host; --memory and --micro-batches say for which budget");
  auto const micro_batches = static_cast<std::uint64_t>(arguments.asked.micro_batches.value_or(0));
  if (arguments.schedule && micro_batches == 0) throw bad_input("--schedule requires --micro-batches");
  ballast::any_schedule const schedule = arguments.schedule.value_or(ballast::one_f_one_b_schedule{});
  constexpr auto most_works = std::uint64_t{1} << 26;
  if (micro_batches > most_works / stages)
    throw bad_input("--micro-batches " + std::to_string(micro_batches) + ": more than 2^26 forwards in " + counted(stages, "stage") +
                    " are too many to simulate");
  auto const held = micro_batches == 0 ? std::vector<std::uint64_t>{} : ballast::held_by_stage(schedule, stages, micro_batches);
  auto const joint = joint_of(of, held, arguments.offload.overlap);

  scored_stages score{.bottleneck = joint.partition.bottleneck, .memory = {}, .step = {}}, ours;
  std::vector<std::uint64_t> own_cuts;
  std::vector<std::uint32_t> own_option(n);
  if (arguments.memory) {
    require_bytes(table, file, "--memory decides what is recomputed");
    for (std::size_t s = 0; s < stages; ++s)
      if (joint.figures[s].memory > *arguments.memory)
        throw of.refusal("valid stages", "stage " + std::to_string(s) + " holds " + many_bytes(joint.figures[s].memory) + " in " +
                                             counted(held[s], "micro-batch") + ", more than --memory " + many_bytes(*arguments.memory) +
                                             ": recompute more of its layers, or move one to a neighbour");
    auto const plan = plan_memory(table, held, {file, *arguments.memory, arguments.offload}, kinds_of(names_of(table)));
    ours.bottleneck = plan.joint.partition.bottleneck;
    own_cuts.assign(plan.joint.partition.boundaries.begin(), plan.joint.partition.boundaries.end());
    own_option = plan.joint.option;
    for (auto const& s : plan.joint.figures) ours.memory.push_back(s.memory);
  } else {
    auto const plan = ballast::least_squares_partition<std::uint64_t>(time, {.stages = stages}).partition;
    ours.bottleneck = plan.bottleneck;
    own_cuts = plan.boundaries;
  }
  score.bottleneck.lower_bound = ours.bottleneck.lower_bound;
  if (micro_batches != 0) {
    for (auto const& s : joint.figures) score.memory.push_back(s.memory);
    score.simulate(of, of.boundaries, of.option, schedule, micro_batches);
    ours.simulate(of, own_cuts, own_option, schedule, micro_batches);
  }
  if (arguments.json) {
    nlohmann::ordered_json json{{"kind", "stages"}, {"layers", n}, {"stages", stages}};
    json.update(score.to_json(table));
    json["ballast"] = ours.to_json(table);
    json["ballast"]["boundaries"] = own_cuts;
    return print_json(json);
  }
  auto text = "Valid: every layer is in one stage" + (arguments.memory ? std::string(", and every stage fits in its memory.\n") : ".\n") +
              "These stages: " + counted(n, "layer") + " in " + counted(stages, "stage") + "; the slowest takes " +
              shown(score.bottleneck.value, table) + " for a micro-batch; " + best_of_such_plans(score.bottleneck, table) +
              scale_in_words(table);
  if (score.step) text += "A step of " + counted(micro_batches, "micro-batch") + " takes " + score.step_in_words(table) + ".\n";
  text += "ballast partition reaches " + shown(ours.bottleneck.value, table) +
          (ours.step ? ", and a step of it takes " + ours.step_in_words(table) : std::string()) + ".\n";
  write_standard_output(text);
}

void check_choices(check_arguments const& arguments, stages_of_layers const& given) {
  if (!arguments.budget) throw bad_input("--budget is required for a selection: the bytes that all layers may hold of one micro-batch");
  auto const& file = arguments.input.files.back();
  auto const of = match_layers(arguments, given);
  auto const& table = of.table;
  require_bytes(table, file, "a selection is scored");
  ballast::option_classes items;
  std::int64_t all = 0;
  ballast::selection chosen;
  chosen.status = ballast::status::feasible;
  for (std::size_t i = 0; i < of.ways.size(); ++i) {
    items.add(of.ways[i].options);
    for (std::size_t k = 0; k < of.ways[i].options.size(); ++k) chosen.copies.push_back(k == of.option[i] ? 1 : 0);
    auto const& taken = of.ways[i].options[of.option[i]];
    chosen.memory += taken.memory;
    chosen.transfer += taken.transfer;
    chosen.time.value += taken.time;
    all += table.layers[i].forward + table.layers[i].backward;
  }
  auto const overlap = arguments.offload.overlap;
  ballast::selection_options const options{.budget = *arguments.budget, .hidden_transfer = all / 100 * overlap + all % 100 * overlap / 100};
  chosen.time.value += (std::max)(chosen.transfer - options.hidden_transfer, std::int64_t{0});
  if (chosen.memory > options.budget)
    throw of.refusal("a valid selection", "its layers hold " + many_bytes(chosen.memory) + ", more than --budget " +
                                              many_bytes(options.budget) + ": recompute more of them");
  auto const ours = ballast::choose_options(ballast::fold(items).classes, options);
  chosen.time.lower_bound = ours.time.lower_bound;
  if (auto const v = check_selection(chosen, items, options); !v.valid()) throw of.refusal("a valid selection", describe(v));
  if (arguments.json) {
    nlohmann::ordered_json json{{"kind", "selection"}, {"layers", of.ways.size()}};
    json.update(layers_score_json(chosen.time, table));
    json["memory"] = chosen.memory;
    json["budget"] = options.budget;
    json["ballast"] = layers_score_json(ours.time, table);
    json["ballast"]["memory"] = ours.memory;
    return print_json(json);
  }
  auto const again = static_cast<std::uint64_t>(std::ranges::count_if(of.option, [](auto k) { return k != 0; }));
  write_standard_output("Valid: every layer does one thing, and all of them hold " + many_bytes(chosen.memory) + " of " +
                        many_bytes(options.budget) + ".\nThis selection: " + counted(of.ways.size(), "layer") + ", of which " +
                        grouped(again) + " do not keep their activations; this adds " + shown(chosen.time.value, table) + " to " +
                        shown(all, table) + "; " + best_of_such_plans(chosen.time, table) + scale_in_words(table) +
                        "ballast recompute adds " + shown(ours.time.value, table) + ".\n");
}

}  // namespace ballast_cli
