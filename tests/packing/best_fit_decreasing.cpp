// SPDX-License-Identifier: Apache-2.0
#include "support/catch.hpp"
#include "support/item_by_item.hpp"
#include "support/rounds.hpp"

#include <ballast/core/hash.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/expand.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/run_length.hpp>

#include <deque>
#include <limits>
#include <vector>

namespace test_packing_best_fit_decreasing {

using ballast_test::item_by_item_best_fit_decreasing;
using ballast_test::lengths_of_shape;

TEST_CASE("best_fit_decreasing: the item-by-item packing, to the last index", "[packing][property]") {
  auto const shape = GENERATE(0, 1, 2, 3, 4);
  auto const capacity = GENERATE(std::int64_t{1}, std::int64_t{2}, std::int64_t{63}, std::int64_t{64}, std::int64_t{65}, std::int64_t{1000},
                                 std::int64_t{4097}, std::int64_t{1} << 22, std::int64_t{1} << 40);
  for (std::size_t const n : {0U, 1U, 2U, 17U, 300U, 5000U})
    for (std::uint64_t const most : {0U, 1U, 3U, 16U}) {
      auto const lengths = lengths_of_shape(shape, n, capacity, n + most);
      CAPTURE(shape, capacity, n, most);
      auto const plan = ballast::best_fit_decreasing(lengths, {.capacity = capacity, .max_samples = most});
      REQUIRE(plan.packs == item_by_item_best_fit_decreasing(lengths, capacity, most == 0 ? n + 1 : most));
      REQUIRE(plan.count.value == static_cast<std::int64_t>(plan.packs.size()));
      REQUIRE(plan.count.lower_bound <= plan.count.value);
    }
}

TEST_CASE("best_fit_decreasing: few samples one by one as in bulk, to the last index and bound", "[packing][property]") {
  constexpr auto largest = (std::numeric_limits<std::int64_t>::max)();
  auto const clusters = [](std::size_t n, std::int64_t capacity) {  // many rooms that differ by little
    ballast::splitmix64 draw(n);
    std::vector<std::int64_t> out(n);
    for (auto& length : out) {
      length = capacity / static_cast<std::int64_t>(2 + ballast::uniform_below(5, draw));
      length += static_cast<std::int64_t>(ballast::uniform_below(41, draw)) - 20;
      length = std::clamp(length, std::int64_t{1}, capacity);
    }
    return out;
  };
  for (std::size_t const n : {2500U, 5000U, 16384U, 16385U})  // more, where lengths repeat little; packs of almost the same room go in bulk
    for (auto const capacity : {std::int64_t{8192}, std::int64_t{131072}, std::int64_t{1} << 40})
      for (int shape = 0; shape < 6; ++shape) {
        CAPTURE(n, capacity, shape);
        auto const lengths = shape < 5 ? lengths_of_shape(shape, n, capacity, n) : clusters(n, capacity);
        auto const classes = ballast::fold(lengths);
        auto const plan = ballast::best_fit_decreasing(lengths, {.capacity = capacity});
        REQUIRE(plan.packs == ballast::expand(ballast::plan_best_fit_decreasing(classes, {.capacity = capacity}), lengths));
        REQUIRE(plan.count == ballast::count_packs(classes, {.capacity = capacity}).count);
      }
  auto const most = static_cast<int>(ballast::detail::most_few);
  for (int round = 0; round < 3 * 2001; round += ballast_test::round_step) {
    auto const n = static_cast<std::size_t>(round % 2001);
    std::int64_t const capacities[] = {1, 2, 63, 64, 1000, 4096, 4097, 8192, 131072, 1 << 22, std::int64_t{1} << 40};
    auto const capacity = capacities[round / 6 % 11];
    auto const lengths = round % 6 < 5 ? lengths_of_shape(round % 6, n, capacity, n) : clusters(n, capacity);
    std::uint64_t const limits[] = {0, 1, 3, 16, 0};
    ballast::packing_options const options{.capacity = capacity, .max_samples = limits[round % 5]};
    CAPTURE(round, n, capacity, options.max_samples);
    auto const classes = ballast::fold(lengths);
    auto const plan = ballast::best_fit_decreasing(lengths, options);
    REQUIRE(plan.packs == ballast::expand(ballast::plan_best_fit_decreasing(classes, options), lengths));
    REQUIRE((plan.status == ballast::status::feasible && plan.complete && plan.tokens == classes.tokens()));
    if (round % 7 != 0 && (round - most) % 2001 > 1) continue;  // bounds take most of the time
    auto const tally = ballast::count_packs(classes, options);
    REQUIRE(plan.count == tally.count);
    REQUIRE(plan.bound == tally.bound);
  }
  for (auto const capacity : {largest, largest / 3}) {  // sums of few lengths are below 2^63, rooms up to it
    std::vector<std::int64_t> const lengths{largest / 4, 1, largest / 5, largest / 4 - 1, 7, largest / 4 - 1};
    auto const plan = ballast::best_fit_decreasing(lengths, {.capacity = capacity});
    CHECK(plan.packs == ballast::expand(ballast::plan_best_fit_decreasing(ballast::fold(lengths), {.capacity = capacity}), lengths));
  }
}

TEST_CASE("best_fit_decreasing: pieces and what is set aside count among few samples", "[packing]") {
  for (auto const policy : {ballast::oversize::split, ballast::oversize::set_aside, ballast::oversize::truncate})
    for (std::size_t const n : {1U, 40U, 700U, 870U, 880U, 900U, 1024U, 1025U}) {  // 880 samples have about 1,024 pieces
      CAPTURE(static_cast<int>(policy), n);
      auto const lengths = lengths_of_shape(0, n, 600, n);
      ballast::packing_options const options{.capacity = 512, .oversize = policy};
      auto const items = ballast::apply_oversize(lengths, options);
      auto costs = items.cost;
      std::vector<std::uint32_t> kept;
      for (std::uint32_t i = 0; i < costs.size(); ++i)
        if (costs[i] != 0) kept.push_back(i);
      std::erase(costs, 0);
      auto packs = item_by_item_best_fit_decreasing(costs, 512, costs.size());
      for (auto& member : packs.members) member = kept[member];
      CHECK(ballast::best_fit_decreasing(lengths, options).packs == packs);
    }
}

TEST_CASE("best_fit_decreasing: twice a length may be 2^63 or more") {  // the undefined-behaviour sanitizer sees where it is computed
  auto const largest = (std::numeric_limits<std::int64_t>::max)();
  std::vector<std::int64_t> const lengths{largest / 2 + 2, largest / 4, 5, largest / 8};
  for (auto const capacity : {largest, largest / 2 + 2}) {
    auto const plan = ballast::best_fit_decreasing(lengths, {.capacity = capacity});
    CHECK(plan.packs == item_by_item_best_fit_decreasing(lengths, capacity, 5));
  }
}

TEST_CASE("best_fit_decreasing: padding only changes the weights", "[packing][property]") {
  auto const multiple = GENERATE(std::int64_t{1}, std::int64_t{2}, std::int64_t{16}, std::int64_t{128});
  auto const lengths = lengths_of_shape(1, GENERATE(300U, 3000U), 1000, 9);
  auto padded = lengths;
  for (auto& l : padded) l = (l + multiple - 1) / multiple * multiple;
  auto const capacity = std::int64_t{1030};
  auto const plan = ballast::best_fit_decreasing(lengths, {.capacity = capacity, .sample_multiple = multiple, .pack_multiple = 4});
  CHECK(plan.packs == item_by_item_best_fit_decreasing(padded, capacity / 4 * 4, 3001));
}

TEST_CASE("best_fit_decreasing: threads, warm memory and the kind of range do not change the plan", "[packing][determinism]") {
  auto const lengths = lengths_of_shape(1, 300000, 8192, 5);
  ballast::packing_options const options{.capacity = 8192};
  auto const plan = ballast::best_fit_decreasing(lengths, options);
  CHECK(ballast::hash(plan.packs) == 0xd270f469a7363e07U);  // golden: a release that changes it says so
  for (std::size_t width : {1U, 2U, 3U, 7U})
    CHECK(ballast::best_fit_decreasing(lengths, options, ballast::token_cost{}, ballast::threads{width}).packs == plan.packs);
  auto const own_pool = [](std::size_t tasks, auto const& body) {
    for (std::size_t t = 0; t < tasks; ++t) body(t);
  };
  CHECK(ballast::best_fit_decreasing(lengths, options, ballast::token_cost{}, own_pool).packs == plan.packs);
  CHECK(ballast::best_fit_decreasing(std::deque<int>(lengths.begin(), lengths.end()), options).packs == plan.packs);

  ballast::packing_workspace<> warm;
  ballast::packing<> out;
  for (std::size_t n : {300000U, 17U, 0U, 300000U}) {  // also after a smaller and an empty plan
    std::vector<std::int64_t> const some(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(n));
    ballast::best_fit_decreasing(some, options, ballast::token_cost{}, warm, out);
    CHECK(out.packs == ballast::best_fit_decreasing(some, options).packs);
    CHECK(out.tokens == std::accumulate(some.begin(), some.end(), std::int64_t{0}));
  }
  auto const wide = ballast::best_fit_decreasing<std::uint64_t>(lengths, options);
  CHECK(ballast::hash(wide.packs) == ballast::hash(plan.packs));
}

TEST_CASE("best_fit_decreasing: packs by any cost", "[packing]") {
  auto const lengths = lengths_of_shape(0, GENERATE(200U, 2000U), 900, 3);
  ballast::quadratic_cost const cost{.linear = 3, .quadratic = 2};
  auto costs = lengths;
  for (auto& c : costs) c = cost(c);
  auto const capacity = cost(1000);
  CHECK(ballast::best_fit_decreasing(lengths, {.capacity = capacity}, cost).packs ==
        item_by_item_best_fit_decreasing(costs, capacity, 2001));
}

}  // namespace test_packing_best_fit_decreasing
