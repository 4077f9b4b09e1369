// SPDX-License-Identifier: Apache-2.0
#include "planning/model_plan.hpp"

#include "errors.hpp"
#include "planning/layer_times.hpp"
#include "planning/model_setting.hpp"
#include "planning/stage_plan.hpp"
#include "report/output.hpp"
#include "report/time_parts.hpp"
#include "report/words.hpp"

#include <ballast/core/checked.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/plan/export/describe.hpp>
#include <ballast/plan/training_plan.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

namespace ballast_cli {

namespace {

using ballast::recomputation;

/// Layers that were timed on a micro-batch of `capacity` tokens, by tokens but for the part of any micro-batch: works in nanoseconds of
/// that micro-batch.
[[nodiscard]] rated_layers model_of_layers(layer_table const& table, std::int64_t capacity, ballast::device const& on) {
  constexpr std::int64_t per_ms = 1'000'000;
  if (capacity > std::int64_t{1} << 40) throw bad_input("--capacity: --layers is for micro-batches of up to 2^40 tokens");
  rated_layers out{.layers = {},
                   .rates = {.work_per_ms = per_ms * capacity, .units_per_byte = capacity, .link_bytes_per_ms = on.link_bandwidth / 2000}};
  auto const by_token = [](std::int64_t cost) { return ballast::batch_cost{.per_token = cost}; };
  auto const time = [&](std::int64_t units, std::int64_t once) {
    auto const nanoseconds = [&](std::int64_t of) {
      return static_cast<std::int64_t>(
          ballast::multiply_divide_up(static_cast<std::uint64_t>(of), per_ms, static_cast<std::uint64_t>(table.units_per_1)));
    };
    auto const part = ballast::checked(nanoseconds(once)) * ballast::checked(capacity);  // in units of work, as a whole micro-batch has
    if (!part.fits()) throw bad_input("--layers: a part of any micro-batch, times the tokens of --capacity, reaches 2^63 nanoseconds");
    return ballast::batch_cost{.per_token = nanoseconds(units - once), .per_batch = part.value};
  };
  for (auto const& row : table.layers) {
    ballast::layer made{.name = row.name,
                        .forward = time(row.forward, row.forward_per_batch),
                        .backward = time(row.backward, row.backward_per_batch),
                        .state = row.parameter_bytes,
                        .boundary = by_token(row.boundary_bytes)};
    made.add({.bytes = by_token(row.activation_bytes)});
    made.add({recomputation::full, by_token(row.checkpoint_bytes), made.forward});
    out.layers.push_back(std::move(made));
  }
  return out;
}

/// Milliseconds of a part of the work of all layers: of a token, or of any micro-batch.
[[nodiscard]] double ms_of(rated_layers const& model, std::int64_t ballast::batch_cost::* part) {
  double work = 0;
  for (auto const& l : model.layers) work += static_cast<double>(l.forward.*part) + static_cast<double>(l.backward.*part);
  return work / static_cast<double>(model.rates.work_per_ms);
}

/// A sample costs its tokens, as the layers do; in thousandths of a token where a micro-batch has a cost of its own, which may be small.
[[nodiscard]] timed_cost cost_of_layers(rated_layers const& model, std::string const& name, std::string const& device, double stages) {
  auto const once = ms_of(model, &ballast::batch_cost::per_batch), token = ms_of(model, &ballast::batch_cost::per_token);
  if (once > 0 && token <= 0) throw bad_input("--layers: no part of the times of " + name + " grows with the tokens of a micro-batch");
  ballast::linear_cost const cost{.per_token = once > 0 ? 1000 : 1};
  return {.units = cost,
          .in_range = [cost](std::int64_t length) { return cost.fits(length); },
          .ms_per_unit = token / static_cast<double>(cost.per_token),
          .model = "layers of " + name,
          .device = device,
          .ms_per_micro_batch = once / stages};
}

/// Kernels say themselves what of exchanges is hidden.
[[nodiscard]] std::optional<ballast::hidden_share> hidden_of(rated_layers const& model) {
  return model.devices.mfu ? std::optional(model.rates.hidden) : std::nullopt;
}

/// The work of a token in a forward and backward pass, over that where all parameters are trained: three times the forward pass.
[[nodiscard]] double share_of_passes(rated_layers const& model) {
  std::int64_t forward = 0, backward = 0;
  for (auto const& l : model.layers) {
    forward += l.forward.per_token;
    backward += l.backward.per_token;
  }
  return forward == 0 ? 1.0 : static_cast<double>(forward + backward) / (3.0 * static_cast<double>(forward));
}

[[nodiscard]] std::vector<std::string> layer_names(rated_layers const& model) {
  std::vector<std::string> names;
  for (auto const& layer : model.layers) names.push_back(layer.name);
  return names;
}

/// The layers of each chunk of a stage: first, and one behind the last.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> chunks_of(planned_model const& plan, std::size_t stage) {
  auto const& cuts = plan.runs.planned.stages.partition.boundaries;
  std::vector<std::pair<std::size_t, std::size_t>> chunks;
  for (std::size_t k = 0; k < plan.stage_of.size(); ++k)
    if (plan.stage_of[k] == stage) chunks.emplace_back(cuts[k], cuts[k + 1]);
  return chunks;
}
[[nodiscard]] std::string layers_in_words(planned_model const& plan, std::vector<std::string> const& names, std::size_t stage) {
  std::string text;
  for (auto const& [begin, end] : chunks_of(plan, stage)) text += (text.empty() ? "" : ", ") + span_in_words(names, begin, end);
  return text;
}
[[nodiscard]] std::uint32_t number_of_layers(planned_model const& plan, std::size_t stage) {
  std::size_t sum = 0;
  for (auto const& [begin, end] : chunks_of(plan, stage)) sum += end - begin;
  return static_cast<std::uint32_t>(sum);
}

/// The setting of a language model that is planned.
[[nodiscard]] ballast::training_setting setting_of(rated_layers const& model, ballast::training_options const& options,
                                                   std::uint64_t micro_batches) {
  return {
      .model = *model.setting, .pipeline = options, .sequence = model.capacity, .micro_batches = static_cast<std::int64_t>(micro_batches)};
}

/// The setting of Megatron-LM that is nearest to the plan, and its options.
void add_megatron(planned_model& plan, ballast::training_options const& options, std::uint64_t micro_batches, bool hopper) {
  auto const kinds = kinds_of(layer_names(plan.model));
  auto const& cuts = plan.runs.planned.stages.partition.boundaries;
  if (!std::holds_alternative<ballast::zbv_schedule>(options.schedule))  // whose chunks are on other stages than those of a layout
    plan.layout = ballast::megatron_layout(std::span<std::uint32_t const>(cuts), kinds);
  if (!plan.layout) return;
  auto const& run = plan.runs.planned;
  auto const stages = run.memory.size();
  if (plan.model.setting && plan.model.shape && !plan.model.images) {
    auto by = setting_of(plan.model, options, micro_batches);
    by.boundaries = cuts;
    plan.megatron = ballast::nearest_megatron_recompute(run, *plan.model.shape, by, hopper);
    by.recompute = plan.megatron.setting;
    plan.flags = ballast::megatron_flags(*plan.model.shape, by);
  } else {
    plan.megatron = ballast::nearest_megatron_recompute(run, plan.model.layers, kinds);
    auto& words = plan.flags.words;
    words = {"--pipeline-model-parallel-size", std::to_string(stages), "--pipeline-model-parallel-layout", *plan.layout};
    auto const more = ballast::megatron_recompute_flags(plan.megatron.setting).value_or(std::vector<std::string>{});
    words.insert(words.end(), more.begin(), more.end());
    plan.flags.text = ballast::in_shell(words);
  }
  if (stages != plan.stage_of.size() && !(plan.recompute.empty() && plan.selective.empty()))
    plan.flags.without.push_back("recomputation that differs by chunk");
}

/// Where the time of a mean step goes, with the options that the layers take.
[[nodiscard]] timed_step time_of_plan(planned_model const& plan, ballast::training_options const& options, std::uint64_t micro_batches,
                                      model_on_device const& on) {
  auto const& model = plan.model;
  if (!model.setting || !model.shape) return {.untimed = "measured layers do not say what their kernels take"};
  auto by = setting_of(model, options, micro_batches);
  auto const& stages = plan.runs.planned.stages;
  std::vector<ballast::layer_option> taken;
  if (!model.images) {
    by.boundaries = stages.partition.boundaries;
    for (std::size_t i = 0; i < model.layers.size(); ++i) taken.push_back(model.layers[i].options[stages.option[i]]);
  }
  auto const with = model.devices.time ? *model.devices.time : kernels_of(on, by.model, model.devices.hidden);
  return time_step(*model.shape, by, on, with, plan.runs.planned,
                   model.images ? "the tower and the projector of a model that reads images are not modelled" : "", taken);
}

[[nodiscard]] std::string nearest_in_words(planned_model const& plan) {
  if (plan.stage_of.size() != plan.runs.planned.memory.size()) return "layout alone";
  if (plan.megatron.status != ballast::status::feasible) return no_megatron_setting;
  return "nearest setting: " + loss_in_words(plan.megatron);
}

/// A sentence, if Megatron-LM lacks flags.
[[nodiscard]] std::string without_in_words(planned_model const& plan) {
  std::string text;
  for (auto const& what : plan.flags.without) text += (text.empty() ? "Megatron-LM has no flag for " : ", ") + what;
  return text.empty() ? text : text + ".\n";
}

constexpr double nanoseconds_of_ms = 1e6;
[[nodiscard]] double ms(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / nanoseconds_of_ms; }

}  // namespace

model_input read_model(model_request const& asked, model_on_device const& on, ballast::batching_options const& shape,
                       std::size_t measures) {
  auto const& device = device_of(on.device);
  if (!asked.layers.empty()) {
    auto const table = read_layers_file(asked.layers, false);
    require_bytes(table, asked.layers, "stages fit their devices");
    auto model = model_of_layers(table, shape.capacity, device);
    auto cost = cost_of_layers(model, title_of({asked.layers}), on.device, static_cast<double>(asked.stages));
    return {std::move(model), std::move(cost)};
  }
  auto const known = model_named(on.model);
  auto const images = known.images && measures > 1;
  auto const setting = setting_for(asked.setting, shape.ranks, known.language, on.model);
  auto const by = on.mfu ? setting : overlapping(setting, asked.hidden);
  auto const devices = cluster_of(on, by, asked.hidden);
  auto cost = modelled_cost(on, measures, by, shape.capacity);
  ballast::batch_shape full{
      .tokens = shape.capacity, .squares = shape.capacity * (std::min)(shape.capacity, std::int64_t{4096}), .tiles = 0};
  if (images) full.tiles = (std::max)(full.tokens / known.images->projector.tokens, std::int64_t{1});
  auto chain = images ? ballast::chain_of(*known.images, by, devices, full, (std::max)(asked.stages, std::uint64_t{1}))
                      : ballast::chain_of(known.language, by, devices, full, (std::max)(asked.stages, std::uint64_t{1}));
  rated_layers model{.layers = std::move(chain.layers),
                     .rates = std::move(chain.rates),
                     .devices = devices,
                     .setting = by,
                     .shape = known.language,
                     .capacity = shape.capacity,
                     .images = images};
  cost.stages = static_cast<double>((std::max)(asked.stages, std::uint64_t{1}));
  if (!on.mfu) {
    cost.take({.fine = ballast::chain_cost_of(model.layers, full, model.rates)});
  } else {
    if (!images) cost.ms_per_unit *= share_of_passes(model);
    cost.ms_per_unit /= static_cast<double>(by.spread.tensor * by.spread.context);
    cost.ms_per_micro_batch = ms_of(model, &ballast::batch_cost::per_batch) / cost.stages;
  }
  return {std::move(model), std::move(cost)};
}

planned_model plan_model(model_request const& asked, model_on_device const& on, rated_layers model, ballast::data_plan<> const& data,
                         ballast::usual_batchings<> const& others, std::string const& title) {
  auto const memory = asked.memory.value_or(device_of(on.device).memory_bytes / 10 * 9);
  planned_model out{.schedule = std::visit([](auto const& s) { return std::string(s.name); }, asked.schedule),
                    .model = std::move(model),
                    .runs = {},
                    .stage_of = {},
                    .recompute = {},
                    .selective = {},
                    .layout = {},
                    .megatron = {},
                    .flags = {},
                    .time = {}};
  ballast::training_options const options{.stages = asked.stages, .memory = memory, .schedule = asked.schedule};
  auto const hopper = is_hopper(device_of(on.device));
  out.runs = out.model.setting && out.model.shape && !out.model.images
                 ? ballast::compare_training(data, others, *out.model.shape, setting_of(out.model, options, data.steps.micro_batches),
                                             out.model.devices)
                 : ballast::compare_training(data, others, out.model.layers, options, out.model.rates);
  if (out.runs.planned.status != ballast::status::feasible) {
    auto const& lack = out.runs.planned.shortage;
    auto const chunks = std::visit([](auto const& s) { return s.chunks_per_stage(); }, asked.schedule);
    require_layers(title, out.model.layers.size(), asked.stages, chunks);
    if (chunks > 1)
      throw no_plan(title + ": no cut into " + counted(asked.stages, "stage") + " of " + counted(chunks, "chunk") +
                    (out.runs.planned.status == ballast::status::unknown ? " was found that fits " : " fits ") + many_bytes(memory) +
                    " a device; --schedule 1f1b holds less, and more --memory, stages or recomputation may help");
    auto const estimated = out.model.setting && out.model.setting->framework.count != ballast::tensor_count::table;
    throw no_plan(title + ": no cut into " + counted(asked.stages, "stage") + (estimated ? " was found that fits " : " fits ") +
                  many_bytes(memory) +
                  (estimated ? " a device; about the least, all recomputed that can be: stage "
                             : " a device; at the least, all recomputed that can be, stage ") +
                  std::to_string(lack.stage) + " needs " + many_bytes(lack.needed) + ", " +
                  grouped(static_cast<std::uint64_t>(lack.needed - memory)) + " more");
  }
  for (std::size_t k = 0; k + 1 < out.runs.planned.stages.partition.boundaries.size(); ++k)
    out.stage_of.push_back(std::visit([&](auto const& s) { return s.stage_of(k, asked.stages); }, asked.schedule));
  for (std::size_t i = 0; i < out.model.layers.size(); ++i) {
    auto const& layer = out.model.layers[i];
    auto const again = layer.options[out.runs.planned.stages.option[i]].recomputed;
    if (again != recomputation::none) (again == recomputation::full ? out.recompute : out.selective).push_back(layer.name);
  }
  add_megatron(out, options, data.steps.micro_batches, hopper);
  auto const places = (std::max)(data.steps.steps() * static_cast<std::size_t>(data.steps.ranks), std::size_t{1});  // micro-batches differ
  out.time = time_of_plan(out, options, ballast::divide_up(data.steps.packs.size(), places), on);
  return out;
}

nlohmann::ordered_json limits_json(ballast::time_shares const& of) {
  return {{"work", of.share(of.work)},
          {"recompute", of.share(of.recompute)},
          {"exchange", of.share(of.exchange)},
          {"optimizer", of.share(of.optimizer)},
          {"bubble", of.share(of.bubble)},
          {"waiting", of.share(of.waiting)},
          {"largest_loss", to_string(of.largest_loss())}};
}

nlohmann::ordered_json to_json(planned_model const& plan) {
  auto const& training = plan.runs.planned;
  auto const& cuts = training.stages.partition.boundaries;
  auto memory = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < training.memory.size(); ++s)
    memory.push_back({{"stage", s},
                      {"bytes", training.memory[s].bytes()},
                      {"state", training.memory[s].state},
                      {"activations", training.memory[s].activations},
                      {"budget", training.memory[s].budget}});
  auto const& of = training.shares;
  nlohmann::ordered_json json{{"status", "feasible"},
                              {"setting", nullptr},
                              {"boundaries", cuts},
                              {"stage_of", plan.stage_of},
                              {"bottleneck_ms", ms(training.stages.partition.bottleneck.value)},
                              {"lower_bound_ms", ms(training.stages.partition.bottleneck.lower_bound)},
                              {"recompute", plan.recompute},
                              {"recompute_selective", plan.selective},
                              {"memory", std::move(memory)},
                              {"schedule", plan.schedule},
                              {"bubble", of.share(of.bubble)},
                              {"modelled_step_ms", training.step_ms()},
                              {"end_of_step_ms", ms(training.end_of_step)},
                              {"modelled_run_ms", ms(training.time.value)},
                              {"run_lower_bound_ms", ms(training.time.lower_bound)},
                              {"limits", limits_json(of)},
                              {"time", to_json(plan.time)},
                              {"notes", nlohmann::ordered_json::array()},
                              {"megatron", plan.layout.value_or("")},
                              {"megatron_flags", plan.flags.words},
                              {"megatron_without", plan.flags.without},
                              {"megatron_loss", nullptr},
                              {"deepspeed", nullptr}};
  if (plan.stage_of.size() == training.memory.size()) json["deepspeed"] = cuts;
  if (plan.model.setting) json["setting"] = to_json(*plan.model.setting, hidden_of(plan.model));
  if (plan.layout && plan.megatron.status == ballast::status::feasible) json["megatron_loss"] = plan.megatron.bottleneck.gap();
  if (auto const why = untold_in_words(plan.time); !why.empty()) json["notes"].push_back(why);
  return json;
}

std::string in_words(planned_model const& plan) {
  auto const& training = plan.runs.planned;
  auto const& cut = training.stages.partition;
  auto text = "\n" + counted(plan.model.layers.size(), "layer") + " in " + counted(training.memory.size(), "stage") + " under " +
              plan.schedule + ", " + many_bytes(training.memory.front().budget) + " a device; the slowest stage takes " +
              duration(ms(cut.bottleneck.value)) + " for a mean micro-batch, and " +
              (cut.bottleneck.optimal() ? std::string("no plan takes less")
                                        : "no plan takes less than " + duration(ms(cut.bottleneck.lower_bound))) +
              ".\n";
  if (plan.model.setting) {
    text += in_words(*plan.model.setting, hidden_of(plan.model));
    if (plan.model.setting->moved != ballast::offload::none)
      text += "The way of states from and to host memory takes no time here: a step is too short.\n";
  }
  text += "\n";
  auto const names = layer_names(plan.model);
  std::vector<stage_line> lines;
  for (std::size_t s = 0; s < training.memory.size(); ++s) {
    auto const& of = training.stages.figures[s];
    lines.push_back({layers_in_words(plan, names, s), number_of_layers(plan, s), duration(ms(of.time + of.added)),
                     many_bytes(training.memory[s].bytes()) + "  " + many_bytes(training.memory[s].state)});
  }
  text += stage_table(lines, "memory at its peak    of which states");
  text += "\n" + list_in_words("Recomputed: ", plan.recompute) + list_in_words("Recomputed in part: ", plan.selective);
  if (!training.steps.empty())
    text += "By its timelines a step takes " + duration(training.step_ms()) + ", all take " + duration(ms(training.time.value)) +
            "; no order of the same work takes less than " + duration(ms(training.time.lower_bound)) + ".\n";
  if (training.end_of_step > 0)
    text += "A step ends with " + duration(ms(training.end_of_step)) +
            " in which gradients and parameters are exchanged and the optimiser runs.\n";
  for (auto const& sentence : describe(training)) text += sentence + "\n";
  if (plan.layout) text += "Megatron-LM (" + nearest_in_words(plan) + "):\n  " + plan.flags.text + "\n";
  text += without_in_words(plan);
  if (!plan.model.images) return text;
  if (!plan.layout) text += towers_in_first_stage + std::string(", and has no such cut.\n");
  return plan.stage_of.size() == training.memory.size() ? text + deepspeed_in_words(cut.boundaries) : text;
}

report_model page_of_stages(ballast::training_plan const& training, std::string schedule, std::vector<std::uint64_t> const& stage_of,
                            std::vector<report_stage> stages) {
  auto const& of = training.shares;
  report_model out{.schedule = std::move(schedule),
                   .stages = std::move(stages),
                   .work = of.share(of.work),
                   .recompute = of.share(of.recompute),
                   .exchange = of.share(of.exchange),
                   .optimizer = of.share(of.optimizer),
                   .bubble = of.share(of.bubble),
                   .waiting = of.share(of.waiting),
                   .step = training.slowest_step,
                   .rank = training.slowest_rank,
                   .micro_batches = training.works.size() / stage_of.size(),
                   .step_ms = ms(training.timeline.makespan.value),
                   .step_waits = training.timeline.bubble(),
                   .tasks = {},
                   .notes = describe(training),
                   .megatron = {}};
  for (std::size_t s = 0; s < out.stages.size(); ++s) {
    auto& stage = out.stages[s];
    stage.ms = ms(training.stages.figures[s].time + training.stages.figures[s].added);
    stage.busy_ms = training.steps.empty() ? 0 : ms(training.timeline.stages[s].busy);
    stage.memory = static_cast<std::uint64_t>(training.memory[s].bytes());
    stage.budget = static_cast<std::uint64_t>(training.memory[s].budget);
  }
  for (auto const& e : training.timeline.events) {
    auto const& work = training.works[e.micro_batch * stage_of.size() + e.virtual_stage];
    auto const backward = e.pass == ballast::pipeline_pass::backward || e.pass == ballast::pipeline_pass::backward_input;
    auto const again = backward ? work.recompute : 0;
    if (again > 0) out.tasks.push_back({e.stage, ms(e.start), ms(e.start + again), report_task::recompute});
    out.tasks.push_back({e.stage, ms(e.start + again), ms(e.end),
                         backward                                    ? report_task::backward
                         : e.pass == ballast::pipeline_pass::forward ? report_task::forward
                                                                     : report_task::weight});
  }
  return out;
}

report_model on_page(planned_model const& plan, std::string const& others) {
  auto const& training = plan.runs.planned;
  auto const names = layer_names(plan.model);
  std::vector<report_stage> stages;
  for (std::size_t s = 0; s < training.memory.size(); ++s) {
    stages.push_back({.layers = layers_in_words(plan, names, s), .number = number_of_layers(plan, s)});
    for (auto const& [begin, end] : chunks_of(plan, s))
      for (auto i = begin; i < end; ++i) stages.back().recomputed += training.stages.option[i] != 0 ? 1U : 0U;
  }
  auto out = page_of_stages(training, plan.schedule, plan.stage_of, std::move(stages));
  if (plan.layout) {
    out.megatron = plan.flags.text;
    out.notes.push_back("Recomputation in Megatron-LM, " + nearest_in_words(plan) + ".");
  }
  out.splits = {on_page(plan.time, others)};
  if (auto const why = untold_in_words(plan.time); !why.empty()) out.notes.push_back("Note: " + why + ".");
  return out;
}

}  // namespace ballast_cli
