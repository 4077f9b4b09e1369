// SPDX-License-Identifier: Apache-2.0
#include "planning/degree_choice.hpp"

#include "errors.hpp"
#include "report/output.hpp"
#include "report/progress.hpp"
#include "report/words.hpp"

#include <ballast/footprint/model_setting.hpp>
#include <ballast/plan/search_degrees.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>

namespace ballast_cli {

namespace {

[[nodiscard]] ballast::search_options options_of(degree_request const& what, model_request const& asked, model_on_device const& on,
                                                 ballast::data_plan_options const& options) {
  auto const& by = asked.setting;
  ballast::search_options out{.gpus = what.gpus,
                              .memory = asked.memory.value_or(device_of(on.device).memory_bytes / 10 * 9),
                              .sequence = options.steps.capacity,
                              .global_batch = what.global_batch > 0 ? what.global_batch : what.gpus,
                              .tiles = options.others.empty() ? 0 : options.others.front()};
  if (what.tensor) out.tensor = {by.spread.tensor};
  if (asked.any_vision_tensor)
    out.vision_tensor.clear();
  else
    out.vision_tensor = {by.vision_tensor};
  if (what.context) out.context = {by.spread.context};
  if (what.expert) out.expert = {by.expert};
  if (what.stages) out.stages = {asked.stages};
  if (what.zero) out.zero = {by.spread.zero};
  if (!what.schedules.empty()) out.schedules = what.schedules;
  out.chunks = what.chunks;
  out.max_samples = options.max_samples;
  // Neither where samples are cut nor how many a micro-batch holds depends on the choice.
  if (options.oversize != ballast::oversize::reject || options.max_samples != 0) out.micro_batch = {1};
  return out;
}

void require_one(ballast::searched_settings const& found, ballast::search_options const& o, std::string const& title) {
  if (found.status == ballast::status::feasible) return;
  if (found.settings == 0)
    throw no_plan(title + ": no setting uses all of " + counted(static_cast<std::uint64_t>(o.gpus), "GPU") +
                  " with these degrees, the heads and experts of the model, and " +
                  counted(static_cast<std::uint64_t>(o.global_batch), "pack") + " in a step");
  throw no_plan(title + ": none of " + counted(found.settings, "setting") + " of " + counted(static_cast<std::uint64_t>(o.gpus), "GPU") +
                " fits " + many_bytes(o.memory) + " a device; more GPUs, a shorter --capacity, --head-loss fused or --optimizer may help");
}

[[nodiscard]] std::string schedule_of(ballast::training_setting const& s) {
  if (s.pipeline.stages == 1) return "-";
  auto const name = std::visit([](auto const& schedule) { return std::string(schedule.name); }, s.pipeline.schedule);
  return std::holds_alternative<ballast::interleaved_schedule>(s.pipeline.schedule) ? name + ":" + std::to_string(s.chunks()) : name;
}

[[nodiscard]] std::int64_t peak_bytes(ballast::training_plan const& plan) {
  std::int64_t most = 0;
  for (auto const& m : plan.memory) most = (std::max)(most, m.bytes());
  return most;
}

template <class Data, class Model>
[[nodiscard]] ballast::searched_settings search(ballast::search_options const& o, model_request const& asked, model_on_device const& on,
                                                Data const& data, Model const& model) {
  auto const setting = on.mfu ? asked.setting : overlapping(asked.setting, asked.hidden);
  return ballast::search_degrees(data, model, o, cluster_of(on, setting, asked.hidden), setting);
}

template <class Model>
[[nodiscard]] ballast::searched_settings search(ballast::search_options o, model_request const& asked, model_on_device const& on,
                                                padded_data const& data, Model const& model) {
  auto const setting = on.mfu ? asked.setting : overlapping(asked.setting, asked.hidden);
  o.micro_batch = {1};  // a batch of twice the capacity is not two batches
  return ballast::search_degrees(model, data.sizes, o, cluster_of(on, setting, asked.hidden), setting);
}

/// Packs of all the data, by the mean one.
[[nodiscard]] double packs_of(std::vector<std::int64_t> const& tokens, ballast::search_options const& o) {
  auto const mean = ballast::pack_sizes_of(tokens, o.sequence, o.max_samples).mean.tokens;
  return mean == 0 ? 0 : static_cast<double>(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0})) / static_cast<double>(mean);
}
[[nodiscard]] double packs_of(ballast::sample_measures const& samples, ballast::search_options const& o) {
  auto const mean = ballast::pack_sizes_of(samples, o.tiles, o.sequence, o.max_samples).mean.tokens;
  auto const tokens = samples.column(1);
  return mean == 0 ? 0 : static_cast<double>(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0})) / static_cast<double>(mean);
}

[[nodiscard]] double packs_of(padded_data const& data, ballast::search_options const&) { return data.batches; }

/// One decimal, or two digits below 1, so that little is not nothing.
[[nodiscard]] std::string hours_in_words(double hours) {
  auto decimals = 1;
  for (auto value = hours; value < 1 && decimals < 9; value *= 10) ++decimals;
  return formatted("%.*f GPU-hours", decimals, hours);
}

[[nodiscard]] std::string tried_in_words(std::vector<tried_gpus> const& tried) {
  std::string text;
  for (auto const& t : tried)
    text += (text.empty() ? "" : ", ") + grouped(static_cast<std::uint64_t>(t.gpus)) +
            (t.modelled_ms == 0 ? " (none fits)" : " (" + duration(t.modelled_ms) + ", " + hours_in_words(t.gpu_hours()) + ")");
  return text;
}

/// Tries numbers of GPUs, fewest first.
template <class Data, class Model>
[[nodiscard]] chosen_degrees chosen_number(degree_request const& what, model_request const& asked, model_on_device const& on,
                                           ballast::data_plan_options const& options, Data const& data, Model const& model,
                                           std::string const& title) {
  auto const per_node = device_of(on.device).per_node;
  auto const numbers = numbers_to_try(what.range, per_node);
  auto const range = std::to_string(what.range.least) + ".." + std::to_string(what.range.most);
  if (numbers.empty())
    throw bad_input("--gpus auto:" + range + ": has no multiple of a node of " + std::to_string(per_node) +
                    " GPUs, and no power of two below it; widen the range");
  chosen_degrees out{.best = {}, .within_ms = what.within_ms, .epochs = what.epochs};
  auto least = std::numeric_limits<double>::infinity();
  auto of_number = what;
  for (auto const gpus : numbers) {
    of_number.gpus = gpus;
    progress_line progress("judging settings of " + counted(static_cast<std::uint64_t>(gpus), "GPU"));
    auto o = options_of(of_number, asked, on, options);
    o.progress = progress;
    auto found = search(o, asked, on, data, model);
    auto& tried = out.tried.emplace_back(tried_gpus{.gpus = gpus});
    if (found.status != ballast::status::feasible || found.per_pack) continue;
    tried.modelled_ms =
        found.ranked.front().plan.step_ms() * packs_of(data, o) / static_cast<double>(o.global_batch) * static_cast<double>(what.epochs);
    if (what.within_ms != 0 && tried.modelled_ms > what.within_ms) continue;
    if (auto const cost = what.within_ms == 0 ? 0 : tried.gpu_hours(); cost < least) {
      least = cost;
      out.best = std::move(found);
    }
    if (what.within_ms == 0) break;
  }
  if (!out.best.ranked.empty()) return out;
  auto const fits = std::ranges::any_of(out.tried, [](auto const& t) { return t.modelled_ms != 0; });
  throw no_plan(
      title +
      (fits ? ": no number of GPUs finishes within " + duration(what.within_ms) + ", by modelled times"
            : ": on no number of GPUs does a setting fit that divides --global-batch") +
      "; tried: " + tried_in_words(out.tried) + "; " +
      (fits ? "more time, or a range beyond " + std::to_string(what.range.most) + ", may help"
            : "a shorter --capacity, --head-loss fused, --optimizer or a range beyond " + std::to_string(what.range.most) + " may help"));
}

/// Samples of tokens alone bring no images to a tower.
void require_no_tower(model_request const& asked, std::string const& model) {
  if (!asked.any_vision_tensor && asked.setting.vision_tensor == 0) return;
  throw bad_input("--vision-tp: " + (model_named(model).images
                                         ? std::string("these samples have no images; two measures are tiles and tokens, "
                                                       "as in --columns 2,1 --capacity 9,4096")
                                         : printable(model) + " has no vision tower or projector"));
}

template <class Data, class Model>
[[nodiscard]] chosen_degrees chosen(degree_request const& what, model_request const& asked, model_on_device const& on,
                                    ballast::data_plan_options const& options, Data const& data, Model const& model,
                                    std::string const& title) {
  if (what.range.most != 0) return chosen_number(what, asked, on, options, data, model, title);
  progress_line progress("judging settings of " + counted(static_cast<std::uint64_t>(what.gpus), "GPU"));
  auto o = options_of(what, asked, on, options);
  o.progress = progress;
  chosen_degrees out{.best = search(o, asked, on, data, model)};
  require_one(out.best, o, title);
  return out;
}

}  // namespace

std::vector<std::int64_t> numbers_to_try(gpu_range range, std::int64_t per_node) {
  constexpr std::int64_t few = 16;  // nodes, of which all are tried
  std::vector<std::int64_t> out;
  for (std::int64_t gpus = 1; gpus < per_node; gpus *= 2)
    if (gpus >= range.least && gpus <= range.most) out.push_back(gpus);
  auto const first = (range.least + per_node - 1) / per_node, last = range.most / per_node;
  auto const add = [&](std::int64_t nodes) {
    if (nodes >= (std::max)(first, std::int64_t{1}) && nodes <= last) out.push_back(nodes * per_node);
  };
  if (last - first < few) {
    for (auto nodes = first; nodes <= last; ++nodes) add(nodes);
    return out;
  }
  for (std::int64_t nodes = 1; nodes <= last; nodes *= 2) {
    add(nodes);
    if (nodes > 1) add(nodes / 2 * 3);
  }
  return out;
}

chosen_degrees choose_degrees(degree_request const& what, model_request const& asked, model_on_device const& on,
                              ballast::data_plan_options const& options, std::span<std::int64_t const> lengths, std::string const& title) {
  require_no_tower(asked, on.model);
  auto const trained =
      ballast::apply_oversize(lengths, {.capacity = options.steps.capacity, .oversize = options.oversize}, ballast::token_cost{});
  std::vector<std::int64_t> tokens;
  for (std::size_t i = 0, next = 0; i < trained.tokens.size(); ++i) {
    if (next < trained.set_aside.size() && trained.set_aside[next] == i)
      ++next;
    else
      tokens.push_back(trained.tokens[i]);
  }
  return chosen(what, asked, on, options, tokens, model_of(on.model), title);
}

chosen_degrees choose_degrees(degree_request const& what, model_request const& asked, model_on_device const& on,
                              ballast::data_plan_options const& options, ballast::sample_measures const& samples,
                              std::string const& title) {
  auto const known = model_named(on.model);
  if (!known.images || samples.measures() != 2)
    throw bad_input("--gpus: of samples with several measures, those of tiles and tokens for a vision-language --model are searched");
  if (options.oversize != ballast::oversize::reject)
    throw bad_input("--oversize with --gpus: samples of several measures can be rejected alone");
  return chosen(what, asked, on, options, samples, *known.images, title);
}

chosen_degrees choose_degrees(degree_request const& what, model_request const& asked, model_on_device const& on,
                              ballast::data_plan_options const& options, padded_data const& data, std::string const& title) {
  require_no_tower(asked, on.model);
  auto out = chosen(what, asked, on, options, data, model_of(on.model), title);
  out.simulated = false;
  return out;
}

void take_first(chosen_degrees const& found, model_request& asked, ballast::data_plan_options& options) {
  auto const& s = found.best.ranked.front().setting;
  options.steps.capacity *= s.micro_batch;
  for (auto& other : options.others) other *= s.micro_batch;
  options.steps.ranks = static_cast<std::uint64_t>(s.ranks());
  options.steps.micro_batches = static_cast<std::uint64_t>(s.micro_batches);
  asked.stages = s.pipeline.stages;
  asked.schedule = s.pipeline.schedule;
  asked.setting = s.model;
}

namespace {

/// What became of the settings that do not divide the packs of a step; nothing if there are none.
[[nodiscard]] std::string indivisible_in_words(ballast::searched_settings const& found) {
  if (found.per_pack)
    return " None divides the packs of --global-batch: each takes the next number that it divides, and is compared by its time per pack.";
  if (found.indivisible == 0) return {};
  return " Left out: " + grouped(found.indivisible) + " whose ranks and micro-batches do not divide the packs of --global-batch.";
}

}  // namespace

std::string late_in_words(chosen_degrees const& found, double modelled_ms) {
  auto const all = modelled_ms * static_cast<double>(found.epochs);
  if (found.within_ms == 0 || all <= found.within_ms) return {};
  return "Planned in full, the data take " + duration(all) + ", more than --within asks for and than the simulated steps say.";
}

std::string in_words(chosen_degrees const& choice) {
  auto const& found = choice.best;
  auto const& first = found.ranked.front();
  std::string text;
  if (!choice.tried.empty()) {
    auto const gpus = counted(static_cast<std::uint64_t>(first.setting.gpus()), "GPU");
    text = "Tried, with the modelled time of " +
           (choice.epochs == 1 ? "one epoch" : counted(static_cast<std::uint64_t>(choice.epochs), "epoch")) + ": " +
           tried_in_words(choice.tried) + ".\n" +
           (choice.within_ms == 0 ? gpus + ": the first of them on which a setting fits.\n\n"
                                  : gpus + ": of those that finish within " + duration(choice.within_ms) + ", the fewest GPU-hours.\n\n");
  }
  text += counted(found.settings, "setting") + " of " + counted(static_cast<std::uint64_t>(first.setting.gpus()), "GPU") + ": " +
          grouped(found.excluded) + " excluded by bounds, " + grouped(found.unfit) + " too large for memory, " + grouped(found.planned) +
          " planned." + indivisible_in_words(found) + " With micro-batches that are all like the mean one, none takes less than " +
          duration(static_cast<double>(found.step.value) / 1e6) +
          (choice.simulated ? " a step. The best, simulated with some of the data:\n\n" : " a step. The best, in such steps:\n\n") +
          "    TP    PP    CP    EP    DP  ZeRO  micro-batches        schedule       a step   time         memory  recompute  bubble"
          "  waiting  exchange\n";
  for (auto const& r : found.ranked) {
    auto const& s = r.setting;
    auto const& of = r.plan.shares;
    auto const number = [](std::int64_t value) { return std::to_string(value); };
    text += formatted("%6s%6s%6s%6s%6s%6s", number(s.model.spread.tensor).c_str(), std::to_string(s.pipeline.stages).c_str(),
                      number(s.model.spread.context).c_str(), number(s.model.expert).c_str(), number(s.ranks()).c_str(),
                      number(s.model.spread.zero).c_str());
    auto const batches =
        number(s.micro_batches) + (s.micro_batch == 1 ? "" : " of " + counted(static_cast<std::uint64_t>(s.micro_batch), "pack"));
    text += formatted("%15s%16s%13s%7.3f%15s", batches.c_str(), schedule_of(s).c_str(), duration(r.plan.step_ms()).c_str(),
                      static_cast<double>(r.plan.time.value) / static_cast<double>(first.plan.time.value),
                      grouped(static_cast<std::uint64_t>(peak_bytes(r.plan))).c_str());
    text += formatted("%11s%8s%9s%10s", percent(of.share(of.recompute)).c_str(), percent(of.share(of.bubble)).c_str(),
                      percent(of.share(of.waiting)).c_str(), percent(of.share(of.exchange)).c_str()) +
            (s.model.vision_tensor > 0 ? "  tower TP " + number(s.model.vision_tensor) : "") + "\n";
  }
  return text + "\nThe first is planned for all of the data:\n\n";
}

void add_search(nlohmann::ordered_json& json, chosen_degrees const& choice) {
  auto const& found = choice.best;
  for (auto const& t : choice.tried) {
    auto& entry = json["gpus_tried"].emplace_back(nlohmann::ordered_json{{"gpus", t.gpus}, {"fits", t.modelled_ms != 0}});
    if (t.modelled_ms == 0) continue;
    entry["modelled_hours"] = t.modelled_ms / 3.6e6;
    entry["gpu_hours"] = t.gpu_hours();
  }
  if (choice.within_ms != 0) {
    json["within_hours"] = choice.within_ms / 3.6e6;
    json["epochs"] = choice.epochs;
  }
  json["search"] = {{"gpus", found.ranked.front().setting.gpus()},
                    {"settings", found.settings},
                    {"excluded", found.excluded},
                    {"unfit", found.unfit},
                    {"planned", found.planned},
                    {"indivisible", found.indivisible},
                    {"per_pack", found.per_pack},
                    {"mean_step_ms", static_cast<double>(found.step.value) / 1e6}};
  auto& ranked = json["ranked"] = nlohmann::ordered_json::array();
  for (auto const& r : found.ranked) {
    auto const& s = r.setting;
    auto const& of = r.plan.shares;
    auto memory = nlohmann::ordered_json::array();
    for (auto const& m : r.plan.memory) memory.push_back(m.bytes());
    ranked.push_back({{"tensor", s.model.spread.tensor},
                      {"vision_tensor", s.model.vision_tensor},
                      {"stages", s.pipeline.stages},
                      {"context", s.model.spread.context},
                      {"expert", s.model.expert},
                      {"ranks", s.ranks()},
                      {"zero", s.model.spread.zero},
                      {"packs_per_micro_batch", s.micro_batch},
                      {"micro_batches", s.micro_batches},
                      {"schedule", schedule_of(s)},
                      {"mean_step_ms", static_cast<double>(r.step) / 1e6},
                      {"modelled_step_ms", r.plan.step_ms()},
                      {"modelled_ms", static_cast<double>(r.plan.time.value) / 1e6},
                      {"memory", std::move(memory)},
                      {"boundaries", s.boundaries},
                      {"limits", limits_json(of)}});
  }
}

}  // namespace ballast_cli
