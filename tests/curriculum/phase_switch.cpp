// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/curriculum/check_phase_switch.hpp>
#include <ballast/curriculum/phase_switch.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace test_curriculum_phase_switch {

using namespace ballast;

namespace {

using two_phases = std::array<run_phase, 2>;
using tensor_list = std::vector<linked_tensor>;

[[nodiscard]] two_phases phases_of(std::int64_t first, std::int64_t second) {
  return {run_phase{.name = "pseudo", .step_time = first}, run_phase{.name = "real", .step_time = second}};
}

}  // namespace

TEST_CASE("linked_tensors: parameters and optimiser states of each set, once for each layer that uses it") {
  layer_stack const stack{.layers = 7, .parameters = 10};
  auto const tensors = linked_tensors(stack, shared_parameters(3), {.parameter = 2, .gradient = 4, .optimizer = 12});
  CHECK(tensors == tensor_list{{"parameters of layers 0 to 2", 20, 3, 1},
                               {"master copy of layers 0 to 2", 40, 3, 1},
                               {"first moments of layers 0 to 2", 40, 3, 3},
                               {"second moments of layers 0 to 2", 40, 3, 9},
                               {"parameters of layers 3 to 5", 20, 3, 1},
                               {"master copy of layers 3 to 5", 40, 3, 1},
                               {"first moments of layers 3 to 5", 40, 3, 3},
                               {"second moments of layers 3 to 5", 40, 3, 9},
                               {"parameters of layer 6", 20, 1, 1},
                               {"master copy of layer 6", 40, 1, 1},
                               {"first moments of layer 6", 40, 1, 1},
                               {"second moments of layer 6", 40, 1, 1}});
  std::int64_t copied = 0;
  for (auto const& t : tensors) copied += t.bytes * t.users;
  auto const own = evaluate_stack(stack, own_parameters, 1);
  CHECK(copied == own.states.parameter + own.states.optimizer);  // the second phase lacks nothing but gradients
  auto const momentum = linked_tensors(stack, shared_parameters(7), {.optimizer = 8}, {.first = 4, .second = 0});
  CHECK(momentum == tensor_list{{"parameters of layers 0 to 6", 20, 7, 1},
                                {"master copy of layers 0 to 6", 40, 7, 1},
                                {"first moments of layers 0 to 6", 40, 7, 7}});
  CHECK(linked_tensors(stack, shared_parameters(7), {.optimizer = 0}, {.first = 0, .second = 0}).size() == 1);
  using ballast_test::refusal;
  CHECK(refusal([&] { return linked_tensors(stack, own_parameters, {.optimizer = 4}); }) == "moments.second = 4 must be in [0, 0]");
  CHECK(refusal([&] { return linked_tensors(stack, own_parameters, {}, {.first = -1}); }) == "moments.first = -1 must be in [0, 12]");
}

TEST_CASE("plan_phase_switch: the switch as given") {
  tensor_list const tensors{{"a", 1000, 4, 16}, {"b", 500, 1}};
  auto const run = plan_phase_switch(phases_of(10, 25), tensors, {.steps = 100, .at = 60, .copy_rate = 1'000'000});
  CHECK(run.status == status::feasible);
  CHECK(run.first_steps == certificate{60, 60});
  CHECK(run.second_steps == 40);
  CHECK(run.copy_time == 4'500'000);
  CHECK(run.time() == 600 + 4'500'000 + 1000);
  CHECK(run.copies == std::vector<tensor_copy>{{0, 4, 4000, 16}, {1, 1, 500, 1}});
  CHECK(run.copied_bytes == 4500);
  CHECK(run.least_time == 1000);
  for (std::uint64_t const at : {0U, 100U}) {  // one phase alone copies nothing
    auto const one = plan_phase_switch(phases_of(10, 25), tensors, {.steps = 100, .at = at, .copy_rate = 1'000'000});
    CHECK(one.copies.empty());
    CHECK(one.time() == (at == 0 ? 2500 : 1000));
  }
}

TEST_CASE("plan_phase_switch: within a budget, as few steps of the first phase as an exhaustive search finds") {
  int refused = 0, mixed = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto const number = [&](std::uint64_t below) { return static_cast<std::int64_t>(1 + uniform_below(below, draw)); };
    auto const phases = phases_of(number(9), number(9));
    tensor_list const tensors(static_cast<std::size_t>(uniform_below(3, draw)), {"t", number(40), number(3)});
    switch_options const options{.steps = 1 + uniform_below(20, draw), .time_budget = number(150), .copy_rate = 5'000'000'000};
    auto const run = plan_phase_switch(phases, tensors, options);
    REQUIRE(check_phase_switch(run, phases, tensors, options) == verdict{});
    auto found = false;
    for (std::uint64_t at = 0; at <= options.steps && !found; ++at) {
      auto const fixed = plan_phase_switch(phases, tensors, {.steps = options.steps, .at = at, .copy_rate = options.copy_rate});
      found = fixed.time() <= options.time_budget;
      if (found) REQUIRE(run.first_steps.value == static_cast<std::int64_t>(at));
    }
    REQUIRE(found == (run.status == status::feasible));
    refused += found ? 0 : 1;
    mixed += run.copies.empty() ? 0 : 1;
  }
  CHECK(refused > 100);
  CHECK(mixed > 50);
}

TEST_CASE("plan_phase_switch: both phases must be feasible, even one without steps") {
  auto phases = phases_of(10, 25);
  for (std::size_t p = 0; p < 2; ++p) {
    auto one = phases;
    one[p].status = p == 0 ? status::unknown : status::infeasible;
    auto const run = plan_phase_switch(one, {}, {.steps = 10, .at = p == 0 ? 0U : 10U});
    CHECK(run.status == one[p].status);
    CHECK(run.blocked_by == p);
    CHECK(check_phase_switch(run, one, {}, {.steps = 10}).valid());
  }
}

TEST_CASE("plan_phase_switch: misuse names the entry") {
  using ballast_test::refusal;
  auto const said = [](two_phases const& phases, tensor_list const& tensors, switch_options const& options) {
    return refusal([&] { return plan_phase_switch(phases, tensors, options); });
  };
  auto const phases = phases_of(1, 2);
  CHECK(said(phases_of(0, 2), {}, {.steps = 1}).find("phases[0].step_time = 0") != std::string::npos);
  CHECK(said(phases, {}, {}).find("steps = 0") != std::string::npos);
  CHECK(said(phases, {}, {.steps = 3, .at = 4}).find("at = 4") != std::string::npos);
  CHECK(said(phases, {}, {.steps = 3, .copy_rate = 7}).find("copy_rate = 7") != std::string::npos);
  CHECK(said(phases, {{"a", -1, 1}}, {.steps = 3}).find("tensors[0]") != std::string::npos);
  CHECK(said(phases, {{"a", 1, 1, 0}}, {.steps = 3}).find("divisor = 0 must be positive") != std::string::npos);
  CHECK(said(phases_of(std::int64_t{1} << 50, 1), {}, {.steps = 1'000'000}).find("2^61 ns") != std::string::npos);
}

}  // namespace test_curriculum_phase_switch
