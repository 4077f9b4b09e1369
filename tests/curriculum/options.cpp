// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/curriculum/options.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_curriculum_options {

TEST_CASE("curriculum_plan: a place gives all that a trainer needs") {
  ballast::curriculum_plan const plan{
      .settings = {{16384}, {131072, 8, 29}}, .source = {0, 1, 0}, .index = {4, 2, 0}, .warm_up = 0, .epoch = 3};
  CHECK(plan.size() == 3);
  CHECK(plan.at(1) == ballast::curriculum_step{1, 2, {131072, 8, 29}, 3});
  CHECK(plan.at(2) == ballast::curriculum_step{0, 0, {16384, 1, 0}, 3});
}

TEST_CASE("curriculum_plan: a switch is a change of setting, not of source") {
  ballast::curriculum_plan plan{.settings = {{16384}, {16384}, {131072, 8}}, .source = {0, 1, 1, 2, 0, 1}, .index = {0, 0, 1, 0, 1, 2}};
  CHECK(plan.switches() == 2);
  plan.settings[1].recomputed_layers = 1;
  CHECK(plan.switches() == 4);
  CHECK(ballast::curriculum_plan{}.switches() == 0);
}

TEST_CASE("curriculum_plan: discrepancy is the largest deviation from the share at any point after the warm-up") {
  ballast::splitmix64 draw(31);
  for (std::uint64_t round = 0; round < 400; ++round) {
    ballast::curriculum_plan plan;
    plan.settings.resize(1 + round % 5);
    plan.source.resize(draw() % 30);
    for (auto& s : plan.source) s = static_cast<std::uint32_t>(draw() % plan.settings.size());
    plan.warm_up = draw() % (plan.size() + 1);
    auto const first = plan.source.begin() + static_cast<std::ptrdiff_t>(plan.warm_up);
    auto const all = plan.source.end() - first;
    double most = 0;
    for (std::uint32_t s = 0; s < plan.settings.size(); ++s)
      for (std::ptrdiff_t k = 1; k <= all; ++k) {
        auto const share = static_cast<double>(k * std::count(first, plan.source.end(), s)) / static_cast<double>(all);
        most = (std::max)(most, std::abs(static_cast<double>(std::count(first, first + k, s)) - share));
      }
    REQUIRE(std::abs(plan.discrepancy() - most) < 1e-12);
  }
}

TEST_CASE("hash of a curriculum: source and index of every step") {
  ballast::curriculum_plan const plan{.settings = {{1}, {2}}, .source = {0, 1}, .index = {5, 6}};
  ballast::fnv1a h;
  for (std::uint64_t v : {0U, 5U, 1U, 6U}) h.append(v);
  CHECK(ballast::hash(plan) == h.value());
}

}  // namespace test_curriculum_options
