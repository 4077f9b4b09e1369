// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/concepts.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <list>
#include <span>
#include <vector>

namespace test_layout_concepts {

TEST_CASE("concepts of layouts: what they admit") {
  STATIC_REQUIRE(ballast::token_offset<std::int32_t>);
  STATIC_REQUIRE(ballast::token_offset<std::int64_t>);
  STATIC_REQUIRE_FALSE(ballast::token_offset<std::uint32_t>);
  STATIC_REQUIRE(ballast::cu_seqlens_range<std::vector<std::int32_t>>);
  STATIC_REQUIRE(ballast::cu_seqlens_range<std::span<std::int64_t const>>);
  STATIC_REQUIRE_FALSE(ballast::cu_seqlens_range<std::list<std::int32_t>>);
  STATIC_REQUIRE_FALSE(ballast::cu_seqlens_range<std::vector<double>>);
  STATIC_REQUIRE(ballast::pack_range<std::span<std::uint32_t const>>);
  STATIC_REQUIRE(ballast::pack_range<std::list<int>>);
  STATIC_REQUIRE_FALSE(ballast::pack_range<std::vector<float>>);
}

}  // namespace test_layout_concepts
