// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/classes.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace test_core_fold_values {

using ballast::histogram;

TEST_CASE("fold_by_table: leaves out absent items where some may be, and is not done where none may be") {
  std::vector<std::int64_t> const values{3, 0, 1, 3, 0, 3};
  histogram out{{9}, {9}};
  std::vector<std::uint32_t> table;
  CHECK(ballast::fold_by_table(values.data(), values.size(), 3, true, out, table));
  CHECK(out == histogram{{1, 3}, {1, 3}});
  out = {{9}, {9}};
  CHECK_FALSE(ballast::fold_by_table(values.data(), values.size(), 3, false, out, table));
  CHECK_FALSE(ballast::fold_by_table(values.data(), values.size(), 2, true, out, table));  // a value above the limit
  CHECK(out == histogram{{9}, {9}});
}

TEST_CASE("fold: the same by a table and by sorting") {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < 1000; ++i) values.push_back(i * i % 97);
  ballast::fold_workspace workspace;
  histogram by_table, by_sorting;
  ballast::fold(values.data(), values.size(), 96, by_table, workspace);
  ballast::fold(values.data(), values.size(), std::int64_t{1} << 40, by_sorting, workspace);  // a table would be too long
  CHECK(by_table == by_sorting);
  CHECK(by_table.lengths.front() > 0);  // 0 is absent
  CHECK(by_table.samples() == 1000 - 11);
}

TEST_CASE("longest_for_a_table: grows with the samples, up to 2^24") {
  STATIC_REQUIRE(ballast::longest_for_a_table(0) == 1024);
  STATIC_REQUIRE(ballast::longest_for_a_table(1000) == 9024);
  STATIC_REQUIRE(ballast::longest_for_a_table(std::size_t{1} << 30) == std::int64_t{1} << 24);
}

}  // namespace test_core_fold_values
