// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/verdict.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <type_traits>

namespace test_core_verdict {

enum class fault : std::uint8_t { none, wrong };

TEST_CASE("verdict: valid where no rule is broken, equal where all four parts are") {
  using ballast::verdict;
  constexpr verdict<fault> fine{}, broken{fault::wrong, 17, 9000, 8192};
  STATIC_REQUIRE(fine.valid());
  STATIC_REQUIRE_FALSE(broken.valid());
  STATIC_REQUIRE_FALSE(verdict<fault>{fault::wrong}.valid());  // at 0
  STATIC_REQUIRE(broken == verdict<fault>{fault::wrong, 17, 9000, 8192});
  STATIC_REQUIRE(broken != verdict<fault>{fault::wrong, 17, 9000});
  STATIC_REQUIRE(broken != verdict<fault>{fault::wrong, 16, 9000, 8192});
  STATIC_REQUIRE(std::is_same_v<decltype(fine.found), std::uint64_t>);
  constexpr auto least = (std::numeric_limits<std::int64_t>::min)();
  STATIC_REQUIRE(verdict<fault, std::int64_t>{fault::wrong, 0, least, -1}.found == least);
}

}  // namespace test_core_verdict
