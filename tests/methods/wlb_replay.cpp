// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/polynomial.hpp>
#include <ballast/methods/wlb_replay.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/wlb_lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_methods_wlb_replay {

using namespace ballast;
using ballast_test::refusal;

namespace {

constexpr quadratic_cost cost{.linear = 35873, .quadratic = 1};  // attention and the rest are equal at 36K tokens: 7B

/// Global batches with 120,000 tokens for each micro-batch, or a little more.
wlb::global_batches stream(std::size_t batches, std::int64_t micro_batches, std::uint64_t seed) {
  wlb::global_batches out(1);
  std::int64_t tokens = 0;
  for (auto const l : ballast_test::wlb_lengths(batches * static_cast<std::size_t>(micro_batches) * 60, seed)) {
    if (tokens >= micro_batches * 120'000) {
      if (out.size() == batches) break;
      out.emplace_back();
      tokens = 0;
    }
    out.back().push_back(l);
    tokens += l;
  }
  return out;
}

/// Every document once in the steps or in those left.
void check_complete(wlb::global_batches const& batches, wlb::replayed const& run) {
  std::vector<std::int64_t> length;
  for (auto const& b : batches) length.insert(length.end(), b.begin(), b.end());
  std::vector<int> seen(length.size(), 0);
  for (auto const& s : run.steps)
    for (std::size_t i = 0; i < s.lengths.size(); ++i) {
      auto const number = static_cast<std::size_t>(s.micro_batches.members[i]);
      seen[number] += s.lengths[i] == length[number] ? 1 : 2;
    }
  for (auto const& d : run.left) {
    ++seen[static_cast<std::size_t>(d.number)];
    CHECK(d.length == length[static_cast<std::size_t>(d.number)]);
  }
  CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

}  // namespace

TEST_CASE("wlb: table 2, packing in order, repacked windows and outlier queues in the published order", "[published]") {
  for (auto const n : {std::int64_t{4}, std::int64_t{8}}) {
    auto const batches = stream(160, n, 5);
    wlb::options const fixed{.micro_batches = static_cast<std::uint64_t>(n), .capacity = 131072, .thresholds = {}};
    std::vector<std::int64_t> imbalance;
    auto const add = [&](wlb::replayed const& run) {
      check_complete(batches, run);
      imbalance.push_back(run.imbalance());
    };
    add(pack_in_order(batches, fixed, cost));
    for (auto const window : {std::size_t{1}, std::size_t{2}, std::size_t{4}, std::size_t{8}})
      add(repack_windows(batches, fixed, cost, window));
    CAPTURE(n, imbalance);
    for (std::size_t i = 1; i < imbalance.size(); ++i) CHECK(imbalance[i] < imbalance[i - 1]);

    auto variable = fixed;
    variable.capacity = 196608;  // micro-batches of variable length, up to the memory of a rank
    std::vector<std::int64_t> queues;
    for (auto const& thresholds : {std::vector<std::int64_t>{65536}, {32768, 81920}, {24576, 57344, 98304}}) {
      variable.thresholds = thresholds;
      auto const run = replay(batches, variable, cost);
      check_complete(batches, run);
      CHECK(run.steps.size() == batches.size());
      CHECK(run.delay() < 1'000'000);
      queues.push_back(run.imbalance());
    }
    CAPTURE(queues);
    CHECK(queues[0] < imbalance[2]);        // one queue: better than windows of two batches
    CHECK(queues[1] < queues[0]);           // a second one helps
    CHECK(queues[2] < queues[1] + 10'000);  // a third one does not matter
    CHECK(queues[1] < imbalance[4]);        // and beats windows of eight
    CHECK(queues[1] < 1'050'000);           // as published
    CHECK(imbalance[0] > 1'400'000);
  }
}

TEST_CASE("wlb: thresholds tuned on a sample are within the delay, and as good as any single queue") {
  auto const batches = stream(60, 4, 6);
  wlb::options shape{.micro_batches = 4, .capacity = 196608, .thresholds = {}};
  std::vector<std::int64_t> const candidates{16384, 32768, 65536, 98304};
  auto const best = tune_thresholds(batches, shape, cost, candidates, 2, 600'000);
  CHECK(best.delay <= 600'000);
  CHECK(best.thresholds.size() <= 2);
  shape.thresholds = best.thresholds;
  CHECK(replay(batches, shape, cost).imbalance() == best.imbalance);
  for (auto const c : candidates) {
    shape.thresholds = {c};
    auto const run = replay(batches, shape, cost);
    if (run.delay() <= 600'000) CHECK(best.imbalance <= run.imbalance());
  }
  // A limit of nothing is kept only by no queues.
  auto const none = tune_thresholds(batches, shape, cost, candidates, 2, 0);
  CHECK(none.thresholds.empty());
  CHECK(none.imbalance > best.imbalance);
}

TEST_CASE("wlb: replays of nothing, and misuse") {
  wlb::options const shape{.micro_batches = 2, .capacity = 10, .thresholds = {}};
  CHECK(replay({}, shape, cost).imbalance() == 1'000'000);
  CHECK(replay({}, shape, cost).delay() == 0);
  CHECK(pack_in_order({{4, 4, 4}}, shape, cost).steps.empty());
  CHECK(pack_in_order({{4, 4, 4}}, shape, cost).left.size() == 3);
  CHECK(pack_in_order({{4, 4}, {4, 9, 1}}, shape, cost).steps.size() == 1);
  CHECK(repack_windows({{4, 4}, {4}, {3}}, shape, cost, 2).left.size() == 1);
  CHECK(repack_windows({{4, 4, 4}, {}, {3}}, shape, cost, 2).longest_delay() == 1);
  CHECK(refusal([&] { return repack_windows({}, shape, cost, 0).steps.size(); }) == "window = 0 must be in 1 ... 2^10 - 1");
  CHECK(refusal([&] { return pack_in_order({{11}}, shape, cost).steps.size(); }) == "a document of 11 tokens exceeds capacity = 10");
  CHECK(refusal([&] { return tune_thresholds({}, shape, cost, {2, 1}, 1).delay; }) ==
        "thresholds[1] = 1 must be positive and above the one before");
  CHECK(refusal([&] { return tune_thresholds({}, shape, cost, {1}, 5).delay; }) == "queues = 5 must be at most 4");
}

}  // namespace test_methods_wlb_replay
