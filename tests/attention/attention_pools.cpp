// SPDX-License-Identifier: Apache-2.0
#include <ballast/attention/attention_pools.hpp>
#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_attention_attention_pools {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;

namespace {

/// One sample in each pack.
groups<std::uint32_t> single(std::size_t count) {
  groups<std::uint32_t> out;
  for (std::uint32_t i = 0; i < count; ++i) out.push_back(std::vector{i});
  return out;
}

/// The least largest load of any deal into pools, by trying all.
std::int64_t best_deal(numbers const& work, std::size_t pool, numbers& loads, std::vector<std::size_t>& counts, std::size_t at) {
  if (at == work.size()) return *std::max_element(loads.begin(), loads.end());
  auto best = (std::numeric_limits<std::int64_t>::max)();
  for (std::size_t s = 0; s < loads.size(); ++s) {
    if (counts[s] == pool) continue;
    ++counts[s];
    loads[s] += work[at];
    best = (std::min)(best, best_deal(work, pool, loads, counts, at + 1));
    --counts[s];
    loads[s] -= work[at];
  }
  return best;
}

}  // namespace

TEST_CASE("deal_pools: each pool has its number of packs, each pack is in one, above the bound", "[property]") {
  splitmix64 draw(1);
  for (int round = 0; round < 100; ++round) {
    auto const pool = static_cast<std::uint64_t>(between(1, 8, draw)), pools = static_cast<std::uint64_t>(between(1, 12, draw));
    auto const ranks = static_cast<std::size_t>(pool * pools);
    auto const lengths = ballast_test::random_lengths(3 * ranks, 100'000, draw);
    groups<std::uint32_t> packs;
    std::vector<std::vector<std::uint32_t>> of(ranks);
    for (std::uint32_t i = 0; i < lengths.size(); ++i) of[static_cast<std::size_t>(draw() % ranks)].push_back(i);
    for (auto const& p : of) packs.push_back(p);
    auto const plan = deal_pools(packs, lengths, {.ranks = ranks, .pool = pool});
    REQUIRE(plan.status == status::feasible);
    REQUIRE(plan.sets.size() == pools);
    std::vector<int> seen(ranks, 0);
    std::int64_t most = 0;
    for (auto const set : plan.sets) {
      CHECK(set.size() == pool);
      std::int64_t work = 0;
      for (auto const p : set) {
        ++seen[p];
        for (auto const i : packs[p]) work += lengths[i] * lengths[i];
      }
      most = (std::max)(most, work);
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    CHECK(plan.load.value == most);
    CHECK(plan.load.lower_bound <= most);
  }
}

TEST_CASE("deal_pools: close to the best of all deals, and the bound below it", "[property]") {
  splitmix64 draw(2);
  for (int round = 0; round < 40; ++round) {
    auto const pool = static_cast<std::size_t>(2 + round % 2), pools = 5 - pool;
    auto const lengths = ballast_test::random_lengths(pool * pools, 1000, draw);
    numbers work, loads(pools, 0);
    for (auto const l : lengths) work.push_back(l * l);
    std::vector<std::size_t> counts(pools, 0);
    auto const best = best_deal(work, pool, loads, counts, 0);
    auto const plan = deal_pools(single(lengths.size()), lengths, {.ranks = lengths.size(), .pool = pool});
    CHECK(plan.load.lower_bound <= best);
    CHECK(best <= plan.load.value);
    CHECK(plan.load.value * 3 <= best * 4);
  }
}

TEST_CASE("expected_pool_imbalance: what pools dealt at random show, and deal_pools is far below it", "[published]") {
  std::size_t const ranks = 128;
  splitmix64 draw(3);
  for (auto const pool : {std::size_t{2}, std::size_t{8}}) {
    double measured = 0, dealt = 0, cv = 0;
    int const rounds = 200;
    for (int round = 0; round < rounds; ++round) {
      numbers lengths(ranks);
      double sum = 0, squares = 0;
      for (auto& l : lengths) {
        auto const work = between(1, 20'000, draw);
        l = work;
        sum += static_cast<double>(work);
        squares += static_cast<double>(work) * static_cast<double>(work);
      }
      auto const mean = sum / static_cast<double>(ranks);
      cv += std::sqrt(squares / static_cast<double>(ranks) - mean * mean) / mean / rounds;
      std::int64_t most = 0;
      for (std::size_t p = 0; p < ranks; p += pool) {
        std::int64_t load = 0;
        for (std::size_t k = 0; k < pool; ++k) load += lengths[p + k];
        most = (std::max)(most, load);
      }
      auto const of_pool = mean * static_cast<double>(pool);
      measured += static_cast<double>(most) / of_pool / rounds;
      auto const plan = deal_pools(single(ranks), lengths, {.ranks = ranks, .pool = pool}, token_cost{});
      dealt += static_cast<double>(plan.load.value) / of_pool / rounds;
    }
    auto const expected = expected_pool_imbalance(cv, pool, ranks);
    CAPTURE(pool, cv, expected, measured, dealt);
    CHECK(measured - 1 > (expected - 1) * 0.6);  // the formula is the limit of many pools, which is approached from below
    CHECK(measured - 1 < (expected - 1) * 1.1);
    CHECK(dealt - 1 < (expected - 1) * 0.1);
  }
}

TEST_CASE("deal_pools: misuse") {
  numbers const lengths{1, 2, 3, 4};
  auto const call = [&](pool_options const& o) { return refusal([&] { return deal_pools(single(4), lengths, o); }); };
  CHECK(call({.ranks = 4, .pool = 2}) == "accepted");
  CHECK(call({.ranks = 0, .pool = 2}) == "ranks = 0 must be in 1 ... 2^20 - 1");
  CHECK(call({.ranks = 4, .pool = 3}) == "pool = 3 must divide ranks = 4");
  CHECK(call({.ranks = 4, .pool = 0}) == "pool = 0 must divide ranks = 4");
  CHECK(call({.ranks = 2, .pool = 1}) == "4 packs for ranks = 2");
  CHECK(refusal([&] { return deal_pools(single(4), numbers{1, 2, 3}, {.ranks = 4, .pool = 2}); }) == "packs[3] has sample 3 of 3");
  CHECK(expected_pool_imbalance(1.0, 8, 8) == 1.0);
  CHECK(refusal([] { return expected_pool_imbalance(-1.0, 1, 1); }) == "cv = -1.000000 must not be negative");
  CHECK(refusal([] { return expected_pool_imbalance(1.0, 9, 8); }) == "pool = 9 must be in 1 ... sequences = 8");
}

}  // namespace test_attention_attention_pools
