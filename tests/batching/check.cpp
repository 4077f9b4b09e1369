// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/stream_steps.hpp>
#include <ballast/cost/polynomial.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/verdicts.hpp"

#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace test_batching_check {

using fault = ballast::batching_fault;
using ballast_test::refusal;
using plan = ballast::batching<>;

TEST_CASE("check_batching: shapes and figures that no integer holds are faults") {
  std::vector<std::int64_t> const lengths{90, 5, 4, 3, 60, 7, 8, 50};
  ballast::batching_options const o{.capacity = 100, .ranks = 2, .micro_batches = 2};
  auto const good = ballast::deal_steps(ballast::groups<>{{0, 2, 4, 6, 8}, {0, 1, 2, 3, 4, 5, 6, 7}}, lengths, o, ballast::token_cost{});
  auto const fault_of = [&](plan const& p, ballast::batching_options const& of, auto const& cost) {
    return ballast::check_batching(p, lengths, of, cost).fault;
  };
  REQUIRE(fault_of(good, o, ballast::token_cost{}) == fault::none);
  for (auto const empty : {false, true})
    for (std::uint64_t const ranks : {0U, 2U, 4U})
      for (std::uint64_t const each : {std::uint64_t{0}, std::uint64_t{1} << 61, std::uint64_t{1} << 62, std::uint64_t{1} << 63}) {
        auto bad = good;
        auto of = o;
        bad.ranks = of.ranks = ranks;
        bad.micro_batches = each;
        if (empty) bad.table.clear();
        CHECK(fault_of(bad, of, ballast::token_cost{}) == fault::wrong_shape);
      }
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  auto const dear = [](std::int64_t) { return most / 2; };
  CHECK(fault_of(good, o, dear) == fault::wrong_cost);
  CHECK(fault_of(good, o, [](std::int64_t length) { return -length; }) == fault::wrong_cost);
  for (auto const wait :
       {ballast::synchronisation::per_step, ballast::synchronisation::per_micro_batch, ballast::synchronisation::pipeline}) {
    auto of = o;
    of.synchronisation = wait;
    of.cost_per_step = most;
    CHECK(fault_of(good, of, ballast::token_cost{}) == fault::wrong_cost);
    of.cost_per_step = 0;
    of.cost_per_micro_batch = most;
    CHECK(fault_of(good, of, ballast::token_cost{}) == fault::wrong_cost);
  }
  auto of = o;
  of.synchronisation = ballast::synchronisation::pipeline;
  for (auto const stages : {std::uint64_t{0}, std::uint64_t{1} << 62, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    of.stages = stages;
    CHECK(fault_of(good, of, ballast::token_cost{}) == fault::wrong_value);
  }
  std::vector<std::int64_t> const long_ones(8, most);
  of = o;
  of.capacity = most;
  CHECK(ballast::check_batching(good, long_ones, of, ballast::token_cost{}).fault == fault::overfull_pack);
  std::vector<std::uint64_t> const keys(3, 0);
  CHECK(refusal([&] { return ballast::check_batching(good, lengths, o, ballast::token_cost{}, 0, keys); }) ==
        "keys has 3 entries for 8 samples");
}

TEST_CASE("check_batching names each broken rule and the first place") {
  std::vector<std::int64_t> const lengths{90, 5, 4, 3, 60, 7, 8, 50};
  ballast::batching_options const o{.capacity = 100, .ranks = 2, .micro_batches = 2, .seed = 4};
  auto const cost = ballast::quadratic_cost{.linear = 10, .quadratic = 1};
  auto const good = ballast::stream_steps(lengths, o, cost, {.tuning = {.threshold = 0, .share = 600}});
  REQUIRE(ballast::describe(ballast::check_batching(good, lengths, o, cost)) == "valid");
  REQUIRE((good.steps() == 1 && good.shared.size() == 1 && good.shared[0].sample == 0));

  auto const after = [&](std::function<void(plan&)> const& harm) {
    auto bad = good;
    harm(bad);
    return ballast_test::place_of(ballast::check_batching(bad, lengths, o, cost));
  };
  auto const says = [&](std::function<void(plan&)> const& harm) {
    auto bad = good;
    harm(bad);
    return ballast::describe(ballast::check_batching(bad, lengths, o, cost));
  };
  CHECK(says([](plan& p) { p.packs.members[2] = 9; }) == "members[2] = 9 must be below 8");
  CHECK(says([](plan& p) { p.tokens = 5; }) == "tokens = 5, but the packs in the table hold 227");
  CHECK(says([&](plan& p) { p.shared.clear(); }).ends_with(" tokens, more than the capacity 100"));
  auto const is = [](ballast::rule f, std::uint64_t index = 0) { return ballast::verdict{f, index}; };
  CHECK(after([](plan& p) { p.ranks = 4; }) == is(fault::wrong_shape));
  CHECK(after([](plan& p) { p.table.pop_back(); }) == is(fault::wrong_shape));
  CHECK(after([](plan& p) { p.packs.offsets.back() += 1; }) == is(fault::bad_offsets, good.packs.size()));
  CHECK(after([](plan& p) { p.packs.offsets[1] = 100; }) == is(fault::bad_offsets, 1));
  CHECK(after([](plan& p) { p.packs.offsets.clear(), p.packs.members.clear(); }) == is(fault::bad_offsets));
  CHECK(after([](plan& p) { p.packs.offsets[1] = 0; }) == is(fault::empty_pack));
  CHECK(after([](plan& p) { p.packs.members[2] = 8; }) == is(fault::member_out_of_range, 2));
  CHECK(after([](plan& p) { p.table[1] = 9; }) == is(fault::pack_out_of_range, 1));
  CHECK(after([](plan& p) { p.table[3] = p.table[0]; }) == is(fault::pack_twice, 3));
  CHECK(after([](plan& p) { p.shared[0].first_rank = 1; }) == is(fault::wrong_shared));
  CHECK(after([](plan& p) { p.shared[0].sample = 1; }) == is(fault::wrong_shared));
  CHECK(after([](plan& p) { p.shared.clear(); }).fault == fault::overfull_pack);
  CHECK(after([](plan& p) { p.table[0] = plan::none; }).fault == fault::wrong_shared);
  CHECK(after([](plan& p) { p.dropped = {9}; }) == is(fault::wrong_list));
  CHECK(after([](plan& p) { p.dropped = {3, 3}; }) == is(fault::wrong_list, 1));
  CHECK(after([](plan& p) { p.repeated = {5, 4}; }) == is(fault::wrong_list, 1));
  CHECK(after([](plan& p) { p.repeated = {4}; }) == is(fault::sample_missing, 4));
  CHECK(after([](plan& p) { p.dropped = {4}; }) == is(fault::sample_twice, 4));
  CHECK(after([](plan& p) { p.tokens += 1; }) == is(fault::wrong_tokens));
  CHECK(after([](plan& p) { p.cost += 1; }) == is(fault::wrong_cost));
  CHECK(after([](plan& p) { p.slowest.value += 1; }) == is(fault::wrong_value));
  CHECK(after([](plan& p) { p.slowest.lower_bound = p.slowest.value + 1; }) == is(fault::wrong_bound));
  // Places of the last step: all that are empty while another pack holds two samples, or unevenly.
  std::vector<std::int64_t> const five{10, 20, 30, 40, 50};
  ballast::batching_options shape{.capacity = 100, .ranks = 2, .micro_batches = 2};
  auto const dealt =
      ballast::deal_steps(ballast::groups<>{{0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}}, five, shape, cost, {.how = ballast::dealing::in_order});
  REQUIRE(ballast::check_batching(dealt, five, shape, cost).valid());
  auto moved = dealt;
  std::swap(moved.table[1], moved.table[5]);
  CHECK(ballast::check_batching(moved, five, shape, cost) == is(fault::empty_place, 1));
  shape.left_over = ballast::left_over::repeat;
  CHECK(ballast::check_batching(dealt, five, shape, cost) == is(fault::empty_place, 5));
  shape.left_over = ballast::left_over::split;
  std::vector<std::int64_t> const four{10, 20, 30, 40};
  auto joined =
      ballast::deal_steps(ballast::groups<>{{0, 1, 2, 3, 4}, {0, 1, 2, 3}}, four, shape, cost, {.how = ballast::dealing::in_order});
  joined.packs = ballast::groups<>{{0, 1, 2, 4}, {0, 1, 2, 3}};
  joined.table = {0, 1, 2, plan::none};
  joined.slowest = {};
  CHECK(ballast::check_batching(joined, four, shape, cost) == is(fault::empty_place, 3));
  std::vector<std::uint64_t> const keys{1, 2, 3, 3};
  CHECK(ballast::check_batching(joined, four, shape, cost, 0, keys).fault == fault::wrong_value);
  std::vector<std::int64_t> const two{10, 20};
  auto uneven = ballast::deal_steps(ballast::groups<>{{0, 1, 2}, {0, 1}}, two, shape, cost, {.how = ballast::dealing::in_order});
  CHECK(uneven.idle_ranks().empty());
  uneven.table = {0, 1, plan::none, plan::none};
  CHECK(uneven.idle_ranks() == std::vector<std::uint64_t>{1});
  CHECK(ballast::check_batching(uneven, two, shape, cost) == is(fault::uneven_step, 2));
  shape.synchronisation = ballast::synchronisation::pipeline;
  uneven.table = {0, plan::none, 1, plan::none};
  uneven.slowest = {};
  CHECK(ballast::check_batching(uneven, two, shape, cost).fault == fault::wrong_value);
  // Ranks with different numbers of micro-batches: a fault if there are samples for all ranks, or if it is not the last step.
  ballast::batching_options const replicas{
      .capacity = 100, .ranks = 2, .micro_batches = 2, .synchronisation = ballast::synchronisation::pipeline};
  auto const last = [&](ballast::groups<> packs, std::vector<std::uint32_t> table, bool equal) {
    auto made = ballast::deal_steps(ballast::groups<>{{0, 1, 2, 3, 4}, {0, 1, 2, 3}}, four, replicas, cost, {});
    made.packs = std::move(packs);
    made.table = std::move(table);
    made.slowest = {};
    auto wanted = replicas;
    wanted.equal_micro_batches = equal;
    return ballast::check_batching(made, four, wanted, cost);
  };
  constexpr auto none = plan::none;
  CHECK(last({{0, 1, 3, 4}, {0, 1, 2, 3}}, {0, 1, 2, none}, true) == is(fault::unequal_micro_batches, 3));
  CHECK(last({{0, 1, 3, 4}, {0, 1, 2, 3}}, {0, 1, 2, none}, false).fault == fault::wrong_value);
  CHECK(last({{0, 2, 4}, {0, 1, 2, 3}}, {0, none, 1, none}, true).fault == fault::wrong_value);
  CHECK(last({{0, 1, 2, 3, 4}, {0, 1, 2, 3}}, {0, 1, 2, none, 3, none, none, none}, true) == is(fault::unequal_micro_batches, 3));
  auto tight = o;
  tight.capacity = 59;
  CHECK(ballast::check_batching(good, lengths, tight, cost).fault == fault::overfull_pack);
}

TEST_CASE("check_batching: a sample longer than the capacity must be shared by as many ranks as have room for it") {
  std::vector<std::int64_t> const lengths{390, 90, 20, 30};
  ballast::batching_options const o{.capacity = 100, .ranks = 4, .micro_batches = 2};
  auto const cost = ballast::quadratic_cost{.linear = 10, .quadratic = 1};
  auto const good = ballast::stream_steps(lengths, o, cost, {.most_ranks_shared = 4, .tuning = {.threshold = 0}});
  REQUIRE(ballast::describe(ballast::check_batching(good, lengths, o, cost)) == "valid");
  REQUIRE((good.steps() == 1 && good.shared.size() == 1 && good.shared[0].ranks == 4));
  auto narrow = o;
  narrow.capacity = 97;  // a share is 98 tokens
  CHECK(ballast::check_batching(good, lengths, narrow, cost).fault == fault::overfull_pack);
  auto bad = good;
  bad.shared[0].ranks = 2;
  CHECK(ballast::check_batching(bad, lengths, o, cost).fault == fault::overfull_pack);
  bad = good;
  bad.shared[0].ranks = 3;
  CHECK(ballast::check_batching(bad, lengths, o, cost).fault == fault::wrong_shared);
  bad = good;
  std::swap(bad.table[0], bad.table[1]);  // rank 0 holds its share in the other micro-batch
  CHECK(ballast::check_batching(bad, lengths, o, cost).fault == fault::wrong_shared);
}

}  // namespace test_batching_check
