// SPDX-License-Identifier: Apache-2.0
#include <ballast/pipeline/order.hpp>

#include "suite.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace test_pipeline_order {

using namespace ballast_test;
using namespace ballast;

namespace {

/// One stage's tasks: F, B (whole), b (input part) with the micro-batch; chunks behind the first in brackets.
std::string line(pipeline_order const& order, std::size_t stage) {
  std::string out;
  for (auto i = order.offsets[stage]; i < order.offsets[stage + 1]; ++i) {
    auto const t = order.tasks[i];
    auto const one = std::string(1, "FBbW"[static_cast<int>(t.pass)]) + std::to_string(t.micro_batch);
    out += (out.empty() ? "" : " ") + (t.virtual_stage >= order.stages() ? "[" + one + "]" : one);
  }
  return out;
}

}  // namespace

TEST_CASE("order_of: the published orders, small") {
  CHECK(line(order_of(gpipe_schedule{}, 2, 3), 1) == "F0 F1 F2 B2 B1 B0");
  auto const one = order_of(one_f_one_b_schedule{}, 3, 4);
  CHECK(line(one, 0) == "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(line(one, 2) == "F0 B0 F1 B1 F2 B2 F3 B3");
  CHECK(line(order_of(one_f_one_b_schedule{}, 4, 2), 0) == "F0 F1 B0 B1");
  auto const two = order_of(interleaved_schedule{}, 2, 4);
  CHECK(line(two, 0) == "F0 F1 [F0] [F1] F2 [B0] F3 [B1] [F2] B0 [F3] B1 [B2] [B3] B2 B3");
  CHECK(line(two, 1) == "F0 F1 [F0] [B0] [F1] [B1] F2 B0 F3 B1 [F2] [B2] [F3] [B3] B2 B3");
  CHECK(line(order_of(zb1p_schedule{}, 3, 4), 1) == "F0 F1 b0 F2 b1 F3 b2 b3");
  CHECK(line(order_of(zb2p_schedule{}, 3, 6), 0) == "F0 F1 F2 F3 F4 b0 F5 b1 b2 b3 b4 b5");
  auto const v = order_of(zbv_schedule{}, 2, 3);
  CHECK(line(v, 0) == "F0 F1 F2 [F0] [b0] [F1] [b1] b0 [F2] [b2] b1 b2");
  CHECK(line(v, 1) == "F0 [F0] F1 [F1] [b0] F2 b0 [F2] [b1] b1 [b2] b2");
  CHECK(line(order_of(zbv_schedule{}, 2, 1), 1) == "F0 [F0] [b0] b0");
}

TEST_CASE("order_of: every forward and backward once, on its stage, held counts where weight parts fill") {
  for (std::uint64_t number = 0; number < 6; ++number)
    for (std::uint64_t stages = 1; stages <= 6; ++stages)
      for (std::uint64_t micro_batches = 1; micro_batches <= 13; ++micro_batches) {
        auto const schedule = schedule_number(number);
        if (number == 2 && micro_batches % stages != 0) continue;
        CAPTURE(number, stages, micro_batches);
        auto const order = order_of(schedule, stages, micro_batches);
        std::vector<int> forwards(order.stage_of.size() * micro_batches), backwards = forwards;
        for (std::size_t s = 0; s < order.stages(); ++s)
          for (auto i = order.offsets[s]; i < order.offsets[s + 1]; ++i) {
            auto const t = order.tasks[i];
            REQUIRE(order.stage_of[t.virtual_stage] == s);
            ++(t.pass == pipeline_pass::forward ? forwards : backwards)[t.virtual_stage * micro_batches + t.micro_batch];
          }
        REQUIRE(std::count(forwards.begin(), forwards.end(), 1) == std::ssize(forwards));
        REQUIRE(std::count(backwards.begin(), backwards.end(), 1) == std::ssize(backwards));
        REQUIRE(order.fill.size() == (number < 3 ? 0 : stages));
        for (std::size_t s = 0; s < order.fill.size(); ++s) REQUIRE(order.fill[s] == in_flight(schedule, s, stages, micro_batches).held);
      }
}

TEST_CASE("order_of: refuses counts that cannot be") {
  CHECK(refusal([] { return order_of(gpipe_schedule{}, 0, 1); }) == "stages = 0 with 1 chunk each: there must be 1 to 2^32 - 1 in all");
  CHECK(refusal([] { return order_of(zbv_schedule{}, std::uint64_t{1} << 31, 1); }) ==
        "stages = 2147483648 with 2 chunks each: there must be 1 to 2^32 - 1 in all");
  CHECK(refusal([] { return order_of(one_f_one_b_schedule{}, 1, 0); }) == "micro_batches = 0 must be in 1 ... 2^32 - 1");
  CHECK(refusal([] { return order_of(interleaved_schedule{.chunks = 1}, 2, 2); }) == "chunks = 1: an interleaved schedule has at least 2");
  CHECK(refusal([] { return order_of(schedule_named("interleaved"), 4, 6); }) ==
        "micro_batches = 6 must be a multiple of stages = 4 for an interleaved schedule");
}

}  // namespace test_pipeline_order
