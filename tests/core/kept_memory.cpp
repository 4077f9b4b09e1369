// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/kept_memory.hpp>

#include "support/catch.hpp"

#include <type_traits>
#include <vector>

namespace test_core_kept_memory {

TEST_CASE("kept_memory: planners write what it keeps, and a copy keeps its own") {
  using memory = ballast::kept_memory<std::vector<int>>;
  static_assert(std::is_default_constructible_v<memory> && std::is_copy_constructible_v<memory> && !std::is_aggregate_v<memory>);
  memory kept;
  ballast::detail::memory_of(kept) = {1, 2};
  auto copy = kept;
  ballast::detail::memory_of(copy).push_back(3);
  CHECK(ballast::detail::memory_of(kept).size() == 2);
  CHECK(ballast::detail::memory_of(copy).size() == 3);
}

}  // namespace test_core_kept_memory
