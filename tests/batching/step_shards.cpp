// SPDX-License-Identifier: Apache-2.0
// A step of a plan is shards: valid ones, which train what the step trains, with the gradient of the unsharded step.
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/step_shards.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/shard_layout.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/token_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_batching_step_shards {

using namespace ballast_test;
using ballast::execution;
using lengths = std::vector<std::int64_t>;
using options = ballast::batching_options;

namespace {

/// Short samples, and one in eight of up to `most` times the longest of them.
lengths with_long_ones(std::size_t count, std::int64_t longest, std::int64_t most, ballast::splitmix64& draw) {
  auto out = random_lengths(count, longest, draw);
  for (auto& l : out)
    if (draw() % 8 == 0) l = between(2, most * longest, draw);
  return out;
}

}  // namespace

TEST_CASE("shards_of: valid shards of every step, with the samples of every place") {
  ballast::splitmix64 draw(61);
  ballast::degree_cost const cost{.linear = 1000, .square = 1, .exchange = {0, 300}};
  std::size_t shared = 0;
  for (int round = 0; round < 120; ++round) {
    options const o{.capacity = between(100, 900, draw),
                    .ranks = 8 + draw() % 9,
                    .micro_batches = 1 + draw() % 4,
                    .left_over = round % 2 == 0 ? ballast::left_over::split : ballast::left_over::shorten,
                    .seed = draw()};
    auto const l = with_long_ones(10 + draw() % 300, o.capacity, 8, draw);
    auto const plan = ballast::plan_steps(l, o, ballast::dense_4096_cost, {.most_ranks_shared = 8});
    ballast::sharding_options const limits{.capacity = o.capacity, .ranks = o.ranks, .most_ranks_shared = 8};
    std::vector<std::int64_t> trained(l.size(), 0);
    for (std::size_t s = 0; s < plan.steps(); ++s) {
      auto const layout = s % 2 == 0 ? ballast::share_layout::zigzag : ballast::share_layout::contiguous;
      auto const made = shards_of(plan, s, l, layout);
      INFO(round << ' ' << s << ": " << describe(check_shards(made, l, limits, {.aligned = true})));
      REQUIRE(check_shards(made, l, limits, {.aligned = true}).valid());
      CHECK(made.execution == execution::mixed);
      CHECK(hash(made) == hash(shards_of(plan, s, l, layout)));
      for (std::size_t r = 0; r < o.ranks; ++r) {
        std::size_t m = 0;
        for (auto const pack : plan.packs_of(s, r)) {  // a pass for each pack, with its samples
          auto held = shard_samples(made, r, m++);
          std::vector<std::uint32_t> expected(pack.begin(), pack.end());
          std::sort(held.begin(), held.end());
          std::sort(expected.begin(), expected.end());
          CHECK(held == expected);
        }
        CHECK(made.passes(r) == m);
      }
      for (auto const& p : made.pieces) trained[p.sample] += p.end - p.begin;
      for (auto const& x : plan.shared)
        if (x.step == s) {
          ++shared;
          for (auto const& p : made.pieces)
            if (p.sample == x.sample) CHECK(made.rank_groups[p.group].size() == x.ranks);
        }
      CHECK(time_shards(made, cost).makespan > 0);
      auto const together = shards_of(plan, s, l, layout, execution::lockstep);
      CHECK(check_shards(together, l, limits, {.aligned = true}).valid());
    }
    CHECK(trained == l);  // every token in one step
  }
  CHECK(shared > 1000);
}

TEST_CASE("shards_of: shares of several sizes in one micro-batch, and ranks that have none") {
  // Sample 0 on ranks 0 to 3 in micro-batch 1, sample 1 on ranks 2 and 3 in the same one, sample 2 on ranks 0 and 1 in micro-batch 0.
  ballast::batching<> plan;
  plan.ranks = 4;
  plan.micro_batches = 2;
  plan.packs = {{0, 1, 2, 3, 5, 6, 8, 10}, {2, 0, 2, 3, 0, 4, 0, 1, 1, 0}};
  constexpr auto none = ballast::batching<>::none;
  plan.table = {0, 1, 2, 3, 4, 5, none, 6};
  plan.shared = {{2, 0, 0, 2}, {1, 0, 2, 2}, {0, 0, 0, 4}};
  lengths const l{16, 6, 5, 3, 2, 9};
  auto const made = shards_of(plan, 0, l, ballast::share_layout::contiguous);
  CHECK(made.rank_offsets == std::vector<std::uint64_t>{0, 2, 4, 6, 7});
  CHECK(made.rank_groups == ballast::groups<std::uint32_t>{{0, 2, 6, 8}, {0, 1, 0, 1, 2, 3, 2, 3}});
  CHECK(made.left_out == std::vector<std::uint32_t>{5});
  using pieces = std::vector<ballast::piece<>>;
  auto const of = [&](std::size_t r, std::size_t m) {
    auto const view = made(r, m);
    return pieces(view.begin(), view.end());
  };
  CHECK(of(0, 0) == pieces{{2, 0, 3, 0}});
  CHECK(of(1, 1) == pieces{{0, 4, 8, 1}, {3, 0, 3, ballast::not_shared}});
  CHECK(of(2, 1) == pieces{{0, 8, 12, 1}, {1, 0, 3, 2}});
  CHECK(of(3, 0) == pieces{{0, 12, 16, 1}, {1, 3, 6, 2}});
  CHECK(check_shards(made, l, {.capacity = 7, .ranks = 4}).valid());
  auto const lockstep = shards_of(plan, 0, l, ballast::share_layout::zigzag, execution::lockstep);
  CHECK(lockstep.passes(3) == 2);
  CHECK(lockstep(3, 0).empty());
  CHECK(check_shards(lockstep, l, {.capacity = 7, .ranks = 4}).valid());
}

TEST_CASE("shards_of: the gradient of a step is that of the unsharded batch, whatever the normaliser and the reduction") {
  using ballast::gradient_reduction;
  using ballast::loss_normaliser;
  ballast::splitmix64 draw(62);
  for (int round = 0; round < 20; ++round) {
    options const o{.capacity = 200, .ranks = 8, .micro_batches = 1 + draw() % 3, .left_over = ballast::left_over::shorten, .seed = draw()};
    token_gradients const all(with_long_ones(100, o.capacity, 8, draw), draw);
    auto const plan = ballast::plan_steps(all.lengths, o, ballast::dense_4096_cost, {.most_ranks_shared = 8});
    auto const either = [&] { return draw() % 2 == 0 ? gradient_reduction::sum : gradient_reduction::average; };
    auto const across_ranks = either(), across_micro_batches = either();
    ballast::gradient_path const path{.across_ranks = across_ranks, .across_micro_batches = across_micro_batches};
    for (std::size_t s = 0; s < plan.steps(); ++s) {
      auto const policy = round % 2 == 0 ? execution::mixed : execution::lockstep;
      auto const made = shards_of(plan, s, all.lengths, ballast::share_layout::zigzag, policy);
      auto step = all;  // alone: the samples of other steps have no labels
      for (std::size_t i = 0; i < all.counts.size(); ++i) {
        auto const packs = plan.packs_of(s);
        if (std::ranges::none_of(packs, [&](auto const pack) { return std::ranges::find(pack, i) != pack.end(); })) step.counts[i] = 0;
      }
      for (auto const& normaliser : {loss_normaliser::token_mean(), loss_normaliser::sample_mean(), loss_normaliser::square_root()}) {
        auto const gradient = all.sharded(made, normaliser, path), expected = step.unsharded(normaliser);
        CAPTURE(round, s, normaliser.power, expected, gradient);
        CHECK(std::abs(gradient - expected) <= 1e-11 * (1 + std::abs(expected)));
      }
    }
  }
}

TEST_CASE("shards_of: refusals name the argument and the value") {
  lengths const l{5, 9, 6};
  options const o{.capacity = 5, .ranks = 2};
  auto const plan = ballast::plan_steps(l, o, ballast::dense_4096_cost, {.most_ranks_shared = 2});
  REQUIRE(plan.steps() > 0);
  auto const said = [&](ballast::batching<> const& of, std::size_t step, lengths const& with, execution how = execution::mixed) {
    return refusal([&] { return shards_of(of, step, with, ballast::share_layout::zigzag, how); });
  };
  CHECK(said(plan, plan.steps(), l) ==
        "step = " + std::to_string(plan.steps()) + " must be below " + std::to_string(plan.steps()) + ", the steps of the plan");
  CHECK(said(plan, 0, l, execution::independent).find("policy = independent: ") == 0);
  ballast::batching<> by_hand;
  by_hand.ranks = 2;
  by_hand.packs = {{0, 1, 2}, {0, 0}};
  by_hand.table = {0, 1};
  CHECK(said(by_hand, 0, l) == "step 0 trains sample 0 twice");
  CHECK(said(by_hand, 0, {}) == "lengths has 0 entries, none for sample 0");
  by_hand.shared = {{0, 0, 0, 2}};
  CHECK(said(by_hand, 0, l) == "accepted");
  CHECK(said(by_hand, 0, {1}) == "lengths[0] = 1: 2 ranks share the sample, more than tokens");
  by_hand.shared = {{1, 0, 0, 2}};
  CHECK(said(by_hand, 0, l) == "sample 1 is shared in step 0, but is not on rank 0");
}

}  // namespace test_batching_step_shards
