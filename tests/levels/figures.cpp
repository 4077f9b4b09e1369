// SPDX-License-Identifier: Apache-2.0
#include <ballast/levels/figures.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/steps.hpp>

#include "levels/suite.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_levels_figures {

using lengths_t = std::vector<std::int64_t>;
using levels_t = std::vector<ballast::level>;
using test_levels::mixed;
using test_levels::two;

TEST_CASE("figures_of: sorting balances attention", "[batching]") {
  auto const packed = ballast::pack_levels(mixed(2, 60000), two);
  std::vector<ballast::level_time> const times{{100, 1000, 1}, {800, 1100, 1}};
  auto const figures = [&](bool balanced) {
    return ballast::figures_of(ballast::steps_by_level(packed, {.devices = 16, .balanced = balanced}, ballast::attention_only),
                               packed.lengths, times);
  };
  CHECK(figures(true).attention_ratio < 0.02);
  CHECK(figures(false).attention_ratio > 0.1);
  CHECK(figures(true).seconds < figures(false).seconds);
  CHECK(figures(true).idle < figures(false).idle);
}

TEST_CASE("figures_of: what the published formulas give", "[batching][published]") {
  // Packs of four 1K and two 2K samples on two ranks: attention 4 and 8, so the ratio is (8 - 4) / (8 * 2) = 0.25.
  levels_t const levels{{4096, 1, 0}, {16384, 2, 0}};
  auto const packed = ballast::pack_levels(lengths_t{1024, 1024, 1024, 1024, 2048, 2048}, levels);
  auto const plan = ballast::steps_by_level(packed, {.devices = 2, .tokens_per_step = 8192}, ballast::attention_only);
  std::vector<ballast::level_time> const times{{0, 1000, 0}, {0, 1000, 0}};
  auto const even = ballast::figures_of(plan, packed.lengths, times);
  CHECK(even.steps == 1);
  CHECK(even.attention_ratio == 0.25);
  CHECK(even.token_ratio == 0);
  CHECK(even.communication_ratio == 0);
  CHECK(even.idle == 0);
  CHECK(even.packs == 2);
  CHECK(even.fill == 1);
  CHECK(even.loads == lengths_t{4096, 4096});
  CHECK(std::fabs(even.seconds - 4096e-9) < 1e-12);
  auto const squares = ballast::figures_of(plan, packed.lengths, std::vector<ballast::level_time>{{0, 0, 1000}, {0, 0, 1000}});
  CHECK(squares.idle == 0.25);
  // A second step in the long level communicates.
  auto const longer = ballast::pack_levels(lengths_t{1024, 1024, 1024, 1024, 2048, 2048, 16384}, levels);
  auto const both = ballast::figures_of(ballast::steps_by_level(longer, {.devices = 2, .tokens_per_step = 8192}, ballast::attention_only),
                                        longer.lengths, times);
  CHECK(both.steps == 2);
  CHECK(both.attention_ratio == 0.125);
  CHECK(both.communication_ratio == 0.5);
  CHECK(both.packs == 3);
  CHECK(both.loads == lengths_t{4096, 4096, 8192, 8192});
  CHECK(even.speedup_over(both) > 2.9);
  CHECK(std::fabs(both.seconds - (4096 + 8192) * 1e-9) < 1e-12);
}

TEST_CASE("figures_of: bad input throws", "[batching]") {
  auto const packed = ballast::pack_levels(lengths_t{1}, two);
  auto const plan = ballast::steps_by_level(packed, {.devices = 8}, ballast::attention_only);
  CHECK(ballast_test::refusal([&] { (void)ballast::figures_of(plan, packed.lengths, {}); }) == "0 times for 2 levels");
}

}  // namespace test_levels_figures
