// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/sample_time.hpp>

#include "support/catch.hpp"
#include "support/hybrid_shapes.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>

namespace test_footprint_sample_time {

using namespace ballast;
using ballast_test::refusal;

namespace {

auto const& h100 = device_named("h100");
time_setting kernels(device const& on = h100) { return {.rates = kernels_for(on)}; }

/// Picoseconds of a micro-batch of samples of one length, layer by layer, without the host's least time.
double exact(transformer const& model, std::int64_t tokens, std::int64_t length) {
  auto with = kernels();
  with.rates.host = with.rates.host_experts = 0;
  std::int64_t sum = 0;
  for (std::int64_t l = 0; l < model.layers; ++l) {
    auto const parts = parts_of_layer(model, l, {}, h100, with, {.tokens = tokens, .squares = tokens * length, .tiles = 0});
    sum += overlapped(parts, model, {}, with).time.both();
  }
  return static_cast<double>(sum);
}

/// The smallest and the largest error of the time of micro-batches of 16,384 tokens or one sample, in samples of 128 to 131,072 tokens.
std::pair<double, double> errors(transformer model, std::int64_t from = 128, std::int64_t to = 131'072) {
  model.vocabulary = 0;  // the layers alone
  auto const cost = sample_time(model, h100, kernels());
  std::pair out{1.0, -1.0};
  for (auto length = from; length <= to; length *= 2) {
    auto const tokens = (std::max)(length, std::int64_t{16'384});
    auto const line =
        static_cast<double>(cost.per_micro_batch) + static_cast<double>(cost.tokens(length)) * static_cast<double>(tokens / length);
    auto const error = line / exact(model, tokens, length) - 1;
    out = {(std::min)(out.first, error), (std::max)(out.second, error)};
  }
  return out;
}

constexpr transformer gemma3_4b{.layers = 34,
                                .hidden = 2560,
                                .query_heads = 8,
                                .kv_heads = 4,
                                .head_width = 256,
                                .ffn = 10240,
                                .vocabulary = 262208,
                                .tied = true,
                                .window = 1024,
                                .windowed = ~layer_set::every(6)};
constexpr transformer mistral_7b{
    .layers = 32, .hidden = 4096, .query_heads = 32, .kv_heads = 8, .head_width = 128, .ffn = 14336, .vocabulary = 32000, .window = 4096};

}  // namespace

TEST_CASE("sample_time: it is the sum of what its layers take", "[property]") {
  for (auto const* const name : {"llama-3.1-8b", "qwen3-30b-a3b", "gpt2-xl", "deepseek-v3"}) {
    CAPTURE(name);
    auto const& model = transformer_preset(name);
    auto layers = layers_of(model);
    batch_shape const typical{.tokens = 8192, .squares = 8192 * 4096, .tiles = 0};
    time_layers(layers, model, {}, h100, kernels(), typical);
    auto const cost = sample_time(model, h100, kernels(), {}, {.capacity = 8192});
    CHECK(cost == chain_cost_of(layers, typical, {.work_per_ms = time_units({}) * 1'000'000'000}));
    CHECK(cost.picoseconds == 1);
    for (std::int64_t const length : {512, 4096, 8192}) {
      batch_shape const batch{.tokens = 8192, .squares = 8192 * length, .tiles = 0};
      double sum = 0;
      for (auto const& l : layers) sum += static_cast<double>((l.forward + l.backward)(batch)) / static_cast<double>(time_units({}));
      auto const samples = 8192 / length;
      auto const line = static_cast<double>(cost.tokens(length) * samples + cost.per_micro_batch);
      CHECK(line >= sum * 0.9999);  // the host's waiting, if there is any, is in the constant of the line alone
      CHECK(static_cast<double>(cost.tokens(length) * samples) < sum);
    }
  }
}

TEST_CASE("sample_time: attention weighs up to twice as much as by FLOPs, and a micro-batch takes something beside its samples") {
  for (auto const& p : transformer_presets) {
    if (p.model.window > 0 || p.model.hidden < 2048) continue;  // operators that move bytes weigh more in narrow models
    CAPTURE(p.name);
    auto const cost = sample_time(p.model, h100, kernels());
    auto const crossover = static_cast<double>(cost.tokens.linear) / static_cast<double>(cost.tokens.quadratic);
    auto const by_flops = static_cast<double>(sample_cost(p.model).quadratic().linear);
    CAPTURE(crossover, by_flops);
    CHECK(crossover < (p.model.experts == 0 ? 0.9 : 1.1) * by_flops);  // operators of small experts take long
    CHECK(crossover > by_flops / 2);
    CHECK(cost.per_micro_batch > 0);
  }
}

TEST_CASE("sample_time: longer samples, slower devices, and layers that are recomputed take longer", "[property]") {
  auto const& model = transformer_preset("llama-3.1-8b");
  auto const cost = sample_time(model, h100, kernels());
  for (std::int64_t length = 1; length < 200'000; length += length / 3 + 1) CHECK(cost.tokens(length + 1) > cost.tokens(length));
  auto before = cost;
  for (std::uint32_t const again : {1U, 8U, 32U}) {
    auto const more = sample_time(model, h100, kernels(), {}, {.recomputed_layers = again});
    CHECK(more.tokens.linear > before.tokens.linear);
    CHECK(more.tokens.quadratic > before.tokens.quadratic);
    CHECK(more.per_micro_batch >= before.per_micro_batch);
    before = more;
  }
  for (auto const* const slower : {"v100", "a100"}) {
    auto const& on = device_named(slower);
    auto const other = sample_time(model, on, kernels(on));
    CHECK(other.tokens.linear > 2 * cost.tokens.linear);
    CHECK(other.tokens.quadratic > 2 * cost.tokens.quadratic);
  }
  auto const coarse = sample_time(model, h100, kernels(), {}, {.picoseconds = 64});
  CHECK(coarse.tokens.linear == (cost.tokens.linear + 63) / 64);
  CHECK(coarse.picoseconds == 64);
}

TEST_CASE("sample_time: windows count by tokens, which is near their time") {
  auto const within = [](transformer const& model, double below, double above) {
    auto const [least, most] = errors(model);
    CAPTURE(model.window, least, most);
    CHECK(least > -below);
    CHECK(most < above);
  };
  for (auto const& p : ballast_test::hybrid_shapes) {
    CAPTURE(p.name);
    if (p.name == "gpt-oss-20b") within(p.model, 0.01, 0.01);
    if (p.name == "llama-4-maverick") within(p.model, 0.07, 0.05);
  }
  within(gemma3_4b, 0.01, 0.04);
  within(mistral_7b, 0.09, 0.11);
  for (auto const& p : transformer_presets)
    if (p.model.window == 0) within(p.model, 0.03, 0.03);
}

TEST_CASE("sample_time: a vision-language model has its tower by tiles, and what is frozen takes less") {
  auto const& model = vision_language_preset("internvl-chat-1.5");
  sample_time_options const o{.capacity = 4096, .tiles = 9};
  auto const cost = sample_time(model, h100, kernels(), {}, o);
  auto const text = sample_time(model.language, h100, kernels(), {}, {.capacity = 4096});
  CHECK(cost.per_tile > 0);
  CHECK(cost.tokens == text.tokens);
  CHECK(cost.per_micro_batch > text.per_micro_batch);
  auto const frozen = sample_time(model, h100, kernels(), {.vision = {.what = trained::none}}, o);
  CHECK(frozen.per_tile < cost.per_tile);
  CHECK(frozen.tokens == cost.tokens);
}

TEST_CASE("sample_time: refusals") {
  auto const& model = transformer_preset("llama-3.1-8b");
  auto const said = [&](sample_time_options const& o) { return refusal([&] { return sample_time(model, h100, kernels(), {}, o); }); };
  CHECK(said({.capacity = 0}) == "capacity = 0 must be positive");
  CHECK(said({.recomputed_layers = 33}) == "recomputed_layers = 33 of 32 layers");
  CHECK(said({.picoseconds = 0}) == "picoseconds = 0 of a unit must be in 1 ... 10^6");
}

}  // namespace test_footprint_sample_time
