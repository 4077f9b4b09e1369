// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/best_fit.hpp>

#include "support/packer_suite.hpp"

namespace test_packing_best_fit {

using namespace ballast_test;

namespace {
auto const best_fit = [](auto const& lengths, ballast::packing_options const& o, auto const& cost) {
  return ballast::best_fit(lengths, o, cost);
};
}  // namespace

TEST_CASE("best_fit: is its definition, under every option") {
  is_its_definition(best_fit,
                    [](naive_items const& items) { return place_by_definition(items, given(0, items.weight.size()), rule::best); });
}

TEST_CASE("best_fit: meets a demanded number of packs or says why not") { meets_pack_counts(best_fit); }

TEST_CASE("best_fit: at most 1.7 times the fewest packs") {
  is_near_the_optimum(best_fit, [](std::int64_t packs, std::int64_t optimum) { return 10 * packs <= 17 * optimum; });
}

TEST_CASE("best_fit: corner cases, weakest arguments, widest index") {
  handles_corners(best_fit,
                  [](auto const& lengths, ballast::packing_options const& o) { return ballast::best_fit<std::uint64_t>(lengths, o); });
}

TEST_CASE("best_fit: the golden plan") { CHECK(golden_hash(best_fit) == 0x28e872d1cffa7576U); }

}  // namespace test_packing_best_fit
