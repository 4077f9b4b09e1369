// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/methods/wlb_shards.hpp>
#include <ballast/sharding/check.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/wlb_lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_methods_wlb_shards {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;

namespace {

constexpr stepped_tile_time tile_time{.slow = 5, .fast = 4};

}  // namespace

TEST_CASE("wlb: the shards of a step hold every token of its documents once, each micro-batch on its group", "[property]") {
  splitmix64 draw(3);
  for (int round = 0; round < 60; ++round) {
    auto const groups = static_cast<std::uint64_t>(between(1, 3, draw)), each = static_cast<std::uint64_t>(between(1, 3, draw));
    wlb::cluster const on{.groups = groups, .shares = {.ranks = static_cast<std::uint64_t>(between(1, 5, draw))}};
    wlb::packer stream({.micro_batches = groups * each, .capacity = 3000, .thresholds = {1000}},
                       quadratic_cost{.linear = 100, .quadratic = 1});
    for (int batch = 0; batch < 4; ++batch) {
      auto const step = stream.push(ballast_test::random_lengths(static_cast<std::size_t>(between(0, 30, draw)), 2000, draw));
      auto const plan = ballast::wlb::step_shards(step, on, tile_time);
      auto const ranks = on.shares.ranks * groups;
      auto const v = check_shards(plan, step.lengths, {.capacity = 3000, .ranks = ranks});
      CAPTURE(round, describe(v));
      CHECK(v.valid());
      CHECK(plan.time.lower_bound <= plan.time.value);
      REQUIRE(plan.ranks() == ranks);
      for (std::size_t r = 0; r < ranks; ++r) {
        REQUIRE(plan.passes(r) == each);
        for (std::size_t p = 0; p < each; ++p)
          for (auto const& held : plan(r, p)) {
            auto const m = r / on.shares.ranks + p * groups;
            CHECK(held.sample >= step.micro_batches.offsets[m]);
            CHECK(held.sample < step.micro_batches.offsets[m + 1]);
          }
      }
    }
  }
}

TEST_CASE("wlb: choosing the cut of each micro-batch is at least as fast as one cut for all", "[published]") {
  wlb::packer stream({.micro_batches = 8, .capacity = 196608, .thresholds = {65536}}, quadratic_cost{.linear = 35873, .quadratic = 1});
  auto const lengths = ballast_test::wlb_lengths(300, 7);
  auto const step = stream.push(lengths);
  auto const plan = ballast::wlb::step_shards(step, {.groups = 8, .shares = {.ranks = 8}}, tile_time);
  std::int64_t by_document = 0, by_sequence = 0;
  for (std::size_t m = 0; m < 8; ++m) {
    std::vector<std::int64_t> of;
    for (auto const i : step.micro_batches[m]) of.push_back(lengths[static_cast<std::size_t>(i)]);
    auto const cut = document_shares(of, {.ranks = 8}, tile_time);
    by_document = (std::max)(by_document, cut.per_document);
    by_sequence = (std::max)(by_sequence, cut.per_sequence);
  }
  CHECK(plan.time.value <= (std::min)(by_document, by_sequence));
}

TEST_CASE("wlb: misuse of step_shards") {
  wlb::step step;
  step.micro_batches.offsets = {0, 0, 0, 0};
  CHECK(ballast::wlb::step_shards(step, {.groups = 3, .shares = {.ranks = 2}}, tile_time).passes() == 6);
  CHECK(refusal([&] { return ballast::wlb::step_shards(step, {.groups = 2, .shares = {.ranks = 2}}, tile_time); }) ==
        "groups = 2 must be positive and divide 3 micro-batches");
  CHECK(refusal([&] { return ballast::wlb::step_shards(step, {.groups = 3, .shares = {}}, tile_time); }) ==
        "ranks = 0 must be in 1 ... 2^20 - 1");
  step.lengths.push_back(1);
  CHECK(refusal([&] { return ballast::wlb::step_shards(step, {.groups = 1, .shares = {.ranks = 2}}, tile_time); }) ==
        "lengths must have an entry for each document");
}

}  // namespace test_methods_wlb_shards
