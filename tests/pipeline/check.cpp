// SPDX-License-Identifier: Apache-2.0
#include <ballast/pipeline/check.hpp>
#include <ballast/pipeline/chunked_order.hpp>
#include <ballast/pipeline/simulate.hpp>

#include "chained.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test_pipeline_check {

using namespace ballast_test;
using namespace ballast;

namespace {

stage_work work(std::uint64_t, std::uint64_t) { return {.forward = 2, .backward = 3, .weight = 1, .transfer = 4, .kept = 5, .residue = 1}; }

/// What is said of a valid timeline after a change: two stages, two micro-batches; under GPipe F0 F1 B1 B0 on each stage.
template <class Schedule, class Change>
std::string says(Schedule const& schedule, Change const& change) {
  auto t = simulate_pipeline(schedule, {.stages = 2, .micro_batches = 2, .events = true}, work);
  change(t);
  return describe(check_timeline(t, std::vector<std::uint32_t>{0, 1}, 2, work));
}

}  // namespace

TEST_CASE("check_timeline: names the first rule broken, and where") {
  gpipe_schedule const all;
  CHECK(says(all, [](auto&) {}) == "valid");
  CHECK(says(all, [](auto& t) { t.events[1].micro_batch = 2; }) ==
        "events[1] names a micro-batch, virtual stage or pass that there is not");
  CHECK(says(all, [](auto& t) { t.events[1].pass = static_cast<pipeline_pass>(4); }) ==
        "events[1] names a micro-batch, virtual stage or pass that there is not");
  CHECK(says(all, [](auto& t) { t.events[1].stage = 1; }) == "events[1] is on stage 1, not on 0");
  CHECK(says(all, [](auto& t) { t.events[1].end += 1; }) == "events[1] takes 3, not 2, or begins before 0");
  CHECK(says(all, [](auto& t) { t.events[0].start -= 1, t.events[0].end -= 1; }) == "events[0] takes 2, not 2, or begins before 0");
  CHECK(says(all, [](auto& t) { t.events[1].start -= 1, t.events[1].end -= 1; }) == "events[1] begins at 1, but its stage is busy until 2");
  CHECK(says(all, [](auto& t) { t.events[1].micro_batch = 0; }) == "events[1] is done a second time");
  CHECK(says(all, [](auto& t) { t.events.pop_back(); }) == "micro-batch 0 lacks a pass on virtual stage 1");
  CHECK(says(all, [](auto& t) { t.events.clear(); }) == "micro-batch 0 lacks a pass on virtual stage 0");
  CHECK(says(all, [](auto& t) { t.events[4].start -= 1, t.events[4].end -= 1; }) ==
        "events[4] begins at 5, but what it needs arrives at 6");
  CHECK(says(all, [](auto& t) { t.events[2].start -= 1, t.events[2].end -= 1; }) ==
        "events[2] begins at 17, but what it needs arrives at 18");
  CHECK(says(all, [](auto& t) { t.events[3].start += 1, t.events[3].end += 1; }) == "stages[0] says 26, but its events make it 27");
  CHECK(says(all, [](auto& t) { t.stages[0].busy += 1; }) == "stages[0] says 13, but its events make it 12");
  CHECK(says(all, [](auto& t) { t.stages[1].peak_memory -= 1; }) == "stages[1] says 9, but its events make it 10");
  CHECK(says(all, [](auto& t) { t.stages[1].start += 1; }) == "stages[1] says 7, but its events make it 6");
  CHECK(says(all, [](auto& t) { t.makespan.value -= 1; }) == "makespan or span = 25, but the events make it 26");
  CHECK(says(all, [](auto& t) { t.span += 1; }) == "makespan or span = 27, but the events make it 26");
  CHECK(says(all, [](auto& t) { t.makespan.lower_bound = 29; }) == "the lower bound 29 contradicts 26, the value or the limit");
}

TEST_CASE("check_timeline: knows the parts of a split backward") {
  zb1p_schedule const split;
  auto const of = [](auto& t, pipeline_pass pass) -> auto& {
    return *std::find_if(t.events.begin(), t.events.end(), [&](auto const& e) { return e.pass == pass; });
  };
  CHECK(says(split, [](auto&) {}) == "valid");
  CHECK(says(split, [&](auto& t) { of(t, pipeline_pass::weight).micro_batch = 1; }).find("is done a second time") != std::string::npos);
  CHECK(says(split, [](auto& t) {
          std::erase_if(t.events, [](auto const& e) { return e.pass == pipeline_pass::weight && e.stage == 1; });
        }) == "micro-batch 0 lacks a pass on virtual stage 1");
  // A weight part before its input part, each in time.
  auto const swapped = says(split, [&](auto& t) {
    auto& last = t.events.back();
    last.start = 0, last.end = 1;
    std::rotate(t.events.end() - 6, t.events.end() - 1, t.events.end());
  });
  CHECK(swapped == "events[6] begins at 0, but what it needs arrives at 16");
}

TEST_CASE("check_timeline: knows the order of a chain") {
  auto const chains = chains_of({{1, 0}, {2}});
  std::vector<std::uint32_t> const stage_of{0, 1};
  auto const one = [](std::uint64_t, std::uint64_t) { return stage_work{.forward = 2, .backward = 3}; };
  auto const says_of = [&](groups<std::uint32_t> const& other) {
    auto const t = simulate_order(chunked_order(2, chains), one, true);  // F2 F1 B2 F0 B0 B1, then F2 B2 F1 F0 B0 B1
    return describe(check_timeline(t, stage_of, 3, one, other));
  };
  CHECK(says_of(chains) == "valid");
  CHECK(says_of({}) == "valid");
  CHECK(says_of(chains_of({{0, 1}, {2}})) == "events[1] is of micro-batch 1, but micro-batch 0 of its chain must come first");
  CHECK(says_of(chains_of({{1}, {2, 0}})) == "events[2] is of micro-batch 2, but micro-batch 0 of its chain must come first");
  CHECK(says_of(chains_of({{2, 1}, {0}})) == "events[2] is of micro-batch 2, but micro-batch 1 of its chain must come first");
  CHECK(refusal([&] { return says_of(chains_of({{0}, {1}})); }) == "chains must hold every micro-batch once");
  CHECK(refusal([&] { return says_of(chains_of({{0, 0}, {1}})); }) == "chains: micro-batch 0 is listed twice, or there is none");
  CHECK(refusal([&] { return says_of(chains_of({{0, 3}, {1}})); }) == "chains: micro-batch 3 is listed twice, or there is none");

  // Tasks that take no time all begin at 0: their order in the list counts.
  auto const none = [](std::uint64_t, std::uint64_t) { return stage_work{}; };
  auto t = simulate_order(chunked_order(1, chains_of({{0, 1}})), none, true);
  CHECK(describe(check_timeline(t, std::vector<std::uint32_t>{0}, 2, none, chains_of({{0, 1}}))) == "valid");
  std::swap(t.events[0], t.events[1]);
  CHECK(check_timeline(t, std::vector<std::uint32_t>{0}, 2, none, chains_of({{0, 1}})) == verdict{timeline_fault::wrong_order, 0, 1, 0});

  // Input parts descend; a weight part follows its own input part whenever it may.
  zb1p_schedule const split;
  auto const u = simulate_pipeline(split, {.stages = 2, .micro_batches = 3, .events = true}, one);
  CHECK(describe(check_timeline(u, stage_of, 3, one, chains_of({{0}, {1}, {2}}))) == "valid");
  CHECK(check_timeline(u, stage_of, 3, one, chains_of({{0, 1}, {2}})).fault == timeline_fault::wrong_order);
}

}  // namespace test_pipeline_check
