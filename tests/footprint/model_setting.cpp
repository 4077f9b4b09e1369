// SPDX-License-Identifier: Apache-2.0
#include <ballast/footprint/model_setting.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace test_footprint_model_setting {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("model_setting: experts are split like all matrices, or distributed") {
  STATIC_REQUIRE(model_setting{.spread = {.tensor = 4}}.experts() == expert_parallelism{.expert = 1, .expert_tensor = 4});
  STATIC_REQUIRE(model_setting{.spread = {.tensor = 4, .data = 16}, .expert = 8}.experts() ==
                 expert_parallelism{.expert = 8, .expert_tensor = 1});
  // Megatron-Core splits experts as all matrices unless it is told otherwise
  STATIC_REQUIRE(model_setting{.spread = {.tensor = 4, .data = 16}, .expert = 8, .framework = framework_named("megatron")}.experts() ==
                 expert_parallelism{.expert = 8, .expert_tensor = 4});
  STATIC_REQUIRE(model_setting{.spread = {.tensor = 4, .data = 16}, .expert = 8, .expert_tensor = 2}.experts() ==
                 expert_parallelism{.expert = 8, .expert_tensor = 2});
}

TEST_CASE("model_setting: bad input") {
  auto const of = [](model_setting const& by) {
    return refusal([&] {
      require_valid(by);
      return 0;
    });
  };
  CHECK(of({}) == "accepted");
  CHECK(of({.expert = 3}) == "expert * expert_tensor = 3 must divide tensor * data = 1");
  CHECK(of({.spread = {.data = 4}, .expert = 2, .expert_tensor = 4}) == "expert * expert_tensor = 8 must divide tensor * data = 4");
  CHECK(of({.expert_tensor = -1}) == "expert_tensor = -1 must be in [0, 65536]");
  CHECK(of({.spread = {.data = 4}, .kernels = {.instances = 3}}) == "kernels.instances = 3 must divide data = 4");
  CHECK(of({.framework = {.activations = 0}}) == "framework.activations = 0 must be in [1, 100000]");
  CHECK(of({.projector = {.what = trained::low_rank}}) == "projector = low_rank: train it, or freeze it");
}

TEST_CASE("logits_of: 12 bytes, of which 4 are kept, of a chunk or none") {
  using enum head_loss::kind;
  STATIC_REQUIRE(logits_of(1000, {}, 1) == logit_bytes{4000, 8000});
  STATIC_REQUIRE(logits_of(1001, {}, 8) == logit_bytes{501, 1001});
  STATIC_REQUIRE(logits_of(1000, {.how = fused}, 1) == logit_bytes{0, 0});
  STATIC_REQUIRE(logits_of(1000, {.how = chunked, .chunks = 16}, 2) == logit_bytes{0, 375});
  for (auto const count : {tensor_count::table, tensor_count::eager, tensor_count::compiled}) {  // head and loss chunk by chunk
    CHECK(logits_of(1000, {.how = plain, .chunks = 8}, 1, count) == logit_bytes{0, 14 * 125});
    CHECK(logits_of(1000, {.how = parallel, .chunks = 8}, 2, count) == logit_bytes{0, 9 * 125});
  }
}

TEST_CASE("logits_of: the worst moment by loss and framework") {
  using enum head_loss::kind;
  auto const most = [](head_loss::kind how, tensor_count count = tensor_count::table) {
    auto const of = logits_of(1000, {.how = how}, 1, count);
    return of.kept + of.working;
  };
  STATIC_REQUIRE(logits_of(1000, {}, 2, tensor_count::megatron) == logit_bytes{2000, 1000});
  CHECK(most(plain, tensor_count::megatron) == 6000);
  CHECK(most(native) == 10000);
  CHECK(most(in_place) == 2000);
  CHECK(most(sixteen_bits) == 8000);
  STATIC_REQUIRE(logits_of(1000, {.how = sixteen_bits, .chunks = 4}, 1) == logit_bytes{4000, 1000});
  // in float32: logits that are returned, those of all chunks, and both of `sixteen_bits`; Megatron-Core copies nothing
  STATIC_REQUIRE(logits_of(1000, {.how = returned}, 1, tensor_count::eager, 4) == logit_bytes{8000, 8000});
  STATIC_REQUIRE(logits_of(1000, {.how = chunked, .chunks = 4}, 1, tensor_count::eager, 4) == logit_bytes{8000, 2000});
  STATIC_REQUIRE(logits_of(1000, {.how = sixteen_bits, .chunks = 4}, 1, tensor_count::eager, 4) == logit_bytes{8000, 2000});
  STATIC_REQUIRE(logits_of(1000, {.how = plain}, 1, tensor_count::megatron, 4) == logit_bytes{4000, 0});
  STATIC_REQUIRE(logits_of(1000, {}, 1, tensor_count::table, 4) == logits_of(1000, {}, 1));
  CHECK(to_string(head_loss{.how = sixteen_bits, .chunks = 4}) == "16-bits:4");
  CHECK(most(returned) == 14000);
  CHECK(most(copied) == 16000);
  CHECK(most(parallel) == 16000);
}

}  // namespace test_footprint_model_setting
