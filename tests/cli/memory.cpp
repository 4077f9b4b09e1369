// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

namespace test_cli_memory {

namespace {

using namespace ballast_test;
using nlohmann::json;

json answer(scratch const& in, std::string const& arguments) {
  auto const o = in.ballast("memory " + arguments + " --json");
  CAPTURE(arguments, o.err);
  REQUIRE(o.code == 0);
  return json::parse(o.out);
}
std::int64_t sum_at_peak(json const& stage) {
  return stage["states"].get<std::int64_t>() + stage["workspace"].get<std::int64_t>() + stage["kept"].get<std::int64_t>() +
         stage["inputs"].get<std::int64_t>() + stage["gathered"].get<std::int64_t>() +
         stage["extra"][stage["moment"].get<std::string>()].get<std::int64_t>();
}

}  // namespace

TEST_CASE("memory: the parts add up to the peak, and the longest sequence fits while the next does not") {
  scratch const in;
  for (auto const* const trainer : {"megatron", "torchtitan", "torchtune", "transformers", "axolotl", "deepspeed"})
    for (auto const* const more : {"--ranks 8", "--ranks 4 --tp 2 --stages 2 --micro-batches 4 --recompute full"}) {
      auto const asked = std::string("llama-3.1-8b --framework ") + trainer + " " + more + " --tokens ";
      auto const got = answer(in, asked + "4096");
      CAPTURE(asked);
      std::int64_t most = 0;
      for (auto const& stage : got["stages"]) {
        CHECK(sum_at_peak(stage) == stage["peak"]);
        most = (std::max)(most, stage["peak"].get<std::int64_t>());
      }
      CHECK(got["peak_bytes"] == most);
      CHECK(got["fits"] == (most <= got["memory_bytes"].get<std::int64_t>()));
      auto const longest = got["longest_tokens"].get<std::int64_t>();
      if (longest == 0) continue;
      CHECK(answer(in, asked + std::to_string(longest))["fits"] == true);
      CHECK(answer(in, asked + std::to_string(longest + 1))["fits"] == false);
    }
}

TEST_CASE("memory: a change saves what it says") {
  scratch const in;
  auto const asked = std::string("qwen3-30b-a3b --tokens 8192 --ranks 16 --ep 16");
  auto const got = answer(in, asked);
  REQUIRE(got["changes"].size() >= 3);
  std::int64_t last = got["changes"][0]["saved_bytes"];
  for (auto const& change : got["changes"]) {
    CHECK(change["saved_bytes"] <= last);
    CHECK(change["saved_bytes"] > 0);
    last = change["saved_bytes"];
    if (change["change"] == "recompute all layers")
      CHECK(answer(in, asked + " --recompute full")["peak_bytes"] == got["peak_bytes"].get<std::int64_t>() - last);
    if (change["change"] == "ZeRO stage 2")
      CHECK(answer(in, asked + " --zero 2")["peak_bytes"] == got["peak_bytes"].get<std::int64_t>() - last);
  }
  CHECK(answer(in, asked + " --etp 1 ")["stages"][0]["states"] == got["stages"][0]["states"]);  // TP is 1
}

TEST_CASE("memory: --stored has weights in memory as the file does") {
  scratch const in;
  in.file("oss.json", R"({"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32, "quantization_config":
    {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]}})");
  in.file("other.json", R"({"model_type": "llama", "quantization_config": {"quant_method": "aqlm"}})");
  for (auto const* const train : {"none", "lora:8"}) {
    auto const asked = std::string("oss.json --tokens 4096 --zero 0 --train ") + train;
    auto const usual = answer(in, asked), stored = answer(in, asked + " --stored");
    auto const experts = std::int64_t{24} * 32 * 3 * 2880 * 2880;  // 4.25 bits instead of 16
    CHECK(usual["stages"][0]["states"].get<std::int64_t>() - stored["stages"][0]["states"].get<std::int64_t>() ==
          2 * experts - experts * 425 / 800);
    CHECK((!usual["setting"].contains("stored_bits") && stored["setting"]["stored_bits"] == 4.25));
  }
  CHECK(in.ballast("memory oss.json --tokens 64 --train none --stored").out.find(", weights as stored in 4.25 bits, ") !=
        std::string::npos);
  auto const o = in.ballast("memory other.json --tokens 64 --train none --stored");
  CHECK(o.err == "--stored: other.json is quantised by aqlm, of which it is not known what a weight takes\n");
}

TEST_CASE("memory: names the option that is wrong") {
  scratch const in;
  struct {
    char const *arguments, *sentence;
  } const cases[] = {
      {"llama-3.1-8b --tokens 4096 --framework megatorn",
       "--framework megatorn: expected one of megatron, torchtitan, torchtune, transformers, axolotl, deepspeed; did you mean megatron?"},
      {"llama-3.1-8b --tokens 4096 --compiled",
       "--compiled: is for trainers whose kernels torch.compile makes, as transformers; those of megatron are fused already"},
      {"llama-3.1-8b --tokens 4096 --stored",
       "--stored: whoever trains all weights has them in 16 bits; it is for --train none or lora:RANK"},
      {"llama-3.1-8b --tokens 4096 --stored --train qlora:8", "--stored: qlora says already how weights are in memory; use lora"},
      {"llama-3.1-8b --tokens 4096 --stored --train lora:8", "--stored: llama-3.1-8b has no quantization_config"},
      {"llama-3.1-8b --tokens 4096 --zero 4", "--zero 4: expected a ZeRO stage from 0 to 3"},
      {"llama-3.1-8b --tokens 4096 --tp 3", "--tp 3: must divide the 32 query heads of llama-3.1-8b"},
      {"llama-3.1-8b --tokens 4096 --recompute everything", "everything"},
      {"llama-3.1-8b --tokens 0", "--tokens 0: expected a whole number from 1 to 2^31-1"},
      {"no-such-model --tokens 1", "no-such-model"},
      {"llama-3.1-8b --tokens 4096 --tp 2 --dropout --memory 70GB --snapshot 'a b' --device a100",
       "--snapshot: the Python package reads snapshots of PyTorch; run python -m ballast.snapshot \"a b\" --model llama-3.1-8b --tokens "
       "4096 "
       "--tp 2 --dropout --device a100\n"},
  };
  for (auto const& c : cases) {
    auto const o = in.ballast(std::string("memory ") + c.arguments);
    CAPTURE(c.arguments, o.err);
    CHECK(o.code != 0);
    CHECK(o.out.empty());
    CHECK(o.err.find(c.sentence) != o.err.npos);
  }
}

}  // namespace test_cli_memory
