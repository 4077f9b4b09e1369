// SPDX-License-Identifier: Apache-2.0
#include <ballast/levels/figures.hpp>
#include <ballast/methods/hbp.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_methods_hbp {

namespace hbp = ballast::hbp;
using levels_t = std::vector<ballast::level>;

TEST_CASE("hbp: a run trains every sample once, short level first", "[methods]") {
  ballast::splitmix64 draw(1);
  std::vector<std::int64_t> lengths(20000);
  for (auto& l : lengths) {
    auto const is_long = draw() % 200 == 0;
    l = is_long ? ballast_test::between(2049, 16384, draw) : ballast_test::between(16, 900, draw);
  }
  levels_t const levels{{2048, 1, 0}, {16384, 8, 0}};
  auto const plan = hbp::plan_training(lengths, levels, {.devices = 16, .warm_up = 50});
  std::vector<int> stands(lengths.size(), 0);
  std::size_t short_ones = 0;
  for (std::size_t k = 0; k < plan.order.size(); ++k) {
    auto const step = plan.order.at(k);
    auto const& steps = plan.steps.steps[step.source];
    if (k < 50) CHECK(step.setting == levels[0]);
    short_ones += step.setting == levels[0] ? 1U : 0U;
    for (auto const pack : steps.packs_of(step.index))
      for (auto m : pack) ++stands[m];
  }
  CHECK(std::count(stands.begin(), stands.end(), 1) == static_cast<std::ptrdiff_t>(stands.size()));
  CHECK(plan.order.size() == plan.steps.size());
  CHECK(short_ones > 50);
  CHECK(short_ones < plan.order.size());
  std::vector<ballast::level_time> const times{{0, 1000, 1}, {0, 1000, 1}};
  auto const figures = ballast::figures_of(plan.steps, plan.packed.lengths, times);
  auto const random = hbp::plan_training(lengths, levels, {.devices = 16, .balanced = false, .warm_up = 50});
  CHECK(figures.attention_ratio < 0.03);
  CHECK(figures.attention_ratio < 0.1 * ballast::figures_of(random.steps, random.packed.lengths, times).attention_ratio);
  CHECK(hbp::plan_training(lengths, levels, {.devices = 16, .warm_up = 50}).order == plan.order);
}

}  // namespace test_methods_hbp
