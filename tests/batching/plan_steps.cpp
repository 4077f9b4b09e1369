// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/batching/step_randomness.hpp>
#include <ballast/batching/stream_steps.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/vector/bin_completion.hpp>

#include "support/archetypes.hpp"
#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/progress_log.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <ranges>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace test_batching_plan_steps {

using namespace ballast_test;
using lengths = std::vector<std::int64_t>;
using options = ballast::batching_options;

namespace {

/// A few samples that are as dear as everything else of their step, and many short ones.
lengths heavy_tailed(std::size_t count, ballast::splitmix64& draw) {
  lengths l(count);
  for (auto& x : l) x = draw() % 32 == 0 ? between(20000, 120000, draw) : between(100, 10000, draw);
  return l;
}

}  // namespace

TEST_CASE("plan_steps: balanced steps where random ones are 1.5 times as slow, whatever the critical ratios") {
  ballast::splitmix64 draw(5);
  auto const l = heavy_tailed(20000, draw);
  for (std::uint64_t const m : {1U, 2U, 4U, 16U}) {
    options const o{.capacity = 131072, .ranks = 16, .micro_batches = m, .seed = 3};
    auto const plan = ballast::plan_steps(l, o, ballast::dense_4096_cost);
    CAPTURE(m, plan.critical.cost, plan.critical.square);
    CHECK(ballast::check_batching(plan, l, o, ballast::dense_4096_cost).valid());
    CHECK(plan.slowest_over_mean() < 1.01);
    auto const room = static_cast<double>(o.capacity) * static_cast<double>(o.ranks * m);
    CHECK(static_cast<double>(plan.steps()) < static_cast<double>(plan.tokens) / (0.9 * room) + 1);
    CHECK(plan.dropped.empty());
    if (m == 1)
      CHECK(ballast::deal_steps(ballast::best_fit_shuffled(l, {.capacity = o.capacity}).packs, l, o, ballast::dense_4096_cost,
                                {.how = ballast::dealing::random})
                .slowest_over_mean() > 1.5);
  }
  options const o{.capacity = 131072, .ranks = 16};
  auto const shared = ballast::plan_steps(l, o, ballast::dense_4096_cost, {.most_ranks_shared = 8});
  CHECK(!shared.shared.empty());
  CHECK(shared.slowest_over_mean() < 1.01);
  CHECK(ballast::check_batching(shared, l, o, ballast::dense_4096_cost).valid());
}

TEST_CASE("plan_steps: short samples at one micro-batch, where packs must be made first") {
  // A third of the capacity and more: random draws leave a tenth of it empty, and what they fill is not balanced.
  ballast::splitmix64 draw(51);
  lengths l(9000);
  for (auto& x : l) x = draw() % 3 == 0 ? between(1000, 8192, draw) : between(400, 4200, draw);
  options const o{.capacity = 8192, .ranks = 64, .seed = 2};
  auto const& cost = ballast::dense_4096_cost;
  auto const plan = ballast::plan_steps(l, o, cost);
  CHECK(plan.method == ballast::step_method::windows);
  CHECK(std::string(ballast::to_string(plan.method)) == "windows");
  CHECK(ballast::describe(ballast::check_batching(plan, l, o, cost)) == "valid");
  auto const packs = ballast::best_fit_decreasing(l, {.capacity = o.capacity}).packs;
  auto const dealt = ballast::deal_steps(packs, l, o, cost, {.how = ballast::dealing::random});
  CHECK(plan.slowest.value < dealt.slowest.value);
  CHECK(plan.steps() <= dealt.steps() + 1);
  for (std::uint32_t const threshold : {0U, 350U}) {
    auto const streamed = ballast::stream_steps(l, o, cost, {.tuning = {.fill = 950, .threshold = threshold}});
    CHECK(plan.slowest.value < streamed.slowest.value);
    CHECK(plan.steps() < streamed.steps());
  }
}

TEST_CASE("plan_steps: never behind a random deal of best-fit packs by more than the 1 % it looks for, steps paid for or not") {
  ballast::splitmix64 draw(52);
  for (int round = 0; round < 40; ++round) {
    auto const l = random_lengths(100 + draw() % 600, 1000, draw);
    options const o{.capacity = 1000 + between(0, 2000, draw),
                    .ranks = 1 + draw() % 12,
                    .micro_batches = 1 + draw() % 3,
                    .synchronisation = static_cast<ballast::synchronisation>(round % 2),
                    .seed = draw(),
                    .cost_per_micro_batch = round % 4 < 2 ? 0 : 3'000'000,
                    .cost_per_step = round % 8 < 4 ? 0 : 30'000'000};
    auto const plan = ballast::plan_steps(l, o, ballast::dense_4096_cost);
    auto const dealt = ballast::deal_steps(ballast::best_fit_decreasing(l, {.capacity = o.capacity}).packs, l, o, ballast::dense_4096_cost,
                                           {.how = ballast::dealing::random});
    CAPTURE(round, o.capacity, o.ranks, o.micro_batches, ballast::to_string(plan.method), plan.steps(), dealt.steps());
    CHECK(100 * plan.slowest.value <= 101 * dealt.slowest.value);
  }
}

TEST_CASE("plan_steps: three steps or fewer are full, and so are all that a floor is asked for") {
  ballast::splitmix64 draw(53);
  for (std::size_t const steps : {1U, 2U, 3U})
    for (std::uint64_t const m : {1U, 2U}) {
      options const o{.capacity = 4096, .ranks = 8, .micro_batches = m, .seed = steps};
      lengths l;
      for (std::int64_t tokens = 0; tokens < 4096 * 8 * static_cast<std::int64_t>(steps * m) * 975 / 1000; tokens += l.back())
        l.push_back(draw() % 8 == 0 ? between(1, 2000, draw) : between(1, 300, draw));
      if (std::accumulate(l.begin(), l.end(), std::int64_t{0}) > 4096 * 8 * static_cast<std::int64_t>(steps * m)) l.pop_back();
      CAPTURE(steps, m);
      CHECK(ballast::plan_steps(l, o, ballast::dense_4096_cost).steps() == steps);
    }
  auto const l = heavy_tailed(20000, draw);
  options o{.capacity = 131072, .ranks = 16, .micro_batches = 4, .seed = 3};
  CHECK(ballast::plan_steps(l, o, ballast::dense_4096_cost).fill(o.capacity) < 0.96);
  o.least_fill = 960;
  auto const full = ballast::plan_steps(l, o, ballast::dense_4096_cost);
  CHECK(full.fill(o.capacity) >= 0.96);
  CHECK(ballast::check_batching(full, l, o, ballast::dense_4096_cost).valid());
}

TEST_CASE("plan_steps: no deal of a step to as many micro-batches is below its bound, but one to fewer may be") {
  int met = 0, below = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    options o{.capacity = 10, .ranks = 2, .micro_batches = static_cast<std::uint64_t>(between(1, 2, draw))};
    o.synchronisation = static_cast<ballast::synchronisation>(seed % 3);
    o.stages = seed % 3 == 2 ? 3 : 1;
    o.left_over = ballast::left_over::shorten;
    o.cost_per_micro_batch = between(0, 9, draw);
    o.cost_per_step = between(0, 3, draw);
    lengths l(static_cast<std::size_t>(between(1, 5, draw)));
    for (auto& x : l) x = between(1, 10, draw);
    auto const plan = ballast::plan_steps(l, o, ballast::token_cost{});
    if (plan.steps() != 1) continue;
    auto const each = static_cast<std::size_t>(plan.micro_batches), places = 2 * each;
    auto const taken = plan.packs.size();
    lengths load;
    std::int64_t least_alike = 1000, least = 1000;
    for (std::vector<std::size_t> to(l.size(), 0);;) {  // every sample in every place
      load.assign(places, 0);
      for (std::size_t i = 0; i < l.size(); ++i) load[to[i]] += l[i];
      if (*std::max_element(load.begin(), load.end()) <= o.capacity) {
        auto const alike = static_cast<std::size_t>(std::count_if(load.begin(), load.end(), [](auto c) { return c > 0; })) == taken;
        for (auto& c : load) c += c > 0 ? o.cost_per_micro_batch : 0;
        std::int64_t slowest = 0, rows = 0;
        for (std::size_t r = 0; r < 2; ++r) {
          auto const mine = std::span(load).subspan(r * each, each);
          auto const longest = *std::max_element(mine.begin(), mine.end());
          slowest = (std::max)(
              slowest, std::accumulate(mine.begin(), mine.end(), std::int64_t{0}) + static_cast<std::int64_t>(o.stages - 1) * longest);
        }
        for (std::size_t m = 0; m < each; ++m) rows += (std::max)(load[m], load[each + m]);
        auto const time = o.cost_per_step + (seed % 3 == 1 ? rows : slowest);
        least = (std::min)(least, time);
        if (alike) least_alike = (std::min)(least_alike, time);
      }
      std::size_t i = 0;
      while (i < to.size() && ++to[i] == places) to[i++] = 0;
      if (i == to.size()) break;
    }
    REQUIRE(plan.slowest.lower_bound <= least_alike);
    if (o.cost_per_micro_batch == 0) REQUIRE(plan.slowest.lower_bound <= least);
    met += plan.slowest.lower_bound == least_alike ? 1 : 0;
    below += least < plan.slowest.lower_bound ? 1 : 0;
  }
  CHECK((met > 100 && below > 0));
}

TEST_CASE("plan_steps: rows for ranks that wait at every micro-batch, pipelines for pipelines") {
  ballast::splitmix64 draw(6);
  auto const l = heavy_tailed(20000, draw);
  options o{.capacity = 131072, .ranks = 8, .micro_batches = 8, .synchronisation = ballast::synchronisation::per_micro_batch};
  CHECK(ballast::plan_steps(l, o, ballast::dense_4096_cost).slowest_over_mean() < 1.015);
  CHECK(ballast::stream_steps(l, o, ballast::dense_4096_cost, {.tuning = {.threshold = 0}}).slowest_over_mean() > 1.05);
  o.synchronisation = ballast::synchronisation::pipeline;
  o.stages = 4;
  CHECK(10 * ballast::plan_steps(l, o, ballast::dense_4096_cost).slowest.value <
        9 * ballast::stream_steps(l, o, ballast::dense_4096_cost, {.tuning = {.threshold = 0}}).slowest.value);
}

TEST_CASE("plan_steps: no micro-batch has more samples than allowed, whoever waits, whatever is left over") {
  using enum ballast::synchronisation;
  ballast::splitmix64 draw(16);
  for (auto const where : {per_step, per_micro_batch, pipeline})
    for (int round = 0; round < 24; ++round) {
      auto const n = round < 8 ? static_cast<std::size_t>(round) : static_cast<std::size_t>(draw() % 900);
      auto const l = random_lengths(n, 300, draw);
      options const o{.capacity = 1000,
                      .ranks = 1 + draw() % 5,
                      .micro_batches = 1 + draw() % 3,
                      .synchronisation = where,
                      .stages = where == pipeline ? 4U : 1U,
                      .left_over = static_cast<ballast::left_over>(round % 4),
                      .seed = draw(),
                      .cost_per_micro_batch = between(0, 9, draw),
                      .cost_per_step = between(0, 9, draw)};
      ballast::step_constraints const c{.max_samples = 1 + draw() % 8};
      CAPTURE(static_cast<int>(where), round, n, o.ranks, o.micro_batches, c.max_samples);
      auto const free = ballast::plan_steps(l, o, ballast::dense_4096_cost);
      auto const plan = ballast::plan_steps(l, o, ballast::dense_4096_cost, c);
      auto const most_in = [](auto const& packs) {
        std::size_t most = 0;
        for (auto const pack : packs) most = std::max(most, pack.size());
        return most;
      };
      CHECK(ballast::describe(ballast::check_batching(plan, l, o, ballast::dense_4096_cost)) == "valid");
      CHECK(most_in(plan.packs) <= c.max_samples);
      CHECK(hash(plan) == hash(ballast::plan_steps(l, o, ballast::dense_4096_cost, c)));
      CHECK((hash(plan) == hash(free)) == (most_in(free.packs) <= c.max_samples));
    }

  auto const l = heavy_tailed(20000, draw);  // some 12 fill a micro-batch
  for (auto const where : {per_step, per_micro_batch})
    for (std::uint64_t const most : {4U, 12U, 24U}) {
      CAPTURE(static_cast<int>(where), most);
      options o{.capacity = 131072, .ranks = 8, .micro_batches = 4, .synchronisation = where};
      auto const plan = ballast::plan_steps(l, o, ballast::dense_4096_cost, {.max_samples = most});
      auto const bound = ballast::bin_completion({l}, {.capacity = {o.capacity}, .max_samples = most}).count.lower_bound;
      CHECK(static_cast<double>(plan.steps()) * 32 < 1.03 * static_cast<double>(bound) + 32);
      CHECK(plan.slowest_over_mean() < 1.02);
      o.epoch = 1;
      CHECK(ballast::plan_steps(l, o, ballast::dense_4096_cost, {.max_samples = most}).packs != plan.packs);
    }
}

TEST_CASE("plan_steps: what belongs together shares a micro-batch, what must be apart never meets") {
  ballast::splitmix64 draw(7);
  for (int round = 0; round < 24; ++round) {
    auto const l = random_lengths(400, 250, draw);
    std::vector<std::uint64_t> together(l.size()), apart(l.size());
    for (std::size_t i = 0; i < l.size(); ++i) {
      together[i] = draw() % 2 == 0 ? i / 4 * 2 + 1000000 : i;
      apart[i] = i / 4 % 3;
    }
    options const o{.capacity = 1000,
                    .ranks = 4,
                    .micro_batches = 1 + draw() % 3,
                    .synchronisation = static_cast<ballast::synchronisation>(round % 3),
                    .stages = 2,
                    .left_over = static_cast<ballast::left_over>(draw() % 4),
                    .seed = draw()};
    bool const keep = round % 2 == 0, part = round % 4 < 2;
    ballast::step_constraints c{.most_ranks_shared = 4};
    if (keep) c.together = together;
    if (part) c.apart = apart;
    auto const plan = ballast::plan_steps(l, o, ballast::dense_4096_cost, c);
    CAPTURE(round, o.micro_batches, static_cast<int>(o.left_over));
    CHECK(ballast::describe(ballast::check_batching(plan, l, o, ballast::dense_4096_cost, 0, c.together)) == "valid");
    for (auto const pack : plan.packs) {
      std::set<std::uint64_t> keys;
      std::map<std::uint64_t, std::size_t> count;
      for (auto i : pack) {
        keys.insert(apart[i]);
        ++count[together[i]];
      }
      CHECK((!part || keys.size() == 1));
      for (auto const& [key, here] : count)
        CHECK((!keep || here == static_cast<std::size_t>(std::count(together.begin(), together.end(), key))));
    }
  }
}

TEST_CASE("plan_steps: ranks share what exceeds the capacity of one, whoever draws, whatever is left over") {
  ballast::splitmix64 draw(54);
  std::size_t long_ones = 0;
  for (int round = 0; round < 6000; round += ballast_test::round_step) {
    options o{.capacity = between(50, 1000, draw),
              .ranks = 2 + draw() % 16,
              .micro_batches = 1 + draw() % 4,
              .synchronisation = static_cast<ballast::synchronisation>(draw() % 3),
              .left_over = static_cast<ballast::left_over>(draw() % 4),
              .seed = draw(),
              .equal_micro_batches = draw() % 4 != 0};
    auto const stream = round % 2 == 0;
    if (stream) o.stages = 1 + draw() % 4;
    if (!stream && o.synchronisation == ballast::synchronisation::per_micro_batch) o.micro_batches = 1;
    auto const most = std::uint64_t{2} << draw() % 3;
    auto const longest = static_cast<std::int64_t>(std::bit_floor((std::min)(most, o.ranks))) * o.capacity;
    auto l = random_lengths(1 + draw() % 200, o.capacity, draw);
    auto const every = 1 + draw() % 20;
    for (auto& x : l)
      if (draw() % every == 0) x = between(1, longest, draw);
    std::uint32_t const overhead = draw() % 2 == 0 ? 0 : 50;
    ballast::stream_tuning const tuning{
        .fill = draw() % 3 == 0 ? 0U : 980U, .threshold = draw() % 2 == 0 ? 0U : 350U, .share = draw() % 2 == 0 ? 0U : 400U};
    ballast::stream_options const how{.share_overhead = overhead, .most_ranks_shared = most, .tuning = tuning};
    auto const plan = stream ? ballast::stream_steps(l, o, ballast::dense_4096_cost, how)
                             : ballast::plan_steps(l, o, ballast::dense_4096_cost, {.most_ranks_shared = most, .share_overhead = overhead});
    CAPTURE(round, stream, o.capacity, o.ranks, o.micro_batches, most, static_cast<int>(o.left_over), static_cast<int>(o.synchronisation));
    REQUIRE(ballast::describe(ballast::check_batching(plan, l, o, ballast::dense_4096_cost, overhead)) == "valid");
    if (o.left_over != ballast::left_over::drop)  // else packs that were made first may be in no step
      REQUIRE(plan.packs.size() + std::size_t(std::count(plan.table.begin(), plan.table.end(), plan.none)) == plan.table.size());
    std::vector<std::uint64_t> ranks(l.size(), 1);
    for (auto const& s : plan.shared) {
      CHECK((std::has_single_bit(s.ranks) && s.ranks <= most));
      ranks[s.sample] = s.ranks;
    }
    for (auto const i : plan.dropped) ranks[i] = most;
    for (std::size_t i = 0; i < l.size(); ++i) {
      CHECK(l[i] <= static_cast<std::int64_t>(ranks[i]) * o.capacity);
      if (l[i] > o.capacity) ++long_ones;
    }
    if (round % 16 == 1)
      CHECK(hash(plan) == hash(ballast::plan_steps(ballast::weigh(l, o, ballast::dense_4096_cost, most), o,
                                                   {.most_ranks_shared = most, .share_overhead = overhead})));
  }
  CHECK(long_ones > 50000 / ballast_test::round_step);
}

TEST_CASE("plan_steps: a few samples of up to eight times the capacity leave the steps balanced and full") {
  ballast::splitmix64 draw(55);
  auto l = random_lengths(20000, 2000, draw);
  for (std::size_t i = 0; i < l.size(); i += 100) l[i] = between(8192, 65536, draw);
  for (std::uint64_t const m : {1U, 4U}) {
    options const o{.capacity = 8192, .ranks = 32, .micro_batches = m, .seed = 3};
    auto const plan = ballast::plan_steps(l, o, ballast::dense_4096_cost, {.most_ranks_shared = 32});
    CAPTURE(m, ballast::to_string(plan.method), plan.steps());
    CHECK(ballast::check_batching(plan, l, o, ballast::dense_4096_cost).valid());
    CHECK(plan.method == ballast::step_method::shared);
    CHECK(plan.slowest_over_mean() < 1.01);
    CHECK(plan.fill(o.capacity) > 0.95);
  }
  // Most of the cost is that of long samples, and short ones do not make up for it: shares must become small.
  lengths heavy(60000);
  for (auto& x : heavy) x = draw() % 64 == 0 ? between(8000, 128000, draw) : between(100, 4000, draw);
  for (std::size_t i = 0; i < heavy.size(); i += 200) heavy[i] = between(131072, 1000000, draw);
  for (std::uint64_t const m : {1U, 4U}) {
    options const o{.capacity = 131072, .ranks = 64, .micro_batches = m};
    auto const plan = ballast::plan_steps(heavy, o, ballast::dense_4096_cost, {.most_ranks_shared = 64});
    CAPTURE(m, plan.steps());
    CHECK(ballast::check_batching(plan, heavy, o, ballast::dense_4096_cost).valid());
    CHECK(plan.slowest_over_mean() < 1.02);
    CHECK(plan.fill(o.capacity) > 0.9);
  }
  // No sample is expensive: each is shared by the fewest ranks that have room, in whichever micro-batch.
  options const o{.capacity = 8192, .ranks = 8, .micro_batches = 32};
  auto const plan = ballast::plan_steps(l, o, ballast::token_cost{}, {.most_ranks_shared = 8});
  CHECK(ballast::check_batching(plan, l, o, ballast::token_cost{}).valid());
  CHECK(plan.shared.size() == static_cast<std::size_t>(std::ranges::count_if(l, [&](auto x) { return x > o.capacity; })));
  for (auto const& s : plan.shared) CHECK(l[s.sample] > static_cast<std::int64_t>(s.ranks / 2) * o.capacity);
  CHECK(plan.fill(o.capacity) > 0.9);
}

TEST_CASE("plan_steps: samples that are too long are refused, and how to train them is said") {
  lengths const l{5, 33, 7};
  std::vector<std::uint64_t> const keys{1, 2, 3};
  auto const refused = [&](options const& o, ballast::step_constraints const& c) {
    return refusal([&] { return ballast::plan_steps(l, o, ballast::dense_4096_cost, c); });
  };
  CHECK(refused({.capacity = 8, .ranks = 6}, {.most_ranks_shared = 8}) ==
        "lengths[1] = 33 exceeds capacity 8 times the 4 ranks that can share it with most_ranks_shared = 8 and ranks = 6: raise one of "
        "them or cut the sample");
  CHECK(refused({.capacity = 9, .ranks = 6}, {.most_ranks_shared = 8}) == "accepted");
  auto const why = [](std::string const& reason) {
    return "lengths[1] = 33 exceeds capacity 9, and ranks share no samples " + reason + ": raise the capacity or cut the sample";
  };
  options o{.capacity = 9, .ranks = 4, .micro_batches = 2};
  CHECK(refused(o, {.together = keys, .most_ranks_shared = 4}) == why("under `together` keys"));
  CHECK(refused(o, {.apart = keys, .most_ranks_shared = 4}) == why("under `apart` keys"));
  o.synchronisation = ballast::synchronisation::per_micro_batch;
  CHECK(refused(o, {.most_ranks_shared = 4}) == why("if they wait at each of several micro-batches"));
  o.synchronisation = ballast::synchronisation::pipeline;
  o.stages = 2;
  CHECK(refused(o, {.most_ranks_shared = 4}) == why("if they are pipelines"));
  o = {.capacity = 9, .ranks = 4};
  CHECK(refused(o, {}) == "lengths[1] = 33 exceeds capacity 9");
  auto const samples = ballast::weigh(l, o, ballast::dense_4096_cost, 4);
  CHECK(refusal([&] { return ballast::plan_steps(samples, o); }) == "lengths[1] = 33 exceeds capacity 9");
  CHECK(refusal([&] { return ballast::stream_steps(samples, o); }) == "lengths[1] = 33 exceeds capacity 9");
  CHECK(refusal([&] {
          return ballast::stream_steps(samples, o, {.most_ranks_shared = 2});
        }).find("lengths[1] = 33 exceeds capacity 9 times the 2 ranks") == 0);
  CHECK(refusal([&] { return ballast::stream_steps(samples, o, {.tuning = {.share = 400}}); }) == "accepted");
}

TEST_CASE("plan_steps: refusals name the argument, the index and the value") {
  lengths const l{5, 6, 7};
  std::vector<std::uint64_t> const one(3, 1), two{1, 1, 2};
  auto const refused = [&](options const& o, ballast::step_constraints const& c = {}, lengths const& of = {5, 6, 7}) {
    return refusal([&] { return ballast::plan_steps(of, o, ballast::dense_4096_cost, c); });
  };
  CHECK(refused({}) == "capacity = 0 must be positive");
  CHECK(refused({.capacity = 8, .ranks = 0}) == "ranks = 0 must be in 1 ... 2^20 - 1");
  CHECK(refused({.capacity = 8, .micro_batches = 1U << 20}) == "micro_batches = 1048576 must be in 1 ... 2^20 - 1");
  CHECK(refused({.capacity = std::int64_t{1} << 61, .ranks = 4}) ==
        "capacity = 2305843009213693952 times ranks and micro_batches exceeds 2^62");
  CHECK(refused({.capacity = 6}) == "lengths[2] = 7 exceeds capacity 6");
  CHECK(refused({.capacity = 8}, {}, {3, 0}) == "lengths[1] = 0 must be positive");
  CHECK(refused({.capacity = 17}, {.together = one}) == "the samples together with sample 0 hold 18 tokens, more than capacity 17");
  CHECK(refused({.capacity = 18}, {.together = one, .apart = two}) == "samples 0 and 2 belong together and must be apart");
  CHECK(refused({.capacity = 18}, {.apart = std::span(two).first(2)}) == "apart has 2 keys for 3 samples");
  CHECK(refused({.capacity = 18}, {.most_ranks_shared = 3}) == "most_ranks_shared = 3 must be a power of two");
  auto const alone = "max_samples cannot be combined with together or apart keys, or with most_ranks_shared above 1";
  CHECK(refused({.capacity = 18}, {.together = one, .max_samples = 2}) == alone);
  CHECK(refused({.capacity = 18}, {.apart = two, .max_samples = 2}) == alone);
  CHECK(refused({.capacity = 18}, {.most_ranks_shared = 2, .max_samples = 2}) == alone);
  CHECK(refused({.capacity = 18, .time_for_randomness = 1001}) == "time_for_randomness = 1001 must be at most 1000, or automatic");
  CHECK(refused({.capacity = 18, .least_fill = 1, .time_for_randomness = 0}) == "least_fill and time_for_randomness exclude each other");
  CHECK(refused({.capacity = 18, .time_for_randomness = 1000}) == "accepted");
  CHECK(refused({.capacity = 18}) == "accepted");
}

TEST_CASE("plan_steps: another epoch is another order; the weakest range, the smallest cost, the widest index") {
  ballast::splitmix64 draw(9);
  auto const l = random_lengths(500, 300, draw);
  options o{.capacity = 1000, .ranks = 4, .micro_batches = 2};
  auto const first = ballast::plan_steps(l, o, ballast::dense_4096_cost);
  o.epoch = 1;
  CHECK(ballast::plan_steps(l, o, ballast::dense_4096_cost).packs != first.packs);
  o.epoch = 0;
  auto const wide = ballast::plan_steps<std::uint64_t>(l, o, ballast::dense_4096_cost);
  CHECK(std::equal(wide.packs.members.begin(), wide.packs.members.end(), first.packs.members.begin(), first.packs.members.end()));
  CHECK(ballast::plan_steps(lengths{}, o, ballast::dense_4096_cost).steps() == 0);
  CHECK(ballast::check_batching(ballast::plan_steps(weakest_lengths(l), o, smallest_cost(3)), l, o, smallest_cost(3)).valid());
  auto const jumping = [](std::int64_t x) { return 1 + x * 7919 % 1000; };  // a longer sample may be cheaper
  auto const made = ballast::plan_steps(l, o, jumping);
  CHECK(ballast::check_batching(made, l, o, jumping).valid());
  CHECK(made.slowest_over_mean() < 1.02);
}

TEST_CASE("plan_steps: blocks that are planned on their own make one valid plan, on any number of threads", "[property]") {
  ballast::splitmix64 draw(14);
  auto l = random_lengths(9000, 900, draw);
  for (auto const most : {1U, 2U})
    for (auto const left : {ballast::left_over::split, ballast::left_over::shorten, ballast::left_over::repeat, ballast::left_over::drop}) {
      if (most == 2) l[17] = l[4000] = 1900;
      options const o{.capacity = 1000, .ranks = 4, .micro_batches = 2, .left_over = left, .seed = 5};
      auto const samples = ballast::weigh(l, o, ballast::dense_4096_cost, most);
      ballast_test::progress_log told;
      ballast::search_watch const never(ballast::search_limits{});
      auto const planned = [&](auto const& execute, std::size_t in_a_block) {
        return ballast::detail::plan_in_blocks<std::uint32_t>(samples, {.most_ranks_shared = most}, o, never, told, execute, in_a_block);
      };
      auto const plan = planned(ballast::serial{}, 2500);
      CAPTURE(most, static_cast<int>(left));
      CHECK(ballast::describe(ballast::check_batching(plan, l, o, ballast::dense_4096_cost)) == "valid");
      CHECK((told.sound && told.calls == 3 && told.last == 3 && told.most == 3));
      CHECK(ballast::hash(planned(ballast::threads{3}, 2500)) == ballast::hash(plan));
      CHECK((told.sound && told.calls == 6 && told.last == 3));
      auto const whole = planned(ballast::serial{}, 9000);
      CHECK(ballast::hash(whole) != ballast::hash(plan));
      CHECK(ballast::hash(whole) == ballast::hash(ballast::plan_steps(samples, o, {.most_ranks_shared = most})));
      CHECK(plan.slowest_over_mean() < 1.03);
      CHECK(plan.steps() <= whole.steps() + 3);
      auto const few = options{.capacity = 1000, .ranks = 256, .left_over = left};  // blocks would have too few steps
      CHECK(ballast::detail::count_blocks(samples, few, 2500) == 1);
    }
}

namespace {

/// Lengths of published traces, roughly: most are short, some fill a micro-batch of 8,192 tokens.
lengths epoch_of(std::size_t count, std::int64_t longest, ballast::splitmix64& draw) {
  lengths l(count);
  for (auto& x : l) x = (std::min)(longest, 20 + static_cast<std::int64_t>(draw() % (std::uint64_t{64} << draw() % 8)));
  return l;
}

/// A plan for each way to stream samples, as `plan_steps` tries them in a short epoch.
std::vector<ballast::batching<>> streamed_in_full(ballast::weighed_samples const& samples, options const& o) {
  std::vector<ballast::batching<>> plans;
  for (auto const& way : ballast::detail::ways_to_stream(samples, {}, o))
    plans.push_back(ballast::detail::stream<std::uint32_t>(samples, o, way));
  return plans;
}

}  // namespace

TEST_CASE("plan_steps: a long epoch, of which a part is tried, is as fast and as random as if all of it were", "[property]") {
  std::size_t random = 0, windows = 0;
  for (int round = 0; round < 12; round += ballast_test::round_step) {
    ballast::splitmix64 draw(6100 + static_cast<std::uint64_t>(round));
    auto const m = 1 + static_cast<std::uint64_t>(round) % 3;
    options const o{.capacity = 8192, .ranks = 4, .micro_batches = m, .seed = draw()};
    auto const longest = m == 1 ? between(2000, 8192, draw) : between(2000, 6000, draw) * static_cast<std::int64_t>(m);
    auto const l = epoch_of(5000 * m * (2 + draw() % 7), (std::min)(longest, o.capacity), draw);
    auto const samples = ballast::weigh(l, o, ballast::dense_4096_cost);
    auto const plan = ballast::plan_steps(samples, o);
    CAPTURE(round, l.size(), longest, plan.steps(), ballast::to_string(plan.method), plan.window, plan.slowest_over_mean());
    CHECK(ballast::describe(ballast::check_batching(plan, l, o, ballast::dense_4096_cost)) == "valid");
    CHECK(plan.complete);
    random += plan.method == ballast::step_method::random ? 1U : 0U;
    windows += plan.method == ballast::step_method::windows ? 1U : 0U;
    for (auto const& streamed : streamed_in_full(samples, o)) {
      auto const good = streamed.slowest_over_mean() <= 1.01 && streamed.fill(o.capacity) >= 0.97;
      if (good && plan.critical.cost <= 0.9) CHECK(plan.method == ballast::step_method::random);
      CHECK((plan.slowest_over_mean() <= 1.01 || plan.slowest.value <= streamed.slowest.value));
      if (good) break;
    }
  }
  if (ballast_test::round_step == 1) CHECK((random > 0 && windows > 0));
}

TEST_CASE("plan_steps: random steps are not given up because a part of the epoch just misses what all of it reaches") {
  ballast::splitmix64 draw(65);
  std::size_t missed = 0;
  for (int round = 0; round < 4; ++round) {
    options const o{.capacity = 8192, .ranks = 4, .micro_batches = 2, .seed = draw()};
    auto const longest = between(6400, 7000, draw);
    auto const l = epoch_of(24000, longest, draw);
    auto const samples = ballast::weigh(l, o, ballast::dense_4096_cost);
    auto const ways = ballast::detail::ways_to_stream(samples, {}, o);
    ballast::search_watch never(ballast::search_limits{});
    ballast::detail::stream_trials<std::uint32_t> all(samples, ways, o, never);
    if (all.run(0, 1) != 0) continue;
    auto few = o;
    few.left_over = ballast::left_over::drop;
    auto const part = ballast::detail::random_part<std::uint32_t>(samples, 32, all.choice().fewest_steps(), ~ballast::epoch_seed(o));
    ballast::detail::stream_trials<std::uint32_t> some(part, ways, few, never);
    missed += some.run(0, 1) != 0 ? 1U : 0U;
    CHECK(ballast::plan_steps(samples, o).method == ballast::step_method::random);
  }
  CHECK(missed > 0);
}

TEST_CASE("plan_steps: ways that are given up before their plans are complete change no choice", "[property]") {
  std::size_t given_up = 0;
  for (int round = 0; round < 16; round += ballast_test::round_step) {
    ballast::splitmix64 draw(7100 + static_cast<std::uint64_t>(round));
    auto const ranks = 16 + draw() % 32;
    options const o{.capacity = 8192, .ranks = ranks, .seed = draw(), .cost_per_step = round % 3 == 0 ? 1'000'000 : 0};
    auto const l = epoch_of(ranks * (300 + draw() % 400), between(6500, 8192, draw), draw);
    auto const samples = ballast::weigh(l, o, ballast::dense_4096_cost);
    auto const ways = ballast::detail::ways_to_stream(samples, {}, o);
    if (ways.front().tuning.threshold == 0) continue;  // random draws are never given up
    ballast::search_watch never(ballast::search_limits{});
    ballast::detail::stream_trials<std::uint32_t> some(samples, ways, o, never), all(samples, ways, o, never);
    auto const found = some.run(0, ways.size());
    CAPTURE(round, l.size(), o.ranks, found);
    REQUIRE(found == all.run(0, ways.size(), 1));  // trials on a part, where random steps may miss, give up none
    auto const& by = ways.front();
    ballast::detail::stream_draw<std::uint32_t> drawn(samples, o);
    ballast::detail::streamer<std::uint32_t> first(samples, drawn, o, by);
    given_up += first.run(all.choice().most_waiting()).table.empty() ? 1U : 0U;
    if (found == some.none) CHECK((some.best() == all.best() && some.deviation() == all.deviation()));
    CHECK(hash(some.choice().take()) == hash(all.choice().take()));
  }
  CHECK(given_up > 0);
}

TEST_CASE("plan_steps: in few steps, ways that end early because packs in windows are faster change no plan", "[property]") {
  namespace detail = ballast::detail;
  using index = std::uint32_t;
  std::size_t ended = 0, lost = 0;
  for (int round = 0; round < 40; round += ballast_test::round_step) {
    ballast::splitmix64 draw(9300 + static_cast<std::uint64_t>(round));
    options const o{.capacity = 8192,
                    .ranks = 8 + draw() % 40,
                    .left_over = round % 4 == 0 ? ballast::left_over::shorten : ballast::left_over::split,
                    .seed = draw(),
                    .cost_per_step = round % 3 == 0 ? 1'000'000 : 0};
    lengths l(o.ranks * (100 + draw() % 700));
    auto const longest = between(4000, 8192, draw), rare = between(50, 1000, draw);
    for (auto& x : l) x = between(1, rare, draw) == 1 ? between(longest / 8, longest, draw) : between(20, 150, draw);
    auto const samples = ballast::weigh(l, o, [](std::int64_t x) { return x * (1000 + x); });
    auto const ways = detail::ways_to_stream(samples, {}, o);
    if (ways.front().tuning.threshold == 0) continue;
    ballast::search_watch never(ballast::search_limits{});
    detail::pack_sorter<index> const sorter(detail::pack_for_steps<index>(samples, o), samples, o);
    auto const in_windows = [&](auto& trials, bool refused = false) {
      return detail::plan_in_windows(trials.choice(), sorter, o, trials.deviation() + trials.deviation() / 2, refused, never);
    };
    detail::stream_trials<index> all(samples, ways, o, never), some(samples, ways, o, never);
    if (all.run(0, ways.size()) == all.none) all.choice().offer(in_windows(all));
    CAPTURE(round, l.size(), o.ranks);
    CHECK(hash(ballast::plan_steps(samples, o)) == hash(all.choice().take()));
    auto const steps = some.choice().fewest_steps();
    if (steps >= 32 || samples.size() / 32 < steps * o.ranks || some.run(0, 1) != some.none || !some.choice().far_from_bound()) continue;
    auto const rival = in_windows(some);
    auto const most = some.choice().most_waiting(rival);
    for (auto const& way : std::span(ways).subspan(1)) {
      detail::stream_draw<index> drawn(samples, o);
      auto const whole = detail::streamer<index>(samples, drawn, o, way).run();
      if (!detail::streamer<index>(samples, drawn, o, way).run(most).table.empty()) continue;
      CHECK((whole.slowest.value > rival.slowest.value && !detail::waits_at_most(whole, 1)));
      ++ended;
    }
    lost += some.choice().settles(rival) ? 0U : 1U;
  }
  if (ballast_test::round_step == 1) CHECK((ended > 0 && lost > 0));
}

TEST_CASE("plan_steps: rare samples that a part hardly shows do not keep a long epoch from wide windows") {
  ballast::splitmix64 draw(33);
  constexpr std::int64_t capacity = 8192, base = 1100;
  lengths samples(1100 * 8 * capacity / base);  // 1,100 steps of 8 ranks
  for (auto& l : samples) l = base / 2 + static_cast<std::int64_t>(draw() % (base + 1));
  for (int k = 0; k < 40; ++k) samples[static_cast<std::size_t>(draw() % samples.size())] = 8000;
  auto const plan = ballast::plan_steps(samples, {.capacity = capacity, .ranks = 8}, [](std::int64_t x) { return x * x; });
  CHECK(plan.method == ballast::step_method::windows);
  CHECK(plan.slowest_over_mean() < 1.01);
  CHECK(plan.fill(capacity) > 0.97);
}

TEST_CASE("plan_steps: time for randomness is paid up to the price, and buys it", "[property]") {
  std::size_t paid = 0, in_part = 0;
  for (int round = 0; round < 10; round += ballast_test::round_step) {
    ballast::splitmix64 draw(6200 + static_cast<std::uint64_t>(round));
    auto const m = std::uint64_t{1} + (round % 5 == 4 ? 1U : 0U);
    options o{.capacity = 8192, .ranks = 4 + 4 * (draw() % 3), .micro_batches = m, .seed = draw()};
    auto const l = epoch_of((round % 2 == 0 ? 480 : 2400) * o.ranks * m, o.capacity, draw);
    auto const samples = ballast::weigh(l, o, ballast::dense_4096_cost);
    auto const at = [&](std::uint32_t price) {
      o.time_for_randomness = price;
      auto plan = ballast::plan_steps(samples, o);
      CHECK(ballast::describe(ballast::check_batching(plan, l, o, ballast::dense_4096_cost)) == "valid");
      CHECK(plan.complete);
      return plan;
    };
    auto const fastest = at(0), most_random = at(1000);
    auto const random = ballast::randomness_of(most_random, l).design_effect_8;
    in_part += fastest.steps() >= 256 ? 1U : 0U;
    for (std::uint32_t const price : {5U, 20U, 100U}) {
      auto const plan = at(price);
      CAPTURE(round, price, o.ranks, m, plan.steps(), plan.window, ballast::to_string(plan.method));
      CHECK(1000 * plan.slowest.value <= (1000 + price) * fastest.slowest.value + 1000);
      auto const d8 = ballast::randomness_of(plan, l).design_effect_8;
      if (fastest.steps() < 256 && plan.steps() >= 32) CHECK(2 * random <= 3 * (std::max)(d8, std::uint64_t{2000}) + 1000);
    }
    paid += most_random.slowest.value > fastest.slowest.value ? 1U : 0U;
  }
  CAPTURE(paid, in_part);
  if (ballast_test::round_step == 1) CHECK((paid > 0 && in_part > 2));
}

TEST_CASE("plan_steps: time for randomness is not rounded up") {
  lengths const samples{1, 2, 2, 1, 2, 2, 1};
  options o{.capacity = 2, .ranks = 5, .seed = 236858198226104, .time_for_randomness = 0};
  CHECK(ballast::plan_steps(samples, o, ballast::token_cost{}).slowest.value == 3);
  o.time_for_randomness = 56;  // up to 3.168
  CHECK(ballast::plan_steps(samples, o, ballast::token_cost{}).slowest.value == 3);
}

TEST_CASE("plan_steps: a long epoch of full packs is as fast as its widest window within 1 %, and nearly random over eight steps") {
  ballast::splitmix64 draw(66);
  options const o{.capacity = 8192, .ranks = 8};
  auto const l = epoch_of(24000, o.capacity, draw);
  auto const samples = ballast::weigh(l, o, ballast::dense_4096_cost);
  auto const plan = ballast::plan_steps(samples, o);
  REQUIRE((plan.steps() >= 256 && plan.critical.cost > 0.9));
  auto const packs = ballast::detail::pack_for_steps<std::uint32_t>(samples, o);
  auto const widest = ballast::deal_steps(packs, samples, o, {.redeal = true});
  CHECK(plan.method == ballast::step_method::windows);
  CHECK(1000 * plan.slowest.value <= 1010 * widest.slowest.value);
  CHECK(ballast::randomness_of(plan, l).design_effect_8 < 4000);
}

TEST_CASE("plan_steps: a stop at any time leaves a valid plan, which is the whole one or says that it is not", "[property]") {
  std::size_t cut = 0;
  for (int round = 0; round < 14; round += ballast_test::round_step) {
    ballast::splitmix64 draw(6300 + static_cast<std::uint64_t>(round));
    options const o{.capacity = 8192, .ranks = 4, .micro_batches = 1 + static_cast<std::uint64_t>(round) % 2, .seed = draw()};
    auto const l = epoch_of(round % 4 < 2 ? 15000 : 40000, o.capacity, draw);
    auto const samples = ballast::weigh(l, o, ballast::dense_4096_cost);
    auto const whole = ballast::plan_steps(samples, o);
    CHECK(whole.complete);
    auto const source = std::make_unique<std::stop_source>();  // on the heap: g++ 12 warns of one on the stack at -Og
    ballast::search_limits limits{.stop = source->get_token()};
    if (round < 2) source->request_stop();
    if (round == 2 || round == 3) limits.wall_clock = std::chrono::nanoseconds(1);
    ballast::batching<> plan;
    {
      std::jthread const stopping([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(12 * (round - 3)));
        source->request_stop();
      });
      plan = ballast::plan_steps(samples, o, {}, limits);
    }
    CAPTURE(round, o.micro_batches, l.size(), plan.complete, ballast::to_string(plan.method));
    CHECK(ballast::describe(ballast::check_batching(plan, l, o, ballast::dense_4096_cost)) == "valid");
    CHECK(plan.dropped.empty());
    CHECK((!plan.complete || hash(plan) == hash(whole)));
    cut += plan.complete ? 0U : 1U;
  }
  if (ballast_test::round_step == 1) CHECK(cut > 0);
}

TEST_CASE("plan_steps: a stop after the first block of an epoch leaves the others planned, and progress is told of all") {
  ballast::splitmix64 draw(64);
  options const o{.capacity = 8192, .ranks = 4, .seed = 3, .time_for_randomness = 1000};  // all methods are tried
  auto const l = epoch_of(45000, o.capacity, draw);
  auto const samples = ballast::weigh(l, o, ballast::dense_4096_cost);
  auto const source = std::make_unique<std::stop_source>();
  ballast_test::progress_log told;
  auto const telling = [&](std::uint64_t done, std::uint64_t all) {
    told(done, all);
    source->request_stop();
  };
  ballast::search_limits const limits{.stop = source->get_token()};
  auto const plan =
      ballast::detail::plan_in_blocks<std::uint32_t>(samples, {}, o, ballast::search_watch(limits), telling, ballast::serial{}, 15000);
  CHECK(ballast::describe(ballast::check_batching(plan, l, o, ballast::dense_4096_cost)) == "valid");
  CHECK(plan.dropped.empty());
  CHECK(!plan.complete);
  CHECK((told.sound && told.calls == 3 && told.last == 3));
}

TEST_CASE("plan_steps: where micro-batches are dear, a step has as few as hold its samples", "[property]") {
  constexpr std::int64_t dear = 1000;  // more than all samples together
  int least = 0, above = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ballast::splitmix64 draw(seed);
    lengths l(static_cast<std::size_t>(between(1, 7, draw)));
    for (auto& x : l) x = between(1, 10, draw);
    auto const fewest = ballast_test::fewest_packs(l, 10).value(), all = std::accumulate(l.begin(), l.end(), std::int64_t{0});
    options o{.capacity = 10, .left_over = ballast::left_over::shorten, .seed = seed};
    o.ranks = static_cast<std::uint64_t>(between(1, 2, draw));
    o.micro_batches = static_cast<std::uint64_t>(between(1, 3, draw));
    o.equal_micro_batches = o.ranks == 1 || draw() % 2 == 0;
    auto const ranks = static_cast<std::int64_t>(o.ranks), each = static_cast<std::int64_t>(o.micro_batches);
    CAPTURE(seed, ranks, each, fewest);
    auto const made = [&] {
      auto plan = ballast::plan_steps(l, o, ballast::token_cost{});
      REQUIRE(ballast::describe(ballast::check_batching(plan, l, o, ballast::token_cost{})) == "valid");
      return plan;
    };
    auto const count = [&](std::int64_t more) {  // micro-batches above the least of all plans
      REQUIRE(more >= 0);
      (more == 0 ? least : above) += 1;
    };
    for (std::int64_t const price : {std::int64_t{5}, dear}) {
      o.cost_per_micro_batch = price;
      auto const value = made().slowest.value;
      if (ranks == 1) count((value - all) / price - fewest);
      if (ranks == 2 && price == dear) count(value / dear - ballast::divide_up(fewest, ranks));
    }
    o.synchronisation = ballast::synchronisation::pipeline;
    o.stages = 3;
    if (ranks == 1) count(static_cast<std::int64_t>(made().packs.size()) - fewest);
  }
  CAPTURE(least, above);
  CHECK(least > 50 * above);
}

TEST_CASE("plan_steps: without a price of micro-batches they are as many as before, and with one no plan is slower") {
  ballast::splitmix64 draw(3);
  lengths l(6000);
  for (auto& x : l) x = draw() % 16 == 0 ? between(4000, 65536, draw) : between(400, 4000, draw);
  for (auto const waits : {ballast::synchronisation::per_step, ballast::synchronisation::pipeline})
    for (std::uint64_t const each : {1U, 4U}) {
      options free{.capacity = 65536, .ranks = 16, .micro_batches = each, .synchronisation = waits};
      free.stages = waits == ballast::synchronisation::pipeline ? 4 : 1;
      free.left_over = ballast::left_over::shorten;
      auto priced = free;
      priced.cost_per_micro_batch = ballast::dense_4096_cost(8192);
      CAPTURE(static_cast<int>(waits), each);
      auto const samples = ballast::weigh(l, priced, ballast::dense_4096_cost);
      auto const before = ballast::plan_steps(samples, free), plan = ballast::plan_steps(samples, priced);
      CHECK(ballast::describe(ballast::check_batching(plan, l, priced, ballast::dense_4096_cost)) == "valid");
      auto const then = ballast::steps_from<std::uint32_t>(before, 0, samples.tokens, samples.cost, priced);
      CHECK(plan.slowest.value <= then.slowest.value);
      CHECK(plan.packs.size() <= before.packs.size());
    }
}

}  // namespace test_batching_plan_steps
