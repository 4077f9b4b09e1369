// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/tiles.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace test_cost_tiles {

namespace {

using namespace ballast;
using ballast_test::refusal;

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/// The loop over rows of tiles, in the limits of FlashAttention-3's hopper/block.h.
std::int64_t by_loop(attention_tiles const& t, std::int64_t queries, std::int64_t keys) {
  std::int64_t sum = 0;
  for (std::int64_t m = 0; m * t.rows < queries; ++m) {
    auto end = (keys + t.columns - 1) / t.columns;
    if (t.causal) end = (std::min)(end, floor_div((m + 1) * t.rows + keys - queries + t.columns - 1, t.columns));
    std::int64_t begin = 0;
    if (t.window > 0) begin = (std::max)(begin, floor_div(m * t.rows + keys - queries - (t.window - 1), t.columns));
    sum += (std::max)(std::int64_t{0}, end - begin);
  }
  return sum;
}

/// Worst relative error of the time model against throughputs of 16,384 tokens, width 128, not causal, one head.
double worst_error(tile_cost const& cost, double peak) {
  struct {
    std::int64_t length;
    double tflops;
  } const published[]{{512, 430.3}, {1024, 517.1}, {2048, 565.5}, {4096, 590.2}, {8192, 614.2}, {16384, 620.7}};
  double worst = 0;
  for (auto const& p : published) {
    auto const flops = 4.0 * 128 * static_cast<double>(p.length * p.length);
    auto const tile = 4.0 * 128 * static_cast<double>(cost.tiles.rows * cost.tiles.columns);  // FLOPs of a tile, at the peak rate
    auto const time = static_cast<double>(cost(p.length)) / static_cast<double>(cost.per_tile) * tile / peak;
    worst = std::fmax(worst, std::fabs(flops / time / p.tflops - 1));
  }
  return worst;
}

}  // namespace

TEST_CASE("tiles: the closed form is the loop, for all small sizes") {
  std::int64_t wrong = 0, cases = 0;
  for (std::int64_t rows : {1, 2, 3, 5, 8})
    for (std::int64_t columns : {1, 2, 3, 4, 7})
      for (std::int64_t window : {-1, 0, 1, 2, 5, 13, 50}) {
        attention_tiles const t{.rows = rows, .columns = columns, .causal = window >= 0, .window = (std::max)(std::int64_t{0}, window)};
        for (std::int64_t keys = 0; keys <= 40; ++keys)
          for (std::int64_t queries = 0; queries <= keys; ++queries, ++cases) wrong += t(queries, keys) != by_loop(t, queries, keys);
      }
  CHECK((wrong == 0 && cases > 100000));
}

TEST_CASE("tiles: the closed form is the loop, for kernels' shapes and real lengths") {
  splitmix64 draw(11);
  std::int64_t wrong = 0;
  for (int i = 0; i < 2000; ++i) {
    std::int64_t const rows[]{64, 80, 128, 192}, columns[]{64, 80, 96, 112, 128, 144, 176, 192};
    auto const window = draw() % 3 == 0 ? static_cast<std::int64_t>(1 + uniform_below(9000, draw)) : 0;
    attention_tiles const t{.rows = rows[draw() % 4], .columns = columns[draw() % 8], .causal = true, .window = window};
    auto const keys = static_cast<std::int64_t>(uniform_below(40000, draw));
    auto const queries = draw() % 2 == 0 ? keys : static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(keys) + 1, draw));
    REQUIRE(t.fits(keys));
    wrong += t(queries, keys) != by_loop(t, queries, keys);
  }
  CHECK(wrong == 0);
}

TEST_CASE("tiles: what a tile wastes") {
  auto const used = [](std::int64_t length, std::int64_t window) {
    attention_tiles const t{.window = window};
    auto const pairs = window > 0 ? window_pairs{.window = window}(length) : causal_pairs{}(length);
    return static_cast<double>(pairs) / static_cast<double>(t(length) * t.rows * t.columns);
  };
  struct {
    std::int64_t length;
    double share;
  } const published[]{{64, 0.13},   {128, 0.50},  {200, 0.41},  {256, 0.67},  {512, 0.80},
                      {1000, 0.85}, {2048, 0.94}, {4096, 0.97}, {16384, 0.99}};
  for (auto const& p : published) {
    CAPTURE(p.length);
    CHECK(std::fabs(used(p.length, 0) - p.share) < 0.0051);
  }
  CHECK(std::fabs(used(32768, 512) - 0.80) < 0.0051);
  STATIC_REQUIRE(attention_tiles{}(16) == attention_tiles{}(128));
  for (std::int64_t n = 0; n < 20; ++n) CHECK(attention_tiles{}(128 * n) == n * (n + 1) / 2);
}

TEST_CASE("tiles: the time model reproduces published throughputs of FlashAttention-3 on H100") {
  CHECK(worst_error({.tiles = {.rows = 128, .columns = 128, .causal = false}, .per_tile = 10, .per_row_block = 18}, 628.4) < 0.0081);
  CHECK(worst_error({.tiles = {.rows = 128, .columns = 176, .causal = false}, .per_tile = 100, .per_row_block = 128}, 640.0) < 0.0115);
  CHECK(worst_error({.tiles = {.rows = 128, .columns = 128, .causal = false}, .per_tile = 10, .per_row_block = 0}, 620.7) >
        0.44);  // FLOPs alone
  STATIC_REQUIRE(tile_cost{.heads = 3}(200) == 3 * (10 * 3 + 18 * 2));
}

TEST_CASE("tiles: fits refuses what could overflow, and what makes no sense") {
  constexpr auto far = std::int64_t{1} << 36;
  CHECK(attention_tiles{}.fits(far));
  CHECK(attention_tiles{}(far) == far / 128 * (far / 128 + 1) / 2);
  CHECK_FALSE(attention_tiles{}.fits(std::int64_t{1} << 40));
  CHECK_FALSE(attention_tiles{}.fits(-1));
  CHECK_FALSE(attention_tiles{.rows = 0}.fits(1));
  CHECK_FALSE(attention_tiles{.columns = 0}.fits(1));
  CHECK_FALSE(attention_tiles{.window = -1}.fits(1));
  CHECK_FALSE(attention_tiles{.causal = false, .window = 5}.fits(1));
  CHECK(tile_cost{}.fits(far));
  CHECK_FALSE(tile_cost{.per_tile = std::int64_t{1} << 8}.fits(far));
  CHECK_FALSE(tile_cost{.heads = -1}.fits(1));
  CHECK_FALSE(tile_cost{.per_row_block = -1}.fits(1));
}

TEST_CASE("tiles: the shapes of FlashAttention-3") {
  auto const is = [](attention_tiles const& t, std::int64_t rows, std::int64_t columns) { return t.rows == rows && t.columns == columns; };
  CHECK(is(flash_attention_3_forward(64, 64, false), 192, 192));
  CHECK(is(flash_attention_3_forward(64, 64, true), 192, 128));
  CHECK(is(flash_attention_3_forward(64, 256, true), 128, 96));
  CHECK(is(flash_attention_3_forward(64, 512, true), 64, 64));
  CHECK(is(flash_attention_3_forward(80, 80, true), 192, 144));
  CHECK(is(flash_attention_3_forward(128, 128, false), 128, 176));
  CHECK(is(flash_attention_3_forward(128, 128, true), 128, 128));
  CHECK(is(flash_attention_3_forward(192, 128, true), 128, 128));
  CHECK(is(flash_attention_3_forward(192, 192, true), 128, 112));
  CHECK(is(flash_attention_3_forward(256, 256, true, 512), 128, 64));
  CHECK(is(flash_attention_3_backward(128, false), 80, 128));
  CHECK(is(flash_attention_3_backward(128, true), 64, 128));
  CHECK(is(flash_attention_3_backward(256, true), 64, 80));
  CHECK((flash_attention_3_forward(128, 128, true, 512).window == 512 && flash_attention_3_backward(64, true).causal));
  CHECK(refusal([] { return flash_attention_3_forward(257, 64, true); }) == "qk_width = 257 must be in [1, 256]");
  CHECK(refusal([] { return flash_attention_3_forward(64, 0, true); }) == "v_width = 0 must be in [1, 512]");
  CHECK(refusal([] { return flash_attention_3_backward(0, true); }) == "qk_width = 0 must be in [1, 256]");
}

}  // namespace test_cost_tiles
