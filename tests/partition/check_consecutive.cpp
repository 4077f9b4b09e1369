// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition/check_consecutive.hpp>
#include <ballast/partition/consecutive_micro_batches.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <vector>

namespace test_partition_check_consecutive {

using ballast::consecutive_fault;
using ballast::consecutive_options;
using ballast::status;

TEST_CASE("check_consecutive: names the first broken rule", "[partition][check_consecutive]") {
  std::vector<std::int64_t> const lengths{9, 5, 5, 2, 1};
  auto const cost = [&](std::uint64_t i, std::uint64_t j) { return static_cast<std::int64_t>(j - i) * lengths[i]; };
  consecutive_options const o{.capacity = 10, .slowest_weight = 3};
  auto const good = ballast::consecutive_micro_batches(5, o, cost, cost);
  auto const fault_of = [&](auto change) {
    auto plan = good;
    change(plan);
    return check_consecutive(plan, 5, o, cost, cost).fault;
  };
  CHECK(fault_of([](auto&) {}) == consecutive_fault::none);
  CHECK(fault_of([](auto& p) { p.status = status::infeasible; }) == consecutive_fault::plan_refused);
  CHECK(fault_of([](auto& p) { p.status = status::infeasible, p.boundaries.clear(); }) == consecutive_fault::plan_refused);
  CHECK(fault_of([](auto& p) { p.boundaries.front() = 1; }) == consecutive_fault::wrong_boundaries);
  CHECK(fault_of([](auto& p) { p.boundaries.back() = 4; }) == consecutive_fault::wrong_boundaries);
  CHECK(fault_of([](auto& p) { p.boundaries[1] = 0; }) == consecutive_fault::wrong_boundaries);
  CHECK(fault_of([](auto& p) { p.boundaries = {0, 2, 5}; }) == consecutive_fault::overfull);
  CHECK(fault_of([](auto& p) { ++p.slowest; }) == consecutive_fault::wrong_slowest);
  CHECK(fault_of([](auto& p) { ++p.sum; }) == consecutive_fault::wrong_sum);
  CHECK(fault_of([](auto& p) { ++p.objective.value; }) == consecutive_fault::wrong_value);
  CHECK(fault_of([](auto& p) { ++p.objective.lower_bound; }) == consecutive_fault::wrong_bound);
  auto plan = good;
  plan.boundaries = {0, 2, 5};
  CHECK(describe(check_consecutive(plan, 5, o, cost, cost)) == "micro-batch 0 holds 18, more than the capacity 10");
  CHECK(describe(check_consecutive(good, 5, o, cost, cost)) == "valid");
}

}  // namespace test_partition_check_consecutive
