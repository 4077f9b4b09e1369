// SPDX-License-Identifier: Apache-2.0
#include <ballast/patterns/cutting_stock.hpp>

#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <cstdint>
#include <limits>
#include <vector>

// Packs that some plan of fewest packs has.

namespace test_patterns_reduce_stock {

using ballast_test::between;
using ballast_test::fewest_packs;

namespace {

struct reduction : ballast::detail::pool_scope {
  ballast::search_budget budget{ballast::search_limits{}};
  ballast::detail::reduced_stock stock;

  reduction(ballast::detail::pooled_memory& memory, ballast::histogram const& h, std::int64_t capacity,
            std::uint64_t work = (std::numeric_limits<std::uint64_t>::max)())
      : pool_scope(memory), stock(h, capacity, budget, work) {}
};

}  // namespace

TEST_CASE("reduced_stock: the packs and a best plan of what is left are a best plan", "[patterns][property]") {
  int reduced = 0, cut_short = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = between(8, 90, draw);
    auto const lowest = between(1, 1 + capacity / 4, draw), highest = between(lowest, capacity, draw);
    std::vector<std::int64_t> lengths(1 + draw() % 9), left;
    for (auto& l : lengths) l = between(lowest, highest, draw);
    auto const h = ballast::fold(lengths);
    ballast::detail::pooled_memory memory;
    // A reduction that runs out of work is one, too.
    auto const work = seed % 4 == 0 ? draw() % 100 : (std::numeric_limits<std::uint64_t>::max)();
    reduction const found(memory, h, capacity, work);
    auto const& stock = found.stock;
    auto placed = h.counts;
    for (std::size_t p = 0; p < stock.made.size(); ++p) {
      std::int64_t tokens = 0;
      for (auto const& [c, copies] : stock.made[p]) {
        tokens += h.lengths[c] * copies;
        placed[c] -= copies * stock.made.repeats[p];
      }
      REQUIRE(tokens <= capacity);
    }
    if (stock.made.packs() == 0) continue;
    ++reduced;
    for (std::size_t k = 0; k < stock.left.lengths.size(); ++k) {
      REQUIRE(stock.left.lengths[k] == h.lengths[stock.class_of[k]]);
      placed[stock.class_of[k]] -= stock.left.counts[k];
      left.insert(left.end(), static_cast<std::size_t>(stock.left.counts[k]), stock.left.lengths[k]);
    }
    REQUIRE(placed == std::vector<std::uint64_t>(placed.size(), 0));
    cut_short += work < 100 && !left.empty() ? 1 : 0;
    auto const rest = left.empty() ? 0 : fewest_packs(left, capacity).value();
    REQUIRE(static_cast<std::int64_t>(stock.made.packs()) + rest == fewest_packs(lengths, capacity).value());
  }
  CHECK(reduced > 2000);
  CHECK(cut_short > 50);
}

TEST_CASE("reduced_stock: sees at once whether there is a pack to make, and takes little more than linear time", "[patterns][property]") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = between(20, 300, draw);
    std::vector<std::int64_t> lengths(3 + draw() % 40);
    for (auto& l : lengths) l = between(capacity / 6, capacity / 2 - between(0, 2, draw), draw);
    auto const h = ballast::fold(lengths);
    ballast::detail::pattern_rows rows;
    rows.capacity = capacity;
    rows.add(h);
    ballast::pack_patterns made;
    auto const steps = ballast::detail::stock_reduction(rows, made).steps();
    ballast::detail::pooled_memory memory;
    reduction const found(memory, h, capacity);
    REQUIRE(found.stock.made.packs() == made.packs());
    REQUIRE(steps <= 100 * h.lengths.size() + 100);
  }
}

}  // namespace test_patterns_reduce_stock
