// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/trainers.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace test_footprint_trainers {

using namespace ballast;

TEST_CASE("trainers: each has a framework and an optimiser that are known", "[trainers]") {
  for (auto const& t : trainers) {
    CAPTURE(t.name);
    CHECK(&trainer_named(t.name) == &t);
    CHECK(framework_named(t.framework).count != tensor_count::table);
    CHECK(optimizer_named(t.optimizer).name == t.optimizer);
  }
  CHECK(ballast_test::refusal([] { return trainer_named("torchtitun").zero; }) ==
        "no trainer \"torchtitun\"; there are megatron, torchtitan, torchtune, transformers, axolotl, deepspeed");
}

TEST_CASE("trainers: experts are grouped under Megatron-Core alone", "[trainers]") {
  auto const dense = transformer_preset("llama-3.1-8b"), routed = transformer_preset("mixtral-8x7b");
  CHECK(kernels_of(trainer_named("megatron"), routed).grouped_gemm);
  CHECK_FALSE(kernels_of(trainer_named("megatron"), dense).grouped_gemm);
  CHECK(kernels_of(trainer_named("torchtune"), routed) == trainer_named("torchtune").kernels);
}

}  // namespace test_footprint_trainers
