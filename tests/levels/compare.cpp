// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/classes.hpp>
#include <ballast/levels/choose.hpp>
#include <ballast/levels/plan.hpp>

#include "levels/suite.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace test_levels_compare {

using namespace ballast;
using namespace test_levels;

TEST_CASE("compare_levels: loads and figures tell the same time", "[plan]") {
  splitmix64 draw(5);
  auto const lengths = mixed_lengths(3000, draw);
  level_options const options{.devices = 16, .micro_batches = 2};
  auto const plan = plan_levels(lengths, three, options);
  auto const usual = compare_levels(lengths, plan, options);
  for (auto const* figures : {&plan.figures, &usual.one_level, &usual.naive}) {
    auto const& f = *figures;
    REQUIRE(f.loads.size() == f.steps * 16);
    double slowest = 0, all = 0;
    for (std::size_t s = 0; s < f.steps; ++s) {
      auto const first = f.loads.begin() + static_cast<std::ptrdiff_t>(s * 16);
      slowest += static_cast<double>(*std::max_element(first, first + 16));
      for (auto at = first; at != first + 16; ++at) all += static_cast<double>(*at);
    }
    CHECK_THAT(slowest / 1e9, Catch::Matchers::WithinRel(f.seconds, 1e-6));
    CHECK_THAT(1 - all / 16 / slowest, Catch::Matchers::WithinAbs(f.idle, 1e-6));
    CHECK(f.fill > 0.5);
    CHECK(f.fill <= 1.0);
  }
  CHECK(usual.one_level.packs == usual.naive.packs);
  CHECK(usual.one_level.seconds < usual.naive.seconds);
  CHECK_THAT(plan.figures.speedup_over(usual.naive), Catch::Matchers::WithinRel(usual.naive.seconds / plan.figures.seconds, 1e-12));
}

TEST_CASE("compare_levels: a step holds as many tokens with one level as with several", "[plan]") {
  splitmix64 draw(8);
  auto const lengths = mixed_lengths(4000, draw, 4096);
  level_options const options{.devices = 16, .micro_batches = 3};
  auto const plan = plan_levels(lengths, timed({{1024, 1, 0}, {4096, 8, 0}}), options);
  auto const usual = compare_levels(lengths, plan, options);
  auto const most = static_cast<std::size_t>(fold(lengths).tokens() / (3 * 16 * 1024));  // the short level has the larger step
  for (auto const* figures : {&plan.figures, &usual.one_level, &usual.naive}) {
    CHECK(figures->steps >= most);
    CHECK(figures->steps <= most + most / 8 + 2);
  }
}

TEST_CASE("compare_levels: the exact choice takes less time than one level, and than any choice made by hand", "[plan]") {
  splitmix64 draw(7);
  auto const lengths = mixed_lengths(20000, draw);
  auto const candidates =
      modelled_levels(cluster_of_16, std::vector<std::int64_t>{2048, 4096, 8192, 16384}, std::vector<std::uint32_t>{1, 2, 4, 8});
  auto const choice = choose_levels(fold(lengths), candidates);
  auto const exact = plan_levels(lengths, choice.levels, {.devices = 16});
  auto const usual = compare_levels(lengths, exact, {.devices = 16});
  CHECK(exact.figures.speedup_over(usual.naive) > 1.0);
  CHECK(exact.figures.seconds <= usual.one_level.seconds);
  CHECK(exact.figures.seconds < plan_levels(lengths, three, {.devices = 16}).figures.seconds);
}

TEST_CASE("compare_levels: plans as plan_levels does with the longest level alone", "[plan]") {
  splitmix64 draw(10);
  auto const lengths = mixed_lengths(2000, draw, 20000);
  for (auto const policy : {oversize::set_aside, oversize::truncate, oversize::split}) {
    level_options const options{.devices = 16, .micro_batches = 4, .oversize = policy, .seed = 2};
    auto const plan = plan_levels(lengths, three, options, attention_only);
    auto const usual = compare_levels(lengths, plan, options, attention_only);
    auto const alone = plan_levels(lengths, std::span(three).last(1), options, attention_only);
    CHECK(usual.one_level.packs == alone.figures.packs);
    CHECK(usual.one_level.fill == alone.figures.fill);
    CHECK(usual.one_level.seconds == alone.figures.seconds);  // 2 ranks of the longest level hold as much as 8 of the second
    CHECK(usual.naive.packs == alone.figures.packs);
    CHECK(usual.naive.seconds > usual.one_level.seconds);
    if (policy == oversize::set_aside) CHECK(alone.packed.set_aside == plan.packed.set_aside);
  }
}

}  // namespace test_levels_compare
