// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/check.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace test_core_check {

using ballast::common_fault;
using ballast::verdict;
using offsets = std::vector<std::uint64_t>;

TEST_CASE("check_offsets: names the first entry that breaks the rise from 0 to the end") {
  CHECK(ballast::check_offsets(offsets{0, 2, 2, 5}, 5).valid());
  CHECK(ballast::check_offsets(offsets{0}, 0).valid());
  CHECK(ballast::check_offsets(offsets{}, 0).valid());
  CHECK(ballast::check_offsets(offsets{}, 3) == verdict{common_fault::bad_offsets, 0, 0, 3});
  CHECK(ballast::check_offsets(offsets{1, 2}, 2) == verdict{common_fault::bad_offsets, 0, 1, 2});
  CHECK(ballast::check_offsets(offsets{0, 3, 2, 4}, 4) == verdict{common_fault::bad_offsets, 2, 2, 4});
  CHECK(ballast::check_offsets(offsets{0, 9, 4}, 4) == verdict{common_fault::bad_offsets, 1, 9, 4});
  CHECK(ballast::check_offsets(offsets{0, 3}, 4) == verdict{common_fault::bad_offsets, 1, 3, 4});
  constexpr ballast::rule other{"boundaries"};
  CHECK(ballast::check_offsets(std::vector<std::uint8_t>{0, 3}, 4, other) == verdict{other, 1, 3, 4});
}

TEST_CASE("check_certificate: the value first, then the bound") {
  CHECK(ballast::check_certificate({7, 7}, 7).valid());
  CHECK(ballast::check_certificate({7, 8}, 6U) == verdict{common_fault::wrong_value, 0, 7, 6});
  CHECK(ballast::check_certificate({7, 8}, 7) == verdict{common_fault::wrong_bound, 0, 8, 7});
  CHECK(ballast::check_certificate({-1, -1}, ~std::uint64_t{0}).fault == common_fault::wrong_value);  // -1 is not 2^64 - 1
}

TEST_CASE("occurrences: every item once") {
  constexpr ballast::rule far{"far"}, twice{"twice"}, missing{"missing"};
  ballast::occurrences seen(3, far, twice, missing);
  CHECK(seen.add(2U, 0, 0).valid());
  CHECK(seen.add(3U, 1, 0) == verdict{far, 1, 3, 3});
  CHECK(seen.add(-1, 1, 0) == verdict{far, 1, -1, 3});
  CHECK(seen.add(2U, 1, 5) == verdict{twice, 2, 5});
  CHECK(seen.complete() == verdict{missing, 0, 0, 1});
  CHECK(seen.add(0U, 1, 1).valid());
  CHECK(seen.complete() == verdict{missing, 1, 0, 1});
  CHECK(seen.add(1U, 2, 1).valid());
  CHECK(seen.complete().valid());
}

}  // namespace test_core_check
