// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/member_lengths.hpp>

#include <ballast/packing/next_fit.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <vector>

namespace test_packing_member_lengths {

using ballast::oversize;

TEST_CASE("member_lengths: the members of the packs add up to the packed tokens under each policy") {
  auto const policy = GENERATE(oversize::set_aside, oversize::truncate, oversize::split, oversize::own);
  auto const multiple = GENERATE(std::int64_t{1}, 8);
  CAPTURE(static_cast<int>(policy), multiple);
  std::vector<int> const lengths{30, 250, 7, 97, 96, 100, 101, 1, 9000};
  ballast::packing_options const options{.capacity = 100, .sample_multiple = multiple, .pack_multiple = 3, .oversize = policy};
  auto const plan = ballast::next_fit(lengths, options);
  auto const tokens = ballast::member_lengths(lengths, plan, options);
  REQUIRE(tokens.size() == lengths.size() + plan.pieces.size());
  std::int64_t packed = 0;
  for (auto m : plan.packs.members) packed += tokens[m];
  CHECK(packed == plan.tokens);
  if (policy == oversize::split) {  // nothing of a sample is lost or doubled
    std::vector<std::int64_t> whole(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(lengths.size()));
    for (auto const& piece : plan.pieces) whole[piece.sample] += piece.length;
    CHECK(whole == std::vector<std::int64_t>(lengths.begin(), lengths.end()));
  }
}

TEST_CASE("member_lengths: refuses multiples that are not positive") {
  std::vector<int> const lengths{1};
  ballast::packing_options const options{.capacity = 1, .sample_multiple = 0};
  CHECK(ballast_test::refusal([&] { return ballast::member_lengths(lengths, ballast::packing<>{}, options); }) ==
        "sample_multiple and pack_multiple must be positive");
}

}  // namespace test_packing_member_lengths
