// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/make_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_sharding_check {

using ballast::execution;
using ballast::shard_fault;
using ballast_test::between;

std::vector<int> const lengths{8, 3, 5, 2};
ballast::sharding_options const options{.capacity = 7, .ranks = 2};

/// Rank 0: half of sample 0. Rank 1: the other half beside sample 1, then sample 2. Sample 3 is left out.
ballast::shards<> valid() {
  ballast::pass_list<> list;
  std::uint32_t const both[] = {0, 1}, second[] = {1};
  list.ranks.push_back(both);
  list.ranks.push_back(second);
  list.placements = {{.sample = 0}, {.sample = 1, .rank = 1}, {.sample = 2, .pass = 1}};
  auto plan = make_shards(lengths, list, 2);
  plan.execution = execution::mixed;
  plan.left_out = {3};
  return plan;
}

ballast::rule fault_of(ballast::shards<> const& plan, ballast::sharding_options const& o = options) {
  auto const v = check_shards(plan, lengths, o);
  CHECK_FALSE(describe(v).empty());
  return v.fault;
}

template <class Change>
ballast::rule after(Change const& change) {
  auto plan = valid();
  change(plan);
  return fault_of(plan);
}

TEST_CASE("check_shards: names the rule that a change breaks") {
  using broken = shard_fault;
  // Pieces: 0 [0, 2) and [6, 8) on rank 0, [2, 6) on rank 1; 1 [0, 3) on rank 1; pass 2 holds 2 [0, 5).
  CHECK(fault_of(valid()) == broken::none);
  CHECK(after([](auto& p) { p.status = ballast::status::infeasible; }) == broken::passes_without_plan);
  CHECK(after([](auto& p) { p.pass_offsets[1] = 9; }) == broken::bad_offsets);
  CHECK(after([](auto& p) { p.rank_offsets[1] = 4; }) == broken::bad_offsets);
  CHECK(after([](auto& p) { p.rank_offsets.push_back(3); }) == broken::wrong_rank_count);
  CHECK(after([](auto& p) { p.rank_groups.members = {1, 0}; }) == broken::bad_group);
  CHECK(after([](auto& p) { p.rank_groups.members = {0, 2}; }) == broken::bad_group);
  CHECK(after([](auto& p) { p.left_out = {4}; }) == broken::sample_out_of_range);
  CHECK(after([](auto& p) { p.pieces[3].sample = 4; }) == broken::sample_out_of_range);
  CHECK(after([](auto& p) { p.pieces[4].end = 6; }) == broken::bad_piece);
  CHECK(after([](auto& p) { p.pieces[4].end = 0; }) == broken::empty_piece);
  CHECK(after([](auto& p) { p.pieces[0].group = 1; }) == broken::group_out_of_range);
  CHECK(after([](auto& p) { p.pieces[4].group = 0; }) == broken::group_twice);
  CHECK(after([](auto& p) { std::swap(p.pieces[0], p.pieces[1]); }) == broken::scattered_sample);
  CHECK(after([](auto& p) { p.execution = execution::independent; }) == broken::mixed_pass);
  CHECK(after([](auto& p) { p.execution = execution::lockstep; }) == broken::uneven_passes);
  CHECK(after([](auto& p) { p.pieces[1].begin = 5; }) == broken::token_twice);
  CHECK(after([](auto& p) { p.left_out = {2, 3}; }) == broken::token_twice);
  CHECK(after([](auto& p) { p.left_out = {}; }) == broken::token_missing);
  CHECK(after([](auto& p) { p.pieces[4].end = 4; }) == broken::token_missing);
  CHECK(after([](auto& p) { p.pieces[2].group = ballast::not_shared; }) == broken::group_incomplete);
  CHECK(after([](auto& p) { p.time = {.value = 3, .lower_bound = 4}; }) == broken::wrong_bound);
  CHECK(fault_of(valid(), {.capacity = 6, .ranks = 2}) == broken::overfull_pass);
  CHECK(fault_of(valid(), {.capacity = 7, .ranks = 2, .most_ranks_shared = 1}) == broken::group_too_large);
  CHECK(describe(check_shards(valid(), lengths, {.capacity = 6, .ranks = 2})) == "pass 1 holds 7 tokens, more than the capacity 6");

  ballast::shards<> three;  // ranks 0 and 2 share a sample that rank 1 holds a piece of
  three.rank_offsets = {0, 1, 2, 3};
  three.pass_offsets = {0, 1, 2, 3};
  std::uint32_t const ends[] = {0, 2};
  three.rank_groups.push_back(ends);
  three.execution = execution::mixed;
  three.pieces = {{0, 0, 3, 0}, {0, 3, 4, 0}, {0, 4, 8, 0}};
  CHECK(check_shards(three, std::vector{8}, {.capacity = 9, .ranks = 3}).fault == broken::wrong_rank);
  three.pieces = {{0, 0, 4, 0}, {1, 0, 2}, {0, 4, 8, 0}};
  CHECK(check_shards(three, std::vector{8, 2}, {.capacity = 9, .ranks = 3}).fault == broken::none);
  CHECK(check_shards(three, std::vector{8, 2}, {.capacity = 9, .ranks = 3}, {.aligned = true}).fault == broken::group_not_aligned);
}

TEST_CASE("check_shards: the tokens of a pass do not wrap around, and no capacity below 1 has room") {
  constexpr auto large = std::int64_t{1} << 62;
  ballast::shards<> plan;
  plan.rank_offsets = {0, 1};
  plan.pass_offsets = {0, 4};
  plan.pieces = {{0, 0, large}, {1, 0, large}, {2, 0, large}, {3, 0, large}};
  for (auto const capacity : {std::int64_t{-1}, std::int64_t{100}, 3 * (large / 2)})
    CHECK(check_shards(plan, std::vector(4, large), {.capacity = capacity, .ranks = 1}).fault == shard_fault::overfull_pass);
}

TEST_CASE("check_shards: chunks of a sample are on the same ranks, in order, and nobody waits in a circle") {
  using broken = shard_fault;
  ballast::sharding_options const o{.capacity = 9, .ranks = 2};
  ballast::shards<> plan;
  plan.rank_offsets = {0, 2, 4};
  plan.pass_offsets = {0, 1, 2, 3, 4};
  plan.pieces = {{0, 0, 4}, {0, 4, 6}, {1, 0, 3}, {1, 3, 5}};
  std::vector const two{6, 5};
  CHECK(check_shards(plan, two, o).fault == broken::none);
  auto other = plan;
  std::swap(other.pieces[0], other.pieces[1]);
  CHECK(check_shards(other, two, o).fault == broken::wrong_order);
  other = plan;
  std::swap(other.pieces[1], other.pieces[3]);
  CHECK(check_shards(other, two, o).fault == broken::other_ranks);

  std::uint32_t const both[] = {0, 1};
  plan.rank_groups.push_back(both);
  plan.rank_groups.push_back(both);
  plan.pieces = {{0, 0, 3, 0}, {1, 0, 3, 1}, {0, 3, 6, 0}, {1, 3, 5, 1}};
  CHECK(check_shards(plan, two, o).fault == broken::none);
  std::swap(plan.pieces[2], plan.pieces[3]);
  CHECK(check_shards(plan, two, o).fault == broken::circular_wait);
}

TEST_CASE("check_shards: random passes are valid") {
  ballast::splitmix64 draw(7);
  for (int round = 0; round < 500; ++round) {
    auto const levels = between(0, 3, draw);
    auto const ranks = std::uint64_t{1} << levels;
    auto const samples = ballast_test::random_lengths(static_cast<std::size_t>(between(1, 30, draw)), 100, draw);
    ballast::pass_list<> list;
    std::int64_t most = 1;
    for (std::uint32_t i = 0; i < samples.size(); ++i) {  // a pass for each sample, on a random block
      auto const width = std::uint32_t{1} << between(0, samples[i] < 8 ? 0 : levels, draw);
      std::vector<std::uint32_t> block(width, width * static_cast<std::uint32_t>(draw() % (ranks / width)));
      for (std::uint32_t k = 0; k < width; ++k) block[k] += k;
      list.ranks.push_back(block);
      list.placements.push_back({.sample = i, .pass = i});
      most = (std::max)(most, (samples[i] + width - 1) / width);
    }
    auto const layout = draw() % 2 == 0 ? ballast::share_layout::zigzag : ballast::share_layout::contiguous;
    auto plan = make_shards(samples, list, ranks, layout);
    auto const v = check_shards(plan, samples, {.capacity = most, .ranks = ranks}, {.aligned = true});
    CAPTURE(describe(v));
    REQUIRE(v.valid());
    CHECK(check_shards(plan, samples, {.capacity = most - 1, .ranks = ranks}).fault == shard_fault::overfull_pass);
  }
}

}  // namespace test_sharding_check
