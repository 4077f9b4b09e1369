// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/moe.hpp>
#include <ballast/cost/routed_rows.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_cost_routed_rows {

namespace {
using namespace ballast;
using ballast_test::refusal;
using experts_type = std::vector<std::uint32_t>;
using offsets_type = std::vector<std::uint64_t>;
}  // namespace

TEST_CASE("routed_rows: segments add up to the loads, and slots are dense", "[property]") {
  splitmix64 draw(41);
  auto const any = [&](std::uint64_t bound) { return static_cast<std::uint32_t>(uniform_below(bound, draw)); };
  for (int round = 0; round < 200; ++round) {
    auto const experts = 1 + any(20), capacity = any(12);
    experts_type rows(any(200));
    for (auto& e : rows) e = (std::min)(any(experts), any(experts));
    offsets_type offsets{0};
    while (offsets.back() < rows.size()) offsets.push_back((std::min)(std::uint64_t{rows.size()}, offsets.back() + any(40)));
    auto const parts = segment_loads(rows, offsets, experts);
    auto const clipped = clip_rows(rows, experts, capacity);
    auto const counted = count_routed_rows(clipped.loads, capacity);
    CHECK(std::count(clipped.slot_of.begin(), clipped.slot_of.end(), dropped_row) == counted.dropped);
    for (std::uint32_t e = 0; e < experts; ++e) {
      std::int64_t sum = 0;
      for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        auto const begin = rows.begin() + static_cast<std::ptrdiff_t>(offsets[s]);
        auto const end = rows.begin() + static_cast<std::ptrdiff_t>(offsets[s + 1]);
        CHECK(parts[s * experts + e] == std::count(begin, end, e));
        sum += parts[s * experts + e];
      }
      CHECK(sum == clipped.loads[e]);
      std::uint32_t next = 0;
      for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i] == e) {
          CHECK(clipped.slot_of[i] == (next < capacity ? next : dropped_row));
          ++next;
        }
    }
  }
}

TEST_CASE("routed_rows: arguments out of range throw") {
  experts_type const rows{0, 2, 1};
  CHECK(refusal([&] { return clip_rows(rows, 2, 1).loads.size(); }) == "expert_of[1] = 2 must be below 2");
  CHECK(refusal([&] { return clip_rows(rows, 0, 1).loads.size(); }) == "experts = 0 must be at least 1");
  CHECK(refusal([&] { return segment_loads(rows, offsets_type{0, 2}, 3).size(); }) == "offsets must rise from 0 to the number of rows, 3");
  CHECK(refusal([&] { return segment_loads(rows, offsets_type{0, 2, 1, 3}, 3).size(); }) ==
        "offsets[2] = 1 is below its predecessor, or above the number of rows");
  CHECK(segment_loads(experts_type{}, offsets_type{0}, 3).empty());
}

}  // namespace test_cost_routed_rows
