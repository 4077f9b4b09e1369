// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/pipeline/check_prefetch.hpp>
#include <ballast/pipeline/prefetch.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace test_pipeline_prefetch {

using namespace ballast;

namespace {

using layer_list = std::vector<prefetch_layer>;

[[nodiscard]] layer_list random_layers(splitmix64& generator) {
  layer_list out(uniform_below(9, generator));
  auto const time = [&] { return static_cast<std::int64_t>(uniform_below(4, generator) * uniform_below(9, generator)); };
  for (auto& l : out) {
    l = {.forward = time(), .backward = time(), .loaded = uniform_below(2, generator) == 0, .spilled = uniform_below(2, generator) == 0};
    if (l.loaded) l.load = time();
    l.store = time();
    l.update = time();
    l.give_back = time();
  }
  return out;
}

}  // namespace

TEST_CASE("simulate_prefetch: links as fast as computation hide all loads but the first") {
  for (std::int64_t load = 0; load <= 10; ++load) {
    layer_list const layers(20, {.forward = 10, .backward = 20, .loaded = true, .load = load});
    auto const two = simulate_prefetch(layers, 2);
    CHECK(two.makespan == certificate{20 * 30 + load, 20 * 30 + load});
    CHECK(simulate_prefetch(layers, 1).makespan.value == 20 * (30 + 2 * load));  // one buffer: nothing overlaps
  }
  layer_list const slow(20, {.forward = 10, .backward = 10, .loaded = true, .load = 15});
  CHECK(simulate_prefetch(slow, 2).makespan == certificate{40 * 15 + 10, 40 * 15 + 10});  // the link is busy all the time
}

TEST_CASE("simulate_prefetch: stores, updates and new parameters behind the backward passes") {
  // Backward passes end at 20, 30, 40; stores at 24, 34, 44; updates at 54, 84, 114; the last new parameters are there at 119.
  layer_list const layers(3, {.forward = 3, .backward = 10, .store = 4, .update = 30, .give_back = 5});
  auto const t = simulate_prefetch(layers, 1, true);
  CHECK(t.makespan == certificate{9 + 10 + 4 + 3 * 30 + 5, 9 + 10 + 4 + 3 * 30 + 5});
  CHECK(check_prefetch(t, layers, 1).valid());
  // A buffer that the store empties: with one, the next backward pass waits for the store.
  layer_list const spilled(3, {.forward = 1, .backward = 2, .spilled = true, .store = 5});
  CHECK(simulate_prefetch(spilled, 1).makespan.value == 3 + 3 * 7);
  CHECK(simulate_prefetch(spilled, 3).makespan == certificate{3 + 2 + 15, 3 + 2 + 15});
}

TEST_CASE("simulate_prefetch: random timelines are valid, and above the bound") {
  std::int64_t times = 0, bounds = 0;
  for (std::uint64_t seed = 0; seed < 2000; seed += ballast_test::round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const layers = random_layers(generator);
    std::int64_t compute = 0, up = 0, down = 0;
    for (auto const& l : layers) {
      compute += l.forward + l.backward;
      up += 2 * l.load + l.give_back;
      down += l.store;
    }
    for (std::uint64_t buffers = 1; buffers <= 5; ++buffers) {
      auto const t = simulate_prefetch(layers, buffers, true);
      REQUIRE(check_prefetch(t, layers, buffers) == verdict<prefetch_fault>{});
      REQUIRE(t.makespan == simulate_prefetch(layers, buffers).makespan);
      REQUIRE(t.makespan.lower_bound >= (std::max)({compute, up, down}));
      REQUIRE(t.makespan.lower_bound <= t.makespan.value);
      if (buffers < 5) continue;
      times += t.makespan.value;
      bounds += t.makespan.lower_bound;
    }
  }
  CHECK(times * 90 < bounds * 100);  // with several buffers, the bound is 8 % below on average
}

TEST_CASE("simulate_prefetch: without new parameters that go up, more buffers are never slower") {
  for (std::uint64_t seed = 0; seed < 1000; seed += ballast_test::round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto layers = random_layers(generator);
    for (auto& l : layers) l.give_back = 0;
    auto before = simulate_prefetch(layers, 1).makespan.value;
    for (std::uint64_t buffers = 2; buffers <= 20; ++buffers) {
      auto const now = simulate_prefetch(layers, buffers).makespan.value;
      REQUIRE(now <= before);
      before = now;
    }
  }
}

TEST_CASE("check_prefetch: each rule is named") {
  layer_list const layers{{.forward = 2, .backward = 3, .loaded = true, .load = 4},
                          {.forward = 2, .backward = 3, .loaded = true, .spilled = true, .load = 4, .store = 1, .update = 2},
                          {.forward = 2, .backward = 3, .store = 1, .update = 2, .give_back = 1}};
  auto const good = simulate_prefetch(layers, 2, true);
  REQUIRE(check_prefetch(good, layers, 2).valid());
  auto const find = [&](prefetch_timeline& t, prefetch_task task, std::uint32_t layer) -> prefetch_event& {
    return *std::find_if(t.events.begin(), t.events.end(), [&](auto const& e) { return e.task == task && e.layer == layer; });
  };
  auto const fault = [&](std::function<void(prefetch_timeline&)> const& change) {
    auto bad = good;
    change(bad);
    auto const v = check_prefetch(bad, layers, 2);
    CHECK(!describe(v).empty());
    return v.fault;
  };
  auto const move = [](prefetch_event& e, std::int64_t by) {
    e.begin += by;
    e.end += by;
  };
  CHECK(fault([](auto& t) { t.events[1].layer = 9; }) == prefetch_fault::unknown_layer);
  CHECK(fault([&](auto& t) { find(t, prefetch_task::store, 2).layer = 0; }) == prefetch_fault::unknown_layer);
  CHECK(fault([](auto& t) { t.events[0].end += 1; }) == prefetch_fault::wrong_time);
  CHECK(fault([](auto& t) { t.events.pop_back(); }) == prefetch_fault::not_once);
  CHECK(fault([](auto& t) { t.events.push_back(t.events[0]); }) == prefetch_fault::not_once);
  for (auto const task : {prefetch_task::forward, prefetch_task::backward, prefetch_task::store, prefetch_task::update})
    CHECK(fault([&](auto& t) { move(find(t, task, 1), -1); }) == prefetch_fault::too_early);
  CHECK(fault([&](auto& t) { move(find(t, prefetch_task::give_back, 2), -1); }) == prefetch_fault::too_early);
  CHECK(fault([&](auto& t) { move(find(t, prefetch_task::load_forward, 1), -1); }) == prefetch_fault::overlap);
  CHECK(fault([](auto& t) { t.makespan.value += 1; }) == prefetch_fault::wrong_value);
  CHECK(fault([](auto& t) { t.makespan.lower_bound = t.makespan.value + 1; }) == prefetch_fault::wrong_bound);
  auto const narrow = check_prefetch(good, layers, 1);
  CHECK(narrow.fault == prefetch_fault::over_buffers);
  CHECK(narrow.found == 2);
}

TEST_CASE("simulate_prefetch: no layers, and misuse names the entry") {
  using ballast_test::refusal;
  CHECK(simulate_prefetch({}, 3, true) == prefetch_timeline{});
  auto const said = [](layer_list const& layers, std::uint64_t buffers) {
    return refusal([&] { return simulate_prefetch(layers, buffers); });
  };
  CHECK(said({}, 0).find("buffers = 0") != std::string::npos);
  CHECK(said({{}, {.forward = -1}}, 1).find("layers[1].forward = -1") != std::string::npos);
  CHECK(said({{.load = 2}}, 1).find("layers[0].load = 2 of a layer that is not loaded") != std::string::npos);
  CHECK(said({{.loaded = true, .load = std::int64_t{1} << 58}}, 1).find("2^58") != std::string::npos);
}

}  // namespace test_pipeline_prefetch
