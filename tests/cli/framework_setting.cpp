// SPDX-License-Identifier: Apache-2.0
#include "readers/framework_setting.hpp"
#include "errors.hpp"

#include <ballast/cost/layer_set.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/plan/export/deepspeed.hpp>
#include <ballast/plan/export/flags.hpp>
#include <ballast/plan/judge_setting.hpp>

#include "settings.hpp"
#include "support/catch.hpp"
#include "support/measured_memory.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace test_cli_framework_setting {

namespace {

using namespace ballast_cli;
using ballast::training_setting;
using ballast::transformer_preset;
using enum ballast::recompute_setting::kind;

imported_setting read(std::string const& text, std::string const& name, setting_request const& asked = {}) {
  return read_framework_setting(text, name, asked);
}
using ballast_test::drawn_core_kernels;
using ballast_test::drawn_core_setting;
using ballast_test::has_note;
using ballast_test::refused_setting;

bool nothing_passed(imported_setting const& of) {
  return of.passed.harmless.empty() && of.passed.doubtful.empty() && of.passed.unknown.empty();
}

std::int64_t most_bytes(imported_setting const& of) {
  auto by = of.setting;
  by.pipeline.memory = std::int64_t{1} << 50;
  auto const judged = judge_setting(of.model, by, ballast::cluster{});
  std::int64_t most = 0;
  for (auto const& m : judged.memory) most = (std::max)(most, m.bytes());
  return most;
}

}  // namespace

TEST_CASE("framework_setting: what is exported is imported as the same setting and the same plan") {
  using exporter = ballast::exported_setting (*)(ballast::transformer const&, training_setting const&);
  exporter const titan = [](ballast::transformer const& model, training_setting const& by) {
    return torchtitan_format.write({.framework = {}, .setting = by, .model = model, .roles = {}});
  };
  exporter const swift = [](ballast::transformer const& model, training_setting const& by) { return ballast::swift_flags(model, by); };
  struct {
    exporter write;
    char const *name, *before;
    bool hugging_face;
  } const frameworks[] = {{ballast::megatron_flags<>, "run.sh", "torchrun pretrain_gpt.py ", false},
                          {swift, "run.sh", "megatron sft --model X/Y ", false},
                          {ballast::deepspeed_json<>, "ds.json", "", true},
                          {titan, "t.toml", "", true}};
  for (auto const& framework : frameworks) {
    int same = 0, floats = 0;
    for (auto const* model_name : {"llama-3.1-8b", "qwen3-30b-a3b"}) {
      auto const& model = transformer_preset(model_name);
      for (std::uint64_t seed = 0; seed < 6000; ++seed) {
        auto by = drawn_core_setting(seed, model);
        by.model.framework = ballast::framework_named(framework.hugging_face ? "eager" : "megatron");
        if (!framework.hugging_face) by.model.kernels = drawn_core_kernels(seed, by);
        if (framework.hugging_face && by.model.optimizer.name == "adam-fp32") by.model.kernels.value = 4;
        if (!framework.hugging_face && model.experts > 0) by.model.expert_tensor = by.model.spread.tensor > 1 && seed % 2 == 0 ? 2 : 1;
        if (framework.write == titan) {
          by.model.kernels = {.tensor_overlap = seed % 5 == 0, .kept_copies = by.model.spread.zero > 0, .stream_pools = true};
          by.model.loss.how = by.model.spread.tensor > 1 ? ballast::head_loss::kind::parallel : ballast::head_loss::kind::plain;
          by.model.optimizer = ballast::optimizer_named(seed % 3 == 0 ? "adam-bf16" : "adam-fp32");
          if (seed % 3 == 1) by.model.kernels.value = 4;
          if (model.experts > 0) by.model.expert_tensor = by.model.spread.tensor > 1 && seed % 2 == 0 ? 2 : 1;
        }
        if (by.model.spread.tensor * by.model.spread.data % (by.model.expert * by.model.experts().expert_tensor) != 0) continue;
        auto const exported = framework.write(model, by);
        auto const cut_lost =
            exported.without ==
            std::vector<std::string>{"the cut, for which PipelineModule has no argument (deepspeed_stages writes a class that has it)"};
        if (!exported.without.empty() && !cut_lost) continue;
        CAPTURE(framework.name, model_name, seed, exported.text);
        auto back = read(framework.before + exported.text, framework.name, {.model = model, .gpus = by.gpus(), .sequence = by.sequence});
        CHECK(back.model == model);
        if (cut_lost) by.boundaries = back.setting.boundaries;
        back.setting.boundaries = boundaries_of(back.setting, model);
        CHECK(back.setting == by);
        floats += by.model.kernels.value > 2 ? 1 : 0;
        if (++same % 16 == 0) {
          auto const mine = judge_setting(model, by, {}), theirs = judge_setting(back.model, back.setting, {});
          CHECK(mine.memory == theirs.memory);
          CHECK(mine.time == theirs.time);
        }
      }
    }
    CAPTURE(framework.name);
    CHECK(same >= 100);
    CHECK((floats > 0) == (framework.write != swift));
  }
}

namespace {

std::string const llama_8b =
    "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 "
    "--seq-length 8192 --max-position-embeddings 8192 --position-embedding-type rope --swiglu --normalization RMSNorm "
    "--disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 128256 --micro-batch-size 1 --bf16 ";
std::string const mixture = llama_8b + "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 14336 ";

imported_setting megatron(std::string const& flags, std::int64_t gpus = 8) { return read(flags, "run.sh", {.gpus = gpus}); }
std::string megatron_refused(std::string const& flags, std::int64_t gpus = 8) { return refused_setting(flags, "run.sh", {.gpus = gpus}); }

}  // namespace

TEST_CASE("framework_setting: Megatron-LM's model flags and their defaults") {
  CHECK(megatron(llama_8b).model == transformer_preset("llama-3.1-8b"));
  std::string const gpt2 =
      "--num-layers 48 --hidden-size 1600 --num-attention-heads 25 --seq-length 1024 --max-position-embeddings 1024 --vocab-size 50257 "
      "--make-vocab-size-divisible-by 1 --micro-batch-size 4 --fp16";
  CHECK(megatron(gpt2).model == transformer_preset("gpt2-xl"));  // all other flags at their defaults
  auto const without = [&](std::string flags, std::string const& part) {
    auto const at = flags.find(part);
    REQUIRE(at != flags.npos);
    return flags.erase(at, part.size());
  };
  CHECK(megatron(without(llama_8b, "--group-query-attention ")).model.kv_heads == 32);  // groups are read with the flag alone
  CHECK(megatron(without(llama_8b, "--num-query-groups 8 ")).model.kv_heads == 1);
  CHECK(megatron(without(llama_8b, "--ffn-hidden-size 14336 ")).model.ffn == 8 * 4096 / 3 / 64 * 64);
  CHECK(megatron(without(without(llama_8b, "--ffn-hidden-size 14336 "), "--swiglu ")).model.ffn == 4 * 4096);
  CHECK(megatron(without(llama_8b, "--disable-bias-linear ")).model.ffn_bias);
  CHECK(megatron(without(llama_8b, "--untie-embeddings-and-output-weights ")).model.tied);
  CHECK(megatron(without(llama_8b, "--position-embedding-type rope ")).model.positions == 8192);
  auto odd = without(llama_8b, "--vocab-size 128256 ") + "--vocab-size 50257 ";
  CHECK(megatron(odd).model.vocabulary == 50304);
  CHECK(megatron(odd + "--tensor-model-parallel-size 8").model.vocabulary == 51200);  // a multiple of 128 x TP
  CHECK(megatron(llama_8b + "--window-size 4095,0 --window-attn-skip-freq 4").model.window == 4096);
  CHECK(megatron(llama_8b + "--window-size 4095,0 --window-attn-skip-freq 4").model.windowed ==
        ~ballast::layer_set{3, 7, 11, 15, 19, 23, 27, 31});
  CHECK(megatron(llama_8b + "--window-size 4095,0 --window-attn-skip-freq [1,0]*16").model.windowed.count(32) == 16);
  auto const latent = megatron(llama_8b + "--multi-latent-attention --q-lora-rank 1536").model;
  CHECK((latent.kv_rank == 32 && latent.q_rank == 1536 && latent.head_width == 192 && latent.v_width == 128));
  CHECK(megatron(mixture).model.expert_layers == ballast::layer_set::all());
  CHECK(megatron(mixture + "--moe-layer-freq 1").model.expert_layers == ballast::layer_set::all());
  CHECK(megatron(mixture + "--moe-layer-freq '([0]*3+[1]*29)'").model.expert_layers == ballast::layer_set::from(3));
  CHECK(megatron(mixture + "--moe-layer-freq \"'([0]*3+[1]*29)'\"").model.expert_layers == ballast::layer_set::from(3));
  CHECK(megatron(mixture + "--moe-layer-freq [0,0]*1+[1]*30").model.expert_layers == ballast::layer_set::from(2));
  CHECK(megatron(mixture + "--moe-layer-freq 2").model.expert_layers.count(32) == 16);
  CHECK(megatron(mixture + "--moe-layer-freq 2").model.expert_layers.contains(0));
  CHECK(megatron_refused(mixture + "--moe-layer-freq ([0]*3+[1]*28)").find("one entry for each layer") != std::string::npos);
  CHECK(megatron_refused(mixture + "--moe-layer-freq abc").find("is neither a number nor a list") != std::string::npos);
  CHECK(megatron_refused(llama_8b + "--linear-attention-freq 4").starts_with("run.sh:1: linear_attention_freq = 4 is not modelled"));
}

TEST_CASE("framework_setting: Megatron-LM's degrees, states and batches, with the defaults of absent flags") {
  auto const plain = megatron(llama_8b).setting;
  CHECK(plain.model.spread == ballast::parallelism{.data = 8});
  CHECK(plain.model.optimizer == ballast::optimizer_named("adam"));
  CHECK((plain.micro_batches == 1 && plain.global_batch() == 8));  // micro x DP
  auto const degrees = megatron(llama_8b +
                                    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --context-parallel-size 2 "
                                    "--sequence-parallel --use-distributed-optimizer --global-batch-size 64",
                                16)
                           .setting;
  CHECK(degrees.model.spread == ballast::parallelism{.tensor = 2, .context = 2, .data = 4, .sequence_parallel = true, .zero = 1});
  CHECK(degrees.micro_batches == 32);
  CHECK(!megatron(llama_8b + "--sequence-parallel").setting.model.spread.sequence_parallel);  // switched off at TP 1
  CHECK(megatron(llama_8b + "--use-megatron-fsdp").setting.model.spread.zero == 3);
  CHECK(megatron(llama_8b + "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads").setting.model.spread.zero == 2);
  CHECK(megatron(llama_8b + "--grad-reduce-in-bf16").setting.model.optimizer.state.gradient == 2);
  auto half = llama_8b;
  half.replace(half.find("--bf16"), 6, "--fp16");
  CHECK(megatron(half).setting.model.optimizer.state.gradient == 2);
  CHECK(megatron(half + "--accumulate-allreduce-grads-in-fp32").setting.model.optimizer.state.gradient == 4);
  CHECK(megatron(llama_8b + "--use-precision-aware-optimizer --exp-avg-dtype bf16 --exp-avg-sq-dtype bf16")
            .setting.model.optimizer.state.optimizer == 6);
  CHECK(megatron(llama_8b + "--optimizer-cpu-offload").setting.model.moved == ballast::offload::optimizer);
  CHECK(megatron(llama_8b + "--cross-entropy-loss-fusion").setting.model.loss.how == ballast::head_loss::kind::native);
  CHECK(megatron(llama_8b + "--attention-backend unfused").setting.model.attention == ballast::attention_kernel::stored_scores);
  // ETP that is not given is TP
  auto const experts = mixture + "--tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 4 ";
  CHECK(megatron(experts).setting.model.experts().expert_tensor == 2);
  CHECK(megatron(experts + "--expert-tensor-parallel-size 1").setting.model.experts().expert_tensor == 1);
  CHECK(has_note(megatron(experts), "moe_token_dispatcher_type allgather, the default,"));
  CHECK(megatron_refused(llama_8b + "--tensor-model-parallel-size 3").starts_with("run.sh: 8 devices are no multiple of TP x PP x CP, 3"));
  CHECK(megatron_refused(llama_8b + "--global-batch-size 12")
            .starts_with("run.sh: global_batch_size = 12 is no multiple of the 8 sequences"));
  CHECK(refused_setting(llama_8b, "run.sh", {}) == "run.sh: the setting does not say the number of devices; --gpus does");
  CHECK(refused_setting("--micro-batch-size 1", "run.sh", {.gpus = 8})
            .starts_with("run.sh: the setting does not hold the shape of the model"));
  CHECK(refused_setting(llama_8b, "run.sh", {.model = transformer_preset("llama-3.1-70b"), .gpus = 8})
            .starts_with("run.sh:1: num_layers = 32 is not that of"));
}

TEST_CASE("framework_setting: Megatron-LM's embedding and loss that take the place of layers, in chunks too") {
  std::string const model =
      "--num-layers 94 --hidden-size 4096 --num-attention-heads 64 --vocab-size 151936 --seq-length 4096 --max-position-embeddings 4096 "
      "--micro-batch-size 1 --bf16 --pipeline-model-parallel-size 32 ";
  std::string const both = "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split ";
  auto const counted = megatron(model + both + "--num-virtual-stages-per-pipeline-rank 3", 32).setting;
  CHECK(counted.boundaries == megatron(model + "--pipeline-model-parallel-layout E|(t|)*94L", 32).setting.boundaries);
  CHECK(counted.boundaries == megatron(model + both + "--num-layers-per-virtual-pipeline-stage 1", 32).setting.boundaries);
  CHECK(counted.chunks() == 3);
  auto const whole = megatron(model + both, 32).setting.boundaries;  // 3 layers a stage, 2 on the first and the last
  CHECK(whole == megatron(model + "--pipeline-model-parallel-layout Ett|(ttt|)*30ttL", 32).setting.boundaries);
  CHECK(megatron_refused(model, 32).find("cannot be split evenly over 32 stages") != std::string::npos);
  CHECK(megatron_refused(model + both + "--decoder-first-pipeline-num-layers 1", 32).find("is not allowed by Megatron-LM") !=
        std::string::npos);
  CHECK(megatron_refused(model + "--pipeline-model-parallel-layout E|(t|)*94L|L", 32).find("has several losses (L)") != std::string::npos);
}

TEST_CASE("framework_setting: a precision-aware optimiser keeps gradients as they are reduced") {
  setting_request const asked{.gpus = 8};
  auto const states = [&](std::string const& more) {
    return read(llama_8b + "--use-precision-aware-optimizer --use-distributed-optimizer " + more, "run.sh", asked)
        .setting.model.optimizer.state;
  };
  CHECK(states("").gradient == 4);
  CHECK(states("--main-grads-dtype bf16").gradient == 2);
  CHECK(states("--grad-reduce-in-bf16").gradient == 2);
}

TEST_CASE("framework_setting: what only the time of a step depends on") {
  using enum ballast::graph_scope;
  using enum ballast::kernel_family;
  auto const of = [](std::string const& flags) { return megatron(llama_8b + flags).time; };
  auto const plain = of("");
  CHECK((plain.rates.family == engine && !plain.rates.fp8 && plain.attention == ballast::attention_library::cudnn));
  CHECK((plain.dispatcher == ballast::token_dispatcher::all_to_all && plain.graphs == ballast::graph_scope::none));
  CHECK((!plain.gradient_overlap && plain.float_reduction && !plain.gathered_context && plain.imbalance == 1000));
  CHECK(megatron(llama_8b).untimed.empty());
  auto half = llama_8b;
  half.replace(half.find("--bf16"), 6, "");
  CHECK(megatron(half).untimed.find("neither bf16 nor fp16") != std::string::npos);
  CHECK(of("--overlap-grad-reduce").gradient_overlap);
  auto const sharded = std::string("--use-distributed-optimizer --overlap-grad-reduce ");  // the gather of parameters shows
  CHECK((!of(sharded).gradient_overlap && of(sharded + "--overlap-param-gather").gradient_overlap));
  CHECK(has_note(megatron(llama_8b + sharded), "one alone is as none"));
  CHECK(!has_note(megatron(llama_8b + sharded + "--overlap-param-gather"), "one alone is as none"));
  CHECK(!of("--grad-reduce-in-bf16").float_reduction);
  for (auto const* flags : {"--fp8-format hybrid", "--fp4-format e2m1"}) CHECK(of(flags).rates.fp8);
  auto const experts = mixture + "--expert-model-parallel-size 4 --moe-token-dispatcher-type ";
  auto const once = megatron(experts + "flex --moe-enable-deepep");
  CHECK((once.time.dispatcher == ballast::token_dispatcher::once && nothing_passed(once)));
  CHECK(megatron(experts + "alltoall").time.dispatcher == ballast::token_dispatcher::all_to_all);
  struct {
    char const* flags;
    ballast::graph_scope what;
  } const graphs[] = {{"--enable-cuda-graph", layers},
                      {"--external-cuda-graph --cuda-graph-scope attn", parts},
                      {"--cuda-graph-impl local", layers},
                      {"--cuda-graph-impl local --cuda-graph-scope full_iteration", layers},
                      {"--cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router --cuda-graph-warmup-steps 3", parts},
                      {"--cuda-graph-impl local --cuda-graph-modules attn", parts},
                      {"--cuda-graph-impl none --cuda-graph-scope attn", ballast::graph_scope::none}};
  for (auto const& g : graphs) {
    CAPTURE(g.flags);
    auto const read = megatron(llama_8b + g.flags);
    CHECK((read.time.graphs == g.what && nothing_passed(read)));
    CHECK(has_note(read, "memory of CUDA graphs") == (g.what != ballast::graph_scope::none));
  }

  auto const titan = [](std::string const& text) {
    return read("[model]\nname = \"llama3\"\nflavor = \"8B\"\n" + text, "t.toml", {.gpus = 8});
  };
  auto const torch = titan("").time;
  CHECK((torch.rates.family == eager && !torch.rates.fp8 && torch.attention == ballast::attention_library::flash2));
  CHECK((torch.float_reduction && !torch.gathered_context && titan("").untimed.empty()));
  CHECK(titan("[compile]\nenable = true\n").time.rates.family == compiled);
  CHECK(titan("converters = [\"float8\"]\n").time.rates.fp8);
  CHECK(titan("converters = [\"quantize.linear.mx\"]\n").time.rates.fp8);
  CHECK(titan("[parallelism]\ncontext_parallel_degree = 2\n").time.gathered_context);
  CHECK(titan("[parallelism]\nexpert_parallel_comm_backend = \"deepep\"\n").time.dispatcher == ballast::token_dispatcher::once);
  CHECK(!titan("[training]\nmixed_precision_reduce = \"bfloat16\"\n").time.float_reduction);
  CHECK(!titan("[training]\nmixed_precision_param = \"float32\"\n").untimed.empty());
  auto const async = "[parallelism]\ntensor_parallel_degree = 2\nenable_async_tensor_parallel = true\n";
  CHECK(titan(async).setting.model.kernels.tensor_overlap);

  setting_request const asked{.model = transformer_preset("llama-3.1-8b"), .gpus = 8, .sequence = 4096, .micro_batch = 1};
  auto const json = [&](std::string const& text) { return read("{\"bf16\": {\"enabled\": true}, " + text + "}", "ds.json", asked).time; };
  auto const deep = json(R"("zero_optimization": {"stage": 1, "overlap_comm": true})");
  CHECK((deep.gradient_overlap && deep.rates.family == eager && deep.attention == ballast::attention_library::flash2));
  CHECK(!json(R"("zero_optimization": {"stage": 1})").gradient_overlap);
  CHECK((!deep.float_reduction && json(R"("communication_data_type": "fp32")").float_reduction));
  auto const swift = [&](std::string const& flags) {
    return read("swift sft --deepspeed zero2 --max_length 4096 " + flags, "a.sh", asked).time;
  };
  CHECK(swift("").attention == ballast::attention_library::flash2);
  CHECK(swift("--attn_impl flash_attention_3").attention == ballast::attention_library::flash3);
}

TEST_CASE("framework_setting: Megatron-LM's recomputation and its rules") {
  auto const again = [](std::string const& flags) { return megatron(llama_8b + flags).setting.recompute; };
  CHECK(again("") == ballast::recompute_setting{});
  auto const attention = ballast::recompute_setting{.what = modules, .modules = {ballast::recompute_module::core_attention}};
  CHECK(again("--recompute-activations") == attention);
  CHECK(again("--recompute-granularity selective") == attention);
  CHECK(again("--recompute-granularity selective --recompute-modules layernorm mlp").modules == ballast::module_set_named("layernorm,mlp"));
  CHECK(again("--recompute-granularity full --recompute-method uniform") == ballast::recompute_setting{.what = uniform});
  CHECK(again("--recompute-granularity full --recompute-method block --recompute-num-layers 3") ==
        ballast::recompute_setting{.what = block, .layers = 3});
  CHECK(
      megatron_refused(llama_8b + "--recompute-granularity full").starts_with("run.sh: recompute_granularity full needs recompute_method"));
  CHECK(megatron_refused(llama_8b + "--recompute-granularity selective --recompute-method block")
            .starts_with("run.sh:1: recompute_method = block is not allowed with selective"));
  CHECK(megatron_refused(llama_8b + "--recompute-granularity selective --recompute-num-layers 1").find("is not allowed with selective") !=
        std::string::npos);
  CHECK(megatron_refused(llama_8b + "--recompute-granularity selective --recompute-modules mpl").find("names mpl, which is no module") !=
        std::string::npos);
}

TEST_CASE("framework_setting: ms-swift's defaults where they differ from Megatron-LM's") {
  auto const of = [](std::string const& flags) {
    return read("megatron sft --max_length 4096 " + flags, "run.sh", {.model = transformer_preset("qwen3-30b-a3b"), .gpus = 8});
  };
  auto const plain = of("");
  CHECK(plain.framework == "ms-swift");
  CHECK(plain.setting.recompute == ballast::recompute_setting{.what = modules, .modules = {ballast::recompute_module::core_attention}});
  CHECK(of("--recompute_granularity none").setting.recompute.what == none);
  CHECK((plain.setting.model.spread.zero == 1 && of("--use_distributed_optimizer false").setting.model.spread.zero == 0));
  CHECK((plain.setting.micro_batch == 1 && plain.setting.global_batch() == 16));
  CHECK(plain.setting.model.optimizer == ballast::optimizer_named("adam"));
  CHECK(plain.setting.model.language == ballast::trainable{});
  CHECK(of("--tuner_type lora").setting.model.language == ballast::trainable{.what = ballast::trained::low_rank, .rank = 8});
  auto const experts = of("--tensor_model_parallel_size 2 --sequence_parallel true --expert_model_parallel_size 4");  // ETP is 1, not TP
  CHECK(!has_note(experts, "expert_tensor_parallel_size"));
  CHECK(!has_note(experts, "moe_token_dispatcher_type"));  // alltoall
  CHECK(of("--packing_length 8192").setting.sequence == 8192);
}

TEST_CASE("framework_setting: Megatron-LM's three ways to chunks, and its uneven ends") {
  auto const with = [](std::string const& flags) { return megatron(llama_8b + "--pipeline-model-parallel-size 4 " + flags).setting; };
  auto const even = with("");
  CHECK(even.boundaries == std::vector<std::uint32_t>{0, 9, 17, 25, 34});
  CHECK(even.pipeline.schedule == ballast::any_schedule(ballast::one_f_one_b_schedule{}));
  for (auto const* flags : {"--num-layers-per-virtual-pipeline-stage 4", "--num-virtual-stages-per-pipeline-rank 2",
                            "--pipeline-model-parallel-layout 'Et*4|(t*4|)*6t*4L'"}) {
    CAPTURE(flags);
    CHECK(with(flags).pipeline.schedule == ballast::any_schedule(ballast::interleaved_schedule{.chunks = 2}));
    CHECK(with(flags).boundaries == std::vector<std::uint32_t>{0, 5, 9, 13, 17, 21, 25, 29, 34});
  }
  CHECK(with("--num-virtual-stages-per-pipeline-rank 1") == even);
  CHECK(with("--decoder-first-pipeline-num-layers 6 --decoder-last-pipeline-num-layers 8").boundaries ==
        std::vector<std::uint32_t>{0, 7, 16, 25, 34});
  CHECK(with("--pipeline-model-parallel-layout 'E,t*7|t*8|t*9|t*8,L'").boundaries == std::vector<std::uint32_t>{0, 8, 16, 25, 34});
  auto const counted =
      read(llama_8b + "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split --pipeline-model-parallel-size 2",
           "run.sh", {.gpus = 8})
          .setting;
  CHECK(counted.boundaries == std::vector<std::uint32_t>{0, 17, 34});
  auto const bad = [](std::string const& flags) { return megatron_refused(llama_8b + "--pipeline-model-parallel-size 4 " + flags); };
  CHECK(bad("--num-layers-per-virtual-pipeline-stage 4 --num-virtual-stages-per-pipeline-rank 2").find("is one of several ways") !=
        std::string::npos);
  CHECK(bad("--num-layers-per-virtual-pipeline-stage 3").find("must divide the layers of a stage") != std::string::npos);
  CHECK(bad("--decoder-first-pipeline-num-layers 6").starts_with("run.sh: num_layers = 32 cannot be split evenly"));
  for (auto const* layout : {"t*32L", "Et*32", "Et*32LL", "Et*32|L|", "E(t*(8|)*4)L", "Ex", "E*0L", "Et*99999L", "E)L", "E(tL"}) {
    CAPTURE(layout);
    CHECK(bad(std::string("--pipeline-model-parallel-layout '") + layout + "'").starts_with("run.sh:1: pipeline_model_parallel_layout = "));
  }
}

TEST_CASE("framework_setting: QLoRA of ms-swift is read, other quantised weights are refused") {
  setting_request const asked{.model = transformer_preset("llama-3.1-8b"), .gpus = 1, .sequence = 4096, .micro_batch = 1};
  auto const sft = std::string("swift sft --model X --max_length 4096 --lora_rank 16 ");
  auto const lora = read(sft + "--tuner_type lora --quant_method bnb --quant_bits 4", "run.sh", asked).setting.model.language;
  CHECK(lora == ballast::trainable{.what = ballast::trained::low_rank, .rank = 16, .quantised = true});
  CHECK_FALSE(read(sft + "--tuner_type lora", "run.sh", asked).setting.model.language.quantised);
  CHECK(refused_setting(sft + "--quant_method gptq --quant_bits 4", "run.sh", asked).starts_with("run.sh:1: quant_method"));
  CHECK(refused_setting(sft + "--quant_method bnb --quant_bits 8", "run.sh", asked).starts_with("run.sh:1: quant_bits"));
  CHECK_FALSE(read(sft + "--quant_bits 4", "run.sh", asked).setting.model.language.quantised);  // without a method
  CHECK(refused_setting(sft + "--tuner_type full --quant_method bnb", "run.sh", asked).starts_with("run.sh:1: quant_method"));
}

namespace {

/// A request that knows two models by name, and one file.
setting_request knowing(std::int64_t gpus) {
  return {.gpus = gpus,
          .find_model = [](std::string const& name) -> std::optional<known_model> {
            if (name == "org/8B") return known_model{transformer_preset("llama-3.1-8b")};
            if (name == "org/70B") return known_model{transformer_preset("llama-3.1-70b")};
            return std::nullopt;
          },
          .find_file = [](std::string const& name) -> std::optional<std::string> {
            if (name == "z3.json")
              return R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}}})";
            if (name == "sft.yaml") return "model: org/8B\ntuner_type: full\nmax_length: 512\ndeepspeed: zero2\n";
            return std::nullopt;
          }};
}
std::vector<std::string> roles_of(imported_setting const& of) {
  std::vector<std::string> out;
  for (auto const& role : of.roles) out.push_back(role.role + (role.resident ? "" : ", away"));
  return out;
}

}  // namespace

TEST_CASE("framework_setting: training by preferences has other models on its devices, and pairs of samples") {
  using names = std::vector<std::string>;
  auto const rlhf = [](std::string const& flags, std::int64_t gpus = 8) {
    return read("NPROC_PER_NODE=8 swift rlhf --model org/8B --max_length 2048 --per_device_train_batch_size 3 " + flags, "run.sh",
                knowing(gpus));
  };
  auto const dpo = rlhf("--tuner_type full --deepspeed zero3");  // dpo is the default
  CHECK(roles_of(dpo) == names{"reference"});
  CHECK(dpo.setting.micro_batch == 6);
  CHECK(dpo.setting.sequence == 2048);
  CHECK(dpo.roles[0].of.setting.model.language.what == ballast::trained::none);
  CHECK(dpo.roles[0].of.setting.model.spread == dpo.setting.model.spread);
  CHECK(roles_of(rlhf("--tuner_type lora")).empty());  // the adapters are switched off for the reference
  CHECK(roles_of(rlhf("--tuner_type full --rlhf_type orpo")).empty());
  auto const kto = rlhf("--tuner_type full --rlhf_type kto");
  CHECK(roles_of(kto) == names{"reference"});
  CHECK(kto.setting.micro_batch == 3);
  CHECK(roles_of(rlhf("--tuner_type full --rlhf_type rm")).empty());
  auto const grpo = rlhf(
      "--tuner_type full --rlhf_type grpo --max_completion_length 1024 --use_vllm true --vllm_mode colocate "
      "--vllm_tensor_parallel_size 2 --sleep_level 1 --reward_model org/70B org/8B");
  CHECK(roles_of(grpo) == names{"reference", "reward", "reward", "rollout, away"});
  CHECK(grpo.setting.sequence == 3072);
  CHECK(grpo.setting.micro_batch == 3);
  auto scores = transformer_preset("llama-3.1-70b");
  scores.outputs = 1;
  CHECK(grpo.roles[1].of.model == scores);
  CHECK(grpo.roles[3].of.setting.model.spread == ballast::parallelism{.tensor = 2, .data = 4});
  CHECK(roles_of(rlhf("--tuner_type full --rlhf_type grpo --beta 0 --use_vllm true --vllm_mode server")).empty());
  auto const awake = rlhf("--tuner_type lora --rlhf_type grpo --use_vllm true --vllm_gpu_memory_utilization 0.4");
  CHECK(roles_of(awake) == names{"rollout"});
  CHECK(has_note(awake, "vllm keeps 40 % of each device"));
  CHECK(roles_of(rlhf("--tuner_type full --rlhf_type ppo --reward_model org/70B")) == names{"reference", "reward", "critic"});
  CHECK(rlhf("--tuner_type full --rlhf_type ppo --reward_model org/70B").roles[2].of.setting.model.language.what == ballast::trained::all);
  auto const gkd = rlhf("--tuner_type lora --rlhf_type gkd --teacher_model org/70B --deepspeed zero2 --teacher_deepspeed zero3");
  CHECK(roles_of(gkd) == names{"teacher"});
  CHECK((gkd.roles[0].of.setting.model.spread.zero == 3 && gkd.setting.model.spread.zero == 2));
  CHECK(roles_of(rlhf("--tuner_type lora --rlhf_type gkd --teacher_model org/8B")).empty());
  CHECK(roles_of(rlhf("--tuner_type lora --rlhf_type gkd --teacher_model org/70B --offload_teacher_model true")) == names{"teacher, away"});
  CHECK(has_note(rlhf("--tuner_type full --ref_model org/other"), "ref_model = org/other is judged by the shape"));
  auto const megatron_dpo = read(
      "NPROC_PER_NODE=8 megatron rlhf --rlhf_type dpo --model org/8B --tuner_type full --tensor_model_parallel_size 4 --max_length 4096 "
      "--micro_batch_size 1 --global_batch_size 4",
      "run.sh", knowing(8));
  CHECK(roles_of(megatron_dpo) == names{"reference"});
  CHECK((megatron_dpo.setting.micro_batch == 2 && megatron_dpo.setting.micro_batches == 2));
}

TEST_CASE("framework_setting: what scripts of ms-swift say beside their flags") {
  auto const sft = [](std::string const& script) { return read(script, "run.sh", knowing(4)); };
  std::string const flags = "swift sft --model org/8B --tuner_type full --max_length 512 --gradient_accumulation_steps $(expr 16 / 4) ";
  CHECK(sft("NPROC_PER_NODE=4 " + flags).setting.micro_batches == 4);
  CHECK(sft("NPROC_PER_NODE=4 CUDA_VISIBLE_DEVICES=0,1,2,3 " + flags).setting.pipeline.stages == 1);
  auto const spread = sft("CUDA_VISIBLE_DEVICES=0,1,2,3 " + flags);  // by one process
  CHECK((spread.setting.pipeline.stages == 4 && spread.setting.model.spread.data == 1));
  CHECK(refused_setting("CUDA_VISIBLE_DEVICES=0,1,2,3 " + flags + "--deepspeed zero2", "run.sh", knowing(4))
            .find("needs a process for each device") != std::string::npos);
  auto const file = sft("NPROC_PER_NODE=4 " + flags + "--deepspeed z3.json").setting.model;
  CHECK((file.spread.zero == 3 && file.moved == ballast::offload::parameters));
  auto const written =
      sft("cat > w.json <<EOF\n{\"zero_optimization\": {\"stage\": 2}}\nEOF\nNPROC_PER_NODE=4 " + flags + "--deepspeed w.json");
  CHECK(written.setting.model.spread.zero == 2);
  CHECK(refused_setting("NPROC_PER_NODE=4 " + flags + "--deepspeed other.json", "run.sh", knowing(4)).find("is a file: judge that one") !=
        std::string::npos);
  auto const yaml = sft("NPROC_PER_NODE=4 swift sft sft.yaml");
  CHECK((yaml.setting.sequence == 512 && yaml.setting.model.spread.zero == 2 && yaml.unread.empty()));
  CHECK(refused_setting("swift sft other.yaml", "run.sh", knowing(4)).find("what is in line 1: the setting in other.yaml is not known") !=
        std::string::npos);
  CHECK(sft("NPROC_PER_NODE=4 " + flags + "--task_type seq_cls --num_labels 2").model.outputs == 2);
  CHECK(has_note(sft("NPROC_PER_NODE=4 swift sft --model org/8B --max_length 9 --tuner_type boft"), "is judged as adapters of rank 8"));
  for (auto const* const type : {"dummy", "llamapro"})
    CHECK(refused_setting(std::string("swift sft --model org/8B --max_length 9 --tuner_type ") + type, "run.sh", knowing(4))
              .starts_with("run.sh:1: tuner_type = "));
  auto const ring = sft("NPROC_PER_NODE=4 swift sft --model org/8B --max_length 512 --sequence_parallel_size 4 --tuner_type full");
  CHECK(ring.setting.model.method == ballast::context_method::ulysses);
}

TEST_CASE("framework_setting: Megatron-LM's vocabulary, towers, old flags and models that are not modelled") {
  auto const without = [](std::string flags, std::string const& part) { return flags.erase(flags.find(part), part.size()); };
  auto const open = without(llama_8b, "--vocab-size 128256 ");
  auto const words = [&](std::string const& flags, setting_request const& asked) {
    return read(open + flags, "run.sh", asked).model.vocabulary;
  };
  CHECK(words("--tokenizer-type GPT2BPETokenizer --make-vocab-size-divisible-by 1", {.gpus = 8}) == 50'257);
  CHECK(words("--vocab-file v.json --merge-file m.txt --make-vocab-size-divisible-by 1", {.gpus = 8}) == 50'257);
  CHECK(words("--tokenizer-type Llama2Tokenizer", {.gpus = 8}) == 32'000);
  CHECK(words("--tokenizer-type HuggingFaceTokenizer --tokenizer-model org/8B", knowing(8)) == 128'256);
  CHECK(words("--tokenizer-type HuggingFaceTokenizer --tokenizer-model /x", {.gpus = 8, .vocabulary = 1000}) == 1024);
  CHECK(refused_setting(open, "run.sh", {.gpus = 8}) ==
        "run.sh: vocab_size is missing: the tokenizer decides it, and --vocab-size says it");
  auto const tower = megatron(llama_8b + "--img-h 336 --patch-dim 14 --decoder-seq-length 2048 --freeze-LM");
  CHECK((tower.reads_images && tower.setting.sequence == 2048 && tower.setting.model.language.what == ballast::trained::none));
  CHECK(megatron(without(llama_8b, "--seq-length 8192 ") + "--encoder-seq-length 512").setting.sequence == 512);
  auto const front = [&](std::string const& flags) {
    return read(llama_8b + "--tensor-model-parallel-size 2 " + flags, "run.sh", {.gpus = 24});
  };
  auto const plain = front("--encoder-tensor-model-parallel-size 2");  // without an encoder's stage, its degree says nothing
  CHECK((plain.setting.ranks() == 12 && plain.notes.empty() && plain.passed.doubtful.empty()));
  for (auto const& [of, ranks] : {std::pair{"", 6}, {" --encoder-tensor-model-parallel-size 1", 8}}) {
    auto const split = front("--encoder-pipeline-model-parallel-size 1" + std::string(of));
    CHECK((split.setting.ranks() == ranks && split.setting.model.spread.tensor == 2 && split.passed.doubtful.empty()));
    CHECK(has_note(split, "devices of each rank that have the encoder are not judged"));
  }
  CHECK(megatron(llama_8b + "--checkpoint-activations").setting.recompute == ballast::recompute_setting{.what = uniform, .layers = 1});
  CHECK(megatron(llama_8b + "--activations-checkpoint-method block --activations-checkpoint-num-layers 5").setting.recompute ==
        ballast::recompute_setting{.what = block, .layers = 5});
  CHECK(megatron(llama_8b + "--use-megatron-fsdp --megatron-fsdp-main-grads-dtype bf16").setting.model.optimizer.state.gradient == 2);
  for (auto const* const flags : {"--encoder-num-layers 12", "--moe-latent-size 64", "--retro-add-retriever", "--vocab-file /x/vocab.txt"})
    CHECK(megatron_refused(llama_8b + flags).find("not modelled") != std::string::npos);
  CHECK(megatron_refused("torchrun pretrain_t5.py " + llama_8b) == "run.sh: pretrain_t5.py trains T5, which is not modelled");
  CHECK(megatron_refused(llama_8b + "--num-tokens-to-generate 30").find("draws answers: judged are trainings") != std::string::npos);
  std::string const yaml =
      "micro_batch_size: 2\nlanguage_model:\n  num_layers: 4\n  hidden_size: 64\n  num_attention_heads: 4\n  num_query_groups: 2\n"
      "  activation_func: swiglu\nmodel_parallel:\n  tensor_model_parallel_size: 2\nseq_length: 128\nvocab_size: 1000\n";
  auto const parts = read(yaml, "a.yaml", {.gpus = 8});
  CHECK((parts.setting.model.spread.tensor == 2 && parts.setting.micro_batch == 2 && parts.model.gated && parts.model.kv_heads == 2));
  CHECK(read("MODEL_ARGS:\n  --micro-batch-size: 1\n  --seq-length: 64\n  --micro-batch-size: 3\n", "a.yaml",
             {.model = transformer_preset("llama-3.1-8b"), .gpus = 8})
            .setting.micro_batch == 3);
}

TEST_CASE("framework_setting: a slip of a key is refused with the key, a key that nobody knows is passed over and listed") {
  setting_request const asked{.model = transformer_preset("llama-3.1-8b"), .gpus = 8, .sequence = 4096, .micro_batch = 1};
  CHECK(refused_setting(llama_8b + "--tensor-model-paralel-size 2", "run.sh", asked) ==
        "run.sh:1: tensor_model_paralel_size is no key of Megatron-LM that this program knows; is tensor_model_parallel_size meant?");
  CHECK(refused_setting("megatron sft \\\n --max_length 4096 --recompute_granularty full", "run.sh", asked) ==
        "run.sh:2: recompute_granularty is no key of ms-swift that this program knows; is recompute_granularity meant?");
  CHECK(refused_setting("swift sft --deepspeed zero2 --use_ligr_kernel true", "run.sh", asked) ==
        "run.sh:1: use_ligr_kernel is no key of ms-swift that this program knows; is use_liger_kernel meant?");
  CHECK(refused_setting(R"({"zero_optimization": {"stage": 2, "overlap_com": true}})", "ds.json", asked) ==
        "ds.json: zero_optimization.overlap_com is no key of DeepSpeed that this program knows; is zero_optimization.overlap_comm meant?");
  CHECK(
      refused_setting("[parallelism]\ntensor_parallel_degre = 2\n", "t.toml", asked) ==
      "t.toml:2: parallelism.tensor_parallel_degre is no key of torchtitan that this program knows; is parallelism.tensor_parallel_degree "
      "meant?");
  CHECK(refused_setting("swift sft --deepspeed zero2 --max_length 4096 --gradient_checkpoint true", "run.sh", asked) ==
        "run.sh:1: gradient_checkpoint is no key of ms-swift that this program knows; is gradient_checkpointing meant?");
  CHECK(refused_setting("swift sft --deepspeed zero2 --max_length 4096 --lora_rnk 32", "run.sh", asked) ==
        "run.sh:1: lora_rnk is no key of ms-swift that this program knows; is lora_rank meant?");  // though lora_* is passed over
  CHECK(refused_setting(llama_8b + "--lora-dim 8 --expert-model-parallel-size 2", "run.sh", asked) ==
        "run.sh: expert = 2 needs a model with experts; --model names it");
  using names = std::vector<std::string>;
  CHECK(read("swift sft --deepspeed zero2 --max_length 4096 --log_softmax_chunks 2", "run.sh", asked).passed.doubtful ==
        names{"log_softmax_chunks"});
  CHECK(read("micro_batch_size: 1\nseq_length: 4096\ntensor_parallel: 2\n", "a.yaml", asked).passed.doubtful == names{"tensor_parallel"});
  auto const passed = read(llama_8b + "--use-persistent-ckpt-worker --new-key 1", "run.sh", asked).passed;
  CHECK(passed.harmless == names{"use_persistent_ckpt_worker"});
  CHECK(passed.unknown == names{"new_key"});
  auto const all_known = [&](std::string const& text, char const* name) { return nothing_passed(read(text, name, asked)); };
  CHECK(all_known(llama_8b + "--lr 1e-4 --save /tmp --log-interval 1 --train-iters 100 --adam-beta2 0.95 --data-path a b c", "run.sh"));
  CHECK(all_known(R"({"gradient_clipping": 1.0, "steps_per_print": 10, "zero_optimization": {"stage": 1}})", "ds.json"));
  CHECK(all_known("[metrics]\nlog_freq = 10\n[checkpoint]\ninterval = 500\n", "t.toml"));
}

TEST_CASE("framework_setting: keys of next year are passed over by what their names say, and never change the setting") {
  setting_request const asked{.model = transformer_preset("llama-3.1-8b"), .gpus = 8, .sequence = 4096, .micro_batch = 1};
  struct {
    std::string text, name, key, end;  // how a further key is written
  } const bases[] = {{llama_8b, "run.sh", "--", " 1 "},
                     {"swift sft --deepspeed zero2 --max_length 4096 ", "run.sh", "--", " 1 "},
                     {"megatron sft --max_length 4096 --packing true ", "run.sh", "--", " 1 "},
                     {"micro_batch_size: 1\nseq_length: 4096\n", "a.yaml", "", ": 1\n"},
                     {"[training]\nlocal_batch_size = 1\nseq_len = 4096\n[metrics]\nlog_freq = 1\n[parallelism]\n", "t.toml", "", " = 1\n"},
                     {"{\"zero_optimization\": {\"stage\": 2}, \"x\": 1", "ds.json", ", \"", "\": 1"}};
  auto draw = [state = std::uint64_t{12}](std::uint64_t n) mutable {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((state >> 33) % n);
  };
  constexpr std::string_view aside[]{"eval", "logging", "wandb", "save", "hub", "test"},
      weighty[]{"parallel", "offload", "expert", "batch", "fp8"}, light[]{"lr", "seed", "tokenizer", "path", "name", "coeff"};
  for (auto const& base : bases)
    for (int round = 0; round < 50; ++round) {
      auto const nonsense = [&] { return "zq" + std::to_string(100'000 + draw(900'000)) + "wy"; };
      passed_keys expected;
      auto text = base.text;
      for (int k = 0; k < 4; ++k) {
        auto const which = draw(5);
        auto key = nonsense();
        auto const heavy = std::string(weighty[draw(5)]), idle = std::string(light[draw(6)]), off = std::string(aside[draw(6)]);
        if (which == 0) key += "_" + off + "_" + heavy;
        if (which == 1) key += "_" + heavy + "_" + idle;
        if (which == 2) key += "_" + idle;
        if (which == 3) key += "_" + off;
        if (which == 4 && !expected.unknown.empty()) continue;
        auto& of = which == 1 ? expected.doubtful : which == 4 ? expected.unknown : expected.harmless;
        of.push_back(key);
        text += base.key + key + base.end;
      }
      if (base.name == "ds.json") text += "}";
      CAPTURE(base.name, text);
      auto const with = read(text, base.name, asked), without = read(base.text + (base.name == "ds.json" ? "}" : ""), base.name, asked);
      CHECK(with.setting == without.setting);
      if (base.name == "t.toml" || base.name == "ds.json") continue;  // whose sections are words of their keys
      CHECK(with.passed.harmless == expected.harmless);
      CHECK(with.passed.doubtful == expected.doubtful);
      CHECK(with.passed.unknown == expected.unknown);
    }
  auto text = llama_8b;
  for (int k = 0; k < 40; ++k) text += "--zq" + std::to_string(1000 + 37 * k) + "wy 1 ";
  CHECK(refused_setting(text, "run.sh", asked).find(" keys, as zq1000wy, are none of Megatron-LM") != std::string::npos);
}

TEST_CASE("framework_setting: a functional test of Megatron-LM is read as the flags that it holds") {
  setting_request const asked{.gpus = 8};
  auto const flags = std::string(
      "--num-layers 12 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --micro-batch-size 4 "
      "--global-batch-size 32 --max-position-embeddings 1024 --attention-backend unfused ");
  auto const test = std::string(
      "ENV_VARS:\n  NVTE_ALLOW_NONDETERMINISTIC_ALGO: 0\nTEST_TYPE: regular\nMODEL_ARGS:\n"
      "  --num-layers: 12\n  --hidden-size: 512\n  --num-attention-heads: 8\n  --seq-length: 1024\n"
      "  --micro-batch-size: 4\n  --global-batch-size: 32\n  --max-position-embeddings: 1024\n"
      "  --attention-backend: unfused\n  --data-path: ${DATA_PATH}/text\n");
  auto const same = [&](std::string const& of_test, std::string const& of_flags) {
    auto const a = read(test + of_test, "model_config.yaml", asked), b = read(flags + of_flags, "run.sh", asked);
    CHECK(a.setting == b.setting);
    CHECK(a.model == b.model);
    return a.model.vocabulary;
  };
  CHECK(same("  --tokenizer-type: GPT2BPETokenizer\n", "--vocab-size 50257") == 50'304);
  CHECK(same("  --tokenizer-type: NullTokenizer\n  --vocab-size: 131072\n", "--vocab-size 131073") == 131'200);
  CHECK(same("  --vocab-size: 32000\n  --pipeline-model-parallel-size: 2\n  --pipeline-model-parallel-layout: Et*5|(t)*7L\n",
             "--vocab-size 32000 --pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*5|(t)*7L'") == 32'000);
  CHECK(same("  --vocab-size: 32000\n  --recompute-granularity: selective\n  --recompute-modules: [mlp layernorm]\nBEFORE: a && b\n",
             "--vocab-size 32000 --recompute-granularity selective --recompute-modules mlp layernorm") == 32'000);
}

TEST_CASE("framework_setting: YAML with anchors is what it stands for, and no small text becomes a huge one") {
  setting_request const asked{.model = transformer_preset("llama-3.1-8b"), .gpus = 8};
  auto const plain = read("tensor_model_parallel_size: 2\nseq_length: 4096\nmicro_batch_size: 2\nbf16: true\n", "a.yaml", asked);
  auto const named = read(
      "seq_length: &n 4096\nmicro_batch_size: 2\ntensor_model_parallel_size: 2\nbf16: &yes true\nuse_flash_attn: *yes\n", "a.yaml", asked);
  CHECK(named.setting == plain.setting);
  auto const taken = read(
      "x_log: &base {tensor_model_parallel_size: 2, seq_length: 1024}\n<<: *base\nseq_length: 4096\nmicro_batch_size: 2\n"
      "bf16: true\n",
      "a.yaml", asked);  // its own keys replace those that it takes
  CHECK(taken.setting == plain.setting);
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int k = 1; k < 12; ++k) {
    auto const n = std::to_string(k), of = "*a" + std::to_string(k - 1);
    bomb += "a" + n + ": &a" + n + " [" + of + ", " + of + ", " + of + ", " + of + "]\n";
  }
  CHECK(refused_setting(bomb + "micro_batch_size: 1\n", "a.yaml", asked) == "a.yaml: this is larger or deeper than any setting");
}

TEST_CASE("framework_setting: malformed files give one sentence with file and line or key") {
  setting_request const asked{.model = transformer_preset("llama-3.1-8b"), .gpus = 8, .sequence = 4096, .micro_batch = 1};
  struct {
    std::string text;
    char const *name, *sentence;
  } const cases[] = {
      {"{\"a\": ", "a.json", "a.json: not a JSON object: it ends in the middle"},
      {"{\"a\": {\"b\": 1,\n}}", "a.json", "a.json: not a JSON object: line 2 closes behind a comma, which JSON does not allow"},
      {"{\n// no\n}", "a.json", "a.json: not a JSON object: there is a fault in line 2"},
      {"{\"a\": 1\n  \"b\": 2}", "a.json", "a.json: not a JSON object: there is a fault in line 2"},
      {"[1]", "a.json", "a.json: not a JSON object"},
      {"{\"zero_optimization\": {\"stage\": 1, \"stage\": 2}}", "a.json", "a.json: the key zero_optimization.stage occurs twice"},
      {"{\"zero_optimization\": {\"stage\": \"two\"}}", "a.json", "a.json: zero_optimization.stage = two must be a whole number"},
      {"{\"zero_optimization\": {\"stage\": 4}}", "a.json", "a.json: zero_optimization.stage = 4 must be 0 to 3"},
      {std::string(200, '[') + std::string(200, ']'), "a.json", "a.json: this is larger or deeper than any setting"},
      {"[training\nseq_len = 1", "a.toml", "a.toml:1: "},
      {"[training]\nseq_len = 1.5", "a.toml", "a.toml:2: training.seq_len = 1.5 must be a whole number"},
      {"[training]\ndtype = \"float64\"", "a.toml", "a.toml:2: training.dtype = float64 must be one of float32, bfloat16"},
      {"# \xc3\xa9\n\xc3\xa9 = 1\n", "a.toml", "a.toml:2: letters beyond ASCII must be in quotes or in a comment"},
      {"[training]\nname = \"\"\"a\\\"\n\"\"\"\"\nseq_len = \xcb\xb7", "a.toml", "a.toml:4: letters beyond ASCII"},
      {"[training]\ndataset = \"\xc3\xa9\" # \xc3\xa9\ndataset_path = '''\xc3\xa9\n\xc3\xa9''''' # '\nseq_len = 1.5", "a.toml",
       "a.toml:5: training.seq_len = 1.5 must be a whole number"},
      {std::string(70, '.'), "a.toml", "a.toml: this is larger or deeper than any setting"},
      {"# " + std::string(70, '.') + "\n[training]\nseq_len = 1.5 # \xc3\xa9", "a.toml", "a.toml:3: training.seq_len = 1.5 must"},
      {"a: [1", "a.yaml", "a.yaml:"},
      {"- 1\n- 2", "a.yaml", "a.yaml: not a YAML mapping"},
      {"micro_batch_size: 1\nseq_length: many\n", "a.yaml", "a.yaml:2: seq_length = many must be a whole number"},
      {"x 'y", "a.sh", "a.sh:1: a quote is opened and never closed"},
      {"A=(\n--b", "a.sh", "a.sh:1: the array A is not closed"},
      {"x ${A", "a.sh", "a.sh:1: a bracket is opened and never closed"},
      {"x --micro-batch-size $MBS --seq-length 1", "a.sh", "a.sh:1: "},
      {"x --micro-batch-size 1 2 --seq-length 1", "a.sh", "a.sh: seq_length"},
  };
  for (auto const& c : cases) {
    auto const sentence = refused_setting(
        c.text, c.name, asked.sequence && std::string_view(c.name) == "a.sh" ? setting_request{.model = asked.model, .gpus = 8} : asked);
    CAPTURE(c.text, sentence, c.sentence);
    if (std::string_view(c.sentence) == "a.sh: seq_length") {
      CHECK(sentence.starts_with("a.sh:1: micro_batch_size = 1 2 is not one value"));
      continue;
    }
    CHECK(sentence.starts_with(c.sentence));
    CHECK(sentence.find('\n') == sentence.npos);
  }
  CHECK(refused_setting("x --micro-batch-size $MBS --seq-length 1", "a.sh", {.model = asked.model, .gpus = 8}) ==
        "a.sh:1: micro_batch_size = $MBS has a variable that is not set in the file");
  CHECK(refused_setting("N=8\nx --seq-length 1 --micro-batch-size $(($M * N / 8))", "a.sh", {.model = asked.model, .gpus = 8}) ==
        "a.sh:2: micro_batch_size = $(($M*N/8)) has a sum of variables that are not set in the file");
}

TEST_CASE("framework_setting: a file that is no setting of a framework is refused, however much the command line says") {
  setting_request const asked{
      .model = transformer_preset("llama-3.1-8b"), .gpus = 8, .sequence = 4096, .micro_batch = 1, .micro_batches = 1};
  struct {
    std::string text;
    char const* name;
  } const cases[] = {
      {"hello world", "hello.txt"},
      {"", "empty.sh"},
      {"we like the swift megatron\n", "prose"},
      {"recipe = llm.llama3_8b.pretrain_recipe(num_nodes=2)\nrecipe.trainer.strategy.tensor_model_parallel_size = 4\n", "recipe.py"},
      {"#!/bin/bash\n#SBATCH --nodes=4\nsrun --nodes=4 bash train.sh \"$@\"\n", "job.sbatch"},
      {"torchrun --nproc_per_node 8 --nnodes 2 train.py \"$@\"\n", "job.sh"},
      {"python train.py --lr 1e-4 --seed 1 --output_dir out\n", "train.sh"},
      {"swift sft \"$@\"\n", "swift.sh"},
      {"lr: 1\nseed: 2\n", "a.yaml"},
      {"services:\n  web:\n    image: x\n", "compose.yml"},
      {"{}", "a.json"},
      {"{\"name\": \"x\", \"version\": \"1\"}", "package.json"},
      {"", "a.toml"},
      {"[project]\nname = \"x\"\n", "pyproject.toml"},
  };
  for (auto const& c : cases) {
    CAPTURE(c.text);
    auto const sentence = refused_setting(c.text, c.name, asked);
    CHECK(sentence.starts_with(std::string(c.name) + ": no key of a framework is in it"));
    CHECK(sentence.ends_with("; read are settings of " + framework_names()));
    CHECK(refused_setting(c.text, c.name, {}) == sentence);  // before anything that is missing
  }
  CHECK(refused_setting("torchrun train.py \"$@\"\n", "job.sh", asked).find(", and what is in line 1: $@ is not known; ") !=
        std::string::npos);
}

TEST_CASE("framework_setting: DeepSpeed's batches, states and pipeline") {
  setting_request const asked{.model = transformer_preset("llama-3.1-8b"), .gpus = 8, .sequence = 4096};
  auto const json = [&](std::string const& text, setting_request const& by) { return read("{" + text + "}", "ds.json", by); };
  auto const two = json(R"("train_batch_size": 64, "gradient_accumulation_steps": 4, "bf16": {"enabled": true})", asked).setting;
  CHECK((two.micro_batch == 2 && two.micro_batches == 4));
  CHECK(two.model.optimizer.state == ballast::training_state{.parameter = 2, .gradient = 2, .optimizer = 12});  // the model's format
  CHECK(json(R"("train_micro_batch_size_per_gpu": 2)", asked).setting.model.optimizer.state ==
        ballast::training_state{.parameter = 4, .gradient = 4, .optimizer = 8});
  auto const automatic =
      R"("train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"})";
  CHECK(refused_setting(std::string("{") + automatic + "}", "ds.json", asked).find("--micro-batch says it") != std::string::npos);
  auto with = asked;
  with.micro_batch = 1;
  with.checkpointing = true;
  auto const three = json(automatic, with);
  CHECK(three.setting.model.spread.zero == 3);
  CHECK(three.setting.recompute.what == uniform);
  CHECK(has_note(three, "gathered parameters that may live"));
  auto const offloaded =
      json(R"("zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "nvme"}})", with);
  CHECK(offloaded.setting.model.moved == ballast::offload::parameters);
  auto const alone = json(R"("zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}})", with);  // other states stay
  CHECK((alone.setting.model.moved == ballast::offload::none && has_note(alone, "leaves the other states on the devices")));
  CHECK(json(R"("zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}})", with).setting.model.moved ==
        ballast::offload::gradients);
  auto const pipeline = json(R"("pipeline": {"stages": 4, "activation_checkpoint_interval": 2}, "zero_optimization": {"stage": 1})", with);
  CHECK(pipeline.setting.pipeline.stages == 4);
  CHECK(pipeline.setting.recompute == ballast::recompute_setting{.what = uniform, .layers = 2});
  CHECK(pipeline.setting.boundaries.size() == 5);
  CHECK(refused_setting(R"({"pipeline": {"stages": 4}, "zero_optimization": {"stage": 2}})", "ds.json", with)
            .find("is refused by DeepSpeed with a pipeline") != std::string::npos);
  CHECK(refused_setting(R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2, "gradient_accumulation_steps": 3})", "ds.json",
                        asked)
            .find("is not train_micro_batch_size_per_gpu x") != std::string::npos);
}

TEST_CASE("framework_setting: torchtitan's defaults, cuts, old and new names") {
  setting_request const asked{.gpus = 64};
  std::string const model = "[model]\nname = \"llama3\"\nflavor = \"8B\"\n";
  auto const plain = read(model, "t.toml", asked);
  CHECK(plain.model == transformer_preset("llama-3.1-8b"));
  CHECK((plain.setting.micro_batch == 8 && plain.setting.sequence == 2048 && plain.setting.model.spread.zero == 3));
  CHECK(plain.setting.recompute == ballast::recompute_setting{.what = alternate, .layers = 2});
  auto const ends = read(model + "[parallelism]\npipeline_parallel_degree = 4\n", "t.toml", asked);
  CHECK(ends.setting.boundaries == std::vector<std::uint32_t>{0, 9, 18, 26, 34});  // 34 / 4: 9, 9, 8, 8, and the ends one less
  CHECK(ends.setting.model.spread.zero == 2);                                      // gathered weights stay with a pipeline
  CHECK((ends.setting.micro_batch == 1 && ends.setting.micro_batches == 8));
  auto const old = read(model +
                            "[training]\nbatch_size = 8\ndata_parallel_shard_degree = 8\ntensor_parallel_degree = 2\n"
                            "[experimental]\npipeline_parallel_degree = 4\n",
                        "t.toml", asked)
                       .setting;
  CHECK((old.model.spread.tensor == 2 && old.pipeline.stages == 4 && old.model.spread.data == 8 && old.micro_batches == 4));
  CHECK((old.micro_batch == 2 && old.boundaries == std::vector<std::uint32_t>{0, 9, 17, 25, 34}));
  auto const saved =
      read(R"({"training": {"num_tokens_per_microbatch_per_dp_rank": 16384, "num_tokens_per_train_step": -1, "max_context_length": 8192},
    "parallelism": {"tensor_parallel_degree": 2, "num_pp_microbatches": 1, "enable_sequence_parallel": true},
    "activation_checkpoint": {"_type": "FullAC"}, "model": {"name": "llama3", "flavor": "70B"}})",
           "saved.json", asked);
  CHECK(saved.model == transformer_preset("llama-3.1-70b"));
  CHECK((saved.setting.micro_batch == 2 && saved.setting.sequence == 8192 && saved.setting.recompute.what == uniform));
  auto const piped =
      read(R"({"training": {"num_tokens_per_microbatch_per_dp_rank": 16384, "num_tokens_per_train_step": -1, "max_context_length": 8192},
    "parallelism": {"pipeline_parallel_degree": 4, "num_pp_microbatches": 8}, "activation_checkpoint": {"preserve_rng_state": true,
    "determinism_check": "default", "debug": false}, "model_spec": {"name": "qwen3", "flavor": "14B"}})",
           "saved.json", asked);
  CHECK((piped.model.layers == 40 && piped.model.qk_norm == 256 && piped.model.kv_heads == 8));
  CHECK((piped.setting.micro_batch == 2 && piped.setting.micro_batches == 8 && piped.setting.recompute.what == uniform));  // FullAC
  auto const dump = [&](std::string const& size, std::string const& rest) {  // the parts of a dump that a setting depends on
    return read(R"({"model_spec": {"name": "deepseek_v3", "flavor": "16B", "model": {"dim": 2048, )" + size +
                    R"(}}, "parallelism": {"enable_sequence_parallel": true, "spmd_backend": "spmd_types"}, "override": {"imports": []},
        "training": {"num_tokens_per_microbatch_per_dp_rank": 16384, "max_context_length": 4096, "disable_cuda_graphs": false},
        "optimizer": {"param_groups": [{"pattern": ".*", "optimizer_name": "AdamW"}], "implementation": "fused"}, )" +
                    rest + "}",
                "saved.json", asked);
  };
  auto const whole = dump(R"("mtp_layers": 1, "layers": [{"attention": {"wo": {"in_features": 2048}}}])",
                          R"("loss": {"global_vocab_size": 102400}, "compile": {"enable": true, "components": ["loss"]})");
  CHECK((whole.setting.model.loss == ballast::head_loss{} && whole.model.mtp_layers == 1));
  CHECK((whole.time.rates.family == ballast::kernel_family::eager && whole.time.graphs == ballast::graph_scope::layers));
  CHECK((whole.notes.empty() && whole.passed.doubtful.empty() && whole.passed.unknown.empty()));
  auto const parts = dump(R"("layers": [{"attention": {"wo": {"in_features": 2048, "rank": 8}}}])",
                          R"("loss": {"num_chunks": 8, "loss_fn": {"global_vocab_size": 102400}}, "compile": {"enable": true})");
  CHECK((parts.setting.model.loss == ballast::head_loss{.chunks = 8} && parts.model.mtp_layers == 0));
  CHECK((parts.time.rates.family == ballast::kernel_family::compiled && has_note(parts, "adapters in model_spec.model.layers")));
  CHECK(refused_setting(R"({"model_spec": {"name": "llama3", "flavor": "8B"}, "training": {"max_context_length": 4096}, "parallelism": {},
        "optimizer": {"param_groups": [{"optimizer_name": "Muon"}]}})",
                        "saved.json", asked)
            .find("Muon is not modelled") != std::string::npos);
  CHECK(refused_setting("[model]\nname = \"qwen9\"\n", "t.toml", asked).find("--model names the model") != std::string::npos);
  CHECK(refused_setting(model + "[parallelism]\ndata_parallel_shard_degree = 5\n", "t.toml", asked).find("but 64 data-parallel ranks") !=
        std::string::npos);
}

// Written from the tables of docs/footprint.md and of the frameworks' pages. What a process has beside tensors is fitted: the two dense
// rows of ms-swift that train everything on the device leave 5.9 and 4.4 GiB.
TEST_CASE("framework_setting: torchtitan's sizes have the published numbers of parameters") {
  struct {
    char const *name, *flavor;
    std::int64_t parameters;
  } const sizes[] = {{"llama3", "1B", 1'235'814'400},    {"llama3", "3B", 3'212'749'824},     {"qwen3", "0.6B", 596'049'920},
                     {"qwen3", "1.7B", 1'720'574'976},   {"qwen3", "4B", 4'022'468'096},      {"qwen3", "8B", 8'190'735'360},
                     {"qwen3", "14B", 14'768'307'200},   {"qwen3", "32B", 32'762'123'264},    {"deepseek_v3", "16B", 15'706'484'224},
                     {"gpt_oss", "20b", 20'914'757'184}, {"gpt_oss", "120b", 116'829'156'672}};
  for (auto const& size : sizes) {
    CAPTURE(size.name, size.flavor);
    auto const of = read("[model]\nname = \"" + std::string(size.name) + "\"\nflavor = \"" + size.flavor + "\"\n", "t.toml", {.gpus = 64});
    CHECK(ballast::parameters(of.model) == size.parameters);
  }
}

TEST_CASE("framework_setting: published settings need the published memory") {
  auto const check = [](char const* what, imported_setting const& of, double published, double window) {
    constexpr std::int64_t beside_tensors = std::int64_t{5} << 30;
    auto const gib = static_cast<double>(most_bytes(of) + beside_tensors) / ballast_test::gib;
    CAPTURE(what, gib, published);
    CHECK(std::abs(gib / published - 1) <= window);
  };
  auto const swift = [](char const* model, std::int64_t gpus, std::string const& flags) {
    return read(
        "megatron sft --model X/" + std::string(model) + " --packing true --micro_batch_size 1 --cross_entropy_loss_fusion true " + flags,
        "run.sh", {.model = transformer_preset(model), .gpus = gpus});
  };
  std::string const full = "--recompute_granularity full --recompute_method uniform --recompute_num_layers 1 ";
  check("14B", swift("qwen2.5-14b", 8, "--tensor_model_parallel_size 4 --sequence_parallel true --max_length 8192 --global_batch_size 16"),
        64, 0.15);
  check("7B 32K",
        swift("qwen2.5-7b", 4, full + "--tensor_model_parallel_size 4 --sequence_parallel true --max_length 32768 --global_batch_size 8"),
        50, 0.15);
  check("72B",
        swift("qwen2.5-72b", 8,
              full + "--tensor_model_parallel_size 8 --sequence_parallel true --max_length 8192 --optimizer_cpu_offload true "
                     "--optimizer_offload_fraction 1 --use_precision_aware_optimizer true"),
        65, 0.15);
  check("30B-A3B",
        swift("qwen3-30b-a3b", 16,
              full + "--pipeline_model_parallel_size 2 --expert_model_parallel_size 8 --max_length 8192 "
                     "--moe_permute_fusion true --moe_grouped_gemm true --moe_aux_loss_coeff 1e-3"),
        60, 0.15);
  check("30B-A3B, TP 4",
        swift("qwen3-30b-a3b", 8,
              full + "--pipeline_model_parallel_size 2 --decoder_first_pipeline_num_layers 25 --tensor_model_parallel_size 4 "
                     "--sequence_parallel true --expert_model_parallel_size 4 --max_length 8192 --global_batch_size 4"),
        76, 0.15);
  check("30B-A3B, LoRA",
        swift("qwen3-30b-a3b", 4, full + "--expert_model_parallel_size 4 --tuner_type lora --lora_rank 32 --max_length 8192"), 49, 0.15);
  auto const deepspeed = [](char const* model, std::int64_t gpus, std::string const& flags) {
    return read("NPROC_PER_NODE=" + std::to_string(gpus) +
                    " swift sft --model X --tuner_type full --packing true --gradient_accumulation_steps 2 " + flags,
                "run.sh", {.model = transformer_preset(model)});
  };
  check("14B ZeRO-2", deepspeed("qwen2.5-14b", 8, "--deepspeed zero2 --max_length 8192"), 80, 0.15);
  check("14B ZeRO-3", deepspeed("qwen2.5-14b", 8, "--deepspeed zero3 --max_length 8192"), 58, 0.15);
  check("7B ZeRO-3, Liger", deepspeed("qwen2.5-7b", 4, "--deepspeed zero3 --max_length 8192 --use_liger_kernel true"), 44, 0.15);
  check("7B, one device", deepspeed("qwen2.5-7b", 1, "--max_length 2048"), 76, 0.15);
  check("7B ZeRO-3, its JSON",
        read(R"({"bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3, "overlap_comm": false, "contiguous_gradients": true,
    "reduce_bucket_size": "auto", "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto", "sub_group_size": 1e9,
    "stage3_max_live_parameters": 1e9, "stage3_max_reuse_distance": 1e9, "stage3_gather_16bit_weights_on_model_save": true},
    "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto"})",
             "zero3.json",
             {.model = transformer_preset("qwen2.5-7b"),
              .gpus = 4,
              .sequence = 8192,
              .micro_batch = 1,
              .micro_batches = 2,
              .checkpointing = true}),
        54, 0.15);
  auto const titan = [](char const* flavor, std::int64_t gpus, std::string const& training, std::string const& parallelism,
                        std::string const& again) {
    return read("[job]\ndump_folder = \"./outputs\"\n[model]\nname = \"llama3\"\nflavor = \"" + std::string(flavor) +
                    "\"\n[optimizer]\nname = \"AdamW\"\nlr = 3e-4\n[training]\n" + training + "\n[parallelism]\n" + parallelism +
                    "\n[activation_checkpoint]\n" + again + "\n",
                "llama3.toml", {.gpus = gpus});
  };
  std::string const by_operators = "mode = \"selective\"\nselective_ac_option = \"op\"", all = "mode = \"full\"";
  check("8B, 8 devices", titan("8B", 8, "local_batch_size = 2\nseq_len = 8192", "data_parallel_shard_degree = -1", by_operators), 82.4,
        0.1);
  check("8B, 128 devices", titan("8B", 128, "local_batch_size = 2\nseq_len = 8192", "", by_operators), 67.0, 0.1);
  check("8B, 32,768", titan("8B", 8, "local_batch_size = 1\nseq_len = 32768", "", all), 83.9, 0.1);
  check("8B, CP 2, 65,536", titan("8B", 8, "local_batch_size = 1\nseq_len = 65536", "context_parallel_degree = 2", all), 84.2, 0.1);
  check("8B, CP 8, 262,144", titan("8B", 8, "local_batch_size = 1\nseq_len = 262144", "context_parallel_degree = 8", all), 84.5, 0.1);
  check("70B", titan("70B", 256, "local_batch_size = 16\nseq_len = 8192", "tensor_parallel_degree = 8", all), 71.9, 0.3);
  auto const large =
      titan("405B", 512, "local_batch_size = 32\nseq_len = 8192", "tensor_parallel_degree = 8\npipeline_parallel_degree = 8", all);
  CHECK((large.setting.micro_batches == 32 && large.setting.model.spread.data == 8 && large.setting.gpus() == 512));
  // the published runs are of December 2024, when a batch was cut into as many micro-batches as there are parts
  auto const published = [&](std::string const& training, std::string const& parallelism, std::int64_t number, double gib) {
    auto const run =
        titan("405B", 512, training, "tensor_parallel_degree = 8\n" + parallelism + "\n[experimental]\npipeline_parallel_degree = 8", all);
    auto const computed = static_cast<double>(most_bytes(run)) / ballast_test::gib;
    CAPTURE(training, parallelism, gib, computed);
    CHECK((run.setting.micro_batches == number && run.setting.gpus() == 512));
    CHECK(std::abs(computed / gib - 1) <= 0.15);
  };
  auto const many = "batch_size = 32\nseq_len = 8192";
  published(many, "", 8, 82.5);
  published(many, "pipeline_parallel_schedule = \"Interleaved1F1B\"", 16, 72.7);
  published("batch_size = 8\nseq_len = 32768", "", 8, 75.3);
  published("batch_size = 8\nseq_len = 65536", "context_parallel_degree = 2", 8, 75.9);
  published("batch_size = 8\nseq_len = 131072", "context_parallel_degree = 4", 8, 77.1);
  published("batch_size = 8\nseq_len = 262144", "context_parallel_degree = 8", 8, 84.9);
  CHECK(refused_setting("[model]\nname = \"llama3\"\nflavor = \"405B\"\n[training]\nbatch_size = 12\n[experimental]\n"
                        "pipeline_parallel_degree = 8\n",
                        "t.toml", {.gpus = 8})
            .find("is no multiple of the 8 micro-batches of the pipeline") != std::string::npos);
}

}  // namespace test_cli_framework_setting
