// SPDX-License-Identifier: Apache-2.0
#include <ballast/weights/check.hpp>
#include <ballast/weights/plan_layouts.hpp>

#include "support/catch.hpp"
#include "support/layout_blocks.hpp"

#include <cstdint>

namespace test_weights_check {

using namespace ballast;

TEST_CASE("check_layouts: each rule is found broken, with its place") {
  using broken = weight_layout_fault;
  auto const h = 64;
  layout_chain const chain{
      {ballast_test::plain_layer(h, 4), {{.name = "head", .weights = {{.in = h, .out = h}}, .width = h, .makes = h, .kept = h}}},
      {{0, 3}, {1, 1}}};
  auto options = ballast_test::plain_devices(4, 256);
  options.sequence = options.batch = options.replicate = false;
  auto const good = plan_layouts(chain, options);
  REQUIRE(good.runs.size() == 2);
  REQUIRE(check_layouts(chain, good, options).valid());
  auto const fault = [&](auto&& change) {
    auto plan = good;
    change(plan);
    auto const v = check_layouts(chain, plan, options);
    CHECK_FALSE(describe(v).empty());
    return v;
  };
  using verdict_of = verdict;
  CHECK(fault([](auto& p) { p.status = status::infeasible; }) == verdict_of{broken::runs_without_plan, 0, 2, 0});
  CHECK(fault([](auto& p) { p.runs[0].count = 2; }) == verdict_of{broken::wrong_chain, 2, 1, 0});
  CHECK(fault([](auto& p) { p.runs.pop_back(); }) == verdict_of{broken::wrong_chain, 3, -1, 1});
  CHECK(fault([](auto& p) { p.runs[1].count = 2; }) == verdict_of{broken::wrong_chain, 4, 1, 0});
  CHECK(fault([](auto& p) { p.runs[1].block = 9; }) == verdict_of{broken::wrong_chain, 3, 9, 0});
  CHECK(fault([](auto& p) { p.layouts[0].exit = activation_layout::batch; }) == verdict_of{broken::broken_border, 0, 0, 0});
  CHECK(fault([](auto& p) { p.layouts[1].entry = activation_layout::batch; }) == verdict_of{broken::broken_border, 1, 0, 0});
  CHECK(fault([](auto& p) { p.layouts[0].operators.pop_back(); }).fault == broken::illegal_layouts);
  CHECK(fault([](auto& p) { p.layouts[0].operators[2].weights[0].layout = weight_layout::replicated; }) ==
        verdict_of{broken::illegal_layouts, 0, 2, 0});
  CHECK(fault([](auto& p) { p.layouts[0].operators[1].reads = activation_layout::batch; }) == verdict_of{broken::illegal_layouts, 0, 1, 0});
  CHECK(fault([](auto& p) { p.layouts[0].operators[0].residual = activation_layout::sequence; }) ==
        verdict_of{broken::illegal_layouts, 0, 0, 0});
  // Legal, but not what was planned: the time says so.
  auto const other = fault([](auto& p) {
    auto& w = p.layouts[0].operators[3].weights[0];
    w = {weight_layout::rows, activation_layout::hidden};
    p.layouts[0].operators[3].makes = activation_layout::partial;
  });
  CHECK(other.fault == broken::wrong_time);
  CHECK(other.found == good.layouts[0].time);
  CHECK(other.expected > other.found);
  CHECK(fault([](auto& p) { ++p.layouts[1].bytes; }).fault == broken::wrong_bytes);
  CHECK(fault([](auto& p) { --p.time.value; }) == verdict_of{broken::wrong_time, 2, good.time.value - 1, good.time.value});
  CHECK(fault([](auto& p) { --p.bytes; }) == verdict_of{broken::wrong_bytes, 2, good.bytes - 1, good.bytes});
  CHECK(fault([](auto& p) { ++p.time.lower_bound; }) == verdict_of{broken::wrong_bound, 0, good.time.value + 1, good.time.value});
  auto tight = options;
  tight.memory = good.bytes - 1;
  CHECK(check_layouts(chain, good, tight) == verdict_of{broken::over_memory, 0, good.bytes, good.bytes - 1});
  tight = options;
  tight.split = false;
  CHECK(check_layouts(chain, good, tight) == verdict_of{broken::illegal_layouts, 0, 0, 0});
  CHECK(describe(verdict_of{}) == "valid");
}

}  // namespace test_weights_check
