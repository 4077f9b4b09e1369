// SPDX-License-Identifier: Apache-2.0
#include <ballast/loss/gradient_path.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>

namespace test_loss_gradient_path {

using ballast::gradient_path;
using enum ballast::gradient_reduction;

TEST_CASE("gradient_path: averaged over what is averaged, whatever is summed") {
  STATIC_REQUIRE(gradient_path{}.averaged_over() == 1);
  STATIC_REQUIRE(gradient_path{.ranks = 8, .context = 2, .micro_batches = 3}.averaged_over() == 16);  // accumulation sums
  STATIC_REQUIRE(gradient_path{.ranks = 8, .across_ranks = sum}.averaged_over() == 1);
  STATIC_REQUIRE(gradient_path{.ranks = 8, .micro_batches = 3, .across_micro_batches = average}.averaged_over() == 24);
  constexpr auto most = std::int64_t{1} << 20;
  constexpr gradient_path longest{.ranks = most, .context = most, .micro_batches = most, .across_micro_batches = average};
  STATIC_REQUIRE(longest.averaged_over() == std::uint64_t{1} << 60);
}

TEST_CASE("gradient_path: numbers that cannot be are named") {
  auto const says = [](gradient_path const& path) { return ballast_test::refusal([&] { return path.averaged_over(); }); };
  CHECK(says({.ranks = 0}) == "ranks = 0 must be in [1, 2^20]");
  CHECK(says({.context = -1}) == "context = -1 must be in [1, 2^20]");
  CHECK(says({.micro_batches = (std::int64_t{1} << 20) + 1}) == "micro_batches = 1048577 must be in [1, 2^20]");
}

}  // namespace test_loss_gradient_path
