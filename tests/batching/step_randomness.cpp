// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/step_randomness.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/shuffled.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/randomness.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_batching_step_randomness {

using namespace ballast_test;
using lengths = std::vector<std::int64_t>;
using options = ballast::batching_options;

namespace {

/// How far thousandths are from a figure, as a share of it.
double off(std::uint64_t thousandths, double figure) {
  return std::fabs(1e-3 * static_cast<double>(thousandths) - figure) / (figure + 0.05);
}

}  // namespace

TEST_CASE("randomness_of: the design effects that drawn orders give, in integers", "[property]") {
  for (int round = 0; round < 12; round += round_step) {
    ballast::splitmix64 draw(9100 + static_cast<std::uint64_t>(round));
    lengths l(4000 + draw() % 8000);
    for (auto& x : l)
      x = round % 3 == 0 ? between(1, 20, draw) : round % 3 == 1 ? between(900, 1100, draw) : between(1, 8, draw) << draw() % 10;
    options const o{.capacity = 8192, .ranks = 1 + draw() % 8};
    auto const packs = ballast::best_fit_shuffled(l, {.capacity = o.capacity, .seed = draw()}).packs;
    for (auto const how : {ballast::dealing::random, ballast::dealing::sorted, ballast::dealing::in_order}) {
      auto const plan = ballast::deal_steps(packs, l, o, ballast::dense_4096_cost, {.how = how});
      if (plan.steps() < 24) continue;
      ballast::groups<std::uint32_t> steps;
      for (std::size_t s = 0; s < plan.steps(); ++s) {
        for (auto const pack : plan.packs_of(s)) steps.members.insert(steps.members.end(), pack.begin(), pack.end());
        steps.offsets.push_back(steps.members.size());
      }
      auto const found = ballast::randomness_of(plan, l);
      auto const drawn = ballast_test::randomness_of(steps, l, 1, 24);
      CAPTURE(round, static_cast<int>(how), plan.steps(), found.design_effect, drawn.design_effect, found.design_effect_8,
              drawn.design_effect_8);
      CHECK(off(found.design_effect, drawn.design_effect) < 0.2);
      CHECK(off(found.design_effect_8, drawn.design_effect_8) < 0.5);
    }
  }
}

TEST_CASE("randomness_of: nothing to tell of equal lengths, of one step, of none; the longest lengths; refusals") {
  options const o{.capacity = 10, .ranks = 2};
  auto const of = [&](lengths const& l, options const& by) {
    auto const packs = ballast::best_fit_shuffled(l, {.capacity = by.capacity}).packs;
    return ballast::randomness_of(ballast::deal_steps(packs, l, by, ballast::token_cost{}), l);
  };
  CHECK(of(lengths(200, 5), o) == ballast::step_randomness{});
  CHECK(of({}, o) == ballast::step_randomness{});
  CHECK(of({1, 2}, o) == ballast::step_randomness{});
  auto const some = of({1, 9, 9, 1, 5, 5, 9, 8}, o);
  CHECK((some.design_effect > 0 && some.design_effect_8 == 0));
  constexpr auto large = std::int64_t{1} << 30;
  CHECK(of({1, large, large - 1, 2, 3}, {.capacity = large}).design_effect > 0);
  ballast::batching<> plan;
  plan.packs.push_back(std::vector<std::uint32_t>{0, 3});
  plan.table = {0};
  plan.ranks = plan.micro_batches = 1;
  CHECK(refusal([&] { return ballast::randomness_of(plan, lengths{1, 2}); }) == "a pack holds sample 3, but there are 2 lengths");
  CHECK(refusal([&] { return ballast::randomness_of(plan, lengths{1, 2, 0, 4}); }) == "lengths[2] = 0 must be positive");
  CHECK(refusal([&] { return ballast::randomness_of(plan, lengths(8, std::int64_t{1} << 31)); }) ==
        "the squares of all lengths may reach 2^63; count tokens in a larger unit");
}

}  // namespace test_batching_step_randomness
