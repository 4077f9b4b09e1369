// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/training_setting.hpp>

#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"

#include <string>

namespace test_plan_training_setting {

namespace {

using namespace ballast;

std::string refused(training_setting const& by, transformer const& model = transformer_preset("llama-3.1-8b")) {
  try {
    require_valid(by, model);
  } catch (invalid_input const& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("training_setting: counts devices, ranks and sequences") {
  training_setting by;
  CHECK(by.gpus() == 1);
  CHECK(by.global_batch() == 1);
  by.model.spread = {.tensor = 8, .context = 2, .data = 8, .sequence_parallel = true, .zero = 1};
  by.pipeline = {.stages = 4, .schedule = interleaved_schedule{.chunks = 3}};
  by.micro_batch = 2;
  by.micro_batches = 16;
  CHECK(by.ranks() == 4);
  CHECK(by.gpus() == 256);
  CHECK(by.global_batch() == 128);
  CHECK(by.chunks() == 3);
  auto other = by;
  CHECK(other == by);
  other.pipeline.schedule = interleaved_schedule{.chunks = 2};
  CHECK(other != by);
  other.pipeline.schedule = one_f_one_b_schedule{};
  CHECK(other != by);
}

TEST_CASE("training_setting: what is out of range is refused by name") {
  using enum recompute_setting::kind;
  training_setting const good;
  CHECK(refused(good) == "accepted");
  auto bad = good;
  bad.pipeline.stages = 0;
  CHECK(refused(bad).starts_with("stages = 0 "));
  bad.pipeline.stages = 35;  // of 34 layers
  CHECK(refused(bad).starts_with("stages = 35 of 1 chunks "));
  bad = good;
  bad.sequence = 0;
  CHECK(refused(bad).starts_with("sequence = 0 "));
  bad = good;
  bad.micro_batch = std::int64_t{1} << 40;
  CHECK(refused(bad).starts_with("micro_batch = "));
  bad = good;
  bad.micro_batches = 0;
  CHECK(refused(bad).starts_with("micro_batches = 0 "));
  bad = good;
  bad.recompute = {.what = modules};
  CHECK(refused(bad).starts_with("recompute.modules = "));
  bad.recompute = {.what = block, .layers = 33};
  CHECK(refused(bad).starts_with("recompute.layers = 33 "));
  bad = good;
  bad.pipeline.stages = 2;
  for (auto const& cuts : {std::vector<std::uint32_t>{0, 34}, {0, 35, 34}, {0, 17, 33}, {1, 17, 34}, {0, 0, 34}}) {
    bad.boundaries = cuts;
    CHECK(refused(bad).starts_with("boundaries must be 3 numbers "));
  }
  bad.boundaries = {0, 17, 34};
  CHECK(refused(bad) == "accepted");
  bad.model.expert = 2;
  CHECK(refused(bad) != "accepted");
}

}  // namespace test_plan_training_setting
