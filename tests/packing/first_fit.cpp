// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/first_fit.hpp>

#include "support/packer_suite.hpp"

namespace test_packing_first_fit {

using namespace ballast_test;

namespace {
auto const first_fit = [](auto const& lengths, ballast::packing_options const& o, auto const& cost) {
  return ballast::first_fit(lengths, o, cost);
};
}  // namespace

TEST_CASE("first_fit: is its definition, under every option") {
  is_its_definition(first_fit,
                    [](naive_items const& items) { return place_by_definition(items, given(0, items.weight.size()), rule::first); });
}

TEST_CASE("first_fit: meets a demanded number of packs or says why not") { meets_pack_counts(first_fit); }

TEST_CASE("first_fit: at most 1.7 times the fewest packs") {
  is_near_the_optimum(first_fit, [](std::int64_t packs, std::int64_t optimum) { return 10 * packs <= 17 * optimum; });
}

TEST_CASE("first_fit: corner cases, weakest arguments, widest index") {
  handles_corners(first_fit,
                  [](auto const& lengths, ballast::packing_options const& o) { return ballast::first_fit<std::uint64_t>(lengths, o); });
}

TEST_CASE("first_fit: the golden plan") { CHECK(golden_hash(first_fit) == 0x3a44d7c5d670a31cU); }

}  // namespace test_packing_first_fit
