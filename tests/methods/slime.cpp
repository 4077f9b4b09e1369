// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/communication.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_degree_cost.hpp>
#include <ballast/methods/slime.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/plan_shards.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/lists.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test_methods_slime {

using namespace ballast::slime;
using ballast::execution;
using ballast::status;
using ballast_test::as_lists;
using ballast_test::between;
using ballast_test::lists;
using ballast_test::refusal;

constexpr ballast::quadratic_cost squares{.linear = 0, .quadratic = 1};

TEST_CASE("slime: the rules by hand", "[methods][slime]") {
  std::vector<std::int64_t> const lengths{4, 5, 3, 6, 1, 1};
  CHECK(as_lists(packs(lengths, {.capacity = 10, .balance = balance::in_turn}, squares)) == lists{{0, 1, 4}, {2, 3, 5}});
  // Of two packs with 10 tokens the later is split: 6 to one half, 3 and 1 to the other.
  CHECK(as_lists(packs(lengths, {.capacity = 10, .data_ranks = 3, .balance = balance::in_turn}, squares)) == lists{{0, 1, 4}, {3}, {2, 5}});
  CHECK(as_lists(packs(lengths, {.capacity = 10, .data_ranks = 4, .balance = balance::in_turn}, squares)) ==
        lists{{1}, {3}, {2, 5}, {0, 4}});
  // Work of those four: 25, 36, 10, 17. On two ranks: {10, 17} and {25, 36} are pairs of neighbours, and 36 meets 10.
  CHECK(as_lists(packs(lengths, {.capacity = 10, .data_ranks = 2, .micro_batch_multiple = 2}, squares)) == lists{{3}, {1}, {2, 5}, {0, 4}});
  // Two packs by work, of 45 and 43: the second has 11 tokens.
  CHECK(as_lists(packs(lengths, {.capacity = 10, .balance = balance::by_packs}, squares)) == lists{{2, 3}, {0, 1, 4, 5}});
  // As many packs as samples are needed: one each.
  CHECK(as_lists(packs(std::vector<std::int64_t>{7, 8}, {.capacity = 8, .balance = balance::by_packs}, squares)) == lists{{0}, {1}});
  // Fewer samples than packs: the published code aborts.
  CHECK(as_lists(packs(std::vector<std::int64_t>{4, 5}, {.capacity = 10, .data_ranks = 3}, squares)) == lists{{1}, {0}, {}});
  CHECK(packs(std::vector<std::int64_t>{}, {.capacity = 10, .data_ranks = 3}, squares).empty());
}

TEST_CASE("slime: packs keep their promises", "[methods][slime]") {
  ballast::splitmix64 draw(9);
  for (int round = 0; round < 300; ++round) {
    options o{.capacity = between(1, 300, draw),
              .data_ranks = static_cast<std::uint64_t>(between(1, 9, draw)),
              .micro_batch_multiple = 1 + draw() % 3,
              .balance = static_cast<balance>(draw() % 3)};
    auto const lengths = ballast_test::random_lengths(draw() % 70, o.capacity, draw);
    auto const made = packs(lengths, o, squares);
    CAPTURE(round, o.capacity, o.data_ranks, lengths);
    CHECK(made.size() % (o.data_ranks * o.micro_batch_multiple) == 0);
    auto members = made.members;
    std::sort(members.begin(), members.end());
    REQUIRE(members.size() == lengths.size());
    for (std::uint32_t i = 0; i < members.size(); ++i) CHECK(members[i] == i);
    for (auto const pack : made) {
      std::int64_t tokens = 0;
      for (auto const i : pack) tokens += lengths[i];
      if (o.balance != balance::by_packs) CHECK(tokens <= o.capacity);
    }
    CHECK(made == packs(lengths, o, squares));
  }
}

TEST_CASE("slime: every plan is valid, packs by work too unless as published", "[methods][slime]") {
  ballast::splitmix64 draw(10);
  auto const cost = ballast_test::flexsp_cost();
  std::size_t too_full = 0;
  for (int round = 0; round < 200; round += ballast_test::round_step) {
    ballast::sharding_options const o{.capacity = between(1, 3000, draw),
                                      .ranks = static_cast<std::uint64_t>(between(1, 24, draw)),
                                      .cost_per_pass = 1'000'000,
                                      .execution = draw() % 2 == 0 ? execution::lockstep : execution::independent};
    auto const lengths = ballast_test::random_lengths(draw() % 60, o.capacity * static_cast<std::int64_t>(o.ranks), draw);
    CAPTURE(round, o.ranks, o.capacity, lengths);
    for (auto const how : {balance::in_turn, balance::by_ranks, balance::by_packs}) {
      auto const plan = schedule(lengths, o, cost, squares, {.balance = how});
      REQUIRE(plan.status == status::feasible);
      CHECK(check_shards(plan, lengths, o).valid());
      CHECK(plan.execution == o.execution);
      CHECK(plan.time.lower_bound <= plan.time.value);
      CHECK(hash(plan) == hash(schedule(lengths, o, cost, squares, {.balance = how})));
      for (std::size_t r = 1; r < plan.ranks(); ++r) CHECK(plan.passes(r) == plan.passes(0));
      auto const fixed = schedule(lengths, o, cost, squares, {.context_ranks = o.ranks, .balance = how});
      CHECK(plan.time.value <= fixed.time.value);
    }
    auto const published = schedule(lengths, o, cost, squares, {.balance = balance::by_packs, .as_published = true});
    auto const verdict = check_shards(published, lengths, o);
    too_full += !verdict.valid();
    CHECK((verdict.valid() || verdict.fault == ballast::shard_fault::overfull_pass));
  }
  if (ballast_test::round_step == 1) CHECK(too_full > 0);
}

TEST_CASE("slime: plan_shards takes at most 0.3 % longer on two samples a rank", "[methods][slime][sharding]") {
  ballast::splitmix64 draw(11);
  auto const model = ballast::transformer_preset("llama-3.1-8b");
  auto const& h100 = ballast::device_named("h100");
  for (int round = 0; round < 60; round += ballast_test::round_step) {
    ballast::sharding_options const o{
        .capacity = 8192, .ranks = round % 2 == 0 ? 8U : 16U, .cost_per_pass = 14'400'000, .execution = execution::mixed};
    std::vector<std::int64_t> lengths(2 * o.ranks);
    for (auto& l : lengths) l = between(1000, 32768, draw);
    auto const cost =
        degree_cost_of(model, h100, ballast::datasheet_fabric(h100), {.ranks = static_cast<std::int64_t>(o.ranks), .tokens = o.capacity});
    CAPTURE(round, lengths);
    auto const theirs = schedule(lengths, o, cost, workload(model)).time.value;
    CHECK(plan_shards(lengths, o, cost).time.value <= theirs + theirs * 3 / 1000);
  }
}

TEST_CASE("slime: the work of a model, and bad input", "[methods][slime]") {
  auto const model = ballast::transformer_preset("llama-3.1-8b");
  // 32 layers of (50,331,648 + 33,554,432 + 352,321,536) FLOPs and a head of 1,050,673,152 for each token, 262,144 for each of L * L.
  auto const work = workload(model);
  CHECK(work.linear == 15'009'316'864 / 262'144);
  CHECK(work.quadratic == 1);
  std::vector<std::int64_t> const lengths{5, 7};
  CHECK(refusal([&] { return packs(lengths, {.capacity = 6}, squares); }) == "lengths[1] = 7 exceeds capacity = 6");
  CHECK(refusal([&] { return packs(lengths, {.capacity = 9, .data_ranks = 0}, squares); }) == "data_ranks = 0 must be in 1 ... 2^20 - 1");
  CHECK(refusal([&] { return packs(lengths, {.capacity = 9}, [](std::int64_t) { return std::int64_t{1} << 62; }); }) ==
        "lengths[1] = 7 brings the sum of works to 2^63 or more");
}

}  // namespace test_methods_slime
