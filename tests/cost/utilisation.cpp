// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/cost/utilisation.hpp>
#include <ballast/footprint/memory.hpp>

#include "support/catch.hpp"
#include "support/korthikanti.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstdint>
#include <string_view>

namespace test_cost_utilisation {

namespace {

using namespace ballast;
using ballast_test::korthikanti_run;
using ballast_test::korthikanti_runs;
using ballast_test::refusal;

double flops_per_token(transformer const& model, std::int64_t sequence, counted_pairs which = counted_pairs::masked) {
  return static_cast<double>(model_flops(model, sequence, which)) / static_cast<double>(sequence);
}
bool near(double value, double expected, double most) { return std::fabs(value - expected) <= most; }

/// FLOPs per token of the routers, in training.
std::int64_t router_flops(transformer const& m) { return 2 * training_factor * m.expert_layers.count(m.layers) * m.hidden * m.experts; }

}  // namespace

TEST_CASE("utilisation: torchtitan counts all pairs, Megatron-LM those of the causal mask") {
  auto const& model = transformer_preset("llama-3.1-8b");
  // 6 FLOPs for each parameter but the embedding's, and 12 layers hidden sequence, torchtitan's count; half of the latter if causal
  CHECK(near(flops_per_token(model, 8192, counted_pairs::all), 5.791e10, 0.0005e10));
  CHECK(near(flops_per_token(model, 8192), 5.147e10, 0.0005e10));
  CHECK(flops_per_token(model, 8192, counted_pairs::all) - flops_per_token(model, 8192) == 6.0 * 32 * 4096 * 8191);
  // Its two throughputs of 8 H100, in per cent of 989 TFLOP/s: 33.7 and 39.0 there; the second is 34.7 under the mask.
  auto const& h100 = device_named("h100");
  auto const mfu = [&](double tokens, counted_pairs which) { return 100 * model_flops_utilisation(model, 8192, tokens, h100, which); };
  CHECK(near(mfu(5762, counted_pairs::all), 33.7, 0.05));
  CHECK(near(mfu(6667, counted_pairs::all), 39.0, 0.05));
  CHECK(near(mfu(6667, counted_pairs::masked), 34.7, 0.05));
  CHECK(to_string(counted_pairs::masked) == "attention under its mask");
  CHECK(to_string(counted_pairs::all) == "attention without a mask");
}

TEST_CASE("utilisation: the model and hardware FLOPs of Korthikanti et al., their MFU and HFU") {
  constexpr auto all = counted_pairs::all;
  for (auto const& run : korthikanti_runs) {
    CAPTURE(run.name);
    auto const model = run.model();
    auto const s = run.tokens, h = run.hidden, l = run.layers;
    CHECK(near(static_cast<double>(parameters(model)), run.parameters, 0.005e9));
    // 72 B L s h^2 (1 + s / 6h + V / 12hL), equation 7, in integers
    CHECK(model_flops(model, s, all) == 72 * l * s * h * h + 12 * l * s * s * h + 6 * s * h * run.vocabulary);
    // s / 3h instead of s / 6h, equation 8: the paper adds all training FLOPs of the recomputed products. Only their forward pass is
    // computed again, which is a third (`attention_flops`), so that its HFU is above what the device computes.
    auto const hardware = model_flops(model, s, all) + training_factor * attention_flops(model, s, all);
    CHECK(hardware == 72 * l * s * h * h + 24 * l * s * s * h + 6 * s * h * run.vocabulary);
    CHECK(near(static_cast<double>(hardware) / static_cast<double>(model_flops(model, s, all)),
               1 + static_cast<double>(s) / static_cast<double>(6 * h), 0.004));

    auto const& a100 = device_named("a100");
    auto const samples = static_cast<double>(run.global_batch) / static_cast<double>(run.devices);
    auto const percent = [&](std::int64_t flops) { return 100 * utilisation(samples * static_cast<double>(flops), run.seconds, a100); };
    CHECK(near(percent(model_flops(model, s, all)), run.model_utilisation, 0.3));
    CHECK(near(percent(hardware), run.hardware_utilisation, 0.3));
  }
  // 530B on 2,240 devices, eight pipelines of 280: 39.15 s, 54.2 %
  auto const& run = korthikanti_runs[2];
  CHECK(near(100 * utilisation(static_cast<double>(model_flops(run.model(), run.tokens, all)), 39.15, device_named("a100")), 54.2, 0.1));
}

TEST_CASE("utilisation: FLOPs per token and TFLOP/s that Megatron-Bridge publishes") {
  // NVIDIA-NeMo/Megatron-Bridge, docs/performance-summary-archive.md: tokens per second and device, and the TFLOP/s that they are said to
  // be. Both are rounded to whole numbers. The count of DeepSeek-V3 has the layer that predicts a second token (MTP), which is not part of
  // the preset; that of Qwen3 has no routers. The rows are FP8, which does not change the count.
  //
  // Two rows stay out. GPT-OSS-120B is printed with 2.717e10 FLOPs per token, which follows from two of the three matrices of an expert;
  // with all three it is 3.433e10. LoRA of 70B is printed with 2.781e11, which is four FLOPs per parameter and no attention at all.
  struct {
    std::string_view name;
    std::int64_t sequence;
    double tokens, tflops;
  } const published[]{
      {"llama-3.1-8b", 8192, 14'451, 744},  {"llama-3.1-70b", 8192, 1602, 719}, {"llama-3.1-70b", 4096, 1638, 710},
      {"llama-3.1-405b", 8192, 292, 737},   {"llama-3.1-405b", 8192, 328, 827}, {"qwen3-30b-a3b", 4096, 9058, 208},
      {"qwen3-235b-a22b", 4096, 1712, 253}, {"deepseek-v3", 4096, 1297, 338},
  };
  for (auto const& p : published) {
    CAPTURE(p.name, p.sequence, p.tokens);
    auto model = transformer_preset(p.name);
    if (p.name == "deepseek-v3") model.mtp_layers = 1;
    auto count = flops_per_token(model, p.sequence);
    if (p.name.starts_with("qwen3")) count -= static_cast<double>(router_flops(model));
    if (p.name == "deepseek-v3") CHECK(near(count, 2.606e11, 0.0005e11));
    CHECK((count * (p.tokens - 0.5) <= 1e12 * (p.tflops + 0.5) && count * (p.tokens + 0.5) >= 1e12 * (p.tflops - 0.5)));
  }
  CHECK(near(flops_per_token(transformer_preset("llama-3.1-8b"), 8192), 5.148e10, 0.002e10));
  CHECK(near(flops_per_token(transformer_preset("llama-3.1-70b"), 8192), 4.491e11, 0.004e11));
  CHECK(near(flops_per_token(transformer_preset("llama-3.1-405b"), 8192), 2.524e12, 0.0005e12));
}

TEST_CASE("utilisation: windows, encoders, and what is out of range") {
  auto model = transformer_preset("llama-3.1-8b");
  auto const whole = attention_flops(model, 8192, counted_pairs::all);
  CHECK(whole == 4 * 32 * 4096 * std::int64_t{8192} * 8192);
  model.window = 1024;
  CHECK(attention_flops(model, 8192) == 4 * 32 * 4096 * window_pairs{.window = 1024}(8192));
  CHECK(attention_flops(model, 8192, counted_pairs::all) == whole);
  transformer const encoder{.layers = 2, .hidden = 64, .query_heads = 4, .kv_heads = 4, .head_width = 16, .ffn = 256, .causal = false};
  CHECK(model_flops(encoder, 128) == model_flops(encoder, 128, counted_pairs::all));
  CHECK(model_flops(encoder, 128) == training_factor * forward_flops(encoder)(128));

  CHECK(refusal([&] { return model_flops(encoder, 0); }) == "sequence = 0 must be positive, with less than 2^63 FLOPs");
  CHECK(refusal([&] { return model_flops(encoder, std::int64_t{1} << 31); }).starts_with("sequence = 2147483648 must be"));
  CHECK(refusal([&] { return attention_flops(encoder, std::int64_t{1} << 40); }).starts_with("sequence = 1099511627776 must be"));
  CHECK(refusal([] { return utilisation(1, 0, device_named("h100")); }).starts_with("seconds = 0.0"));
  CHECK(refusal([] { return utilisation(-1, 1, device_named("h100")); }).starts_with("flops = -1.0"));
  CHECK(refusal([] { return utilisation(1, 1, device{}); }) == "the device \"\" has no peak rate");
}

}  // namespace test_cost_utilisation
