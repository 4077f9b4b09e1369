// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition/check.hpp>

#include "suite.hpp"

#include <span>

namespace test_partition_check {

using namespace ballast_test;
using ballast::check_partition;
using ballast::staged;

namespace {
numbers const layers{3, 0, 2, 4};
std::string const fine = "valid";

std::string says(cut const& boundaries, partition_options const& o) {
  return describe(check_partition(std::span<std::uint32_t const>(boundaries), layers, o));
}
std::string says(staged<> const& plan, partition_options const& o) { return describe(check_partition(plan, layers, o)); }
staged<> plan_of(cut const& boundaries, std::int64_t value, std::int64_t lower_bound) {
  return {status::feasible, {value, lower_bound}, partition_bound::probe, boundaries};
}
staged<> no_plan(std::int64_t there, std::int64_t needed) { return {status::infeasible, {there, needed}, partition_bound::probe, {}}; }
}  // namespace

TEST_CASE("check_partition: names the first rule that boundaries break, and where") {
  CHECK(says({0, 2, 4}, {.stages = 2}) == fine);
  CHECK(says({0, 4}, {.stages = 2}) == "there are 2 boundaries, not 3");
  CHECK(says({1, 2, 4}, {.stages = 2}) == "boundaries[0] = 1: boundaries must rise from 0 to the number of layers, 4");
  CHECK(says({0, 5, 4}, {.stages = 2}) == "boundaries[1] = 5: boundaries must rise from 0 to the number of layers, 4");
  CHECK(says({0, 3, 2, 4}, {.stages = 3}) == "boundaries[2] = 2: boundaries must rise from 0 to the number of layers, 4");
  CHECK(says({0, 2, 3}, {.stages = 2}) == "boundaries[2] = 3: boundaries must rise from 0 to the number of layers, 4");
  CHECK(says({0, 0, 4}, {.stages = 2}) == "stage 0 has 0 layers, fewer than 1");
  CHECK(says({0, 0, 4}, {.stages = 2, .min_layers = 0}) == fine);
  CHECK(says({0, 1, 2, 4}, {.stages = 3, .min_weighted = 1}) == "stage 1 has 0 layers with a cost above 0, fewer than 1");
  numbers const size{5, 5, 5, 5}, capacity{10, 9};
  CHECK(says({0, 2, 4}, {.stages = 2, .size = size, .capacity = capacity}) == "stage 1 holds 10, more than its capacity 9");
  CHECK(refusal([] { return check_partition(std::span<std::uint32_t const>(), numbers{1, -1}, {.stages = 1}); }) ==
        "layers[1] = -1 has a cost that is negative, not a number or too large for 63 bits");
}

TEST_CASE("check_partition: what a result says of its boundaries must be true") {
  CHECK(says(plan_of({0, 3, 4}, 5, 5), {.stages = 2}) == fine);
  CHECK(says(plan_of({0, 3, 4}, 5, 2), {.stages = 2}) == fine);  // a weak bound is a true one
  CHECK(says(plan_of({0, 3, 4}, 6, 5), {.stages = 2}) == "the value of the certificate is 6, not 5");
  CHECK(says(plan_of({0, 2, 4}, 6, 7), {.stages = 2}) == "the lower bound 7 contradicts 6, the value or the limit");
  CHECK(says(plan_of({0, 2, 4}, 6, 6), {.stages = 2}) == "bottleneck.lower_bound = 6, but some cut costs less");
  CHECK(says(plan_of({0, 1, 4}, 6, 6), {.stages = 2, .min_layers = 3}) == "stage 0 has 1 layer, fewer than 3");
  numbers const speed{2, 1}, transfer{0, 0, 7};
  CHECK(says(plan_of({0, 2, 4}, 6, 6), {.stages = 2, .unit_time = speed}) == fine);
  CHECK(says(plan_of({0, 2, 4}, 6, 6), {.stages = 2, .transfer = transfer}) == fine);
  CHECK(says(plan_of({0, 3, 4}, 12, 6), {.stages = 2, .transfer = transfer}) == fine);

  CHECK(says(no_plan(4, 6), {.stages = 2, .min_layers = 3}) == fine);
  CHECK(says(no_plan(4, 6), {.stages = 2}) == "the result says that there is no plan, but there is one");
  CHECK(says(no_plan(4, 5), {.stages = 2, .limit = 4}) == fine);
  CHECK(says(no_plan(4, 5), {.stages = 2, .limit = 5}) == "the result says that there is no plan, but there is one");
  CHECK(says(no_plan(6, 6), {.stages = 5}) == "the lower bound 6 contradicts 6, the value or the limit");
  auto refused = no_plan(4, 6);
  refused.boundaries = {0, 4};
  CHECK(says(refused, {.stages = 5}) == "the result says that there is no plan, but has 2 boundaries");
}

TEST_CASE("check_partition: of a stage cost, and of virtual stages") {
  auto const cost = [](std::uint64_t b, std::uint64_t e, std::uint64_t s) {
    return s == 0 && e - b > 1 ? ballast::unaffordable : std::int64_t(e - b);
  };
  auto const verdict = [&](staged<> const& plan) { return describe(check_partition(plan, 4, {.stages = 2}, cost)); };
  CHECK(verdict(plan_of({0, 1, 4}, 3, 3)) == fine);
  CHECK(verdict(plan_of({0, 2, 4}, 2, 2)) == "stage 0 holds 9223372036854775807 or more, more than its capacity 9223372036854775806");
  CHECK(verdict(plan_of({0, 1, 4}, 3, 4)) == "the lower bound 4 contradicts 3, the value or the limit");
  CHECK(verdict(no_plan(3, 4)) == "the result says that there is no plan, but there is one");

  auto const chunks = [](staged<> const& plan) { return describe(check_virtual_stages(plan, layers, 2, 2)); };
  CHECK(chunks(plan_of({0, 1, 2, 3, 4}, 5, 5)) == fine);
  CHECK(chunks(plan_of({0, 1, 2, 3, 4}, 4, 4)) == "the value of the certificate is 4, not 5");
  CHECK(chunks(plan_of({0, 1, 2, 4, 4}, 9, 5)) == "stage 3 has 0 layers, fewer than 1");
}

}  // namespace test_partition_check
