// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/bulk.hpp>
#include <ballast/balance/longest_processing_time.hpp>

#include "suite.hpp"

namespace test_balance_bulk {

using namespace ballast_test;

namespace {
numbers loads_of(ballast::groups<> const& sets, numbers const& items, auto const& cost) {
  numbers loads;
  for (auto const set : sets) {
    loads.push_back(0);
    for (auto i : set) loads.back() += cost(items[i]);
  }
  return loads;
}
}  // namespace

TEST_CASE("bulk_longest_processing_time: every set gets the costs that it gets item by item") {
  auto const flat = [](std::int64_t l) { return l / 4 * 5; };    // several lengths of one cost, and of cost 0
  auto const falling = [](std::int64_t l) { return 1000 - l; };  // the longest are the cheapest
  auto const compare = [](numbers const& items, std::uint64_t sets, auto const& cost) {
    auto const expected = ballast::longest_processing_time(items, {.sets = sets}, cost);
    auto const plan = ballast::bulk_longest_processing_time(items, sets, cost);
    require_valid(check_balance(plan, items, {.sets = sets}, cost));
    REQUIRE(loads_of(plan.sets, items, cost) == loads_of(expected.sets, items, cost));
    REQUIRE((plan.load.value == expected.load.value && plan.load.lower_bound == expected.load.lower_bound && plan.bound == expected.bound));
    for (std::size_t s = 0; s < sets; ++s)
      REQUIRE(std::is_sorted(plan.sets[s].begin(), plan.sets[s].end(), [&](auto a, auto b) { return cost(items[a]) > cost(items[b]); }));
  };
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const sets = 1 + draw() % (seed % 3 == 0 ? 70 : 5);
    auto const count = draw() % (seed % 2 == 0 ? 2000 : 60);
    auto const longest = between(1, draw() % 2 == 0 ? 12 : 900, draw);
    auto const items = random_lengths(count, longest, draw);
    compare(items, sets, dear);
    compare(items, sets, flat);
    compare(items, sets, falling);
  }
}

TEST_CASE("bulk_longest_processing_time: runs hold the histogram, however large the counts") {
  ballast::histogram const classes{{1, 3, 1000}, {std::uint64_t{1} << 40, std::uint64_t{1} << 50, 5}};
  auto const plan = ballast::bulk_longest_processing_time(classes, 7);
  std::vector<std::uint64_t> counts(3);
  numbers loads(7);
  for (auto const& r : plan.runs) {
    counts[static_cast<std::size_t>(r.item_class)] += r.count;
    loads[r.set] += static_cast<std::int64_t>(r.count) * classes.lengths[static_cast<std::size_t>(r.item_class)];
  }
  CHECK(counts == classes.counts);
  CHECK(loads == plan.loads);
  CHECK((plan.load.value == *std::max_element(loads.begin(), loads.end()) && plan.load.optimal()));
  CHECK(plan.runs.size() == 5 + 7 + 7);
  auto const few = ballast::bulk_longest_processing_time(ballast::histogram{{4, 9}, {3, 1}}, 2);
  CHECK(few.runs == std::vector<ballast::balance_run>{{1, 0, 1}, {0, 1, 3}});
  CHECK(few.loads == numbers{9, 12});
  auto const none = ballast::bulk_longest_processing_time(ballast::histogram{}, 3);
  CHECK((none.runs.empty() && none.loads == numbers(3, 0) && none.load == ballast::certificate{}));
}

TEST_CASE("bulk_longest_processing_time: refusals, weakest arguments, widest index, golden") {
  using ballast::bulk_longest_processing_time;
  auto const most = std::uint64_t{1} << 62;
  CHECK(refusal([&] { return bulk_longest_processing_time(ballast::histogram{{1}, {most}}, 2, [](std::int64_t) { return 2; }); }) ==
        "histogram.counts[0] = 4611686018427387904 brings the sum of costs to 2^63 or more");
  CHECK(refusal([] { return bulk_longest_processing_time(ballast::histogram{{2, 1}, {1, 1}}, 2); }) ==
        "histogram.lengths[1] = 1 must be above its predecessor");
  CHECK(refusal([] { return bulk_longest_processing_time(numbers{1}, 0); }) == "sets = 0 must be in 1 ... 2^31");
  CHECK(refusal([] { return bulk_longest_processing_time(numbers{0}, 1); }) == "lengths[0] = 0 must be positive");
  ballast::splitmix64 draw(5);
  auto const items = random_lengths(300, 900, draw);
  auto const plan = bulk_longest_processing_time(items, 7);
  CHECK(bulk_longest_processing_time(weakest_lengths(items), 7, smallest_cost(2)).sets == plan.sets);
  CHECK(ballast::hash(bulk_longest_processing_time<std::uint64_t>(items, 7).sets) == ballast::hash(plan.sets));
  auto const far = bulk_longest_processing_time(numbers{std::int64_t{1} << 40, 5, std::int64_t{1} << 40}, 2);  // no table of lengths
  CHECK(far.sets == ballast::groups<>{{0, 2, 3}, {0, 1, 2}});
  CHECK(ballast::hash(bulk_longest_processing_time(golden_lengths(), 48, dear).sets) == 15044396442365715157U);
}

}  // namespace test_balance_bulk
