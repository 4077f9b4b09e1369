// SPDX-License-Identifier: Apache-2.0
#include "planning/level_choice.hpp"

#include "errors.hpp"
#include "planning/sample_cost.hpp"
#include "readers/file_bytes.hpp"
#include "readers/json_document.hpp"
#include "readers/kernel_rates.hpp"
#include "readers/plan_folder.hpp"
#include "readers/profile.hpp"
#include "report/words.hpp"

#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast_cli {

namespace {

using ballast::timed_level;

/// The modelled time of a setting, in the proportion that one measured pack takes to its own modelled time. No part exceeds the measured
/// picoseconds, which are below 2^63.
[[nodiscard]] ballast::level_time scaled_time(ballast::level_time time, std::int64_t measured, std::int64_t modelled) {
  for (auto* const part : {&time.per_pack, &time.per_token, &time.per_square}) {
    auto const exact = ballast::multiply_divide_up(static_cast<std::uint64_t>(*part), static_cast<std::uint64_t>(measured),
                                                   static_cast<std::uint64_t>(modelled));
    *part = static_cast<std::int64_t>(exact);
  }
  return time;
}

/// Measured settings, and their slices on one device, which need the same memory and no exchange.
[[nodiscard]] std::vector<timed_level> measured_levels(std::string const& file, std::int64_t longest, level_setup const& on) {
  file_bytes const bytes(file);
  auto const name = shown_name(file);
  auto const rows = read_profile(bytes.view(), name);
  std::vector<timed_level> out, slices;
  for (auto const& row : rows) {
    auto const& at = row.setting;
    auto const place = name + ":" + std::to_string(row.line) + ": ";
    if (on.cluster.devices % at.sp != 0)
      throw bad_input(place + "sp = " + std::to_string(at.sp) + " does not divide --gpus " + std::to_string(on.cluster.devices));
    if (std::int64_t{at.recomputed_layers} > on.cluster.model.layers)
      throw bad_input(place + std::to_string(at.recomputed_layers) + " recomputed layers; " + on.model + " has " +
                      std::to_string(on.cluster.model.layers));
    if (at.capacity > longest) continue;
    if (row.gigabytes && *row.gigabytes * 1e9 > static_cast<double>(on.cluster.device.memory_bytes)) continue;
    auto const model = ballast::modelled_level_time(on.cluster, at);
    auto const modelled = model(1, at.capacity, at.capacity * at.capacity);
    auto const measured = static_cast<std::int64_t>(row.ms * 1e6 * at.sp + 0.5);
    out.push_back({at, scaled_time(model, measured, modelled)});
    ballast::level const slice{at.capacity / std::int64_t{at.sp}, 1, at.recomputed_layers};
    auto const listed = std::any_of(rows.begin(), rows.end(), [&](profile_row const& r) { return r.setting == slice; });
    if (at.sp > 1 && slice.capacity > 0 && !listed)
      slices.push_back({slice, scaled_time(ballast::modelled_level_time(on.cluster, slice), measured, modelled)});
  }
  out.insert(out.end(), slices.begin(), slices.end());
  return out;
}

}  // namespace

level_setup::level_setup(level_request const& request) : model(name_of_language_part(request.on.model)) {
  if (request.on.mfu && !(*request.on.mfu >= 0.001 && *request.on.mfu <= 1))
    throw bad_input("--mfu " + formatted("%g", *request.on.mfu) + ": expected a share of the peak from 0.001 to 1");
  cluster.model = model_of(request.on.model);
  cluster.device = device_of(request.on.device);
  cluster.devices = request.gpus;
  cluster.framework = request.framework;
  cluster.loss = request.loss;
  device = device_in_words(request.on);
  if (request.on.mfu) {
    cluster.utilisation = static_cast<std::uint32_t>(std::lround(*request.on.mfu * 1000));
  } else {
    auto plain = request.on;  // measured steps say of exchanges, too, what they say of kernels
    plain.calibration.clear();
    cluster.kernels = kernels_of(plain);
    if (auto const& file = request.on.calibration; !file.empty()) {
      auto const slower = read_step_calibration(file_bytes(file).view(), shown_name(file)).time;
      for (auto* const rate : {&cluster.device.link_bandwidth, &cluster.network_bandwidth, &cluster.parameter_bandwidth})
        *rate = *rate / slower * 1000;
      cluster.kernel_time = cluster.kernel_time * slower / 1000;
    }
    device += ", each " + formatted("%g", static_cast<double>(cluster.kernel_time) / 1000) + " times as long, as HBP measured";
  }
}

level_choice choose(level_rule rule, ballast::histogram const& lengths, std::int64_t longest, std::size_t most_levels,
                    level_request const& request, level_setup const& on) {
  if (lengths.lengths.empty())
    throw no_plan("every sample is longer than " + std::to_string(longest) + " and set aside: there is nothing to choose levels for");
  auto out = choose_among(request.table.empty() ? candidate_levels(on.cluster, longest) : measured_levels(request.table, longest, on), rule,
                          lengths, most_levels);
  if (out.levels.empty())
    throw no_plan(ballast::sentence("the longest sample has ", lengths.lengths.back(), " tokens, and no ") +
                  (request.table.empty() ? "setting of " + on.model + " on " + std::to_string(on.cluster.devices) + " " + request.on.device
                                         : "row of " + shown_name(request.table)) +
                  " holds a pack of that length" + (request.table.empty() ? " (modelled memory)" : ""));
  return out;
}

level_choice read_levels(std::string const& file, level_request const& request, level_setup& on) {
  file_bytes const bytes(file);
  auto const name = shown_name(file);
  auto const text = bytes.view();
  auto json = parse_document(text, name);
  if (json.is_object() && json.contains("schema")) require_known_format(json, name);
  auto const unlike = [&](std::string const& what) {
    return bad_input(name + ": these are not levels as ballast levels --json prints them: " + what);
  };
  level_choice out{.levels = {}, .rule = level_rule::given, .candidates = 0, .most_levels = 0, .time = {}};
  auto device = "the devices of " + name;
  if (json.is_object() && json.contains("levels")) {
    if (auto const found = json.find("device"); found != json.end() && found->is_string()) device = found->get<std::string>();
    if (json.value("rule", nlohmann::json()) == "hbp") out.rule = level_rule::hbp;
    json = nlohmann::json(json["levels"]);
  }
  if (!json.is_array() || json.empty()) throw unlike("there is no array of them");
  for (std::size_t i = 0; i < json.size(); ++i) {
    auto const each = "levels[" + std::to_string(i) + "]";
    if (!json[i].is_object()) throw unlike(each + " is not an object");
    auto const whole = [&](nlohmann::json const& of, std::string const& in, char const* field, std::int64_t least, std::int64_t most) {
      auto const found = of.find(field);
      if (found != of.end() && found->is_number_integer())
        if (auto const value = found->get<std::int64_t>(); value >= least && value <= most) return value;
      throw unlike(in + "." + field + " is missing or not a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    };
    timed_level level;
    level.setting.capacity = whole(json[i], each, "length", 1, (std::int64_t{1} << 31) - 1);
    level.setting.sp = static_cast<std::uint32_t>(whole(json[i], each, "sp", 1, on.cluster.devices));
    level.setting.recomputed_layers = static_cast<std::uint32_t>(whole(json[i], each, "recomputed_layers", 0, on.cluster.model.layers));
    if (i > 0 && level.setting.capacity <= out.levels.back().setting.capacity)
      throw unlike(each + ".length = " + std::to_string(level.setting.capacity) + " must be above its predecessor's");
    if (on.cluster.devices % level.setting.sp != 0)
      throw bad_input(name + ": " + each + ".sp = " + std::to_string(level.setting.sp) + " does not divide --gpus " +
                      std::to_string(on.cluster.devices));
    if (auto const times = json[i].find("picoseconds"); times == json[i].end()) {
      level.time = ballast::modelled_level_time(on.cluster, level.setting);
    } else if (!times->is_object()) {
      throw unlike(each + ".picoseconds is not an object");
    } else {
      if (request.on.mfu || !request.on.kernels.empty() || !request.on.calibration.empty())
        throw bad_input(name +
                        ": its levels have times, which --mfu, --kernels and --calibration do not change; give them to ballast levels");
      on.device = device;
      constexpr auto most = (std::int64_t{1} << 62) - 1;
      level.time = {.per_pack = whole(*times, each + ".picoseconds", "pack", 0, most),
                    .per_token = whole(*times, each + ".picoseconds", "token", 0, most),
                    .per_square = whole(*times, each + ".picoseconds", "square", 0, most)};
    }
    out.levels.push_back(level);
  }
  return out;
}

}  // namespace ballast_cli
