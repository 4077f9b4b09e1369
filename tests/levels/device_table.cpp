// SPDX-License-Identifier: Apache-2.0
#include <ballast/levels/device_table.hpp>
#include <ballast/levels/plan.hpp>

#include "levels/suite.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

}  // namespace test_levels_device_table
