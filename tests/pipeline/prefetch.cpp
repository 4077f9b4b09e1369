// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/pipeline/check_prefetch.hpp>
#include <ballast/pipeline/prefetch.hpp>

#include "prefetch_suite.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test_pipeline_prefetch {

using namespace ballast;

using layer_list = ballast_test::prefetch_layers;

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
    auto const layers = ballast_test::random_prefetch_layers(generator);
    std::int64_t compute = 0, up = 0, down = 0;
    for (auto const& l : layers) {
      compute += l.forward + l.backward;
      up += 2 * l.load + l.give_back;
      down += l.store;
    }
    for (std::uint64_t buffers = 1; buffers <= 5; ++buffers) {
      auto const t = simulate_prefetch(layers, buffers, true);
      REQUIRE(check_prefetch(t, layers, buffers) == verdict{});
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
    auto layers = ballast_test::random_prefetch_layers(generator);
    for (auto& l : layers) l.give_back = 0;
    auto before = simulate_prefetch(layers, 1).makespan.value;
    for (std::uint64_t buffers = 2; buffers <= 20; ++buffers) {
      auto const now = simulate_prefetch(layers, buffers).makespan.value;
      REQUIRE(now <= before);
      before = now;
    }
  }
}

TEST_CASE("prefetch_lower_bound: each resource, with what must come before and after it") {
  CHECK(prefetch_lower_bound({}) == 0);
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3})) == 20);
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3, .loaded = true, .load = 1})) == 21);  // the first load
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3, .loaded = true, .load = 9})) == 75);  // the channel, a pass
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3, .store = 10})) == 8 + 3 + 40);        // from the first pass
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3, .store = 1, .update = 10})) == 8 + 3 + 1 + 40);
  CHECK(prefetch_lower_bound(layer_list(4, {.forward = 2, .backward = 3, .store = 1, .update = 1, .give_back = 10})) == 8 + 3 + 2 + 40);
}

TEST_CASE("prefetch_lower_bound: reached without a limit on buffers where only one channel is used") {
  for (std::uint64_t seed = 0; seed < 1000; seed += ballast_test::round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto layers = ballast_test::random_prefetch_layers(generator);
    for (auto& l : layers) {
      l.update = l.give_back = 0;
      if (seed % 2 == 0) l.store = 0;
    }
    auto const bound = prefetch_lower_bound(layers);
    REQUIRE(simulate_prefetch(layers, 100).makespan == certificate{bound, bound});
  }
}

}  // namespace test_pipeline_prefetch
