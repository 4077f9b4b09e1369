// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/keyed_item.hpp>
#include <ballast/core/random.hpp>

#include <limits>

#include "support/catch.hpp"

namespace test_core_keyed_item {
namespace {

using item = ballast::keyed_item<>;

TEST_CASE("items are sorted as by comparison, whatever the range of their keys", "[core]") {
  ballast::splitmix64 random(7);
  std::vector<item> scratch;
  for (std::size_t const count : {0U, 1U, 512U, 513U, 3000U})
    for (int const bits : {0, 1, 11, 12, 40, 64}) {
      std::vector<item> items(count);
      for (std::size_t i = 0; i < count; ++i) {
        auto const drawn = bits == 64 ? random() : random() & ((std::uint64_t{1} << bits) - 1);
        items[i] = {static_cast<std::int64_t>(drawn), static_cast<std::uint32_t>(i)};
      }
      if (count > 1 && bits == 64) items[1].key = (std::numeric_limits<std::int64_t>::min)();
      auto expected = items;
      std::sort(expected.begin(), expected.end());
      ballast::sort_largest_first(items, scratch);
      CHECK(std::equal(items.begin(), items.end(), expected.begin(), expected.end(),
                       [](auto const& a, auto const& b) { return a.key == b.key && a.item == b.item; }));
    }
}

}  // namespace
}  // namespace test_core_keyed_item
