// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/checked.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/plan/recalibration.hpp>

#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <string>

namespace test_plan_recalibration {

using namespace ballast;
using ballast_test::refusal;

TEST_CASE("coefficient_of: the nearest fraction, exact for numbers that are fractions") {
  CHECK(coefficient_of(0) == coefficient{0, 1});
  CHECK(coefficient_of(0.75).times(8) == 6);
  CHECK(coefficient_of(0.75).times(9) == 7);  // rounded up
  CHECK(coefficient_of(3'000'000'000.0).times(3) == 9'000'000'000);
  CHECK(coefficient_of(0.25).times(checked::most) == checked::most / 4 + 1);
  CHECK(coefficient_of(1000).times(checked::most) == checked::most);
  CHECK(coefficient_of(1e-30).times(checked::most) == 0);
  splitmix64 draw(1);
  for (int i = 0; i < 2000; ++i) {
    auto const value = static_cast<double>(draw() >> 11) / static_cast<double>(std::uint64_t{1} << (22 + draw() % 40));
    auto const found = coefficient_of(value);
    auto const number = static_cast<double>(found.numerator) / static_cast<double>(found.denominator);
    CAPTURE(value, number);
    CHECK(found.numerator < std::uint64_t{1} << 32);
    CHECK(((number >= value && number - value <= value / 4294967296.0) || (number < value && value - number <= value / 4294967296.0)));
  }
  CHECK(refusal([] { return coefficient_of(-1); }) == "a coefficient of -1.000000 must be in [0, 2^32)");
  CHECK(refusal([] { return coefficient_of(5e9); }).find("must be in [0, 2^32)") != std::string::npos);
}

TEST_CASE("recalibrated_cost: the sum of its terms, at least 1, and never too large unseen") {
  recalibrated_cost<quadratic_cost, token_cost, causal_pairs> const cost{{{.linear = 100, .quadratic = 1}, {}, {}},
                                                                         {coefficient{}, coefficient_of(2.5), coefficient_of(0.001)}};
  static_assert(bounded_cost_model<decltype(cost)>);
  CHECK(cost(0) == 1);
  CHECK(cost(1000) == 2500 + 501);
  CHECK((cost.fits(1 << 20) && !cost.fits(-1) && !cost.fits(std::int64_t{1} << 40)));
  recalibrated_cost<quadratic_cost> const scaled{{{.linear = 100, .quadratic = 1}}, {coefficient_of(4294967294.0)}};
  CHECK((scaled.fits(20'000) && !scaled.fits(1 << 20)));
  CHECK(recalibrated_cost<ballast_test::smallest_cost>{{ballast_test::smallest_cost(3)}, {coefficient_of(1)}}.fits(7));
}

TEST_CASE("recalibration: options with the fixed times found") {
  recalibration<token_cost> found;
  found.per_micro_batch = 3;
  found.per_step = 4;
  auto const o = found.options_of({.steps = {.capacity = 9, .ranks = 2, .cost_per_step = 1}, .oversize = oversize::split});
  CHECK((o.steps.cost_per_micro_batch == 3 && o.steps.cost_per_step == 4 && o.steps.ranks == 2 && o.oversize == oversize::split));
  CHECK((std::string(to_string(cost_basis::terms)) == "terms" && std::string(to_string(found.basis)) == "scaled"));
}

}  // namespace test_plan_recalibration
