// SPDX-License-Identifier: Apache-2.0
#include <ballast/chunks/check.hpp>
#include <ballast/chunks/equal_time_chunks.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/cost/polynomial.hpp>

#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace test_chunks_equal_time_chunks {

using ballast::equal_time_chunks;
using ballast::make_chunks;
using ballast::quadratic_cost;
using namespace ballast_test;

namespace {

using lengths = std::vector<std::int64_t>;
std::string const fine = "valid";

/// The least longest time of a piece, over all cuts into as few pieces as the size allows, one after the other.
std::int64_t least_longest(std::int64_t length, std::int64_t size, std::function<std::int64_t(std::int64_t)> const& cost) {
  auto const pieces = (length + size - 1) / size;
  constexpr auto never = (std::numeric_limits<std::int64_t>::max)();
  std::vector<std::int64_t> best(static_cast<std::size_t>(length) + 1, never);  // of the first t tokens in p pieces
  best[0] = 0;
  for (std::int64_t p = 0; p < pieces; ++p) {
    std::vector<std::int64_t> next(best.size(), never);
    for (std::int64_t end = 1; end <= length; ++end)
      for (auto begin = (std::max)(std::int64_t{0}, end - size); begin < end; ++begin) {
        auto const before = best[static_cast<std::size_t>(begin)];
        if (before == never) continue;
        auto const piece = cost(end) - (begin == 0 ? 0 : cost(begin));
        auto& here = next[static_cast<std::size_t>(end)];
        here = (std::min)(here, (std::max)(before, piece));
      }
    best = next;
  }
  return best.back();
}

}  // namespace

TEST_CASE("equal_time_chunks: as many chunks of each kind, legal, never a longer longest chunk of a sample", "[property]") {
  ballast::splitmix64 draw(17);
  int better = 0, rounds = 0;
  for (int round = 0; round < 300; round += round_step, ++rounds) {
    auto const size = between(2, 60, draw);
    auto l = random_lengths(static_cast<std::size_t>(between(0, 60, draw)), size, draw);
    for (auto& length : l)
      if (draw() % 4 == 0) length = between(1, 6 * size, draw);
    auto const steep = between(0, 2, draw) == 0;  // few distinct times otherwise
    auto const linear = between(0, steep ? 100 : 1, draw), quadratic = between(0, steep ? 4 : 1, draw);
    quadratic_cost const cost{.linear = linear, .quadratic = quadratic};
    auto const plain = make_chunks(l, {.size = size}), plan = equal_time_chunks(l, {.size = size}, cost);
    CAPTURE(round, size, l, cost.linear, cost.quadratic);
    CHECK(describe(check_chunks(plan, l, {.size = size})) == fine);
    CHECK(plan == equal_time_chunks(l, {.size = size}, cost));
    CHECK(plan.chains == plain.chains);
    CHECK(plan.count == plain.count);
    auto const before = chunk_times(plain, cost), after = chunk_times(plan, cost);
    std::int64_t sum_before = 0, sum_after = 0;
    for (auto const t : before) sum_before += t;
    for (auto const t : after) sum_after += t;
    CHECK(sum_before == sum_after);
    std::int64_t alone_before = 0, alone_after = 0;
    for (auto const chain : plan.chains) {
      std::int64_t worst_before = 0, worst_after = 0;
      for (auto const k : chain) {
        worst_before = (std::max)(worst_before, before[k]);
        worst_after = (std::max)(worst_after, after[k]);
      }
      if (chain.size() == 1) {
        alone_before = (std::max)(alone_before, worst_before);
        alone_after = (std::max)(alone_after, worst_after);
      } else {
        CHECK(worst_after == least_longest(plan[chain.back()].front().end, size, cost));
        better += worst_after < worst_before ? 1 : 0;
      }
    }
    CHECK(alone_after <= alone_before);
  }
  CHECK(better > rounds);
}

TEST_CASE("equal_time_chunks: late pieces are shorter where attention dominates, and as even as can be where it does not") {
  quadratic_cost const attention{.linear = 0, .quadratic = 1};
  auto const plan = equal_time_chunks(lengths{100}, {.size = 60}, attention);
  REQUIRE(plan.size() == 2);
  CHECK(plan[0].front().end == 60);  // 71 would be half of the time, but the size allows 60
  auto const roomy = equal_time_chunks(lengths{100}, {.size = 80}, attention);
  CHECK(roomy[0].front().end == 71);
  auto const linear = equal_time_chunks(lengths{100}, {.size = 60}, ballast::token_cost{});
  CHECK(linear[0].front().end == 50);
  CHECK(equal_time_chunks(lengths{}, {.size = 60}, attention).size() == 0);
  CHECK(equal_time_chunks(lengths{60}, {.size = 60}, attention).size() == 1);
  auto const huge = equal_time_chunks(lengths{0x7fffffff}, {.size = 0x40000000}, ballast::token_cost{});
  CHECK(huge[0].front().end == 0x40000000);
}

TEST_CASE("equal_time_chunks: short samples are dealt by time within the size") {
  // Best fit packs 6 + 4 and 4 + 2; by time, 6 is alone and 4 + 4 + 2 share a chunk.
  quadratic_cost const cost{.linear = 0, .quadratic = 1};
  auto const plan = equal_time_chunks(lengths{6, 4, 4, 2}, {.size = 10}, cost);
  CHECK(chunk_times(plan, cost) == std::vector<std::int64_t>{36, 36});
  CHECK(chunk_times(make_chunks(lengths{6, 4, 4, 2}, {.size = 10}), cost) == std::vector<std::int64_t>{52, 20});
  // Only the packs fit: 6 + 4 and 4 + 3 + 3.
  auto const full = equal_time_chunks(lengths{6, 4, 4, 3, 3}, {.size = 10}, cost);
  CHECK(full == make_chunks(lengths{6, 4, 4, 3, 3}, {.size = 10}));
}

TEST_CASE("equal_time_chunks: the same plan on every platform") {
  auto const plan = equal_time_chunks(golden_lengths(), {.size = 512}, quadratic_cost{.linear = 100, .quadratic = 1});
  ballast::fnv1a h;
  for (auto const& r : plan.ranges)
    for (auto const value : {std::uint64_t{r.sample}, static_cast<std::uint64_t>(r.begin), static_cast<std::uint64_t>(r.end)})
      h.append(value);
  for (auto const at : plan.offsets) h.append(at);
  CHECK(h.value() == 0x3d971d512a9d9545);
}

TEST_CASE("equal_time_chunks: takes any range of integers, index type and cost; refuses misuse") {
  weakest_lengths const weak(lengths{9, 3, 20});
  auto const plan = equal_time_chunks<std::uint64_t>(weak, {.size = 8}, [](std::int64_t n) { return static_cast<std::int8_t>(n); });
  CHECK(describe(check_chunks(plan, weak, {.size = 8})) == fine);
  CHECK(refusal([] { return equal_time_chunks(lengths{3}, {}, ballast::token_cost{}); }) == "size = 0 must be positive");
  CHECK(refusal([] { return equal_time_chunks(lengths{3}, {.size = 4}, [](std::int64_t) { return -1; }); }) ==
        "lengths[0] = 3 has cost -1, outside [0, 2^63)");
  CHECK(refusal([] { return equal_time_chunks(lengths{9}, {.size = 4}, [](std::int64_t n) { return n == 9 ? 5 : 100 + n; }); }) ==
        "the cost falls below 9 tokens, from one length to a longer one");
}

}  // namespace test_chunks_equal_time_chunks
