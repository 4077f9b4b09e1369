// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/vector/measures.hpp>

#include "support/catch.hpp"
#include "support/vector_cases.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace test_packing_vector_classify {

using ballast::classify;
using ballast::sample_measures;

namespace {

/// Classes by their definition.
template <class Index>
void check_against_map(ballast::classified_samples<Index> const& found, std::vector<std::vector<std::int64_t>> const& columns) {
  std::map<std::vector<std::int64_t>, std::vector<std::uint64_t>> expected;
  for (std::size_t i = 0; i < columns[0].size(); ++i) {
    std::vector<std::int64_t> row;
    for (auto const& column : columns) row.push_back(column[i]);
    expected[row].push_back(i);
  }
  REQUIRE(found.classes.size() == expected.size());
  REQUIRE(found.begin.size() == expected.size() + 1);
  REQUIRE(found.begin[0] == 0);
  std::size_t c = 0;
  for (auto const& [row, samples] : expected) {
    REQUIRE(std::equal(row.begin(), row.end(), found.classes[c].begin(), found.classes[c].end()));
    REQUIRE(found.classes.counts[c] == samples.size());
    REQUIRE(found.begin[c + 1] - found.begin[c] == samples.size());
    REQUIRE(std::equal(samples.begin(), samples.end(), found.order.begin() + static_cast<std::ptrdiff_t>(found.begin[c])));
    ++c;
  }
  REQUIRE(found.order.size() == columns[0].size());
}

}  // namespace

TEST_CASE("classify: samples that agree in all measures, ascending, by table and by sorting", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto c = ballast_test::random_vector_case(1 + draw() % 200, 1 + seed % 4, draw);
    if (seed % 2 == 0)  // a range too wide for a table
      for (auto& v : c.columns[seed % c.measures()]) v = v * (std::int64_t{1} << 40) + 1;
    check_against_map(classify(c.samples()), c.columns);
    check_against_map(classify<std::uint64_t>(c.samples()), c.columns);
  }
}

TEST_CASE("classify: some samples only, and a last measure of ones", "[packing]") {
  std::vector<std::int64_t> const a{3, 1, 3, 2}, b{0, 5, 0, 5};
  auto const found = ballast::detail::classify<std::uint32_t>(sample_measures{a, b}, true, [](std::size_t i) { return i != 3; });
  CHECK(found.classes == ballast::measure_classes{3, {1, 5, 1, 3, 0, 1}, {1, 2}});
  CHECK(found.order == std::vector<std::uint32_t>{1, 0, 2});
  CHECK(found.begin == std::vector<std::uint64_t>{0, 1, 3});
}

TEST_CASE("classify: nothing, one sample, the largest values", "[packing]") {
  std::vector<std::int64_t> const none, one{7}, most{(std::numeric_limits<std::int64_t>::max)() - 1, 1};
  CHECK(classify(sample_measures{none, none}).classes.size() == 0);
  CHECK(classify(sample_measures{none}).begin == std::vector<std::uint64_t>{0});
  CHECK(classify(sample_measures{one}).classes == ballast::measure_classes{1, {7}, {1}});
  CHECK(classify(sample_measures{most}).order == std::vector<std::uint32_t>{1, 0});
}

}  // namespace test_packing_vector_classify
