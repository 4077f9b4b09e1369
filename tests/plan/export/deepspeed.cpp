// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/export/deepspeed.hpp>

#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <span>
#include <sstream>
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
                                 "recompute block 2",
                                 "the cut, for which PipelineModule has no argument (deepspeed_stages writes a class that has it)",
                                 "offload optimizer without gradients", "expert capacity 1.250"});
}

TEST_CASE("deepspeed_stages: the list of a cut is read back") {
  splitmix64 draw(3);
  for (int k = 0; k < 200; ++k) {
    std::vector<std::uint32_t> cut{0};
    for (auto stages = 1 + draw() % 9; cut.size() <= stages;) cut.push_back(cut.back() + static_cast<std::uint32_t>(1 + draw() % 30));
    auto const text = deepspeed_stages(std::span<std::uint32_t const>(cut));
    std::istringstream list(text.substr(text.find('[') + 1));
    std::vector<std::uint32_t> read;
    for (std::uint32_t part = 0; list >> part; list.ignore()) read.push_back(part);  // "]" ends it
    CHECK(read == cut);
  }
  std::vector<std::uint32_t> const published{0, 49, 66, 82, 101};
  CHECK(deepspeed_stages(std::span<std::uint32_t const>(published)) == R"(class PlannedStages(PipelineModule):
    def _partition_layers(self, method=None):
        self.parts = [0, 49, 66, 82, 101]
        stage = self._topo.get_coord(self.global_rank).pipe
        self._set_bounds(start=self.parts[stage], stop=self.parts[stage + 1])
)");
}

}  // namespace test_plan_export_deepspeed
