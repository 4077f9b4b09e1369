// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/worst_fit.hpp>

#include "support/packer_suite.hpp"

namespace test_packing_worst_fit {

using namespace ballast_test;

namespace {
auto const worst_fit = [](auto const& lengths, ballast::packing_options const& o, auto const& cost) {
  return ballast::worst_fit(lengths, o, cost);
};
}  // namespace

TEST_CASE("worst_fit: is its definition, under every option") {
  is_its_definition(worst_fit,
                    [](naive_items const& items) { return place_by_definition(items, given(0, items.weight.size()), rule::worst); });
}

TEST_CASE("worst_fit: meets a demanded number of packs or says why not") { meets_pack_counts(worst_fit); }

TEST_CASE("worst_fit: fewer than twice the fewest packs") {
  is_near_the_optimum(worst_fit, [](std::int64_t packs, std::int64_t optimum) { return packs < 2 * optimum; });
}

TEST_CASE("worst_fit: corner cases, weakest arguments, widest index") {
  handles_corners(worst_fit,
                  [](auto const& lengths, ballast::packing_options const& o) { return ballast::worst_fit<std::uint64_t>(lengths, o); });
}

TEST_CASE("worst_fit: the golden plan") { CHECK(golden_hash(worst_fit) == 0xb89990a98a861ff7U); }

}  // namespace test_packing_worst_fit
