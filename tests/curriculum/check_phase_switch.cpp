// SPDX-License-Identifier: Apache-2.0
#include <ballast/curriculum/check_phase_switch.hpp>
#include <ballast/curriculum/phase_switch.hpp>

#include "support/catch.hpp"

#include <array>
#include <functional>
#include <vector>

namespace test_curriculum_check_phase_switch {

using namespace ballast;

TEST_CASE("check_phase_switch: each rule is named") {
  std::array const phases{run_phase{.name = "pseudo", .step_time = 10}, run_phase{.name = "real", .step_time = 25}};
  std::vector<linked_tensor> const tensors{{"a", 1000, 4}, {"b", 500, 1}};
  switch_options const options{.steps = 100, .time_budget = 4'501'600, .copy_rate = 1'000'000'000};
  auto const good = plan_phase_switch(phases, tensors, {.steps = 100, .at = 60, .copy_rate = 1'000'000'000});
  switch_options const given{.steps = 100, .at = 60, .copy_rate = 1'000'000'000};
  REQUIRE(check_phase_switch(good, phases, tensors, given).valid());
  auto const fault = [&](std::function<void(switched_run&)> const& change, switch_options const& with) {
    auto bad = good;
    change(bad);
    auto const v = check_phase_switch(bad, phases, tensors, with);
    CHECK(!describe(v).empty());
    return v.fault;
  };
  CHECK(fault([](auto& r) { r.status = status::infeasible; }, given) == switch_fault::needless_refusal);
  CHECK(fault([](auto& r) { r.second_steps = 41; }, given) == switch_fault::wrong_steps);
  CHECK(fault([](auto& r) { r.first_steps = {61, 61}; }, given) == switch_fault::wrong_steps);
  CHECK(fault([](auto& r) { r.copies.pop_back(); }, given) == switch_fault::wrong_copies);
  CHECK(fault([](auto& r) { r.copies[1].copies = 2; }, given) == switch_fault::wrong_copies);
  CHECK(fault([](auto& r) { r.copies[0].divisor += 1; }, given) == switch_fault::wrong_divisor);
  CHECK(fault([](auto& r) { r.copies[0].bytes = 1000; }, given) == switch_fault::wrong_bytes);
  CHECK(fault([](auto& r) { r.copied_bytes -= 1; }, given) == switch_fault::wrong_bytes);
  CHECK(fault([](auto& r) { r.copy_time += 1; }, given) == switch_fault::wrong_time);
  CHECK(fault([](auto&) {}, options) == switch_fault::late_switch);
  auto short_of = options;
  short_of.time_budget = good.time() - 1;
  CHECK(fault([](auto&) {}, short_of) == switch_fault::over_budget);
  auto blocked = phases;
  blocked[1].status = status::infeasible;
  CHECK(check_phase_switch(good, blocked, tensors, given).fault == switch_fault::phase_infeasible);
}

}  // namespace test_curriculum_check_phase_switch
