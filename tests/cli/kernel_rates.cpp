// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"
#include "refused.hpp"

#include "errors.hpp"
#include "readers/kernel_rates.hpp"

#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/rate_fields.hpp>
#include <ballast/plan/time_of.hpp>

#include "support/catch.hpp"
#include "support/rounds.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace test_cli_kernel_rates {

namespace {

using namespace ballast_test;
using ballast::device_named;
using ballast::kernel_family;
using ballast::kernel_rates;
using ballast_cli::read_kernel_rates;
using ballast_cli::read_step_calibration;

kernel_rates const base = ballast::kernels_for(device_named("h100"));

kernel_rates read(std::string const& text) { return read_kernel_rates(text, "r.toml", base); }
template <class Read>
std::string refused(Read const& read_it) {
  try {
    (void)read_it();
  } catch (ballast_cli::bad_input const& e) {
    return e.what();
  }
  return "nothing was refused";
}

}  // namespace

TEST_CASE("kernel rates: every number of the library has a key, and what is not there stays", "[cli]") {
  CHECK(read("") == base);
  std::string all;
  auto expected = base;
  for (auto const& f : ballast::rate_fields) {
    auto& value = expected.*f.value;
    value = value > f.least() ? value - 1 : value + 1;
    CAPTURE(f.name);
    auto one = base;
    one.*f.value = value;
    auto const line = std::string(f.name) + " = " + std::to_string(value) + "\n";
    CHECK(read(line) == one);
    all += line;
  }
  all += "[bytes]\n";
  for (auto const& f : ballast::operator_byte_fields) {
    expected.bytes.*f.value += 1;
    all += std::string(f.name) + " = " + std::to_string(expected.bytes.*f.value) + "\n";
  }
  for (std::size_t i = 0; i < expected.attention.size(); ++i) {
    all += "[attention." + std::string(ballast::attention_libraries[i]) + "]\n";
    for (auto const& f : ballast::curve_fields) {
      auto& curve = expected.attention[i].*f.value;
      curve = {curve.flops + 1, curve.half_length + 1};
      all += std::string(f.name) + " = { flops = " + std::to_string(curve.flops) + ", half_length = " + std::to_string(curve.half_length) +
             " }\n";
    }
  }
  CHECK(read(all) == expected);
  CHECK(read("[attention.flash2]\nforward = { flops = 345_000_000_000_000 }\n").attention[1].forward ==
        ballast::attention_curve{345'000'000'000'000, base.attention[1].forward.half_length});
}

TEST_CASE("kernel rates: a preset is what absent keys are taken from, but whose kernels run stays", "[cli]") {
  auto expected = ballast::kernels_named("a100-eager-bf16");
  expected.memory = 800;
  expected.family = kernel_family::engine;
  CHECK(read("preset = \"A100-eager-bf16\"\nmemory = 800\n") == expected);
  auto const eight = ballast::kernels_for(device_named("h100"), kernel_family::compiled, true);
  auto const plain = read_kernel_rates("preset = \"h100-te-bf16\"\n", "r.toml", eight);
  CHECK((plain.fp8 && plain.family == kernel_family::compiled && plain.step == base.step));
}

TEST_CASE("kernel rates: what cannot be read is refused with its line and the nearest key", "[cli]") {
  std::pair<char const*, char const*> const cases[] = {
      {"gemms = 7", "r.toml:1: gemms is no key of kernel rates; did you mean gemm?"},
      {"\n[bytes]\nnorm_backwards = 7", "r.toml:3: bytes.norm_backwards is no key of kernel rates; did you mean bytes.norm_backward?"},
      {"[attention.flash4]\nforward = { flops = 3 }",
       "r.toml:2: attention.flash4.forward.flops is no key of kernel rates; did you mean attention.flash1.forward.flops?"},
      {"[attention.flash2]\nforward = 3", "r.toml:2: attention.flash2.forward is no key of kernel rates; did you mean "},
      {"family = 1", "r.toml:1: family is no key of kernel rates"},
      {"gemm = 0.7", "r.toml:1: gemm = 0.7 must be a whole number from 1 to 10000"},
      {"gemm = 0", "r.toml:1: gemm = 0 must be a whole number from 1 to 10000"},
      {"gemm = nan", "r.toml:1: gemm = nan must be a whole number from 1 to 10000"},
      {"stolen = 1001", "r.toml:1: stolen = 1001 must be a whole number from 0 to 1000"},
      {"host = -1", "r.toml:1: host = -1 must be a whole number from 0 to 1000000000000"},
      {"[attention.cudnn]\nbackward = { flops = 0 }", "r.toml:2: attention.cudnn.backward.flops = 0 must be a whole number from 1 to "},
      {"preset = \"h100\"",
       "r.toml:1: preset = h100 cannot be taken: no kernels \"h100\": write a device, te, compile or eager, and bf16 or fp8, as in "
       "\"h100-te-bf16\""},
      {"preset = \"a100-te-fp8\"", "r.toml:1: preset = a100-te-fp8 cannot be taken: the device \"a100\" has no 8-bit matrix products"},
      {"gemm 7", "r.toml:1: "}};
  for (auto const& [text, sentence] : cases) {
    CAPTURE(text);
    CHECK(refused([&] { return read(text); }).starts_with(sentence));
  }
}

TEST_CASE("a calibration is read as it is written, and refused with its line", "[cli]") {
  for (auto const& c : {ballast::step_calibration{}, ballast::step_calibration{1043, 1200, true}, ballast::step_calibration{800, 0, true}})
    CHECK(read_step_calibration(ballast_cli::to_toml(c), "c.toml") == c);
  CHECK(read_step_calibration("time = 1100", "c.toml") == ballast::step_calibration{1100, 1100, false});
  std::pair<char const*, char const*> const cases[] = {
      {"", "c.toml: time is missing: this is not what ballast calibrate --out writes"},
      {"time = 99", "c.toml:1: time = 99 must be a whole number from 100 to 10000"},
      {"time = 1000\nsync = -1", "c.toml:2: sync = -1 must be a whole number from 0 to 1000000"},
      {"time = 1000\nsync_known = 3", "c.toml:2: sync_known = 3 must be true or false"},
      {"tim = 1000", "c.toml:1: tim is no key of a calibration; did you mean time?"}};
  for (auto const& [text, sentence] : cases) {
    CAPTURE(text);
    CHECK(refused([&] { return read_step_calibration(text, "c.toml"); }) == sentence);
  }
}

TEST_CASE("check-config: --kernels and --calibration are the rates of the time of a step", "[cli]") {
  scratch const in;
  in.file("run.sh",
          "torchrun pretrain_gpt.py --tensor-model-parallel-size 1 --expert-model-parallel-size 16 --bf16 --use-distributed-optimizer "
          "--seq-length 4096 --micro-batch-size 1 --global-batch-size 256 --moe-token-dispatcher-type alltoall\n");
  in.file("r.toml", "preset = \"h200-te-bf16\"\ngemm = 700\nsync_experts = 5_000_000_000\n");
  in.file("c.toml", "time = 1100\nsync = 2000\nsync_known = true\n");
  auto const time = [&](std::string const& more) {
    auto const o = in.ballast("check-config run.sh --gpus 16 --model qwen3-30b-a3b --json " + more);
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    return nlohmann::json::parse(o.out)["time"];
  };
  auto const& model = ballast::transformer_preset("qwen3-30b-a3b");
  ballast::training_setting by;
  by.model = {.spread = {.data = 16, .zero = 1}, .expert = 16, .framework = ballast::framework_named("megatron")};
  by.sequence = 4096;
  by.micro_batches = 16;
  auto const expected = [&](kernel_rates const& rates) {
    return static_cast<double>(ballast::time_of(model, by, device_named("h100"), {.rates = rates}).front().total()) / 1e9;
  };
  auto rates = base;
  rates.gemm = 700;
  rates.sync_experts = 5'000'000'000;
  ballast::step_calibration const by_steps{.time = 1100, .sync = 2000, .sync_known = true};
  auto const plain = time("");
  CHECK(plain["step_ms"] == expected(base));
  CHECK((plain["rates"] == "h100-te-bf16" && plain["calibration"].is_null()));
  auto const own = time("--kernels r.toml");
  CHECK(own["step_ms"] == expected(rates));
  CHECK((own["rates"] == "r.toml" && own["calibration"].is_null()));
  CHECK(time("--calibration c.toml")["step_ms"] == expected(calibrated(base, by_steps)));
  auto const both = time("--kernels r.toml --calibration c.toml");
  CHECK(both["step_ms"] == expected(calibrated(rates, by_steps)));
  CHECK((both["rates"] == "r.toml" && both["calibration"] == "c.toml"));
  auto const words = in.ballast("check-config run.sh --gpus 16 --model qwen3-30b-a3b --kernels r.toml --calibration c.toml").out;
  CHECK(words.find("modelled from kernels at the rates r.toml, calibrated by c.toml:\n") != std::string::npos);
  check_refused(in.ballast("check-config run.sh --gpus 16 --model qwen3-30b-a3b --kernels c.toml"),
                "c.toml:2: sync is no key of kernel rates; did you mean sync_experts?\n");
  check_refused(in.ballast("check-config run.sh --gpus 16 --model qwen3-30b-a3b --calibration none.toml"), "none.toml: cannot be read: ");
}

TEST_CASE("plan --gpus: a calibration of the waiting for experts changes which setting is first", "[cli]") {
  if (sanitized) return;  // takes minutes; other tests run the same code
  scratch const in;
  std::string lengths;
  for (int i = 0; i < 512; ++i) lengths += "4096\n";
  in.file("equal.txt", lengths);
  in.file("same.toml", "time = 1000\n");
  in.file("slow.toml", "time = 2000\n");
  in.file("wait.toml", "time = 1000\nsync = 4000\nsync_known = true\n");
  in.file("rates.toml", "sync_experts = 15_250_000_000\n");
  auto const first = [&](std::string const& more) {
    auto const o = in.ballast(
        "plan equal.txt --capacity 4096 --gpus 16 --global-batch 128 --model qwen3-30b-a3b --framework megatron --ep 8 --json " + more);
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    auto const is = nlohmann::json::parse(o.out);
    auto setting = is["ranked"][0];
    for (auto const* const figure : {"limits", "memory"}) setting.erase(figure);
    return std::pair(std::move(setting), is["model_plan"]["time"]);
  };
  auto const [plain, plain_time] = first("");
  CHECK((plain_time["rates"] == "h100-te-bf16" && plain_time["calibration"].is_null()));
  CHECK(first("--calibration same.toml").first == plain);
  auto const [waits, waits_time] = first("--calibration wait.toml");
  CHECK(waits_time["calibration"] == "wait.toml");
  CHECK(waits["packs_per_micro_batch"] > plain["packs_per_micro_batch"]);  // fewer micro-batches wait less often
  CHECK(waits["mean_step_ms"] > plain["mean_step_ms"]);
  auto const [own, own_time] = first("--kernels rates.toml");
  CHECK(own_time["rates"] == "rates.toml");
  CHECK(own["packs_per_micro_batch"] == waits["packs_per_micro_batch"]);
  CHECK(std::fabs(own["mean_step_ms"].get<double>() / waits["mean_step_ms"].get<double>() - 1) < 0.01);
  auto const slow = first("--calibration slow.toml").first["mean_step_ms"].get<double>() / plain["mean_step_ms"].get<double>();
  CHECK((slow > 1.9 && slow < 2.01));
  auto const fixed = in.ballast("plan equal.txt --capacity 4096 --ranks 8 --stages 2 --tp 2 --calibration slow.toml --json").out;
  CHECK(nlohmann::json::parse(fixed)["model_plan"]["time"]["calibration"] == "slow.toml");
  auto const data = in.ballast("plan equal.txt --capacity 4096 --ranks 8 --calibration slow.toml");
  CHECK(data.out.find("; llama-3.1-8b on h100 at the rates of its kernels, calibrated by slow.toml.\n") != std::string::npos);
  check_refused(in.ballast("plan equal.txt --capacity 4096 --ranks 8 --cost x --calibration slow.toml"), "--cost excludes --calibration");
  check_refused(in.ballast("plan equal.txt --capacity 4096 --ranks 8 --stages 2 --kernels rates.toml --mfu 0.4"),
                "--mfu excludes --kernels");
}

TEST_CASE("levels: a calibration makes all times longer alike, and levels with times refuse it") {
  scratch const in;
  in.file("slow.toml", "time = 2000\n");
  in.file("f", "131072\n4000\n3000\n2000\n1000\n500\n");
  auto const levels = [&](std::string const& more) {
    auto const o = in.ballast("levels f --max-length 131072 --gpus 32 --json " + more);
    CAPTURE(o.err);
    REQUIRE(o.code == 0);
    return nlohmann::json::parse(o.out);
  };
  auto const plain = levels(""), slow = levels("--calibration slow.toml");
  REQUIRE(plain["levels"].size() == slow["levels"].size());
  for (std::size_t i = 0; i < plain["levels"].size(); ++i) {
    auto const &of = plain["levels"][i], &twice = slow["levels"][i];
    CHECK((of["length"] == twice["length"] && of["sp"] == twice["sp"]));
    for (auto const* part : {"pack", "token", "square"})
      CHECK(std::fabs(twice["picoseconds"][part].get<double>() - 2 * of["picoseconds"][part].get<double>()) <=
            0.002 * of["picoseconds"][part].get<double>() + 2);
  }
  in.file("levels.json", plain.dump());
  auto const plan = std::string("plan f --levels levels.json --gpus 32 ");
  for (auto const* more : {"--calibration slow.toml", "--mfu 0.3"})
    check_refused(
        in.ballast(plan + more),
        "levels.json: its levels have times, which --mfu, --kernels and --calibration do not change; give them to ballast levels\n");
  CHECK(in.ballast(plan + "--device a100").out.find("llama-3.1-8b on h100 at the rates of its kernels, each 1.54") != std::string::npos);
}

TEST_CASE("kernels: what is not read or not timed is said") {
  scratch const in;
  in.file("slow.toml", "time = 2000\n");
  in.file("f", "1000\n2000\n");
  in.file("eight.sh", "torchrun pretrain_gpt.py --seq-length 4096 --micro-batch-size 1 --global-batch-size 8 --bf16 --fp8-format hybrid\n");
  check_refused(in.ballast("plan f --capacity 4096 --ranks 2 --tflops 989 --calibration slow.toml"),
                "--calibration: with --tflops, kernels are timed where --memory-bandwidth is given\n");
  check_refused(in.ballast("plan f --capacity 4096 --ranks 2 --tflops 989 --bandwidth 900"),
                "--bandwidth 900: expected at least 1MB a second, as in 900GB\n");
  check_refused(in.ballast("check-config eight.sh --gpus 8 --model llama-3.1-8b --device a100 --calibration slow.toml"),
                "--calibration: no kernels are timed here: the device \"a100\" has no 8-bit matrix products: choose bf16\n");
  auto const long_one = in.ballast("memory llama-3.1-8b --framework megatron --tokens 20000000 --ranks 8");
  CHECK(long_one.out.find("  recompute all layers: 83,973,120,000,000 bytes less\n") != std::string::npos);
}

}  // namespace test_cli_kernel_rates
