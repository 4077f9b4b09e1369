// SPDX-License-Identifier: Apache-2.0
#include <ballast/attention/check_attention_tasks.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_attention_check_attention_tasks {

using namespace ballast;
using fault = attention_fault;

namespace {

/// Two samples of 8 and 3 queries on server 0 of 2; two queries off each end of the first are on server 1.
std::vector<attention_task<>> const given{{0, 0, 0, 8, 0, 0}, {1, 0, 0, 3, 0, 0}};
water_filling_options const options{.servers = 2, .query_bytes = 10, .key_value_bytes = 3, .multiple = 2};
attention_plan<> sound() {
  attention_plan<> plan;
  plan.server_offsets = {0, 2, 3};
  plan.tasks = {{0, 0, 2, 6, 0, 0}, {1, 0, 0, 3, 0, 0}, {0, 0, 0, 2, 6, 8}};
  plan.loads = {18 + 6, 18};
  plan.bytes_moved = 4 * 10 + 8 * 3;
  plan.moves = 1;
  plan.load = {24, 21};
  return plan;
}
template <class Change>
verdict after(Change change) {
  auto plan = sound();
  change(plan);
  return check_attention_tasks(plan, given, options);
}

}  // namespace

TEST_CASE("check_attention_tasks: a sound plan, and each rule broken") {
  CHECK(check_attention_tasks(sound(), given, options).valid());
  CHECK(after([](auto& p) { p.server_offsets.pop_back(); }).fault == fault::wrong_server_count);
  CHECK(after([](auto& p) { p.server_offsets = {0, 4, 3}; }).fault == fault::bad_offsets);
  CHECK(after([](auto& p) { p.loads.push_back(0); }).fault == fault::wrong_server_count);
  CHECK(after([](auto& p) { p.tasks[0].end = 2; }) == verdict{fault::bad_task, 0, 0, 0});
  CHECK(after([](auto& p) { p.tasks[2].tail_begin = 1; }) == verdict{fault::bad_task, 2, 0, 0});
  CHECK(after([](auto& p) { p.tasks[1].sample = 2; }).fault == fault::query_missing);
  CHECK(after([](auto& p) { p.tasks[1].end = 4; }).fault == fault::unknown_query);
  CHECK(after([](auto& p) { p.tasks[1].home = 1; }) == verdict{fault::wrong_home, 1, 1, 0});
  CHECK(after([](auto& p) { p.tasks[0].begin = 1; }) == verdict{fault::query_twice, 0, 1, 0});
  CHECK(after([](auto& p) { p.tasks[0].begin = 3; }) == verdict{fault::query_missing, 0, 2, 0});
  CHECK(after([](auto& p) { p.tasks[1].end = 2; }) == verdict{fault::query_missing, 1, 2, 0});
  CHECK(after([](auto& p) {
          p.tasks[0] = {0, 0, 1, 6, 0, 0};
          p.tasks[2] = {0, 0, 0, 1, 6, 8};
        }) == verdict{fault::second_rest, 0, 2, 1});
  CHECK(after([](auto& p) { p.loads[1] = 17; }) == verdict{fault::wrong_load, 1, 17, 18});
  CHECK(after([](auto& p) { p.moves = 2; }) == verdict{fault::wrong_movement, 0, 2, 1});
  CHECK(after([](auto& p) { ++p.bytes_moved; }) == verdict{fault::wrong_movement, 0, 65, 64});
  CHECK(after([](auto& p) { p.load.value = 23; }) == verdict{fault::wrong_value, 0, 23, 24});
  CHECK(after([](auto& p) { p.load.lower_bound = 22; }) == verdict{fault::wrong_bound, 0, 22, 21});
}

TEST_CASE("check_attention_tasks: a task must be part of one given task") {
  std::vector<attention_task<>> const two{{0, 0, 0, 4, 0, 0}, {0, 1, 4, 8, 0, 0}};
  attention_plan<> plan;
  plan.server_offsets = {0, 1, 1};
  plan.tasks = {{0, 0, 0, 8, 0, 0}};
  plan.loads = {36, 0};
  plan.load = {36, 18};
  CHECK(check_attention_tasks(plan, two, options).fault == fault::unknown_query);
  plan.tasks = {{0, 0, 0, 4, 4, 8}};
  CHECK(check_attention_tasks(plan, two, options).fault == fault::unknown_query);
  plan.server_offsets = {0, 1, 2};
  plan.tasks = {{0, 0, 0, 4, 0, 0}, {0, 1, 4, 8, 0, 0}};
  plan.loads = {10, 26};
  plan.load = {26, 18};
  CHECK(check_attention_tasks(plan, two, options).valid());
}

TEST_CASE("check_attention_tasks: options and tasks out of range are refused") {
  auto const says = [](std::int64_t end, water_filling_options const& o) {
    return ballast_test::refusal([&] { return check_attention_tasks(attention_plan<>{}, {{0, 0, 0, end, 0, 0}}, o); });
  };
  CHECK(says(8, {.servers = 0, .query_bytes = 1, .key_value_bytes = 1}) == "servers = 0 must be in 1 ... 2^20 - 1");
  CHECK(says(8, {.servers = 1, .query_bytes = 1, .key_value_bytes = 1, .multiple = 0}) == "multiple = 0 must be in 1 ... 2^24 - 1");
  CHECK(says(std::int64_t{1} << 31, {.servers = 1, .query_bytes = 1, .key_value_bytes = 1}) ==
        "tasks[0] ends at key 2147483648, 2^31 or more");
}

}  // namespace test_attention_check_attention_tasks
