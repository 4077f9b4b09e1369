// SPDX-License-Identifier: Apache-2.0
#include <ballast/levels/plan.hpp>

#include "levels/suite.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace test_levels_device_table {

using namespace ballast;
using namespace test_levels;

TEST_CASE("table_of: devices of one rank stand side by side and see the same packs", "[plan]") {
  splitmix64 draw(4);
  auto const plan = plan_levels(mixed_lengths(2000, draw), three, {.devices = 16, .seed = 1});
  auto const table = table_of(plan);
  REQUIRE(table.level.size() == plan.order.size());
  for (std::size_t s = 0; s < table.level.size(); ++s) {
    auto const at = plan.order.at(s);
    CHECK(table.level[s] == at.source);
    auto const& steps = plan.steps.steps[at.source];
    for (std::size_t d = 0; d < 16; ++d)
      for (std::size_t m = 0; m < table.micro_batches; ++m) {
        auto const found = table.table[(s * 16 + d) * static_cast<std::size_t>(table.micro_batches) + m];
        auto const wanted = m < steps.micro_batches ? steps.at(at.index, d / at.setting.sp, m) : table.none;
        REQUIRE((found == table.none) == (wanted == table.none));
        if (found == table.none) continue;
        REQUIRE(std::equal(table.packs[found].begin(), table.packs[found].end(), steps.packs[wanted].begin(), steps.packs[wanted].end()));
      }
  }
}

TEST_CASE("hash(device_table): tells devices, places and levels apart, and no index types", "[plan]") {
  splitmix64 draw(4);
  auto const lengths = mixed_lengths(500, draw);
  auto const table = table_of(plan_levels(lengths, three, {.devices = 16, .seed = 1}));
  CHECK(hash(table) == hash(table_of(plan_levels<std::uint64_t>(lengths, three, {.devices = 16, .seed = 1}))));
  auto other = table;
  std::swap(other.devices, other.micro_batches);
  CHECK(hash(other) != hash(table));
  other = table;
  std::swap(other.table.front(), other.table.back());
  CHECK(hash(other) != hash(table));
  other = table;
  ++other.level.front();
  CHECK(hash(other) != hash(table));
}

}  // namespace test_levels_device_table
