// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/polynomial.hpp>
#include <ballast/streams/check.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_streams_check {

using namespace ballast;
using numbers = std::vector<std::int64_t>;

namespace {

/// A valid second step: 4 waits on from the first block, 2 and 3 leave, 5 is at its deadline and late.
stream_step second() {
  stream_step s;
  s.micro_batches = {{0, 1, 2}, {1, 3}};
  s.lengths = {6, 3};
  s.delays = {1, 0};
  s.workloads = {6, 3};
  s.late = {2};
  return s;
}

/// What the checker says of a second step.
std::string verdict_of(stream_step const& step) {
  stream_checker checker({.micro_batches = 2, .capacity = {9}, .deadline = 1}, token_cost{});
  stream_step first;
  first.micro_batches = {{0, 1, 1}, {0}};
  first.lengths = {5};
  first.delays = {0};
  first.workloads = {5, 0};
  REQUIRE(checker.push(numbers{5, 6, 7}, first).valid());
  return describe(checker.push(numbers{3, 4}, step));
}

template <class Change>
std::string verdict_after(Change const& change) {
  auto step = second();
  change(step);
  return verdict_of(step);
}

}  // namespace

TEST_CASE("stream_checker: every rule, once broken, is named with its place") {
  CHECK(verdict_of(second()) == "valid");
  CHECK(verdict_after([](auto& s) { s.micro_batches.offsets.push_back(2); }) == "there are 3 micro-batches, not 2");
  CHECK(verdict_after([](auto& s) { s.micro_batches.offsets = {0, 3, 2}; }) == "offsets[1] = 3: offsets must rise from 0 to 2");
  CHECK(verdict_after([](auto& s) { s.lengths.pop_back(); }) == "lengths, delays or workloads has 1 entry, not 2");
  CHECK(verdict_after([](auto& s) { s.delays.push_back(0); }) == "lengths, delays or workloads has 3 entries, not 2");
  CHECK(verdict_after([](auto& s) { s.workloads.pop_back(); }) == "lengths, delays or workloads has 1 entry, not 2");
  CHECK(verdict_after([](auto& s) { s.micro_batches.members[1] = 0; }) ==
        "members[1]: sample 0 of the 5 that have arrived is unknown or has left");
  CHECK(verdict_after([](auto& s) { s.micro_batches.members[1] = 5; }) ==
        "members[1]: sample 5 of the 5 that have arrived is unknown or has left");
  CHECK(verdict_after([](auto& s) { s.lengths[1] = 4; }) == "lengths[1] = 4, but the sample has 3");
  CHECK(verdict_after([](auto& s) { s.delays[0] = 0; }) == "delays[0] = 0, but the sample waited 1 step");
  CHECK(verdict_after([](auto& s) { s.workloads[1] = 4; }) == "workloads[1] = 4, but the costs add up to 3");
  CHECK(verdict_after([](auto& s) {
          s.micro_batches.members = {1, 4};
          s.micro_batches.offsets = {0, 2, 2};
          s.lengths = {6, 4};
          s.workloads = {10, 0};
        }) == "micro-batch 0 holds 10, more than the capacity 9");
  CHECK(verdict_after([](auto& s) { s.late.clear(); }) == "sample 2 waits for 1 step, at a deadline of 1, and is not late");
  CHECK(verdict_after([](auto& s) { s.late = {2, 4}; }) == "late[1] has left, did not arrive, or waits for 0 steps of 1");
  CHECK(verdict_after([](auto& s) { s.late = {2, 3}; }) == "late[1] has left, did not arrive, or waits for 0 steps of 1");
}

TEST_CASE("stream_checker: a sample that was listed as late may leave later, and is listed only once") {
  stream_checker checker({.micro_batches = 1, .capacity = {9}, .deadline = 0}, token_cost{});
  stream_step step;
  step.micro_batches = {{0, 0}, {}};
  step.workloads = {0};
  step.late = {0};
  CHECK(describe(checker.push(numbers{4}, step)) == "valid");
  step.late.clear();
  CHECK(describe(checker.push(numbers{}, step)) == "valid");
  step.micro_batches = {{0, 1}, {0}};
  step.lengths = {4};
  step.delays = {2};
  step.workloads = {4};
  CHECK(describe(checker.push(numbers{}, step)) == "valid");
  CHECK(checker.waiting() == 0);
}

}  // namespace test_streams_check
