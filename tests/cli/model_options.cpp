// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/plan/plan_training.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test_cli_model_options {

namespace {

using namespace ballast_test;
using nlohmann::json;

/// Options, and what they say to the library.
struct setting_case {
  std::string options;
  ballast::model_setting by{.spread = {.data = 4}, .optimizer = ballast::optimizer_named("adam")};
  ballast::hidden_share hidden{};
};

/// Each option alone, and all of them.
std::vector<setting_case> setting_cases() {
  std::vector<setting_case> out(17);
  auto at = out.begin();
  (++at)->options = "--framework eager";
  at->by.framework = ballast::framework_named("eager");
  (++at)->options = "--head-loss fused";
  at->by.loss.how = ballast::head_loss::kind::fused;
  (++at)->options = "--head-loss chunked:8";
  at->by.loss = {.how = ballast::head_loss::kind::chunked, .chunks = 8};
  (++at)->options = "--optimizer adafactor";
  at->by.optimizer = ballast::optimizer_named("adafactor");
  (++at)->options = "--offload optimizer";
  at->by.moved = ballast::offload::optimizer;
  (++at)->options = "--offload parameters --zero 3";
  at->by.moved = ballast::offload::parameters;
  at->by.spread.zero = 3;
  (++at)->options = "--cp 2";
  at->by.spread.context = 2;
  at->by.spread.data = 8;
  (++at)->options = "--cp 4 --cp-method ulysses";
  at->by.spread.context = 4;
  at->by.spread.data = 16;
  at->by.method = ballast::context_method::ulysses;
  (++at)->options = "--ep 4";
  at->by.expert = 4;
  (++at)->options = "--train none";
  at->by.language.what = ballast::trained::none;
  (++at)->options = "--train lora:16";
  at->by.language = {.what = ballast::trained::low_rank, .rank = 16};
  (++at)->options = "--tp 2 --overlap 80";
  at->by.spread.tensor = 2;
  at->by.spread.sequence_parallel = true;
  at->hidden = {800, 800, 800, 800, 800, 800};
  (++at)->options = "--attention stored-scores";
  at->by.attention = ballast::attention_kernel::stored_scores;
  (++at)->options = "--recompute-modules layernorm,moe_act";
  at->by.recompute_modules = ballast::module_set_named("layernorm,moe_act");
  (++at)->options = "--fp8-experts";
  at->by.fp8_experts = true;
  (++at)->options =
      "--tp 2 --cp 2 --ep 8 --zero 1 --offload gradients --optimizer adam-8bit --framework megatron --head-loss chunked:3 "
      "--overlap gradient=95,tensor=10,kept-input=100";
  at->by = {.spread = {.tensor = 2, .context = 2, .data = 8, .sequence_parallel = true, .zero = 1},
            .expert = 8,
            .optimizer = ballast::optimizer_named("adam-8bit"),
            .moved = ballast::offload::gradients,
            .framework = ballast::framework_named("megatron"),
            .loss = {.how = ballast::head_loss::kind::chunked, .chunks = 3}};
  at->hidden = {.tensor = 100, .kept_input = 1000, .gradient = 950};
  return out;
}

/// Whether the words follow each other in a list.
bool has(json const& list, std::vector<std::string> const& words) {
  std::vector<std::string> const all = list;
  return std::search(all.begin(), all.end(), words.begin(), words.end()) != all.end();
}

}  // namespace

TEST_CASE("plan --stages: options of the model side say what the library's setting says") {
  scratch const in;
  ballast::splitmix64 draw(3);
  auto const lengths = random_lengths(300, 512, draw);
  in.file("f", as_text(lengths));
  auto const model = ballast::transformer_preset("qwen3-30b-a3b");
  ballast::data_plan_options options{.steps = {.capacity = 512, .ranks = 4, .micro_batches = 4}};
  options.steps.synchronisation = ballast::synchronisation::pipeline;
  options.steps.stages = 2;
  auto const data = ballast::plan_data(lengths, options, ballast::sample_cost(model));
  std::vector<std::string> seen;
  for (auto const& c : setting_cases()) {
    CAPTURE(c.options);
    auto const run =
        ballast::plan_training(data, {.stages = 2, .memory = std::int64_t{2000} << 30}, model, {.mfu = 0.4, .hidden = c.hidden}, c.by);
    REQUIRE(run.status == ballast::status::feasible);
    auto const o = in.ballast(
        "plan f --json --capacity 512 --ranks 4 --micro-batches 4 --model qwen3-30b-a3b --stages 2 --memory 2000Gi --mfu 0.4 " + c.options);
    CAPTURE(o.out, o.err);
    REQUIRE(o.code == 0);
    auto const m = json::parse(o.out)["model_plan"];
    CHECK(m["modelled_run_ms"] == static_cast<double>(run.time.value) / 1e6);
    CHECK(m["end_of_step_ms"] == static_cast<double>(run.end_of_step) / 1e6);
    for (std::size_t s = 0; s < 2; ++s) {
      CHECK(m["memory"][s]["bytes"] == run.memory[s].bytes());
      CHECK(m["memory"][s]["state"] == run.memory[s].state);
      CHECK(m["memory"][s]["activations"] == run.memory[s].activations);
    }
    CHECK(m["setting"]["data"] == c.by.spread.data);
    CHECK(m["setting"]["framework"] == std::string(c.by.framework.name));
    CHECK(m["setting"]["optimizer"] == std::string(c.by.optimizer.name));
    CHECK(m["setting"]["overlap"]["gradient"] == c.hidden.gradient / 10);
    seen.push_back(m["memory"].dump() + m["modelled_run_ms"].dump());
  }
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());  // no option is without effect
}

TEST_CASE("plan and memory shard optimiser states under megatron unless --zero says otherwise") {
  scratch const in;
  in.file("f", "100\n200\n300\n400\n");
  auto const plan = [&](std::string const& more) {
    auto const o = in.ballast("plan f --json --capacity 512 --ranks 4 --stages 2 --memory 2000Gi --model gpt2-xl " + more);
    CAPTURE(more, o.err);
    REQUIRE(o.code == 0);
    return json::parse(o.out)["model_plan"];
  };
  auto const has = [](json const& m, std::string const& flag) {
    return std::find(m["megatron_flags"].begin(), m["megatron_flags"].end(), flag) != m["megatron_flags"].end();
  };
  auto const recipe = plan("--framework megatron"), off = plan("--framework megatron --zero 0");
  CHECK((recipe["setting"]["zero"] == 1 && has(recipe, "--use-distributed-optimizer")));
  CHECK((off["setting"]["zero"] == 0 && !has(off, "--use-distributed-optimizer")));
  CHECK(plan("")["setting"]["zero"] == 0);
  CHECK(json::parse(in.ballast("memory gpt2-xl --tokens 512 --ranks 4 --json").out)["setting"]["zero"] == 1);
}

TEST_CASE("plan --stages: flags of Megatron-LM carry the setting, and what it lacks is named") {
  scratch const in;
  in.file("f", "100\n200\n300\n400\n");
  auto const plan = [&](std::string const& more) {
    auto const o = in.ballast("plan f --json --capacity 512 --ranks 4 --micro-batches 2 --stages 2 --memory 2000Gi " + more);
    CAPTURE(more, o.err);
    REQUIRE(o.code == 0);
    return json::parse(o.out)["model_plan"];
  };
  auto const plain = plan("--model gpt2-xl");
  CHECK(plain["megatron_flags"] == json{"--tensor-model-parallel-size", "1", "--pipeline-model-parallel-size", "2",
                                        "--pipeline-model-parallel-layout", plain["megatron"], "--context-parallel-size", "1", "--bf16",
                                        "--seq-length", "512", "--micro-batch-size", "1", "--global-batch-size", "4"});
  CHECK(plain["megatron_without"].empty());
  auto const moe = plan("--model qwen3-30b-a3b --tp 2 --cp 2 --ep 8 --zero 1 --head-loss fused --offload optimizer")["megatron_flags"];
  for (auto const& words :
       std::vector<std::vector<std::string>>{{"--tensor-model-parallel-size", "2"},
                                             {"--sequence-parallel"},
                                             {"--context-parallel-size", "2", "--cp-comm-type", "p2p"},
                                             {"--expert-model-parallel-size", "8", "--expert-tensor-parallel-size", "1"},
                                             {"--use-distributed-optimizer"},
                                             {"--cross-entropy-loss-fusion", "--cross-entropy-fusion-impl", "linear"},
                                             {"--optimizer-cpu-offload"}}) {
    CAPTURE(words);
    CHECK(has(moe, words));
  }
  CHECK(!has(moe, {"--use-megatron-fsdp"}));
  auto const whole = plan("--model qwen3-30b-a3b --tp 2 --cp 2 --cp-method ulysses --zero 3 --optimizer sgd")["megatron_flags"];
  CHECK(has(whole, {"--expert-model-parallel-size", "1", "--expert-tensor-parallel-size", "2"}));
  CHECK(has(whole, {"--cp-comm-type", "a2a"}));
  CHECK(has(whole, {"--use-megatron-fsdp", "--data-parallel-sharding-strategy", "optim_grads_params"}));
  CHECK(has(whole, {"--optimizer", "sgd", "--sgd-momentum", "0"}));
  auto const rest = plan("--model gpt2-xl --schedule gpipe --head-loss chunked:8 --optimizer galore --offload gradients --train lora:4");
  CHECK(rest["megatron_without"] == json{"schedule gpipe", "optimizer galore", "offload gradients", "train lora:4", "head loss chunked:8"});
}

TEST_CASE("plan --stages: a setting that makes no sense is refused in one sentence that says what would be one") {
  scratch const in;
  in.file("f", "100\n200\n300\n400\n");
  std::string const needs[] = {"--tp 2",           "--cp 2",      "--cp-method ring", "--ep 2",      "--zero 1",
                               "--optimizer sgd",  "--overlap 1", "--offload none",   "--train all", "--framework fused",
                               "--head-loss plain"};
  std::pair<std::string, std::string> const cases[] = {
      {"--cp 0", "--cp 0: expected a whole number from 1"},
      {"--cp 3 --cp-method ulysses",
       "--cp 3 --cp-method ulysses: must divide the 32 query heads on a device; --cp-method ring takes any number"},
      {"--cp 2000000", "--cp 2000000: context-parallel devices are at most 2^20"},
      {"--tp 70000", "--tp 70000: tensor-parallel devices are at most 2^16"},
      {"--cp-method star", "--cp-method star: expected one of ring, ulysses"},
      {"--ep 2", "--ep 2: llama-3.1-8b has no experts"},
      {"--ep 3 --model deepseek-v3", "--ep 3: must divide the 256 experts of deepseek-v3"},
      {"--ep 64 --model deepseek-v3", "--ep 64: must divide the 4 devices of a stage, which are --tp times --cp times --ranks"},
      {"--head-loss chunk",
       "--head-loss chunk: expected plain, fused, chunked:N, native, in-place, 16-bits, returned, copied or parallel, as in chunked:8"},
      {"--head-loss chunked:0", "--head-loss chunked:N, N = 0: expected a whole number from 1"},
      {"--head-loss plain:x", "--head-loss plain:N, N = x: expected a whole number"},
      {"--head-loss native:2", "--head-loss native:2: expected plain, fused, chunked:N"},
      {"--attention flash", "--attention flash: expected one of fused, stored-scores"},
      {"--recompute-modules mlp,attention", "no recompute module \"attention\"; there are core_attn, "},
      {"--framework hf", "--framework hf: expected one of fused, megatron, eager, compiled, chunkflow, hbp"},
      {"--optimizer adamw", "--optimizer adamw: expected one of adam, "},
      {"--offload cpu", "--offload cpu: expected one of none, optimizer, gradients, parameters"},
      {"--train lora", "--train lora: expected all, none, lora:RANK or qlora:RANK, as in lora:8"},
      {"--train lora:70000", "--train lora:70000: the rank of the adapters is at most 65536"},
      {"--overlap 101", "--overlap 101: expected a percentage from 0 to 100"},
      {"--overlap tensor", "--overlap tensor: expected a percentage from 0 to 100"},
      {"--overlap tensor=80,link=1", "--overlap link: expected one of tensor, kept-input, context, expert, gradient, parameter"},
      {"--overlap tensor=x", "--overlap tensor x: expected a percentage from 0 to 100"},
  };
  auto const refused = [&](std::string const& more, std::string const& sentence) {
    auto const o = in.ballast("plan f --capacity 512 --ranks 4 " + more);
    CAPTURE(more, o.out, o.err);
    CHECK(o.code == 2);
    CHECK(o.out.empty());
    CHECK(o.err.starts_with(sentence));
    CHECK(std::count(o.err.begin(), o.err.end(), '\n') == 1);
  };
  for (auto const& option : needs) {
    auto const name = option.substr(0, option.find(' '));
    refused(option, name + " requires --stages");
    refused("--stages 2 --layers missing.csv " + option, name + " excludes --layers");
  }
  for (auto const& [more, sentence] : cases) refused("--stages 2 " + more, sentence);
}

TEST_CASE("plan --stages: an 8B model at 32,768 tokens a device needs what it was measured to need") {
  scratch const in;
  in.file("f", std::string([] {
            std::string text;
            for (int i = 0; i < 64; ++i) text += "32768\n";
            return text;
          }()));
  auto const plan = [&](std::string const& memory, std::string const& more = {}) {
    return in.ballast("plan f --capacity 32768 --ranks 8 --stages 1 --zero 3 --memory " + memory + more);
  };
  for (auto const* memory : {"26Gi", "60Gi"}) {  // torchtitan measured 84 GiB
    auto const o = plan(memory);
    CAPTURE(o.out, o.err);
    CHECK(o.code == 3);
    CHECK(o.err.starts_with("f: no cut into 1 stage fits "));
  }
  auto const o = plan("94Gi");
  CAPTURE(o.out, o.err);
  CHECK(o.code == 0);
  CHECK(o.out.find("It assumes framework fused, head loss plain, optimiser adam, ZeRO stage 3 over 8 devices.\n") != std::string::npos);
  CHECK(o.out.find("A step ends with ") != std::string::npos);
  CHECK(plan("60Gi", " --head-loss chunked:8").code == 0);  // without logits of all tokens at a time
}

TEST_CASE("plan --stages: DeepSeek-V3 on 2,048 GPUs") {
  scratch const in;
  std::string text;
  for (int i = 0; i < 128 * 64; ++i) text += "4096\n";
  in.file("f", text);
  auto const plan = [&](std::string const& more) {
    return in.ballast(
        "plan f --json --capacity 4096 --ranks 128 --micro-batches 64 --model deepseek-v3 --stages 16 --zero 1 "
        "--memory 80000000000" +
        more);
  };
  auto const o = plan(" --ep 64");
  CAPTURE(o.out, o.err);
  REQUIRE(o.code == 0);
  auto const memory = json::parse(o.out)["model_plan"]["memory"];
  REQUIRE(memory.size() == 16);
  std::int64_t states = 0;
  for (auto const& stage : memory) {
    CHECK(stage["bytes"] <= 80'000'000'000);
    states += stage["state"].get<std::int64_t>();
  }
  CHECK(states / 16 > 13'900'000'000);  // 14.2 GB of states on a device
  CHECK(states / 16 < 14'500'000'000);
  CHECK(plan("").code == 3);  // all experts on each device
}

}  // namespace test_cli_model_options
