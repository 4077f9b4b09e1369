// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/sequence_parallel.hpp>

#include "support/catch.hpp"
#include "support/layer_traffic.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace test_cost_communication {

namespace {

using namespace ballast;
using ballast_test::refusal;
using ballast_test::traffic_of;
using enum exchange_phase;

transformer const& llama() { return transformer_preset("llama-3.1-8b"); }
transformer const& deepseek() { return transformer_preset("deepseek-v3"); }

// Bytes that one rank sends, where every rank is a node of its own.
auto const sent = &traffic_of;

fabric flat(std::int64_t bandwidth) { return {.per_node = 1, .inside = {}, .between = link_line{0, bandwidth}}; }

}  // namespace

TEST_CASE("layer_exchanges: as restated from the papers", "[property]") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto const any = [&](std::uint64_t below) { return static_cast<std::int64_t>(draw() % below); };
    auto const power = [&](std::uint64_t below) { return std::int64_t{1} << draw() % below; };
    transformer model{.layers = 2, .hidden = 64 * (1 + any(8)), .head_width = 8 * (1 + any(4)), .ffn = 128 + any(100)};
    model.kv_heads = power(4);
    model.query_heads = model.kv_heads * power(4);
    model.gated = any(2) == 0;
    model.qkv_bias = any(2) == 0;
    model.parallel = any(4) == 0;
    if (any(4) == 0) model.linear = {.layers = {1}, .key_heads = 2, .key_width = 16, .value_heads = 8, .value_width = 24};
    if (any(3) == 0) model.v_width = 24;
    if (any(3) == 0) model.kv_rank = 16;
    if (any(2) == 0) {
      model.experts = 16;
      model.active_experts = 1 + any(4);
      model.expert_ffn = 32;
      model.shared_ffn = any(2) * 48;
      model.expert_layers = layer_set::from(any(2));
      model.ffn_bias = any(2) == 0;
    }
    if (any(3) == 0) {
      model.space = {.layers = {any(2)}, .heads = 16, .head_width = 8, .state = 16, .groups = 8};
      if (any(2) == 0) model.attention_layers = {any(2)};
      if (any(2) == 0) model.ffn_layers = {any(2)};
    }
    exchange_setting by{.spread = {.tensor = (std::min)(power(4), model.query_heads), .context = power(4)}};
    by.spread.data = by.spread.context * power(3);
    by.spread.zero = static_cast<int>(any(4));
    by.spread.sequence_parallel = any(2) == 0;
    by.method = any(2) == 0 && model.query_heads / by.spread.tensor >= by.spread.context ? context_method::ulysses : context_method::ring;
    if (model.experts > 0 && (by.spread.tensor == 1 || by.spread.sequence_parallel))
      by.expert = (std::min)({power(5), model.experts, by.spread.tensor * by.spread.data});
    if (by.expert > 1 && any(2) == 0) by.expert_tensor = (std::min)(by.spread.tensor, by.spread.tensor * by.spread.data / by.expert);
    by.capacity = any(2) * (500 + any(2000));
    by.element_bytes = power(3);
    by.state.gradient = power(3);
    by.recomputed = any(2) == 0 ? recomputation::full : recomputation::none;
    auto const tokens = by.spread.context * by.spread.tensor * 16 * any(50);
    auto const layer = any(2);
    auto const all = layer_exchanges(model, layer, by, tokens);
    for (std::size_t what = 0; what < 6; ++what)
      for (auto const when : {forward, backward, step}) {
        auto const exact = ballast_test::published_traffic(model, layer, by, tokens, static_cast<traffic>(what), when);
        auto const found = static_cast<double>(sent(all, static_cast<traffic>(what), when));
        CAPTURE(what, static_cast<int>(when), exact, found);
        REQUIRE(std::fabs(found - exact) <= 16 + 1e-9 * exact);  // shares of a collective are rounded up to bytes
      }
    for (auto const& e : all) REQUIRE((e.calls > 0 && e.over.ranks > 1));
  }
}

TEST_CASE("layer_exchanges: identities") {
  exchange_setting const tp{.spread = {.tensor = 8}};
  auto sp = tp;
  sp.spread.sequence_parallel = true;
  auto const with = layer_exchanges(llama(), 0, tp, 8192), split = layer_exchanges(llama(), 0, sp, 8192);
  for (auto const when : {forward, backward}) {  // 2 all-reduces of 64 MiB: 2 * 2 * 7/8 * 64 MiB
    CHECK(sent(with, traffic::tensor, when) == sent(split, traffic::tensor, when));
    CHECK(sent(with, traffic::tensor, when) == 7 * (std::int64_t{1} << 25));
  }
  CHECK((sent(with, traffic::kept_input, backward) == 0 && sent(split, traffic::kept_input, forward) == 0));
  CHECK(2 * sent(split, traffic::kept_input, backward) == sent(split, traffic::tensor, backward));

  CHECK(layer_exchanges(llama(), 0, {}, 8192).empty());  // one device
  exchange_setting const cp{.spread = {.context = 4, .data = 4}};
  auto const ring = layer_exchanges(llama(), 0, cp, 8192);
  CHECK(sent(ring, traffic::context, forward) == 3 * 2048 * 2 * 8 * 128 * 2);  // 3 blocks of keys and values
  CHECK(sent(ring, traffic::context, backward) == 2 * sent(ring, traffic::context, forward));

  exchange_setting zero{.spread = {.data = 8}, .state = {.parameter = 2, .gradient = 2}};
  auto const bytes = [&](int stage, exchange_phase when) {
    zero.spread.zero = stage;
    auto const all = layer_exchanges(llama(), 0, zero, 8192);
    return sent(all, traffic::gradient, when) + sent(all, traffic::parameter, when);
  };
  // ZeRO's section 7: stages 1 and 2 send as much as data parallelism, stage 3 one and a half times as much, in a step of one micro-batch.
  CHECK(bytes(0, step) == bytes(1, step));
  CHECK((bytes(2, backward) == bytes(2, step) && bytes(2, backward) + bytes(2, step) == bytes(0, step)));
  CHECK((bytes(3, step) == 0 && 2 * (bytes(3, forward) + bytes(3, backward)) == 3 * bytes(0, step)));
  CHECK((bytes(0, forward) == 0 && bytes(0, backward) == 0));
}

TEST_CASE("layer_exchanges: Ulysses sends what modelled_level_time charges, and what FlexSP and its authors count", "[published]") {
  sequence_parallel_setup run{.model = llama(), .devices = 64, .per_node = 8};
  run.device.link_bandwidth = 1'000'000'000'000;
  run.link_share = 100;
  run.network_bandwidth = 10'000'000'000;
  fabric const over{.per_node = 8, .inside = link_line{0, 100'000'000'000}, .between = link_line{0, 10'000'000'000}};
  for (std::uint32_t const sp : {2U, 4U, 8U, 16U, 32U})
    for (bool const again : {false, true}) {
      CAPTURE(sp, again);
      std::int64_t const tokens = 1 << 20;
      exchange_setting const by{.spread = {.context = sp, .data = sp},
                                .method = context_method::ulysses,
                                .recomputed = again ? recomputation::full : recomputation::none};
      std::int64_t found = 0;
      for (std::int64_t l = 0; l < run.model.layers; ++l) {
        auto const time = exposed_time(layer_exchanges(run.model, l, by, tokens), over, {.gradient = 1000});
        found += time.forward + time.backward;
      }
      auto const layers = again ? 32U : 0U;
      auto const charged =
          (modelled_level_time(run, {tokens, sp, layers}).per_token - modelled_level_time(run, {tokens, 1, layers}).per_token) * tokens /
          sp;
      CHECK(std::fabs(static_cast<double>(found) / static_cast<double>(charged) - 1) < 1e-3);  // a token's picoseconds are rounded up
    }
  // Four all-to-alls of N h / P elements forward; FlexSP: 4 calls, 2 passes, 2 bytes. Tensor parallelism with SP: four of N h.
  transformer const plain{.hidden = 4096, .query_heads = 32, .kv_heads = 32, .head_width = 128, .ffn = 11008};
  auto const ulysses = layer_exchanges(plain, 0, {.spread = {.context = 8, .data = 8}, .method = context_method::ulysses}, 8192);
  CHECK((ulysses[0].bytes == 4 * 8192 * 4096 / 8 * 2 && ulysses[1].bytes == ulysses[0].bytes));
  auto const megatron = layer_exchanges(plain, 0, {.spread = {.tensor = 8, .sequence_parallel = true}}, 8192);
  CHECK((megatron[0].calls + megatron[1].calls == 4 && megatron[0].bytes == 8192 * 4096 * 2 && megatron[1].bytes == megatron[0].bytes));
}

TEST_CASE("layer_exchanges: DeepSeek-V3 with 64-fold expert parallelism on 128 ranks", "[published]") {
  exchange_setting by{.spread = {.data = 128, .zero = 1}, .expert = 64};
  auto const all = layer_exchanges(deepseek(), 10, by, 4096);
  REQUIRE(all.size() == 6);
  CHECK(all[0] == layer_exchange{traffic::expert, collective::all_to_all, {64, 1}, forward, 4096LL * 8 * 7168 * 2, 2});
  CHECK(all[1] == layer_exchange{traffic::expert, collective::all_to_all, {64, 1}, backward, 4096LL * 8 * 7168 * 2, 2});
  CHECK((all[2].over == rank_group{128, 1} && all[4].over == rank_group{2, 64}));
  // 256 experts of 3 matrices on 64 devices; float32 gradients, 16-bit parameters.
  CHECK((all[4].bytes == 4LL * 256 / 64 * 3 * 7168 * 2048 && all[5].bytes == all[4].bytes / 2));
  CHECK(all[2].bytes / 4 + 64 * (all[4].bytes / 4) == layer_parameters(deepseek(), 10));
  by.capacity = 1000;
  CHECK(layer_exchanges(deepseek(), 10, by, 4096)[0].bytes == all[0].bytes);
  by.capacity = 1250;
  CHECK(4 * layer_exchanges(deepseek(), 10, by, 4096)[0].bytes == 5 * all[0].bytes);
  CHECK(layer_exchanges(deepseek(), 0, by, 4096).size() == 2);  // a dense layer
}

TEST_CASE("layer_exchanges: devices that share experts gather each other's rows", "[published]") {
  exchange_setting by{.spread = {.tensor = 4, .data = 32, .sequence_parallel = true, .zero = 1}, .expert = 16};
  auto const alone = layer_exchanges(deepseek(), 10, by, 4096);
  by.expert_tensor = 4;
  auto const shared = layer_exchanges(deepseek(), 10, by, 4096);
  auto const rows = 1024LL * 8 * 7168 * 2;  // bytes of those that a device routes
  auto const of = [&](collective how, rank_group const& over, std::int64_t bytes, std::int64_t calls = 1) {
    return std::count(shared.begin(), shared.end(), layer_exchange{traffic::expert, how, over, forward, bytes, calls});
  };
  CHECK(of(collective::all_to_all, {16, 4}, rows, 2) == 1);
  CHECK(of(collective::all_gather, {4, 1}, 4 * rows) == 1);
  CHECK(of(collective::reduce_scatter, {4, 1}, 4 * rows) == 1);
  CHECK(shared.size() == alone.size() + 4);
  CHECK((shared.back().over == rank_group{2, 64} && alone.back().over == rank_group{8, 16}));
  CHECK(shared.back().bytes == alone.back().bytes / 4);
}

TEST_CASE("state_exchanges: LLaMA-3.1-8B with ZeRO-1 on 32 ranks at 50 GB/s waits for most of a second") {
  auto const all = state_exchanges(parameters(llama()), {.spread = {.data = 32, .zero = 1}});
  auto const time = exposed_time(all, flat(50'000'000'000));
  CHECK((time.forward == 0 && time.backward == 0));
  CHECK(std::fabs(static_cast<double>(time.step) * 1e-12 / (6 * 8.030261248e9 * 31 / 32 / 50e9) - 1) < 1e-9);  // 0.93 s
  auto const half = exposed_time(all, flat(50'000'000'000), {.gradient = 1000});
  CHECK(std::llabs(3 * half.step - time.step) <= 2);  // parameters are a third
}

TEST_CASE("layer_exchanges: more tokens or ranks never send less", "[property]") {
  for (auto const method : {context_method::ring, context_method::ulysses})
    for (std::int64_t tokens = 0; tokens < 100'000; tokens = tokens * 2 + 1) {
      exchange_setting const by{
          .spread = {.tensor = 4, .context = 4, .data = 8, .sequence_parallel = true, .zero = 3}, .method = method, .expert = 8};
      for (std::size_t what = 0; what < 6; ++what)
        for (auto const when : {forward, backward})
          CHECK(sent(layer_exchanges(deepseek(), 5, by, tokens), static_cast<traffic>(what), when) <=
                sent(layer_exchanges(deepseek(), 5, by, tokens + 1), static_cast<traffic>(what), when));
    }
  std::int64_t before = 0;
  for (std::int64_t n = 1; n <= 64; n *= 2) {
    auto const all = state_exchanges(1 << 20, {.spread = {.data = n}});
    CHECK(sent(all, traffic::gradient, step) >= before);
    before = sent(all, traffic::gradient, step);
  }
}

TEST_CASE("exchange_setting: bad input, and bytes that do not fit") {
  auto const of = [](transformer const& model, auto change, std::int64_t tokens = 1024) {
    exchange_setting by{.spread = {.tensor = 2, .context = 2, .data = 4, .sequence_parallel = true}};
    change(by);
    return refusal([&] { return layer_exchanges(model, 3, by, tokens); });
  };
  auto const same = [](auto&) {};
  CHECK((of(llama(), same) == "accepted" && of(llama(), same, std::int64_t{1} << 40) == "accepted"));
  CHECK(of(llama(), [](auto& by) { by.spread.context = 8; }) == "context = 8 must divide data = 4");
  CHECK(of(llama(), [](auto& by) { by.spread.tensor = 3; }) == "accepted");  // heads are padded
  CHECK(of(llama(), [](auto& by) { by.spread.tensor = 0; }) == "tensor = 0 must be in [1, 65536]");
  CHECK(of(llama(), [](auto& by) {
          by.method = context_method::ulysses;
          by.spread.context = by.spread.data = 32;
        }) == "context = 32 must divide the query heads of a device = 16");
  CHECK(of(llama(), [](auto& by) { by.expert = 2; }) == "expert = 2 needs a model with experts");
  CHECK(of(deepseek(), [](auto& by) { by.expert = 3; }) == "expert = 3 must divide experts = 256");
  CHECK(of(deepseek(), [](auto& by) { by.expert = 0; }) == "expert = 0 must divide experts = 256");
  CHECK(of(deepseek(), [](auto& by) {
          by.expert = 8;
          by.expert_tensor = 3;
        }) == "expert * expert_tensor = 24 must divide tensor * data = 8");
  CHECK(of(deepseek(), [](auto& by) { by.expert = 16; }) == "expert = 16 must divide tensor * data = 8");
  CHECK(of(deepseek(), [](auto& by) {
          by.expert = 8;
          by.spread.sequence_parallel = false;
        }) == "expert = 8 with tensor = 2 needs sequence_parallel");
  CHECK(of(llama(), [](auto& by) { by.capacity = -1; }) == "capacity = -1 must be in [0, 1000000]");
  CHECK(of(llama(), [](auto& by) { by.element_bytes = 0; }) == "element_bytes = 0 must be in [1, 8]");
  CHECK(of(llama(), [](auto& by) { by.state.parameter = 257; }) == "parameter = 257 must be in [0, 256]");
  CHECK(of(llama(), [](auto& by) { by.state.gradient = -1; }) == "gradient = -1 must be in [0, 256]");
  CHECK(of(llama(), same, -1) == "tokens = -1 must be in [0, 1099511627776]");
  CHECK(refusal([] { return layer_exchanges(llama(), 32, {}, 1); }) == "layer = 32 must be in [0, 32)");
  auto huge = deepseek();
  huge.active_experts = 256;
  CHECK(of(
            huge,
            [](auto& by) {
              by.expert = 8;
              by.capacity = 1'000'000;
            },
            std::int64_t{1} << 40) == "an exchange of a layer reaches 2^60 bytes");
  CHECK(refusal([] { return state_exchanges(-1, {}); }) == "parameters = -1 must be in [0, 4503599627370496]");
  CHECK(refusal([] { return state_exchanges(std::int64_t{1} << 52, {.spread = {.data = 2}, .state = {.gradient = 256}}); }) == "accepted");
  CHECK(refusal([] { return state_exchanges(1, {.spread = {.data = 0}}); }) == "data = 0 must be in [1, 16777216]");
}

}  // namespace test_cost_communication
