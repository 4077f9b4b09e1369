// SPDX-License-Identifier: Apache-2.0
#include "planning/calibrated_steps.hpp"

#include "errors.hpp"
#include "planning/timed_step.hpp"
#include "readers/file_bytes.hpp"
#include "readers/framework_setting.hpp"
#include "report/output.hpp"
#include "report/time_parts.hpp"
#include "report/words.hpp"

#include <ballast/plan/calibrate_steps.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <utility>

namespace ballast_cli {

namespace {

/// Errors of a column of modelled times.
[[nodiscard]] ballast::relative_errors errors_of(calibrated_steps const& of, double compared_step::* modelled) {
  ballast::relative_errors out;
  for (auto const& s : of.steps) {
    auto const error = std::fabs(s.*modelled / s.ms - 1);
    out.worst = (std::max)(out.worst, error);
    out.mean += error / static_cast<double>(of.steps.size());
  }
  return out;
}

/// "4.30 % longer".
[[nodiscard]] std::string longer(std::int64_t thousandths) {
  if (thousandths == 1000) return "as long";
  return percent(static_cast<double>(std::abs(thousandths - 1000)) / 1000) + (thousandths > 1000 ? " longer" : " less");
}

}  // namespace

calibrated_steps calibrate_rows(std::vector<step_time_row> const& rows, std::string const& file, model_on_device const& on,
                                std::optional<std::int64_t> gpus) {
  auto const known = on.model.empty() ? named_model{} : model_named(on.model);
  if (known.images) throw bad_input("--model " + printable(on.model) + ": the time of a model that reads images is not modelled");
  auto const& device = device_of(on.device);
  calibrated_steps out{.device = on.device, .steps = {}, .found = {}};
  std::optional<ballast::transformer> model;
  std::vector<ballast::measured_step> steps;
  for (auto const& row : rows) {
    auto const path = (std::filesystem::path(file == "-" ? "" : file).parent_path() / row.setting).string();
    try {
      file_bytes const bytes(path);
      setting_request const asked{.model = on.model.empty() ? std::nullopt : std::optional(known.language),
                                  .gpus = row.gpus ? row.gpus : gpus,
                                  .sequence = row.sequence,
                                  .micro_batch = row.micro_batch,
                                  .micro_batches = row.micro_batches};
      auto given = read_framework_setting(bytes.view(), path, asked);
      if (auto const why = why_untimed(given.setting.model); !why.empty()) throw bad_input(path + ": " + why);
      if (!given.untimed.empty()) throw bad_input(path + ": " + given.untimed);
      if (model && *model != given.model)
        throw bad_input(path + ": has another model than line " + std::to_string(rows.front().line) + "; a calibration is for one");
      model = given.model;
      given.time.rates = kernel_rates_of(on, ballast::kernels_for(device, given.time.rates.family, given.time.rates.fp8));
      auto const tokens = row.tokens.value_or(given.setting.micro_batch * given.setting.sequence);
      steps.push_back({.by = given.setting,
                       .with = given.time,
                       .batch = {.tokens = tokens, .squares = row.squares.value_or(tokens * given.setting.sequence), .tiles = 0},
                       .ms = row.ms});
      out.steps.push_back({.setting = row.setting,
                           .rates = rates_name({.device = on.device, .kernels = on.kernels, .rates = given.time.rates}),
                           .line = row.line,
                           .ms = row.ms,
                           .before = ballast::modelled_ms(*model, device, steps.back())});
    } catch (std::runtime_error const& e) {
      throw bad_input(shown_name(file) + ":" + std::to_string(row.line) + ": " + e.what());
    } catch (ballast::invalid_input const& e) {
      throw bad_input(shown_name(file) + ":" + std::to_string(row.line) + ": " + path + ": " + e.what());
    }
  }
  try {
    out.found = ballast::calibrate_steps(*model, device, steps);
    auto const unseen = ballast::leave_one_out(*model, device, steps);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      out.steps[i].after = ballast::modelled_ms(*model, device, steps[i], out.found);
      out.steps[i].left_out = unseen[i];
    }
  } catch (ballast::invalid_input const& e) {
    throw bad_input(shown_name(file) + ": " + e.what());
  }
  out.experts = model->experts > 0;
  out.waiting_ms = static_cast<double>(steps.front().with.rates.sync_experts) * 1e-9;
  return out;
}

nlohmann::ordered_json to_json(calibrated_steps const& of) {
  auto rows = nlohmann::ordered_json::array();
  for (auto const& s : of.steps) {
    rows.push_back({{"line", s.line},
                    {"setting", s.setting},
                    {"rates", s.rates},
                    {"measured_ms", s.ms},
                    {"modelled_ms", s.before},
                    {"calibrated_ms", s.after},
                    {"left_out_ms", nullptr}});
    if (of.steps.size() > 1) rows.back()["left_out_ms"] = s.left_out;
  }
  auto const errors = [&](double compared_step::* modelled) {
    auto const e = errors_of(of, modelled);
    return nlohmann::ordered_json{{"worst", e.worst}, {"mean", e.mean}};
  };
  nlohmann::ordered_json json{{"device", of.device},
                              {"time", of.found.time},
                              {"sync", of.found.sync},
                              {"sync_known", of.found.sync_known},
                              {"plausible", of.found.plausible()},
                              {"errors", {{"before", errors(&compared_step::before)}, {"after", errors(&compared_step::after)}}},
                              {"steps", std::move(rows)}};
  json["errors"]["left_out"] = of.steps.size() > 1 ? errors(&compared_step::left_out) : nlohmann::ordered_json();
  return json;
}

std::string in_words(calibrated_steps const& of) {
  auto const several = of.steps.size() > 1;
  std::size_t wide = 7;
  for (auto const& s : of.steps) wide = (std::max)(wide, s.setting.size());
  auto const padded = [&](std::string const& name) { return name + std::string(wide - name.size(), ' '); };
  auto text = "Modelled steps beside measured ones on " + of.device + ", before and after the calibration" +
              (several ? ", and by one with all other steps" : "") + ":\nline  " + padded("setting") +
              "    measured       before        after" + (several ? "    by others\n" : "\n");
  for (auto const& s : of.steps) {
    auto const off = [&](double modelled) { return formatted("%+11.2f %%", 100 * (modelled / s.ms - 1)); };
    text += formatted("%4zu  ", s.line) + padded(s.setting) + formatted("%12s", duration(s.ms).c_str()) + off(s.before) + off(s.after) +
            (several ? off(s.left_out) : "") + "\n";
  }
  auto const add_errors = [&](char const* what, double compared_step::* modelled) {
    auto const e = errors_of(of, modelled);
    text += what + (" at worst " + percent(e.worst)) + ", on average " + percent(e.mean) + ".\n";
  };
  add_errors("Errors before:", &compared_step::before);
  add_errors("Errors after:", &compared_step::after);
  if (several) add_errors("Errors on steps that a calibration has not seen:", &compared_step::left_out);
  auto const& found = of.found;
  text += "time = " + std::to_string(found.time) + ": all kernels, exchanges and the host take " + longer(found.time) +
          (found.time == 1000 ? " as modelled.\n" : " than modelled.\n");
  if (found.sync_known)
    text += "sync = " + std::to_string(found.sync) + ": a layer with experts waits " +
            formatted("%.2f ms for the tokens of experts, not %.2f ms.\n", of.waiting_ms * static_cast<double>(found.sync) / 1000,
                      of.waiting_ms);
  else if (of.experts)
    text += "sync is the same: steps whose micro-batches differ in size tell how long layers with experts wait for the host.\n";
  if (!found.plausible()) text += "Outside 800 to 1250 the setting, the device or the framework is probably another one than was said.\n";
  return text;
}

}  // namespace ballast_cli
