// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/vector/capacities.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace test_packing_vector_measures {

using ballast::classify;
using ballast::sample_measures;
using ballast_test::refusal;

TEST_CASE("measure_classes: rows, samples and totals", "[packing]") {
  ballast::measure_classes const classes{3, {1, 5, 1, 3, 0, 1}, {1, 2}};
  CHECK(classes.size() == 2);
  CHECK(classes.samples() == 3);
  CHECK(std::equal(classes[1].begin(), classes[1].end(), std::vector<std::int64_t>{3, 0, 1}.begin()));
  CHECK(classes.total(0) == 7);
  CHECK(classes.total(1) == 5);
  CHECK(classes.total(2) == 3);
}

TEST_CASE("sample_measures and classify: what cannot be packed throws", "[packing][error]") {
  std::vector<std::int64_t> const two{1, 2}, three{1, 2, 3}, negative{1, -4}, zero{0, 5},
      most{1, (std::numeric_limits<std::int64_t>::max)()};
  CHECK(refusal([] { return sample_measures(std::vector<std::span<std::int64_t const>>{}); }) == "samples need at least one measure");
  CHECK(refusal([&] { return sample_measures{two, three}; }) == "measure 1 has 3 values, measure 0 has 2");
  CHECK(refusal([&] { return classify(sample_measures{two, negative}); }) == "measures[1][1] = -4 must not be negative");
  CHECK(refusal([&] { return classify(sample_measures{zero, zero}); }) == "every measure of sample 0 is 0");
  CHECK(refusal([&] { return classify(sample_measures{most}); }) == "measures[0][1] = 9223372036854775807 brings a sum to 2^63 or more");
  CHECK(refusal([&] { return classify(sample_measures{zero, two}); }) == "accepted");
  CHECK(refusal([&] { ballast::require_valid(sample_measures{zero, zero}); }) == "every measure of sample 0 is 0");
  CHECK(refusal([&] { ballast::require_valid(sample_measures{two}, {.capacity = {}}); }) == "capacity has 0 entries for 1 measure");
}

}  // namespace test_packing_vector_measures
