// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/position_ids.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace test_layout_position_ids {

using ballast_test::refusal;

TEST_CASE("position_ids: restart with each sequence, 0 behind the last") {
  std::vector<std::int32_t> const cu{0, 3, 3, 4, 8};  // the second sequence is empty
  CHECK(ballast::position_ids(cu) == std::vector<std::int32_t>{0, 1, 2, 0, 0, 1, 2, 3});
  CHECK(ballast::position_ids<std::int64_t>(cu, 10) == std::vector<std::int64_t>{0, 1, 2, 0, 0, 1, 2, 3, 0, 0});
  CHECK(ballast::position_ids(std::span(cu).first(1), 2) == std::vector<std::int32_t>{0, 0});
  CHECK(ballast::position_ids(std::span(cu).first(1)).empty());
  std::vector<std::int64_t> row(9, -1);
  ballast::position_ids(cu, std::span(row));  // every element is written
  CHECK(row == std::vector<std::int64_t>{0, 1, 2, 0, 0, 1, 2, 3, 0});
}

TEST_CASE("position_ids: bad input is named, and nothing is written") {
  std::vector<std::int32_t> row(4, -1);
  auto const into = [&](std::vector<std::int64_t> const& cu) {
    return refusal([&] { return ballast::position_ids(cu, std::span(row)), 0; });
  };
  CHECK(into({}) == "cu_seqlens must start with 0");
  CHECK(into({1, 3}) == "cu_seqlens must start with 0");
  CHECK(into({0, 3, 2}) == "cu_seqlens[2] = 2 is below its predecessor 3");
  CHECK(into({0, 5}) == "position_ids: a row of 4 tokens is too short for sequences of 5");
  CHECK(into({0, 2147483648}) == "cu_seqlens addresses 2147483648 tokens, more than 32 bits can; use std::int64_t");
  CHECK(row == std::vector<std::int32_t>(4, -1));
  CHECK(into({0, 4}) == "accepted");
}

}  // namespace test_layout_position_ids
