// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/longalign.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_methods_longalign {

namespace longalign = ballast::longalign;
using lengths_t = std::vector<std::int64_t>;

TEST_CASE("longalign: packs keep the order of the data", "[methods]") {
  lengths_t const lengths{5, 4, 3, 8, 1, 1, 9};
  auto const plan =
      longalign::packing_steps(lengths, {.capacity = 10, .ranks = 2, .left_over = ballast::left_over::shorten}, ballast::token_cost{});
  CHECK(plan.packs.members == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(plan.packs.offsets == std::vector<std::uint64_t>{0, 2, 3, 6, 7});
  CHECK(plan.table == std::vector<std::uint32_t>{0, 1, 2, 3});
}

TEST_CASE("longalign: sorted batches hold neighbours in length, in random order", "[methods][property]") {
  ballast::splitmix64 draw(5);
  auto const lengths = ballast_test::random_lengths(1003, 500, draw);
  for (auto const how : {ballast::left_over::drop, ballast::left_over::shorten}) {
    ballast::batching_options const options{.capacity = 2000, .ranks = 5, .left_over = how, .seed = 1};
    auto const plan = longalign::sorted_batches(lengths, 4, options, ballast::token_cost{});
    auto const kept = how == ballast::left_over::shorten;
    REQUIRE(plan.steps() == (kept ? 51U : 50U));
    CHECK(plan.dropped.size() == (kept ? 0U : 3U));
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    std::vector<int> stands(lengths.size(), 0);
    for (std::size_t s = 0; s < plan.steps(); ++s) {
      std::pair<std::int64_t, std::int64_t> range{1000, 0};
      for (auto const pack : plan.packs_of(s)) {
        if (s < 50) CHECK(pack.size() == 4);
        for (auto i : pack) {
          ++stands[i];
          range = {(std::min)(range.first, lengths[i]), (std::max)(range.second, lengths[i])};
        }
      }
      ranges.push_back(range);
    }
    for (auto i : plan.dropped) ++stands[i];
    CHECK(std::count(stands.begin(), stands.end(), 1) == 1003);
    auto sorted = ranges;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted != ranges);
    for (std::size_t k = 1; k < sorted.size(); ++k) CHECK(sorted[k - 1].second <= sorted[k].first);
  }
}

TEST_CASE("longalign: bad input is refused", "[methods]") {
  auto const refused = [](std::uint64_t each, ballast::batching_options const& o) {
    return ballast_test::refusal([&] { (void)longalign::sorted_batches(lengths_t{1, 2}, each, o, ballast::token_cost{}); });
  };
  using ballast::left_over;
  CHECK(refused(0, {.capacity = 9, .left_over = left_over::drop}) == "samples_per_rank = 0 must be positive");
  CHECK(refused(1, {.capacity = 9, .micro_batches = 2, .left_over = left_over::drop}) == "micro_batches = 2: sorted batching has one");
  CHECK(refused(1, {.capacity = 9}) == "left_over must be drop or shorten: sorted batching neither splits nor repeats");
  CHECK(refused(2, {.capacity = 2, .left_over = left_over::drop}) == "packs[0] holds 3 tokens, more than capacity 2");
}

}  // namespace test_methods_longalign
