// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"

#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/plan/calibrate_steps.hpp>

#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test_cli_calibrate_steps {

namespace {

using namespace ballast_test;
using nlohmann::json;

/// Qwen3-30B on 16 H100 with micro-batches of that many sequences, as in the file below.
ballast::measured_step step_of(std::int64_t sequences) {
  ballast::measured_step out;
  out.by.model = {.spread = {.data = 16, .zero = 1}, .expert = 16, .expert_tensor = 1, .framework = ballast::framework_named("megatron")};
  out.by.sequence = 4096;
  out.by.micro_batch = sequences;
  out.by.micro_batches = 64 / sequences;
  out.batch = {.tokens = 4096 * sequences, .squares = 4096 * 4096 * sequences};
  return out;
}
std::string const setting =
    "torchrun pretrain_gpt.py --expert-model-parallel-size 16 --expert-tensor-parallel-size 1 --bf16 --use-distributed-optimizer "
    "--seq-length 4096 --micro-batch-size 1 --global-batch-size 1024 --moe-token-dispatcher-type alltoall\n";

std::string const options = " --model qwen3-30b-a3b --gpus 16";

}  // namespace

TEST_CASE("calibrate: steps of settings are what calibrate_steps says of them", "[cli]") {
  scratch const in;
  REQUIRE(in.shell("mkdir steps").code == 0);
  in.file("steps/run.sh", setting);
  auto const& model = ballast::transformer_preset("qwen3-30b-a3b");
  auto const& on = ballast::device_named("h100");
  std::vector<ballast::measured_step> steps{step_of(1), step_of(2), step_of(4)};
  std::string rows = "Setting, micro_batch, micro_batches, tokens, squares, ms\n";
  for (auto& s : steps) {
    s.ms = std::round(ballast::modelled_ms(model, on, s, {.time = 1080, .sync = 1400}));
    auto const n = s.by.micro_batch;
    auto const shape = n == 4 ? std::string(",") : std::to_string(4096 * n) + "," + std::to_string(4096 * 4096 * n);
    rows += "run.sh," + std::to_string(n) + "," + std::to_string(64 / n) + "," + shape + "," + std::to_string(s.ms) + "\n\n";
  }
  in.file("steps/times.csv", rows);
  auto const found = ballast::calibrate_steps(model, on, steps);
  auto const unseen = ballast::leave_one_out(model, on, steps);
  auto const o = in.ballast("calibrate steps/times.csv --json --out c.toml" + options);
  CAPTURE(o.err);
  REQUIRE(o.code == 0);
  auto const is = json::parse(o.out);
  CHECK((is["time"] == found.time && is["sync"] == found.sync && is["sync_known"] == true && is["plausible"] == true));
  double worst = 0, sum = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    auto const& row = is["steps"][i];
    CHECK((row["line"] == 2 + 2 * i && row["setting"] == "run.sh" && row["rates"] == "h100-te-bf16" && row["measured_ms"] == steps[i].ms));
    CHECK(row["modelled_ms"] == ballast::modelled_ms(model, on, steps[i]));
    CHECK(row["calibrated_ms"] == ballast::modelled_ms(model, on, steps[i], found));
    CHECK(row["left_out_ms"] == unseen[i]);
    auto const error = std::fabs(unseen[i] / steps[i].ms - 1);
    worst = (std::max)(worst, error);
    sum += error;
  }
  CHECK((is["errors"]["left_out"]["worst"] == worst && std::fabs(is["errors"]["left_out"]["mean"].get<double>() - sum / 3) < 1e-12));
  CHECK(is["errors"]["after"]["worst"] < is["errors"]["before"]["worst"]);
  CHECK(read_whole(in / "c.toml")
            .ends_with("\ntime = " + std::to_string(found.time) + "\nsync = " + std::to_string(found.sync) + "\nsync_known = true\n"));
  // the file makes another command's time that of the calibrated steps
  auto const checked = in.ballast("check-config steps/run.sh --json --calibration c.toml" + options);
  CHECK(json::parse(checked.out)["time"]["step_ms"] == is["steps"][0]["calibrated_ms"]);
}

TEST_CASE("calibrate: says in words which constant moved, and what the steps do not tell", "[cli]") {
  scratch const in;
  in.file("run.sh", setting);
  auto const& model = ballast::transformer_preset("qwen3-30b-a3b");
  auto const& on = ballast::device_named("h100");
  auto const said = [&](ballast::step_calibration const& truth, std::vector<std::int64_t> const& batches) {
    std::string rows = "setting,micro_batch,micro_batches,ms\n";
    for (auto const n : batches)
      rows += "run.sh," + std::to_string(n) + "," + std::to_string(64 / n) + "," +
              std::to_string(ballast::modelled_ms(model, on, step_of(n), truth)) + "\n";
    in.file("t.csv", rows);
    auto const o = in.ballast("calibrate t.csv --out c.toml" + options);
    CAPTURE(o.err);
    CHECK(o.code == 0);
    return o.out;
  };
  auto const has = [](std::string const& text, std::string const& part) {
    CAPTURE(text, part);
    CHECK(text.find(part) != std::string::npos);
  };
  auto const outside = std::string("Outside 800 to 1250 the setting, the device or the framework is probably another one than was said.\n");
  auto const untold = std::string("sync is the same: steps whose micro-batches differ in size tell how long layers with experts wait");
  auto const one = said({.time = 1100, .sync = 1100}, {1});
  has(one, "time = 1100: all kernels, exchanges and the host take 10.00 % longer than modelled.\n" + untold);
  has(one, "Written to c.toml.\n");
  CHECK((one.find("by others") == one.npos && one.find("has not seen") == one.npos && one.find(outside) == one.npos));
  auto const two = said({.time = 1000, .sync = 2000}, {1, 4});
  has(two, ": a layer with experts waits 7.6");
  has(two, " ms for the tokens of experts, not 3.81 ms.\n");
  has(two, "\nErrors on steps that a calibration has not seen: at worst ");
  auto const equal = said({.time = 700, .sync = 700}, {2, 2});
  has(equal, "time = 700: all kernels, exchanges and the host take 30.00 % less than modelled.\n" + untold);
  has(equal, outside);
  in.file("dense.csv", "setting,ms\nrun.sh,60000\n");
  in.file("run.sh", "torchrun pretrain_gpt.py --bf16 --seq-length 4096 --micro-batch-size 1 --global-batch-size 1024 --data-path x\n");
  auto const dense = in.ballast("calibrate dense.csv --gpus 16 --model llama-3.1-8b").out;
  has(dense, "time = ");
  CHECK((dense.find("sync") == dense.npos && dense.find("Written") == dense.npos));
}

TEST_CASE("calibrate: --kernels are the rates that steps are compared with", "[cli]") {
  scratch const in;
  in.file("run.sh", setting);
  in.file("t.csv", "setting,ms\nrun.sh,50000\n");
  in.file("slow.toml", "gemm = 359\n");
  auto const time = [&](std::string const& more) {
    auto const is = json::parse(in.ballast("calibrate t.csv --json" + options + more).out);
    return std::pair(is["time"].get<std::int64_t>(), is["steps"][0]["rates"].get<std::string>());
  };
  auto const plain = time(""), slow = time(" --kernels slow.toml");
  CHECK((plain.second == "h100-te-bf16" && slow.second == "slow.toml"));
  CHECK(slow.first < plain.first);
}

TEST_CASE("calibrate: steps that cannot be used get one sentence with file and line", "[cli]") {
  scratch const in;
  in.file("run.sh", setting);
  in.file("lora.sh", "megatron sft --max_length 4096 --tuner_type lora\n");
  std::string const other =
      "torchrun pretrain_gpt.py --num-layers 4 --hidden-size 1024 --num-attention-heads 8 --ffn-hidden-size 4096 --bf16 "
      "--vocab-size 32000 --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 ";
  in.file("other.sh", other + "\n");
  in.file("third.sh", other + "--swiglu\n");
  std::pair<std::string, std::string> const cases[] = {
      {"setting,tokens\nrun.sh,3\n", "t.csv:1: the column ms is missing"},
      {"setting,ms,token\nrun.sh,3,1\n",
       "t.csv:1: token is no column of measured steps; these are setting, ms, tokens, squares, gpus, seq_length, micro_batch and "
       "micro_batches; did you mean tokens?"},
      {"setting,ms,ms\n", "t.csv:1: the column ms occurs a second time"},
      {"setting,ms\n", "t.csv: there are no measured steps in it"},
      {"setting,ms\nrun.sh\n", "t.csv:2: 1 column where the header has 2"},
      {"setting,ms\nrun.sh,0\n", "t.csv:2: 0 is not a time: times are milliseconds above 0"},
      {"setting,ms\n,5\n", "t.csv:2: the setting is missing"},
      {"setting,ms\nnone.sh,5\n", "t.csv:2: none.sh: cannot be read: "},
      {"setting,ms\nlora.sh,5\n", "t.csv:2: lora.sh: adapters and frozen weights are not modelled"},
      {"setting,ms,tokens,squares\nrun.sh,5,10,\n", "t.csv:2: tokens and squares of a micro-batch belong together; without both, "},
      {"setting,ms,tokens,squares\nrun.sh,5,10,9\n", "t.csv:2: 10 tokens have squares from 10 to 100: those of the lengths"},
      {"setting,ms,tokens,squares\nrun.sh,5,10,101\n", "t.csv:2: 10 tokens have squares from 10 to 100: "},
      {"setting,ms,micro_batch\nrun.sh,5,0\n", "t.csv:2: 0 is not a number of micro_batch: these are whole numbers from 1 to 2147483647"},
      {"setting,ms\nrun.sh,50\n",
       "t.csv: the measured steps take 1 thousandths of the modelled time: check the setting, the device and the unit, milliseconds"}};
  for (auto const& [text, sentence] : cases) {
    CAPTURE(text);
    in.file("t.csv", text);
    check_refused(in.ballast("calibrate t.csv" + options), sentence);
  }
  in.file("t.csv", "setting,ms\nother.sh,500\nthird.sh,500\n");
  check_refused(in.ballast("calibrate t.csv --gpus 8"), "t.csv:3: third.sh: has another model than line 2; a calibration is for one\n");
  in.file("t.csv", "setting,ms\nrun.sh,50000\n");
  check_refused(in.ballast("calibrate t.csv --gpus 16"), "t.csv:2: run.sh: the setting does not hold the shape of the model");
  check_refused(in.ballast("calibrate t.csv --model qwen3-30b-a3b"), "t.csv:2: run.sh: ");
  check_refused(in.ballast("calibrate t.csv --gpus 16 --model qwen2.5-vl-7b"),
                "--model qwen2.5-vl-7b: the time of a model that reads images");
  in.file("lengths.csv", "length,ms\n3,4\n5,6\n7,9\n");
  for (std::string const option : {"--model qwen3-30b-a3b", "--device h100", "--gpus 3", "--kernels x", "--out x"})
    check_refused(in.ballast("calibrate lengths.csv " + option), option.substr(0, option.find(' ')) +
                                                                     ": is for steps of settings; lengths.csv has no header with the "
                                                                     "column setting\n");
}

}  // namespace test_cli_calibrate_steps
