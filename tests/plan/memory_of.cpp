// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/plan/memory_of.hpp>

#include "support/catch.hpp"
#include "support/published_peaks.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace test_plan_memory_of {

using namespace ballast;
using ballast_test::refusal;

namespace {

double error(std::int64_t computed, std::int64_t measured) { return static_cast<double>(computed) / static_cast<double>(measured) - 1; }

constexpr memory_moment moments[] = {memory_moment::head, memory_moment::layer_backward, memory_moment::overlap, memory_moment::step};

/// A training of a preset or of a published run, with flags drawn at random.
struct drawn {
  transformer model;
  training_setting by;
};
drawn draw(std::uint32_t seed) {
  std::mt19937 random(seed);
  auto const of = [&](std::size_t n) { return static_cast<std::int64_t>(random() % n); };
  auto const rows = ballast_test::megatron_peaks();
  auto const& row = rows[static_cast<std::size_t>(of(rows.size()))];
  drawn out{row.model, row.by};
  auto& m = out.by.model;
  m.kernels.hidden_dropout = of(2) == 0;
  m.kernels.attention_dropout = of(2) == 0;
  m.kernels.fused_activation = of(2) == 0;
  m.kernels.fp8 = of(4) == 0;
  m.kernels.deferred = of(3);
  m.attention = of(2) == 0 ? attention_kernel::fused : attention_kernel::stored_scores;
  m.loss = {.how = static_cast<head_loss::kind>(of(9)), .chunks = 1 + of(4)};
  m.kernels.stream_pools = of(2) == 0;
  m.kernels.offload_all = of(4) == 0;
  m.kernels.step_in_backward = of(4) == 0;
  if (of(4) == 0) m.language = {.what = trained::low_rank};
  if (of(4) == 0) m.spread.zero = 3;
  if (of(2) == 0) m.framework = frameworks[static_cast<std::size_t>(of(frameworks.size()))];
  using enum recompute_setting::kind;
  constexpr recompute_setting choices[] = {{},
                                           {.what = modules, .modules = {recompute_module::layernorm, recompute_module::mlp}},
                                           {.what = modules, .modules = {recompute_module::core_attention, recompute_module::moe}},
                                           {.what = block, .layers = 2},
                                           {.what = uniform, .layers = 2},
                                           {.what = alternate, .layers = 2}};
  out.by.recompute = choices[of(6)];
  return out;
}

}  // namespace

TEST_CASE("memory_of: peaks that Megatron-LM's tests record, on the last rank", "[memory_of][published]") {
  auto const rows = ballast_test::megatron_peaks();
  REQUIRE(rows.size() == 31);
  std::vector<double> errors;
  for (auto const& row : rows) {
    auto const last = memory_of(row.model, row.by, row.hopper).back();
    CAPTURE(row.name, last.peak(), row.peak, last.between_steps(), row.between_steps);
    auto const off = error(last.peak(), row.peak);
    errors.push_back(std::fabs(off));
    CHECK(std::fabs(off) <= row.window);
    if (row.below) CHECK(off <= 0);
    CHECK(std::fabs(error(last.between_steps(), row.between_steps)) <= row.window_between);
  }
  std::sort(errors.begin(), errors.end());
  CHECK(errors[errors.size() / 2] < 0.009);
}

TEST_CASE("memory_of: peaks of large runs of Megatron-Bridge", "[memory_of][published]") {
  for (auto const& row : ballast_test::bridge_peaks()) {
    auto const computed = largest_of(memory_of(row.model, row.by, row.hopper)).peak();
    CAPTURE(row.name, computed, row.peak);
    CHECK(std::fabs(error(computed, row.peak)) <= row.window);
  }
}

TEST_CASE("memory_of: peaks of torchtune, fsdp_qlora, litgpt, torchtitan and Qwen's trainer", "[memory_of][published]") {
  auto rows = ballast_test::torchtune_peaks();
  CHECK(rows.size() == 12);
  auto const more = ballast_test::torchtitan_peaks();
  CHECK(more.size() == 16);
  rows.insert(rows.end(), more.begin(), more.end());
  auto const adapted = ballast_test::litgpt_peaks();
  CHECK(adapted.size() == 5);
  rows.insert(rows.end(), adapted.begin(), adapted.end());
  auto const totals = ballast_test::qwen_totals();
  rows.insert(rows.end(), totals.begin(), totals.end());
  for (auto const& row : rows) {
    auto const computed = largest_of(memory_of(row.model, row.by)).peak() + row.fixed;
    CAPTURE(row.name, computed, row.peak);
    CHECK(std::fabs(error(computed, row.peak)) <= row.window);
  }
}

TEST_CASE("memory_of: gradients that PyTorch makes anew do not exist beside the logits", "[memory_of]") {
  auto const row = ballast_test::torchtune_peaks().front();
  auto const at_once = memory_of(row.model, row.by).front();
  auto by = row.by;
  by.micro_batches = 2;
  auto const accumulated = memory_of(row.model, by).front();
  CHECK(accumulated.states - at_once.states == 2 * parameters(row.model));
  CHECK(accumulated.kept == at_once.kept);
  CHECK(accumulated.extra[3] == 0);
  by.micro_batches = 1;
  by.recompute = {.what = recompute_setting::kind::uniform};
  auto const few = memory_of(row.model, by).front();
  CHECK(few.at(memory_moment::step) == few.states + few.inputs + 2 * parameters(row.model));  // all gradients, and nothing kept
  by.model.kernels.step_in_backward = true;
  CHECK(memory_of(row.model, by).front().states == few.states + 2 * row.model.vocabulary * row.model.hidden);
  by.model.kernels.offload_all = true;
  CHECK(memory_of(row.model, by).front().kept == 0);
  by.model.language.what = trained::none;
  CHECK(memory_of(row.model, by).front().kept == 0);
}

TEST_CASE("memory_of: a worked example", "[memory_of]") {
  // the fifth row: 34 bytes for each of 4 x 1,024 tokens and 512 channels, 5 for each score, and statistics of two norms
  auto const row = ballast_test::megatron_peaks()[4];
  auto const parts = memory_of(row.model, row.by, true).front();
  CHECK(parts.states == 64'109'568 * 15 / 2);
  CHECK(parts.workspace == 3 * (std::int64_t{32} << 20) + 1024);
  CHECK(parts.kept == std::int64_t{12} * (4096 * (34 * 512 + 2 * 8) + 5 * 8 * 4 * 1024 * 1024));
  CHECK(parts.inputs == 4096 * (28 + 512) + 4 * 1024 * 1024);
  CHECK(parts.extra[0] == 4096 * (6 * 50304 + 4 * 512));
  CHECK(parts.moment == memory_moment::head);
  CHECK(parts.gathered == 0);
  CHECK(to_string(parts.moment) == "head");
}

TEST_CASE("memory_of: a peak is that of a moment, and grows with the tokens", "[memory_of][property]") {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    auto const of = draw(seed);
    batch_shape small{.tokens = 1024, .squares = 1024 * 512};
    std::vector<std::int64_t> before;
    for (int i = 0; i < 4; ++i, small.tokens *= 3, small.squares *= 9) {
      auto const stages = memory_of(of.model, of.by, small);
      REQUIRE(stages.size() == of.by.pipeline.stages);
      for (std::size_t s = 0; s < stages.size(); ++s) {
        for (auto const m : moments) CHECK(stages[s].at(m) <= stages[s].peak());
        CHECK(stages[s].peak() >= stages[s].between_steps());
        CHECK(stages[s].kept >= 0);
        CHECK(stages[s].peak() <= largest_of(stages).peak());
        if (i > 0) CHECK(stages[s].peak() >= before[s]);
      }
      before.clear();
      for (auto const& s : stages) before.push_back(s.peak());
      CHECK(stages == memory_of(of.model, of.by, small));
    }
  }
}

TEST_CASE("memory_of: recomputing and offloading keep less", "[memory_of][property]") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    auto of = draw(seed);
    of.by.recompute = {};
    of.by.model.kernels.moved = {};
    of.by.model.framework = framework_named("megatron");
    auto const none = memory_of(of.model, of.by);
    of.by.model.kernels.moved = offload_set_named("attn_norm,core_attn,moe_act");
    auto const moved = memory_of(of.model, of.by);
    of.by.model.kernels.moved = {};
    of.by.recompute = {.what = recompute_setting::kind::modules, .modules = {recompute_module::layernorm}};
    auto const norms = memory_of(of.model, of.by);
    of.by.recompute = {.what = recompute_setting::kind::uniform};
    auto const full = memory_of(of.model, of.by);
    for (std::size_t s = 0; s < none.size(); ++s) {
      CHECK(none[s].states == full[s].states);
      CHECK(moved[s].kept < none[s].kept);
      CHECK(norms[s].kept < none[s].kept);
      CHECK(full[s].kept < norms[s].kept);
      CHECK(full[s].extra[1] > none[s].extra[1]);  // what is recomputed comes back while a layer is at work
    }
  }
}

TEST_CASE("memory_of: states and kept bytes are those of layers_of", "[memory_of]") {
  for (auto const* name : {"llama-3.1-8b", "deepseek-v3", "qwen3-30b-a3b"}) {
    auto const& model = transformer_preset(name);
    for (auto const& framework : frameworks) {
      CAPTURE(name, framework.name);
      training_setting by;
      by.model = {.spread = {.data = 8, .zero = 1}, .expert = model.experts > 0 ? 8 : 1, .framework = framework};
      by.sequence = 4096;
      auto const parts = memory_of(model, by).front();
      std::int64_t states = 0, kept = 0, logits = 0;
      batch_shape const batch{.tokens = 4096, .squares = 4096 * 4096};
      auto const layers = layers_of(model, by.model);
      for (auto const& l : layers) {
        states += l.state;
        kept += l.options.front().bytes(batch);
      }
      logits = layers.back().options.front().bytes(batch);
      for (auto const& l : layers)
        if (l.name.starts_with("mtp")) logits += logits_of(model.vocabulary, by.model.loss, 1, framework.count).kept * 4096;
      CHECK(std::llabs(parts.states - states) <= 64 * 100);  // shares are rounded up once, or layer by layer
      CHECK(parts.kept <= kept - logits);
      CHECK(kept - logits - parts.kept <= 4096 * 100);
      std::int64_t working = 0;  // of layers in front of the head and of multi-token prediction, which have logits
      for (auto const& l : layers)
        if (l.name.starts_with("layer")) {  // where tensors are counted, `working` is enough for the option that keeps least
          auto const again = framework.count == tensor_count::table ? 0 : l.options.front().bytes(batch) - l.options.back().bytes(batch);
          working = (std::max)(working, l.working(batch) - again + l.buffers);
        }
      CHECK(parts.extra[1] <= working);
      CHECK(working - parts.extra[1] <= 4096);  // rounded up for each token
    }
  }
}

TEST_CASE("memory_of: what a stage has", "[memory_of]") {
  auto const model = ballast_test::small_gpt(1);
  auto by = ballast_test::setting_of_run({.stages = 4}, model);
  auto const stages = memory_of(model, by);
  REQUIRE(stages.size() == 4);
  for (std::size_t s = 0; s < 4; ++s) {
    CHECK((stages[s].extra[0] > 0) == (s == 3));
    CHECK(stages[s].kept == static_cast<std::int64_t>(4 - s) * stages[3].kept);  // 1F1B holds 4, 3, 2, 1 micro-batches
  }
  CHECK(stages[1].states == stages[2].states);
  CHECK(stages[0].states - stages[1].states == 18 * 512 * (50304 + 1024));
  CHECK(stages[3].states - stages[1].states == 18 * 512 * (50304 + 2));  // the copy of the tied embedding, and the final norm
  by.micro_batches = 2;
  auto const few = memory_of(model, by);
  CHECK(few[0].kept == few[2].kept);

  auto interleaved = ballast_test::setting_of_run({.stages = 4, .chunks = 3}, model);
  auto const chunks = memory_of(model, interleaved);
  // of chunks with one layer each, stage s holds 2 (4 - s - 1) + 2 * 4 + 1, and at most 4 micro-batches of each
  for (std::size_t s = 0; s < 4; ++s)
    CHECK(chunks[s].kept == (std::min)(std::int64_t{12}, 15 - 2 * static_cast<std::int64_t>(s)) * (stages[3].kept / 3));
}

TEST_CASE("memory_of: bytes that do not fit are refused", "[memory_of]") {
  auto const& model = transformer_preset("llama-3.1-8b");
  training_setting by;
  by.model.framework = framework_named("megatron");
  by.model.attention = attention_kernel::stored_scores;
  by.sequence = std::int64_t{1} << 31;
  CHECK(refusal([&] { return memory_of(model, by); }).find("2^63") != std::string::npos);
  by.model.attention = attention_kernel::fused;
  CHECK(refusal([&] { return memory_of(model, by); }) == "accepted");
  by.model.spread = {.data = 8, .zero = 3};
  by.model.framework = framework_named("eager");
  by.model.optimizer.state.parameter = 0;  // parameters that are not counted
  CHECK(refusal([&] { return memory_of(model, by); }) == "accepted");
  CHECK(refusal([&] { return memory_of(model, by, {.tokens = -1}); }).starts_with("batch.tokens = -1 must be in [0, "));
  by.pipeline.stages = 40;
  CHECK(refusal([&] { return memory_of(model, by); }).find("stages") != std::string::npos);
}

TEST_CASE("memory_of: sums of states that reach 2^63 are refused, parameters without bytes are not divided by", "[memory_of]") {
  transformer model{.layers = 30, .hidden = 1 << 18, .query_heads = 64, .kv_heads = 64, .head_width = 64};
  model.experts = 2048;
  model.active_experts = 1;
  model.expert_ffn = 1 << 19;
  training_setting by;
  by.model.optimizer.state = {.parameter = 256, .gradient = 256, .optimizer = 256};  // 6 * 10^18 bytes of each kind
  for (auto const& framework : frameworks) {
    CAPTURE(framework.name);
    by.model.framework = framework;
    CHECK(refusal([&] { return memory_of(model, by); }) == "the bytes of stage 0 reach 2^63");
  }
  by.model = {.spread = {.data = 2, .zero = 3}, .framework = framework_named("eager")};
  by.model.optimizer.state = {.parameter = 0, .gradient = 4, .optimizer = 8};
  CHECK(memory_of(transformer_preset("llama-3.1-8b"), by)[0].gathered == 0);
}

TEST_CASE("memory_of: values have 1 to 8 bytes, and stages as many chunks as there are layers", "[memory_of]") {
  auto const& model = transformer_preset("llama-3.1-8b");
  training_setting by;
  by.model.kernels.value = 0;
  CHECK(refusal([&] { return memory_of(model, by); }) == "kernels.value = 0 must be in [1, 8]");
  by.model.kernels.value = 2;
  by.model.kernels.adapter_value = std::int64_t{1} << 50;
  CHECK(refusal([&] { return memory_of(model, by); }) == "kernels.adapter_value = 1125899906842624 must be in [1, 8]");
  by.model.kernels.adapter_value = 4;
  for (auto const& [chunks, said] : {std::pair{std::uint64_t{0}, "0"}, std::pair{~std::uint64_t{0}, "18446744073709551615"}}) {
    by.pipeline = {.stages = 2, .schedule = interleaved_schedule{.chunks = chunks}};
    CHECK(refusal([&] { return memory_of(model, by); }) == "chunks = " + std::string(said) + " must be in [1, 34], the number of layers");
  }
}

TEST_CASE("memory_of: offloading never makes a peak higher, however few layers there are", "[memory_of][property]") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    auto of = draw(seed);
    of.model.layers = 1 + seed % 3;
    of.model.mtp_layers = 0;
    of.by.pipeline.stages = 1;
    of.by.pipeline.schedule = one_f_one_b_schedule{};
    of.by.boundaries = {};
    if (of.by.recompute.layers > of.model.layers) of.by.recompute.layers = 1;
    of.by.model.kernels.moved = {};
    of.by.model.kernels.offload_all = false;
    auto const none = memory_of(of.model, of.by);
    of.by.model.kernels.moved = offload_set_named("attn_norm,qkv_linear,core_attn,attn_proj,mlp_norm,expert_fc1,moe_act");
    of.by.model.kernels.offload_all = true;
    auto const moved = memory_of(of.model, of.by);
    CHECK(moved[0].kept <= none[0].kept);
    CHECK(moved[0].peak() <= none[0].peak());
  }
}

TEST_CASE("memory_of: a unit of layers counts its input once", "[memory_of]") {
  auto model = transformer_preset("llama-3.1-8b");
  model.layers = 4;
  training_setting by;
  for (auto const* framework : {"megatron", "eager", "compiled"}) {
    CAPTURE(framework);
    by.model = {.spread = {.data = 2}, .framework = framework_named(framework)};
    by.recompute = {};
    auto const none = memory_of(model, by)[0];
    by.recompute = {.what = recompute_setting::kind::uniform, .layers = 4};  // everything is made anew at once
    auto const unit = memory_of(model, by)[0];
    CHECK(unit.kept == 2 * 4096 * 4096);
    CHECK(unit.at(memory_moment::layer_backward) == none.at(memory_moment::layer_backward));
  }
}

TEST_CASE("memory_of: recomputed products keep no more than all", "[memory_of]") {
  auto model = transformer_preset("llama-3.1-8b");
  model.linear = {.layers = layer_set::every(2), .key_heads = 2, .key_width = 64, .value_heads = 2, .value_width = 64};
  model.ffn = 64;
  training_setting by, all;
  for (auto const& framework : frameworks) {
    CAPTURE(framework.name);
    by.model.framework = all.model.framework = framework;
    by.recompute = {.what = recompute_setting::kind::products};
    CHECK(memory_of(model, by)[0].kept <= memory_of(model, all)[0].kept);
  }
  by.model.framework = framework_named("megatron");  // nothing is known of what this form moves
  by.model.kernels.moved = offload_set_named("qkv_linear,core_attn,attn_proj,mlp_norm");
  CHECK(refusal([&] { return memory_of(transformer_preset("llama-3.1-8b"), by); }) == "accepted");
}

TEST_CASE("memory_of: chunks hold no more micro-batches than there are", "[memory_of]") {
  auto model = transformer_preset("llama-3.1-8b");
  model.layers = 6;
  model.vocabulary = 0;
  training_setting by;
  by.model.framework = framework_named("megatron");
  auto const one = memory_of(model, by)[0].kept / 6;  // of a layer
  by.pipeline = {.stages = 3, .schedule = interleaved_schedule{.chunks = 2}};
  for (by.micro_batches = 1; by.micro_batches <= 3; ++by.micro_batches) {
    auto const stages = memory_of(model, by);
    for (std::int64_t s = 0; s < 3; ++s) {  // 3 of the first chunk and up to 3 of the second, if there are as many
      CAPTURE(by.micro_batches, s);
      auto const second = (std::min)(std::int64_t{3}, 5 - 2 * s);
      CHECK(stages[static_cast<std::size_t>(s)].kept == one * ((std::min)(by.micro_batches, second) + by.micro_batches));
    }
  }
}

TEST_CASE("memory_of: the largest gradient is no more than all, and a stage without layers has no dummy gradients", "[memory_of]") {
  auto const& model = transformer_preset("llama-3.1-8b");
  training_setting by;
  by.model = {.moved = offload::parameters, .framework = framework_named("eager")};
  by.model.kernels.step_in_backward = true;
  CHECK(memory_of(model, by)[0].states == 0);  // all gradients are on the host

  by.model = {.framework = framework_named("megatron")};
  by.pipeline.stages = 2;
  by.boundaries = {0, 33, 34};  // the head alone
  auto const without = memory_of(model, by)[1].workspace;
  by.model.kernels.dummy_gradients = true;
  CHECK(memory_of(model, by)[1].workspace == without);
  CHECK(memory_of(model, by)[0].workspace > without);
}

}  // namespace test_plan_memory_of
