// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "planning/calibrated_steps.hpp"
#include "readers/file_bytes.hpp"
#include "readers/kernel_rates.hpp"
#include "readers/step_times.hpp"
#include "readers/timings.hpp"
#include "report/json.hpp"
#include "report/output.hpp"
#include "report/replace.hpp"

#include <ballast/cost/calibrate.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

struct calibrate_arguments {
  std::string file;
  model_on_device on{.model = {}, .mfu = {}};
  std::optional<std::int64_t> gpus;
  std::string out;
  bool json = false;
};

/// Fits the same terms to rows of either kind.
template <class Row>
[[nodiscard]] auto fit(std::vector<Row> const& rows) {
  return ballast::calibrate(rows, {}, ballast::linear_cost{.per_token = 0, .per_sample = 1}, ballast::token_cost{},
                            ballast::quadratic_cost{.linear = 0, .quadratic = 1});
}

/// Steps of settings.
void fit_steps(calibrate_arguments const& arguments, std::string_view bytes) {
  auto const fitted = calibrate_rows(read_step_times(bytes, shown_name(arguments.file)), arguments.file, arguments.on, arguments.gpus);
  if (!arguments.out.empty()) replace_file(arguments.out, to_toml(fitted.found));
  if (arguments.json) return print_json(to_json(fitted));
  write_standard_output(in_words(fitted) + (arguments.out.empty() ? "" : "Written to " + arguments.out + ".\n"));
}

/// Lengths of samples or of micro-batches.
void fit_lengths(calibrate_arguments const& arguments, std::string_view bytes) {
  std::vector<ballast::micro_batch_timing> rows;
  auto single = true;  // samples: there is no micro-batch to tell from them
  for (auto& row : read_micro_batches(bytes, shown_name(arguments.file))) {
    single = single && row.lengths.size() == 1;
    rows.push_back({std::move(row.lengths), row.ms});
  }
  if (rows.size() < (single ? 3 : 4))
    throw bad_input(shown_name(arguments.file) + (single ? ": three coefficients take three" : ": four coefficients take four") +
                    " timings at least; there are " + std::to_string(rows.size()));
  std::vector<ballast::timing> samples;
  if (single)
    for (auto const& row : rows) samples.push_back({row.lengths[0], row.ms});
  auto const found = single ? fit(samples) : fit(rows);
  auto const& c = found.coefficients;
  if (arguments.json) {
    nlohmann::ordered_json json{{"rows", rows.size()},
                                {"coefficients", {{"constant", c[0]}, {"linear", c[1]}, {"quadratic", c[2]}}},
                                {"worst_error", found.fit.worst},
                                {"mean_error", found.fit.mean},
                                {"hold_out_worst_error", found.held_out.worst},  // null where there are too few rows
                                {"hold_out_mean_error", found.held_out.mean}};
    if (!single) json["coefficients"]["micro_batch"] = found.per_micro_batch;
    return print_json(json);
  }
  char text[256];
  if (single)
    (void)std::snprintf(text, sizeof text, "milliseconds = %.5g + %.5g length + %.5g length^2, fitted to %zu timings\n", c[0], c[1], c[2],
                        rows.size());
  else
    (void)std::snprintf(text, sizeof text,
                        "milliseconds of a micro-batch = %.5g + the sum over its samples of %.5g + %.5g length + %.5g length^2, fitted to "
                        "%zu micro-batches\n",
                        found.per_micro_batch, c[0], c[1], c[2], rows.size());
  auto const errors = [](char const* what, ballast::relative_errors const& e) {
    return what + (std::isfinite(e.worst) ? "at worst " + percent(e.worst) + ", on average " + percent(e.mean) + ".\n"
                                          : std::string("unknown, too few timings.\n"));
  };
  write_standard_output(text + errors("Errors of the fit: ", found.fit) +
                        errors("Errors on timings that a fit has not seen: ", found.held_out));
}

}  // namespace

void add_calibrate(CLI::App& app) {
  auto const arguments = std::make_shared<calibrate_arguments>();
  auto& command = *app.add_subcommand("calibrate", "fit a cost, or the model of times, to measured times");
  command
      .add_option("TIMES", arguments->file,
                  "rows of lengths and milliseconds, or of steps under the header setting,ms; - is standard input")
      ->required();
  std::vector<CLI::Option*> of_steps{
      add_model(command, arguments->on.model, "preset or Hugging Face config.json, where the settings do not hold the shape"),
      add_device(command, arguments->on.device, "the device of the steps: v100, a100, h100 (default), h200 or b200"),
      add_value(command, "--gpus", arguments->gpus, small_positive, "devices of the steps, where neither settings nor rows say them"),
      command.add_option("--kernels", arguments->on.kernels, kernels_help),
      command.add_option("--out", arguments->out, "TOML file for what the steps say, which --calibration of other commands reads")};
  command.add_flag("--json", arguments->json, "print one JSON object, which plan --cost reads where rows are lengths");
  command.callback([arguments, of_steps = std::move(of_steps)] {
    file_bytes const bytes(arguments->file);
    if (has_step_times(bytes.view())) return fit_steps(*arguments, bytes.view());
    for (auto const* const option : of_steps)
      if (option->count() != 0)
        throw bad_input(option->get_name() + ": is for steps of settings; " + shown_name(arguments->file) +
                        " has no header with the column setting");
    fit_lengths(*arguments, bytes.view());
  });
}

}  // namespace ballast_cli
