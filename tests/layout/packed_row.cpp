// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/packed_row.hpp>

#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/layout/position_ids.hpp>
#include <ballast/layout/segment_ids.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

namespace test_layout_packed_row {

using ballast_test::refusal;

TEST_CASE("packed_row: the arrays are those of the single functions") {
  auto const multiple = GENERATE(std::int64_t{1}, 2, 7, 16);
  auto const members = GENERATE(std::size_t{0}, 1, 2, 9);
  auto const behind = GENERATE(std::size_t{0}, 1, 50);  // tokens behind the last sequence
  CAPTURE(multiple, members, behind);
  ballast::splitmix64 draw(static_cast<std::uint64_t>(multiple));
  std::vector<int> lengths(40);
  for (auto& l : lengths) l = 1 + static_cast<int>(ballast::uniform_below(30, draw));
  auto const order = ballast::random_permutation(lengths.size(), 5);
  auto const pack = std::span(order).first(members);

  auto const cu = ballast::cu_seqlens(pack, lengths);
  auto const padded = ballast::cu_seqlens(pack, lengths, multiple);
  auto const used = static_cast<std::size_t>(padded.back());
  ballast::row_options const options{.multiple = multiple, .tokens = behind == 0 ? 0 : used + behind};
  ballast::packed_row<std::int32_t> const row(pack, lengths, options);
  CHECK(std::ranges::equal(row.cu_seqlens(), cu));
  CHECK(std::ranges::equal(row.cu_seqlens_padded(), padded));
  CHECK(row.max_seqlen() == ballast::max_seqlen(padded));
  CHECK(std::ranges::equal(row.position_ids(), ballast::position_ids(padded, used + behind)));
  CHECK(std::ranges::equal(row.segment_ids(), ballast::segment_ids(cu, padded, used + behind)));
  CHECK(row.size() == ballast::packed_row_size(pack, lengths, options));
  CHECK(row.size() == ballast::row_size{members + 1, used + behind});

  // The same in the caller's memory, of other types, which held other values.
  std::vector<std::int32_t> offsets(members + 1, -1), starts(members + 1, -1);
  std::vector<std::int64_t> positions(used + behind, -1), segments(used + behind, -1);
  ballast::row_spans<std::int32_t, std::int64_t> const all{offsets, starts, positions, segments};
  CHECK(ballast::write_packed_row(pack, lengths, all, options) == row.max_seqlen());
  CHECK(std::ranges::equal(offsets, cu));
  CHECK(std::ranges::equal(starts, padded));
  CHECK(std::ranges::equal(positions, row.position_ids()));
  CHECK(std::ranges::equal(segments, row.segment_ids()));
}

TEST_CASE("packed_row: arrays that are left empty are not written, and a moved row keeps its arrays") {
  std::vector<int> const lengths{5, 3, 9};
  std::vector<std::uint32_t> const pack{0, 1};
  std::vector<std::int64_t> positions(8, -1), segments(8, -1);
  CHECK(ballast::write_packed_row(pack, lengths, ballast::row_spans<std::int32_t, std::int64_t>{.position_ids = positions}) == 5);
  CHECK(positions == std::vector<std::int64_t>{0, 1, 2, 3, 4, 0, 1, 2});
  CHECK(ballast::write_packed_row(pack, lengths, ballast::row_spans<std::int32_t, std::int64_t>{.segment_ids = segments}) == 5);
  CHECK(segments == std::vector<std::int64_t>{1, 1, 1, 1, 1, 2, 2, 2});

  auto const squares = std::views::iota(1, 5) | std::views::transform([](int i) { return i * i; });  // not contiguous
  ballast::packed_row<std::int64_t> row(std::vector<int>{2, 0}, squares);
  auto const* const memory = row.cu_seqlens().data();
  auto const moved = std::move(row);
  CHECK(moved.cu_seqlens().data() == memory);
  CHECK(std::ranges::equal(moved.cu_seqlens(), std::vector<int>{0, 9, 10}));
  CHECK(moved.segment_ids().data() == memory + 16);  // one allocation: 3, 3, 10, 10
  auto const copy = moved;
  CHECK(copy.cu_seqlens().data() != memory);
  CHECK(std::ranges::equal(copy.position_ids(), moved.position_ids()));
}

TEST_CASE("packed_row: bad input is named, and nothing is written") {
  std::vector<int> const lengths{3, 0, 4};
  std::vector<std::uint32_t> const good{0, 2};
  std::vector<std::int32_t> cu(3, 7), small(2, 7);
  std::vector<std::int64_t> positions(7, 7);
  auto const into = [&](auto const& pack, std::span<std::int32_t> to, ballast::row_options options = {}) {
    ballast::row_spans<std::int32_t, std::int64_t> const out{.cu_seqlens = to, .position_ids = positions};
    return refusal([&] { return ballast::write_packed_row(pack, lengths, out, options); });
  };
  CHECK(into(std::vector<int>{0, 1}, cu) == "lengths[1] = 0 must be positive and below 2^63");
  CHECK(into(std::vector<int>{0, 3}, cu) == "cu_seqlens: the pack holds member 3, but there are 3 lengths");
  CHECK(into(good, small) == "cu_seqlens: out has 2 elements, 3 are written");
  CHECK(into(good, cu, {.tokens = 8}) == "position_ids: out has 7 elements, 8 are written");
  CHECK(into(good, cu, {.multiple = 4}) == "position_ids: out has 7 elements, 8 are written");
  CHECK(into(good, cu, {.tokens = 6}) == "packed_row: a row of 6 tokens is too short for sequences of 7");
  CHECK(into(good, cu, {.multiple = 0}) == "multiple = 0 must be positive");
  CHECK(cu == std::vector<std::int32_t>(3, 7));
  CHECK(positions == std::vector<std::int64_t>(7, 7));
  CHECK(into(good, cu) == "accepted");
  CHECK(cu == std::vector<std::int32_t>{0, 3, 7});

  std::vector<std::int64_t> const long_ones{(std::int64_t{1} << 31) - 2, 2};
  CHECK(ballast::packed_row_size(std::vector<int>{0, 1}, long_ones).tokens == std::size_t{1} << 31);  // asked before anything is allocated
  CHECK(refusal([&] {
          return ballast::write_packed_row(std::vector<int>{0, 1}, long_ones, ballast::row_spans<std::int32_t>{.cu_seqlens = cu});
        }) == "cu_seqlens: the pack holds 2147483648 tokens, more than a 32-bit cu_seqlens can address; use std::int64_t");
}

TEST_CASE("static_rows: the arrays of all packs have one size, nothing is lost, and fillers are masked") {
  ballast::splitmix64 draw(38);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::int64_t> lengths(1 + draw() % 60);
    for (auto& l : lengths) l = 1 + static_cast<std::int64_t>(draw() % 50);
    ballast::groups<> packs;
    auto const order = ballast::random_permutation(lengths.size(), draw());
    for (std::size_t first = 0; first < order.size();) {
      auto const n = (std::min)(order.size() - first, std::size_t{1} + static_cast<std::size_t>(draw() % 9));
      packs.push_back(std::span(order).subspan(first, n));
      first += n;
    }
    std::int64_t const multiple = 1 + static_cast<std::int64_t>(draw() % 4);
    auto const by = ballast::static_rows(packs, lengths, multiple);
    CHECK(ballast::static_rows(packs, lengths, multiple, by.tokens + 5).tokens == by.tokens + 5);
    std::vector<std::int64_t> seen(lengths.size());
    auto reached = false, longest = false;
    for (auto const pack : packs) {
      ballast::packed_row<std::int32_t> const row(pack, lengths, by);
      CAPTURE(round, pack.size(), multiple);
      CHECK(row.size() == ballast::row_size{by.sequences + 1, by.tokens});
      CHECK(row.max_seqlen() == by.longest);
      auto const cu = row.cu_seqlens(), padded = row.cu_seqlens_padded();
      CHECK(padded.back() == static_cast<std::int32_t>(by.tokens));
      reached = reached || padded[pack.size()] == padded.back();
      std::int32_t masked = 0;
      for (std::size_t k = 0; k < by.sequences; ++k) {
        if (k >= pack.size()) {
          CHECK(cu[k + 1] == cu[k]);  // empty
          if (k > pack.size()) CHECK(padded[k + 1] == padded[k]);
          continue;
        }
        auto const length = lengths[pack[k]];
        seen[pack[k]] += length;
        CHECK(cu[k + 1] - cu[k] == length);
        longest = longest || padded[k + 1] - padded[k] == by.longest;
        for (auto t = padded[k]; t < padded[k + 1]; ++t)
          CHECK(row.segment_ids()[static_cast<std::size_t>(t)] == (t < padded[k] + length ? static_cast<std::int32_t>(k + 1) : 0));
      }
      longest = longest || padded.back() - padded[pack.size()] == by.longest;
      CHECK(padded.back() - padded[pack.size()] <= by.longest);
      for (auto t = static_cast<std::size_t>(padded[pack.size()]); t < by.tokens; ++t) masked += row.segment_ids()[t] != 0;
      CHECK(masked == 0);
    }
    CHECK(seen == lengths);
    CHECK((reached && longest));  // neither is larger than it must be
  }
}

TEST_CASE("packed_row: sizes that a pack exceeds are refused by name") {
  std::vector<int> const lengths{5, 3};
  std::vector<std::uint32_t> const pack{0, 1};
  auto const refused = [&](ballast::row_options const& o) {
    return refusal([&] { ballast::packed_row<std::int32_t> const row(pack, lengths, o); });
  };
  CHECK(refused({.sequences = 1}) == "packed_row: 1 sequences are too few for the 2 of the pack");
  CHECK(refused({.longest = 4}) == "packed_row: longest = 4 is below the 5 tokens of a sequence");
  CHECK(refused({.longest = std::int64_t{1} << 40}) == "packed_row: longest = 1099511627776 does not fit");
  std::vector<std::int32_t> cu(3, -1);
  ballast::row_spans<std::int32_t, std::int32_t> const offsets{.cu_seqlens = cu};
  CHECK(refusal([&] { return ballast::write_packed_row(pack, lengths, offsets, {.tokens = std::size_t{1} << 40, .sequences = 2}); }) ==
        "packed_row: the end of a row of 1099511627776 tokens does not fit in its offsets");
  CHECK(cu == std::vector<std::int32_t>(3, -1));
  CHECK(refused({.tokens = 9, .sequences = 2, .longest = 5}) == "accepted");
}

}  // namespace test_layout_packed_row
