// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/chain_runs.hpp>
#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_core_chain_runs {

using ballast::chain_runs;
using ballast::fold_runs;

TEST_CASE("fold_runs: unfolds to the chain, and no two neighbours are equal") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const count = static_cast<std::size_t>(ballast::uniform_below(40, draw));
    std::vector<std::int64_t> chain(count);
    for (auto& x : chain) x = static_cast<std::int64_t>(ballast::uniform_below(3, draw)) - 1;
    auto const runs = fold_runs(count, [&](std::uint64_t a, std::uint64_t b) { return chain[a] == chain[b]; });
    require_valid(runs);
    std::vector<std::int64_t> unfolded;
    for (std::size_t r = 0; r < runs.size(); ++r) {
      unfolded.insert(unfolded.end(), static_cast<std::size_t>(runs.counts[r]), chain[static_cast<std::size_t>(runs.values[r])]);
      if (r > 0) REQUIRE(unfolded.back() != chain[static_cast<std::size_t>(runs.values[r]) - 1]);
    }
    REQUIRE(unfolded == chain);
  }
}

TEST_CASE("fold_runs: by a relation, where an item is more than a number") {
  std::vector<std::vector<int>> const layers{{1, 2}, {1, 2}, {1, 3}, {1, 2}};
  auto const runs = fold_runs(layers.size(), [&](std::uint64_t a, std::uint64_t b) { return layers[a] == layers[b]; });
  CHECK(runs == chain_runs{{0, 2, 3}, {2, 1, 1}});
  CHECK(fold_runs(0, [](std::uint64_t, std::uint64_t) { return true; }) == chain_runs{});
}

TEST_CASE("chain_runs: refusals") {
  auto const says = [](chain_runs const& runs) {
    return ballast_test::refusal([&] {
      require_valid(runs);
      return 0;
    });
  };
  CHECK(says({{1, 1}, {2, 3}}) == "accepted");  // equal neighbours are allowed
  CHECK(says({{1, 2}, {2}}) == "runs: 2 values but 1 count");
  CHECK(says({{1, 2}, {2, 0}}) == "runs.counts[1] = 0 must be positive");
  CHECK(says({{1, 2}, {1, (std::numeric_limits<std::uint64_t>::max)() / 2}}) ==
        "runs.counts[1] = 9223372036854775807 brings the number of items to 2^63 or more");
}

}  // namespace test_core_chain_runs
