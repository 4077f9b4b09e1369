// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/context_cu_seqlens.hpp>

#include <ballast/core/random.hpp>
#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/layout/segment_ids.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace test_layout_context_cu_seqlens {

using ballast_test::refusal;

TEST_CASE("context_cu_seqlens: the whole row has both arrays of cu_seqlens; a rank has the tokens of its zigzag indices") {
  auto const ranks = GENERATE(std::int64_t{1}, 2, 3, 8);
  ballast::zigzag const rule{ranks};
  ballast::splitmix64 draw(static_cast<std::uint64_t>(ranks));
  std::vector<std::int64_t> lengths(30);
  for (auto& l : lengths) l = 1 + static_cast<std::int64_t>(draw() % 60);
  ballast::groups<> packs;
  auto const order = ballast::random_permutation(lengths.size(), 1);
  for (std::size_t at = 0; at < order.size(); at += 6) packs.push_back(std::span(order).subspan(at, 6));
  packs.push_back({});

  auto const whole = ballast::context_cu_seqlens(packs, lengths, rule);
  CHECK(whole.cu_seqlens == ballast::cu_seqlens(packs, lengths));
  CHECK(whole.cu_seqlens_padded == ballast::cu_seqlens(packs, lengths, 2 * ranks));
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    auto const own = ballast::context_cu_seqlens(packs, lengths, rule, rank);
    for (std::size_t p = 0; p < packs.size(); ++p) {
      auto const part = [&](auto const& all) {
        auto const of = ballast::cu_seqlens_of(all, packs, p);
        return std::vector(of.begin(), of.end());
      };
      auto const padded = part(whole.cu_seqlens_padded);
      auto const segments = ballast::segment_ids(part(whole.cu_seqlens), padded);
      std::vector<std::int32_t> held;  // the segment ids of the tokens that the rank holds, padding included
      for (auto const t : ballast::zigzag_indices(padded, rule, rank)) held.push_back(segments[static_cast<std::size_t>(t)]);
      CHECK(ballast::segment_ids(part(own.cu_seqlens), part(own.cu_seqlens_padded)) == held);
    }
  }
}

TEST_CASE("context_cu_seqlens: bad input is named") {
  ballast::groups<> const packs{{0, 1}, {0}};
  std::vector<std::int64_t> const lengths{(std::int64_t{1} << 31) - 3};
  auto const with = [&](std::int64_t ranks, std::int64_t rank) {
    return refusal([&] { return ballast::context_cu_seqlens(packs, lengths, {ranks}, rank); });
  };
  CHECK(with(0, 0) == "ranks = 0 must be positive and below 2^31");
  CHECK(with(2, 2) == "rank = 2 must be in [0, 2), or whole_row");
  CHECK(with(2, 1) == "cu_seqlens: pack 0 holds 2147483648 tokens, more than a 32-bit cu_seqlens can address; use std::int64_t");
  CHECK(with(1, 0) == "accepted");
  std::vector<std::int32_t> two(2), one(1);
  CHECK(refusal([&] { return ballast::context_cu_seqlens(packs, lengths, {1}, 0, std::span(two), std::span(one)), 0; }) ==
        "cu_seqlens_padded: out has 1 elements, 2 are written");
}

}  // namespace test_layout_context_cu_seqlens
