// SPDX-License-Identifier: Apache-2.0
#include "bytes.hpp"
#include "commands.hpp"
#include "errors.hpp"
#include "output.hpp"
#include "timings_reader.hpp"

#include <ballast/cost/calibrate.hpp>
#include <ballast/cost/polynomial.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>

namespace ballast_cli {

void run_calibrate(calibrate_arguments const& arguments) {
  std::vector<ballast::timing> rows;
  {
    file_bytes const bytes(arguments.file);
    for (auto const& row : read_timings(bytes.view(), shown_name(arguments.file))) rows.push_back({row.length, row.ms});
  }
  if (rows.size() < 3)
    throw bad_input(shown_name(arguments.file) + ": three coefficients take three timings at least; there are " +
                    std::to_string(rows.size()));
  auto const fit = ballast::calibrate(rows, {}, ballast::linear_cost{.per_token = 0, .per_sample = 1}, ballast::token_cost{},
                                      ballast::quadratic_cost{.linear = 0, .quadratic = 1});
  auto const& c = fit.coefficients;
  if (arguments.json) {
    nlohmann::ordered_json const json{{"rows", rows.size()},
                                      {"coefficients", {{"constant", c[0]}, {"linear", c[1]}, {"quadratic", c[2]}}},
                                      {"worst_error", fit.fit.worst},
                                      {"mean_error", fit.fit.mean},
                                      {"hold_out_worst_error", fit.held_out.worst},  // null where there are too few rows
                                      {"hold_out_mean_error", fit.held_out.mean}};
    return write_standard_output(json.dump() + "\n");
  }
  char text[256];
  (void)std::snprintf(text, sizeof text, "milliseconds = %.5g + %.5g length + %.5g length^2, fitted to %zu timings\n", c[0], c[1], c[2],
                      rows.size());
  auto const errors = [](char const* what, ballast::relative_errors const& e) {
    return what + (std::isfinite(e.worst) ? "at worst " + percent(e.worst) + ", on average " + percent(e.mean) + ".\n"
                                          : std::string("unknown, too few timings.\n"));
  };
  write_standard_output(text + errors("Errors of the fit: ", fit.fit) +
                        errors("Errors on timings that a fit has not seen: ", fit.held_out));
}

}  // namespace ballast_cli
