// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/version.hpp>

#include "support/catch.hpp"

#define BALLAST_TEST_PASTED(major, minor) v##major##_##minor
#define BALLAST_TEST_NAMESPACE(major, minor) BALLAST_TEST_PASTED(major, minor)

namespace test_core_version {

TEST_CASE("version: the macros and the constant are one, and the inline namespace carries it") {
  STATIC_REQUIRE(ballast::version == ballast::version_number{BALLAST_VERSION_MAJOR, BALLAST_VERSION_MINOR, BALLAST_VERSION_PATCH});
  STATIC_REQUIRE(&ballast::BALLAST_TEST_NAMESPACE(BALLAST_VERSION_MAJOR, BALLAST_VERSION_MINOR)::version == &ballast::version);
}

}  // namespace test_core_version

#undef BALLAST_TEST_NAMESPACE
#undef BALLAST_TEST_PASTED
