// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/segment_ids.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace test_layout_segment_ids {

using ballast_test::refusal;

TEST_CASE("segment_ids: count from 1; padding of either kind is 0") {
  std::vector<std::int32_t> const cu{0, 3, 4, 6}, padded{0, 4, 6, 8};
  CHECK(ballast::segment_ids(cu) == std::vector<std::int32_t>{1, 1, 1, 2, 3, 3});
  CHECK(ballast::segment_ids(cu, padded, 10) == std::vector<std::int32_t>{1, 1, 1, 0, 2, 0, 3, 3, 0, 0});
  CHECK(ballast::segment_ids<std::int64_t>(cu, 7) == std::vector<std::int64_t>{1, 1, 1, 2, 3, 3, 0});
  CHECK(ballast::segment_ids(std::span(cu).first(1)).empty());
  std::vector<std::int32_t> row(9, -1);
  ballast::segment_ids(cu, padded, std::span(row));  // every element is written
  CHECK(row == std::vector<std::int32_t>{1, 1, 1, 0, 2, 0, 3, 3, 0});
}

TEST_CASE("segment_ids: bad input is named, and nothing is written") {
  std::vector<std::int32_t> row(4, -1);
  using array = std::vector<std::int64_t>;
  auto const into = [&](array const& cu, array const& padded) {
    return refusal([&] { return ballast::segment_ids(cu, padded, std::span(row)), 0; });
  };
  CHECK(into({0, 2}, {0, 1, 2}) == "cu_seqlens has 2 entries but cu_seqlens_padded 3");
  CHECK(into({0, 1, 4}, {0, 2, 4}) == "sequence 1 has 3 tokens in cu_seqlens but room for only 2 in cu_seqlens_padded");
  CHECK(into({0, 1}, {1, 2}) == "cu_seqlens_padded must start with 0");
  CHECK(into({0, 1}, {0, 5}) == "segment_ids: a row of 4 tokens is too short for sequences of 5");
  CHECK(row == std::vector<std::int32_t>(4, -1));
  CHECK(into({0, 1}, {0, 4}) == "accepted");
}

}  // namespace test_layout_segment_ids
