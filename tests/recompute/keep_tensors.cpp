// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/core/random.hpp>
#include <ballast/recompute/keep_tensors.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_recompute_keep_tensors {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;

namespace {
/// Memory and time of a plan, added up from the tensors.
void check_sums(kept_tensors const& plan, std::vector<saved_tensor> const& tensors, std::int64_t budget) {
  REQUIRE(plan.kept.size() == tensors.size());
  std::int64_t memory = 0, time = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    REQUIRE(plan.kept[i] <= tensors[i].count);
    auto const kept = static_cast<std::int64_t>(plan.kept[i]), other = static_cast<std::int64_t>(tensors[i].count) - kept;
    memory += kept * tensors[i].bytes + other * tensors[i].checkpoint;
    time += other * tensors[i].time;
  }
  CHECK(memory == plan.memory);
  CHECK(memory <= budget);
  CHECK(time == plan.time.value);
}
}  // namespace

TEST_CASE("keep: three unit tensors under a budget of one keep one") {
  std::vector<saved_tensor> const three(3, {.bytes = 1, .time = 1});  // a published solver keeps two
  auto const plan = keep_tensors(three, 1);
  CHECK(plan.kept == std::vector<std::uint64_t>{1, 0, 0});
  CHECK(plan.time == certificate{2, 2});
}

TEST_CASE("keep: ten thousand tensors too small for a grid are not free") {
  // 10,000 tensors of 0.3e-4 and one of 0.7, under a budget of 0.1: rounded to 1e-4, all small ones weigh nothing and 0.3 is kept
  std::vector<saved_tensor> tensors(10'000, {.bytes = 3, .time = 1});
  tensors.push_back({.bytes = 70'000, .time = 5'000});
  auto const plan = keep_tensors(tensors, 10'000);
  check_sums(plan, tensors, 10'000);
  CHECK(plan.memory == 9'999);
  CHECK(plan.time == certificate{10'000 - 3'333 + 5'000, 10'000 - 3'333 + 5'000});
}

TEST_CASE("keep: counts and single tensors are one problem, folded or not") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    splitmix64 draw(seed);
    std::vector<saved_tensor> counted, single;
    std::int64_t all = 0, least = 0;
    for (auto classes = between(1, 6, draw); classes > 0; --classes) {
      auto const checkpoint = between(0, 4, draw), more = between(0, 60, draw), time = between(0, 500, draw), count = between(1, 40, draw);
      counted.push_back({checkpoint + more, time, checkpoint, static_cast<std::uint64_t>(count)});
      single.insert(single.end(), static_cast<std::size_t>(count), {checkpoint + more, time, checkpoint});
      all += count * (checkpoint + more);
      least += count * checkpoint;
    }
    auto const budget = between(least, all, draw);
    auto const a = keep_tensors(counted, budget), b = keep_tensors(single, budget);
    CAPTURE(seed);
    CHECK(a.time.optimal());
    CHECK(a.time == b.time);
    check_sums(a, counted, budget);
    check_sums(b, single, budget);
    auto const none = keep_tensors(counted, least - 1 < 0 ? 0 : least - 1);
    CHECK((none.status == status::infeasible) == (least > 0));
    if (least > 0) CHECK(none.memory == least);
  }
}

TEST_CASE("keep: transformer operators, one plan on every platform") {
  std::int64_t const sizes[] = {16, 16, 32, 48, 64, 16, 112, 112, 56, 24}, times[] = {15, 120, 3000, 40, 9000, 700, 5200, 60, 4100, 33};
  std::vector<saved_tensor> tensors;
  for (std::size_t i = 0; i < 4000; ++i) tensors.push_back({.bytes = sizes[i % 10], .time = times[i % 10]});
  fnv1a hash;
  for (auto const budget : {19'843, 59'527, 99'995}) {
    auto const plan = keep_tensors(tensors, budget);
    CHECK(plan.time.optimal());
    check_sums(plan, tensors, budget);
    for (auto const k : plan.kept) hash.append(k);
  }
  CHECK(hash.value() == 0x8d17e90d56b3f5e5U);
}

TEST_CASE("keep: what makes no sense is refused") {
  CHECK(refusal([&] { return keep_tensors(std::vector<saved_tensor>{{.bytes = -1}}, 1); }) ==
        "options[0].memory = -1 must be in [0, 2^58]");
  CHECK(refusal([&] { return keep_tensors({}, -1); }) == "budget = -1 must not be negative");
  CHECK(keep_tensors({}, 0).status == status::feasible);
}

}  // namespace test_recompute_keep_tensors
