// SPDX-License-Identifier: Apache-2.0
#include "report/time_parts.hpp"

#include "report/output.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ballast_cli {

namespace {

struct time_line {
  char const *key, *name;
  std::int64_t ballast::time_parts::* value;
};
constexpr std::array time_lines{time_line{"gemm", "matrix products", &ballast::time_parts::gemm},
                                time_line{"experts", "products of experts", &ballast::time_parts::experts},
                                time_line{"attention", "attention", &ballast::time_parts::attention},
                                time_line{"memory", "operators that move bytes", &ballast::time_parts::memory},
                                time_line{"exchange", "exchanges that show", &ballast::time_parts::exchange},
                                time_line{"recompute", "recomputation", &ballast::time_parts::recompute},
                                time_line{"host", "waiting for the host", &ballast::time_parts::host},
                                time_line{"p2p", "transfers between stages", &ballast::time_parts::p2p},
                                time_line{"bubble", "waiting for other devices", &ballast::time_parts::bubble},
                                time_line{"end", "gradients and optimiser", &ballast::time_parts::end}};

[[nodiscard]] double ms_of_ps(std::int64_t picoseconds) { return static_cast<double>(picoseconds) / 1e9; }

}  // namespace

std::string rates_name(std::string_view device, ballast::kernel_rates const& rates) {
  constexpr std::array<char const*, 3> kinds{"-te", "-compile", "-eager"};
  return std::string(device) + kinds[static_cast<std::size_t>(rates.family)] + (rates.fp8 ? "-fp8" : "-bf16");
}

nlohmann::ordered_json to_json(std::vector<ballast::time_parts> const& stages, used_rates const& rates) {
  auto const& of = ballast::slowest_of(stages);
  nlohmann::ordered_json parts;
  for (auto const& l : time_lines) parts[l.key] = ms_of_ps(of.*l.value);
  nlohmann::ordered_json json{{"rates", rates.name},
                              {"nearest", nullptr},
                              {"calibration", nullptr},
                              {"stage", &of - stages.data()},
                              {"step_ms", ms_of_ps(of.total())}};
  if (!rates.nearest.empty()) json["nearest"] = rates.nearest;
  if (!rates.calibration.empty()) json["calibration"] = rates.calibration;
  json["parts_ms"] = std::move(parts);
  return json;
}

std::string time_table(std::vector<ballast::time_parts> const& stages, used_rates const& rates) {
  auto const& of = ballast::slowest_of(stages);
  auto text = "Where the time of a step goes, modelled from kernels at the rates " + rates.name;
  if (!rates.nearest.empty()) text += ", those of the nearest device that is known, " + rates.nearest;
  if (!rates.calibration.empty()) text += ", calibrated by " + rates.calibration;
  if (stages.size() > 1) text += ", on stage " + std::to_string(&of - stages.data()) + ", which waits least";
  text += ":\n";
  auto const total = ms_of_ps(of.total());
  auto const line = [&](char const* name, double ms) { text += formatted("%-26s %12.2f ms %9s\n", name, ms, percent(ms / total).c_str()); };
  for (auto const& l : time_lines)
    if (of.*l.value != 0) line(l.name, ms_of_ps(of.*l.value));
  line("step", total);
  return text;
}

}  // namespace ballast_cli
