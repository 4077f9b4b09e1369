// SPDX-License-Identifier: Apache-2.0
#include "support/published_times.hpp"

#include <ballast/cost/transformer.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/training_setting.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace test_plan_published_times {

using namespace ballast;
using ballast_test::published_times;

TEST_CASE("published times: rows are settings of the library", "[published_times]") {
  auto const rows = published_times();
  CHECK(rows.size() == 276);
  std::map<std::string_view, std::size_t> sizes;
  for (auto const& row : rows) {
    CAPTURE(row.group->name, row.model, row.gpus, row.sequence);
    ++sizes[row.group->name];
    auto const asked = ballast_test::question_of(row);
    auto const& by = asked.by;
    CHECK_NOTHROW(require_valid(by, asked.model));
    CHECK(by.gpus() == row.gpus);
    CHECK(by.global_batch() == row.global_batch);
    CHECK(by.recompute.modules.empty() == (by.recompute.what != recompute_setting::kind::modules));
    CHECK((by.recompute.what == recompute_setting::kind::none) == row.recompute.empty());
    CHECK(row.measured > 0);
    CHECK(row.reference > 0);
  }
  CHECK(sizes["bridge-moe"] == 51);
  CHECK(sizes["gpt-oss"] == 19);
  CHECK(sizes["qwen235"] == 10);
}

TEST_CASE("time_of: published throughputs, and what the formulas give in floating point", "[published_times][time_of]") {
  std::vector<double> all, dense, known;
  for (auto const& row : published_times()) {
    auto const is = ballast_test::timed(row);
    CAPTURE(row.group->name, row.model, row.device, row.gpus, row.sequence, row.micro_batch, row.kernels, is.modelled, row.reference);
    // the reference cuts layers of several kinds into stages of a mean layer
    auto const mixed = row.stages > 1 && (row.model.starts_with("deepseek") || row.model.starts_with("gpt-oss"));
    CHECK(std::fabs(is.modelled / row.reference - 1) < (mixed ? 0.03 : 0.002));
    all.push_back(std::fabs(is.error()));
    if (is.dense()) dense.push_back(all.back());
    if (row.group->name != "gpt-oss") known.push_back(all.back());
  }
  CHECK(dense.size() == 188);
  CHECK(ballast_test::quantile(all, 0.5) <= 0.05);
  CHECK(ballast_test::quantile(dense, 0.5) <= 0.03);
  CHECK(ballast_test::quantile(known, 0.5) <= 0.04);
  CHECK(ballast_test::quantile(known, 0.9) <= 0.17);
  CHECK(ballast_test::quantile(dense, 0.9) <= 0.10);
  CHECK(ballast_test::quantile(dense, 1) <= 0.31);
}

TEST_CASE("time_of: settings are ranked as they were measured", "[published_times][time_of]") {
  std::map<std::string_view, std::vector<ballast_test::timed_result>> groups, sweeps;
  for (auto const& row : published_times()) {
    groups[row.group->name].push_back(ballast_test::timed(row));
    if (!row.group->sweep.empty()) sweeps[row.group->sweep].push_back(groups[row.group->name].back());
  }
  auto const ranks = [](std::vector<ballast_test::timed_result> const& of) {
    std::vector<double> measured, modelled;
    for (auto const& r : of) {
      measured.push_back(r.row.measured);
      modelled.push_back(r.modelled);
    }
    return ballast_test::rank_correlation(measured, modelled);
  };
  for (auto const* name : {"torchtitan", "nemo", "nemo-long", "fms", "korthikanti", "mpt-h100", "mpt-a100", "mpt-a100-40", "bridge"}) {
    CAPTURE(name, groups[name].size());
    CHECK(ranks(groups[name]) >= 0.95);
  }
  for (auto const* name : {"tt-a100", "tt-70b-tp", "tt-8b-cp", "nemo-long", "moonlight"}) {
    CAPTURE(name, sweeps[name].size());
    CHECK(ranks(sweeps[name]) >= 0.95);
  }
  CHECK(ranks(sweeps["qwen30-16"]) >= 0.85);  // two of three rows have one setting
  auto settings = sweeps["qwen235-h800"];
  REQUIRE(settings.size() == 8);
  CHECK(ranks(settings) > 0.3);
  auto const third = [&](auto const& of) {  // what the third fastest reaches
    std::vector<double> speeds;
    for (auto const& s : settings) speeds.push_back(of(s));
    std::sort(speeds.begin(), speeds.end());
    return speeds[5];
  };
  auto const measured = [](ballast_test::timed_result const& r) { return r.row.measured; };
  auto const modelled = [](ballast_test::timed_result const& r) { return r.modelled; };
  auto const slow = third(measured), called = third(modelled);
  CHECK(std::any_of(settings.begin(), settings.end(), [&](auto const& s) { return measured(s) >= slow && modelled(s) >= called; }));
}

TEST_CASE("judge_setting: simulated steps of published settings take what time_of says, and are ranked as measured",
          "[published_times][judge_setting]") {
  std::vector<double> apart;
  std::map<std::string_view, std::array<std::vector<double>, 2>> groups;  // measured, simulated
  for (auto const& row : published_times()) {
    auto const asked = ballast_test::question_of(row);
    auto const judged = judge_setting(asked.model, asked.by, {.device = asked.on, .time = asked.with});
    auto const speed = asked.tokens_per_second(judged.time.value * 1000);
    CAPTURE(row.group->name, row.model, row.device, row.gpus, row.sequence, row.micro_batch, row.kernels, speed);
    apart.push_back(std::fabs(speed / ballast_test::timed(row).modelled - 1));
    CHECK(apart.back() < 0.08);  // interleaved schedules of eight micro-batches
    for (auto const name : {row.group->name, row.group->sweep})
      if (!name.empty()) {
        groups[name][0].push_back(row.measured);
        groups[name][1].push_back(speed);
      }
  }
  CHECK(ballast_test::quantile(apart, 0.5) < 0.005);
  CHECK(ballast_test::quantile(apart, 0.9) < 0.025);
  for (auto const* name : {"torchtitan", "nemo", "nemo-long", "fms", "korthikanti", "mpt-h100", "mpt-a100", "bridge", "moonlight"}) {
    CAPTURE(name, groups[name][0].size());
    CHECK(ballast_test::rank_correlation(groups[name][0], groups[name][1]) >= 0.95);
  }
  CHECK(ballast_test::rank_correlation(groups["qwen235-h800"][0], groups["qwen235-h800"][1]) > 0.5);
}

TEST_CASE("published times: models have the parameters of their names", "[published_times]") {
  struct {
    std::string_view name;
    double billions;
  } const published[] = {{"mpt-125m", 0.124},    {"mpt-350m", 0.354},       {"mpt-760m", 0.757},       {"mpt-1b", 1.311},
                         {"mpt-3b", 2.651},      {"mpt-7b", 6.649},         {"mpt-13b", 12.85},        {"mpt-30b", 29.96},
                         {"mpt-70b", 64.84},     {"llama2-7b", 6.738},      {"llama2-13b", 13.016},    {"llama2-34b", 33.74},
                         {"llama2-70b", 68.98},  {"kor-22b", 22},           {"gpt3-175b-2205", 174.6}, {"kor-1t", 1008},
                         {"nemotron-340b", 341}, {"gpt-oss-20b", 20.9},     {"gpt-oss-120b", 116.8},   {"moonlight-16b", 16},
                         {"deepseek-v3", 671},   {"qwen3-235b-a22b", 235.1}};
  for (auto const& p : published) {
    auto const count = static_cast<double>(parameters(ballast_test::timed_model(p.name))) / 1e9;
    CAPTURE(p.name, count);
    CHECK(std::fabs(count / p.billions - 1) < 0.015);
  }
}

}  // namespace test_plan_published_times
