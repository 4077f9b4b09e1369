// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/detail/search/pair_concentration.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace test_packing_search_pair_concentration {

TEST_CASE("pair_concentration: keeps every sample and the capacity, and saves packs", "[packing][property]") {
  std::size_t saved = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    constexpr std::int64_t capacity = 100;
    ballast::histogram h;
    for (std::int64_t l = 10; l <= 60; ++l) h += {{l}, {1}};
    ballast::detail::loose_packs packs;
    std::vector<std::uint32_t> all, after;
    for (int p = 0; p < 80; ++p) {  // filled in order, without any thought
      auto& pack = packs.emplace_back();
      for (std::int64_t room = capacity;;) {
        auto const c = static_cast<std::uint32_t>(draw() % h.lengths.size());
        if (h.lengths[c] > room) break;
        room -= h.lengths[c];
        pack.push_back(c);
        all.push_back(c);
      }
    }
    auto const before = packs.size();
    ballast::search_budget budget({.work = 20'000'000});
    ballast::detail::pair_concentration(h, capacity, seed).run(packs, 1, budget, 2'000'000);
    for (auto const& pack : packs) {
      std::int64_t tokens = 0;
      for (auto const c : pack) tokens += h.lengths[c];
      REQUIRE((tokens > 0 && tokens <= capacity));
      after.insert(after.end(), pack.begin(), pack.end());
    }
    std::sort(all.begin(), all.end());
    std::sort(after.begin(), after.end());
    REQUIRE(all == after);
    saved += before - packs.size();
  }
  CHECK(saved >= 200);
}

}  // namespace test_packing_search_pair_concentration
