// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition/virtual_stages.hpp>

#include "suite.hpp"

namespace test_partition_virtual_stages {

using namespace ballast_test;
using ballast::virtual_stages;

namespace {
/// The least load of the most expensive device over every cut into chunks.
std::int64_t least_device_load(chain_case const& chunks, std::uint64_t devices) {
  auto least = ballast::unaffordable;
  for (auto const& w : every_cut(chunks)) {
    numbers load(static_cast<std::size_t>(devices));
    for (std::size_t c = 0; c + 1 < w.boundaries.size(); ++c)
      for (std::size_t i = w.boundaries[c]; i < w.boundaries[c + 1]; ++i) load[c % load.size()] += chunks.layers[i];
    least = (std::min)(least, *std::max_element(load.begin(), load.end()));
  }
  return least;
}
}  // namespace

TEST_CASE("virtual_stages: valid, between its bound and every other plan, and mostly the best") {
  int cases = 0, best = 0, proven = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto c = random_chain_case(seed, nothing, 11, 1);
    auto const devices = 1 + ballast::uniform_below(3, draw);
    auto const chunks = 1 + ballast::uniform_below(2, draw);
    c.stages = devices * chunks;
    c.min_layers = ballast::uniform_below(2, draw);
    auto const plan = virtual_stages(c.layers, {.devices = devices, .chunks = chunks, .min_layers = c.min_layers, .work = 4000});
    require_valid(check_virtual_stages(plan, c.layers, devices, chunks, c.min_layers));
    if (plan.status != status::feasible) {
      REQUIRE(c.layers.size() < c.stages * c.min_layers);
      continue;
    }
    auto const least = least_device_load(c, devices);
    REQUIRE(plan.bottleneck.lower_bound <= least);
    REQUIRE(plan.bottleneck.value >= least);
    if (chunks == 1) REQUIRE((plan.bottleneck.value == least && plan.bottleneck.optimal()));
    ++cases;
    best += plan.bottleneck.value == least ? 1 : 0;
    proven += plan.bottleneck.optimal() ? 1 : 0;
  }
  CHECK(best * 100 >= cases * 97);
  CHECK(proven * 2 > cases);
}

TEST_CASE("virtual_stages: more work is never worse, the same seed gives the same plan") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    auto const c = random_chain_case(seed, nothing, 120, 1);
    auto last = ballast::unaffordable;
    for (std::uint64_t const work : {0U, 50U, 1000U, 20000U}) {
      ballast::virtual_stage_options const o{.devices = 4, .chunks = 3, .work = work, .seed = seed};
      auto const plan = virtual_stages(c.layers, o);
      require_valid(check_virtual_stages(plan, c.layers, 4, 3));
      if (plan.status != status::feasible) break;
      REQUIRE(plan.bottleneck.value <= last);
      last = plan.bottleneck.value;
      REQUIRE(virtual_stages(c.layers, o).boundaries == plan.boundaries);
    }
  }
}

TEST_CASE("virtual_stages: long chains come within a few percent of the bound") {
  double gaps = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    numbers layers(97);
    for (auto& x : layers) {
      x = between(1, 1000, draw);
      x *= between(1, 1000, draw);
    }
    auto const plan = virtual_stages(layers, {.devices = 8, .chunks = 2, .work = 5000});
    require_valid(check_virtual_stages(plan, layers, 8, 2));
    gaps += plan.bottleneck.gap();
  }
  CHECK(gaps / 40 < 0.026);
}

TEST_CASE("virtual_stages: corners and refusals") {
  CHECK(virtual_stages(numbers{}, {.devices = 2, .chunks = 2, .min_layers = 0}).boundaries == cut{0, 0, 0, 0, 0});
  auto const few = virtual_stages(numbers{1, 1, 1}, {.devices = 2, .chunks = 2});
  CHECK((few.status == status::infeasible && few.bound == partition_bound::min_layers && few.bottleneck == ballast::certificate{3, 4}));
  auto const company = virtual_stages(numbers{9, 2, 2, 2}, {.devices = 2, .chunks = 2});
  CHECK((company.bottleneck == ballast::certificate{11, 11} && company.bound == partition_bound::company));
  auto const says = [](ballast::virtual_stage_options const& o) { return refusal([&] { return virtual_stages(numbers{1}, o); }); };
  CHECK(says({.devices = 0, .chunks = 1}) == "devices = 0 and chunks = 1 must be positive, with a product of at most 2^31");
  CHECK(says({.devices = std::uint64_t{1} << 31, .chunks = 2}) ==
        "devices = 2147483648 and chunks = 2 must be positive, with a product of at most 2^31");
  CHECK(refusal([] { return virtual_stages(numbers{-1}, {.devices = 1, .chunks = 1}); }) ==
        "layers[0] = -1 has a cost that is negative, not a number or too large for 63 bits");
}

}  // namespace test_partition_virtual_stages
