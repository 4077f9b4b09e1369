// SPDX-License-Identifier: Apache-2.0
#include <ballast/pipeline/check_prefetch.hpp>
#include <ballast/pipeline/prefetch.hpp>

#include "prefetch_suite.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace test_pipeline_check_prefetch {

using namespace ballast;
using layer_list = ballast_test::prefetch_layers;

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

}  // namespace test_pipeline_check_prefetch
