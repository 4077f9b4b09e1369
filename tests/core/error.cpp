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

TEST_CASE("sentence: one of a thing is in the singular, and no other word is changed") {
  using ballast::sentence;
  CHECK(sentence("x has ", 1, " entries for ", 2, " samples") == "x has 1 entry for 2 samples");
  CHECK(sentence(1, " micro-batches, ", 1, " passes, ", 11, " steps, ", 1, " boxes") == "1 micro-batch, 1 pass, 11 steps, 1 boxes");
  CHECK(sentence(1, " times for ", 1, " levels") == "1 time for 1 level");
  CHECK(sentence("capacity = ", 1, " times ranks exceeds ", -1, " tokens") == "capacity = 1 times ranks exceeds -1 tokens");
  CHECK(sentence("member ", 1, " is out of range: there are ", 1, " samples") == "member 1 is out of range: there is 1 sample");
  CHECK(sentence("stage ", 1, " needs v1", " samples") == "stage 1 needs v1 samples");
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
