// SPDX-License-Identifier: Apache-2.0
#include "report/time_parts.hpp"

#include "report/output.hpp"
#include "report/words.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ballast_cli {

std::string rates_name(timed_step const& of) {
  if (!of.kernels.empty()) return of.kernels;
  constexpr std::array<char const*, 3> kinds{"-te", "-compile", "-eager"};
  auto const own = of.device.find(' ') != std::string::npos;  // a device of --tflops, which has no name to ask for
  return (own ? std::string(of.rates.nearest) : of.device) + kinds[static_cast<std::size_t>(of.rates.family)] +
         (of.rates.fp8 ? "-fp8" : "-bf16");
}

namespace {

struct time_line {
  char const *key, *name, *style;
  std::int64_t ballast::time_parts::* value;
};
constexpr std::array time_lines{time_line{"gemm", "matrix products", "solid c2", &ballast::time_parts::gemm},
                                time_line{"experts", "products of experts", "pale c2", &ballast::time_parts::experts},
                                time_line{"attention", "attention", "solid c4", &ballast::time_parts::attention},
                                time_line{"memory", "operators that move bytes", "pale c4", &ballast::time_parts::memory},
                                time_line{"exchange", "exchanges that show", "solid c3", &ballast::time_parts::exchange},
                                time_line{"recompute", "recomputation", "hollow c1", &ballast::time_parts::recompute},
                                time_line{"host", "waiting for the host", "solid c1", &ballast::time_parts::host},
                                time_line{"p2p", "transfers between stages", "pale c3", &ballast::time_parts::p2p},
                                time_line{"bubble", "waiting for other devices", "pale c0", &ballast::time_parts::bubble},
                                time_line{"end", "gradients and optimiser", "solid c0", &ballast::time_parts::end}};

[[nodiscard]] double ms_of_ps(std::int64_t picoseconds) { return static_cast<double>(picoseconds) / 1e9; }

[[nodiscard]] std::string rates_in_words(timed_step const& of) {
  auto text = "modelled from kernels at the rates " + rates_name(of);
  if (!of.rates.nearest.empty()) text += ", those of the nearest device that is known, " + std::string(of.rates.nearest);
  if (!of.calibration.empty()) text += ", calibrated by " + of.calibration;
  return text;
}

/// Sentences that limit what is told.
[[nodiscard]] std::vector<std::string> limits_of(timed_step const& of) {
  std::vector<std::string> out;
  if (of.experts) out.emplace_back("With experts, a release of the framework alone changes this by up to 30 %.");
  if (of.lower_bound)
    out.emplace_back("More than 92 % of the device's memory is taken: the allocator frees and asks again, and this is a lower bound.");
  return out;
}

[[nodiscard]] nlohmann::ordered_json parts_json(ballast::time_parts const& of) {
  nlohmann::ordered_json parts;
  for (auto const& l : time_lines) parts[l.key] = ms_of_ps(of.*l.value);
  return parts;
}

}  // namespace

std::string untold_in_words(timed_step const& of) {
  return of.stages.empty() ? "where the time of a step goes is not told: " + of.untimed : std::string();
}

nlohmann::ordered_json to_json(timed_step const& of) {
  if (of.stages.empty()) return nullptr;
  auto const& slowest = ballast::slowest_of(of.stages);
  nlohmann::ordered_json json{{"rates", rates_name(of)},
                              {"nearest", nullptr},
                              {"calibration", nullptr},
                              {"stage", &slowest - of.stages.data()},
                              {"step_ms", ms_of_ps(slowest.total())},
                              {"parts_ms", parts_json(slowest)},
                              {"stages_ms", nlohmann::ordered_json::array()},
                              {"lower_bound", of.lower_bound}};
  if (!of.rates.nearest.empty()) json["nearest"] = of.rates.nearest;
  if (!of.calibration.empty()) json["calibration"] = of.calibration;
  for (auto const& stage : of.stages) json["stages_ms"].push_back(parts_json(stage));
  return json;
}

std::string in_words(timed_step const& of) {
  if (of.stages.empty()) return {};
  auto const& slowest = ballast::slowest_of(of.stages);
  auto text = "Where the time of a step goes, " + rates_in_words(of);
  if (of.stages.size() > 1) text += ", on stage " + std::to_string(&slowest - of.stages.data()) + ", which waits least";
  text += ":\n";
  auto const total = ms_of_ps(slowest.total());
  auto const line = [&](char const* name, double ms) { text += formatted("%-26s %12.2f ms %9s\n", name, ms, percent(ms / total).c_str()); };
  for (auto const& l : time_lines)
    if (slowest.*l.value != 0) line(l.name, ms_of_ps(slowest.*l.value));
  line("step", total);
  for (auto const& sentence : limits_of(of)) text += sentence + "\n";
  return text;
}

report_split on_page(timed_step const& of, std::string const& others) {
  report_split out{.id = "step-time", .heading = "Where the time of a step goes", .unit = "ms"};
  if (of.stages.empty()) return out;
  auto const ms = ms_of_ps(of.stages.front().total());
  out.caption = "A step of mean micro-batches takes " + duration(ms) + ", " + rates_in_words(of) + ".";
  if (!others.empty()) out.caption += " All other times of this page are those of " + others + ".";
  for (auto const& sentence : limits_of(of)) out.caption += " " + sentence;
  for (auto const& l : time_lines) {
    report_split::part part{l.name, l.style, {}};
    for (auto const& stage : of.stages) part.of_stages.push_back(ms_of_ps(stage.*l.value));
    if (std::ranges::any_of(part.of_stages, [](double value) { return value != 0; })) out.parts.push_back(std::move(part));
  }
  return out;
}

}  // namespace ballast_cli
