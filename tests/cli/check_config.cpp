// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "readers/framework_setting.hpp"
#include "refused.hpp"
#include "time_json.hpp"

#include <ballast/cost/presets.hpp>
#include <ballast/plan/judge_setting.hpp>
#include <ballast/plan/time_of.hpp>

#include "support/catch.hpp"
#include "support/published_times.hpp"
#include "support/rounds.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace test_cli_check_config {

namespace {

using namespace ballast_test;
using nlohmann::json;

std::string const setting =
    "megatron sft --tensor_model_parallel_size 2 --pipeline_model_parallel_size 2 --sequence_parallel true "
    "--max_length 8192 --micro_batch_size 1 --global_batch_size 64\n";

json judged(scratch const& in, std::string const& arguments) {
  auto const o = in.ballast("check-config " + arguments + " --json");
  CAPTURE(arguments, o.err);
  REQUIRE(o.code == 0);
  return json::parse(o.out);
}

/// Whether an object has the parts of all stages, and those of the one that waits least.
void check_parts(json const& of, std::vector<ballast::time_parts> const& stages) {
  auto const& slowest = ballast::slowest_of(stages);
  REQUIRE(of.is_object());
  CHECK(of["stages_ms"] == ballast_test::stages_ms(stages));
  CHECK(of["parts_ms"] == of["stages_ms"][of["stage"].get<std::size_t>()]);
  CHECK(of["step_ms"] == static_cast<double>(slowest.total()) / 1e9);
  CHECK(of["stage"] == &slowest - stages.data());
}

}  // namespace

TEST_CASE("check-config: where the time of a step goes is what time_of says of the same setting") {
  scratch const in;
  auto const& model = ballast::transformer_preset("llama-3.1-8b");
  auto const& h100 = ballast::device_named("h100");
  in.file("run.sh",
          "torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel --bf16 "
          "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather --seq-length 8192 --micro-batch-size 1 "
          "--global-batch-size 64\n");
  ballast::training_setting by;
  by.model = {.spread = {.tensor = 2, .data = 2, .sequence_parallel = true, .zero = 1}, .framework = ballast::framework_named("megatron")};
  by.pipeline.stages = 2;
  by.sequence = 8192;
  by.micro_batches = 32;
  auto const megatron = judged(in, "run.sh --gpus 8 --model llama-3.1-8b")["time"];
  check_parts(megatron, ballast::time_of(model, by, h100, {.gradient_overlap = true}));
  CHECK((megatron["rates"] == "h100-te-bf16" && megatron["nearest"].is_null() && megatron["lower_bound"] == false));
  auto const volta = judged(in, "run.sh --gpus 8 --model llama-3.1-8b --device v100")["time"];
  auto const& v100 = ballast::device_named("v100");
  check_parts(volta, ballast::time_of(model, by, v100, {.rates = ballast::kernels_for(v100), .gradient_overlap = true}));
  CHECK((volta["rates"] == "v100-te-bf16" && volta["nearest"] == "a100" && volta["lower_bound"] == true));

  in.file("t.toml",
          "[model]\nname = \"llama3\"\nflavor = \"8B\"\nconverters = [\"float8\"]\n[compile]\nenable = true\n"
          "[parallelism]\ncontext_parallel_degree = 2\n[training]\nlocal_batch_size = 1\nseq_len = 16384\n"
          "[activation_checkpoint]\nmode = \"full\"\n");
  by = {};
  by.model = {.spread = {.context = 2, .data = 16, .zero = 3}, .framework = ballast::framework_named("eager")};
  by.recompute.what = ballast::recompute_setting::kind::uniform;
  by.sequence = 16384;
  auto const titan = judged(in, "t.toml --gpus 16")["time"];
  check_parts(titan, ballast::time_of(model, by, h100,
                                      {.rates = ballast::kernels_for(h100, ballast::kernel_family::compiled, true),
                                       .attention = ballast::attention_library::flash2,
                                       .float_reduction = true,
                                       .gathered_context = true}));
  CHECK(titan["rates"] == "h100-compile-fp8");
}

TEST_CASE("check-config: flags change the parts of the time that they are for") {
  scratch const in;
  auto const parts = [&](std::string const& flags) {
    in.file("run.sh",
            "torchrun pretrain_gpt.py --tensor-model-parallel-size 2 --sequence-parallel --expert-model-parallel-size 16 "
            "--expert-tensor-parallel-size 1 --bf16 --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 "
            "--moe-token-dispatcher-type " +
                flags + "\n");
    return judged(in, "run.sh --gpus 16 --model qwen3-30b-a3b")["time"]["parts_ms"];
  };
  auto const plain = parts("alltoall");
  std::pair<char const*, char const*> const cases[] = {
      {"alltoall --tp-comm-overlap", "exchange"}, {"alltoall --overlap-moe-expert-parallel-comm", "exchange"},
      {"flex --moe-enable-deepep", "exchange"},   {"alltoall --overlap-grad-reduce", "end"},
      {"alltoall --enable-cuda-graph", "host"},   {"alltoall --cuda-graph-impl local --cuda-graph-scope attn", "host"},
      {"alltoall --fp8-format hybrid", "gemm"},   {"alltoall --fp8-format hybrid", "experts"}};
  for (auto const& [flags, part] : cases) {
    if (sanitized && part != std::string_view("end")) continue;
    CAPTURE(flags, part);
    CHECK(parts(flags)[part] < plain[part]);
  }
}

TEST_CASE("check-config: in words the parts add up, and the step that settings are ranked by is said") {
  scratch const in;
  in.file("run.sh", setting);
  auto const words = [&](std::string const& more) {
    auto const o = in.ballast("check-config run.sh --gpus 8 --model " + more);
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    return o.out;
  };
  auto const plain = words("llama-3.1-8b"), shared = words("llama-3.1-8b --mfu 0.5");
  auto const by_kernels = std::string("Where the time of a step goes, modelled from kernels at the rates h100-te-bf16, on stage ");
  for (auto const& [text, step] : {std::pair{plain, "\nSimulated with the times of its kernels, a step takes "},
                                   {shared, "\nAt 50 % of the 16-bit peak, with all exchanges in full, a step takes "}}) {
    REQUIRE(text.find(by_kernels) != std::string::npos);
    CHECK((text.find(step) > text.find(by_kernels) && text.find(step) != std::string::npos));
  }
  double sum = 0, step = 0;
  auto at = plain.find('\n', plain.find(by_kernels)) + 1;
  for (; plain.substr(at, 5) != "step "; at = plain.find('\n', at) + 1) sum += std::stod(plain.substr(at + 26));
  step = std::stod(plain.substr(at + 26));
  CHECK((sum > 0.999 * step && sum < 1.001 * step));
  CHECK(plain.find("of the framework alone changes this") == std::string::npos);
  CHECK(plain.find("and this is a lower bound") == std::string::npos);
  CHECK(words("qwen3-30b-a3b").find("With experts, a release of the framework alone changes this by up to 30 %.") != std::string::npos);
  CHECK(words("llama-3.1-8b --device v100").find(", those of the nearest device that is known, a100, on stage ") != std::string::npos);
  CHECK(words("llama-3.1-8b --device v100").find("and this is a lower bound.\n") != std::string::npos);
}

TEST_CASE("check-config: of eight published settings of Qwen3-235B, the three called fastest have one of the three fastest") {
  if (sanitized) return;  // takes minutes; other tests run the same code
  auto const& h800 = ballast::device_named("h800");
  auto const& model = ballast::transformer_preset("qwen3-235b-a22b");
  std::vector<std::array<double, 2>> speeds;  // measured and judged
  for (auto const& row : published_times()) {
    if (row.group->sweep != "qwen235-h800") continue;
    auto const number = [](char const* flag, std::int64_t value) { return std::string(flag) + " " + std::to_string(value) + " "; };
    auto flags = number("--tensor-model-parallel-size", row.tensor) + number("--pipeline-model-parallel-size", row.stages) +
                 number("--expert-model-parallel-size", row.expert) + number("--micro-batch-size", row.micro_batch) +
                 number("--global-batch-size", row.global_batch) + number("--seq-length", row.sequence) +
                 "--expert-tensor-parallel-size 1 --use-distributed-optimizer --bf16 --moe-grouped-gemm ";
    auto const all = row.stages * row.chunks, each = 96 / all;  // embedding and head take the place of a layer
    auto const t = [](std::int64_t n) { return n == 0 ? std::string() : "t*" + std::to_string(n); };
    flags += "--pipeline-model-parallel-layout 'E" + t(each - 1) + "|(" + t(each) + "|)*" + std::to_string(all - 2) + t(each - 1) + "L' ";
    if (row.tensor > 1) flags += "--sequence-parallel ";
    flags +=
        has_word(row.kernels, "deepep") ? "--moe-token-dispatcher-type flex --moe-enable-deepep " : "--moe-token-dispatcher-type alltoall ";
    if (has_word(row.flags, "tp")) flags += "--tp-comm-overlap --overlap-grad-reduce --overlap-param-gather ";
    flags += row.recompute == "full"          ? "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1\n"
             : has_word(row.recompute, "moe") ? "--recompute-granularity selective --recompute-modules layernorm moe\n"
                                              : "--recompute-granularity selective --recompute-modules layernorm moe_act\n";
    // as the command judges a setting, without the search beside it
    auto given = ballast_cli::read_framework_setting("torchrun pretrain_gpt.py " + flags, "qwen.sh", {.model = model, .gpus = 256});
    CAPTURE(flags);
    CHECK(given.untimed.empty());
    given.time.rates = ballast::kernels_for(h800, given.time.rates.family, given.time.rates.fp8);
    auto const step = ballast::judge_setting(given.model, given.setting, {.device = h800, .time = given.time}).step_ms();
    speeds.push_back({row.measured, static_cast<double>(row.global_batch) / step});
  }
  REQUIRE(speeds.size() == 8);
  auto const third = [&](std::size_t of) {  // what the third fastest reaches
    std::vector<double> all;
    for (auto const& s : speeds) all.push_back(s[of]);
    std::sort(all.begin(), all.end());
    return all[5];
  };
  auto const slow = third(0), called = third(1);
  CHECK(std::any_of(speeds.begin(), speeds.end(), [&](auto const& s) { return s[0] >= slow && s[1] >= called; }));
}

TEST_CASE("check-config: what is not modelled part by part gets one sentence, and all else") {
  scratch const in;
  in.file("run.sh", setting);
  in.file("lora.sh", "megatron sft --max_length 4096 --tuner_type lora\n");
  in.file("eight.sh", setting.substr(0, setting.size() - 1) + " --fp8_format hybrid\n");
  in.file("host.sh", setting.substr(0, setting.size() - 1) + " --optimizer_cpu_offload true\n");
  std::pair<std::string, std::string> const cases[] = {
      {"lora.sh --model llama-3.1-8b", "adapters and frozen weights are not modelled"},
      {"host.sh --model llama-3.1-8b", "the way of states from and to host memory is not modelled"},
      {"run.sh --model qwen2.5-vl-7b", "the tower and the projector of a model that reads images are not modelled"},
      {"eight.sh --model llama-3.1-8b --device a100", "the device \"a100\" has no 8-bit matrix products: choose bf16"}};
  for (auto const& [arguments, why] : cases) {
    CAPTURE(arguments);
    auto const is = judged(in, arguments + " --gpus 8");
    CHECK(is["time"].is_null());
    CHECK(is["notes"].dump().find(json("where the time of a step goes is not told: " + why).dump()) != std::string::npos);
    CHECK(is["modelled_step_ms"] > 0);
    auto const text = in.ballast("check-config " + arguments + " --gpus 8").out;
    CHECK(text.find("Note: where the time of a step goes is not told: " + why + ".\n") != std::string::npos);
    CHECK(text.find("Where the time of a step goes") == std::string::npos);
  }
}

TEST_CASE("check-config: a setting is judged, and too little memory is named with its stage") {
  scratch const in;
  in.file("run.sh", setting);
  auto const roomy = judged(in, "run.sh --gpus 8 --model llama-3.1-8b");
  CHECK(roomy["framework"] == "ms-swift");
  CHECK(roomy["fits"] == true);
  CHECK(roomy["memory"].size() == 2);
  CHECK(roomy["global_batch"] == 64);
  CHECK(roomy["better"]["modelled_step_ms"] <= roomy["modelled_step_ms"]);
  CHECK(roomy["best"]["modelled_step_ms"] <= roomy["better"]["modelled_step_ms"]);  // the search has this setting too
  CHECK(roomy["best"]["settings"] > 1);
  auto const tight = judged(in, "run.sh --gpus 8 --model llama-3.1-8b --memory 30Gi");
  CHECK(tight["fits"] == false);
  CHECK(tight["modelled_step_ms"] == roomy["modelled_step_ms"]);
  auto const words = in.ballast("check-config run.sh --gpus 8 --model llama-3.1-8b --memory 30Gi");
  CHECK(words.out.find("It does not fit: stage ") != std::string::npos);
  CHECK(words.out.find(" more than the 32,212,254,720 bytes of a device; its ") != std::string::npos);
  CHECK(words.out.find("  too much\n") != std::string::npos);
  CHECK(judged(in, "run.sh --gpus 8 --model llama-3.1-8b --memory 1Ki")["better"].is_null());
  CHECK(judged(in, "run.sh --gpus 8 --model llama-3.1-8b --memory 1Ki")["best"].is_null());
}

TEST_CASE("check-config: what is named best is never behind the setting") {
  scratch const in;
  for (std::string const batch : {"16", "64"}) {
    in.file("run.sh", "torchrun pretrain_gpt.py --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 8 --bf16 " +
                          ("--use-distributed-optimizer --seq-length 4096 --micro-batch-size 1 --global-batch-size " + batch));
    for (std::string const memory : {"70000Mi", "100Gi"}) {  // hardly enough, and enough
      auto const asked = "run.sh --gpus 4 --model llama-3.1-8b --memory " + memory;
      auto const is = judged(in, asked);
      CHECK((is["fits"] == true && is["chunks"] == 2));
      CHECK(is["better"]["modelled_step_ms"] <= is["modelled_step_ms"]);
      CHECK(is["best"]["modelled_step_ms"] <= is["better"]["modelled_step_ms"]);
      auto const as_good = is["better"]["modelled_step_ms"] == is["modelled_step_ms"];
      CHECK(as_good == (memory == "70000Mi"));
      CHECK((in.ballast("check-config " + asked).out.find(": this setting is as good.\n") != std::string::npos) == as_good);
    }
  }
}

TEST_CASE("check-config: the note of a model that reads images says what is left out") {
  scratch const in;
  in.file("swift.sh", "swift sft --model x --deepspeed zero3 --max_length 2048 --packing true --tuner_type full --freeze_vit true");
  auto const o = in.ballast("check-config swift.sh --gpus 8 --model qwen2.5-vl-7b");
  CAPTURE(o.out, o.err);
  CHECK(o.out.find("Note: qwen2.5-vl-7b reads images: its tower and projector are left out, so memory and time are too low.\n") !=
        std::string::npos);
  CHECK(in.ballast("check-config swift.sh --gpus 8 --model qwen2.5-7b").out.find("reads images") == std::string::npos);
}

TEST_CASE("check-config: what a script leaves to others is listed first, and a foreign file is refused") {
  scratch const in;
  in.file("run.sh", "source env.sh\n" + setting.substr(0, setting.size() - 1) + " $MORE \"$@\"\n");
  auto const o = in.ballast("check-config run.sh --gpus 8 --model llama-3.1-8b");
  CHECK(o.out.starts_with(
      "Not read: run.sh, line 1: source env.sh.\nNot read: run.sh, line 2: $@.\nNot read: run.sh, line 2: $MORE.\nrun.sh: a "));
  auto const json = judged(in, "run.sh --gpus 8 --model llama-3.1-8b");
  CHECK(json["unread"] == nlohmann::json({"line 1: source env.sh", "line 2: $@", "line 2: $MORE"}));
  in.file("hello", "hello world\n");
  check_refused(in.ballast("check-config hello --gpus 8 --model llama-3.1-8b --seq-length 4096 --micro-batch 1"),
                "hello: no key of a framework is in it; read are settings of Megatron-LM, ");
  check_refused(in.ballast("check-config run.sh --gpus 8 --model llama-3.1-8b --gradient-checkpointing"),
                "--gradient-checkpointing: is for DeepSpeed and accelerate; a setting of ms-swift says itself what is recomputed\n");
}

TEST_CASE("check-config: lengths are packed into the micro-batches of the setting") {
  scratch const in;
  in.file("run.sh", setting);
  std::string lengths;
  for (int i = 0; i < 512; ++i) lengths += std::to_string(100 + i * 7919 % 8000) + "\n";
  in.file("f", lengths);
  auto const full = judged(in, "run.sh --gpus 8 --model llama-3.1-8b"), packed = judged(in, "run.sh f --gpus 8 --model llama-3.1-8b");
  CHECK(packed["modelled_step_ms"] < full["modelled_step_ms"]);  // squares of shorter samples
  CHECK(packed["bubble"] != full["bubble"]);
  in.file("g", "9000\n");
  auto const o = in.ballast("check-config run.sh g --gpus 8 --model llama-3.1-8b");
  CHECK(o.code == 2);
  CHECK(o.err.starts_with("g:1: 9000 exceeds the capacity 8192"));
  CHECK(judged(in, "run.sh g --gpus 8 --model llama-3.1-8b --oversize truncate")["fits"] == true);
}

TEST_CASE("check-config: what the setting does not say is asked for by name") {
  scratch const in;
  in.file("run.sh", setting);
  in.file("ds.json", R"({"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1})");
  std::pair<std::string, std::string> const cases[] = {
      {"run.sh --gpus 8", "run.sh: the setting does not hold the shape of the model"},
      {"run.sh --model llama-3.1-8b", "run.sh: the setting does not say the number of devices; --gpus does"},
      {"run.sh --model llama-3.1-8b --gpus 6", "run.sh: 6 devices are no multiple of TP x PP x CP, 4"},
      {"ds.json --gpus 8 --model llama-3.1-8b", "ds.json: the setting does not say the length of a sequence; --seq-length does"},
      {"ds.json --gpus 0", "--gpus 0: expected a whole number from 1"},
      {"none.sh --gpus 8", "none.sh: "},
  };
  for (auto const& [arguments, sentence] : cases) {
    auto const o = in.ballast("check-config " + arguments);
    CAPTURE(arguments, o.err);
    CHECK(o.code == 2);
    CHECK(o.err.starts_with(sentence));
    CHECK(o.out.empty());
  }
  CHECK(judged(in, "ds.json --gpus 8 --model llama-3.1-8b --seq-length 4096")["framework"] == "DeepSpeed");
}

}  // namespace test_cli_check_config
