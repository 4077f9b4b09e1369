// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/pack.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <ranges>
#include <vector>

namespace {
std::atomic<std::size_t> allocations{0}, bytes_allocated{0};
}
void* operator new(std::size_t bytes) {
  ++allocations;
  bytes_allocated += bytes;
  if (auto* const p = std::malloc(bytes != 0 ? bytes : 1)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  return std::malloc(bytes != 0 ? bytes : 1);
}  // sanitizers bring their own
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

/// Best fit wastes 6 % of their packs, so a search goes as far as it may.
std::vector<std::int32_t> hard_lengths(std::size_t n, std::int64_t capacity) {
  ballast::splitmix64 draw(11);
  std::vector<std::int32_t> lengths(n);
  for (auto& l : lengths)
    l = static_cast<std::int32_t>(capacity / 5 + static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(capacity * 3 / 10)));
  return lengths;
}

}  // namespace

TEST_CASE("pack: a search reads the lengths twice, and hardly allocates once it is warm") {
  for (std::int64_t const capacity : {2048, 8192, 65536}) {
    CAPTURE(capacity);
    auto const lengths = hard_lengths(20'000, capacity);
    ballast::packing_options const options{.capacity = capacity};
    ballast::search_limits const limits{.work = 60'000'000};
    std::size_t reads = 0;
    auto const counted = std::views::transform(lengths, [&reads](auto l) { return ++reads, l; });
    ballast::packing_workspace<> workspace;
    ballast::packing<> plan;
    auto const pack = [&] { ballast::pack(counted, options, ballast::token_cost{}, limits, workspace, plan); };

    allocations = 0;
    pack();
    CHECK(allocations > 0);
    CHECK(allocations < 200);  // with nothing to use again
    REQUIRE(plan.count.value < ballast::best_fit_decreasing(lengths, options).count.value);
    allocations = bytes_allocated = reads = 0;
    pack();
    CHECK(reads == 2 * lengths.size());
    CHECK(allocations < 50);
    CHECK(bytes_allocated <= 8 * lengths.size() * sizeof(lengths[0]));
  }
}

TEST_CASE("pack: where best fit is good enough, a warm workspace allocates nothing") {
  ballast::splitmix64 draw(7);
  std::vector<std::int32_t> lengths(20'000);  // short ones fill every pack
  for (auto& l : lengths) l = 1 + static_cast<std::int32_t>(draw() % 1000);
  ballast::packing_options const options{.capacity = 8192};
  std::size_t reads = 0;
  auto const counted = std::views::transform(lengths, [&reads](auto l) { return ++reads, l; });
  ballast::packing_workspace<> workspace;
  ballast::packing<> plan;
  for (int round = 0; round < 2; ++round) {
    allocations = reads = 0;
    ballast::pack(counted, options, ballast::token_cost{}, {}, workspace, plan);
  }
  CHECK(plan.count.gap() <= ballast::pack_gap);
  CHECK(allocations == 0);
  CHECK(reads == 2 * lengths.size());
  reads = 0;
  auto const simple = ballast::pack(counted, options);
  CHECK(ballast::hash(simple.packs) == ballast::hash(plan.packs));
  CHECK(reads == 2 * lengths.size());
}

TEST_CASE("pack: few samples need memory for their packs alone") {
  ballast::splitmix64 draw(5);
  std::vector<std::int32_t> lengths(1000);
  for (auto& l : lengths) l = 1 + static_cast<std::int32_t>(draw() % 1000);
  allocations = 0;
  auto const plan = ballast::pack(lengths, {.capacity = 8192});
  CHECK(plan.count.optimal());
  CHECK(allocations == 3);  // the first offset of an empty plan, all offsets, the members
}
