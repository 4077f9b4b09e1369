// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/plan/time_of.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace ballast_test {

/// The parts of a step's time in the order of bars and tables, by the names that `--json` has.
inline constexpr std::pair<char const*, std::int64_t ballast::time_parts::*> time_parts_by_name[] = {
    {"gemm", &ballast::time_parts::gemm},     {"experts", &ballast::time_parts::experts},   {"attention", &ballast::time_parts::attention},
    {"memory", &ballast::time_parts::memory}, {"exchange", &ballast::time_parts::exchange}, {"recompute", &ballast::time_parts::recompute},
    {"host", &ballast::time_parts::host},     {"p2p", &ballast::time_parts::p2p},           {"bubble", &ballast::time_parts::bubble},
    {"end", &ballast::time_parts::end}};

/// The parts of each stage as `--json` says them.
[[nodiscard]] inline nlohmann::json stages_ms(std::vector<ballast::time_parts> const& stages) {
  auto out = nlohmann::json::array();
  for (auto const& stage : stages) {
    nlohmann::json of;
    for (auto const& [name, field] : time_parts_by_name) of[name] = static_cast<double>(stage.*field) / 1e9;
    out.push_back(std::move(of));
  }
  return out;
}

}  // namespace ballast_test
