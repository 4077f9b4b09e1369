// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/shuffled.hpp>

#include "support/packer_suite.hpp"

namespace test_packing_shuffled {

using namespace ballast_test;

namespace {
std::vector<std::size_t> shuffled(naive_items const& items) {
  auto const order = ballast::random_permutation<std::uint32_t>(items.weight.size(), items.seed);
  return {order.begin(), order.end()};
}
}  // namespace

namespace {
auto const first_fit_shuffled = [](auto const& lengths, ballast::packing_options const& o, auto const& cost) {
  return ballast::first_fit_shuffled(lengths, o, cost);
};
}  // namespace

TEST_CASE("first_fit_shuffled: is its definition, under every option") {
  is_its_definition(first_fit_shuffled, [](naive_items const& items) { return place_by_definition(items, shuffled(items), rule::first); });
}

TEST_CASE("first_fit_shuffled: meets a demanded number of packs or says why not") { meets_pack_counts(first_fit_shuffled); }

TEST_CASE("first_fit_shuffled: at most 1.7 times the fewest packs") {
  is_near_the_optimum(first_fit_shuffled, [](std::int64_t packs, std::int64_t optimum) { return 10 * packs <= 17 * optimum; });
}

TEST_CASE("first_fit_shuffled: corner cases, weakest arguments, widest index") {
  handles_corners(first_fit_shuffled, [](auto const& lengths, ballast::packing_options const& o) {
    return ballast::first_fit_shuffled<std::uint64_t>(lengths, o);
  });
}

TEST_CASE("first_fit_shuffled: the golden plan") { CHECK(golden_hash(first_fit_shuffled) == 0x828b4a0f9e4906c4U); }

namespace {
auto const best_fit_shuffled = [](auto const& lengths, ballast::packing_options const& o, auto const& cost) {
  return ballast::best_fit_shuffled(lengths, o, cost);
};
}  // namespace

TEST_CASE("best_fit_shuffled: is its definition, under every option") {
  is_its_definition(best_fit_shuffled, [](naive_items const& items) { return place_by_definition(items, shuffled(items), rule::best); });
}

TEST_CASE("best_fit_shuffled: meets a demanded number of packs or says why not") { meets_pack_counts(best_fit_shuffled); }

TEST_CASE("best_fit_shuffled: at most 1.7 times the fewest packs") {
  is_near_the_optimum(best_fit_shuffled, [](std::int64_t packs, std::int64_t optimum) { return 10 * packs <= 17 * optimum; });
}

TEST_CASE("best_fit_shuffled: corner cases, weakest arguments, widest index") {
  handles_corners(best_fit_shuffled, [](auto const& lengths, ballast::packing_options const& o) {
    return ballast::best_fit_shuffled<std::uint64_t>(lengths, o);
  });
}

TEST_CASE("best_fit_shuffled: the golden plan") { CHECK(golden_hash(best_fit_shuffled) == 0x3114263e4e62a09bU); }

TEST_CASE("shuffled packers: another seed is another plan") {
  auto const lengths = golden_lengths();
  CHECK(ballast::first_fit_shuffled(lengths, {.capacity = 4096, .seed = 1}).packs !=
        ballast::first_fit_shuffled(lengths, {.capacity = 4096, .seed = 2}).packs);
  CHECK(ballast::best_fit_shuffled(lengths, {.capacity = 4096, .seed = 1}).packs !=
        ballast::best_fit_shuffled(lengths, {.capacity = 4096, .seed = 2}).packs);
}

}  // namespace test_packing_shuffled
