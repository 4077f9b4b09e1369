// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/streams/outlier_stream.hpp>
#include <ballast/streams/stream_step.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace test_streams_stream_step {

using namespace ballast;
using numbers = std::vector<std::int64_t>;

namespace {

stream_step made(numbers const& lengths, std::vector<std::uint64_t> const& delays, numbers const& workloads) {
  stream_step s;
  s.lengths = lengths;
  s.delays = delays;
  s.workloads = workloads;
  return s;
}

}  // namespace

TEST_CASE("replay_stream: the imbalance of steps and of time, and the delay of tokens") {
  stream_replay run;
  CHECK(run.imbalance() == 1'000'000);
  CHECK(run.time_imbalance() == 1'000'000);
  CHECK(run.delay() == 0);
  CHECK(run.longest_delay() == 0);
  run.steps = {made({6, 2}, {1, 0}, {1, 3}), made({4}, {3}, {30, 30})};
  CHECK(run.steps[0].imbalance() == 1'500'000);
  CHECK(run.imbalance() == 1'250'000);
  CHECK(run.time_imbalance() == 1'031'250);  // 33 / 32
  CHECK(run.delay() == 1'500'000);           // 18 / 12
  CHECK(run.longest_delay() == 3);
  run.steps = {made({9, 6, 9, 2}, {1, 0}, {0, 0})};  // two measures: the last counts
  CHECK(run.delay() == 750'000);
  CHECK(run.imbalance() == 1'000'000);
  CHECK(run.time_imbalance() == 1'000'000);
  // Sums beyond 2^63 are scaled.
  run.steps.assign(100, made({}, {}, {std::int64_t{1} << 60, 0, std::int64_t{1} << 59}));
  CHECK(run.time_imbalance() == 2'000'000);
}

TEST_CASE("replay_stream: no sum overflows, however long the samples and their delays are", "[property]") {
  splitmix64 draw(3);
  for (int round = 0; round < 200; ++round) {  // samples that each are 2^k times as long and expensive have the same delay and balance
    stream_replay run, longer;
    auto const bits = static_cast<int>(draw() % 43);
    for (auto step = 1 + draw() % 5; step > 0; --step) {
      numbers lengths, workloads;
      std::vector<std::uint64_t> delays;
      for (auto n = 1 + draw() % 20; n > 0; --n) {
        lengths.push_back(static_cast<std::int64_t>(draw() % (1 << 20)));
        workloads.push_back(static_cast<std::int64_t>(draw() % (1 << 20)));
        delays.push_back(draw() % (1 << 20));
      }
      while (lengths.size() % 4 != 0) {
        lengths.push_back(0);
        workloads.push_back(0);
        delays.push_back(0);
      }
      workloads.resize(4);
      workloads[0] += (4 - (workloads[0] + workloads[1] + workloads[2] + workloads[3]) % 4) % 4;  // no mean is rounded
      run.steps.push_back(made(lengths, delays, workloads));
      for (auto* const all : {&lengths, &workloads})
        for (auto& x : *all) x <<= bits;
      longer.steps.push_back(made(lengths, delays, workloads));
      CHECK(longer.steps.back().imbalance() == run.steps.back().imbalance());
    }
    CHECK(longer.imbalance() == run.imbalance());
    CHECK(longer.time_imbalance() == run.time_imbalance());
    CHECK(longer.delay() == run.delay());
  }
  stream_replay longest;
  auto const most = std::int64_t{1} << 62;
  longest.steps.assign(5, made({most, most, most}, {1 << 20, 1 << 20, 1 << 20}, {most, most, most}));
  CHECK(longest.delay() == 1'000'000LL << 20);
  CHECK(longest.steps[0].imbalance() == 1'000'000);
  CHECK(longest.time_imbalance() == 1'000'000);
}

TEST_CASE("replay_stream: a step for each block, and what waits at the end") {
  outlier_stream const policy({.micro_batches = 2, .capacity = {100}}, quadratic_cost{.linear = 0, .quadratic = 1});
  auto const run = replay_stream({{10, 1, 1}, {2, 2}}, policy);
  REQUIRE(run.steps.size() == 2);
  CHECK(run.left == std::vector<stream_sample>{{0, 10, 0}});
  auto again = policy;
  CHECK(run.steps[0] == again.push(numbers{10, 1, 1}));
  CHECK(policy.waiting().empty());
  outlier_stream const rows({.micro_batches = 2, .capacity = {100, 100}},
                            [](std::span<std::int64_t const> row) { return row[0] * row[0]; });
  CHECK(replay_stream({{10, 3, 1, 3, 1, 3}}, rows).left == std::vector<stream_sample>{{0, 3, 0}});
}

}  // namespace test_streams_stream_step
