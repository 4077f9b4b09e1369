// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/schedule.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace test_cost_schedule {

using namespace ballast;
using flight = micro_batches_in_flight;

TEST_CASE("schedules: what the stages of four hold of many micro-batches, and of two") {
  auto const held = [](auto const& schedule, std::uint64_t micro_batches) {
    std::vector<flight> out;
    for (std::uint64_t s = 0; s < 4; ++s) out.push_back(schedule.in_flight(s, 4, micro_batches));
    return out;
  };
  using flights = std::vector<flight>;
  CHECK(held(gpipe_schedule{}, 64) == flights{{64, 64}, {64, 64}, {64, 64}, {64, 64}});
  CHECK(held(one_f_one_b_schedule{}, 64) == flights{{4, 4}, {3, 3}, {2, 2}, {1, 1}});
  CHECK(held(one_f_one_b_schedule{}, 2) == flights{{2, 2}, {2, 2}, {2, 2}, {1, 1}});
  CHECK(held(interleaved_schedule{.chunks = 3}, 64) == flights{{15, 15}, {13, 13}, {11, 11}, {9, 9}});
  CHECK(held(interleaved_schedule{.chunks = 3}, 4) == flights{{12, 12}, {12, 12}, {11, 11}, {9, 9}});
  CHECK(held(zb1p_schedule{}, 64) == flights{{4, 4}, {3, 4}, {2, 4}, {1, 4}});
  CHECK(held(zb2p_schedule{}, 64) == flights{{7, 7}, {5, 7}, {3, 7}, {1, 7}});
  CHECK(held(zb2p_schedule{}, 2) == flights{{2, 2}, {2, 2}, {2, 2}, {1, 2}});
  CHECK(held(zbv_schedule{}, 64) == flights{{8, 8}, {8, 8}, {8, 8}, {8, 8}});
  CHECK(held(zbv_schedule{}, 2) == flights{{4, 4}, {4, 4}, {4, 4}, {4, 4}});
}

TEST_CASE("interleaved_schedule: the first stage holds 1 + (S - 1) / (S v) times what it holds under 1F1B") {
  for (std::uint64_t stages = 1; stages <= 16; ++stages)
    for (std::uint64_t v = 2; v <= 8; ++v) {
      auto const chunks = interleaved_schedule{.chunks = v}.in_flight(0, stages, 1000 * stages).held;
      REQUIRE(chunks == stages * v + stages - 1);  // in chunks, of which 1F1B holds S v
    }
}

TEST_CASE("schedules: stages of virtual stages") {
  auto const stages = [](auto const& schedule) {
    std::vector<std::uint64_t> out;
    for (std::uint64_t k = 0; k < 3 * schedule.chunks_per_stage(); ++k) out.push_back(schedule.stage_of(k, 3));
    return out;
  };
  using numbers = std::vector<std::uint64_t>;
  for (auto const* name : {"gpipe", "1f1b", "zb1p", "zb2p"}) CHECK(std::visit(stages, schedule_named(name)) == numbers{0, 1, 2});
  CHECK(stages(interleaved_schedule{}) == numbers{0, 1, 2, 0, 1, 2});
  CHECK(stages(zbv_schedule{}) == numbers{0, 1, 2, 2, 1, 0});
}

TEST_CASE("schedule_named: each by its name, and no other") {
  for (auto const* name : {"gpipe", "1f1b", "interleaved", "zb1p", "zb2p", "zbv"})
    CHECK(std::visit([](auto const& s) { return std::string(s.name); }, schedule_named(name)) == name);
  CHECK(std::get<interleaved_schedule>(schedule_named("interleaved", 5)).chunks == 5);
  CHECK(in_flight(schedule_named("zb1p"), 2, 4, 64) == flight{2, 4});
  CHECK(ballast_test::refusal([] { return schedule_named("2f2b"); }) ==
        "no schedule \"2f2b\"; there are gpipe, 1f1b, interleaved, zb1p, zb2p, zbv");
}

}  // namespace test_cost_schedule
