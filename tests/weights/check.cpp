// SPDX-License-Identifier: Apache-2.0
#include <ballast/weights/check.hpp>
#include <ballast/weights/plan_layouts.hpp>

#include "support/catch.hpp"
#include "support/layout_blocks.hpp"

#include <algorithm>
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

TEST_CASE("exchanges_of: a layer of Megatron's plan exchanges four sums, and what is listed is what takes time") {
  std::int64_t const h = 64, tokens = 256;
  auto options = ballast_test::plain_devices(4, tokens);
  options.sequence = options.batch = options.replicate = false;
  layout_chain const chain{{ballast_test::plain_layer(h, 4)}, {{0, 1}}};
  auto const plan = plan_layouts(chain, options);
  REQUIRE(plan.layouts.size() == 1);
  auto const listed = exchanges_of(chain.blocks[0], plan.layouts[0], options);
  REQUIRE(listed.size() == 4);
  for (auto const& e : listed) {
    CHECK(e.how == collective::all_reduce);
    CHECK(e.bytes == tokens * h * options.element_bytes);
    CHECK(e.ranks == 4);
  }
  CHECK(std::count_if(listed.begin(), listed.end(), [](auto const& e) { return e.pass == exchange_pass::forward; }) == 2);
  auto spoilt = plan.layouts[0];
  spoilt.operators.pop_back();
  CHECK(exchanges_of(chain.blocks[0], spoilt, options).empty());

  // Any layouts, also with groups that each have tokens of their own: without the exchanges, a step takes as much less as these do.
  for (auto const memory : {std::int64_t{0}, std::int64_t{1} << 60})
    for (auto const data : {1, 3}) {
      auto on = ballast_test::plain_devices(4, tokens);
      on.data = data;
      on.passes = 2;
      on.sequences = 8;
      auto const shortage = plan_layouts(chain,
                                         [&] {
                                           auto o = on;
                                           o.memory = memory;
                                           return o;
                                         }())
                                .shortage;
      on.memory = memory + shortage;
      auto const made = plan_layouts(chain, on);
      REQUIRE(made.layouts.size() == 1);
      auto idle = on;
      idle.flops_per_s = std::int64_t{1} << 60;
      idle.hidden = {.tensor = 1000, .expert = 1000, .gradient = 1000};
      auto busy = idle;
      busy.hidden = {};
      std::int64_t sum = 0;
      for (auto const& e : exchanges_of(chain.blocks[0], made.layouts[0], on))
        sum +=
            collective_time(e.how, e.bytes, {e.ranks, e.pass == exchange_pass::gradients && e.ranks == data ? on.devices : 1}, on.links) *
            (e.pass == exchange_pass::gradients ? 1 : on.passes);
      CHECK((memory > 0 || sum > 0));
      CHECK(cost_of_layouts(chain.blocks[0], made.layouts[0], busy).time.value -
                cost_of_layouts(chain.blocks[0], made.layouts[0], idle).time.value ==
            sum);
    }
}

}  // namespace test_weights_check
