// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/export/deepspeed.hpp>

#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

namespace test_plan_export_deepspeed {

using namespace ballast;

TEST_CASE("deepspeed_json: every key that the plan depends on, and what the file has none for") {
  training_setting by;
  by.model.spread = {.data = 8, .zero = 2};
  by.model.moved = offload::gradients;
  by.micro_batch = 2;
  by.micro_batches = 4;
  auto const& model = transformer_preset("llama-3.1-8b");
  auto const e = deepspeed_json(model, by);
  CHECK(e.text == R"({
  "train_batch_size": 64,
  "train_micro_batch_size_per_gpu": 2,
  "gradient_accumulation_steps": 4,
  "optimizer": {"type": "AdamW"},
  "bf16": {"enabled": true},
  "data_types": {"grad_accum_dtype": "fp32"},
  "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}
}
)");
  CHECK(e.without.empty());
  CHECK(e.words.empty());
  by.model.spread = {.tensor = 2, .context = 2, .data = 4, .sequence_parallel = true, .zero = 1};
  by.model.moved = offload::optimizer;
  by.pipeline = {.stages = 2, .schedule = gpipe_schedule{}};
  by.recompute = {.what = recompute_setting::kind::block, .layers = 2};
  by.model.expert_capacity = 1250;
  CHECK(deepspeed_json(model, by).without ==
        std::vector<std::string>{"sequence parallelism beside tensor parallelism", "context parallelism in a ring", "schedule gpipe",
                                 "recompute block 2", "the cut, which is the argument `parts` of PipelineModule",
                                 "offload optimizer without gradients", "expert capacity 1.250"});
}

}  // namespace test_plan_export_deepspeed
