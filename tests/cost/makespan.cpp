// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/makespan.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace test_cost_makespan {

namespace {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;

/// The tiles of every row, in the limits of FlashAttention-3's hopper/block.h.
std::vector<std::int64_t> rows_of(attention_tiles const& t, std::int64_t length) {
  std::vector<std::int64_t> rows;
  for (std::int64_t m = 0; m * t.rows < length; ++m) {
    auto end = (length + t.columns - 1) / t.columns;
    if (t.causal) end = (std::min)(end, ((m + 1) * t.rows + t.columns - 1) / t.columns);
    auto const begin = t.window == 0 ? 0 : (std::max)(std::int64_t{0}, m * t.rows - t.window + 1) / t.columns;
    rows.push_back(end - begin);
  }
  return rows;
}

attention_tiles random_tiles(splitmix64& draw) {
  attention_tiles t{.rows = between(1, 12, draw), .columns = between(1, 12, draw)};
  t.causal = draw() % 4 != 0;
  if (t.causal && draw() % 3 != 0) t.window = between(1, 60, draw);
  return t;
}

/// Throughput in TFLOP/s of 16 heads of width 128 on 132 multiprocessors, which together compute tiles at the peak rate.
double throughput(std::vector<std::int64_t> const& lengths, double flops, tile_cost const& cost, double peak) {
  auto const tile = 4.0 * 128 * static_cast<double>(cost.tiles.rows * cost.tiles.columns) / (peak / 132);
  auto const time = static_cast<double>(tile_work_of(lengths, cost).at_least(132)) / static_cast<double>(cost.per_tile) * tile;
  return 16 * flops / time;
}

}  // namespace

TEST_CASE("makespan: the widest row is that of the loop") {
  std::int64_t wrong = 0, windowed = 0;
  splitmix64 draw(3);
  for (int i = 0; i < 20000; ++i) {
    auto const t = random_tiles(draw);
    auto const length = between(0, 200, draw);
    auto const rows = rows_of(t, length);
    wrong += widest_row(t, length) != (rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end()));
    windowed += t.window != 0 && length > 2 * t.window;
  }
  CHECK((wrong == 0 && windowed > 1000));
  STATIC_REQUIRE(widest_row({.rows = 128, .columns = 96, .window = 4096}, 1'000'000) == 45);
}

TEST_CASE("makespan: pulling work tiles in any order stays within the bounds") {
  splitmix64 draw(4);
  std::int64_t wrong = 0, tight_below = 0, tight_above = 0;
  for (int i = 0; i < 2000; ++i) {
    auto const tiles = random_tiles(draw);
    tile_cost const cost{tiles, between(1, 10, draw), between(0, 20, draw), between(1, 3, draw)};
    std::vector<std::int64_t> lengths(draw() % 6), work;
    for (auto& l : lengths) l = between(0, 80, draw);
    for (auto l : lengths)
      for (std::int64_t h = 0; h < cost.heads; ++h)
        for (auto row : rows_of(tiles, l)) work.push_back(cost.per_row_block + cost.per_tile * row);
    for (std::size_t k = work.size(); k > 1; --k) std::swap(work[k - 1], work[static_cast<std::size_t>(uniform_below(k, draw))]);
    std::vector<std::int64_t> busy(static_cast<std::size_t>(between(1, 20, draw)));
    for (auto w : work) *std::min_element(busy.begin(), busy.end()) += w;
    auto const makespan = *std::max_element(busy.begin(), busy.end());
    auto const all = tile_work_of(lengths, cost);
    auto const processors = static_cast<std::int64_t>(busy.size());
    wrong += makespan < all.at_least(processors) || makespan > all.at_most(processors);
    tight_below += makespan == all.at_least(processors);
    tight_above += makespan == all.at_most(processors);
  }
  CHECK(wrong == 0);
  CHECK((tight_below > 100 && tight_above > 100));
}

TEST_CASE("makespan: published throughputs of FlashAttention-3") {
  struct published {
    std::int64_t length;
    double tflops;
  };
  tile_cost const full{.tiles = {.rows = 128, .columns = 176, .causal = false}, .per_tile = 100, .per_row_block = 128, .heads = 16};
  for (auto const& p : {published{512, 430.3}, {1024, 517.1}, {2048, 565.5}, {4096, 590.2}, {8192, 614.2}, {16384, 620.7}}) {
    CAPTURE(p.length);  // H100, 16,384 tokens
    std::vector<std::int64_t> const lengths(static_cast<std::size_t>(16384 / p.length), p.length);
    auto const found = throughput(lengths, 4.0 * 128 * 16384.0 * static_cast<double>(p.length), full, 640);
    CHECK(std::fabs(found / p.tflops - 1) < 0.0115);
  }
  tile_cost const causal{.tiles = {.rows = 128, .columns = 128}, .per_tile = 10, .per_row_block = 16, .heads = 16};
  for (auto const& p : {published{1024, 511}, {4096, 690}}) {
    CAPTURE(p.length);  // H200, 32,768 tokens
    std::vector<std::int64_t> const lengths(static_cast<std::size_t>(32768 / p.length), p.length);
    auto const found = throughput(lengths, 2.0 * 128 * 32768.0 * static_cast<double>(p.length), causal, 780);
    CHECK(std::fabs(found / p.tflops - 1) < 0.005);
  }
}

TEST_CASE("makespan: nothing to do, one long sequence, and what does not fit") {
  CHECK(tile_work_of(std::vector<int>{}, {}) == tile_work{});
  CHECK(tile_work_of(std::vector<int>{0, 0}, {}) == tile_work{});
  CHECK(tile_work_of(std::vector<int>{500}, {.heads = 0}) == tile_work{});
  STATIC_REQUIRE(tile_work_of(1024, {}) == tile_work{10 * 36 + 18 * 8, 18 + 10 * 8});
  STATIC_REQUIRE(tile_work{504, 98}.at_least(4) == 126);
  STATIC_REQUIRE(tile_work{504, 98}.at_least(132) == 98);
  STATIC_REQUIRE(tile_work{504, 98}.at_most(4) == 199);
  CHECK(refusal([] { return tile_work_of(std::vector<int>{1, -1}, {}); }) ==
        "lengths[1] = -1 has a cost that is negative, not a number or too large for 63 bits");
  auto const long_one = std::int64_t{1} << 36;
  CHECK(refusal([&] { return tile_work_of(std::vector{long_one, long_one}, {.per_tile = 60}); }) ==
        "lengths[1] = 68719476736 brings the sum of costs to 2^63 or more");
}

}  // namespace test_cost_makespan
