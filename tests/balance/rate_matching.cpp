// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/rate_matching.hpp>

#include "suite.hpp"

namespace test_balance_rate_matching {

using namespace ballast_test;

namespace {
auto const rate = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return ballast::rate_matching(items, o, cost, ballast::quadratic_cost{.linear = 0, .quadratic = 1}, size);
};
auto const token_part = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return ballast::rate_matching(items, o, cost, ballast::token_cost{}, size);
};
auto const token_part64 = [](auto const& items, balance_options const& o, auto const& cost, auto const& size) {
  return ballast::rate_matching<std::uint64_t>(items, o, cost, ballast::token_cost{}, size);
};
auto const square = [](std::int64_t l) { return l * l; };
}  // namespace

TEST_CASE("rate_matching: valid, bounded, the same twice") { keeps_its_promises(rate); }

TEST_CASE("rate_matching: is its definition, for both targets") {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    auto [items, o] = random_balance_case(seed);
    if (o.capacity != 0 && seed % 2 == 0) o.target = ballast::rate_target::capacity;
    CAPTURE(seed, o.sets, o.capacity, o.max_items);
    auto const plan = rate(items, o, dear, ballast::token_cost{});
    std::int64_t total = 0, total_part = 0;
    for (auto l : items) total += l, total_part += l * l;
    auto const k = static_cast<std::int64_t>(o.sets);
    auto const mean = (total + k - 1) / k, part = (total_part + k - 1) / k;
    auto const goal = o.target == ballast::rate_target::capacity ? o.capacity : o.capacity == 0 ? mean : (std::min)(mean, o.capacity);
    deal_by_definition const expected(
        items, decreasing(items, ballast::token_cost{}), o,
        [&](auto const& d, auto a, auto b) {
          auto const room_a = goal - d.size[a], room_b = goal - d.size[b];
          if (room_a <= 0 || room_b <= 0) return room_a > room_b;
          return (part - d.measure[a]) * room_b > (part - d.measure[b]) * room_a;
        },
        square);
    if (plan.status == status::feasible) same_sets(plan, expected.set_of);
  }
}

TEST_CASE("rate_matching: both measures come out balanced, so any cost between them does") {
  ballast::splitmix64 draw(11);
  numbers items(4000);
  for (auto& l : items) {
    auto const value = draw();
    l = 16 + static_cast<std::int64_t>(value % (draw() % 5 == 0 ? 2000 : 200));
  }
  auto const plan = ballast::rate_matching(items, {.sets = 16}, dear);
  for (auto const a : {std::int64_t{0}, std::int64_t{1000}, std::int64_t{100000}}) {
    auto const cost = [&](std::int64_t l) { return a * l + l * l; };
    std::int64_t total = 0, most = 0;
    for (auto const set : plan.sets) {
      std::int64_t load = 0;
      for (auto i : set) load += cost(items[i]);
      total += load;
      most = (std::max)(most, load);
    }
    CAPTURE(a);
    CHECK(most * 16 * 1000 <= total * 1002);
  }
}

TEST_CASE("rate_matching: corners") {
  handles_corners(token_part, token_part64);
  CHECK(refusal([] { return ballast::rate_matching(numbers{1}, {.sets = 1, .target = ballast::rate_target::capacity}); }) ==
        "rate_target::capacity needs a capacity");
  CHECK(refusal([] { return ballast::rate_matching(numbers{3037000500}, {.sets = 1}); }) ==
        "items[0] = 3037000500 has a part that is negative, not a number or too large for 63 bits");
}

TEST_CASE("rate_matching: golden") { CHECK(golden_hash(rate) == 8688795524676100870U); }

}  // namespace test_balance_rate_matching
