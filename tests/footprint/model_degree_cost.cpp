// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/model_degree_cost.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace test_footprint_model_degree_cost {

namespace {

using namespace ballast;
using ballast_test::refusal;

device const& h100 = device_named("h100");
constexpr context_exchange methods[]{context_exchange::all_gather, context_exchange::ring, context_exchange::ulysses};

degree_cost of(std::string_view model, model_degree_options const& o = {}, fabric const& over = datasheet_fabric(h100)) {
  return degree_cost_of(transformer_preset(model), h100, over, o);
}
bool within(double value, double expected, double tolerance) { return std::fabs(value - expected) <= tolerance * expected; }

}  // namespace

TEST_CASE("degree_cost_of: on one rank the time is that of the model's FLOPs, within 1 %") {
  for (auto const* const name : {"llama-3.1-8b", "qwen2.5-0.5b", "qwen2.5-7b", "llama-3.1-70b", "deepseek-v3", "mixtral-8x7b"})
    for (std::int64_t const n : {1, 100, 1024, 8192, 32768, 131072}) {
      CAPTURE(name, n);
      auto const& model = transformer_preset(name);
      auto const flops = static_cast<double>(training_factor * forward_flops(model)(n));
      CHECK(within(static_cast<double>(of(name)(n, 1)), 1e6 * modelled_ms(flops, h100, 0.4), 0.01));
      // Recomputed layers run their forward pass once more, the head does not.
      auto const head = static_cast<double>(head_flops_per_token(model) * n);
      auto const again = of(name, {.recomputed_layers = static_cast<std::uint32_t>(model.layers)});
      CHECK(within(static_cast<double>(again(n, 1)), 1e6 * modelled_ms(flops * 4 / 3 - head, h100, 0.4), 0.01));
    }
}

TEST_CASE("degree_cost_of: layers with a window cost as they do beyond the window") {
  auto model = transformer_preset("llama-3.1-8b");
  model.window = 4096;
  auto const cost = degree_cost_of(model, h100, datasheet_fabric(h100));
  CHECK(cost.square == 0);
  for (std::int64_t const n : {std::int64_t{1} << 19, std::int64_t{1} << 20})
    CHECK(within(static_cast<double>(cost(n, 1)),
                 1e6 * modelled_ms(static_cast<double>(training_factor * forward_flops(model)(n)), h100, 0.4), 0.01));
}

TEST_CASE("degree_cost_of: exchanges take the time of their bytes on the links") {
  // llama-3.1-8b keeps 8 heads of 128 keys and of 128 values in 16 bits: 4096 bytes a token in each of 32 layers.
  fabric const over{.per_node = 8, .inside = link_line{0, 400'000'000'000}, .between = link_line{0, 50'000'000'000}};
  auto const seconds = [](std::int64_t per_token) { return static_cast<double>(per_token) * 1e-12; };
  double const bytes = 32 * 4096;
  auto const gather = of("llama-3.1-8b", {.method = context_exchange::all_gather}, over);
  auto const ring = of("llama-3.1-8b", {.method = context_exchange::ring}, over);
  auto const all_to_all = of("llama-3.1-8b", {.method = context_exchange::ulysses, .ranks = 32}, over);
  CHECK((gather.exchange.size() == 7 && ring.exchange.size() == 7 && all_to_all.exchange.size() == 6));
  for (std::size_t l = 0; l <= 3; ++l) {
    auto const d = static_cast<double>(1 << l);
    CAPTURE(l);
    // Each rank receives all but its own share: gathered twice and scattered once, or sent round once and once with gradients.
    CHECK(within(seconds(gather.exchange[l]), 3 * bytes * (d - 1) / d / 400e9, 1e-4));
    CHECK(within(seconds(ring.exchange[l]), 3 * bytes * (d - 1) / d / 400e9, 1e-4));
    // Queries and outputs are 32 heads; forward and backward pass.
    CHECK(within(seconds(all_to_all.exchange[l]), 2 * 5 * bytes * (d - 1) / d / d / 400e9, 1e-4));
  }
  // On two nodes: a rank gathers half of its node's column from the other node, then 7/8 inside. A step of the ring waits for the network.
  CHECK(within(seconds(gather.exchange[4]), 3 * bytes * (7. / 8 / 400e9 + 1. / 16 / 50e9), 1e-4));
  CHECK(within(seconds(ring.exchange[4]), 3 * bytes * 15 / 16 / 50e9, 1e-4));
  // 16 ranks need 16 heads of keys and values, so each of the 8 is sent twice.
  CHECK(within(seconds(all_to_all.exchange[4]), 2 * 6 * bytes / 16 * (7. / 16 / 400e9 + 8. / 16 / 50e9), 1e-4));
}

TEST_CASE("degree_cost_of: with Ulysses the exchanges are those of modelled_level_time") {
  sequence_parallel_setup const run{.model = transformer_preset("llama-3.1-8b")};
  fabric const same{.per_node = 8, .inside = link_line{0, 72'000'000'000}, .between = link_line{0, run.network_bandwidth}};
  for (auto const again : {std::uint32_t{0}, std::uint32_t{7}, std::uint32_t{32}}) {
    model_degree_options const o{
        .method = context_exchange::ulysses, .utilisation = run.utilisation, .recomputed_layers = again, .ranks = 32};
    auto const cost = degree_cost_of(run.model, run.device, same, o);
    auto const alone = modelled_level_time(run, {16384, 1, again});
    CHECK((cost.linear == alone.per_token && cost.square == alone.per_square));
    for (std::uint32_t const d : {2U, 4U, 8U, 16U, 32U}) {  // that one counts the time of all ranks
      auto const more = modelled_level_time(run, {16384, d, again}).per_token - alone.per_token;
      CHECK(within(static_cast<double>(cost.exchange_of(d) * std::int64_t{d}), static_cast<double>(more), 0.001));
    }
  }
}

TEST_CASE("degree_cost_of: longer samples take longer, and more ranks do not save rank time", "[property]") {
  for (auto const method : methods)
    for (auto const* const name : {"llama-3.1-8b", "qwen2.5-7b"}) {
      auto const ranks = method == context_exchange::ulysses ? name == std::string_view("qwen2.5-7b") ? 4 : 32 : 64;
      auto const cost = of(name, {.method = method, .ranks = ranks});
      for (std::int64_t n = 64; n <= 1 << 20; n *= 2)
        for (std::int64_t d = 1; d <= ranks; d *= 2) {
          CAPTURE(name, n, d);
          CHECK(cost.fits(n, d));
          CHECK(cost(n, d) < cost(n + 1, d));
          if (d > 1) CHECK(d * cost(n, d) >= d / 2 * cost(n, d / 2));
        }
    }
}

TEST_CASE("degree_cost_of: latencies are spread over a full pass, and computation hides a share") {
  fabric const slow{.per_node = 8, .inside = link_line{10'000'000, 400'000'000'000}, .between = link_line{20'000'000, 50'000'000'000}};
  auto const with = of("llama-3.1-8b", {}, slow), without = of("llama-3.1-8b");
  // 3 calls in 32 layers of 10 us for 2 * 16384 tokens; across nodes also those between them.
  auto const fast =
      of("llama-3.1-8b", {}, {.per_node = 8, .inside = link_line{0, 400'000'000'000}, .between = link_line{0, 50'000'000'000}});
  CHECK(with.exchange[1] - fast.exchange[1] == std::int64_t{96} * 10'000'000 / 32768 + 1);
  CHECK(std::llabs(with.exchange[4] - fast.exchange[4] - std::int64_t{96} * 30'000'000 / 262144) <= 1);
  CHECK(of("llama-3.1-8b", {.tokens = 1024}, slow).exchange[1] > with.exchange[1]);
  auto const half = of("llama-3.1-8b", {.hidden = 500});
  CHECK(std::llabs(2 * half.exchange[3] - without.exchange[3]) <= 1);
  CHECK(of("llama-3.1-8b", {.hidden = 1000}).exchange == std::vector<std::int64_t>(7, 0));
  CHECK(of("llama-3.1-8b", {.recomputed_layers = 32}).exchange[3] > without.exchange[3]);
}

TEST_CASE("degree_cost_of: a group of any number of ranks has its own price", "[property]") {
  fabric const over{.per_node = 8, .inside = link_line{0, 400'000'000'000}, .between = link_line{0, 50'000'000'000}};
  auto const twelve = of("llama-3.1-8b", {.ranks = 12}, over), many = of("llama-3.1-8b", {.ranks = 200}, over);
  double const bytes = 32 * 4096;  // keys and values of a token in all layers
  for (std::int64_t d = 2; d <= 8; ++d)
    CHECK(within(static_cast<double>(twelve.exchange_of(d)) * 1e-12,
                 3 * bytes * static_cast<double>(d - 1) / static_cast<double>(d) / 400e9, 1e-4));
  CHECK(twelve.exchange_of(6) > twelve.exchange_of(4));
  CHECK(twelve.exchange_of(6) < twelve.exchange_of(8));
  CHECK((twelve.exchange.size() == 5 && twelve.exchange[4] == twelve.exchange_of(12)));
  for (std::int64_t d = 1; d <= 12; ++d) CHECK(twelve.exchange_of(d) == many.exchange_of(d));
  CHECK((many.exchange_by_ranks.size() == 128 && many.exchange.size() == 9));
  CHECK(many.exchange_of(200) == many.exchange.back());
  for (std::int64_t d = 1; d <= 128; d *= 2)
    CHECK(many.exchange_of(d) == many.exchange[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(d)) - 1)]);
}

TEST_CASE("degree_cost_of: bad input is refused") {
  CHECK(refusal([] { return of("llama-3.1-8b", {.utilisation = 0}); }) == "utilisation = 0 must be in [1, 1000]");
  CHECK(refusal([] { return of("llama-3.1-8b", {.utilisation = 1001}); }) == "utilisation = 1001 must be in [1, 1000]");
  CHECK(refusal([] { return of("llama-3.1-8b", {.recomputed_layers = 33}); }) == "recomputed_layers = 33 of 32 layers");
  CHECK(refusal([] { return of("llama-3.1-8b", {.hidden = -1}); }) == "hidden = -1 must be in [0, 1000]");
  CHECK(refusal([] { return of("llama-3.1-8b", {.method = context_exchange::ulysses, .ranks = 12}); }) ==
        "ranks = 12 must be a power of two with Ulysses");
  CHECK(refusal([] { return of("llama-3.1-8b", {.ranks = 0}); }) == "ranks = 0 must be in [1, 1048576]");
  CHECK(refusal([] { return of("llama-3.1-8b", {.tokens = 0}); }) == "tokens = 0 must be in [1, 1048576]");
  CHECK(refusal([] { return of("llama-3.1-8b", {.method = context_exchange::ulysses}); }) ==
        "context = 64 must divide the query heads of a device = 32");
  CHECK(refusal([] { return of("llama-3.1-8b", {}, {.per_node = 0}); }) == "per_node = 0 must be in [1, 2^24]");
  CHECK(refusal([] { return degree_cost_of(transformer{.layers = 0}, h100, datasheet_fabric(h100)); }) ==
        "layers = 0 must be in [1, 1024]");
}

TEST_CASE("tokens_that_fit: one token more does not fit") {
  sequence_parallel_setup run{.model = transformer_preset("llama-3.1-8b")};
  std::int64_t fewer = 0;
  for (auto const again : {std::uint32_t{0}, std::uint32_t{16}, std::uint32_t{32}}) {
    auto const tokens = tokens_that_fit(run, again);
    CHECK(tokens > fewer);
    CHECK(remaining_memory(run, {.capacity = tokens, .recomputed_layers = again}) >= 0);
    CHECK(remaining_memory(run, {.capacity = tokens + 1, .recomputed_layers = again}) < 0);
    fewer = tokens;
  }
  auto const on_32 = tokens_that_fit(run);
  run.devices = 64;
  CHECK(tokens_that_fit(run) > on_32);
  run.device.memory_bytes = 1;
  CHECK(tokens_that_fit(run) == 0);
  CHECK(refusal([&] { return tokens_that_fit(run, 33); }) == "recomputed_layers = 33 of 32 layers");
}

}  // namespace test_footprint_model_degree_cost
