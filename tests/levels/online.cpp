// SPDX-License-Identifier: Apache-2.0
#include <ballast/levels/online.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace test_levels_online {

using lengths_t = std::vector<std::int64_t>;
using levels_t = std::vector<ballast::level>;
using steps_t = std::vector<ballast::level_step<>>;

namespace {

levels_t const two{{512, 1, 0}, {4096, 4, 0}};
ballast::level_batching_options const eight{.devices = 8, .seed = 3};

lengths_t stream(std::uint64_t seed, std::size_t n) {
  ballast::splitmix64 draw(seed);
  lengths_t lengths(n);
  for (auto& l : lengths) {
    auto const is_long = draw() % 20 == 0;
    l = is_long ? ballast_test::between(513, 4096, draw) : ballast_test::between(1, 512, draw);
  }
  return lengths;
}

steps_t take(ballast::online_levels<>& online) {
  steps_t steps;
  while (online.ready()) steps.push_back(online.pop());
  return steps;
}

// 1 - mean / max of the ranks' squared lengths.
double attention_ratio(ballast::level_step<> const& step, lengths_t const& lengths) {
  std::int64_t most = 0, sum = 0;
  for (auto const pack : step.packs) {
    std::int64_t squares = 0;
    for (auto i : pack) squares += lengths[i] * lengths[i];
    most = (std::max)(most, squares);
    sum += squares;
  }
  return 1 - static_cast<double>(sum) / (static_cast<double>(most) * static_cast<double>(step.packs.size()));
}

}  // namespace

TEST_CASE("online_levels: every sample comes once, at its level, in full steps until the stream ends", "[batching][property]") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    auto const lengths = stream(seed, 400 * seed);
    ballast::online_levels<> online(two, eight, 1 + seed % 4);
    std::vector<int> stands(lengths.size(), 0);
    std::size_t held = 0;
    auto const check = [&](bool full) {
      for (auto const& step : take(online)) {
        CHECK(step.packs.size() == step.ranks * step.micro_batches);
        CHECK(step.ranks == 8 / two[step.level].sp);
        for (auto const pack : step.packs) {
          if (full) CHECK_FALSE(pack.empty());
          std::int64_t tokens = 0;
          for (auto i : pack) {
            ++stands[i];
            --held;
            tokens += lengths[i];
            CHECK((step.level == 0) == (lengths[i] <= 512));
          }
          CHECK(tokens <= two[step.level].capacity);
        }
      }
    };
    for (auto const l : lengths) {
      online.push(l);
      ++held;
      check(true);
    }
    online.flush();
    check(false);
    CAPTURE(seed);
    CHECK(held == 0);
    CHECK(std::count(stands.begin(), stands.end(), 1) == static_cast<std::ptrdiff_t>(stands.size()));
  }
}

TEST_CASE("online_levels: what waits is bounded by the window", "[batching]") {
  auto const lengths = stream(1, 20000);
  for (std::uint64_t window : {2U, 8U}) {
    ballast::online_levels<> online(two, eight, window);
    for (auto const l : lengths) {
      online.push(l);
      (void)take(online);
      for (std::size_t i = 0; i < 2; ++i) {
        std::int64_t tokens = 0;
        for (auto const& w : online.state().gathered[i]) tokens += w.length;
        REQUIRE(tokens < static_cast<std::int64_t>(window) * 8192);
      }
    }
  }
}

TEST_CASE("online_levels: a longer look-ahead levels steps better, and none is worse than no balance", "[batching]") {
  auto const lengths = stream(2, 30000);
  auto const mean = [&](std::uint64_t window, bool balanced) {
    auto options = eight;
    options.balanced = balanced;
    ballast::online_levels<> online(two, options, window);
    for (auto const l : lengths) online.push(l);
    auto const steps = take(online);
    double sum = 0;
    for (auto const& s : steps) sum += attention_ratio(s, lengths);
    return sum / static_cast<double>(steps.size());
  };
  CHECK(mean(16, true) < 0.5 * mean(2, true));
  CHECK(mean(2, true) < mean(2, false));
  CHECK(mean(16, true) < 0.15 * mean(16, false));
}

TEST_CASE("online_levels: goes on from its state at any sample", "[batching]") {
  auto const lengths = stream(4, 600);
  auto const run = [&](std::size_t stop) {
    ballast::online_levels<> first(two, eight, 3);
    for (std::size_t i = 0; i < stop; ++i) first.push(lengths[i]);
    steps_t steps;
    if (first.ready()) steps.push_back(first.pop());  // some handed out, some not
    ballast::online_levels<> second(two, eight, 3, first.state());
    for (auto i = stop; i < lengths.size(); ++i) second.push(lengths[i]);
    second.flush();
    auto const rest = take(second);
    steps.insert(steps.end(), rest.begin(), rest.end());
    return steps;
  };
  auto const whole = run(0);
  CHECK(whole.size() > 10);
  for (std::size_t stop = 0; stop <= lengths.size(); stop += 37) CHECK(run(stop) == whole);
}

TEST_CASE("online_levels: a state with any member changed is refused, or every sample that waits still comes once",
          "[batching][property]") {
  ballast::splitmix64 draw(6);
  auto const lengths = stream(6, 900);
  ballast::online_levels<> online(two, eight, 3);
  for (auto const l : lengths) online.push(l);
  REQUIRE(online.ready());
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    auto state = online.state();
    auto const one_of = [&](auto& list) -> auto& { return list[draw() % list.size()]; };
    auto const any = draw() % 3 == 0 ? draw() >> draw() % 64 : draw() % 1000;
    auto& step = one_of(state.ready);
    auto& waits = one_of(one_of(state.gathered));
    switch (round % 12) {
      case 0: state.samples = any; break;
      case 1: state.rounds = any; break;
      case 2: waits.sample = static_cast<std::uint32_t>(any); break;
      case 3: waits.length = static_cast<std::int64_t>(any) * (any % 2 == 0 ? 1 : -1); break;
      case 4: step.level = static_cast<std::uint32_t>(any); break;
      case 5: step.ranks = any; break;
      case 6: step.micro_batches = any; break;
      case 7: one_of(step.packs.offsets) = any; break;
      case 8: one_of(step.packs.members) = static_cast<std::uint32_t>(any); break;
      case 9: step.packs.offsets.resize(any % 20); break;
      case 10: step.packs.members.resize(any % 20); break;
      default: one_of(state.gathered).push_back(waits); break;
    }
    std::vector<std::uint32_t> wanted, found;
    try {
      ballast::online_levels<> again(two, eight, 3, state);
      for (auto const& level : state.gathered)
        for (auto const& w : level) wanted.push_back(w.sample);
      for (auto const& s : state.ready) wanted.insert(wanted.end(), s.packs.members.begin(), s.packs.members.end());
      again.flush();
      for (auto const& s : take(again)) {
        REQUIRE(s.packs.size() == s.ranks * s.micro_batches);
        found.insert(found.end(), s.packs.members.begin(), s.packs.members.end());
      }
    } catch (ballast::invalid_input const&) {
      ++refused;
      continue;
    }
    for (auto* list : {&wanted, &found}) std::sort(list->begin(), list->end());
    REQUIRE(found == wanted);
    REQUIRE(std::adjacent_find(found.begin(), found.end()) == found.end());
    REQUIRE((found.empty() || found.back() < state.samples));
  }
  CHECK(refused > 300);
}

TEST_CASE("online_levels: bad input is refused", "[batching]") {
  using ballast_test::refusal;
  auto const of_step = [](std::int64_t capacity, std::int64_t tokens) {
    return refusal([&] { ballast::online_levels<>(levels_t{{capacity, 1, 0}}, {.devices = 1, .tokens_per_step = tokens}, 4); });
  };
  CHECK(of_step(1, std::int64_t{1} << 62) == "tokens_per_step = 4611686018427387904 must be at most 2^61");
  CHECK(of_step(1, std::int64_t{1} << 61) ==
        "tokens_per_step = 2305843009213693952 is 2305843009213693952 micro-batches of capacity 1 on 1 ranks: a step has at most 2^20 - 1");
  CHECK(of_step(std::int64_t{1} << 39, std::int64_t{1} << 58) == "accepted");
  ballast::online_levels<> online(two, eight);
  CHECK(refusal([&] { online.push(0); }) == "sample 0 of 0 tokens must be in 1 ... 4096, the longest level");
  CHECK(refusal([&] { online.push(4097); }) == "sample 0 of 4097 tokens must be in 1 ... 4096, the longest level");
  CHECK(refusal([&] { (void)online.pop(); }) == "no step is ready: push more samples, or flush");
  CHECK(refusal([] { ballast::online_levels<>(two, eight, 0); }) == "window = 0 must be in 1 ... 2^20 - 1");
  CHECK(refusal([] { ballast::online_levels<>({}, eight); }) == "levels is empty");
  CHECK(refusal([] { ballast::online_levels<>(two, {.devices = 6}); }) == "sp = 4 does not divide devices = 6");
  CHECK(refusal([] { ballast::online_levels<>(two, eight, 2, {}); }) == "a state of 0 levels for 2 levels");
}

}  // namespace test_levels_online
