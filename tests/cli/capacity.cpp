// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/memory_of.hpp>

#include "arrays.hpp"
#include "program.hpp"
#include "refused.hpp"
#include "support/catch.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// plan --capacity auto

namespace test_cli_capacity {

namespace {

using namespace ballast_test;
using nlohmann::json;

/// Mostly short samples, some long ones.
std::vector<std::int64_t> lengths_of(std::size_t count, std::int64_t longest) {
  ballast::splitmix64 draw(11);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(1 + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(i % 10 == 0 ? longest : longest / 20)));
  return out;
}

json planned(scratch const& in, std::string const& arguments) {
  auto const o = in.ballast("plan f --capacity auto " + arguments + " --json");
  CAPTURE(arguments, o.err);
  REQUIRE(o.code == 0);
  return json::parse(o.out);
}

}  // namespace

TEST_CASE("plan --capacity auto: each pack of the plan fits, and one unit more does not", "[cli][property]") {
  scratch const in;
  auto const lengths = lengths_of(400, 9000);
  in.file("f", as_text(lengths));
  struct {
    std::string arguments;
    std::int64_t unit;
    ballast::training_setting by;
  } cases[] = {
      {"--framework megatron --zero 2", 64, {.model = {.spread = {.data = 8, .zero = 2}, .kernels = {.dummy_gradients = true}}}},
      {"--framework megatron --zero 3 --recompute full --micro-batches 3",
       64,
       {.model = {.spread = {.data = 8, .zero = 3}, .kernels = {.dummy_gradients = true}},
        .recompute = {.what = ballast::recompute_setting::kind::uniform},
        .micro_batches = 3}},
      {"--framework megatron --zero 2 --tp 2 --cp 3 --multiple 20 --attention stored-scores",
       960,
       {.model = {.spread = {.tensor = 2, .context = 3, .data = 24, .sequence_parallel = true, .zero = 2},
                  .attention = ballast::attention_kernel::stored_scores,
                  .kernels = {.dummy_gradients = true}}}},
      {"--framework eager --zero 3 --train lora:8",
       64,
       {.model = {.spread = {.data = 8, .zero = 3}, .language = {.what = ballast::trained::low_rank, .rank = 8}}}},
      {"--framework compiled --zero 2 --stages 2 --micro-batches 4",
       64,
       {.model = {.spread = {.data = 8, .zero = 2}}, .pipeline = {.stages = 2}, .micro_batches = 4}},
  };
  auto const model = ballast::transformer_preset("llama-3.1-8b");
  for (auto& [arguments, unit, by] : cases) {
    auto const asked = arguments + " --ranks 8 --model llama-3.1-8b --device h100 --oversize set-aside --out run";
    auto const got = planned(in, asked);
    CAPTURE(arguments, got["capacity_auto"].dump());
    by.model.optimizer = ballast::optimizer_named("adam");
    by.model.framework = ballast::framework_named(got["capacity_auto"]["framework"].get<std::string>());
    auto const memory = ballast::device_named("h100").memory_bytes / 10 * 9;
    CHECK(got["capacity_auto"]["memory_bytes"] == memory);
    CHECK(got["capacity_auto"]["multiple_of"] == unit);
    auto const capacity = got["capacity"].get<std::int64_t>();
    CHECK(capacity % unit == 0);
    auto const peak = [&](std::int64_t tokens, std::int64_t squares, std::int64_t samples) {
      by.sequence = 1;
      by.micro_batch = samples;
      return ballast::largest_of(ballast::memory_of(model, by, {.tokens = tokens, .squares = squares, .tiles = 0})).peak();
    };
    auto const more = capacity + unit;
    CHECK(peak(more, more * more, 2) > memory);
    CHECK(peak(more, more * more, 2) == got["capacity_auto"]["next"]["bytes"]);
    auto const offsets = read_npy<std::uint64_t>(in / "run/offsets.npy", "<u8");
    auto const members = read_npy<std::uint32_t>(in / "run/members.npy", "<u4");
    REQUIRE(offsets.size() > 1);
    for (std::size_t p = 0; p + 1 < offsets.size(); ++p) {
      std::int64_t tokens = 0, squares = 0;
      for (auto i = offsets[p]; i < offsets[p + 1]; ++i) {
        auto const length = lengths[members[static_cast<std::size_t>(i)]];
        tokens += length;
        squares += length * length;
      }
      CHECK(tokens <= capacity);
      CHECK(peak(tokens, squares, static_cast<std::int64_t>(offsets[p + 1] - offsets[p])) <= memory);
    }
    std::uint64_t longer = 0;
    for (auto const length : lengths) longer += length > capacity ? 1 : 0;
    CHECK(got["capacity_auto"]["longer_samples"] == longer);
    CHECK(in.ballast("check run f --oversize set-aside --capacity " + std::to_string(capacity) + (unit == 960 ? " --multiple 20" : ""))
              .code == 0);
  }
}

TEST_CASE("plan --capacity auto: the same plan as with the number, and the length that memory names", "[cli]") {
  scratch const in;
  in.file("f", as_text(lengths_of(300, 2000)));
  auto const given = std::string(" --ranks 8 --model llama-3.1-8b --device h100 ");
  auto const chosen = planned(in, given + "--framework megatron --zero 2");
  auto const capacity = chosen["capacity"].get<std::int64_t>();
  auto const plain = in.ballast("plan f --capacity " + std::to_string(capacity) + given + "--json");
  CHECK(json::parse(plain.out)["hash"] == chosen["hash"]);
  auto const memory = in.ballast("memory llama-3.1-8b --framework megatron --ranks 8 --zero 2 --tokens 1 --json");
  CHECK(json::parse(memory.out)["longest_tokens"].get<std::int64_t>() / 64 * 64 == capacity);
  auto const scores = in.ballast("memory llama-3.1-8b --ranks 8 --zero 2 --attention stored-scores --tokens 1 --json");
  CHECK(json::parse(scores.out)["longest_tokens"] > 1000);  // the search also asks for sequences whose scores reach 2^63 bytes
  auto const words = in.ballast("plan f --capacity auto --framework megatron --zero 2" + given).out;
  CHECK(words.starts_with("Capacity: "));
  CHECK(words.find(" more than a device has, at the moment head. No sample is longer.\n") != words.npos);
}

TEST_CASE("plan --capacity auto: says how many bytes are missing", "[cli]") {
  scratch const in;
  in.file("f", "50\n90000\n");
  auto const asked = std::string("plan f --capacity auto --ranks 8 --model llama-3.1-8b --device h100 --framework megatron ");
  check_refused(
      in.ballast(asked + "--zero 0"),
      "--capacity auto: not even 64 tokens of llama-3.1-8b fit 72,000,000,000 bytes a device: stage 0 needs 145,417,366,272 bytes, "
      "73,417,366,272 bytes more than a device has, at the moment head; ",
      3);
  check_refused(in.ballast(asked + "--zero 2"),
                "f: 1 sample is longer than the 7,488 tokens that fit; for the longest, of 90,000 tokens, stage 0 needs ", 3);
  auto const aside = in.ballast(asked + "--zero 2 --oversize set-aside");
  CHECK(aside.out.find(" 1 of 2 samples is longer.\n") != aside.out.npos);
  auto const staged = in.ballast(asked + "--zero 3 --recompute full --oversize truncate --stages 1");
  CHECK(staged.code == 0);  // stages fit by the same count
  CHECK(staged.out.starts_with("Capacity: "));
}

TEST_CASE("plan --capacity auto: names the option that is missing or in the way", "[cli]") {
  scratch const in;
  in.file("f", "5\n");
  in.file("layers.csv", "name,forward,backward\na,1,2\n");
  auto const all = std::string("--ranks 8 --model llama-3.1-8b --device h100 --framework megatron ");
  struct {
    std::string arguments, sentence;
  } const cases[] = {
      {"--ranks 8 --device h100", "--capacity auto requires --model"},
      {"--ranks 8 --device h100 --model llama-3.1-8b", "--capacity auto requires --framework"},
      {"--ranks 8 --model llama-3.1-8b --framework eager", "--capacity auto requires --device"},
      {"--ranks 8 --model llama-3.1-8b --framework eager --tflops 90", "--tflops requires --memory where --capacity is auto"},
      {"--ranks 8 --cost times", "--capacity auto: --cost "},
      {"--ranks 8 --stages 1 --layers layers.csv", "--capacity auto: --layers "},
      {"--gpus 8", "--capacity auto: --gpus "},
      {"--gpus 8 --levels auto", "--capacity auto: plan takes it"},
      {"--device a100:8,v100:8", "--capacity auto: plan takes it"},
      {all + "--global-batch-tokens 4Mi", "--capacity auto: --global-batch-tokens "},
      {all + "--columns 1,2", "--capacity auto: samples have one measure"},
      {all + "--multiple 2Gi", "--multiple 2147483648: --capacity auto looks at up to 2^30 tokens"},
      {all + "--multiple 1000000007", "--capacity auto: a multiple of 64, "},
      {all + "--recompute everything", "no recompute module \"everything\""},
      {all + "--overlap 50", "--overlap requires --stages"},
      {all + "--tp 3", "--tp 3: must divide the 32 query heads"},
  };
  for (auto const& c : cases) check_refused(in.ballast("plan f --capacity auto " + c.arguments), c.sentence);
  check_refused(in.ballast("plan f --capacity 64 --ranks 2 --recompute full"), "--recompute is for --capacity auto");
  check_refused(in.ballast("plan f --columns 1,2 --capacity 9,auto --ranks 2"), "--capacity auto: plan takes it");
  check_refused(in.ballast("pack f --capacity auto"), "--capacity auto: plan takes it");
  check_refused(in.ballast("compare f --gpus 2 --capacity auto"), "--capacity auto: plan takes it");
}

}  // namespace test_cli_capacity
