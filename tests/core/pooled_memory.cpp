// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/pooled_memory.hpp>
#include <ballast/core/random.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace test_core_pooled_memory {

using ballast::detail::pool_scope;
using ballast::detail::pooled_memory;
using ballast::detail::pooled_vector;

TEST_CASE("pooled_memory: blocks do not overlap, and come back") {
  pooled_memory pool;
  ballast::splitmix64 draw(3);
  std::vector<std::pair<unsigned char*, std::size_t>> held;
  for (int round = 0; round < 2000; ++round) {
    if (draw() % 3 != 0 || held.empty()) {
      auto const bytes = static_cast<std::size_t>(draw() % 5 == 0 ? draw() % 300'000 : draw() % 200);
      auto* const block = static_cast<unsigned char*>(pool.take(bytes));
      CHECK(reinterpret_cast<std::uintptr_t>(block) % 16 == 0);
      for (std::size_t i = 0; i < bytes; ++i) block[i] = static_cast<unsigned char>(held.size());
      for (std::size_t b = 0; b < held.size(); ++b)
        if (held[b].second != 0) REQUIRE((held[b].first + held[b].second <= block || block + bytes <= held[b].first || bytes == 0));
      held.emplace_back(block, bytes);
    } else {
      auto const at = static_cast<std::size_t>(draw() % held.size());
      pool.give_back(held[at].first, held[at].second);
      held[at] = held.back();
      held.pop_back();
    }
  }
  auto* const block = pool.take(5000);
  pool.give_back(block, 5000);
  CHECK(pool.take(4097) == block);  // of the same power of two
}

TEST_CASE("pooled_memory: vectors keep the pool they were made in") {
  pooled_vector<int> outside{1, 2, 3};
  pooled_memory pool;
  {
    pool_scope const scope(pool);
    pooled_vector<int> inside{4, 5, 6};
    outside.assign(1000, 7);  // still the system's memory
    auto moved = std::move(inside);
    moved.resize(100'000, 8);
    pooled_memory other;
    pool_scope const inner(other);
    moved.insert(moved.end(), outside.begin(), outside.end());
    CHECK((moved.size() == 101'000 && moved.front() == 4 && moved.back() == 7));
    CHECK(moved.get_allocator() != pooled_vector<int>().get_allocator());
  }
  CHECK(outside == pooled_vector<int>(1000, 7));
  CHECK(pooled_memory::current() == nullptr);
}

}  // namespace test_core_pooled_memory
