// SPDX-License-Identifier: Apache-2.0
#include <ballast/memory/check_allocator.hpp>

#include "support/catch.hpp"
#include "support/verdicts.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace test_memory_check_allocator {

using namespace ballast;

namespace {

constexpr std::int64_t mib = 1 << 20;

/// What is wrong with a replay that was changed.
template <class Change>
verdict after(caching_allocator_options const& options, Change&& change) {
  std::vector<buffer> const buffers{{0, 3, 3 * mib}, {0, 1, 30 * mib}, {1, 3, 4 * mib}, {2, 3, 34 * mib}, {2, 4, 0}, {3, 4, 9 * mib}};
  auto replay = replay_allocator(buffers, options);
  change(replay);
  return ballast_test::place_of(check_allocator(replay, buffers, options));
}

}  // namespace

TEST_CASE("check_allocator: names the rule that a wrong replay breaks") {
  caching_allocator_options const o{.capacity = 60 * mib};
  CHECK(after(o, [](auto&) {}) == verdict{});
  CHECK(after({.capacity = 30 * mib}, [](auto& r) { CHECK(r.failed == 1); }) == verdict{});
  CHECK(after(o, [](auto& r) { r.blocks.pop_back(); }) == verdict{allocator_fault::wrong_size, 0});
  CHECK(after(o, [](auto& r) { r.status = status::infeasible; }) == verdict{allocator_fault::wrong_status, 4294967295});
  CHECK(after(o, [](auto& r) { r.failed = 5; }) == verdict{allocator_fault::wrong_status, 5});
  CHECK(after({.capacity = 30 * mib}, [](auto& r) { r.blocks[1].size = 512; }) == verdict{allocator_fault::wrong_status, 1});
  CHECK(after(o, [](auto& r) { r.blocks[2].size = 512; }) == verdict{allocator_fault::too_small, 2});
  CHECK(after(o, [](auto& r) { r.blocks[4].size = 512; }) == verdict{allocator_fault::too_small, 4});
  CHECK(after(o, [](auto& r) { r.blocks[2].offset = 19 * mib; }) == verdict{allocator_fault::outside, 2});
  CHECK(after(o, [](auto& r) { r.blocks[2].offset = -512; }) == verdict{allocator_fault::outside, 2});
  CHECK(after(o, [](auto& r) { r.blocks[2].segment = 9; }) == verdict{allocator_fault::outside, 2});
  CHECK(after(o, [](auto& r) { r.blocks[2].offset = 2 * mib; }) == verdict{allocator_fault::overlap, 2});
  CHECK(after(o, [](auto& r) { r.blocks[2].offset += 1; }) == verdict{allocator_fault::misaligned, 2});
  CHECK(after(o, [](auto& r) { r.live_peak += 1; }) == verdict{allocator_fault::wrong_peak, 0});
  CHECK(after(o, [](auto& r) { r.peak_allocated += 1; }) == verdict{allocator_fault::wrong_peak, 1});
  CHECK(after(o, [](auto& r) { r.peak_reserved += 1; }) == verdict{allocator_fault::wrong_peak, 2});
  CHECK(after(o, [](auto& r) { CHECK(std::exchange(r.retries, 0) == 1); }) == verdict{allocator_fault::wrong_retries, 0});
  CHECK(after(o, [](auto& r) { ++r.retries; }) == verdict{allocator_fault::wrong_retries, 0});
  CHECK(after({.capacity = 30 * mib}, [](auto& r) { CHECK(std::exchange(r.retries, 0) == 1); }) ==
        verdict{allocator_fault::wrong_retries, 0});
  CHECK(after({.capacity = 60 * mib, .max_split_size = 25 * mib}, [](auto&) {}) == verdict{});
  CHECK(after({.capacity = 60 * mib, .max_split_size = 25 * mib}, [](auto& r) { r.retries = 2; }) ==
        verdict{allocator_fault::wrong_retries, 0});
}

TEST_CASE("check_allocator: names the reservation that cannot be") {
  caching_allocator_options const o{.capacity = 60 * mib};
  // 20 MiB for buffer 0, 30 for buffer 1, which are given back, 34 for buffer 3
  CHECK(after(o, [](auto& r) { CHECK(r.reservations.size() == 4); }) == verdict{});
  CHECK(after(o, [](auto& r) { r.reservations[0].buffer = 5; }) == verdict{allocator_fault::outside, 0});
  CHECK(after(o, [](auto& r) { r.reservations[3].buffer = 1; }) == verdict{allocator_fault::outside, 3});
  CHECK(after(o, [](auto& r) { r.reservations.push_back(r.reservations[3]); }) == verdict{allocator_fault::wrong_reservation, 4});
  CHECK(after(o, [](auto& r) { r.reservations[1].bytes = 0; }) == verdict{allocator_fault::wrong_reservation, 1});
  CHECK(after(o, [](auto& r) { r.reservations[1].segment = 0; }) == verdict{allocator_fault::wrong_reservation, 1});
  CHECK(after(o, [](auto& r) { r.reservations[1].offset = -1; }) == verdict{allocator_fault::wrong_reservation, 1});
  CHECK(after(o, [](auto& r) { r.reservations[1].bytes = 41 * mib; }) == verdict{allocator_fault::over_capacity, 1});
  CHECK(after(o, [](auto& r) { r.reservations[2].bytes = -31 * mib; }) == verdict{allocator_fault::wrong_reservation, 2});
  CHECK(after(o, [](auto& r) { r.reservations[2].segment = 0; }) ==
        verdict{allocator_fault::wrong_reservation, 2});             // where blocks are in use
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();  // sums that no integer holds
  for (auto const bytes : {most, -most, -most - 1})
    CHECK(after(o, [&](auto& r) { r.reservations[1].bytes = bytes; }) == verdict{allocator_fault::wrong_reservation, 1});
  CHECK(after(o, [&](auto& r) { r.reservations[1].offset = most; }) == verdict{allocator_fault::wrong_reservation, 1});
  CHECK(after(o, [&](auto& r) { r.blocks[2].offset = most - 511; }) == verdict{allocator_fault::outside, 2});
  CHECK(after(o, [&](auto& r) { r.blocks[2].size = most - 511; }) == verdict{allocator_fault::outside, 2});
}

TEST_CASE("check_allocator: pages given back in the middle of a segment") {
  std::vector<buffer> const buffers{{0, 9, 20 * mib}, {0, 1, 60 * mib}, {0, 9, 20 * mib}, {1, 3, mib}, {3, 4, 60 * mib}};
  caching_allocator_options const o{.capacity = 101 * mib, .expandable_segments = true};
  auto const replay = replay_allocator(buffers, o);
  std::vector<std::int64_t> reserved;  // by the last two buffers only after all free pages were given back
  for (auto const& r : replay.reservations) reserved.push_back(r.bytes / mib);
  CHECK(reserved == std::vector<std::int64_t>{20, 60, 20, -60, 2, -2, 60});
  CHECK(replay.retries == 2);
  CHECK(check_allocator(replay, buffers, o).valid());
}

}  // namespace test_memory_check_allocator
