// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/memory/caching_allocator.hpp>

#include "gap_allocator.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace test_memory_caching_allocator {

using namespace ballast_test;
using namespace ballast;

namespace {

constexpr std::int64_t kib = 1024, mib = 1024 * kib;

/// The bytes allocated and reserved for one request.
std::pair<std::int64_t, std::int64_t> alone(std::int64_t bytes, caching_allocator_options const& options = {}) {
  caching_allocator a(options);
  REQUIRE(a.allocate(bytes).has_value());
  return {a.figures().allocated, a.figures().reserved};
}

using bytes_pair = std::pair<std::int64_t, std::int64_t>;

}  // namespace

TEST_CASE("caching_allocator: the documented sizes of blocks and segments") {
  CHECK(alone(0) == bytes_pair{0, 0});
  CHECK(alone(1) == bytes_pair{512, 2 * mib});
  CHECK(alone(512) == bytes_pair{512, 2 * mib});
  CHECK(alone(513) == bytes_pair{1024, 2 * mib});
  CHECK(alone(mib) == bytes_pair{mib, 2 * mib});
  CHECK(alone(mib + 1) == bytes_pair{mib + 512, 20 * mib});
  CHECK(alone(10 * mib - 512) == bytes_pair{10 * mib - 512, 20 * mib});
  CHECK(alone(10 * mib - 511) == bytes_pair{10 * mib, 10 * mib});  // rounded first
  CHECK(alone(10 * mib) == bytes_pair{10 * mib, 10 * mib});
  CHECK(alone(10 * mib + 1) == bytes_pair{10 * mib + 512, 12 * mib});  // the rest is above 1 MiB
  CHECK(alone(11 * mib) == bytes_pair{12 * mib, 12 * mib});            // the rest is not
  CHECK(alone(11 * mib + 1) == bytes_pair{12 * mib, 12 * mib});
}

TEST_CASE("caching_allocator: requests between powers of 2, in divisions") {
  auto const four = caching_allocator_options{.roundup_power2_divisions = 4};
  CHECK(alone(1200 * kib, four).first == 1280 * kib);  // PyTorch's example, 1200 in 1024, 1280, 1536, 1792, times 1024
  CHECK(alone(1280 * kib, four).first == 1280 * kib);
  CHECK(alone(1800 * kib, four).first == 2048 * kib);
  CHECK(alone(1200, four).first == 1536);  // not above 4 x 512 bytes
  CHECK(alone(2049, four).first == 2560);
  CHECK(alone(1200 * kib, {.roundup_power2_divisions = 1}).first == 1200 * kib);
  CHECK(alone(1025 * kib, {.roundup_power2_divisions = 2}).first == 1536 * kib);
}

TEST_CASE("caching_allocator: blocks are cut, reused by best fit and joined") {
  caching_allocator a;
  auto const first = *a.allocate(3 * mib), second = *a.allocate(4 * mib), third = *a.allocate(5 * mib);
  CHECK(first == allocation{0, 0, 0, 3 * mib});
  CHECK(second.offset == 3 * mib);
  CHECK(third.offset == 7 * mib);
  CHECK(a.figures().reserved == 20 * mib);
  CHECK(a.figures().inactive_split == 8 * mib);
  a.deallocate(second);
  CHECK(a.figures().inactive_split == 12 * mib);
  CHECK(a.allocate(2 * mib + 512 * kib)->offset == 3 * mib);  // best fit: 4 MiB rather than the 8 MiB at the end
  a.deallocate(first);
  CHECK(a.allocate(3 * mib)->offset == 0);
  a.deallocate(third);  // joined with both neighbours
  CHECK(a.figures().inactive_split == 14 * mib + 512 * kib);
  CHECK(a.allocate(14 * mib)->offset == 5 * mib + 512 * kib);
  CHECK(a.figures().reserved == 20 * mib);
  CHECK(a.figures().segments == 1);
  CHECK(a.allocate(1).value().segment == 1);  // the pools share nothing
  CHECK(a.figures().reserved == 22 * mib);
  CHECK(a.figures().retries == 0);
}

TEST_CASE("caching_allocator: of equal free blocks, the one at the lowest address") {
  caching_allocator a;
  std::vector<allocation> blocks;
  for (int i = 0; i < 6; ++i) blocks.push_back(*a.allocate(12 * mib));
  for (auto const i : {4U, 1U, 3U}) a.deallocate(blocks[i]);
  CHECK(a.allocate(12 * mib)->segment == 1);
  CHECK(a.allocate(11 * mib + 512)->segment == 3);
  CHECK(a.allocate(11 * mib)->segment == 4);
}

TEST_CASE("caching_allocator: free memory suffices, but no block does") {
  caching_allocator a({.capacity = 40 * mib});
  std::vector<allocation> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(*a.allocate(5 * mib));
  CHECK(a.figures().reserved == 40 * mib);
  for (std::size_t i = 0; i < 8; i += 2) a.deallocate(blocks[i]);
  CHECK(a.figures().allocated == 20 * mib);
  CHECK(a.figures().inactive_split == 20 * mib);
  CHECK(!a.allocate(6 * mib).has_value());  // 20 MiB are free in pieces of 5
  CHECK(a.figures().retries == 1);
  CHECK(a.figures().reserved == 40 * mib);
  CHECK(a.allocate(5 * mib).has_value());
  a.deallocate(blocks[7]);  // the last two of the second segment: 10 MiB
  CHECK(a.allocate(6 * mib).value().segment == 1);
}

TEST_CASE("caching_allocator: at the capacity, free segments are given back and the request is tried again") {
  caching_allocator a({.capacity = 40 * mib});
  auto const small = *a.allocate(1), large = *a.allocate(30 * mib);
  CHECK(!a.allocate(10 * mib).has_value());
  a.deallocate(large);
  CHECK(a.allocate(36 * mib).value().segment == 2);
  CHECK(a.figures().reserved == 38 * mib);
  CHECK(a.figures().peak_reserved == 38 * mib);
  CHECK(a.figures().retries == 2);
  std::vector<reservation> const expected{{0, 0, 2 * mib}, {1, 0, 30 * mib}, {1, 0, -30 * mib}, {2, 0, 36 * mib}};
  CHECK(std::vector<reservation>(a.reservations().begin(), a.reservations().end()) == expected);
  a.deallocate(small);
  a.give_back();
  CHECK(a.figures().reserved == 36 * mib);
  CHECK(a.figures().segments == 1);
  CHECK(!caching_allocator({.capacity = 0}).allocate(1).has_value());
  CHECK(!caching_allocator({.capacity = 0, .expandable_segments = true}).allocate(1).has_value());
  CHECK(!caching_allocator().allocate(9223372036854775807).has_value());
  CHECK(!caching_allocator({.expandable_segments = true}).allocate(9223372036854775807).has_value());
}

TEST_CASE("caching_allocator: blocks of max_split_size are taken whole, by requests of nearly their size") {
  caching_allocator a({.capacity = 240 * mib, .max_split_size = 64 * mib});
  a.deallocate(*a.allocate(100 * mib));
  CHECK(a.allocate(30 * mib)->segment == 1);  // smaller ones leave it alone
  CHECK(a.allocate(80 * mib)->segment == 2);  // and so do requests that are smaller by 20 MiB or more
  CHECK(a.figures().allocated == 110 * mib);
  auto const close = *a.allocate(81 * mib);
  CHECK(close.segment == 0);
  CHECK(close.size == 100 * mib);
  a.deallocate(close);
  CHECK(a.allocate(79 * mib).value().segment == 3);  // for which the free block is given back, and no other
  CHECK(a.figures().retries == 0);
  CHECK(a.figures().reserved == 190 * mib);
}

TEST_CASE("caching_allocator: expandable segments grow and shrink by pages") {
  caching_allocator a({.capacity = 100 * mib, .expandable_segments = true});
  auto const first = *a.allocate(15 * mib), second = *a.allocate(15 * mib), third = *a.allocate(45 * mib);
  CHECK(first == allocation{0, 0, 0, 15 * mib});
  CHECK(second.offset == 15 * mib);
  CHECK(third.offset == 30 * mib);
  CHECK(a.figures().reserved == 80 * mib);  // 75 MiB in pages of 20
  CHECK(a.figures().segments == 1);
  a.deallocate(second);
  CHECK(a.allocate(14 * mib)->offset == 15 * mib);  // every rest stays free, however small
  CHECK(a.allocate(513 * kib)->segment == 1);
  CHECK(a.figures().reserved == 82 * mib);
  a.deallocate(third);                       // 29 ... 80 MiB are free
  CHECK(!a.allocate(60 * mib).has_value());  // up to 89 MiB: too much beside the small pool's page, though 40 ... 80 are given back
  CHECK(a.figures().retries == 1);
  CHECK(a.figures().reserved == 42 * mib);
  CHECK(a.allocate(50 * mib)->offset == 29 * mib);
  CHECK(a.figures().reserved == 82 * mib);
  CHECK(a.figures().inactive_split == 0);
}

TEST_CASE("caching_allocator: like an allocator that finds its gaps anew for each request") {
  for (std::uint64_t seed = 0; seed < 240; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(seed);
    caching_allocator_options o{.expandable_segments = seed % 3 == 0};
    if (o.expandable_segments || seed % 4 != 0) o.capacity = static_cast<std::int64_t>(40 + uniform_below(300, generator)) * mib;
    if (seed % 3 == 1) {
      o.max_split_size = static_cast<std::int64_t>(21 + uniform_below(40, generator)) * mib;
      o.max_non_split_rounding = static_cast<std::int64_t>(20 + uniform_below(20, generator)) * mib;
    }
    o.roundup_power2_divisions = std::int64_t{1} << uniform_below(5, generator);
    caching_allocator a(o);
    gap_allocator expected(o);
    std::vector<std::pair<allocation, gap_allocator::run>> live;
    for (int event = 0; event < 300; ++event) {
      CAPTURE(event);
      if (!live.empty() && uniform_below(100, generator) < 40 + live.size() / 2) {
        auto const k = static_cast<std::size_t>(uniform_below(live.size(), generator));
        a.deallocate(live[k].first);
        expected.deallocate(live[k].second);
        live[k] = live.back();
        live.pop_back();
      } else if (uniform_below(100, generator) == 0) {
        a.give_back();
        expected.give_back();
      } else {
        std::int64_t const largest[] = {2 * kib, mib, 4 * mib, 12 * mib, 60 * mib};
        auto const most = static_cast<std::uint64_t>(largest[uniform_below(5, generator)]);
        auto const bytes = 1 + static_cast<std::int64_t>(uniform_below(most, generator));
        auto const got = a.allocate(bytes);
        auto const want = expected.allocate(bytes);
        REQUIRE(got.has_value() == want.has_value());
        if (got) {
          REQUIRE(std::tuple(got->size, std::size_t{got->segment}, got->offset) == *want);
          live.emplace_back(*got, *want);
        }
      }
      auto const& f = a.figures();
      REQUIRE(f.reserved == expected.reserved());
      REQUIRE(f.allocated == expected.allocated());
      REQUIRE(f.inactive_split == expected.inactive_split());
      REQUIRE(f.segments == expected.segments());
      REQUIRE(f.requested <= f.allocated);
      REQUIRE(f.allocated <= f.reserved);
      REQUIRE(f.reserved <= o.capacity);
    }
    for (auto const& [block, run] : live) a.deallocate(block);
    a.give_back();
    auto const& f = a.figures();
    REQUIRE(std::tuple(f.requested, f.allocated, f.reserved, f.inactive_split, f.segments) == std::tuple(0, 0, 0, 0, 0U));
  }
}

TEST_CASE("caching_allocator: refuses what cannot be") {
  auto const with = [](caching_allocator_options const& o) { return refusal([&] { return caching_allocator(o).figures().reserved; }); };
  CHECK(with({.capacity = -1}) == "capacity = -1 must be in 0 ... 2^62 - 1");
  CHECK(with({.max_split_size = 20 * mib}) == "max_split_size = 20971520 must be in 20971521 ... 2^62 - 1");
  CHECK(with({.max_non_split_rounding = 5}) == "max_non_split_rounding = 5 must be in 20971520 ... 2^62 - 1");
  CHECK(with({.roundup_power2_divisions = 0}) == "roundup_power2_divisions = 0 must be in 1 ... 2^62 - 1");
  CHECK(with({.roundup_power2_divisions = 3}) == "roundup_power2_divisions = 3 must be a power of 2");
  CHECK(with({.max_split_size = 30 * mib, .expandable_segments = true}) ==
        "max_split_size = 31457280 has no meaning for expandable segments");
  caching_allocator a;
  CHECK(refusal([&] { return a.allocate(-1).has_value(); }) == "bytes = -1 must not be negative");
  auto const block = *a.allocate(7);
  a.deallocate(*a.allocate(0));
  a.deallocate(block);
  CHECK(refusal([&] { return a.deallocate(block), 0; }) == "block 0 is not in use at offset 0 of segment 0");
  CHECK(refusal([&] { return a.deallocate({.block = 99}), 0; }) == "block 99 is not in use at offset 0 of segment 0");
}

}  // namespace test_memory_caching_allocator
