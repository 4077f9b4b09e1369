// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/methods/dynapipe.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test_methods_dynapipe {

using namespace ballast_test;
using ballast::status;
using ballast::dynapipe::options;
using ballast::dynapipe::padded;
using ballast::dynapipe::sample_order;

/// Mode 1 recomputes: a third more time, an eighth of the memory.
std::int64_t time_of(padded const& b, std::uint64_t mode) {
  auto const tokens = static_cast<std::int64_t>(b.samples) * (b.longest + b.longest_target);
  return (3 + static_cast<std::int64_t>(mode)) * (200 + 10 * tokens + tokens * (b.longest + b.longest_target) / 64);
}
std::int64_t memory_of(padded const& b, std::uint64_t mode) {
  return static_cast<std::int64_t>(b.samples) * (b.longest + b.longest_target) * (mode == 0 ? 8 : 1);
}

/// Whether every sample is in one micro-batch and every micro-batch in one replica, within the memory, and all numbers are right.
bool sound(ballast::dynapipe::plan<> const& plan, std::vector<std::int64_t> const& lengths, std::vector<std::int64_t> const& targets,
           options const& o) {
  std::vector<int> seen(lengths.size()), dealt(plan.micro_batches.size());
  std::int64_t sum = 0, slowest = 0, time = 0;
  for (std::size_t m = 0; m < plan.micro_batches.size(); ++m) {
    padded shape;
    for (auto const i : plan.micro_batches[m]) {
      ++seen[i];
      ++shape.samples;
      shape.longest = (std::max)(shape.longest, lengths[i]);
      if (!targets.empty()) shape.longest_target = (std::max)(shape.longest_target, targets[i]);
    }
    auto const share = static_cast<std::int64_t>(plan.exceeds_share ? 1 : o.stages);
    if (shape.samples == 0 || plan.times[m] != time_of(shape, plan.mode) || memory_of(shape, plan.mode) > o.memory / share) return false;
    sum += plan.times[m];
    slowest = (std::max)(slowest, plan.times[m]);
  }
  for (auto const replica : plan.replicas) {
    std::int64_t mine = 0, most = 0;
    for (auto const m : replica) {
      ++dealt[m];
      mine += plan.times[m];
      most = (std::max)(most, plan.times[m]);
    }
    if (!std::is_sorted(replica.begin(), replica.end())) return false;
    auto const ramp = static_cast<std::int64_t>(o.stages - 1) * most, chunks = static_cast<std::int64_t>(o.chunks);
    time = (std::max)(time, mine + (ramp + chunks - 1) / chunks);
  }
  auto const value = static_cast<std::int64_t>((o.stages - 1) * o.replicas) * slowest + static_cast<std::int64_t>(o.chunks) * sum;
  return std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(seen.size()) &&
         std::count(dealt.begin(), dealt.end(), 1) == static_cast<std::ptrdiff_t>(dealt.size()) && plan.replicas.size() == o.replicas &&
         plan.objective.value == value && plan.time == time;
}

TEST_CASE("dynapipe: plans are sound, optimal for their order, and the first mode that fits is taken", "[methods][dynapipe]") {
  ballast::splitmix64 draw(12);
  int recomputed = 0, exceeding = 0, impossible = 0, bands_better = 0;
  for (int round = 0; round < 400; round += round_step) {
    auto const n = static_cast<std::size_t>(between(0, 60, draw));
    auto const lengths = random_lengths(n, 500, draw);
    std::vector<std::int64_t> targets;
    if (round % 2 == 1) targets = random_lengths(n, 300, draw);
    options o{.stages = static_cast<std::uint64_t>(between(1, 8, draw)),
              .replicas = static_cast<std::uint64_t>(between(1, 4, draw)),
              .chunks = static_cast<std::uint64_t>(between(1, 2, draw)),
              .memory = between(300, round % 3 == 0 ? 40000 : 4000, draw),
              .modes = 2};
    auto const run = [&](options const& by) {
      return targets.empty() ? ballast::dynapipe::schedule(lengths, by, time_of, memory_of)
                             : ballast::dynapipe::schedule(lengths, targets, by, time_of, memory_of);
    };
    auto const plan = run(o);
    CAPTURE(round, n, o.stages, o.memory);
    std::int64_t most = 0;
    for (std::size_t i = 0; i < n; ++i) most = (std::max)(most, lengths[i] + (targets.empty() ? 0 : targets[i]));
    CHECK((plan.status == status::feasible) == (most <= o.memory));
    if (plan.status != status::feasible) {
      ++impossible;
      CHECK(plan.objective.lower_bound > plan.objective.value);
      continue;
    }
    REQUIRE(sound(plan, lengths, targets, o));
    CHECK(plan.objective.optimal());
    auto const share = o.memory / static_cast<std::int64_t>(o.stages);
    CHECK(plan.exceeds_share == (most > share));
    CHECK((plan.mode == 1) == (most * 8 > (plan.exceeds_share ? o.memory : share)));
    recomputed += plan.mode == 1;
    exceeding += plan.exceeds_share;

    auto best = o;
    best.best_mode = true;
    auto const either = run(best);
    REQUIRE(sound(either, lengths, targets, o));
    CHECK(either.objective.value <= plan.objective.value);
    if (!targets.empty()) {
      auto with_bands = o;
      with_bands.order = sample_order::bands;
      auto const bands = run(with_bands);
      REQUIRE(sound(bands, lengths, targets, o));
      CHECK(std::pair(bands.exceeds_share, bands.objective.value) <= std::pair(plan.exceeds_share, plan.objective.value));
      bands_better += bands.objective.value < plan.objective.value;
    }
    auto published = o;
    published.candidate_step = 5;
    auto const thinned = run(published);
    if (thinned.status == status::feasible) {
      REQUIRE(sound(thinned, lengths, targets, o));
      if (thinned.mode == plan.mode && thinned.exceeds_share == plan.exceeds_share) {
        CHECK(thinned.objective.value >= plan.objective.value);
        CHECK(thinned.objective.lower_bound <= plan.objective.value);
      }
    }
  }
  if (round_step == 1) {
    CHECK(recomputed > 40);
    CHECK(exceeding > 40);
    CHECK(impossible > 1);
    CHECK(bands_better > 40);
  }
}

TEST_CASE("dynapipe: samples are longest first, and the objective weighs the slowest by stages, chunks and replicas",
          "[methods][dynapipe]") {
  // Time = 10 + tokens, padded. Micro-batches {8} and {2, 2, 1} take 18 and 16, all samples apart 18 + 12 + 12 + 11.
  auto const time = [](padded const& b, std::uint64_t) { return 10 + static_cast<std::int64_t>(b.samples) * b.longest; };
  auto const memory = [](padded const& b, std::uint64_t) { return static_cast<std::int64_t>(b.samples) * b.longest; };
  std::vector<int> const lengths{1, 2, 8, 2};
  auto const plan = ballast::dynapipe::schedule(lengths, {.stages = 4, .replicas = 2, .memory = 100}, time, memory);
  CHECK(plan.micro_batches.members == std::vector<std::uint32_t>{2, 1, 3, 0});
  CHECK(plan.micro_batches.offsets == std::vector<std::uint64_t>{0, 1, 4});
  CHECK(plan.objective == ballast::certificate{3 * 2 * 18 + 34, 3 * 2 * 18 + 34});
  CHECK(plan.time == 18 + 3 * 18);
  // With one stage and one replica only the sum counts: 16 less to compute beside 10 for another micro-batch.
  CHECK(ballast::dynapipe::schedule(lengths, {.memory = 100}, time, memory).objective.value == 34);
  CHECK(ballast::dynapipe::schedule(std::vector<int>{}, {.stages = 3, .memory = 1}, time, memory).time == 0);
}

TEST_CASE("dynapipe: as published, candidates five units apart can leave no plan", "[methods][dynapipe]") {
  auto const time = [](padded const& b, std::uint64_t) { return static_cast<std::int64_t>(b.samples) * b.longest; };
  std::vector<int> const lengths{3, 2, 1};  // alone they take 3, 2 and 1: only 1 is kept of these limits, and the first takes 3
  CHECK(ballast::dynapipe::schedule(lengths, {.memory = 3, .candidate_step = 5}, time, time).status == status::unknown);
  CHECK(ballast::dynapipe::schedule(lengths, {.memory = 3}, time, time).objective.value == 6);
}

TEST_CASE("dynapipe: bad input is refused", "[methods][dynapipe]") {
  std::vector<int> const lengths{3, 2, 1};
  auto const with = [&](options const& o) { return refusal([&] { return ballast::dynapipe::schedule(lengths, o, time_of, memory_of); }); };
  CHECK(with({}) == "memory = 0 must be positive");
  CHECK(with({.stages = 0, .memory = 9}) == "stages = 0 must be in 1 ... 65535");
  CHECK(with({.replicas = 0, .memory = 9}) == "replicas = 0 must be in 1 ... 32767");
  CHECK(with({.chunks = 0, .memory = 9}) == "chunks = 0 must be in 1 ... 32767");
  CHECK(with({.memory = 9, .modes = 0}) == "modes = 0 must be in 1 ... 65535");
  CHECK(refusal([&] { return ballast::dynapipe::schedule(std::vector<int>{0}, {.memory = 9}, time_of, memory_of); }) ==
        "lengths[0] = 0 must be positive");
  CHECK(refusal([&] { return ballast::dynapipe::schedule(lengths, std::vector<int>{1}, {.memory = 9}, time_of, memory_of); }) ==
        "targets has 1 entry for 3 lengths");
}

}  // namespace test_methods_dynapipe
