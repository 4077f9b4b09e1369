// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/memory/check_layout.hpp>
#include <ballast/memory/fit_layouts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/exhaustive_layout.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

namespace test_memory_fit_layouts {

using namespace ballast_test;
using namespace ballast;

namespace {

using buffers = std::vector<buffer>;
using numbers = std::vector<std::int64_t>;

constexpr fit_order orders[] = {fit_order::size, fit_order::lifetime, fit_order::area, fit_order::given};

/// The address of buffer i by trying every one, or that at the begin of the smallest free stretch.
std::int64_t find_by_trying(buffers const& all, numbers const& offsets, std::size_t i, bool smallest) {
  std::vector<bool> taken(1000, false);
  for (std::size_t j = 0; j < all.size(); ++j)
    if (offsets[j] >= 0 && share_time(all[i], all[j]))
      for (auto at = offsets[j]; at < offsets[j] + all[j].size; ++at) taken[static_cast<std::size_t>(at)] = true;
  std::int64_t best = -1, least = 1 << 20;
  for (std::size_t begin = 0; begin < taken.size();) {
    auto end = begin;
    while (end < taken.size() && !taken[end]) ++end;
    auto const a = all[i].alignment, from = static_cast<std::int64_t>(begin), start = (from + a - 1) / a * a;
    auto const room = static_cast<std::int64_t>(end) - from;
    if (start + all[i].size <= static_cast<std::int64_t>(end) && (smallest ? room < least : best < 0)) best = start, least = room;
    begin = end + 1;
  }
  return best;
}

}  // namespace

TEST_CASE("first_fit_layout, best_fit_layout: a gap of 4 below, one of 3 above") {
  buffers const all{{.lower = 0, .upper = 1, .size = 4},
                    {.lower = 0, .upper = 9, .size = 2},
                    {.lower = 0, .upper = 2, .size = 3},
                    {.lower = 0, .upper = 9, .size = 1},
                    {.lower = 5, .upper = 9, .size = 3}};
  CHECK(first_fit_layout(all, fit_order::given).offsets == numbers{0, 4, 6, 9, 0});
  CHECK(best_fit_layout(all, fit_order::given).offsets == numbers{0, 4, 6, 9, 6});
  CHECK(first_fit_layout(all, fit_order::size).offsets == numbers{0, 7, 4, 9, 0});
  CHECK(first_fit_layout(all, fit_order::lifetime).offsets == numbers{6, 0, 3, 2, 3});
  CHECK(first_fit_layout(all, fit_order::area).offsets == numbers{6, 0, 2, 5, 2});
  CHECK(first_fit_layout(buffers{}).status == status::feasible);
}

TEST_CASE("first_fit_layout, best_fit_layout: valid, and as by trying every address") {
  for (std::uint64_t seed = 0; seed < 400; seed += round_step) {
    CAPTURE(seed);
    splitmix64 draw(seed);
    auto all = random_buffers(uniform_below(20, draw), 12, 30, draw);
    for (auto& b : all) {
      if (seed % 2 == 0) b.alignment = 1 + static_cast<std::int64_t>(uniform_below(6, draw));
      if (uniform_below(20, draw) == 0) b.size = 0;
      if (seed % 4 == 0 && uniform_below(6, draw) == 0) b.fixed = b.alignment * static_cast<std::int64_t>(uniform_below(9, draw));
    }
    for (auto const order : orders)
      for (auto const smallest : {false, true}) {
        auto const layout = smallest ? best_fit_layout(all, order) : first_fit_layout(all, order);
        REQUIRE(check_layout(all, layout).valid());
        auto const bound = layout_lower_bound(all);
        REQUIRE((layout.status == status::infeasible) == (bound.bound == layout_bound::fixed_addresses));
        REQUIRE(layout.height.lower_bound == bound.height);
        if (order != fit_order::given || layout.status == status::infeasible) continue;
        numbers offsets(all.size(), -1);
        for (std::size_t i = 0; i < all.size(); ++i)
          if (all[i].fixed >= 0) offsets[i] = all[i].fixed;
        for (std::size_t i = 0; i < all.size(); ++i)
          if (all[i].fixed < 0) offsets[i] = all[i].size == 0 ? 0 : find_by_trying(all, offsets, i, smallest);
        REQUIRE(layout.offsets == offsets);
      }
  }
}

TEST_CASE("first_fit_layout: refuses what is no buffer") {
  CHECK(refusal([] { return first_fit_layout(buffers(1)); }) == "buffers[0].upper = 0 must exceed lower = 0");
  CHECK(refusal([] { return best_fit_layout(buffers(1)); }) == "buffers[0].upper = 0 must exceed lower = 0");
}

}  // namespace test_memory_fit_layouts
