// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/error.hpp>

#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
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

TEST_CASE("entry: names an argument, an index and a value") {
  CHECK(ballast::entry("lengths", 17, 9000) == "lengths[17] = 9000");
  CHECK(ballast::entry("runs.values", 0, std::int8_t{-3}) == "runs.values[0] = -3");
  constexpr auto most = (std::numeric_limits<std::uint64_t>::max)();
  CHECK(ballast::entry("x", most, most) == "x[18446744073709551615] = 18446744073709551615");
}

TEST_CASE("require_index: every item has an index, or the sentence says which type would do") {
  constexpr std::uint64_t most = (std::numeric_limits<std::uint32_t>::max)();
  ballast::require_index<std::uint32_t>(most, "samples");
  ballast::require_index<std::uint64_t>(most + 1, "samples");
  CHECK_THROWS_WITH(ballast::require_index<std::uint32_t>(most + 1, "samples"),
                    "4294967296 samples need a 64-bit index: call with <std::uint64_t>");
}

TEST_CASE("find_named: the entry itself, or the names that there are") {
  struct named {
    std::string_view name;
    int value;
  };
  static constexpr std::array table{named{"one", 1}, named{"two", 2}};
  STATIC_REQUIRE(ballast::find_named(table, "two", "number").value == 2);
  CHECK(&ballast::find_named(table, "one", "number") == &table[0]);
  CHECK_THROWS_WITH(ballast::find_named(table, "", "number"), "no number \"\"; there are one, two");
}

}  // namespace test_core_error
