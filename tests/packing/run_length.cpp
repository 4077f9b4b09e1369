// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/item_by_item.hpp"
#include "support/refusal.hpp"

#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/run_length.hpp>

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

namespace test_packing_run_length {

using ballast_test::lengths_of_shape;
using ballast_test::refusal;

TEST_CASE("plan_best_fit_decreasing: every position leads to its pack, slot and offset", "[packing][property]") {
  auto const shape = GENERATE(0, 1, 2, 3, 4);
  auto const capacity = GENERATE(std::int64_t{7}, std::int64_t{512}, std::int64_t{4000});
  auto const most = GENERATE(std::uint64_t{0}, std::uint64_t{4});
  auto const multiple = GENERATE(std::int64_t{1}, std::int64_t{6});
  CAPTURE(shape, capacity, most, multiple);
  auto const largest = capacity / multiple * multiple;
  auto const lengths = lengths_of_shape(shape, 1500, largest, 77);
  ballast::packing_options const options{.capacity = capacity, .max_samples = most, .sample_multiple = multiple};
  auto const plan = ballast::plan_best_fit_decreasing(ballast::fold(lengths), options);
  auto const packs = ballast::best_fit_decreasing(lengths, options).packs;
  REQUIRE(plan.packs == packs.size());
  REQUIRE(plan.samples == lengths.size());

  auto const weight = [&](std::uint32_t i) { return (lengths[i] + multiple - 1) / multiple * multiple; };
  std::vector<std::uint32_t> canonical(lengths.size());
  std::iota(canonical.begin(), canonical.end(), 0U);
  std::sort(canonical.begin(), canonical.end(), [&](auto a, auto b) { return std::pair(-weight(a), a) < std::pair(-weight(b), b); });
  for (std::size_t p = 0; p < canonical.size(); ++p) {
    auto const at = plan.at(p);
    REQUIRE(at.pack < packs.size());
    auto const pack = packs[at.pack];
    REQUIRE(at.slot < pack.size());
    REQUIRE(pack[at.slot] == canonical[p]);
    REQUIRE(packs.members[at.member] == canonical[p]);
    std::int64_t offset = 0;
    for (std::size_t s = 0; s < at.slot; ++s) offset += weight(pack[s]);
    REQUIRE(at.offset == offset);
  }
}

TEST_CASE("count_packs: the number that packing finds, under every option", "[packing][property]") {
  using ballast::oversize;
  auto const policy = GENERATE(oversize::set_aside, oversize::truncate, oversize::split, oversize::alone);
  auto const multiple = GENERATE(std::int64_t{1}, std::int64_t{6});
  auto const count_multiple = GENERATE(std::uint64_t{1}, std::uint64_t{16}, std::uint64_t{5000});
  auto const most = GENERATE(std::uint64_t{0}, std::uint64_t{2});
  for (int shape = 0; shape < 5; ++shape) {
    CAPTURE(shape, int(policy), multiple, count_multiple, most);
    auto const lengths = lengths_of_shape(shape, 1000, 3000, 4);
    ballast::packing_options const options{
        .capacity = 800, .max_samples = most, .sample_multiple = multiple, .pack_count_multiple = count_multiple, .oversize = policy};
    auto const packed = ballast::best_fit_decreasing(lengths, options);
    auto const tally = ballast::count_packs(ballast::fold(lengths), options);
    CHECK(tally.status == packed.status);
    CHECK(tally.count == packed.count);
    CHECK(tally.bound == packed.bound);
    CHECK(tally.tokens == packed.tokens);
    CHECK(tally.set_aside == packed.set_aside.size());
  }
}

TEST_CASE("count_packs: refuses what packing refuses, and nothing else", "[packing][property][error]") {
  auto const most = (std::numeric_limits<std::int64_t>::max)();
  int refusals = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const pick = [&](std::initializer_list<std::int64_t> values) { return values.begin()[draw() % values.size()]; };
    ballast::packing_options o;
    o.capacity = pick({-1, 0, 1, 5, 8, 8, 100, 100, most - 1, most});
    o.sample_multiple = pick({-2, 0, 1, 1, 1, 4, 16, most});
    o.pack_multiple = pick({0, 1, 1, 1, 3, 16, most});
    o.max_samples = draw() % 3;
    o.pack_count_multiple = static_cast<std::uint64_t>(pick({0, 1, 1, 1, 2, most}));
    o.pack_count = static_cast<std::uint64_t>(pick({0, 0, 0, 3, 4, most}));
    o.oversize = static_cast<ballast::oversize>(draw() % 5);
    std::vector<std::int64_t> lengths(draw() % 4);
    auto const huge = o.capacity > 100 && draw() % 2 == 0;  // elsewhere split would make a piece of every eighth token
    for (auto& l : lengths) l = huge ? pick({most, most / 2, most / 3, 1}) : pick({1, 2, 3, 8, 9, 40, 900});
    CAPTURE(seed, o.capacity, o.sample_multiple, o.pack_multiple, int(o.oversize), lengths);
    auto const folded = refusal([&] { return ballast::fold(lengths); });
    auto const packed = refusal([&] { return ballast::best_fit_decreasing<std::uint64_t>(lengths, o); });
    auto const counted = folded != "accepted" ? folded : refusal([&] { return ballast::count_packs(ballast::fold(lengths), o); });
    INFO(packed + " / " + counted);
    REQUIRE((packed == "accepted") == (counted == "accepted"));
    refusals += packed == "accepted" ? 0 : 1;
    if (packed == "accepted")
      REQUIRE(ballast::count_packs(ballast::fold(lengths), o).count == ballast::best_fit_decreasing<std::uint64_t>(lengths, o).count);
  }
  CHECK(refusals > 1000);
  CHECK(refusals < 2900);
}

TEST_CASE("count_packs: a billion samples", "[packing]") {
  ballast::histogram h;
  for (std::int64_t l = 1; l <= 100; ++l) {
    h.lengths.push_back(l);
    h.counts.push_back(10'000'000);
  }
  auto const tally = ballast::count_packs(h, {.capacity = 100});
  CHECK(tally.count.value == 505'000'000);  // 100, 99 + 1, 98 + 2, …, 50 + 50
  CHECK(tally.count.optimal());
  CHECK(tally.tokens == 50'500'000'000);
}

TEST_CASE("plans on histograms refuse what they cannot hold", "[packing][error]") {
  ballast::histogram const h{{3, 9}, {1, 1}};
  CHECK(refusal([&] { return ballast::plan_best_fit_decreasing(h, {.capacity = 8}); }) ==
        "histogram.lengths[1] = 9 exceeds capacity 8 (see oversize policy)");
  CHECK(refusal([&] { return ballast::plan_best_fit_decreasing(h, {.capacity = 9, .pack_count_multiple = 2}); }) ==
        "a plan of runs takes no over-size policy and no demanded number of packs: use best_fit_decreasing on the lengths");
  CHECK(refusal([] { return ballast::count_packs({{3, 3}, {1, 1}}, {.capacity = 9}); }) ==
        "histogram.lengths[1] = 3 must be above its predecessor");
  CHECK(refusal([] { return ballast::count_packs({{3}, {0}}, {.capacity = 9}); }) == "histogram.counts[0] = 0 must be positive");
  CHECK(refusal([] { return ballast::count_packs({{3}, {std::uint64_t{1} << 62}}, {.capacity = 9}); }) ==
        "histogram.counts[0] = 4611686018427387904 brings the sum of lengths to 2^63 or more");
  CHECK(ballast::count_packs({}, {.capacity = 9}).count.optimal());
}

}  // namespace test_packing_run_length
