// SPDX-License-Identifier: Apache-2.0
#include "commands/commands.hpp"
#include "commands/options.hpp"
#include "errors.hpp"
#include "readers/file_bytes.hpp"
#include "readers/timings.hpp"
#include "report/json.hpp"
#include "report/output.hpp"

#include <ballast/cost/calibrate.hpp>
#include <ballast/cost/polynomial.hpp>

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ballast_cli {

namespace {

struct calibrate_arguments {
  std::string file;
  bool json = false;
};

/// Fits the same terms to rows of either kind.
template <class Row>
[[nodiscard]] auto fit(std::vector<Row> const& rows) {
  return ballast::calibrate(rows, {}, ballast::linear_cost{.per_token = 0, .per_sample = 1}, ballast::token_cost{},
                            ballast::quadratic_cost{.linear = 0, .quadratic = 1});
}

void run(calibrate_arguments const& arguments) {
  std::vector<ballast::micro_batch_timing> rows;
  auto single = true;  // samples: there is no micro-batch to tell from them
  {
    file_bytes const bytes(arguments.file);
    for (auto& row : read_micro_batches(bytes.view(), shown_name(arguments.file))) {
      single = single && row.lengths.size() == 1;
      rows.push_back({std::move(row.lengths), row.ms});
    }
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
  auto& command = *app.add_subcommand("calibrate", "fit a cost to measured times");
  command.add_option("TIMES", arguments->file, "rows of lengths and milliseconds; - is standard input")->required();
  command.add_flag("--json", arguments->json, "print one JSON object, which plan --cost reads");
  command.callback([arguments] { run(*arguments); });
}

}  // namespace ballast_cli
