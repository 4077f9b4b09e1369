// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition.hpp>

#include "suite.hpp"

namespace test_partition_refused {

using namespace ballast_test;

TEST_CASE("partition: a refused call leaves the plan as it was") {
  numbers const good{5, 3, 2, 9}, negative{5, -3, 2, 9}, huge{std::int64_t{1} << 62, std::int64_t{1} << 62}, two{1, 1};
  ballast::partition_workspace workspace;
  ballast::staged<> out;
  ballast::token_cost const token;
  min_max_partition(good, {.stages = 2}, token, workspace, out);
  auto const untouched = [&](auto const& call) { return refused_untouched(out, call); };
  for (auto const& [layers, o] :
       {std::pair(good, partition_options{}), std::pair(negative, partition_options{.stages = 2}),
        std::pair(huge, partition_options{.stages = 2}), std::pair(good, partition_options{.stages = 2, .unit_time = negative}),
        std::pair(good, partition_options{.stages = 2, .size = good, .capacity = negative}),
        std::pair(good, partition_options{.stages = 2, .size = good}), std::pair(good, partition_options{.stages = 2, .capacity = two}),
        std::pair(good, partition_options{.stages = 2, .transfer = two})}) {
    CHECK(untouched([&] { min_max_partition(layers, o, token, workspace, out); }));
  }
  auto const late = [](std::uint64_t begin, std::uint64_t end, std::uint64_t stage) {  // valid but for the last stages of a cut
    return stage == 2 ? std::int64_t{-1} : static_cast<std::int64_t>(end - begin);
  };
  CHECK(untouched([&] { min_max_partition(std::uint64_t{9}, {.stages = 3}, late, workspace, out); }));
}

}  // namespace test_partition_refused
