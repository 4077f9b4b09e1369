// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/pairing_heaps.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <map>
#include <set>

namespace test_core_pairing_heaps {

TEST_CASE("pairing heaps: three in one pool pop like three sorted maps") {
  struct value {
    std::uint64_t key, payload;
  };
  ballast::detail::pairing_heaps<value> pool;
  ballast::splitmix64 draw(1);
  for (int round = 0; round < 2; ++round) {  // the second time on kept memory
    pool.clear();
    std::uint32_t root[3] = {pool.empty, pool.empty, pool.empty};
    std::map<std::uint64_t, std::uint64_t> sorted[3];
    for (int step = 0; step < 20000; ++step) {
      auto const h = draw() % 3;
      if (step < 15000 && draw() % 5 < 3) {
        value const v{draw() >> 16, draw()};
        if (sorted[h].emplace(v.key, v.payload).second) root[h] = pool.push(root[h], v);
      } else if (!sorted[h].empty()) {
        auto const lowest = sorted[h].begin();
        REQUIRE(pool.top(root[h]).key == lowest->first);
        REQUIRE(pool.top(root[h]).payload == lowest->second);
        root[h] = pool.pop(root[h]);
        sorted[h].erase(lowest);
      }
      REQUIRE((root[h] == pool.empty) == sorted[h].empty());
    }
  }
}

TEST_CASE("pairing heaps of numbers: three in one pool pop like three sorted sets") {
  struct nothing {};
  ballast::detail::pairing_heaps<nothing> pool;
  ballast::splitmix64 draw(2);
  std::uint32_t root[3] = {pool.empty, pool.empty, pool.empty};
  std::set<std::uint32_t> sorted[3];
  for (int step = 0; step < 20000; ++step) {
    auto const h = draw() % 3;
    auto const number = static_cast<std::uint32_t>(draw() % 1000);
    auto const used = sorted[0].count(number) + sorted[1].count(number) + sorted[2].count(number) != 0;
    if (draw() % 5 < 3 && !used) {
      root[h] = pool.push(root[h], number);
      sorted[h].insert(number);
    } else if (!sorted[h].empty()) {
      REQUIRE(root[h] == *sorted[h].begin());
      root[h] = pool.pop(root[h]);
      sorted[h].erase(sorted[h].begin());
    }
    REQUIRE((root[h] == pool.empty) == sorted[h].empty());
  }
}

}  // namespace test_core_pairing_heaps
