// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/zigzag.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace test_layout_zigzag {

using ballast::zigzag;
using ballast_test::refusal;

TEST_CASE("zigzag_indices: chunk r and its mirror, sequence by sequence") {
  std::vector<std::int32_t> const cu{0, 8, 12};
  CHECK(ballast::zigzag_indices(cu, zigzag{.ranks = 2}, 0) == std::vector<std::int32_t>{0, 1, 6, 7, 8, 11});
  CHECK(ballast::zigzag_indices(cu, zigzag{.ranks = 2}, 1) == std::vector<std::int32_t>{2, 3, 4, 5, 9, 10});
  CHECK(ballast::zigzag_indices(cu, zigzag{.ranks = 1}, 0) == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(ballast::zigzag_indices(std::span(cu).first(1), zigzag{.ranks = 4}, 3).empty());
}

TEST_CASE("zigzag: the ranks share the row and the causal work, and the inverse restores it") {
  auto const ranks = GENERATE(std::int64_t{1}, 2, 3, 8);
  std::vector<std::int64_t> cu{0};
  for (std::int64_t chunk : {1, 5, 1, 12}) cu.push_back(cu.back() + 2 * ranks * chunk);
  std::vector<std::int64_t> gathered;
  std::int64_t work_of_first = 0;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    auto const mine = ballast::zigzag_indices<std::int64_t>(cu, zigzag{ranks}, rank);
    gathered.insert(gathered.end(), mine.begin(), mine.end());
    std::int64_t work = 0;  // keys seen by this rank's queries
    for (std::size_t i = 0, s = 0; i < mine.size(); ++i) {
      while (static_cast<std::int64_t>(i) >= cu[s + 1] / ranks) ++s;  // the rank's own cu_seqlens is the row's over `ranks`
      CHECK((mine[i] >= cu[s] && mine[i] < cu[s + 1]));
      work += mine[i] - cu[s] + 1;
    }
    if (rank == 0) work_of_first = work;
    CHECK(work == work_of_first);
  }
  auto const back = ballast::zigzag_inverse(cu, zigzag{ranks});
  REQUIRE(gathered.size() == static_cast<std::size_t>(cu.back()));
  REQUIRE(back.size() == gathered.size());
  for (std::size_t t = 0; t < back.size(); ++t) CHECK(gathered[static_cast<std::size_t>(back[t])] == static_cast<std::int64_t>(t));
}

TEST_CASE("zigzag: bad input is named, and nothing is written") {
  std::vector<std::int32_t> out(4, -1);
  using array = std::vector<std::int64_t>;
  auto const into = [&](array const& cu, std::int64_t ranks, std::int64_t rank) {
    return refusal([&] { return ballast::zigzag_indices(cu, zigzag{ranks}, rank, std::span(out)), 0; });
  };
  CHECK(into({0, 8, 18}, 4, 0) == "sequence 1 of 10 tokens does not divide into 8 chunks for 4 ranks (build cu_seqlens with multiple = 8)");
  CHECK(into({0, 16}, 4, 4) == "rank = 4 must be in [0, 4)");
  CHECK(into({0, 16}, 4, -1) == "rank = -1 must be in [0, 4)");
  CHECK(into({0, 16}, 0, 0) == "ranks = 0 must be positive and below 2^31");
  CHECK(into({0, 8}, 4, 0) == "zigzag_indices: out has 4 elements, 2 are written");
  CHECK(into({2, 16}, 4, 0) == "cu_seqlens must start with 0");
  CHECK(into({0, 8589934592}, 4, 0) == "cu_seqlens addresses 8589934592 tokens, more than 32 bits can; use std::int64_t");
  CHECK(refusal([&] { return ballast::zigzag_inverse(array{0, 8}, zigzag{4}, std::span(out)), 0; }) ==
        "zigzag_inverse: out has 4 elements, 8 are written");
  CHECK(out == std::vector<std::int32_t>(4, -1));
  CHECK(into({0, 16}, 4, 3) == "accepted");
}

}  // namespace test_layout_zigzag
