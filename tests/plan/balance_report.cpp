// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/balance_report.hpp>

#include <ballast/batching/bounds.hpp>
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/plan/export/describe.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_plan_balance_report {

namespace {
using namespace ballast;
bool holds(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }
}  // namespace

TEST_CASE("report_balance: names the samples that cost more than a mean rank, the worst first") {
  std::vector<std::int64_t> const lengths{9, 1, 5, 5, 8, 2};
  groups<> const packs{{0, 1, 2, 3, 4, 5, 6}, {0, 1, 2, 3, 4, 5}};
  batching_options const o{.capacity = 10, .ranks = 2};
  quadratic_cost const square{.linear = 0, .quadratic = 1};
  auto const samples = weigh(lengths, o, square);
  auto const plan = deal_steps(packs, samples, o, {.how = dealing::in_order});  // 81 + 1, 25 + 25, 64 + 4
  auto const limits = report_balance(plan, samples, o);
  CHECK(limits.dominated == 2);
  REQUIRE(limits.samples.size() == 2);
  CHECK((limits.samples[0].sample == 0 && limits.samples[0].step == 0 && limits.samples[0].tokens == 9));
  CHECK((limits.samples[1].sample == 4 && limits.samples[1].step == 2));
  CHECK((limits.samples[0].times_mean > 81.0 / 41 - 1e-9 && limits.samples[0].times_mean < 81.0 / 41 + 1e-9));
  CHECK(limits.bound == steps_lower_bound(samples, o));
  CHECK(limits.slowest_over_mean == 1.06);  // two steps: 81, and the 25 of what does not fit beside it; over 100
  CHECK(report_balance(plan, samples, o, 1).samples.size() == 1);
  // the most expensive one costs 81 where a full rank costs 10 * 200 / 30: 1.215 of it; 1.35 ranks' worth at 0.9
  CHECK(limits.micro_batches == 2);

  auto const text = describe(limits, plan);
  REQUIRE(text.size() == 4);
  CHECK(holds(text[0], "the slowest ranks take 70.00 % more than the mean; no plan"));  // 81 + 25 + 64 over 100
  CHECK(holds(text[1], "In 2 of 3 steps"));
  CHECK(holds(text[2], "sample 0 of 9 tokens, which costs 1.98 times the mean rank of step 0"));
  CHECK(holds(text[3], "1.22 of a rank's full mean step"));
  CHECK(holds(text[3], "with 2 micro-batches on each rank"));
}

TEST_CASE("report_balance: a balanced plan is limited by its mean") {
  std::vector<int> const lengths(8, 5);
  batching_options const o{.capacity = 10, .ranks = 2};
  auto const samples = weigh(lengths, o, dense_4096_cost);
  auto const plan = deal_steps(groups<>{{0, 2, 4, 6, 8}, {0, 1, 2, 3, 4, 5, 6, 7}}, samples, o, {.how = dealing::in_order});
  auto const limits = report_balance(plan, samples, o);
  CHECK((limits.dominated == 0 && limits.samples.empty() && limits.micro_batches == 1));
  CHECK(limits.bound == plan.slowest.value);
  CHECK(limits.slowest_over_mean == 1.0);
  auto const text = describe(limits, plan);
  REQUIRE(text.size() == 3);
  CHECK(text[0] == "In this plan the slowest ranks take 0.00 % more than the mean.");
  CHECK(holds(text[2], "0.50 of a rank's full mean step (cost ratio): random steps can be balanced."));
  CHECK(describe(balance_report<>{}, batching<>{}).empty());
}

}  // namespace test_plan_balance_report
