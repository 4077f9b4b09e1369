// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/pipeline/check.hpp>
#include <ballast/pipeline/chunked_order.hpp>
#include <ballast/pipeline/list_schedule.hpp>
#include <ballast/pipeline/simulate.hpp>

#include "chained.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace test_pipeline_list_schedule {

using namespace ballast_test;
using namespace ballast;
using Catch::Matchers::WithinAbs;

namespace {

using numbers = std::vector<std::int64_t>;

numbers peaks(pipeline_timeline const& t) {
  numbers of;
  for (auto const& s : t.stages) of.push_back(s.peak_memory);
  return of;
}

/// The most bytes on each stage, summed event by event.
numbers summed_peaks(scheduled_pipeline const& plan, works const& work) {
  numbers most(plan.timeline.stages.size(), 0), held(most);
  for (auto const& e : plan.timeline.events) {
    auto const w = work(e.stage, e.micro_batch);
    auto const forward = e.pass == pipeline_pass::forward;
    held[e.stage] += forward ? w.kept : w.recomputed;
    most[e.stage] = (std::max)(most[e.stage], held[e.stage]);
    if (!forward) held[e.stage] -= w.kept + w.recomputed;
  }
  return most;
}

/// The first event before which its stage waits although a task could begin, or the number of events.
std::size_t first_idle(scheduled_pipeline const& plan, groups<std::uint32_t> const& chains, works const& work) {
  auto const& events = plan.timeline.events;
  auto const n = work.micro_batches;
  std::vector<pipeline_event> forward(n * plan.timeline.stages.size()), backward(forward);
  for (auto const& e : events) (e.pass == pipeline_pass::forward ? forward : backward)[e.stage * n + e.micro_batch] = e;
  for (std::size_t i = 0; i < events.size(); ++i) {
    auto const& e = events[i];
    auto const s = std::uint64_t{e.stage};
    if (e.start == (i > 0 && events[i - 1].stage == s ? events[i - 1].end : 0)) continue;
    auto const none = e.start;
    for (auto const& chain : chains)
      for (std::size_t k = 0; k < chain.size(); ++k) {
        auto const m = chain[k];
        auto const there = s * n + m;
        auto arrival = none;
        if (forward[there].start >= e.start && e.pass != pipeline_pass::forward) {
          // Only the next of the order may begin; all before it have begun on this stage.
          auto const p = static_cast<std::size_t>(std::find(chains.members.begin(), chains.members.end(), m) - chains.members.begin());
          if (p > 0 && forward[s * n + chains.members[p - 1]].start >= e.start) continue;
          arrival = s == 0 ? 0 : forward[there - n].end + work(s - 1, m).transfer;
        } else if (forward[there].start < e.start && backward[there].start > e.start) {
          if (k + 1 < chain.size() && backward[s * n + chain[k + 1]].start >= e.start) continue;
          arrival = s + 1 == plan.timeline.stages.size() ? forward[there].end : backward[there + n].end + work(s, m).transfer;
        }
        if (arrival < none) return i;
      }
  }
  return events.size();
}

}  // namespace

TEST_CASE("list_schedule: ChunkFlow's example without a wait that another order could save") {
  auto const chains = chunkflow_chains();
  auto const within = [&](numbers const& capacity) {
    return list_schedule(chains, {.stages = 4, .capacity = capacity, .events = true}, chunkflow_work);
  };
  auto const free = within({});
  CHECK(free.timeline.makespan == certificate{42, 42});  // the published order takes 46
  CHECK(free.timeline.makespan.optimal());
  CHECK_THAT(free.timeline.bubble(), WithinAbs(0.4286, 5e-5));
  CHECK(peaks(free.timeline) == numbers{8, 8, 8, 4});  // never above the first stage of the published order
  CHECK(within({8, 8, 8, 8}).timeline.makespan.value == 42);
  CHECK(within({6, 6, 6, 6}).timeline.makespan.value == 52);
  CHECK(peaks(within({6, 6, 6, 6}).timeline) == numbers{6, 6, 6, 4});
  CHECK(within({4, 4, 4, 4}).timeline.makespan.value == 58);
  auto const none = within({4, 4, 3, 2});
  CHECK(none.status == status::infeasible);
  CHECK(none.shortage == pipeline_shortage{.stage = 2, .chain = 2, .capacity = 3, .needed = 4});
  CHECK(none.order == pipeline_order{});
  CHECK(none.timeline.stages.empty());

  // The activations of one chunk (K = 1): the first half of the long sample goes forward twice. The paper prints 54.1 %.
  auto const one = list_schedule(chains, {.stages = 4}, [](auto, std::uint64_t m) {
    return stage_work{.forward = 2, .backward = 4, .recompute = m == 2 ? 2 : 0, .kept = m == 2 ? 0 : 2, .recomputed = m == 2 ? 2 : 0};
  });
  CHECK(one.timeline.makespan == certificate{50, 44});  // published order: 54
  CHECK_THAT(one.timeline.bubble(), WithinAbs(0.48, 1e-12));
  CHECK_THAT(1 - 24.0 / 50, WithinAbs(0.52, 1e-12));  // if repeated forwards count as waiting
  auto const two = list_schedule(chains_of({{0}, {1}}), {.stages = 4}, [](auto, auto) { return stage_work{.forward = 4, .backward = 8}; });
  CHECK_THAT(two.timeline.bubble(), WithinAbs(0.60, 1e-12));
}

TEST_CASE("list_schedule: 1F1B for equal micro-batches that do not depend on each other") {
  for (std::uint64_t stages = 1; stages <= 8; ++stages)
    for (std::uint32_t count = 1; count <= 20; ++count) {
      CAPTURE(stages, count);
      groups<std::uint32_t> alone;
      for (std::uint32_t m = 0; m < count; ++m) alone.members.push_back(m), alone.offsets.push_back(m + 1);
      auto const even = [](auto, auto) { return stage_work{.forward = 3, .backward = 4, .weight = 2, .kept = 5}; };
      auto const plan = list_schedule(alone, {.stages = stages}, even);
      auto const one = simulate_pipeline(one_f_one_b_schedule{}, {.stages = stages, .micro_batches = count}, even);
      REQUIRE(plan.timeline.makespan == one.makespan);
      numbers held;
      for (std::uint64_t s = 0; s < stages; ++s)
        held.push_back(5 * static_cast<std::int64_t>((std::min)(stages - s, std::uint64_t{count})));
      auto const tight = list_schedule(alone, {.stages = stages, .capacity = held}, even);
      REQUIRE(tight.timeline.makespan == one.makespan);
      REQUIRE(tight.timeline.stages == one.stages);
    }
}

TEST_CASE("list_schedule: valid, within the capacity and never waiting in vain, for any works and chains") {
  fnv1a plans;
  list_workspace workspace;
  scheduled_pipeline warm;
  int tight_rounds = 0, shorter = 0, longer = 0;
  for (int seed = 0; seed < 10000; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(static_cast<std::uint64_t>(seed));
    auto const stages = 1 + uniform_below(6, generator), count = 1 + uniform_below(14, generator);
    auto const chains = random_chains(count, 1 + uniform_below(7, generator), generator);
    auto const work = random_works(stages, count, seed % 3 == 0 ? 2 : 40, generator);
    auto const needed = bytes_needed(chains, stages, work);
    list_options options{.stages = stages, .tie = static_cast<list_tie>(uniform_below(3, generator)), .events = true};
    auto const kind = uniform_below(3, generator);  // as little as can be, up to twice that, no limit
    if (kind < 2)
      for (auto const bytes : needed)
        options.capacity.push_back(
            bytes + (kind == 0 ? 0 : static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(bytes) + 1, generator))));
    if (uniform_below(2, generator) == 0)
      for (std::uint64_t s = 0; s < stages; ++s) options.warm_up.push_back(static_cast<std::int64_t>(uniform_below(200, generator)));

    auto const plan = list_schedule(chains, options, work);
    REQUIRE(plan.status == status::feasible);
    REQUIRE(describe(check_timeline(plan.timeline, plan.order.stage_of, count, work, chains)) == "valid");
    auto const most = summed_peaks(plan, work);
    REQUIRE(most == peaks(plan.timeline));
    for (std::uint64_t s = 0; s < stages; ++s) {
      REQUIRE(most[s] >= needed[s]);  // no order holds less
      if (kind < 2) REQUIRE(most[s] <= options.capacity[s]);
    }
    if (kind == 2) REQUIRE(first_idle(plan, chains, work) == plan.timeline.events.size());
    tight_rounds += kind == 0 ? 1 : 0;

    auto const again = simulate_order(plan.order, work, true);
    REQUIRE(again.events == plan.timeline.events);
    REQUIRE(again.stages == plan.timeline.stages);
    REQUIRE(again.makespan == plan.timeline.makespan);
    REQUIRE(again.span == plan.timeline.span);
    REQUIRE(again.bound == plan.timeline.bound);
    auto const strict = simulate_order(chunked_order(stages, chains), work).makespan.value;
    if (kind == 2) (plan.timeline.makespan.value <= strict ? shorter : longer) += 1;

    options.events = false;
    list_schedule(chains, options, work, workspace, warm);
    REQUIRE(warm.order == plan.order);
    REQUIRE(warm.timeline.events.empty());
    REQUIRE(warm.timeline.stages == plan.timeline.stages);
    REQUIRE(warm.timeline.makespan == plan.timeline.makespan);

    // A byte less than a stage needs.
    auto const s = uniform_below(stages, generator);
    if (needed[s] > 0 && kind < 2) {
      options.capacity[s] = needed[s] - 1;
      list_schedule(chains, options, work, workspace, warm);
      REQUIRE(warm.status == status::infeasible);
      REQUIRE((warm.shortage.stage == s && warm.shortage.needed == needed[s] && warm.shortage.capacity == needed[s] - 1));
    }
    if (round_step == 1) {
      for (auto const& task : plan.order.tasks) plans.append(std::uint64_t{task.micro_batch} << 8 | static_cast<std::uint64_t>(task.pass));
      plans.append(static_cast<std::uint64_t>(plan.timeline.makespan.value));
    }
  }
  if (round_step != 1) return;
  CHECK(tight_rounds > 3000);
  CAPTURE(shorter, longer);
  CHECK(shorter > 3 * longer);
  CHECK(plans.value() == 0x998d59ddea4db1cbU);  // same works, same orders, everywhere
}

TEST_CASE("least_chained_makespan: that of all orders, where nothing depends") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const stages = std::uint32_t(1 + uniform_below(3, generator)), count = stages == 3 ? 2U : 3U;
    auto const chains = random_chains(count, 1, generator);
    auto const work = random_works(stages, count, 9, generator);
    std::vector<std::uint32_t> stage_of;
    for (std::uint32_t s = 0; s < stages; ++s) stage_of.push_back(s);
    REQUIRE(least_chained_makespan(chains, stages, work, 1000).value() == least_makespan(stage_of, work, false).value());
  }
}

TEST_CASE("list_schedule: never below the least makespan of all orders, which is never below the bound") {
  int optimal = 0, cases = 0, proven = 0;
  for (int seed = 0; seed < 400; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(static_cast<std::uint64_t>(seed));
    auto const stages = 1 + uniform_below(3, generator), count = 2 + uniform_below(4, generator);
    auto const chains = random_chains(count, 1 + uniform_below(4, generator), generator);
    auto work = random_works(stages, count, 9, generator);
    auto const plan = list_schedule(chains, {.stages = stages}, work);
    least_chained_makespan const search(chains, stages, work, plan.timeline.makespan.value);
    ++cases;
    if (!search.complete()) continue;
    REQUIRE(search.value() <= plan.timeline.makespan.value);  // the search would else find nothing and say 1 more
    REQUIRE(plan.timeline.makespan.lower_bound <= search.value());
    ++proven;
    optimal += search.value() == plan.timeline.makespan.value ? 1 : 0;
  }
  CAPTURE(cases, proven, optimal);
  CHECK(10 * proven > 9 * cases);
  if (round_step == 1) CHECK(2 * optimal > proven);
}

TEST_CASE("list_schedule: a memory of exactly what one chain needs, in which all of the others must wait") {
  // Two chunks that are not retained hold little, and much while they go back: two of them in flight could not go back at all.
  auto const chains = chains_of({{0}, {1}, {2, 3}, {4}});
  auto const work = [](std::uint64_t, std::uint64_t m) {
    return stage_work{.forward = 1, .backward = 2, .recompute = 1, .kept = m == 3 ? 3 : 1, .recomputed = m == 3 ? 0 : 3};
  };
  for (std::uint64_t stages = 1; stages <= 5; ++stages) {
    auto const plan = list_schedule(chains, {.stages = stages, .capacity = numbers(stages, 4)}, work);
    REQUIRE(plan.status == status::feasible);
    REQUIRE(peaks(plan.timeline) == numbers(stages, 4));
  }
}

TEST_CASE("list_schedule: what a stage prefers") {
  auto const chains = chains_of({{0}, {1, 2}, {3}});
  auto const order_of_one = [&](list_options const& options) {
    std::string order;
    for (auto const& t : list_schedule(chains, options, chunkflow_work).order.tasks)
      order += (t.pass == pipeline_pass::forward ? " F" : " B") + std::to_string(t.micro_batch);
    return order;
  };
  CHECK(order_of_one({}) == " F0 B0 F1 F2 B2 B1 F3 B3");  // a default warm-up of one chunk
  CHECK(order_of_one({.warm_up = {0}}) == " F0 B0 F1 F2 B2 B1 F3 B3");
  CHECK(order_of_one({.warm_up = {4}}) == " F0 F1 B0 F2 B2 F3 B1 B3");
  CHECK(order_of_one({.warm_up = {8}}) == " F0 F1 F2 F3 B2 B0 B1 B3");
  CHECK(order_of_one({.capacity = {6}, .warm_up = {8}}) == " F0 F1 F2 B2 F3 B0 B1 B3");
  CHECK(order_of_one({.warm_up = {8}, .tie = list_tie::earlier_chain}) == " F0 F1 F2 F3 B0 B2 B1 B3");
  CHECK(order_of_one({.warm_up = {8}, .tie = list_tie::later_chain}) == " F0 F1 F2 F3 B3 B2 B1 B0");
}

TEST_CASE("list_schedule: arguments that cannot be are refused, and the result stays as it was") {
  auto const chains = chunkflow_chains();
  auto const says = [&](list_options const& options) { return refusal([&] { return list_schedule(chains, options, chunkflow_work); }); };
  CHECK(says({.stages = 0}) == "stages = 0 must be in 1 ... 2^32 - 1");
  CHECK(says({.stages = 2, .capacity = {1}}) == "capacity has 1 entry, which is neither none nor one for each of 2 stages");
  CHECK(says({.stages = 2, .capacity = {1, -1}}) == "capacity[1] = -1 must not be negative");
  CHECK(says({.stages = 1, .warm_up = {-5}}) == "warm_up[0] = -5 must not be negative");
  CHECK(says({.stages = 1, .warm_up = {(std::numeric_limits<std::int64_t>::max)()}}) == "accepted");
  CHECK(refusal([] { return list_schedule({}, {}, chunkflow_work); }) == "chains holds 0 micro-batches: there must be 1 ... 2^32 - 1");
  CHECK(refusal([] { return list_schedule(chains_of({{0}, {2}}), {}, chunkflow_work); }) ==
        "chains.members[1] = 2 is no micro-batch: there are 2");
  CHECK(refusal([&] { return list_schedule(chains, {}, [](auto, auto) { return stage_work{.kept = -1}; }); }) ==
        "work(0, 0) has a negative member");
  // The default warm-up of so many bytes would pass 2^63.
  auto const huge = [](auto, auto) { return stage_work{.forward = 1, .kept = std::int64_t{1} << 58}; };
  CHECK(list_schedule(chains, {.stages = 7}, huge).status == status::feasible);

  list_workspace workspace;
  scheduled_pipeline out = list_schedule(chains, {.stages = 2}, chunkflow_work);
  auto const before = out.order;
  CHECK(refusal([&] { return list_schedule(chains, {.stages = 0}, chunkflow_work, workspace, out), 0; }) != "accepted");
  CHECK(out.order == before);
}

}  // namespace test_pipeline_list_schedule
