// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/batch_rebalance.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/lists.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace test_methods_batch_rebalance {

using namespace ballast::batch_rebalance;
using ballast::status;
using ballast_test::as_lists;
using ballast_test::between;
using ballast_test::lists;
using ballast_test::refusal;

std::int64_t padded_cost(std::vector<std::int64_t> const& lengths, std::span<std::uint32_t const> rows) {
  std::int64_t longest = 0;
  for (auto const i : rows) longest = (std::max)(longest, lengths[i]);
  return static_cast<std::int64_t>(rows.size()) * workload()(longest);
}

/// The least cost of a most expensive part, over all divisions of the samples into `parts`.
std::int64_t exhaustive(std::vector<std::int64_t> const& lengths, std::size_t parts) {
  auto best = (std::numeric_limits<std::int64_t>::max)();
  lists division(parts);
  std::function<void(std::uint32_t)> const place = [&](std::uint32_t i) {
    if (i == lengths.size()) {
      std::int64_t most = 0;
      for (auto const& p : division) most = (std::max)(most, padded_cost(lengths, p));
      best = (std::min)(best, most);
      return;
    }
    for (auto& p : division) {
      p.push_back(i);
      place(i + 1);
      p.pop_back();
    }
  };
  place(0);
  return best;
}

TEST_CASE("batch_rebalance: the rules by hand", "[methods][batch_rebalance]") {
  // Rows cost 1000 L + L^2: 110,000 for 100, 10,100 for 10. Parts of 3 and 2: 330,000 and 20,200. Two moves later 100 is alone, and the
  // other part has four rows of 10; the first numbers have no less difference.
  std::vector<std::int64_t> const lengths{10, 10, 100, 10, 10};
  auto const made = as_published(lengths, {.ranks = 2});
  CHECK(as_lists(made.micro_batches) == lists{{2}, {0, 1, 3, 4}});
  CHECK(made.most.value == 110'000);
  CHECK(made.most.optimal());
  // On two ranks with two micro-batches each, the two most expensive parts come first.
  auto const four = as_published(lengths, {.ranks = 2, .micro_batches = 2});
  CHECK(as_lists(four.micro_batches) == lists{{2}, {0, 1}, {3}, {4}});
  CHECK(as_published(lengths, {.ranks = 6}).status == status::infeasible);
  CHECK(as_lists(optimal(lengths, {.ranks = 6}).micro_batches).size() == 6);
  CHECK(as_published(std::vector<std::int64_t>{}, {.ranks = 1}).status == status::infeasible);
  CHECK(optimal(std::vector<std::int64_t>{}, {.ranks = 2}).micro_batches.size() == 2);
}

TEST_CASE("batch_rebalance: no division has a cheaper most expensive micro-batch than `optimal`", "[methods][batch_rebalance]") {
  ballast::splitmix64 draw(3);
  for (int round = 0; round < 120; ++round) {
    auto const lengths = ballast_test::random_lengths(1 + draw() % 7, 40, draw);
    auto const parts = 1 + draw() % 3;
    auto const plan = optimal(lengths, {.ranks = parts});
    CAPTURE(round, lengths, parts);
    REQUIRE(plan.status == status::feasible);
    CHECK(plan.most.value == exhaustive(lengths, parts));
    CHECK(plan.most.optimal());
  }
}

TEST_CASE("batch_rebalance: every sample once, dealt by cost, within the capacity", "[methods][batch_rebalance]") {
  ballast::splitmix64 draw(4);
  std::size_t better = 0;
  for (int round = 0; round < 300; ++round) {
    options o{.ranks = 1 + draw() % 6, .micro_batches = 1 + draw() % 4};
    auto const longest = between(1, 5000, draw);
    auto const lengths = ballast_test::random_lengths(o.ranks * o.micro_batches + draw() % 80, longest, draw);
    if (draw() % 2 == 0) o.capacity = longest * between(1, 20, draw);
    CAPTURE(round, o.ranks, o.micro_batches, o.capacity, lengths);
    auto const published = as_published(lengths, o), ours = optimal(lengths, o);
    REQUIRE(published.status == status::feasible);
    for (auto const* plan : {&published, &ours}) {
      if (plan->status != status::feasible) continue;
      auto members = plan->micro_batches.members;
      std::sort(members.begin(), members.end());
      REQUIRE(members.size() == lengths.size());
      for (std::uint32_t i = 0; i < members.size(); ++i) CHECK(members[i] == i);
      auto before = (std::numeric_limits<std::int64_t>::max)();
      for (auto const rows : plan->micro_batches) {
        CHECK(padded_cost(lengths, rows) <= before);
        CHECK(!rows.empty());
        before = padded_cost(lengths, rows);
        if (plan == &ours && o.capacity > 0) CHECK(lengths[rows[0]] * static_cast<std::int64_t>(rows.size()) <= o.capacity);
      }
      CHECK(plan->most.value == padded_cost(lengths, plan->micro_batches[0]));
      CHECK(plan->most.lower_bound <= plan->most.value);
    }
    CHECK(as_published(lengths, o).micro_batches == published.micro_batches);
    if (o.capacity == 0) CHECK(ours.most.value == published.most.lower_bound);
    if (o.capacity == 0) better += ours.most.value < published.most.value;
  }
  CHECK(better > 20);
}

TEST_CASE("batch_rebalance: any cost of a row, and bad input", "[methods][batch_rebalance]") {
  std::vector<std::int64_t> const lengths{4, 3, 2, 1};
  auto const count = [](std::int64_t) { return std::int64_t{1}; };
  CHECK(optimal(lengths, {.ranks = 2}, count).most.value == 2);
  CHECK(optimal(lengths, {.ranks = 2, .capacity = 3}).status == status::infeasible);
  CHECK(refusal([&] { return optimal(lengths, {.ranks = 0}); }) == "ranks = 0 must be in 1 ... 2^15 - 1");
  CHECK(refusal([&] { return as_published(lengths, {.ranks = 1, .capacity = -1}); }) == "capacity = -1 must not be negative");
  CHECK(refusal([&] { return as_published(lengths, {.ranks = 1}, [](std::int64_t) { return std::int64_t{1} << 61; }); }) ==
        "the cost of lengths[0] = 4, which is 2305843009213693952, must be in [0, 2^62) for as many rows as samples");
}

}  // namespace test_methods_batch_rebalance
