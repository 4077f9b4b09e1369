// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/best_fit.hpp>
#include <ballast/packing/first_fit.hpp>
#include <ballast/packing/first_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/packing/shuffled.hpp>
#include <ballast/packing/windowed.hpp>
#include <ballast/packing/worst_fit.hpp>

#include "support/archetypes.hpp"
#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <vector>

namespace test_packing_driver {

// What the packers share: refusals, padding, the over-size policies and the demanded number of packs, shown on the simplest of them.

using ballast::oversize;
using ballast::packing_options;
using ballast::status;
using ballast_test::refusal;

namespace {

using lengths = std::vector<std::int64_t>;
using packs = ballast::groups<std::uint32_t>;

std::string refused(packing_options const& o, lengths const& l = {}) {
  return refusal([&] { return ballast::next_fit(l, o); });
}
template <class Cost>
std::string refused_cost(Cost const& cost, lengths const& l, oversize policy = oversize::reject) {
  return refusal([&] { return ballast::next_fit(l, {.capacity = std::int64_t{1} << 62, .oversize = policy}, cost); });
}

/// What each packer says of a demanded number of packs: `visit(name, status, certificate, bound)`.
template <class Visit>
void ask_every_packer(lengths const& l, packing_options const& o, Visit const& visit) {
  auto const say = [&](char const* name, auto const& plan) { visit(name, plan.status, plan.count, plan.bound); };
  say("next_fit", ballast::next_fit(l, o));
  say("first_fit", ballast::first_fit(l, o));
  say("best_fit", ballast::best_fit(l, o));
  say("worst_fit", ballast::worst_fit(l, o));
  say("first_fit_decreasing", ballast::first_fit_decreasing(l, o));
  say("best_fit_decreasing", ballast::best_fit_decreasing(l, o));
  say("first_fit_shuffled", ballast::first_fit_shuffled(l, o));
  say("best_fit_shuffled", ballast::best_fit_shuffled(l, o));
  say("windowed", ballast::windowed_best_fit_decreasing(l, 4, o));
  say("near_optimal", ballast::near_optimal(l, o));
  say("pack", ballast::pack(l, o, ballast::search_limits{}));
  say("count_packs", ballast::count_packs(ballast::fold(l), o));
  say("count_near_optimal", ballast::count_near_optimal(ballast::fold(l), o));
  say("count_packs with a search", ballast::count_packs(ballast::fold(l), o, ballast::search_limits{}));
}

}  // namespace

TEST_CASE("packers refuse options that make no sense, before they look at a length") {
  CHECK(refused({}) == "capacity = 0 must be positive");
  CHECK(refused({.capacity = -3}) == "capacity = -3 must be positive");
  CHECK(refused({.capacity = 8, .sample_multiple = 0}) == "sample_multiple = 0 must be positive");
  CHECK(refused({.capacity = 8, .pack_multiple = -1}) == "pack_multiple = -1 must be positive");
  CHECK(refused({.capacity = 8, .pack_count_multiple = 0}) == "pack_count_multiple = 0 must be positive");
  CHECK(refused({.capacity = 8, .pack_multiple = 9}) == "pack_multiple = 9 exceeds capacity 8");
  CHECK(refused({.capacity = 8, .pack_count_multiple = 2, .pack_count = 5}) ==
        "pack_count = 5 is not a multiple of pack_count_multiple = 2");
  CHECK(refused({.capacity = 8, .pack_count_multiple = std::uint64_t{1} << 63}) ==
        "pack_count_multiple = 9223372036854775808 must be at most 2^62");
  CHECK(refused({.capacity = 8, .pack_count = std::uint64_t{1} << 63}) == "pack_count = 9223372036854775808 must be at most 2^62");
  CHECK(refused({.capacity = 8, .sample_multiple = 16, .oversize = oversize::split}, {3}) ==
        "sample_multiple = 16 exceeds the capacity 8: no piece fits");
  if constexpr (sizeof(std::size_t) == 8) {  // elsewhere no range is as long
    auto const four_billion = std::views::iota(std::int64_t{1}, (std::int64_t{1} << 32) + 1);
    CHECK(refusal([&] { return ballast::next_fit(four_billion, {.capacity = 8}); }) ==
          "4294967296 samples need a 64-bit index: call with <std::uint64_t>");
  }
}

TEST_CASE("packers refuse bad lengths by index and value") {
  packing_options const o{.capacity = std::int64_t{1} << 62};
  auto const half = std::int64_t{1} << 62;
  CHECK(refused(o, {4, 0, -1}) == "lengths[1] = 0 must be positive");
  CHECK(refused(o, {4, 4, -1}) == "lengths[2] = -1 must be positive");
  CHECK(refused(o, {half, half - 1, 1}) == "lengths[2] = 1 brings the sum of lengths to 2^63 or more");
  CHECK(refused(o, {half, half - 1}) == "accepted");
  CHECK(refusal([&] { return ballast::next_fit(std::vector<std::uint64_t>{1, ~std::uint64_t{0}}, o); }) ==
        "lengths[1] = 18446744073709551615 must be below 2^63");
  CHECK(refused({.capacity = 8}, {8, 9, 10}) == "lengths[1] = 9 exceeds capacity 8 (see oversize policy)");
  CHECK(refused({.capacity = 11, .pack_multiple = 4}, {8, 9}) == "lengths[1] = 9 exceeds capacity 8 (see oversize policy)");
  CHECK(refused({.capacity = 10, .sample_multiple = 4}, {8, 9}) ==
        "lengths[1] = 9 exceeds capacity 10 when rounded up to a multiple of 4 (see oversize policy)");
  CHECK(refused({.capacity = 1, .oversize = oversize::split}, {std::int64_t{1} << 40}) ==
        "1099511627776 pieces need a 64-bit index: call with <std::uint64_t>");
}

TEST_CASE("packers refuse costs that are none") {
  auto const half = std::int64_t{1} << 62;
  CHECK(refused_cost(ballast::linear_cost{.per_token = -1}, {3}) ==
        "lengths[0] = 3 has a cost that is negative, not a number or too large for 63 bits");
  CHECK(refused_cost(ballast::quadratic_cost{.quadratic = 1}, {3, half}) ==
        "lengths[1] = 4611686018427387904 has a cost that is negative, not a number or too large for 63 bits");
  CHECK(refused_cost([](std::int64_t) { return -1; }, {3}) == "lengths[0] = 3 has cost -1, outside [0, 2^63)");
  CHECK(refused_cost([](std::int64_t) { return ~std::uint64_t{0}; }, {3}) ==
        "lengths[0] = 3 has cost 18446744073709551615, outside [0, 2^63)");
  CHECK(refused_cost([](std::int64_t l) { return l - 3; }, {4, 3}) == "lengths[1] = 3 costs 0; a packer needs positive costs");
  CHECK(refused_cost([=](std::int64_t l) { return half + l - l; }, {4, 3}) == "lengths[1] = 3 brings the sum of costs to 2^63 or more");
  CHECK(refused_cost([=](std::int64_t l) { return half + l; }, {4}) ==
        "lengths[0] = 4, cost 4611686018427387908, exceeds capacity 4611686018427387904 (see oversize policy)");
  for (auto policy : {oversize::truncate, oversize::split})
    CHECK(refused_cost(ballast::linear_cost{}, {4}, policy) ==
          "oversize policies truncate and split cut to a number of tokens; with a cost of your own use reject, set_aside or alone");
}

TEST_CASE("packers follow the over-size policy") {
  lengths const l{5, 20, 3, 9, 2};
  auto const packed = [&](oversize policy) { return ballast::next_fit(l, {.capacity = 8, .oversize = policy}); };
  auto const aside = packed(oversize::set_aside);
  CHECK(aside.packs == packs{{0, 2, 3}, {0, 2, 4}});
  CHECK(aside.set_aside == std::vector<std::uint32_t>{1, 3});
  CHECK((aside.tokens == 10 && aside.count == ballast::certificate{2, 2}));
  auto const cut = packed(oversize::truncate);
  CHECK(cut.packs == packs{{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}});
  CHECK((cut.tokens == 26 && cut.set_aside.empty() && cut.pieces.empty() && cut.count == ballast::certificate{5, 4}));
  auto const own = packed(oversize::alone);
  CHECK(own.packs == packs{{0, 2, 3, 4, 5}, {0, 2, 4, 1, 3}});
  CHECK((own.tokens == 39 && own.count == ballast::certificate{4, 4}));
  auto const split = packed(oversize::split);  // 20 = 8 + 8 + 4, 9 = 8 + 1
  CHECK(split.packs == packs{{0, 1, 2, 3, 4, 5, 6, 8}, {0, 1, 2, 3, 4, 5, 6, 7}});
  CHECK(split.pieces == std::vector<ballast::sample_piece>{{1, 8, 8}, {1, 16, 4}, {3, 8, 1}});
  CHECK((split.tokens == 39 && split.count.lower_bound == 5));
}

TEST_CASE("packers pad samples and packs, and weigh by the cost") {
  CHECK(ballast::next_fit(lengths{5, 4, 1}, {.capacity = 12}).packs.size() == 1);
  CHECK(ballast::next_fit(lengths{5, 4, 1}, {.capacity = 12, .sample_multiple = 4}).packs == packs{{0, 2, 3}, {0, 1, 2}});
  CHECK(ballast::next_fit(lengths{5, 4, 1}, {.capacity = 11, .pack_multiple = 8}).packs == packs{{0, 1, 3}, {0, 1, 2}});
  auto const squares = ballast::next_fit(lengths{2, 2, 2, 3}, {.capacity = 12}, ballast::quadratic_cost{.linear = 0, .quadratic = 1});
  CHECK((squares.packs == packs{{0, 3, 4}, {0, 1, 2, 3}} && squares.tokens == 9));
}

TEST_CASE("packers meet a demanded number of packs or say that they cannot") {
  lengths const l{4, 3, 1, 5, 3};  // next fit: 4 3 1 | 5 3
  auto const plain = ballast::next_fit(l, {.capacity = 8});
  CHECK((plain.count == ballast::certificate{2, 2} && plain.fill(8) == 1.0));
  auto const three = ballast::next_fit(l, {.capacity = 8, .pack_count_multiple = 3});
  CHECK((three.packs == packs{{0, 2, 4, 5}, {0, 1, 3, 4, 2}} && three.count == ballast::certificate{3, 3}));
  auto const five = ballast::next_fit(l, {.capacity = 8, .pack_count = 5});
  CHECK((five.packs == packs{{0, 1, 2, 3, 4, 5}, {0, 3, 2, 1, 4}} && five.count.optimal() && five.status == status::feasible));
  auto const six = ballast::next_fit(l, {.capacity = 8, .pack_count = 6});
  CHECK((six.status == status::infeasible && six.bound == ballast::packing_bound::sample_count && six.packs.empty() && six.tokens == 0));
  auto const one = ballast::next_fit(l, {.capacity = 8, .pack_count = 1});
  CHECK((one.status == status::infeasible && one.count == ballast::certificate{1, 2} && one.bound == ballast::packing_bound::volume));
  auto const unknown =
      ballast::next_fit(lengths{5, 4, 3, 4}, {.capacity = 8, .pack_count = 2});  // 5 3 | 4 4 exists, next fit finds 3 packs
  CHECK((unknown.status == status::unknown && unknown.packs.empty() && unknown.count.value == 2));
  CHECK(ballast::next_fit(lengths{}, {.capacity = 8, .pack_count_multiple = 4}).status == status::feasible);
  auto const own = ballast::next_fit(lengths{20, 3, 4}, {.capacity = 8, .pack_count = 3, .oversize = oversize::alone});
  CHECK(own.packs == packs{{0, 1, 2, 3}, {2, 0, 1}});  // a pack beyond the capacity gives nothing up
}

TEST_CASE("packers that are refused leave caller-owned results as they were", "[property]") {
  lengths const good{5, 20, 3, 9, 2}, bad{20, 5, -1}, overflowing{20, std::int64_t{1} << 62, std::int64_t{1} << 62};
  ballast::packing_workspace<> workspace;
  ballast::packing<> out;
  ballast::best_fit_decreasing(good, {.capacity = 8, .oversize = oversize::split}, ballast::token_cost{}, workspace, out);
  REQUIRE(!out.pieces.empty());
  auto const untouched = [&](packing_options const& o, lengths const& l, auto const& cost) {
    return ballast_test::refused_untouched(out, [&] { ballast::best_fit_decreasing(l, o, cost, workspace, out); });
  };
  ballast::token_cost const tokens;
  for (auto const policy : {oversize::reject, oversize::set_aside, oversize::truncate, oversize::split, oversize::alone})
    for (auto const multiple : {std::int64_t{1}, std::int64_t{4}}) {
      CAPTURE(static_cast<int>(policy), multiple);
      packing_options const o{.capacity = 8, .sample_multiple = multiple, .oversize = policy};
      CHECK(untouched(o, bad, tokens));
      CHECK(untouched(o, overflowing, tokens));
      CHECK(untouched(o, {20, 5, 9}, [](std::int64_t l) { return l == 9 ? 0 : l; }));
      CHECK(untouched({.capacity = 0, .oversize = policy}, good, tokens));
    }
  CHECK(untouched({.capacity = 1, .oversize = oversize::split}, {std::int64_t{1} << 40}, tokens));
  CHECK(untouched({.capacity = 8, .oversize = oversize::reject}, good, tokens));

  ballast::plan_workspace plans;
  ballast::pack_runs runs;
  ballast::plan_best_fit_decreasing({{3, 5}, {2, 2}}, {.capacity = 8}, plans, runs);
  for (auto const& h : {ballast::histogram{{3, 9}, {1, 1}}, ballast::histogram{{3, 2}, {1, 1}}, ballast::histogram{{3}, {}}})
    CHECK(ballast_test::refused_untouched(runs, [&] { ballast::plan_best_fit_decreasing(h, {.capacity = 8}, plans, runs); }));
}

TEST_CASE("packers say infeasible only where no plan exists", "[property]") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = ballast_test::between(1, 30, draw);
    auto const l = ballast_test::random_lengths(1 + draw() % 9, capacity, draw);
    packing_options o{.capacity = capacity, .max_samples = draw() % 4, .seed = seed};
    auto const fewest = static_cast<std::uint64_t>(ballast_test::fewest_packs(l, capacity, o.max_samples).value());
    (draw() % 2 == 0 ? o.pack_count : o.pack_count_multiple) = 1 + draw() % 10;
    // A pack of several samples can give one up, so every number from the fewest to one a sample can be had.
    auto const least =
        o.pack_count != 0 ? o.pack_count : (fewest + o.pack_count_multiple - 1) / o.pack_count_multiple * o.pack_count_multiple;
    auto const exists = fewest <= least && least <= l.size();
    ask_every_packer(l, o, [&](char const* name, status said, ballast::certificate const& count, ballast::packing_bound) {
      CAPTURE(name);
      REQUIRE((said != status::infeasible || !exists));
      REQUIRE((said != status::feasible || exists));
      REQUIRE((!exists || count.lower_bound <= static_cast<std::int64_t>(least)));
    });
  }
}

TEST_CASE("packers leave open what only a better plan can answer, and pack answers it") {
  lengths const l{10, 10, 10, 4, 4, 3, 3, 3, 3};  // 4 3 3 twice: 5 packs; next fit and the greedy ones need 6, and 10 are too many
  packing_options const o{.capacity = 10, .pack_count_multiple = 5};
  for (auto const said : {ballast::best_fit_decreasing(l, o).status, ballast::first_fit_decreasing(l, o).status,
                          ballast::next_fit(l, o).status, ballast::count_packs(ballast::fold(l), o).status})
    CHECK(said == status::unknown);
  auto const plan = ballast::pack(l, o, ballast::search_limits{});
  CHECK((plan.status == status::feasible && plan.packs.size() == 5 && plan.count.optimal()));
  CHECK(ballast::count_packs(ballast::fold(l), o, ballast::search_limits{}).count == ballast::certificate{5, 5});
  auto const six = ballast::next_fit(l, {.capacity = 10, .pack_count_multiple = 6});
  CHECK((six.status == status::feasible && six.packs.size() == 6));
  auto const ten = ballast::next_fit(l, {.capacity = 10, .pack_count_multiple = 10});  // 9 samples
  CHECK((ten.status == status::infeasible && ten.bound == ballast::packing_bound::sample_count));
}

}  // namespace test_packing_driver
