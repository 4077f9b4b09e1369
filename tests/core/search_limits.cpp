// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/search_limits.hpp>

#include "support/catch.hpp"
#include "support/progress_log.hpp"

#include <concepts>
#include <cstdint>

namespace test_core_search_limits {

using ballast::progress_callback;

TEST_CASE("progress_callback: refers to what is told, and refuses what would be gone") {
  std::uint64_t sum = 0;
  auto const tell = [&](std::uint64_t done, std::uint64_t most) { sum += 100 * done + most; };
  progress_callback const told = tell, copied = told;
  told(1, 7);
  copied(2, 7);
  CHECK(sum == 314);
  progress_callback{}(1, 2);  // nobody
  ballast_test::progress_log log;
  progress_callback const counted = log;
  counted(3, 9);
  CHECK((log.calls == 1 && log.last == 3 && log.most == 9));
  STATIC_REQUIRE(!std::constructible_from<progress_callback, decltype(tell)>);  // a temporary
  STATIC_REQUIRE(!std::constructible_from<progress_callback, int&>);
}

}  // namespace test_core_search_limits
