// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <string>

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

}  // namespace

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
                "hello: no key of a framework is in it; read are argument lines and YAML of Megatron-LM and ms-swift, JSON of DeepSpeed, ");
  check_refused(in.ballast("check-config run.sh --gpus 8 --model llama-3.1-8b --gradient-checkpointing"),
                "--gradient-checkpointing: is for DeepSpeed; a setting of ms-swift says itself what is recomputed\n");
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
