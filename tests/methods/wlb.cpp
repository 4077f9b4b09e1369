// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/methods/wlb.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_methods_wlb {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;
using members = std::vector<std::uint64_t>;

namespace {

constexpr quadratic_cost cost{.linear = 100, .quadratic = 1};

wlb::options drawn_options(splitmix64& draw) {
  wlb::options o{.micro_batches = static_cast<std::uint64_t>(between(1, 6, draw)), .capacity = between(500, 3000, draw), .thresholds = {}};
  for (auto from = between(50, 200, draw); draw() % 3 != 0 && from <= o.capacity; from += between(1, 400, draw))
    o.thresholds.push_back(from);
  return o;
}

}  // namespace

TEST_CASE("wlb: every document is in one step or still waits, and micro-batches keep the capacity", "[property]") {
  splitmix64 draw(1);
  for (int round = 0; round < 100; ++round) {
    auto const o = drawn_options(draw);
    wlb::packer stream(o, cost);
    numbers lengths;
    std::vector<int> seen;
    std::uint64_t now = 0;
    auto const check = [&](wlb::step const& s) {
      REQUIRE(s.micro_batches.size() == o.micro_batches);
      REQUIRE(s.lengths.size() == s.micro_batches.members.size());
      std::size_t j = 0;
      for (std::size_t m = 0; m < s.micro_batches.size(); ++m) {
        std::int64_t tokens = 0, work = 0;
        for (auto const i : s.micro_batches[m]) {
          ++seen[static_cast<std::size_t>(i)];
          CHECK(s.lengths[j] == lengths[static_cast<std::size_t>(i)]);
          CHECK(s.delays[j++] <= now);
          tokens += lengths[static_cast<std::size_t>(i)];
          work += cost(lengths[static_cast<std::size_t>(i)]);
        }
        CHECK(tokens <= o.capacity);
        CHECK(work == s.workloads[m]);
      }
      ++now;
    };
    for (int batch = 0; batch < 12; ++batch) {
      auto const more = ballast_test::random_lengths(static_cast<std::size_t>(between(0, 25, draw)), o.capacity, draw);
      lengths.insert(lengths.end(), more.begin(), more.end());
      seen.resize(lengths.size(), 0);
      check(stream.push(more));
      auto const& state = stream.state();
      for (auto const& queue : state.queues) {
        CHECK(std::is_sorted(queue.begin(), queue.end(), [](auto const& a, auto const& b) { return a.number < b.number; }));
        for (auto const& d : queue) CHECK(seen[static_cast<std::size_t>(d.number)] == 0);
      }
      for (auto const& d : state.left) CHECK(seen[static_cast<std::size_t>(d.number)] == 0);
    }
    for (auto const& s : stream.flush()) check(s);
    CHECK(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
    CHECK(stream.flush().empty());
  }
}

TEST_CASE("wlb: a stream that continues from its state makes the same steps", "[property]") {
  splitmix64 draw(2);
  for (int round = 0; round < 40; ++round) {
    auto const o = drawn_options(draw);
    wlb::packer one(o, cost), other(o, cost);
    for (int batch = 0; batch < 12; ++batch) {
      auto const lengths = ballast_test::random_lengths(20, o.capacity, draw);
      CHECK(one.push(lengths) == other.push(std::vector<std::int32_t>(lengths.begin(), lengths.end())));
      other = wlb::packer(o, cost, other.state());
    }
    CHECK(one.state() == other.state());
  }
}

TEST_CASE("wlb: a state with any member changed is refused, or every document that waits still comes once", "[property]") {
  splitmix64 draw(9);
  auto const start = wlb::options{.micro_batches = 3, .capacity = 100, .thresholds = {40, 70}};
  wlb::packer stream(start, cost);
  while (stream.state().left.empty() || stream.state().queues[0].empty() || stream.state().queues[1].empty())
    (void)stream.push(ballast_test::random_lengths(20, 100, draw));
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    auto state = stream.state();
    auto const any = draw() % 3 == 0 ? draw() >> draw() % 64 : draw() % 200;
    auto& list = round % 2 == 0 ? state.left : state.queues[draw() % 2];
    auto& document = list[draw() % list.size()];
    switch (round % 7) {
      case 0: state.documents = any; break;
      case 1: state.steps = any; break;
      case 2: state.queues.resize(any % 4); break;
      case 3: document.number = any; break;
      case 4: document.length = static_cast<std::int64_t>(any) * (any % 2 == 0 ? 1 : -1); break;
      case 5: document.arrived = any; break;
      default: list.push_back(document); break;
    }
    try {
      wlb::packer again(start, cost, state);
      auto wanted = members(), found = members();
      for (auto const& d : again.waiting()) wanted.push_back(d.number);
      for (auto const& s : again.flush()) {
        found.insert(found.end(), s.micro_batches.members.begin(), s.micro_batches.members.end());
        for (auto const delay : s.delays) REQUIRE(delay <= state.steps + wanted.size());
      }
      std::sort(found.begin(), found.end());
      REQUIRE(found == wanted);
      REQUIRE(std::adjacent_find(found.begin(), found.end()) == found.end());
    } catch (invalid_input const&) {
      ++refused;
    }
  }
  CHECK(refused > 150);
}

TEST_CASE("wlb: algorithm 1 by hand", "[published]") {
  wlb::packer stream({.micro_batches = 2, .capacity = 20, .thresholds = {10, 15}}, quadratic_cost{.linear = 0, .quadratic = 1});
  // 12 and 16 wait, each in its queue. 8 | 6; 5 to the 6, whose work is less; 4 to the second (61 < 64); then 3 to the first.
  auto const first = stream.push(numbers{5, 12, 8, 16, 3, 6, 4});
  CHECK(first.micro_batches.members == members{2, 4, 5, 0, 6});
  CHECK(first.micro_batches.offsets == members{0, 2, 5});
  CHECK(first.workloads == numbers{73, 77});
  CHECK(stream.state().queues[0].size() == 1);
  CHECK(stream.state().queues[1].size() == 1);
  // 13 joins 12, so both are handed out, one for each micro-batch; 9 finds no room
  // with the 12, which is both the least work and the shortest: it is left. 7 does.
  auto const second = stream.push(numbers{13, 9, 7});
  CHECK(second.micro_batches.members == members{7, 1, 9});
  CHECK(second.delays == members{0, 1, 0});
  REQUIRE(stream.state().left.size() == 1);
  CHECK(stream.state().left[0] == wlb::document{8, 9, 1});
  // What was left comes before longer documents.
  auto const third = stream.push(numbers{9, 9, 9});
  CHECK(third.micro_batches.members == members{8, 11, 10, 12});
  CHECK(third.delays == members{1, 0, 0, 0});
  CHECK(third.imbalance() == 1'000'000);
  CHECK(stream.flush().size() == 1);
}

TEST_CASE("wlb: the micro-batch with the fewest tokens is second choice, and what was left comes first", "[published]") {
  // 12 | 8, 7: 113 is less work than 144, but 6 has no room there.
  wlb::packer two({.micro_batches = 2, .capacity = 20, .thresholds = {}}, quadratic_cost{.linear = 0, .quadratic = 1});
  auto const both = two.push(numbers{12, 8, 7, 6});
  CHECK(both.micro_batches.members == members{0, 3, 1, 2});
  CHECK(both.micro_batches.offsets == members{0, 2, 4});
  wlb::packer one({.micro_batches = 1, .capacity = 10, .thresholds = {}}, token_cost{});
  CHECK(one.push(numbers{6, 5}).micro_batches.members == members{0});
  CHECK(one.push(numbers{9, 4}).micro_batches.members == members{1, 3});  // the 5 before the longer 9, which is left
  CHECK(one.state().left == std::vector<wlb::document>{{2, 9, 1}});
}

TEST_CASE("wlb: without work, with one micro-batch, and misuse") {
  CHECK(wlb::step{}.imbalance() == 1'000'000);
  CHECK(wlb::step{.micro_batches = {}, .lengths = {}, .delays = {}, .workloads = {3, 1}}.imbalance() == 1'500'000);
  wlb::packer alone({.micro_batches = 1, .capacity = 10, .thresholds = {5}}, token_cost{});
  CHECK(alone.push(numbers{7, 2}).micro_batches.members == members{0, 1});
  CHECK(alone.push(numbers{}).micro_batches.members.empty());
  auto const start = [](wlb::options const& o) { return refusal([&] { return wlb::packer(o, cost).state().steps; }); };
  CHECK(start({.micro_batches = 0, .capacity = 1, .thresholds = {}}) == "micro_batches = 0 must be in 1 ... 2^20 - 1");
  CHECK(start({.micro_batches = 1, .capacity = 0, .thresholds = {}}) == "capacity = 0 must be positive");
  CHECK(start({.micro_batches = 1, .capacity = 1, .thresholds = {3, 3}}) == "thresholds[1] = 3 must be positive and above the one before");
  CHECK(refusal([&] { return alone.push(numbers{11}); }) == "a document of 11 tokens exceeds capacity = 10");
  CHECK(refusal([&] { return alone.push(numbers{0}); }) == "lengths[0] = 0 must be positive");
  CHECK(alone.state().documents == 2);
  CHECK(refusal([&] { return wlb::packer({.micro_batches = 1, .capacity = 1, .thresholds = {}}, cost, alone.state()).state().steps; }) ==
        "a state of 1 queues for 0 thresholds");
}

}  // namespace test_methods_wlb
