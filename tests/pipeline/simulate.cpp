// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/pipeline/check.hpp>
#include <ballast/pipeline/chunked_order.hpp>
#include <ballast/pipeline/simulate.hpp>

#include "chained.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace test_pipeline_simulate {

using namespace ballast_test;
using namespace ballast;
using Catch::Matchers::WithinAbs;

namespace {

/// The same work everywhere; `kept` and `residue` are one micro-batch's activations of a stage, in twelfths.
auto even(std::int64_t forward, std::int64_t backward, std::int64_t weight, std::int64_t chunks = 1) {
  return [=](std::uint64_t, std::uint64_t) {
    return stage_work{
        .forward = forward / chunks, .backward = backward / chunks, .weight = weight / chunks, .kept = 12 / chunks, .residue = 12 / chunks};
  };
}

std::int64_t largest_peak(pipeline_timeline const& t) {
  std::int64_t most = 0;
  for (auto const& s : t.stages) most = (std::max)(most, s.peak_memory);
  return most;
}

}  // namespace

TEST_CASE("simulate_pipeline: GPipe and 1F1B wait for (S - 1) forwards and backwards, and no order does better") {
  for (std::uint64_t stages = 1; stages <= 9; ++stages)
    for (std::uint64_t micro_batches = 1; micro_batches <= 20; ++micro_batches) {
      CAPTURE(stages, micro_batches);
      auto const S = static_cast<std::int64_t>(stages), M = static_cast<std::int64_t>(micro_batches);
      auto const gpipe = simulate_pipeline(gpipe_schedule{}, {.stages = stages, .micro_batches = micro_batches}, even(3, 4, 2));
      auto const one = simulate_pipeline(one_f_one_b_schedule{}, {.stages = stages, .micro_batches = micro_batches}, even(3, 4, 2));
      REQUIRE(gpipe.makespan == certificate{(M + S - 1) * 9, (M + S - 1) * 9});
      REQUIRE(one.makespan == gpipe.makespan);
      REQUIRE(one.span == one.makespan.value);
      REQUIRE_THAT(one.bubble(), WithinAbs(static_cast<double>(S - 1) / static_cast<double>(M + S - 1), 1e-12));
      REQUIRE(largest_peak(gpipe) == 12 * M);
      REQUIRE(largest_peak(one) == 12 * (std::min)(M, S));
    }
}

TEST_CASE("simulate_pipeline: GPipe takes the sum and S - 1 times the longest of unequal micro-batches, in any order") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const stages = 1 + uniform_below(8, generator);
    std::vector<std::int64_t> length(1 + uniform_below(20, generator));
    for (auto& l : length) l = 1 + static_cast<std::int64_t>(uniform_below(30, generator));
    auto const t =
        simulate_pipeline(gpipe_schedule{}, {.stages = stages, .micro_batches = length.size()},
                          [&](std::uint64_t, std::uint64_t m) { return stage_work{.forward = length[m], .backward = 2 * length[m]}; });
    auto const longest = *std::max_element(length.begin(), length.end());
    REQUIRE(t.makespan.value == 3 * (t.stages[0].busy / 3 + static_cast<std::int64_t>(stages - 1) * longest));
  }
}

TEST_CASE("simulate_pipeline: v chunks make the wait of 1F1B v times shorter") {
  for (std::uint64_t stages = 1; stages <= 8; ++stages)
    for (std::uint64_t chunks = 2; chunks <= 5; ++chunks)
      for (std::uint64_t groups = 1; groups <= 4; ++groups) {
        CAPTURE(stages, chunks, groups);
        auto const S = static_cast<std::int64_t>(stages), v = static_cast<std::int64_t>(chunks);
        auto const M = static_cast<std::int64_t>(groups * stages);
        auto const t = simulate_pipeline(interleaved_schedule{.chunks = chunks}, {.stages = stages, .micro_batches = groups * stages},
                                         even(60, 60, 60, v));
        REQUIRE(t.makespan == certificate{M * 180 + (S - 1) * 180 / v, M * 180 + (S - 1) * 180 / v});
      }
}

TEST_CASE("simulate_pipeline: published bubbles of ChunkFlow's example") {
  // Four samples of 1, 1, 2 and 4 units, four stages, a backward of twice the forward.
  auto const bubble = [](std::array<std::int64_t, 4> const& length) {
    auto const t = simulate_pipeline(one_f_one_b_schedule{}, {.stages = 4, .micro_batches = 4}, [&](std::uint64_t, std::uint64_t m) {
      return stage_work{.forward = length[m], .backward = 2 * length[m]};
    });
    return std::pair{t.makespan.value, t.bubble()};
  };
  CHECK_THAT(bubble({2, 2, 2, 2}).second, WithinAbs(0.4286, 5e-5));
  for (auto const& order : {std::array<std::int64_t, 4>{4, 1, 2, 1}, {4, 2, 1, 1}}) {
    CHECK(bubble(order).first == 56);
    CHECK_THAT(bubble(order).second, WithinAbs(0.5714, 5e-5));
  }
}

TEST_CASE("simulate_order: ChunkFlow's state-aware order of two chunks of one sample") {
  // Micro-batches 0 and 1 stand alone, 2 and 3 are the halves of one sample, whose backwards run from its end to its begin.
  auto order = order_of(one_f_one_b_schedule{}, 4, 4);
  for (auto& t : order.tasks)
    if (t.pass == pipeline_pass::backward && t.micro_batch >= 2) t.micro_batch = 5 - t.micro_batch;
  auto& last = order.tasks;  // the last stage must have both halves forward before it goes back
  std::swap(last[last.size() - 3], last[last.size() - 2]);
  order.chains = chains_of({{0}, {1}, {2, 3}});
  CHECK(order == chunked_order(4, order.chains));
  auto const t = simulate_order(order, [](auto, auto) { return stage_work{.forward = 2, .backward = 4}; });
  CHECK(t.makespan.value == 46);
  CHECK_THAT(t.bubble(), WithinAbs(0.4783, 5e-5));
}

TEST_CASE("simulate_pipeline: bubbles and memory of the zero-bubble schedules where the three parts are equal") {
  for (std::uint64_t stages = 2; stages <= 12; ++stages)
    for (auto micro_batches : {2 * stages, 2 * stages + 1, 5 * stages}) {
      CAPTURE(stages, micro_batches);
      pipeline_options const o{.stages = stages, .micro_batches = micro_batches};
      auto const S = static_cast<std::int64_t>(stages), work = 36 * static_cast<std::int64_t>(micro_batches);
      auto const one = simulate_pipeline(one_f_one_b_schedule{}, o, even(12, 12, 12));
      auto const zb1 = simulate_pipeline(zb1p_schedule{}, o, even(12, 12, 12));
      auto const zb2 = simulate_pipeline(zb2p_schedule{}, o, even(12, 12, 12));
      auto const zbv = simulate_pipeline(zbv_schedule{}, o, even(12, 12, 12, 2));
      REQUIRE(3 * (zb1.span - work) == one.span - work);
      REQUIRE(zb1.makespan.optimal());
      REQUIRE(zb2.span == work);
      REQUIRE(zbv.span == work);
      REQUIRE(zb2.makespan.value == zb1.makespan.value);  // the gain is that stages do not wait for each other between steps
      REQUIRE(zbv.makespan.value == work + (S - 1) * 6);
      REQUIRE(largest_peak(one) == 12 * S);
      REQUIRE(largest_peak(zb1) == 12 * S);
      REQUIRE(largest_peak(zb2) == 12 * (2 * S - 1));
      REQUIRE(largest_peak(zbv) == 12 * S);
    }
}

TEST_CASE("simulate_pipeline: ZB1P and ZB2P wait as published where weight parts are the shortest") {
  for (std::int64_t stages = 2; stages <= 10; ++stages)
    for (auto const& [f, b, w] : {std::array<std::int64_t, 3>{10, 12, 8}, {10, 10, 7}, {10, 20, 10}, {4, 5, 4}}) {
      CAPTURE(stages, f, b, w);
      pipeline_options const o{.stages = static_cast<std::uint64_t>(stages), .micro_batches = static_cast<std::uint64_t>(5 * stages)};
      auto const work = 5 * stages * (f + b + w);
      REQUIRE(simulate_pipeline(zb1p_schedule{}, o, even(f, b, w)).span == work + (stages - 1) * (f + b - w));
      REQUIRE(simulate_pipeline(zb2p_schedule{}, o, even(f, b, w)).span == work + (stages - 1) * (f + b - 2 * w));
    }
}

TEST_CASE("simulate_pipeline: the timeline that the definition draws, for any works") {
  fnv1a plans;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const number = uniform_below(6, generator);
    auto const schedule = schedule_number(number);
    auto const stages = 1 + uniform_below(5, generator);
    auto const some = 1 + uniform_below(9, generator);
    auto const micro_batches = number == 2 ? stages * (1 + some % 3) : some;
    auto const order = order_of(schedule, stages, micro_batches);
    auto const work = random_works(order.stage_of.size(), micro_batches, seed % 3 == 0 ? 3 : 50, generator);
    auto const t = simulate_pipeline(schedule, {.stages = stages, .micro_batches = micro_batches, .events = true}, work);
    REQUIRE(t.events == drawn_until_stable(order, work));
    REQUIRE(describe(check_timeline(t, order.stage_of, micro_batches, work)) == "valid");
    for (auto const& e : t.events) {
      plans.append(static_cast<std::uint64_t>(e.start));
      plans.append(e.micro_batch);
    }
    auto const brief = simulate_pipeline(schedule, {.stages = stages, .micro_batches = micro_batches}, work);
    REQUIRE(brief.events.empty());
    REQUIRE(brief.stages == t.stages);
    REQUIRE(brief.makespan == t.makespan);
    REQUIRE(brief.span == t.span);

    // What was placed can be listed, and then runs as before.
    auto listed = order;
    listed.fill.clear();
    listed.tasks.clear();
    listed.offsets.assign(1, 0);
    for (std::uint32_t s = 0; s < stages; ++s) {
      for (auto const& e : t.events)
        if (e.stage == s) listed.tasks.push_back({e.micro_batch, e.virtual_stage, e.pass});
      listed.offsets.push_back(listed.tasks.size());
    }
    auto const again = simulate_order(listed, work, true);
    REQUIRE(again.events == t.events);
    REQUIRE(again.stages == t.stages);
    REQUIRE(again.makespan == t.makespan);
  }
  CHECK(plans.value() == 0x2f3479c791a09ac3U);  // same works, same timelines, everywhere
}

TEST_CASE("simulate_pipeline: no stage holds more than its schedule says, and with equal works just that") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const number = uniform_below(6, generator);
    auto const schedule = schedule_number(number);
    auto const stages = 1 + uniform_below(6, generator);
    auto const micro_batches = stages * (1 + uniform_below(4, generator)) + (number == 2 ? 0 : uniform_below(3, generator));
    auto const virtual_stages = order_of(schedule, stages, micro_batches).stage_of.size();
    auto const uneven = seed % 2 == 0;
    auto work = random_works(virtual_stages, micro_batches, 20, generator);
    if (!uneven) std::fill(work.table.begin(), work.table.end(), stage_work{.forward = 2, .backward = 2, .weight = 2});
    for (auto count_residues : {false, true}) {
      for (auto& w : work.table) w.kept = 1, w.recomputed = 0, w.residue = count_residues ? 1 : 0;
      auto const t = simulate_pipeline(schedule, {.stages = stages, .micro_batches = micro_batches}, work);
      for (std::uint64_t s = 0; s < stages; ++s) {
        auto const most = in_flight(schedule, s, stages, micro_batches);
        auto const says = static_cast<std::int64_t>(count_residues ? most.held : most.activations);
        REQUIRE(t.stages[s].peak_memory <= says);
        if (number < 3 || (!uneven && !count_residues && number < 5)) REQUIRE(t.stages[s].peak_memory == says);
      }
    }
  }
}

TEST_CASE("simulate_pipeline: transfers delay both ways, recomputed bytes last for a backward") {
  auto const work = [](std::uint64_t k, std::uint64_t) {
    return stage_work{.forward = 10,
                      .backward = 20,
                      .weight = 5,
                      .recompute = 10,
                      .transfer = 3 + static_cast<std::int64_t>(k),
                      .kept = 2,
                      .recomputed = 7,
                      .residue = 1};
  };
  auto const t = simulate_pipeline(one_f_one_b_schedule{}, {.stages = 3, .micro_batches = 1}, work);
  CHECK(t.makespan == certificate{3 * 45 + 2 * (3 + 4), 3 * 45 + 2 * (3 + 4)});
  CHECK(t.stages[2] == stage_figures{.start = 27, .end = 72, .busy = 45, .peak_memory = 9});
  CHECK(t.bound == pipeline_bound::busiest_stage);
  auto const z = simulate_pipeline(zb1p_schedule{}, {.stages = 3, .micro_batches = 1}, work);
  CHECK(z.makespan == certificate{3 * 40 + 14 + 5, 3 * 40 + 14 + 5});
  auto const v = simulate_pipeline(zbv_schedule{}, {.stages = 1, .micro_batches = 1}, work);  // both chunks on one stage: no transfer
  CHECK(v.makespan == certificate{90, 90});
  CHECK(v.stages[0].peak_memory == 4 + 7);
}

TEST_CASE("simulate_order: a warm workspace gives the same timeline") {
  pipeline_workspace workspace;
  pipeline_timeline out;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    splitmix64 generator(seed);
    auto const stages = 1 + uniform_below(6, generator);
    auto const order = order_of(schedule_number(3 * (seed % 2) + 1), stages, 6);
    auto const work = random_works(order.stage_of.size(), 6, 9, generator);
    simulate_order(order, work, true, workspace, out);
    auto const fresh = simulate_order(order, work, true);
    REQUIRE(out.events == fresh.events);
    REQUIRE(out.stages == fresh.stages);
    REQUIRE(out.makespan == fresh.makespan);
  }
}

TEST_CASE("simulate_order: refuses an order that is none") {
  auto const one = [](auto, auto) { return stage_work{.forward = 1, .backward = 2}; };
  auto const changed = [&](auto change) {
    auto order = order_of(one_f_one_b_schedule{}, 2, 2);
    change(order);
    return refusal([&] { return simulate_order(order, one); });
  };
  CHECK(changed([](auto&) {}) == "accepted");
  auto stuck = order_of(one_f_one_b_schedule{}, 2, 2);
  auto out = simulate_order(stuck, one);
  std::swap(stuck.tasks[0], stuck.tasks[2]);
  ballast::pipeline_workspace workspace;
  auto const before = out.stages[0].end;
  CHECK(refusal([&] { return simulate_order(stuck, one, true, workspace, out), 0; }) != "accepted");
  CHECK((out.events.empty() && out.stages.size() == 2 && out.stages[0].end == before));
  CHECK(changed([](auto& o) { std::swap(o.tasks[0], o.tasks[2]); }) ==
        "order: stage 0 waits for ever at tasks[0] (micro-batch 0 on virtual stage 0)");
  CHECK(changed([](auto& o) { o.tasks[1] = o.tasks[0]; }) ==
        "order: stage 0 waits for ever at tasks[1] (micro-batch 0 on virtual stage 0)");
  CHECK(changed([](auto& o) { o.tasks[1].pass = pipeline_pass::backward; }) == "order: stage 0 does not list each of its tasks once");
  CHECK(changed([](auto& o) { o.tasks[2].pass = pipeline_pass::backward_input; }) == "order: stage 0 does not list each of its tasks once");
  CHECK(changed([](auto& o) {  // a last backward, which nothing waits for
          o.tasks.erase(o.tasks.begin() + 3);
          o.offsets = {0, 3, 7};
        }) == "order: stage 0 does not list each of its tasks once");
  CHECK(changed([](auto& o) { o.fill = {1, 1}; }) == "order: stage 0 does not list each of its tasks once");
  CHECK(changed([](auto& o) { o.tasks[5].micro_batch = 2; }) ==
        "order.tasks[5] (micro-batch 2 on virtual stage 1) does not belong to stage 1");
  CHECK(changed([](auto& o) { o.tasks[5].virtual_stage = 0; }) ==
        "order.tasks[5] (micro-batch 0 on virtual stage 0) does not belong to stage 1");
  CHECK(changed([](auto& o) { o.stage_of[1] = 2; }) == "order.stage_of[1] = 2 must be below 2");
  CHECK(changed([](auto& o) { o.fill = {1}; }) == "order.fill has 1 entry, which is neither none nor one for each of 2 stages");
  CHECK(changed([](auto& o) { o.offsets[2] = 7; }) == "order.offsets must rise from 0 to the number of tasks");
  CHECK(changed([](auto& o) { o.offsets[1] = 9; }) == "order.offsets[1] breaks the rise from 0 to the number of tasks");
  CHECK(changed([](auto& o) { o = {}; }) == "order: there must be a stage, a virtual stage and 1 ... 2^32 - 1 micro-batches");
}

TEST_CASE("simulate_order: refuses chains that an order breaks") {
  auto const one = [](auto, auto) { return stage_work{.forward = 1, .backward = 2}; };
  auto const changed = [&](auto change) {
    auto order = chunked_order(2, chains_of({{0}, {1, 2}}));  // F0 F1 B0 F2 B2 B1, then F0 B0 F1 F2 B2 B1
    change(order);
    return refusal([&] { return simulate_order(order, one); });
  };
  auto const breaks = [](std::string const& which, std::string const& is, std::string const& must) {
    return "order.tasks" + which + " is number " + is + " of its chain there, not number " + must +
           "; forwards of a chain ascend, backwards descend";
  };
  CHECK(changed([](auto&) {}) == "accepted");
  CHECK(changed([](auto& o) { std::swap(o.tasks[1], o.tasks[3]); }) == breaks("[1] on stage 0: the forward of micro-batch 2", "0", "1"));
  CHECK(changed([](auto& o) { std::swap(o.tasks[8], o.tasks[9]); }) == breaks("[8] on stage 1: the forward of micro-batch 2", "0", "1"));
  CHECK(changed([](auto& o) { std::swap(o.tasks[10], o.tasks[11]); }) ==
        breaks("[10] on stage 1: the backward of micro-batch 1", "0", "1"));
  CHECK(changed([](auto& o) { o.chains = {}; }) == "accepted");
  CHECK(changed([](auto& o) { o.chains = chains_of({{0}, {1}, {2}}); }) == "accepted");
  CHECK(changed([](auto& o) { o.chains = chains_of({{0}, {1}}); }) == "order.chains holds 2 micro-batches, not each of 3 once");
  CHECK(changed([](auto& o) { o.chains = chains_of({{0, 1}, {1}}); }) == "order.chains.members[2] = 1 is listed twice");
  CHECK(changed([](auto& o) { o.chains = chains_of({{0, 1}, {3}}); }) == "order.chains.members[2] = 3 is no micro-batch: there are 3");
  CHECK(changed([](auto& o) { o.chains.offsets.back() = 2; }) == "order.chains.offsets must rise from 0 to the number of micro-batches, 3");

  // Split backwards: input parts descend, weight parts come when they may, listed or placed by the simulator.
  auto order = chunked_order(2, chains_of({{0}, {1, 2}}));
  for (auto& t : order.tasks)
    if (t.pass == pipeline_pass::backward) t.pass = pipeline_pass::backward_input;
  order.fill = {3, 3};
  auto const third = [](auto, auto) { return stage_work{.forward = 1, .backward = 1, .weight = 1}; };
  auto const filled = simulate_order(order, third, true);
  CHECK(describe(check_timeline(filled, order.stage_of, 3, third, order.chains)) == "valid");
  std::swap(order.tasks[4], order.tasks[5]);
  CHECK(refusal([&] { return simulate_order(order, third); }) == breaks("[4] on stage 0: the backward of micro-batch 1", "0", "1"));
}

TEST_CASE("simulate_pipeline: refuses works that cannot be") {
  auto const with = [](stage_work bad) {
    return refusal([&] {
      return simulate_pipeline(gpipe_schedule{}, {.stages = 2, .micro_batches = 2},
                               [&](std::uint64_t k, std::uint64_t m) { return k == 1 && m == 0 ? bad : stage_work{.forward = 1}; });
    });
  };
  auto const most = (std::numeric_limits<std::int64_t>::max)();
  CHECK(with({.residue = -1}) == "work(1, 0) has a negative member");
  CHECK(with({.forward = most - 3}) == "accepted");
  CHECK(with({.forward = most - 2, .backward = 2}) == "work(1, 0) has members that bring a sum to 2^63");
  CHECK(with({.transfer = most / 2}) == "work(0, 1) has members that bring a sum to 2^63");
  CHECK(with({.kept = most, .residue = 1}) == "work(1, 0) has members that bring a sum to 2^63");
}

}  // namespace test_pipeline_simulate
