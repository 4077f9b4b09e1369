// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/verdict.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>

namespace test_core_verdict {

struct fault : ballast::common_fault {
  static constexpr ballast::rule wrong{"pack {index} holds {found}, more than {expected}"};
};

TEST_CASE("verdict: valid where no rule is broken, equal where all four parts are") {
  using ballast::verdict;
  constexpr verdict fine{}, broken{fault::wrong, 17, 9000, 8192};
  STATIC_REQUIRE(fine.valid());
  STATIC_REQUIRE(fine.fault == fault::none);
  STATIC_REQUIRE_FALSE(broken.valid());
  STATIC_REQUIRE_FALSE(verdict{fault::wrong}.valid());  // at 0
  STATIC_REQUIRE(broken == verdict{fault::wrong, 17, 9000, 8192});
  STATIC_REQUIRE(broken != verdict{fault::wrong_bound, 17, 9000, 8192});
  STATIC_REQUIRE(broken != verdict{fault::wrong, 17, 9000});
  STATIC_REQUIRE(broken != verdict{fault::wrong, 16, 9000, 8192});
  constexpr auto least = (std::numeric_limits<std::int64_t>::min)();
  STATIC_REQUIRE(verdict{fault::wrong, 0, least, -1}.found == least);
  STATIC_REQUIRE(verdict{fault::wrong, 0, (std::numeric_limits<std::uint64_t>::max)()}.found == -(least + 1));  // not -1
}

TEST_CASE("describe: the sentence of the rule, with the numbers of the verdict") {
  using ballast::verdict;
  CHECK(describe(verdict{}) == "valid");
  CHECK(describe(verdict{fault::wrong, 17, 9000, -2}) == "pack 17 holds 9000, more than -2");
  CHECK(describe(verdict{fault::wrong, (std::numeric_limits<std::uint64_t>::max)()}).starts_with("pack 18446744073709551615 holds 0, "));
  CHECK(describe(verdict{fault::wrong, 0, (std::numeric_limits<std::uint64_t>::max)(), 7}) ==
        "pack 0 holds 9223372036854775807 or more, more than 7");
  CHECK(describe(verdict{ballast::rule{"no number"}, 1, 2, 3}) == "no number");
  CHECK(describe(verdict{ballast::rule{"{found}"}, 1, 2, 3}) == "2");
}

}  // namespace test_core_verdict
