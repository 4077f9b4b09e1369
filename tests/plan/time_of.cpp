// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/plan/time_of.hpp>

#include "support/catch.hpp"
#include "support/published_peaks.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace test_plan_time_of {

using namespace ballast;
using ballast_test::refusal;

namespace {

bool near(std::int64_t ps, double ms, double within) { return std::fabs(static_cast<double>(ps) / 1e9 - ms) <= within; }

/// A training of a published run with the flags of time drawn at random.
struct drawn {
  transformer model;
  training_setting by;
  device on;
  time_setting with;
};
drawn draw(std::uint32_t seed) {
  std::mt19937 random(seed);
  auto const of = [&](std::size_t n) { return static_cast<std::int64_t>(random() % n); };
  auto const rows = ballast_test::megatron_peaks();
  auto const& row = rows[static_cast<std::size_t>(of(rows.size()))];
  drawn out{row.model, row.by, devices[static_cast<std::size_t>(of(devices.size()))], {}};
  auto& m = out.by.model;
  m.attention = of(4) == 0 ? attention_kernel::stored_scores : attention_kernel::fused;
  m.kernels.tensor_overlap = of(2) == 0;
  m.kernels.expert_overlap = of(2) == 0;
  m.loss.how = static_cast<head_loss::kind>(of(9));
  if (of(3) == 0) m.spread.zero = static_cast<int>(of(4));
  using enum recompute_setting::kind;
  constexpr recompute_setting choices[] = {{},
                                           {.what = modules, .modules = {recompute_module::layernorm, recompute_module::mlp}},
                                           {.what = modules, .modules = {recompute_module::core_attention, recompute_module::moe}},
                                           {.what = block, .layers = 2},
                                           {.what = uniform, .layers = 2},
                                           {.what = alternate, .layers = 2},
                                           {.what = products}};
  out.by.recompute = choices[of(std::size(choices))];
  out.with = {.rates = kernels_for(out.on, static_cast<kernel_family>(of(3)), of(2) == 0 && out.on.fp8_flops > 0),
              .attention = static_cast<attention_library>(of(4)),
              .dispatcher = static_cast<token_dispatcher>(of(2)),
              .graphs = static_cast<graph_scope>(of(3)),
              .gradient_overlap = of(2) == 0,
              .float_reduction = of(2) == 0,
              .gathered_context = of(4) == 0,
              .imbalance = 1000 + 100 * of(4)};
  return out;
}
std::int64_t total(drawn const& of) { return time_of(of.model, of.by, of.on, of.with).front().total(); }

/// A setting on one device.
training_setting alone(std::int64_t sequence, std::int64_t micro_batch) {
  training_setting by;
  by.sequence = sequence;
  by.micro_batch = micro_batch;
  return by;
}

}  // namespace

TEST_CASE("time_of: torchtitan's Llama 8B on eight H100 at 500 W, part by part") {
  auto by = alone(8192, 2);
  by.model.spread = {.data = 8, .zero = 3};
  by.recompute.what = recompute_setting::kind::products;
  auto const model = transformer_preset("llama-3.1-8b");
  auto const on = device_named("h100-500w");
  time_setting const with{
      .rates = kernels_named("h100-500w-compile-bf16"), .attention = attention_library::flash2, .float_reduction = true};
  auto const parts = parts_of_layer(model, 0, by.model, on, with, {16384, 16384 * 8192, 0});
  CHECK((near(parts.gemm.forward, 13.95, 0.01) && near(parts.gemm.backward, 27.42, 0.01)));
  CHECK((near(parts.attention.forward, 4.28, 0.01) && near(parts.attention.backward, 12.53, 0.01)));
  CHECK((near(parts.memory.forward, 1.63, 0.01) && near(parts.memory.backward, 2.26, 0.01)));
  CHECK(near(recompute_time(parts, overlapped(parts, model, by.model, with), again::products), 7.90, 0.01));
  CHECK(near(time_of(model, by, on, with).front().total(), 2496, 2.5));
}

TEST_CASE("time_of: parts are not negative, and all stages take the same time") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    auto const d = draw(seed);
    CAPTURE(seed);
    auto const stages = time_of(d.model, d.by, d.on, d.with);
    REQUIRE(stages.size() == d.by.pipeline.stages);
    for (auto const& s : stages) {
      CHECK(s.total() == stages.front().total());
      CHECK((std::min)({s.gemm, s.experts, s.attention, s.memory, s.exchange, s.recompute, s.host, s.p2p, s.bubble, s.end}) >= 0);
    }
    CHECK(stages == time_of(d.model, d.by, d.on, d.with));
    CHECK(slowest_of(stages).bubble ==
          std::min_element(stages.begin(), stages.end(), [](auto const& a, auto const& b) { return a.bubble < b.bubble; })->bubble);
  }
}

TEST_CASE("time_of: options of each layer take the time of the setting that says the same") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    auto const d = draw(seed);
    auto const& again = d.by.recompute;
    using enum recompute_setting::kind;
    if (again.what == products) continue;
    CAPTURE(seed, static_cast<int>(again.what));
    auto const cuts = boundaries_of(d.by, d.model);
    auto const first = d.model.vocabulary > 0 ? 1U : 0U, end = first + static_cast<std::uint32_t>(d.model.layers + d.model.mtp_layers);
    std::vector<layer_option> taken(cuts.back(), {.recomputed = recomputation::full});  // embedding and head are not read
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c)
      for (std::int64_t i = (std::max)(cuts[c], first), n = 0; i < (std::min)(cuts[c + 1], end); ++i, ++n) {
        auto const whole = again.what == uniform || (again.what == block && n < again.layers) ||
                           (again.what == alternate && n % again.layers == again.layers - 1);
        taken[static_cast<std::size_t>(i)] = {.recomputed = whole                   ? recomputation::full
                                                            : again.what == modules ? recomputation::selective
                                                                                    : recomputation::none,
                                              .modules = again.modules};
      }
    auto const tokens = d.by.micro_batch * d.by.sequence;
    batch_shape const batch{.tokens = tokens, .squares = tokens * d.by.sequence, .tiles = 0};
    CHECK(time_of(d.model, d.by, d.on, d.with, batch, taken) == time_of(d.model, d.by, d.on, d.with));
    taken.pop_back();
    CHECK(refusal([&] { return time_of(d.model, d.by, d.on, d.with, batch, taken); }) ==
          "taken has " + std::to_string(taken.size()) + " entries, and the chain has " + std::to_string(cuts.back()) + " layers");
  }
}

TEST_CASE("time_of: faster devices and links never take longer; more work never takes less") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    auto const d = draw(seed);
    CAPTURE(seed);
    auto const time = total(d);
    for (auto const field :
         {&device::bf16_flops, &device::fp8_flops, &device::memory_bandwidth, &device::link_bandwidth, &device::network_bandwidth}) {
      auto faster = d;
      faster.on.*field *= 2;
      CHECK(total(faster) <= time);
    }
    auto more = d;
    more.by.micro_batches += 1;
    CHECK(total(more) > time);
    more = d;
    more.with.imbalance += 1000;
    CHECK(total(more) >= time);
    more = d;
    more.by.recompute = {.what = recompute_setting::kind::uniform};
    CHECK(total(more) >= time);
    auto const tokens = d.by.micro_batch * d.by.sequence;
    auto const at = [&](std::int64_t t, std::int64_t squares) {
      return time_of(d.model, d.by, d.on, d.with, {.tokens = t, .squares = squares, .tiles = 0}).front().total();
    };
    CHECK(at(tokens, tokens * d.by.sequence) == time);
    CHECK(at(2 * tokens, 2 * tokens * d.by.sequence) >= time);
    CHECK(at(tokens, tokens * d.by.sequence * 2) >= time);
  }
}

TEST_CASE("time_of: more devices with free links are not slower") {
  for (auto const* const name : {"llama-3.1-8b", "qwen3-30b-a3b"}) {
    auto const model = transformer_preset(name);
    auto on = device_named("h100");
    on.link_bandwidth = on.network_bandwidth = 0;  // no link costs time
    time_setting const with{.rates = [] {
      auto rates = kernels_named("h100-te-bf16");
      rates.jitter = rates.pass = 0;
      return rates;
    }()};
    auto by = alone(8192, 8);
    auto before = time_of(model, by, on, with).front().total();
    for (std::int64_t t : {2, 4}) {
      by.model.spread = {.tensor = t, .sequence_parallel = true};
      by.model.expert_tensor = 1;
      auto const now = time_of(model, by, on, with).front().total();
      CHECK(now < before);
      before = now;
    }
    by = alone(8192, 8);
    before = time_of(model, by, on, with).front().total();
    for (std::int64_t c : {2, 4, 8}) {
      by.model.spread = {.context = c, .data = c, .zero = 1};
      auto const now = time_of(model, by, on, with).front().total();
      CHECK(now < before);
      before = now;
    }
  }
}

TEST_CASE("time_of: a pipeline of equal stages takes micro-batches and its filling") {
  auto model = transformer_preset("llama-3.1-8b");
  model.vocabulary = 0;
  auto on = device_named("h100");
  on.link_bandwidth = 0;
  auto rates = kernels_named("h100-te-bf16");
  rates.jitter = rates.step = rates.optimizer = 0;
  auto by = alone(4096, 1);
  by.micro_batches = 8;
  auto const whole = time_of(model, by, on, {.rates = rates}).front().total();
  by.pipeline.stages = 4;
  CHECK(time_of(model, by, on, {.rates = rates}).front().total() == whole / 4 / 8 * 11);
  by.pipeline.schedule = interleaved_schedule{2};
  CHECK(std::abs(time_of(model, by, on, {.rates = rates}).front().total() - (whole / 4 + 3 * (whole / 64))) < 100);
  by.pipeline.schedule = one_f_one_b_schedule{};
  std::int64_t const layers[] = {11, 7, 7, 7};
  by.boundaries = cut_by_layers(model, layers);
  auto const stages = time_of(model, by, on, {.rates = rates});
  CHECK(stages[0].work() == whole / 32 * 11);
  CHECK(stages[1].bubble - stages[0].bubble == whole / 32 * 4);
}

TEST_CASE("time_of: what is out of range, or takes too long, is refused") {
  auto const model = transformer_preset("llama-3.1-8b");
  auto const on = device_named("h100");
  time_setting with;
  CHECK(refusal([&] { return time_of(model, alone(1 << 30, 1), on, with); }).find("2^56 picoseconds or more") != std::string::npos);
  auto slow = on;
  slow.bf16_flops = 1'000'000'000'000;
  auto by = alone(1 << 20, 16);
  by.micro_batches = 1 << 24;
  CHECK(refusal([&] { return time_of(model, by, slow, {.rates = kernels_for(slow)}); }) == "a micro-batch takes 2^59 picoseconds or more");
  by = alone(1 << 17, 1);
  by.micro_batches = 1 << 24;
  CHECK(refusal([&] { return time_of(model, by, slow, {.rates = kernels_for(slow)}); }) == "a step takes 2^61 picoseconds or more");
  with.imbalance = 999;
  CHECK(refusal([&] { return time_of(model, alone(4096, 1), on, with); }) == "imbalance = 999 must be in [1000, 1000000]");
  CHECK(refusal([&] { return linear_layer_time(model, 0, {}, on, {}, {}, {4096, 5000}); }) == "most = 5000 must be in [8192, 16777216]");
}

}  // namespace test_plan_time_of
