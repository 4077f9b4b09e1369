// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/memory/check_allocator.hpp>
#include <ballast/memory/replay_allocator.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_memory_replay_allocator {

using namespace ballast_test;
using namespace ballast;

namespace {

constexpr std::int64_t mib = 1 << 20;

/// The most bytes in use at the begin of any buffer.
std::int64_t live_peak(std::vector<buffer> const& buffers) {
  std::int64_t most = 0;
  for (auto const& at : buffers) {
    std::int64_t sum = 0;
    for (auto const& b : buffers) sum += b.lower <= at.lower && at.lower < b.upper ? b.size : 0;
    most = std::max(most, sum);
  }
  return most;
}

std::vector<buffer> random_buffers(std::size_t count, std::uint64_t largest, splitmix64& generator) {
  std::vector<buffer> out(count);
  for (auto& b : out) {
    b.lower = static_cast<std::int64_t>(uniform_below(count, generator)) - 20;
    b.upper = b.lower + 1 + static_cast<std::int64_t>(uniform_below(1 + uniform_below(count, generator), generator));
    b.size = static_cast<std::int64_t>(uniform_below(largest, generator) >> uniform_below(16, generator));
    b.alignment = 1 << uniform_below(10, generator);
  }
  return out;
}

}  // namespace

TEST_CASE("replay_allocator: nothing, and buffers of no bytes") {
  CHECK(replay_allocator({}).reserved() == certificate{0, 0});
  std::vector<buffer> const empty{{0, 5, 0}, {1, 2, 0}};
  auto const replay = replay_allocator(empty);
  CHECK(replay.peak_reserved == 0);
  CHECK(replay.blocks == std::vector<allocation>(2));
}

TEST_CASE("replay_allocator: what ends at a time makes room for what begins then") {
  std::vector<buffer> const chain{{0, 1, 20 * mib}, {1, 2, 20 * mib}, {2, 3, 20 * mib}};
  CHECK(replay_allocator(chain).reserved() == certificate{20 * mib, 20 * mib});
  std::vector<buffer> const overlapping{{0, 2, 20 * mib}, {1, 3, 20 * mib}, {2, 4, 20 * mib}};
  auto const replay = replay_allocator(overlapping);
  CHECK(replay.reserved() == certificate{40 * mib, 40 * mib});
  CHECK(replay.blocks[2].segment == 0);
  CHECK(replay.fragmentation() == 0);
}

TEST_CASE("replay_allocator: fragmentation apart from the live peak") {
  // Eight buffers of 5 MiB fill two segments, every other one ends, and 6 MiB find no place among 20 free ones.
  std::vector<buffer> buffers;
  for (int i = 0; i < 8; ++i) buffers.push_back({0, i % 2 == 0 ? 1 : 2, 5 * mib});
  buffers.push_back({1, 2, 6 * mib});
  auto const replay = replay_allocator(buffers);
  CHECK(replay.live_peak == 40 * mib);
  CHECK(replay.peak_allocated == 40 * mib);
  CHECK(replay.peak_reserved == 60 * mib);
  CHECK(replay.fragmentation() == 20 * mib);
  CHECK(replay.rounding() == 0);
  auto const failing = replay_allocator(buffers, {.capacity = 59 * mib});
  CHECK(failing.status == status::infeasible);
  CHECK(failing.failed == 8);
  CHECK(failing.retries == 1);
  CHECK(failing.blocks[8] == allocation{});
  CHECK(failing.peak_reserved == 40 * mib);
  CHECK(check_allocator(failing, buffers, {.capacity = 59 * mib}).valid());
  // Expandable segments put them into 46 MiB, hence 60 MiB in pages; in a segment that has the room, nothing more.
  CHECK(replay_allocator(buffers, {.expandable_segments = true}).peak_reserved == 60 * mib);
  buffers[7].upper = 1;  // and with the last of them free, at the end of the segment
  CHECK(replay_allocator(buffers, {.expandable_segments = true}).peak_reserved == 40 * mib);
}

TEST_CASE("replay_allocator: batches that grow leave slivers, which expandable segments do not") {
  std::vector<buffer> buffers;  // PyTorch's example: sizes that are multiples of 4, 5, 6, ... MiB
  for (std::int64_t n = 4; n < 24; ++n)
    for (std::int64_t layer = 0; layer < 6; ++layer) buffers.push_back({n * 6 + layer, n * 6 + 6, n * (3 + layer % 3) * mib});
  auto const segments = replay_allocator(buffers), expandable = replay_allocator(buffers, {.expandable_segments = true});
  CHECK(segments.live_peak == expandable.live_peak);
  CHECK(expandable.peak_reserved < segments.live_peak + 20 * mib);
  CHECK(segments.peak_reserved > 2 * segments.live_peak);
}

TEST_CASE("replay_allocator: valid, between its bounds, and the same twice") {
  int failed = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 300; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    auto const buffers = random_buffers(1 + static_cast<std::size_t>(uniform_below(150, generator)), 1ULL << 27, generator);
    caching_allocator_options o{.expandable_segments = seed % 3 == 0};
    if (seed % 3 == 1) o.max_split_size = 30 * mib;
    if (seed % 2 == 1) o.capacity = 20 * mib + static_cast<std::int64_t>(uniform_below(3U << 28, generator));
    auto const replay = replay_allocator(buffers, o);
    auto const verdict = check_allocator(replay, buffers, o);
    REQUIRE(describe(verdict) == "valid");
    REQUIRE(replay.live_peak <= replay.peak_allocated);
    REQUIRE(replay.peak_allocated <= replay.peak_reserved);
    REQUIRE(replay.peak_reserved <= o.capacity);
    if (replay.status == status::feasible) REQUIRE(replay.live_peak == live_peak(buffers));
    if (o.capacity == unlimited_bytes) REQUIRE(replay.retries == 0);
    auto const again = replay_allocator(buffers, o);
    REQUIRE(again.blocks == replay.blocks);
    REQUIRE(again.reservations == replay.reservations);
    failed += replay.status == status::infeasible ? 1 : 0;
    ++cases;
  }
  CHECK(failed > cases / 10);
  CHECK(failed < cases / 2);
}

TEST_CASE("replay_allocator: refuses buffers that an allocator cannot place") {
  auto const with = [](std::vector<buffer> const& b) { return refusal([&] { return replay_allocator(b).live_peak; }); };
  CHECK(with({{0, 1, 5}, {3, 3, 5}}) == "buffers[1].upper = 3 must be above lower = 3");
  CHECK(with({{0, 1, -5}}) == "buffers[0].size = -5 must not be negative");
  CHECK(with({{0, 1, 5, 1024}}) == "buffers[0].alignment = 1024 must divide 512");
  CHECK(with({{0, 1, 5, 0}}) == "buffers[0].alignment = 0 must divide 512");
  CHECK(with({{0, 1, 5, 1, 0}}) == "buffers[0].fixed = 0: an allocator chooses every address");
  CHECK(with({{0, 1, std::int64_t{1} << 62}, {0, 1, std::int64_t{1} << 62}}) ==
        "buffers[1].size = 4611686018427387904: the sizes together exceed 2^63 - 1");
}

}  // namespace test_memory_replay_allocator
