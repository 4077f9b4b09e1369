// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/unpad_rows.hpp>

#include <ballast/core/random.hpp>
#include <ballast/layout/cu_seqlens.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace test_layout_unpad_rows {

using ballast_test::refusal;

TEST_CASE("unpad_rows: every element that is not 0 is named once, in order, and counted in its row") {
  ballast::splitmix64 draw(3);
  for (std::size_t const width : {1U, 5U, 64U}) {
    std::vector<std::int64_t> mask(20 * width);
    for (auto& m : mask) m = draw() % 3 == 0 ? 0 : 1 + static_cast<std::int64_t>(draw() % 2);
    auto const found = ballast::unpad_rows(mask, width);
    std::vector<std::int64_t> all(mask.size());
    for (auto const i : found.indices) all[static_cast<std::size_t>(i)] = mask[static_cast<std::size_t>(i)];
    CHECK(all == mask);
    CHECK(std::ranges::is_sorted(found.indices));
    REQUIRE(found.cu_seqlens.size() == 21);
    for (std::size_t r = 0; r < 20; ++r)
      for (auto k = found.cu_seqlens[r]; k < found.cu_seqlens[r + 1]; ++k)
        CHECK(static_cast<std::size_t>(found.indices[static_cast<std::size_t>(k)]) / width == r);
    CHECK(static_cast<std::size_t>(found.cu_seqlens.back()) == found.indices.size());
    CHECK(found.longest == ballast::max_seqlen(found.cu_seqlens));
  }
  bool const flags[] = {false, true, true, false, false, false};
  auto const rows = ballast::unpad_rows<std::int64_t, std::int32_t>(std::span(flags), 3);
  CHECK(rows.indices == std::vector<std::int32_t>{1, 2});
  CHECK(rows.cu_seqlens == std::vector<std::int64_t>{0, 2, 2});
  CHECK(ballast::unpad_rows(std::vector<int>{}, 3).cu_seqlens == std::vector<std::int32_t>{0});
}

TEST_CASE("unpad_rows: a mask without rows of that width is refused") {
  std::vector<std::uint8_t> const mask(7);
  CHECK(refusal([&] { return ballast::unpad_rows(mask, 0); }) == "width = 0 must be positive");
  CHECK(refusal([&] { return ballast::unpad_rows(mask, 3); }) == "unpad_rows: a mask of 7 elements has no rows of 3");
  CHECK(refusal([&] { return ballast::detail::require_mask<std::int32_t, std::int64_t>(std::size_t{1} << 31, 2); }) ==
        "unpad_rows: a mask of 2147483648 elements needs more than 32 bits; use std::int64_t");
}

}  // namespace test_layout_unpad_rows
