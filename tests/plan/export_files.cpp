// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/export_files.hpp>

#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"

#include <string>
#include <vector>

namespace test_plan_export_files {

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

TEST_CASE("torchtitan_toml: every key that the plan depends on, and what the file has none for") {
  training_setting by;
  by.model.spread = {.tensor = 2, .context = 2, .data = 4, .sequence_parallel = true, .zero = 3};
  by.model.optimizer = optimizer_named("adam-bf16-gradients");
  by.pipeline = {.stages = 2};
  by.micro_batches = 4;
  auto model = transformer_preset("llama-3.1-8b");
  model.layers = 4;
  by.recompute.what = recompute_setting::kind::products;
  auto const e = torchtitan_toml(model, by);
  CHECK(e.text == R"([training]
local_batch_size = 4
global_batch_size = 8
seq_len = 4096
dtype = "float32"
mixed_precision_param = "bfloat16"
mixed_precision_reduce = "float32"

[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = 2
fsdp_reshard_after_forward = "always"
tensor_parallel_degree = 2
context_parallel_degree = 2
disable_loss_parallel = false
pipeline_parallel_degree = 2
pipeline_parallel_schedule = "1F1B"
pipeline_parallel_microbatch_size = 1
module_fqns_per_model_part = [
  ["tok_embeddings", "layers.0", "layers.1"],
  ["layers.2", "layers.3", "norm", "output"],
]

[activation_checkpoint]
mode = "selective"
selective_ac_option = "op"
)");
  CHECK(e.without.empty());
  by.model.spread.zero = 1;
  by.model.method = context_method::ulysses;
  by.model.optimizer = optimizer_named("adam");
  by.pipeline.schedule = zb2p_schedule{};
  by.recompute = {.what = recompute_setting::kind::block, .layers = 2};
  CHECK(torchtitan_toml(model, by).without ==
        std::vector<std::string>{"optimizer adam", "ZeRO stage 1", "context parallelism by Ulysses", "schedule zb2p", "recompute block 2"});
}

}  // namespace test_plan_export_files
