// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/first_fit_decreasing.hpp>

#include "support/packer_suite.hpp"

namespace test_packing_first_fit_decreasing {

using namespace ballast_test;

namespace {
auto const first_fit_decreasing = [](auto const& lengths, ballast::packing_options const& o, auto const& cost) {
  return ballast::first_fit_decreasing(lengths, o, cost);
};
}  // namespace

TEST_CASE("first_fit_decreasing: is its definition, under every option") {
  is_its_definition(first_fit_decreasing, [](naive_items const& items) {
    return place_by_definition(items, decreasing(items, 0, items.weight.size()), rule::first);
  });
}

TEST_CASE("first_fit_decreasing: meets a demanded number of packs or says why not") { meets_pack_counts(first_fit_decreasing); }

TEST_CASE("first_fit_decreasing: at most 11/9 of the fewest packs and 6/9") {
  is_near_the_optimum(first_fit_decreasing, [](std::int64_t packs, std::int64_t optimum) { return 9 * packs <= 11 * optimum + 6; });
}

TEST_CASE("first_fit_decreasing: corner cases, weakest arguments, widest index") {
  handles_corners(first_fit_decreasing, [](auto const& lengths, ballast::packing_options const& o) {
    return ballast::first_fit_decreasing<std::uint64_t>(lengths, o);
  });
}

TEST_CASE("first_fit_decreasing: the golden plan") { CHECK(golden_hash(first_fit_decreasing) == 0x06f07bb38b9e436fU); }

}  // namespace test_packing_first_fit_decreasing
