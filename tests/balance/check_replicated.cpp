// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/check_replicated.hpp>

#include "replicated_plan.hpp"
#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace test_balance_check_replicated {

namespace {
using namespace ballast;
using ballast_test::plan_of;
using rows = std::vector<std::int64_t>;
}  // namespace

TEST_CASE("check_replicated: names the first broken rule") {
  rows const loads{6, 4, 2, 2};
  replication_options const options{.ranks = 4, .slots = 8, .nodes = 2, .groups = 2};
  auto const good = plan_of({0, 1, 0, 1, 2, 3, 2, 3}, loads, options);
  REQUIRE(check_replicated(good, loads, options).valid());
  auto const fault = [&](auto change, replication_options const& by) {
    auto bad = good;
    change(bad);
    return describe(check_replicated(bad, loads, by));
  };
  auto const slots = [&](std::vector<std::uint32_t> const& held, bool may_share = false) {
    auto by = options;
    by.may_share = may_share;
    return describe(check_replicated(plan_of(held, loads, by), loads, by));
  };
  CHECK(fault([](auto& p) { p.expert_of.pop_back(); }, options) == "there are 7 slots, not 8");
  CHECK(fault([](auto& p) { p.expert_of[5] = 4; }, options) == "expert_of[5] = 4 must be below 4");
  CHECK(slots({0, 0, 0, 0, 2, 3, 2, 3}) == "expert 1 has no copy");
  CHECK(fault([](auto& p) { p.copies[2] = 1; }, options) == "copies[2] = 1, but the slots hold 2");
  CHECK(fault([](auto& p) { p.copies.clear(); }, options) == "copies[0] = 0, but the slots hold 2");
  CHECK(slots({0, 0, 1, 1, 2, 3, 2, 3}) == "rank 0 has two copies of expert 0");
  CHECK(slots({0, 0, 1, 1, 2, 3, 2, 3}, true) == "valid");
  CHECK(slots({0, 1, 0, 2, 1, 3, 2, 3}) == "group 0 is on node 1 and on node 0");
  CHECK(fault([](auto& p) { p.loads[3] += 1; }, options) == "loads[3] = 1441441, but the copies of the rank have 1441440");
  CHECK(fault([](auto& p) { p.loads.pop_back(); }, options).starts_with("loads[0] = 0, but"));
  CHECK(fault([](auto& p) { p.load.value -= 1; }, options) == "the value of the certificate is 3603599, not 3603600");
  CHECK(fault([](auto& p) { p.between.value += 1; }, options) == "the value of the certificate is 5045041, not 5045040");
  CHECK(fault([](auto& p) { p.load.lower_bound = p.load.value + 1; }, options) ==
        "the lower bound 3603601 contradicts 3603600, the value or the limit");
  CHECK(fault([](auto& p) { p.between.lower_bound = p.between.value + 1; }, options) ==
        "the lower bound 5045041 contradicts 5045040, the value or the limit");
}

}  // namespace test_balance_check_replicated
