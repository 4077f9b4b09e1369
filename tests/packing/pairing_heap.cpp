// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/detail/room_index.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <map>

namespace test_packing_pairing_heap {

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

}  // namespace test_packing_pairing_heap
