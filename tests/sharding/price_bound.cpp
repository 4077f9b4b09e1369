// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/check_prices.hpp>
#include <ballast/sharding/price_bound.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test_sharding_price_bound {

using namespace ballast_test;

// The least time in which the rank-times, and as many passes as the tokens need and as there are ranks, fit all ranks.
std::int64_t area_bound(std::vector<std::int64_t> const& lengths, ballast::sharding_options const& o, ballast::degree_cost const& cost) {
  std::int64_t tokens = 0;
  for (auto const l : lengths) tokens += l;
  auto const ranks = static_cast<std::int64_t>(o.ranks), passes = std::max(ranks, (tokens + o.capacity - 1) / o.capacity);
  auto const fits = [&](std::int64_t time) {
    auto sum = passes * o.cost_per_pass;
    for (auto const l : lengths) {
      std::int64_t least = -1;
      for (std::int64_t d = 1; d <= ranks; d *= 2)
        if (l <= o.capacity * d && cost(l, d) + o.cost_per_pass <= time && (least < 0 || cost(l, d) * d < least)) least = cost(l, d) * d;
      if (least < 0) return false;
      sum += least;
    }
    return sum <= time * ranks;
  };
  std::int64_t low = 0, high = 1;
  while (!fits(high)) high *= 2;
  while (low < high) {
    auto const middle = low + (high - low) / 2;
    if (fits(middle))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

// 512 lengths of web text: half of them below 1100 tokens.
std::vector<std::int64_t> web_lengths(std::uint64_t seed) {
  constexpr std::int64_t quantile[] = {64, 210, 360, 560, 800, 1100, 1520, 2150, 3300, 5900, 14000};
  ballast::splitmix64 draw(seed);
  std::vector<std::int64_t> lengths(512);
  for (auto& l : lengths) {
    auto const tenth = draw() % 10;
    l = between(quantile[tenth], quantile[tenth + 1], draw);
  }
  lengths[7] = 32768;
  lengths[70] = 65536;
  return lengths;
}

TEST_CASE("price_bound: never above the optimum of 4 ranks", "[sharding][property]") {
  ballast::splitmix64 draw(20241202);
  int proved = 0, above = 0, proofs = 0, better_or_none = 0;
  constexpr int rounds = 400;
  for (int round = 0; round < rounds; ++round) {
    auto const batch = random_tiny_batch(draw);
    auto const& cost = batch.cost;
    auto const exact = exhaustive_shards(batch.lengths, batch.options, cost);
    auto const proof = price_bound(batch.lengths, batch.options, cost);
    auto const area = area_bound(batch.lengths, batch.options, cost);
    CAPTURE(round, batch.lengths, batch.options.capacity, batch.options.cost_per_pass);
    CHECK(proof.lower_bound() <= exact.independent);
    proofs += check_prices(proof, batch.lengths, batch.options, cost);
    proved += proof.lower_bound() >= area - area / 1000;
    above += proof.lower_bound() > area + area / 100;
    // From known bounds, either a better proof or none.
    auto const better = price_bound(batch.lengths, batch.options, cost, {.lower = area, .upper = exact.independent});
    better_or_none += better.per_token.empty() || (better.lower_bound() > area && better.lower_bound() <= exact.independent);
  }
  CAPTURE(above);
  CHECK(proofs == rounds);
  CHECK(proved > rounds * 9 / 10);  // the rest is lost where passes are counted whole
  CHECK(above > rounds / 10);
  CHECK(better_or_none == rounds);
}

TEST_CASE("price_bound: reaches the linear program", "[sharding]") {
  // `program` was computed by HiGHS: fractions of samples on ranks of 1 ... 24 passes need more ranks than there are.
  struct row {
    std::uint64_t seed;
    std::int64_t capacity, area, program;
  };
  for (auto const& r : {row{1, 7645, 6037882517, 6092251000}, row{1, 16573, 5067440720, 5168487400}, row{2, 16573, 5142153122, 5378221000},
                        row{3, 16573, 5427076938, 5691533600}}) {
    auto const lengths = web_lengths(r.seed);
    ballast::sharding_options const o{
        .capacity = r.capacity, .ranks = 64, .cost_per_pass = flexsp_cost_per_pass, .execution = ballast::execution::independent};
    auto const area = area_bound(lengths, o, flexsp_cost());
    auto const proof = price_bound(lengths, o, flexsp_cost(), {.lower = area, .upper = area + area / 8});
    CAPTURE(r.seed);
    CHECK(check_prices(proof, lengths, o, flexsp_cost()));
    CHECK(area == r.area);
    CHECK(proof.lower_bound() <= r.program);
    CHECK(proof.lower_bound() >= r.program - r.program / 1000);
    CHECK(proof == price_bound(lengths, o, flexsp_cost(), {.lower = area, .upper = area + area / 8}));
    // With more evaluations at least as good to the precision of the search; with one, nothing.
    CHECK(price_bound(lengths, o, flexsp_cost(), {.lower = area, .upper = area + area / 8, .evaluations = 1}).lower_bound() <=
          proof.lower_bound());
  }
}

TEST_CASE("price_bound: a proof holds for every harder batch", "[sharding][property]") {
  ballast::splitmix64 draw(5);
  for (int round = 0; round < 200; ++round) {
    auto const batch = random_tiny_batch(draw);
    auto const& lengths = batch.lengths;
    auto const& cost = batch.cost;
    auto const proof = price_bound(lengths, batch.options, cost);
    CAPTURE(round);
    auto o = batch.options;
    o.capacity -= between(0, o.capacity / 4, draw);
    CHECK(check_prices(proof, lengths, o, cost));
    o = batch.options;
    o.ranks = 2;
    CHECK(check_prices(proof, lengths, o, cost));
    o = batch.options;
    o.cost_per_pass += between(0, 1 << 28, draw);
    CHECK(check_prices(proof, lengths, o, cost));
    o = batch.options;
    o.most_ranks_shared = 2;
    CHECK(check_prices(proof, lengths, o, cost));
    auto slower = cost;
    slower.linear += between(0, 1 << 26, draw);
    slower.square += between(0, 1000, draw);
    slower.exchange[1] += between(0, 1 << 22, draw);
    CHECK(check_prices(proof, lengths, batch.options, slower));
    // One more sample: more tokens on ranks with many passes, so the proof may change, but the bound does not fall.
    auto more = lengths;
    more.push_back(between(100, batch.options.capacity, draw));
    CHECK(price_bound(more, batch.options, cost).lower_bound() >= proof.lower_bound() - proof.lower_bound() / 500);
  }
}

TEST_CASE("price_bound: no passes to save, no samples, no room", "[sharding]") {
  ballast::degree_cost const cost{.linear = 1000};
  ballast::sharding_options o{.capacity = 10, .ranks = 2};
  auto const free = price_bound(std::vector{6, 6, 6}, o, cost);
  CHECK(check_prices(free, std::vector{6, 6, 6}, o, cost));
  CHECK(free.lower_bound() == 9);
  CHECK(price_bound(std::vector<int>{}, o, cost).per_token.empty());
  CHECK(price_bound(std::vector{21}, o, cost).per_token.empty());
  CHECK(price_bound(std::vector{6, 6, 6}, o, cost, {.lower = 9, .upper = 12}).per_token.empty());
  CHECK_THROWS_AS(price_bound(std::vector{6}, o, cost, {.lower = -1}), ballast::invalid_input);
  CHECK_THROWS_AS(price_bound(std::vector{-6}, o, cost), ballast::invalid_input);
}

}  // namespace test_sharding_price_bound
