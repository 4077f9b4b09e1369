// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/memory/bounds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/catch.hpp"
#include "support/exhaustive_layout.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

namespace test_memory_bounds {

using namespace ballast_test;
using namespace ballast;

namespace {

using buffers = std::vector<buffer>;

/// The max load by looking at every begin.
std::int64_t load_by_begins(buffers const& all) {
  std::int64_t most = 0;
  for (auto const& a : all) {
    std::int64_t load = 0;
    for (auto const& b : all) load += b.lower <= a.lower && a.lower < b.upper ? b.size : 0;
    most = (std::max)(most, load);
  }
  return most;
}

}  // namespace

TEST_CASE("max_load: what ends at a time makes room for what begins then") {
  CHECK(max_load(buffers{}) == 0);
  CHECK(max_load(buffers{{.lower = 0, .upper = 2, .size = 5}, {.lower = 2, .upper = 4, .size = 7}}) == 7);
  CHECK(max_load(buffers{{.lower = 0, .upper = 3, .size = 5}, {.lower = 2, .upper = 4, .size = 7}}) == 12);
  CHECK(max_load(buffers{{.lower = -9, .upper = -2, .size = 0}}) == 0);
}

TEST_CASE("max_load: as by looking at every begin") {
  for (std::uint64_t seed = 0; seed < 2000; seed += round_step) {
    splitmix64 draw(seed);
    auto const all = random_buffers(uniform_below(30, draw), 20, 100, draw);
    REQUIRE(max_load(all) == load_by_begins(all));
    REQUIRE(layout_lower_bound(all) == height_bound{load_by_begins(all), layout_bound::max_load});
  }
}

TEST_CASE("layout_lower_bound: alignment, fixed addresses") {
  // Each of three takes 8 bytes, but the highest needs no padding.
  buffers all(3, {.lower = 0, .upper = 1, .size = 5, .alignment = 8});
  CHECK(layout_lower_bound(all) == height_bound{21, layout_bound::max_load});
  all[0] = {.lower = 4, .upper = 5, .size = 3, .fixed = 40};
  CHECK(layout_lower_bound(all) == height_bound{43, layout_bound::one_buffer});
  all[1] = {.lower = 4, .upper = 6, .size = 10, .fixed = 30};
  CHECK(layout_lower_bound(all) == height_bound{43, layout_bound::one_buffer});
  all[1].size = 11;
  CHECK(layout_lower_bound(all).bound == layout_bound::fixed_addresses);
  all[1].upper = 4, all[1].lower = 3;
  CHECK(layout_lower_bound(all).bound == layout_bound::one_buffer);
}

TEST_CASE("layout_lower_bound: never above the least height of all orders") {
  int met = 0, none = 0, cases = 0;
  for (std::uint64_t seed = 0; seed < 3000; seed += round_step, ++cases) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto all = random_buffers(1 + uniform_below(5, draw), 5, 9, draw);
    for (auto& b : all) {
      b.alignment = 1 + static_cast<std::int64_t>(uniform_below(4, draw));
      if (uniform_below(4, draw) == 0) b.fixed = b.alignment * static_cast<std::int64_t>(uniform_below(6, draw));
    }
    auto const bound = layout_lower_bound(all);
    auto const least = least_height_of_all_orders(all);
    REQUIRE((bound.bound != layout_bound::fixed_addresses || !least));
    if (!least) {
      ++none;
      continue;
    }
    REQUIRE(bound.height <= *least);
    met += bound.height == *least ? 1 : 0;
  }
  CHECK(3 * met > cases);
  CHECK(none > 0);
}

TEST_CASE("max_load: refuses what is no buffer") {
  auto const sentence = [](buffer const& b) { return refusal([&] { return max_load(buffers{{.lower = 0, .upper = 1}, b}); }); };
  CHECK(sentence({.lower = 3, .upper = 3}) == "buffers[1].upper = 3 must exceed lower = 3");
  CHECK(sentence({.lower = 3, .upper = 4, .size = -1}) == "buffers[1].size = -1 must not be negative");
  CHECK(sentence({.lower = 3, .upper = 4, .alignment = 0}) == "buffers[1].alignment = 0 must be at least 1");
  CHECK(sentence({.lower = 3, .upper = 4, .fixed = -2}) == "buffers[1].fixed = -2 must be an address, or -1 for any");
  CHECK(sentence({.lower = 3, .upper = 4, .alignment = 4, .fixed = 6}) == "buffers[1].fixed = 6 must be a multiple of alignment = 4");
  CHECK(sentence({.lower = 3, .upper = 4, .size = (std::numeric_limits<std::int64_t>::max)() - 5}) ==
        "buffers[1].size = 9223372036854775802 brings the sum of sizes, alignments and addresses to 2^62 or more");
}

}  // namespace test_memory_bounds
