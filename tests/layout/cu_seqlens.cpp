// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/cu_seqlens.hpp>

#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <vector>

namespace test_layout_cu_seqlens {

using ballast_test::refusal;

TEST_CASE("cu_seqlens: each step is a length rounded up, alone and among all packs") {
  auto const multiple = GENERATE(std::int64_t{1}, 2, 7, 16);
  ballast::splitmix64 random(static_cast<std::uint64_t>(multiple));
  std::vector<int> lengths(60);
  for (auto& l : lengths) l = 1 + static_cast<int>(ballast::uniform_below(40, random));
  auto const order = ballast::random_permutation(lengths.size(), 5);
  ballast::groups<> packs;
  for (std::size_t at = 0, size = 0; at < order.size(); at += size, size = size % 4 + 1)  // sizes 0, 1, 2, 3, 4, 1, …
    packs.push_back(std::span(order).subspan(at, std::min(size, order.size() - at)));

  auto const all = ballast::cu_seqlens(packs, lengths, multiple);
  STATIC_REQUIRE(std::is_same_v<decltype(all), std::vector<std::int32_t> const>);
  REQUIRE(all.size() == packs.members.size() + packs.size());
  std::int32_t longest = 0;
  for (std::size_t p = 0; p < packs.size(); ++p) {
    auto const cu = ballast::cu_seqlens_of(all, packs, p);
    REQUIRE(cu.size() == packs[p].size() + 1);
    CHECK(cu[0] == 0);
    for (std::size_t i = 0; i < packs[p].size(); ++i) {
      auto const step = cu[i + 1] - cu[i];
      auto const length = lengths[packs[p][i]];
      CHECK(step % multiple == 0);
      CHECK((step >= length && step < length + multiple));  // the least such multiple
      longest = std::max(longest, step);
    }
    CHECK(std::ranges::equal(cu, ballast::cu_seqlens<std::int64_t>(packs[p], lengths, multiple)));
  }
  CHECK(ballast::max_seqlen(all) == longest);  // a new pack's 0 is not a step
}

TEST_CASE("cu_seqlens: members, lengths and the last sequence's edge") {
  std::vector<std::uint32_t> const pack{2, 0};
  auto const squares = std::views::iota(1, 5) | std::views::transform([](int i) { return i * i; });  // not contiguous
  CHECK(ballast::cu_seqlens(pack, squares) == std::vector<std::int32_t>{0, 9, 10});
  CHECK(ballast::cu_seqlens(std::vector<int>{}, squares) == std::vector<std::int32_t>{0});
  CHECK(ballast::max_seqlen(std::vector<std::int32_t>{0}) == 0);
  CHECK(ballast::cu_seqlens(ballast::groups<>{}, squares).empty());
}

TEST_CASE("cu_seqlens: 32 bits hold 2^31 - 1 tokens and no more") {
  std::vector<std::int64_t> lengths{(std::int64_t{1} << 31) - 2, 1, 2};
  ballast::groups<> packs;
  for (std::uint32_t i : {1U, 2U, 1U}) packs.push_back(std::span(&i, 1));
  std::vector<std::uint32_t> const fits{0, 1}, too_much{0, 2};
  CHECK(ballast::cu_seqlens(fits, lengths).back() == 2147483647);
  packs.push_back(too_much);
  CHECK(refusal([&] { return ballast::cu_seqlens(packs, lengths); }) ==
        "cu_seqlens: pack 3 holds 2147483648 tokens, more than a 32-bit cu_seqlens can address; use std::int64_t");
  CHECK(refusal([&] { return ballast::cu_seqlens(fits, lengths, 4); }) ==  // what counts is the padded length
        "cu_seqlens: the pack holds 2147483652 tokens, more than a 32-bit cu_seqlens can address; use std::int64_t");
  CHECK(ballast::cu_seqlens<std::int64_t>(packs, lengths).back() == 2147483648);

  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  lengths = {most - 1, 1, 2};
  CHECK(ballast::cu_seqlens<std::int64_t>(fits, lengths).back() == most);
  auto const beyond = "cu_seqlens: the pack holds 2^63 or more tokens, more than a 64-bit cu_seqlens can address";
  CHECK(refusal([&] { return ballast::cu_seqlens<std::int64_t>(too_much, lengths); }) == beyond);
  CHECK(refusal([&] { return ballast::cu_seqlens<std::int64_t>(fits, lengths, most); }) == beyond);  // (2^63 - 1) * 2
  CHECK(ballast::cu_seqlens<std::int64_t>(std::vector<int>{1}, lengths, most).back() == most);
}

TEST_CASE("cu_seqlens: bad input is named, and nothing is written") {
  std::vector<int> const lengths{3, 0, 4};
  std::vector<std::uint32_t> const good{0, 2}, zero{0, 1}, outside{0, 3};
  std::vector<std::int32_t> out{7, 7, 7}, small{7, 7};
  auto const into = [&](auto const& pack, auto& to, std::int64_t multiple = 1) {
    return refusal([&] { return ballast::cu_seqlens(pack, lengths, std::span(to), multiple), 0; });
  };
  CHECK(into(zero, out) == "lengths[1] = 0 must be positive and below 2^63");
  CHECK(into(outside, out) == "cu_seqlens: the pack holds member 3, but there are 3 lengths");
  CHECK(into(std::vector<int>{-1, 0}, out) == "cu_seqlens: the pack holds member -1, but there are 3 lengths");
  CHECK(into(good, small) == "cu_seqlens: out has 2 elements, 3 are written");
  CHECK(into(good, out, 0) == "multiple = 0 must be positive");
  CHECK(out == std::vector<std::int32_t>{7, 7, 7});
  CHECK(into(ballast::groups<>{{0, 1, 2}, {0, 3}}, out) == "cu_seqlens: out has 3 elements, 4 are written");
  std::vector<std::int32_t> four{7, 7, 7, 7};
  CHECK(into(ballast::groups<>{{0, 1, 2}, {0, 3}}, four) == "cu_seqlens: pack 1 holds member 3, but there are 3 lengths");
  CHECK(four == std::vector<std::int32_t>{7, 7, 7, 7});  // the first pack is good
  CHECK(into(good, out) == "accepted");
  CHECK(out == std::vector<std::int32_t>{0, 3, 7});
}

TEST_CASE("sequence_lengths: the inverse of cu_seqlens, for any first offset") {
  std::vector<int> const lengths{3, 1, 4, 1, 5};
  CHECK(ballast::sequence_lengths(ballast::cu_seqlens(std::vector<int>{0, 1, 2, 3, 4}, lengths)) == lengths);
  CHECK(ballast::sequence_lengths<std::int64_t>(std::vector<std::int64_t>{7, 7, 9}) == std::vector<std::int64_t>{0, 2});
  CHECK(ballast::sequence_lengths(std::vector<std::int32_t>{}).empty());
  CHECK(refusal([] { return ballast::sequence_lengths(std::vector<std::int32_t>{0, 2, 1}); }) ==
        "offsets[2] = 1 is below its predecessor 2");
  constexpr auto least = (std::numeric_limits<std::int64_t>::min)();
  CHECK(refusal([] { return ballast::sequence_lengths(std::vector<std::int64_t>{0, std::int64_t{1} << 31}); }) ==
        "sequence 0 of 2147483648 tokens does not fit in 32 bits");
  CHECK(refusal([] { return ballast::sequence_lengths<std::int64_t>(std::vector<std::int64_t>{least, 0}); }) ==
        "sequence 0 of 9223372036854775808 tokens does not fit in 64 bits");
}

}  // namespace test_layout_cu_seqlens
