// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/certificate.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>

namespace test_core_certificate {

TEST_CASE("certificate: optimal where value meets bound, and the gap is their distance over the bound") {
  constexpr ballast::certificate met{7, 7}, nothing{}, above{5, 4};
  STATIC_REQUIRE(met.optimal());
  STATIC_REQUIRE(met.gap() == 0.0);
  STATIC_REQUIRE(nothing.gap() == 0.0);  // of an empty input, not 0 / 0
  STATIC_REQUIRE_FALSE(above.optimal());
  STATIC_REQUIRE(above.gap() == 0.25);
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  STATIC_REQUIRE(ballast::certificate{most, most - 1}.gap() > 0.0);  // neighbours that no double tells apart
  STATIC_REQUIRE_FALSE(ballast::certificate{most, most - 1}.optimal());
}

}  // namespace test_core_certificate
