// SPDX-License-Identifier: Apache-2.0
#include <ballast/staging/check.hpp>
#include <ballast/staging/joint.hpp>

#include "suite.hpp"
#include "support/catch.hpp"
#include "support/verdicts.hpp"

#include <cstdint>
#include <vector>

namespace test_staging_check {

using namespace ballast;
using namespace ballast_test;

TEST_CASE("least_stage_bottleneck: the programme agrees with trying everything") {
  for (std::uint64_t seed = 5000; seed < 5600; ++seed) {
    CAPTURE(seed);
    auto const c = random_staging_case(seed, 7, 4);
    REQUIRE(least_stage_bottleneck(fold_layers(c.layers), c.options()) == try_all(c));
  }
}

TEST_CASE("check_stages: every broken rule is named, with its place") {
  std::vector<stage_layer> const layers(4, {.time = 30, .state = 10, .working = 6, .options = {{.memory = 10}, {.memory = 4, .time = 10}}});
  std::vector<std::int64_t> const capacity{41, 65};
  std::vector<std::uint64_t> const in_flight{2, 1};
  staging_options const options{.stages = 2, .capacity = capacity, .in_flight = in_flight};
  auto const chain = fold_layers(layers);
  auto const good = plan_stages(chain, options);
  auto const after = [&](auto const& spoil) {
    auto plan = good;
    spoil(plan);
    return ballast_test::place_of(prove_stages(plan, chain, options));
  };
  using f = staging_fault;
  CHECK(after([](auto&) {}) == verdict{});
  CHECK(after([](auto& p) { p.partition.status = status::infeasible; }) == verdict{f::plan_refused, 0});
  CHECK(after([](auto& p) { p.option.pop_back(); }) == verdict{f::wrong_size, 0});
  CHECK(after([](auto& p) { p.figures.pop_back(); }) == verdict{f::wrong_size, 0});
  CHECK(after([](auto& p) { p.partition.boundaries[1] = 5; }) == verdict{f::bad_boundaries, 1});
  CHECK(after([](auto& p) { p.partition.boundaries[0] = 1; }) == verdict{f::bad_boundaries, 0});
  CHECK(after([](auto& p) { p.partition.boundaries[2] = 3; }) == verdict{f::bad_boundaries, 2});
  CHECK(after([](auto& p) { p.partition.boundaries[1] = 0; }) == verdict{f::too_few_layers, 0});
  CHECK(after([](auto& p) { p.option[2] = 2; }) == verdict{f::bad_option, 2});
  CHECK(after([](auto& p) { p.option[3] = 0; }) == verdict{f::over_capacity, 1});
  CHECK(after([](auto& p) { p.partition.boundaries[1] = 2; }) == verdict{f::over_capacity, 0});
  CHECK(after([](auto& p) { p.figures[1].activations += 1; }) == verdict{f::wrong_figures, 1});
  CHECK(after([](auto& p) { p.figures[1].working += 1; }) == verdict{f::wrong_figures, 1});
  CHECK(after([](auto& p) { p.option[2] = 1; }) == verdict{f::wrong_figures, 1});
  CHECK(after([](auto& p) { p.partition.bottleneck.value -= 1; }) == verdict{f::wrong_value, 0});
  CHECK(after([](auto& p) { p.partition.bottleneck.lower_bound += 1; }) == verdict{f::wrong_bound, 0});
  joint_stages<> refused;
  CHECK(prove_stages(refused, chain, options) == verdict{f::needless_refusal, 0});
  CHECK(describe({f::over_capacity, 3}) == "stage 3 holds more than its capacity");

  auto dear = good;  // legal, but not the best, under a bound that claims it is
  dear.option = {1, 1, 1, 1};
  dear.figures = {{.time = 30, .added = 10, .state = 10, .working = 6, .activations = 4, .memory = 24},
                  {.time = 90, .added = 30, .state = 30, .working = 6, .activations = 12, .memory = 48}};
  dear.partition.bottleneck = {120, 120};
  CHECK(check_stages(dear, chain, options).valid());
  CHECK(prove_stages(dear, chain, options) == verdict{f::false_bound, 0});
}

}  // namespace test_staging_check
