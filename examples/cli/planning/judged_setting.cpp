// SPDX-License-Identifier: Apache-2.0
#include "planning/judged_setting.hpp"

#include "errors.hpp"
#include "planning/model_plan.hpp"
#include "planning/model_setting.hpp"
#include "planning/stage_plan.hpp"
#include "readers/trainer_keys.hpp"
#include "report/memory_parts.hpp"
#include "report/output.hpp"
#include "report/time_parts.hpp"
#include "report/words.hpp"

#include <ballast/core/math.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/search_degrees.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

namespace ballast_cli {

namespace {

[[nodiscard]] double ms_of(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e6; }

[[nodiscard]] std::string schedule_name(imported_setting const& of) {
  return std::visit([](auto const& s) { return std::string(s.name); }, of.setting.pipeline.schedule);
}

[[nodiscard]] std::string again_in_words(ballast::recompute_setting const& by) {
  using enum ballast::recompute_setting::kind;
  auto const layers = std::to_string(by.layers);
  switch (by.what) {
    case none: return "Nothing is recomputed";
    case modules: return "All layers recompute " + to_string(by.modules);
    case block: return "The first " + counted(static_cast<std::uint64_t>(by.layers), "layer") + " of each chunk of a stage are recomputed";
    case uniform: return by.layers == 1 ? std::string("All layers are recomputed") : "All layers are recomputed, in units of " + layers;
    case alternate: return "Every layer whose number is a multiple of " + layers + " is recomputed";
    case products: return "Every second matrix product is recomputed";
  }
  return {};
}

[[nodiscard]] std::vector<std::string> names_in(judged_setting const& of) {
  std::vector<std::string> names;
  for (auto const& layer : ballast::layers_of(of.given.model, of.given.setting.model)) names.push_back(layer.name);
  return names;
}

/// The chunks of a stage as spans of layers.
[[nodiscard]] stage_line line_of(judged_setting const& of, std::vector<std::string> const& names, std::size_t stage) {
  auto const& by = of.given.setting;
  auto const& cuts = of.judged.stages.partition.boundaries;
  stage_line out{.layers = {}, .number = 0, .time = {}, .memory = {}};
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    if (std::visit([&](auto const& s) { return s.stage_of(k, by.pipeline.stages); }, by.pipeline.schedule) != stage) continue;
    if (cuts[k] == cuts[k + 1]) continue;
    out.layers += (out.layers.empty() ? "" : ", ") + span_in_words(names, cuts[k], cuts[k + 1]);
    out.number += cuts[k + 1] - cuts[k];
  }
  auto const& figures = of.judged.stages.figures[stage];
  auto const& memory = of.judged.memory[stage];
  out.time = duration(ms_of(figures.time + figures.added));
  out.memory = many_bytes(memory.bytes()) + "  " + many_bytes(memory.state) + (memory.bytes() > memory.budget ? "  too much" : "");
  return out;
}

/// The states of the other models, and of copies that train, on the device that has most of them.
[[nodiscard]] std::vector<role_memory> memory_of_roles(imported_setting const& given) {
  std::vector<role_memory> out;
  for (auto const& role : given.roles) {
    auto by = role.of.setting;
    by.pipeline.memory = std::int64_t{1} << 50;
    std::int64_t most = 0;
    if (role.role.starts_with(trained_copy)) {  // with what is gathered or sent beside the states
      for (auto const& stage : ballast::memory_of(role.of.model, by)) most = (std::max)(most, stage.states + stage.gathered);
      out.push_back({.role = role.role, .bytes = most, .resident = role.resident});
      continue;
    }
    for (auto const& stage : judge_setting(role.of.model, by, ballast::cluster{}).memory) most = (std::max)(most, stage.state);
    out.push_back({.role = role.role, .bytes = most, .resident = role.resident});
  }
  return out;
}

[[nodiscard]] std::string roles_in_words(judged_setting const& of) {
  std::string text;
  for (auto const& role : of.roles)
    text += "The " + role.role + (role.role.starts_with(trained_copy) ? " takes " : " model takes ") + many_bytes(role.bytes) +
            " of a device" +
            (role.resident ? " all the time, which the budget here is without.\n"
                           : " while it runs, and nothing while the first model trains.\n");
  return text;
}

/// Whether it fits, and the stage that needs most.
[[nodiscard]] std::string fit_in_words(judged_setting const& of) {
  auto const& is = of.judged;
  auto const most =
      std::max_element(is.memory.begin(), is.memory.end(), [](auto const& a, auto const& b) { return a.bytes() < b.bytes(); });
  auto const stage = std::to_string(most - is.memory.begin());
  if (is.status == ballast::status::feasible)
    return "It fits: stage " + stage + " needs most, " + many_bytes(most->bytes()) + " of " + many_bytes(most->budget) + ".";
  return "It does not fit: stage " + stage + " needs " + many_bytes(most->bytes()) + ", " + many_bytes(most->bytes() - most->budget) +
         " more than the " + many_bytes(most->budget) + " of a device; " +
         (most->state > most->budget ? "its states alone are too many" : "its activations are too many") + ".";
}

[[nodiscard]] std::string joined(std::vector<std::string> const& words) {
  std::string text;
  for (auto const& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Keys without which memory and time are judged.
[[nodiscard]] std::string doubt_in_words(judged_setting const& of) {
  auto const& keys = of.given.passed.doubtful;
  return keys.empty()
             ? ""
             : "Memory may be wrong: " + joined(keys) + (keys.size() == 1 ? " is" : " are") + " not known here, and judged without.\n";
}

/// The time at a share of the peak.
[[nodiscard]] std::string share_in_words(judged_setting const& of) {
  auto const& is = of.judged;
  return (of.mfu ? formatted("At %.4g %% of the 16-bit peak, with all exchanges in full", 100 * *of.mfu)
                 : std::string("Simulated with the times of its kernels")) +
         ", a step takes " + duration(is.step_ms()) + "; stages wait " + percent(is.shares.share(is.shares.bubble)) +
         " of the time inside their pipelines.";
}

[[nodiscard]] std::string better_in_words(judged_setting const& of) {
  auto const &is = of.judged, &better = of.better;
  if (better.status != ballast::status::feasible) return "With the same degrees, no cut and no recomputation that was found fits.\n";
  auto const fits = is.status == ballast::status::feasible;
  auto const faster = 1 - better.step_ms() / is.step_ms();
  auto const text = "With the same degrees, the best cut and recomputation found take " + duration(better.step_ms()) + " a step";
  if (!fits) return text + ", and fit.\n";
  return text + (faster > 0 ? ", " + percent(faster) + " less.\n" : ": this setting is as good.\n");
}

[[nodiscard]] std::string best_in_words(judged_setting const& of) {
  if (of.best.ranked.empty())
    return "No setting of " + grouped(of.best.settings) +
           (of.sayable ? " that " + of.given.framework + " can say" : " with other degrees") + " fits.\n";
  auto const& setting = of.best.ranked.front().setting;
  auto const& spread = setting.model.spread;
  auto const step = duration(ms_of(of.best.ranked.front().step)) + " a step of equal micro-batches";
  auto text = "Of " + grouped(of.best.settings) +
              (of.sayable ? " settings that " + of.given.framework + " can say, " : std::string(" settings with all degrees, "));
  if (of.is_best) return text + "none is faster than these degrees, which take " + step + ".\n";
  text += "the fastest takes " + step + ": " + counted(setting.pipeline.stages, "stage");
  if (setting.chunks() > 1) text += " of " + counted(setting.chunks(), "chunk");
  for (auto const& [name, degree] : {std::pair{"TP", spread.tensor}, {"CP", spread.context}, {"EP", setting.model.expert}})
    if (degree > 1) text += ", " + std::string(name) + " " + std::to_string(degree);
  return text + ", ZeRO stage " + std::to_string(spread.zero) + ", " +
         counted(static_cast<std::uint64_t>(setting.micro_batches), "micro-batch") + " of " +
         counted(static_cast<std::uint64_t>(setting.micro_batch), "sequence") + ".\n";
}

/// The devices with what the setting says of kernels; by a share of the peak if the device lacks them, or if it is asked for.
[[nodiscard]] ballast::cluster cluster_for(imported_setting& given, model_on_device const& asked) {
  ballast::cluster on{.device = device_of(asked.device), .mfu = asked.mfu, .time = {}, .links = {}, .hidden = {}};
  try {
    given.time.rates = kernel_rates_of(asked, ballast::kernels_for(on.device, given.time.rates.family, given.time.rates.fp8));
    if (!on.mfu) on.time = given.time;
  } catch (ballast::invalid_input const& e) {
    for (auto const& [file, name] : {std::pair{asked.kernels, "--kernels"}, {asked.calibration, "--calibration"}})
      if (!file.empty()) throw bad_input(std::string(name) + ": no kernels are timed here: " + e.what());
    given.untimed = e.what();
    on.mfu = on.utilisation();
  }
  return on;
}

/// By a share of the peak, no exchange is hidden; kernels say it themselves.
[[nodiscard]] std::optional<ballast::hidden_share> hidden_of(judged_setting const& of) {
  return of.mfu ? std::optional(ballast::hidden_share{}) : std::nullopt;
}

}  // namespace

judged_setting judge(imported_setting given, model_on_device const& devices, ballast::batching<> const& steps,
                     std::vector<ballast::batch_shape> const& packs, std::size_t keep, written_space const* as) {
  auto const on = cluster_for(given, devices);
  judged_setting out{.file = {},
                     .device = std::string(on.device.name),
                     .given = std::move(given),
                     .judged = {},
                     .parts = {},
                     .roles = {},
                     .time = {},
                     .better = {},
                     .best = {},
                     .is_best = false,
                     .sayable = as != nullptr,
                     .mfu = on.mfu};
  out.roles = memory_of_roles(out.given);
  auto& memory = out.given.setting.pipeline.memory;
  for (auto const& role : out.roles) memory = (std::max)(memory - (role.resident ? role.bytes : 0), std::int64_t{1});
  auto const& by = out.given.setting;
  out.judged = ballast::judge_setting<std::uint32_t>(steps, packs, out.given.model, by, on);
  out.better = ballast::improve_setting<std::uint32_t>(steps, packs, out.given.model, by, on, out.judged);
  if (by.model.framework.count != ballast::tensor_count::table)
    out.parts = ballast::memory_of(out.given.model, by, out.judged.largest, is_hopper(on.device));
  out.time = time_step(out.given.model, by, devices, out.given.time, out.judged, out.given.untimed);
  if (auto why = untold_in_words(out.time); !why.empty()) out.given.notes.push_back(std::move(why));
  auto const pack_of = [&](ballast::batch_shape const& batch) {  // of one sequence
    return ballast::batch_shape{.tokens = ballast::divide_up(batch.tokens, by.micro_batch),
                                .squares = ballast::divide_up(batch.squares, by.micro_batch),
                                .tiles = 0};
  };
  auto searched = as == nullptr ? out.given : as->of;
  auto const on_searched = as == nullptr ? on : cluster_for(searched, devices);
  auto space = as == nullptr ? ballast::search_options{} : as->space;
  space.gpus = by.gpus();
  space.memory = by.pipeline.memory;
  space.sequence = by.sequence;
  space.global_batch = by.global_batch();
  space.keep = keep;
  out.best = ballast::search_degrees(out.given.model, {.mean = pack_of(out.judged.mean), .largest = pack_of(out.judged.largest)}, space,
                                     on_searched, searched.setting.model);
  if (as != nullptr && as->other) return out;
  auto equal = ballast::full_step_of(by);  // a step as those that the search compares
  equal.packs.assign(equal.packs.size(), out.judged.mean);
  auto own = by;
  own.pipeline.largest = out.judged.largest;
  auto const is = ballast::judge_setting<std::uint32_t>(equal.steps, equal.packs, out.given.model, own, on);
  auto const plan = ballast::improve_setting<std::uint32_t>(equal.steps, equal.packs, out.given.model, own, on, is);
  auto& ranked = out.best.ranked;
  out.is_best = plan.status == ballast::status::feasible && (ranked.empty() || plan.time.value <= ranked.front().step);
  if (out.is_best) ranked.insert(ranked.begin(), {.setting = own, .step = plan.time.value, .plan = plan});
  if (ranked.size() > keep) ranked.pop_back();
  return out;
}

nlohmann::ordered_json to_json(judged_setting const& of) {
  auto const& by = of.given.setting;
  auto const& is = of.judged;
  auto memory = nlohmann::ordered_json::array();
  for (std::size_t s = 0; s < is.memory.size(); ++s)
    memory.push_back({{"stage", s},
                      {"bytes", is.memory[s].bytes()},
                      {"state", is.memory[s].state},
                      {"activations", is.memory[s].activations},
                      {"budget", is.memory[s].budget}});
  for (std::size_t s = 0; s < of.parts.size(); ++s) memory[s]["parts"] = to_json(of.parts[s]);
  auto roles = nlohmann::ordered_json::array();
  for (auto const& role : of.roles) roles.push_back({{"role", role.role}, {"bytes", role.bytes}, {"resident", role.resident}});
  nlohmann::ordered_json json{{"framework", of.given.framework},
                              {"parameters", ballast::parameters(of.given.model)},
                              {"gpus", by.gpus()},
                              {"setting", to_json(by.model, hidden_of(of))},
                              {"stages", by.pipeline.stages},
                              {"chunks", by.chunks()},
                              {"schedule", schedule_name(of.given)},
                              {"boundaries", is.stages.partition.boundaries},
                              {"recompute", again_in_words(by.recompute)},
                              {"sequence", by.sequence},
                              {"micro_batch", by.micro_batch},
                              {"micro_batches", by.micro_batches},
                              {"global_batch", by.global_batch()},
                              {"fits", is.status == ballast::status::feasible},
                              {"memory", std::move(memory)},
                              {"roles", std::move(roles)},
                              {"bubble", is.shares.share(is.shares.bubble)},
                              {"modelled_step_ms", is.step_ms()},
                              {"time", to_json(of.time)},
                              {"unread", of.given.unread},
                              {"passed_over", of.given.passed.harmless},
                              {"memory_may_be_wrong", of.given.passed.doubtful},
                              {"unknown", of.given.passed.unknown},
                              {"notes", of.given.notes},
                              {"better", nullptr},
                              {"best", nullptr}};
  if (of.better.status == ballast::status::feasible)
    json["better"] = {{"boundaries", of.better.stages.partition.boundaries}, {"modelled_step_ms", of.better.step_ms()}};
  if (!of.best.ranked.empty()) {
    auto const& setting = of.best.ranked.front().setting;
    auto const& spread = setting.model.spread;
    json["best"] = {{"tensor", spread.tensor},
                    {"context", spread.context},
                    {"expert", setting.model.expert},
                    {"stages", setting.pipeline.stages},
                    {"chunks", setting.chunks()},
                    {"zero", spread.zero},
                    {"micro_batch", setting.micro_batch},
                    {"micro_batches", setting.micro_batches},
                    {"modelled_step_ms", ms_of(of.best.ranked.front().step)},
                    {"settings", of.best.settings}};
  }
  return json;
}

std::string in_words(judged_setting const& of) {
  auto const& by = of.given.setting;
  auto const& is = of.judged;
  std::string text;
  for (auto const& unread : of.given.unread)  // each with its line, or behind the file's name
    text += "Not read: " + of.file + ", " + unread.substr(unread.starts_with(of.file + ": ") ? of.file.size() + 2 : 0) + ".\n";
  text += of.file + ": a setting of " + of.given.framework + " for " +
          grouped(static_cast<std::uint64_t>(ballast::parameters(of.given.model))) + " parameters" +
          (of.given.model.outputs > 0 ? " with a head of " + counted(static_cast<std::uint64_t>(of.given.model.outputs), "output") : "") +
          " on " + counted(static_cast<std::uint64_t>(by.gpus()), "device") + " (" + of.device + "), " +
          counted(by.pipeline.stages, "stage") + (by.chunks() > 1 ? " of " + counted(by.chunks(), "chunk") : "") + " under " +
          schedule_name(of.given) + ".\nA rank trains " + counted(static_cast<std::uint64_t>(by.micro_batches), "micro-batch") + " of " +
          counted(static_cast<std::uint64_t>(by.micro_batch), "sequence") + " of up to " +
          counted(static_cast<std::uint64_t>(by.sequence), "token") + " in a step; all ranks train " +
          counted(static_cast<std::uint64_t>(by.global_batch()), "sequence") + ".\n" + again_in_words(by.recompute) + ". " +
          in_words(by.model, hidden_of(of)) + "\n";
  auto const names = names_in(of);
  std::vector<stage_line> lines;
  for (std::size_t s = 0; s < is.memory.size(); ++s) lines.push_back(line_of(of, names, s));
  text += stage_table(lines, "memory at its peak    of which states") + "\n";
  if (!of.parts.empty()) text += parts_table(of.parts, by.model) + "\n";
  text += roles_in_words(of) + fit_in_words(of) + "\n" + doubt_in_words(of);
  auto const by_kernels = in_words(of.time);
  text += (by_kernels.empty() ? "" : "\n" + by_kernels + "\n") + share_in_words(of) + "\n" + better_in_words(of) + best_in_words(of);
  for (auto const& note : of.given.notes) text += "Note: " + note + ".\n";
  auto const& passed = of.given.passed;
  if (!passed.unknown.empty())
    text +=
        "Passed over, as keys that this program does not know: " + joined(passed.unknown) + ". Memory and time are judged without them.\n";
  if (!passed.harmless.empty()) text += "Passed over, as keys that touch neither memory nor time: " + joined(passed.harmless) + ".\n";
  return text;
}

report_data on_page(judged_setting const& of, std::string const& command) {
  auto const& by = of.given.setting;
  auto const& is = of.judged;
  auto const names = names_in(of);
  std::vector<std::uint64_t> stage_of;
  for (std::size_t k = 0; k + 1 < is.stages.partition.boundaries.size(); ++k)
    stage_of.push_back(std::visit([&](auto const& s) { return s.stage_of(k, by.pipeline.stages); }, by.pipeline.schedule));
  std::vector<report_stage> stages;
  for (std::size_t s = 0; s < is.memory.size(); ++s) {
    auto line = line_of(of, names, s);
    stages.push_back({.layers = std::move(line.layers), .number = line.number});
  }
  for (std::size_t k = 0; k < stage_of.size(); ++k)  // each layer has the one option that the setting says
    for (auto i = is.stages.partition.boundaries[k]; i < is.stages.partition.boundaries[k + 1]; ++i)
      stages[stage_of[k]].recomputed += is.layers[i].options.front().time > 0 ? 1U : 0U;
  report_data out{.title = of.file + ": a setting of " + of.given.framework,
                  .what = "a setting",
                  .model = {},
                  .device = of.device,
                  .bin_edges = {},
                  .bin_samples = {},
                  .bin_tokens = {},
                  .plans = {},
                  .pack_bound_by = {},
                  .limits = {},
                  .command = command,
                  .model_side = page_of_stages(is, schedule_name(of.given), stage_of, std::move(stages)),
                  .lead = fit_in_words(of)};
  auto& page = *out.model_side;
  if (auto roles = roles_in_words(of); !roles.empty()) page.notes.push_back(std::move(roles));
  page.notes.push_back(again_in_words(by.recompute) + ". " + in_words(by.model, hidden_of(of)));
  for (auto const& sentence : {share_in_words(of), better_in_words(of), best_in_words(of)}) page.notes.push_back(sentence);
  for (auto const& note : of.given.notes) page.notes.push_back("Note: " + note + ".");
  page.splits = {on_page(of.time, of.mfu ? device_in_words(of.device, *of.mfu) : std::string()), on_page(of.parts, by.model)};
  return out;
}

}  // namespace ballast_cli
