// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/concepts.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <span>
#include <vector>

namespace test_core_concepts {

TEST_CASE("concepts: what an algorithm takes, and what it refuses at compile time") {
  using namespace ballast;
  STATIC_REQUIRE(length_range<std::vector<int>>);
  STATIC_REQUIRE(length_range<std::span<std::uint64_t const>>);
  STATIC_REQUIRE(length_range<std::deque<short>>);
  STATIC_REQUIRE_FALSE(length_range<std::list<int>>);       // no access by position
  STATIC_REQUIRE_FALSE(length_range<std::vector<double>>);  // lengths are counted
  STATIC_REQUIRE_FALSE(length_range<std::vector<bool>>);
  STATIC_REQUIRE_FALSE(length_range<std::vector<char>>);  // text, not a number
  STATIC_REQUIRE(length_range<std::vector<std::int8_t>>);

  constexpr auto squared = [](std::int64_t l) { return l * l; };
  constexpr auto seconds = [](std::int64_t l) { return 0.5 * static_cast<double>(l); };
  auto const only_moves = [p = std::make_unique<int>(1)](std::int64_t l) { return l * *p; };
  STATIC_REQUIRE(cost_model<decltype(squared)>);
  STATIC_REQUIRE_FALSE(bounded_cost_model<decltype(squared)>);
  STATIC_REQUIRE_FALSE(cost_model<decltype(seconds)>);  // planners decide on integers: see scaled.hpp
  STATIC_REQUIRE_FALSE(cost_model<decltype(only_moves)>);

  STATIC_REQUIRE(index_type<std::uint32_t>);
  STATIC_REQUIRE(index_type<std::uint64_t>);
  STATIC_REQUIRE_FALSE(index_type<int>);

  auto const pool = [](std::size_t tasks, auto const& body) {
    for (std::size_t t = 0; t < tasks; ++t) body(t);
  };
  STATIC_REQUIRE(executor<decltype(pool)>);
  STATIC_REQUIRE_FALSE(executor<int>);
}

}  // namespace test_core_concepts
