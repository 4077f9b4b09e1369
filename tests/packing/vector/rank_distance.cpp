// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/vector/capacities.hpp>
#include <ballast/packing/vector/rank_distance.hpp>

#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_packing_vector_rank_distance {

namespace {
ballast::groups<> in_packs(std::vector<std::vector<std::uint32_t>> const& packs) {
  ballast::groups<> out;
  for (auto const& pack : packs) out.push_back(pack);
  return out;
}
}  // namespace

TEST_CASE("rank_distances: by hand") {
  std::vector<std::int64_t> const tiles{1, 3, 0, 0, 5, 5}, tokens{10, 20, 30, 40, 50, 1000};
  ballast::sample_measures const samples{tiles, tokens};
  // Steps of two ranks: tiles 4 and 0, then 5 and 5; tokens 30 and 70, then 50 and 1000.
  auto const found = ballast::rank_distances(in_packs({{0, 1}, {2, 3}, {4}, {5}}), samples, 2);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == (0.5 + 0.0) / 2);
  CHECK(std::fabs(found[1] - ((1 - 50.0 / 70) + (1 - 525.0 / 1000)) / 2) < 1e-15);
}

TEST_CASE("rank_distances: whole steps only, and a step of nothing counts as level") {
  std::vector<std::int64_t> const tiles{0, 0, 2}, tokens{1, 1, 7};
  ballast::sample_measures const samples{tiles, tokens};
  CHECK(ballast::rank_distances(in_packs({{0}, {1}, {2}}), samples, 2) == std::vector<double>{0, 0});
  CHECK(ballast::rank_distances(in_packs({{0}, {1}, {2}}), samples, 4) == std::vector<double>{0, 0});
  CHECK(ballast::rank_distances(in_packs({{2}, {1}}), samples, 2) == std::vector<double>{0.5, 1 - 4.0 / 7});
  CHECK(ballast::rank_distances(in_packs({{2}, {1}}), samples, 1) == std::vector<double>{0, 0});
  CHECK(ballast::rank_distances(ballast::groups<>{}, samples, 2) == std::vector<double>{0, 0});
}

TEST_CASE("rank_distances: what cannot be is refused") {
  std::vector<std::int64_t> const tokens{5, -1, (std::numeric_limits<std::int64_t>::max)()};
  ballast::sample_measures const samples{tokens};
  auto const refused = [&](std::vector<std::vector<std::uint32_t>> const& packs, std::uint64_t ranks) {
    return ballast_test::refusal([&] { return ballast::rank_distances(in_packs(packs), samples, ranks); });
  };
  CHECK(refused({{0}}, 0) == "ranks = 0 must be positive");
  CHECK(refused({{0}, {3}}, 1) == "a pack holds 3, which is not the index of a sample");
  CHECK(refused({{1}}, 1) == "measure[1] = -1 must not be negative");
  CHECK(refused({{0, 2}}, 1) == "measure[2] = 9223372036854775807 brings a sum to 2^63 or more");
}

TEST_CASE("pattern_distances: those of the expanded packs in the same random order") {
  std::vector<std::int64_t> tiles, tokens;
  ballast::splitmix64 random(3);
  for (int i = 0; i < 200; ++i) {
    tiles.push_back(static_cast<std::int64_t>(ballast::uniform_below(3, random)));
    tokens.push_back(1 + static_cast<std::int64_t>(ballast::uniform_below(4, random)));
  }
  ballast::sample_measures const samples{tiles, tokens};
  auto const sorted = ballast::classify(samples);
  ballast::pack_patterns patterns;  // two samples of each class, as often as there are, then the single ones
  for (std::uint32_t c = 0; c < sorted.classes.size(); ++c) {
    std::vector<ballast::pattern_item> const two{{c, 2}}, one{{c, 1}};
    if (sorted.classes.counts[c] / 2 != 0) patterns.push_back(two, sorted.classes.counts[c] / 2);
    if (sorted.classes.counts[c] % 2 != 0) patterns.push_back(one, 1);
  }
  ballast::groups<> packs, mixed;
  ballast::detail::expand(patterns, {sorted.begin.begin(), sorted.begin.end()}, sorted.order.data(), packs);
  std::vector<std::size_t> order(packs.size());
  for (std::size_t p = 0; p < order.size(); ++p) order[p] = p;
  ballast::splitmix64 again(11);
  ballast::detail::shuffle(std::span(order), again);
  for (auto const p : order) mixed.push_back(packs[p]);
  for (std::uint64_t const ranks : {1U, 2U, 7U, 1000U}) {
    auto const found = ballast::detail::pattern_distances(patterns, sorted.classes, 2, ranks, 11);
    CHECK(found == ballast::rank_distances(mixed, samples, ranks));
    if (ranks == 7) CHECK((found[0] > 0 && found[1] > 0));
  }
}

}  // namespace test_packing_vector_rank_distance
