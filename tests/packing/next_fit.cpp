// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/next_fit.hpp>

#include "support/packer_suite.hpp"

namespace test_packing_next_fit {

using namespace ballast_test;

namespace {
auto const next_fit = [](auto const& lengths, ballast::packing_options const& o, auto const& cost) {
  return ballast::next_fit(lengths, o, cost);
};
}  // namespace

TEST_CASE("next_fit: is its definition, under every option") {
  is_its_definition(next_fit,
                    [](naive_items const& items) { return place_by_definition(items, given(0, items.weight.size()), rule::next); });
}

TEST_CASE("next_fit: meets a demanded number of packs or says why not") { meets_pack_counts(next_fit); }

TEST_CASE("next_fit: fewer than twice the fewest packs") {
  is_near_the_optimum(next_fit, [](std::int64_t packs, std::int64_t optimum) { return packs < 2 * optimum; });
}

TEST_CASE("next_fit: corner cases, weakest arguments, widest index") {
  handles_corners(next_fit,
                  [](auto const& lengths, ballast::packing_options const& o) { return ballast::next_fit<std::uint64_t>(lengths, o); });
}

TEST_CASE("next_fit: the golden plan") { CHECK(golden_hash(next_fit) == 0xd10ccc07b0f68f8aU); }

TEST_CASE("next_fit: no packing that keeps the order has fewer packs") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = between(1, 100, draw);
    auto const lengths = random_lengths(40, capacity, draw);
    std::vector<std::int64_t> fewest(lengths.size() + 1, 0);  // packs of the first i samples
    for (std::size_t i = 1; i <= lengths.size(); ++i) {
      fewest[i] = fewest[i - 1] + 1;
      std::int64_t load = 0;
      for (auto j = i; j > 0 && (load += lengths[j - 1]) <= capacity; --j) fewest[i] = (std::min)(fewest[i], fewest[j - 1] + 1);
    }
    REQUIRE(next_fit(lengths, {.capacity = capacity}, ballast::token_cost{}).count.value == fewest.back());
  }
}

}  // namespace test_packing_next_fit
