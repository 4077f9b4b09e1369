// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/document_mask.hpp>

#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/layout/segment_ids.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace test_layout_document_mask {

TEST_CASE("document_mask: causal blocks on the diagonal, and nothing for padding") {
  std::vector<std::int32_t> const ids{1, 1, 1, 0, 2, 2, 0};
  auto const picture = [&](bool causal) {
    std::string rows;
    auto const dense = ballast::dense_document_mask(std::span(ids), causal);
    for (std::size_t i = 0; i < dense.size(); ++i) rows += (i % 7 == 0 ? " " : "") + std::to_string(dense[i]);
    return rows;
  };
  CHECK(picture(true) == " 1000000 1100000 1110000 0000000 0000100 0000110 0000000");
  CHECK(picture(false) == " 1110000 1110000 1110000 0000000 0000110 0000110 0000000");
  STATIC_REQUIRE(std::is_trivially_copyable_v<ballast::document_mask<>>);
}

TEST_CASE("document_mask: allows exactly the pairs of each sequence, n (n + 1) / 2") {
  std::vector<std::int64_t> const lengths{5, 1, 17, 8};
  std::vector<std::uint32_t> const pack{2, 0, 3, 1};
  auto const cu = ballast::cu_seqlens(pack, lengths), padded = ballast::cu_seqlens(pack, lengths, 6);
  auto const ids = ballast::segment_ids<std::int64_t>(cu, padded, 64);
  auto const dense = ballast::dense_document_mask(std::span(ids));
  auto const all = ballast::dense_document_mask(std::span(ids), false);
  CHECK(std::accumulate(dense.begin(), dense.end(), std::int64_t{0}) == 15 + 1 + 153 + 36);
  CHECK(std::accumulate(all.begin(), all.end(), std::int64_t{0}) == 25 + 1 + 289 + 64);
  std::vector<std::int32_t> const large(65537);
  CHECK(ballast_test::refusal([&] { return ballast::dense_document_mask(std::span(large)); }) ==
        "a dense mask of 65537 tokens is too large; use document_mask or cu_seqlens");
}

}  // namespace test_layout_document_mask
