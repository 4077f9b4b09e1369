// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/odb.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace test_methods_odb {

namespace odb = ballast::odb;
using lengths_t = std::vector<std::int64_t>;
using ballast_test::between;
using ballast_test::refusal;
using ballast_test::round_step;

/// The fewest groups within the budget, over all ways to partition the samples.
std::size_t fewest(lengths_t const& lengths, std::int64_t budget) {
  auto best = lengths.size();
  std::vector<lengths_t> open;
  auto const place = [&](auto const& self, std::size_t i) -> void {
    if (open.size() >= best) return;
    if (i == lengths.size()) {
      best = open.size();
      return;
    }
    for (std::size_t g = 0; g < open.size(); ++g) {
      open[g].push_back(lengths[i]);
      if (*std::max_element(open[g].begin(), open[g].end()) * static_cast<std::int64_t>(open[g].size()) <= budget) self(self, i + 1);
      open[g].pop_back();
    }
    open.push_back({lengths[i]});
    self(self, i + 1);
    open.pop_back();
  };
  place(place, 0);
  return best;
}

TEST_CASE("odb: a group takes as many samples as its longest allows", "[methods]") {
  // budget 12: one of 20 alone, then two of up to 6, then four of up to 3, then the rest
  auto const groups = odb::group_by_budget(lengths_t{3, 20, 6, 2, 5, 3, 1, 1, 3}, 12);
  CHECK(groups.members == std::vector<std::uint32_t>{1, 2, 4, 0, 5, 8, 3, 6, 7});
  CHECK(groups.offsets == std::vector<std::uint64_t>{0, 1, 3, 7, 9});
  CHECK(odb::group_by_budget(lengths_t{}, 12).empty());
  CHECK(odb::group_by_budget(lengths_t{4, 4, 4}, 12).size() == 1);  // exactly full
  CHECK(odb::group_by_budget(lengths_t{4, 4, 4}, 11).size() == 2);
  CHECK(odb::group_by_budget<std::uint64_t>(std::vector<std::uint8_t>{200, 200}, 1).size() == 2);
  CHECK(odb::group_by_budget(lengths_t(7, 1), (std::numeric_limits<std::int64_t>::max)()).size() == 1);
}

TEST_CASE("odb: no grouping within the budget has fewer groups", "[methods][property]") {
  ballast::splitmix64 draw(1);
  for (int round = 0; round < 2000; round += round_step) {
    lengths_t lengths(draw() % 8);
    for (auto& l : lengths) l = between(1, 12, draw);
    auto const budget = between(1, 30, draw);
    CAPTURE(round, budget);
    REQUIRE(odb::group_by_budget(lengths, budget).size() == fewest(lengths, budget));
  }
}

TEST_CASE("odb: the target is limited by ranks with samples alone", "[methods]") {
  using counts = std::vector<odb::rank_counts>;
  CHECK(odb::group_target(counts{{3, 9}, {2, 8}, {1, 5}}) == 3);
  CHECK(odb::group_target(counts{{3, 9}, {1, 2}, {0, 0}}) == 2);  // the second has two samples
  CHECK(odb::group_target(counts{{3, 9, 5}, {2, 8, 1}}) == 1);    // the second has one slot
  CHECK(odb::group_target(counts{{3, 9, 5}, {0, 0, 0}}) == 3);    // a rank without samples needs no slot
  CHECK(odb::group_target(counts{{3, 9, 5}, {2, 8, 0}}) == 0);    // one that has no slot stops all
  CHECK(odb::group_target(counts{{0, 0}, {0, 0}}) == 0);
  CHECK(odb::group_target(counts{}) == 0);
  CHECK(refusal([] { return odb::group_target(counts{{1, 1}, {3, 2}}); }) == "ranks[1] = 3 groups do not fit 2 samples");
  CHECK(refusal([] { return odb::group_target(counts{{0, 2}}); }) == "ranks[0] = 0 groups do not fit 2 samples");
}

TEST_CASE("odb: ranks with fewer groups split, ranks with more recycle", "[methods]") {
  ballast::groups<> buffer{{0, 1, 3, 7, 9}, {1, 2, 4, 0, 5, 8, 3, 6, 7}};
  auto const more = odb::align_groups(buffer, 6);
  CHECK(more.groups.members == buffer.members);
  CHECK(more.groups.offsets == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 7, 9});  // 2 leaves 4, and 0 leaves 5, 8, 3
  CHECK(more.recycled.empty());
  CHECK(odb::align_groups(buffer, 4).groups == buffer);
  CHECK(odb::align_groups(buffer, 9).groups.size() == 9);

  auto const fewer = odb::align_groups(buffer, 2);  // four samples, and the first of those with two
  CHECK(fewer.groups.members == std::vector<std::uint32_t>{2, 4, 0, 5, 8, 3});
  CHECK(fewer.recycled == std::vector<std::uint32_t>{1, 6, 7});
  auto const oldest = odb::align_groups(buffer, 2, odb::keeping::oldest);  // the groups of samples 0 and 1
  CHECK(oldest.groups.members == std::vector<std::uint32_t>{1, 0, 5, 8, 3});
  CHECK(oldest.recycled == std::vector<std::uint32_t>{2, 4, 6, 7});
  CHECK(odb::align_groups(buffer, 0).recycled.size() == 9);
  CHECK(refusal([&] { return odb::align_groups(buffer, 10); }) == "target = 10 exceeds the 9 samples of the rank");
}

TEST_CASE("odb: every aligned round is legal", "[methods][property]") {
  ballast::splitmix64 draw(2);
  for (int round = 0; round < 3000; round += round_step) {
    auto const lengths = ballast_test::random_lengths(1 + draw() % 60, 100, draw);
    auto const budget = between(1, 400, draw);
    auto const groups = odb::group_by_budget(lengths, budget);
    auto const target = draw() % (lengths.size() + 1);
    auto const keep = draw() % 2 == 0 ? odb::keeping::most_samples : odb::keeping::oldest;
    CAPTURE(round, budget, target);
    auto const mine = odb::align_groups(groups, target, keep);
    REQUIRE(mine.groups.size() == target);
    REQUIRE(odb::check_groups(mine, lengths, budget).valid());
    REQUIRE((groups.size() <= target) == mine.recycled.empty());
    auto const kept_0 = std::find(mine.recycled.begin(), mine.recycled.end(), 0U) == mine.recycled.end();
    if (keep == odb::keeping::oldest && target > 0) REQUIRE(kept_0);
  }
}

TEST_CASE("odb: the validator names each broken rule", "[methods]") {
  lengths_t const lengths{5, 3, 3};
  using round = odb::aligned_groups<>;
  using odb::group_fault;
  auto const verdict = [&](std::vector<std::uint64_t> offsets, std::vector<std::uint32_t> members, std::vector<std::uint32_t> recycled) {
    return odb::check_groups(round{{std::move(offsets), std::move(members)}, std::move(recycled)}, lengths, 6);
  };
  CHECK(verdict({0, 1, 3}, {0, 1, 2}, {}).valid());
  CHECK(verdict({0, 2}, {1, 2}, {0}).valid());
  CHECK(verdict({0, 1, 1}, {0}, {1, 2}) == ballast::verdict<group_fault, std::int64_t>{group_fault::empty_group, 1});
  CHECK(verdict({0, 1, 2}, {0, 3}, {1, 2}) == ballast::verdict<group_fault, std::int64_t>{group_fault::unknown_sample, 1, 3});
  CHECK(verdict({0, 1}, {0}, {1, 9}) == ballast::verdict<group_fault, std::int64_t>{group_fault::unknown_sample, 1, 9});
  CHECK(verdict({0, 2}, {0, 1}, {2}) == ballast::verdict<group_fault, std::int64_t>{group_fault::over_budget, 0, 10, 6});
  CHECK(verdict({0, 1, 2}, {0, 1}, {0, 2}) == ballast::verdict<group_fault, std::int64_t>{group_fault::repeated, 0, 2, 1});
  CHECK(verdict({0, 1, 2}, {0, 1}, {}) == ballast::verdict<group_fault, std::int64_t>{group_fault::missing, 2, 0, 1});
}

TEST_CASE("odb: scaled means add up to the mean of the step, exactly", "[methods][property]") {
  ballast::splitmix64 draw(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::int64_t> units(1 + draw() % 9), sums;
    for (auto& u : units) u = draw() % 4 == 0 ? 0 : between(1, 50, draw);
    auto const ranks = static_cast<std::int64_t>(units.size());
    auto const scales = odb::mean_scales(units, {.ranks = ranks});
    auto const total = std::accumulate(units.begin(), units.end(), std::int64_t{0});
    // The mean over ranks of scale * (sum / units), times `total`, is the sum of all losses: in integers, for any sums of the groups.
    std::int64_t all = 0, scaled = 0, of_scales = 0;
    for (std::size_t g = 0; g < units.size(); ++g) {
      auto const sum = units[g] == 0 ? 0 : between(-1000, 1000, draw);
      all += sum;
      REQUIRE(scales[g].denominator == static_cast<std::uint64_t>((std::max)(total, std::int64_t{1})));
      REQUIRE(scales[g].numerator % static_cast<std::uint64_t>((std::max)(units[g], std::int64_t{1})) == 0);
      auto const per_unit = units[g] == 0 ? 0 : static_cast<std::int64_t>(scales[g].numerator) / units[g];
      scaled += per_unit * sum;
      of_scales += static_cast<std::int64_t>(scales[g].numerator);
      REQUIRE((units[g] > 0) == (scales[g].value() > 0));
    }
    REQUIRE(scaled == all * ranks * (total > 0 ? 1 : 0));
    REQUIRE(of_scales == total * ranks);
  }
  // Accumulated over two steps that the framework averages: half of each is undone.
  auto const two = odb::mean_scales(std::vector<std::int64_t>{3, 1, 2, 2},
                                    {.ranks = 2, .micro_batches = 2, .across_micro_batches = ballast::gradient_reduction::average});
  CHECK(two[0] == odb::mean_scale{12, 8});
  CHECK(two[1].value() == 0.5);
  CHECK(odb::mean_scales({}, {}).empty());
}

TEST_CASE("odb: misuse is refused", "[methods]") {
  lengths_t const lengths{3, 0};
  CHECK(refusal([&] { return odb::group_by_budget(lengths, 5); }) == "lengths[1] = 0 must be positive");
  CHECK(refusal([&] { return odb::group_by_budget(lengths, 0); }) == "budget = 0 must be positive");
  std::vector<std::int64_t> const negative{1, -2}, many{(std::int64_t{1} << 53) / 8 - 1, 1};
  CHECK(refusal([&] { return odb::mean_scales(negative, {}); }) == "units[1] = -2 must not be negative");
  CHECK(refusal([&] { return odb::mean_scales(many, {.ranks = 8}); }) ==
        "units add up to 1125899906842624; times the 8 of the gradient path this reaches 2^53");
  CHECK(refusal([&] { return odb::mean_scales(negative, {.divides_by_tokens = true}); }) ==
        "divides_by_tokens: such a framework needs the sum over a group, no mean");
}

}  // namespace test_methods_odb
