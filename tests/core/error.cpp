// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/error.hpp>

#include "support/catch.hpp"

#include <stdexcept>
#include <string>
#include <type_traits>

namespace test_core_error {

TEST_CASE("require: throws its sentence, and builds it only then") {
  int built = 0;
  auto const sentence = [&] { return ++built, std::string("capacity = 0 must be positive"); };
  ballast::require(true, sentence);
  CHECK(built == 0);
  CHECK_THROWS_AS(ballast::require(false, sentence), ballast::invalid_input);
  CHECK_THROWS_WITH(ballast::require(false, sentence), "capacity = 0 must be positive");
  CHECK(built == 2);
  STATIC_REQUIRE(std::is_base_of_v<std::invalid_argument, ballast::invalid_input>);  // a trainer needs to catch no type of ours
}

}  // namespace test_core_error
