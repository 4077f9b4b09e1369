// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/plan/calibrate_steps.hpp>
#include <ballast/plan/time_of.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/published_times.hpp"
#include "support/refusal.hpp"

namespace test_plan_calibrate_steps {

using namespace ballast;
using ballast_test::refusal;

/// Qwen3-30B on 16 H100 with micro-batches of that many sequences.
measured_step step_of(std::int64_t sequences) {
  measured_step out;
  out.by.model = {.spread = {.data = 16, .zero = 1}, .expert = 16, .expert_tensor = 1, .framework = framework_named("megatron")};
  out.by.micro_batch = sequences;
  out.by.micro_batches = 64 / sequences;
  out.batch = {.tokens = 4096 * sequences, .squares = 4096 * 4096 * sequences};
  return out;
}
double ms_of(transformer const& model, measured_step const& s, kernel_rates const& rates) {
  auto with = s.with;
  with.rates = rates;
  return static_cast<double>(time_of(model, s.by, device_named("h100"), with, s.batch).front().total()) / 1e9;
}

TEST_CASE("calibrate_steps: steps of known rates give their factors back, nearly", "[calibrate_steps]") {
  auto const& model = transformer_preset("qwen3-30b-a3b");
  auto const& on = device_named("h100");
  for (std::int64_t const time : {700, 900, 1000, 1200})
    for (std::int64_t const sync : {500, 1000, 2500}) {
      CAPTURE(time, sync);
      std::vector<measured_step> steps{step_of(1), step_of(2), step_of(4)};
      auto const truth = calibrated(steps[0].with.rates, {.time = time, .sync = sync});
      for (auto& s : steps) s.ms = ms_of(model, s, truth);
      auto const found = calibrate_steps<>(model, on, steps);
      CHECK(found.sync_known);
      CHECK(std::llabs(found.time - time) <= 25 + std::llabs(time - 1000) / 2);  // that it is 1 counts as a fifth of a step
      for (auto const& s : steps) CHECK(std::fabs(ms_of(model, s, calibrated(s.with.rates, found)) / s.ms - 1) < 0.05);
      CHECK(found.plausible() == (found.time >= 800));

      std::vector<measured_step> const one{steps[1]};  // one factor makes the step as long as it was measured
      auto const alone = calibrate_steps<>(model, on, one);
      CHECK(!alone.sync_known);
      CHECK(alone.time == alone.sync);
      CHECK(std::fabs(ms_of(model, one[0], calibrated(one[0].with.rates, alone)) / one[0].ms - 1) < 0.003);
    }
}

TEST_CASE("calibrate_steps: dense models and equal micro-batches tell one factor", "[calibrate_steps]") {
  auto const& on = device_named("h100");
  CHECK(calibrate_steps<>(transformer_preset("llama-3.1-8b"), on, {}) == step_calibration{});
  std::vector<measured_step> steps{step_of(1), step_of(4)};
  for (auto& s : steps) {
    s.by.model.expert = 1;
    s.ms = 1.1 * ms_of(transformer_preset("llama-3.1-8b"), s, s.with.rates);
  }
  CHECK(calibrate_steps<>(transformer_preset("llama-3.1-8b"), on, steps) == step_calibration{1100, 1100, false});
  std::vector<measured_step> equal{step_of(2), step_of(2)};
  for (auto& s : equal) s.ms = 0.75 * ms_of(transformer_preset("qwen3-30b-a3b"), s, s.with.rates);
  auto const found = calibrate_steps<>(transformer_preset("qwen3-30b-a3b"), on, equal);
  CHECK(found == step_calibration{750, 750, false});
  CHECK(!found.plausible());
}

TEST_CASE("calibrate_steps: two steps with different micro-batches rank the rest of a sweep", "[calibrate_steps][published]") {
  std::vector<ballast_test::timed_run> sweep;
  for (auto const& row : ballast_test::published_times())
    if (row.group->sweep == "qwen235-h800") sweep.push_back(row);
  REQUIRE(sweep.size() == 8);
  std::vector<double> ranks;
  for (std::size_t i = 0; i < sweep.size(); ++i)
    for (std::size_t j = i + 1; j < sweep.size(); ++j) {
      if (sweep[i].micro_batch == sweep[j].micro_batch) continue;
      std::vector<measured_step> steps;
      for (auto const k : {i, j}) {
        auto const asked = ballast_test::question_of(sweep[k]);
        auto const tokens = asked.by.micro_batch * asked.by.sequence;
        steps.push_back({asked.by,
                         asked.with,
                         {.tokens = tokens, .squares = tokens * asked.by.sequence},
                         1000 * asked.tokens_per_second(1'000'000'000'000) / sweep[k].measured});
      }
      auto const first = ballast_test::question_of(sweep[i]);
      auto const found = calibrate_steps<>(first.model, first.on, steps);
      std::vector<double> measured, modelled;
      for (std::size_t k = 0; k < sweep.size(); ++k) {
        if (k == i || k == j) continue;
        auto asked = ballast_test::question_of(sweep[k]);
        asked.with.rates = calibrated(asked.with.rates, found);
        measured.push_back(sweep[k].measured);
        modelled.push_back(asked.tokens_per_second(slowest_of(asked.parts()).total()));
      }
      ranks.push_back(ballast_test::rank_correlation(measured, modelled));
    }
  CHECK(ballast_test::quantile(ranks, 0.5) >= 0.8);
}

TEST_CASE("leave_one_out: each step is predicted by the others alone", "[calibrate_steps]") {
  auto const& model = transformer_preset("qwen3-30b-a3b");
  auto const& on = device_named("h100");
  std::vector<measured_step> steps{step_of(1), step_of(2), step_of(4)};
  auto const truth = calibrated(steps[0].with.rates, {.time = 1100, .sync = 1500});
  for (auto& s : steps) s.ms = ms_of(model, s, truth);
  auto const before = leave_one_out(model, on, steps);
  REQUIRE(before.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    auto others = steps;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    auto const found = calibrate_steps(model, on, others);
    CHECK(before[i] == modelled_ms(model, on, steps[i], found));
    CHECK(before[i] == ms_of(model, steps[i], calibrated(steps[i].with.rates, found)));
    CHECK(std::fabs(before[i] / steps[i].ms - 1) < std::fabs(modelled_ms(model, on, steps[i]) / steps[i].ms - 1));
    auto changed = steps;
    changed[i].ms *= 1.5;  // what is predicted is not known
    CHECK(leave_one_out(model, on, changed)[i] == before[i]);
  }
  CHECK(leave_one_out(model, on, std::vector{steps[0]}) == std::vector{ms_of(model, steps[0], steps[0].with.rates)});
}

TEST_CASE("calibrate_steps: times that are no milliseconds of the setting are refused", "[calibrate_steps]") {
  auto const& model = transformer_preset("qwen3-30b-a3b");
  std::vector<measured_step> steps{step_of(1)};
  CHECK(refusal([&] { return calibrate_steps<>(model, device_named("h100"), steps); }).find("timings[0]") != std::string::npos);
  steps.push_back(step_of(4));
  steps[0].ms = 60'000;
  CHECK(refusal([&] { return calibrate_steps<>(model, device_named("h100"), steps); }).find("timings[1]") != std::string::npos);
  steps.resize(1);
  steps[0].ms = ms_of(model, steps[0], steps[0].with.rates) / 1000;  // seconds
  CHECK(refusal([&] { return calibrate_steps<>(model, device_named("h100"), steps); }) ==
        "the measured steps take 1 thousandths of the modelled time: check the setting, the device and the unit, milliseconds");
  CHECK(refusal([&] { return calibrated(steps[0].with.rates, {.time = 0}); }) == "time = 0 must be in [100, 10000]");
}

}  // namespace test_plan_calibrate_steps
