// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/status.hpp>

#include "support/catch.hpp"

namespace test_core_status {

TEST_CASE("status: each has a name") {
  using ballast::status;
  STATIC_REQUIRE(to_string(status::feasible) == "feasible");
  STATIC_REQUIRE(to_string(status::infeasible) == "infeasible");
  STATIC_REQUIRE(to_string(status::unknown) == "unknown");
}

}  // namespace test_core_status
