// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/coarse_cost.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace test_batching_coarse_cost {

using namespace ballast;
using ballast_test::refusal;

namespace {
chain_cost const of_405b{.tokens = {.linear = 3'540'000'000, .quadratic = 28'600},
                         .per_micro_batch = 540'000'000'000};  // about, on an H100
}

TEST_CASE("coarse_cost: a cost is rounded up once, and grows with tokens and tiles", "[property]") {
  splitmix64 draw(4);
  for (int round = 0; round < 2000; ++round) {
    auto const below = [&](std::uint64_t most) { return static_cast<std::int64_t>(draw() % most); };
    chain_cost const fine{
        .tokens = {.linear = below(1 << 20), .quadratic = below(1 << 10)}, .per_tile = below(1 << 20), .per_micro_batch = below(1 << 30)};
    coarse_cost const cost{.fine = fine, .units = 1 + below(1 << 12)};
    auto const length = below(1 << 20), tiles = below(64);
    std::array const sample{tiles, length};
    auto const exact = fine(sample);
    REQUIRE(cost.fits(sample));
    CHECK(cost(sample) == (exact + cost.units - 1) / cost.units);
    CHECK(cost(length) == (fine.tokens(length) + cost.units - 1) / cost.units);
    CHECK(cost(length + 1) >= cost(length));
    CHECK(cost.per_micro_batch() == (fine.per_micro_batch + cost.units - 1) / cost.units);
    CHECK(cost.ms_per_unit() == fine.ms_per_unit() * static_cast<double>(cost.units));
  }
}

TEST_CASE("coarse_cost: fits where the cost is below 2^63") {
  coarse_cost const one{.fine = of_405b}, many{.fine = of_405b, .units = std::int64_t{1} << 20};
  std::int64_t const long_one = std::int64_t{1} << 31;  // 1.3 * 10^23 picoseconds
  CHECK(!one.fits(long_one));
  CHECK(many.fits(long_one));
  CHECK(many(long_one) == 125'784'130'217'574'400 + 7'249'920'000'000);
  CHECK(!one.fits(-1));
  CHECK(!coarse_cost{.fine = of_405b, .units = 0}.fits(1));
  CHECK(!coarse_cost{.fine = {.tokens = {.linear = -1, .quadratic = 0}}}.fits(1));
  CHECK(!one.fits(std::array<std::int64_t, 1>{5}));
}

TEST_CASE("coarse_cost_of: a picosecond where that is enough, else the least power of two") {
  std::vector<std::int64_t> const few(1000, 4096);
  CHECK(coarse_cost_of(of_405b, few, {.capacity = 8192}) == coarse_cost{.fine = of_405b, .units = 1});
  CHECK(coarse_cost_of(of_405b, std::vector<int>{}, {.capacity = 8192}).units == 1);

  std::vector<std::int32_t> const many(10'000'000, 100'000);
  batching_options o{.capacity = 131'072, .ranks = 1024, .micro_batches = 16};
  for (std::uint64_t const stages : {1U, 16U}) {
    o.stages = stages;
    auto const cost = coarse_cost_of(of_405b, many, o);
    CAPTURE(stages, cost.units);
    auto const room = (std::int64_t{1} << 60) / static_cast<std::int64_t>(stages);
    auto const all = [&](coarse_cost const& c) {  // samples, and more micro-batches than there can be
      return static_cast<double>(c(100'000)) * 1e7 + static_cast<double>(c.per_micro_batch()) * (1e7 + 1e12 / 131'072 + 16'384);
    };
    CHECK(all(cost) < static_cast<double>(room) * 1.0001);
    CHECK(all({.fine = of_405b, .units = cost.units / 2}) > static_cast<double>(room));
    CHECK(cost(100'000) > 1'000'000'000);  // and a unit is small beside a sample
  }
}

TEST_CASE("coarse_cost_of: what is planned in the unit is not refused, and a picosecond is") {
  std::vector<std::int64_t> lengths(4000, 1'000'000);
  for (std::size_t i = 0; i < lengths.size(); i += 2) lengths[i] = 300 + static_cast<std::int64_t>(i);
  batching_options o{.capacity = 1'000'000, .ranks = 8, .micro_batches = 2};
  auto const cost = coarse_cost_of(of_405b, lengths, o);
  CHECK(cost.units > 1);
  o.cost_per_micro_batch = cost.per_micro_batch();
  auto const plan = plan_steps(lengths, o, cost);
  CHECK(plan.packs.members.size() == lengths.size());
  o.cost_per_micro_batch = of_405b.per_micro_batch;
  CHECK(refusal([&] { return plan_steps(lengths, o, of_405b.tokens); }).find("brings the sum of costs too near to 2^63") !=
        std::string::npos);
}

TEST_CASE("coarse_cost_of: refusals") {
  std::vector<std::int64_t> const one{5};
  CHECK(refusal([&] { return coarse_cost_of({.per_tile = -1}, one, {.capacity = 8}); }) ==
        "the cost of a token, a tile or a micro-batch is negative, or reaches 2^63");
  CHECK(refusal([&] { return coarse_cost_of({}, one, {.capacity = 8}, -1); }) ==
        "the cost of a token, a tile or a micro-batch is negative, or reaches 2^63");
  CHECK(refusal([&] { return coarse_cost_of({}, one, {}); }) == "capacity = 0 must be positive");
  CHECK(refusal([&] { return coarse_cost_of({}, std::vector<int>{3, 0}, {.capacity = 8}); }) == "lengths[1] = 0 must be positive");
}

}  // namespace test_batching_coarse_cost
