// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/version.hpp>

#include "support/catch.hpp"

namespace test_core_version {

TEST_CASE("version: the macros and the constant are one, and the inline namespace carries it") {
  STATIC_REQUIRE(ballast::version == ballast::version_number{BALLAST_VERSION_MAJOR, BALLAST_VERSION_MINOR, BALLAST_VERSION_PATCH});
  CHECK(&ballast::v0_2::version == &ballast::version);
}

}  // namespace test_core_version
