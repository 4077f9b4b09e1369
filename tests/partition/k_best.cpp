// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition/k_best.hpp>
#include <ballast/partition/second_objective.hpp>

#include "suite.hpp"

namespace test_partition_k_best {

using namespace ballast_test;
using ballast::k_best_partitions;

TEST_CASE("k_best_partitions: every plan is valid and distinct, in order, and fewer are the first of more") {
  for (std::uint64_t seed = 0; seed < 25; ++seed) {
    CAPTURE(seed);
    auto const c = random_chain_case(seed, seed % 3 == 0 ? nothing : seed % 3 == 1 ? transfers : speeds | empty_stages, 40, 6);
    auto const many = k_best_partitions(c.layers, 70, c.options());
    auto const few = k_best_partitions(c.layers, 7, c.options());
    REQUIRE(many.status == few.status);
    for (std::size_t i = 0; i < few.plans.size(); ++i) REQUIRE(few.plans[i].partition.boundaries == many.plans[i].partition.boundaries);
    for (std::size_t i = 0; i < many.plans.size(); ++i) {
      CAPTURE(i);
      auto const& plan = many.plans[i].partition;
      REQUIRE(check_partition(std::span<std::uint32_t const>(plan.boundaries), c.layers, c.options()).valid());
      auto const w = worth_of(c, plan.boundaries);
      REQUIRE((w->bottleneck == plan.bottleneck.value && ballast::wide{0, w->squares} == many.plans[i].squares));
      if (i == 0) continue;
      auto const& before = many.plans[i - 1];
      REQUIRE(before.partition.boundaries != plan.boundaries);
      REQUIRE(std::tie(before.partition.bottleneck.value, before.squares.low) <=
              std::tie(plan.bottleneck.value, many.plans[i].squares.low));
    }
    if (many.status == status::feasible)
      REQUIRE(many.plans[0].partition.boundaries == ballast::least_squares_partition(c.layers, c.options()).partition.boundaries);
  }
}

TEST_CASE("k_best_partitions: ties between cuts that do and do not have a stage at the limit") {
  chain_case c;  // 1 + 4 + 36 = 0 + 16 + 25: four layers as 1, 2, 6 and as 0, 4, 5 in any order, and then one of 6
  c.stages = 4;
  c.min_layers = 0;
  c.volume = numbers(4);
  for (auto four : {numbers{1, 1, 2, 5}, numbers{1, 2, 2, 4}}) do {
      c.layers = four;
      c.layers.push_back(6);
      auto const cuts = every_cut(c);
      for (std::uint64_t count = 1; count <= cuts.size() + 1; count += 1 + count / 8) {
        CAPTURE(c.layers, count);
        auto const ranked = k_best_partitions(c.layers, count, c.options());
        REQUIRE(ranked.plans.size() == (std::min)(static_cast<std::size_t>(count), cuts.size()));
        for (std::size_t i = 0; i < ranked.plans.size(); ++i) REQUIRE(ranked.plans[i].partition.boundaries == cuts[i].boundaries);
      }
    } while (std::next_permutation(four.begin(), four.end()));
}

TEST_CASE("k_best_partitions: corners and refusals") {
  auto const all = k_best_partitions(numbers{1, 2, 3}, 9, {.stages = 2});
  CHECK((all.every && all.plans.size() == 2 && all.plans[0].partition.boundaries == cut{0, 2, 3}));
  CHECK(all.bottleneck == ballast::certificate{3, 3});
  auto const exactly = k_best_partitions(numbers{1, 2, 3}, 2, {.stages = 2});
  CHECK((!exactly.every && exactly.plans.size() == 2));
  auto const none = k_best_partitions(numbers{1}, 2, {.stages = 2});
  CHECK((none.status == status::infeasible && none.bound == partition_bound::min_layers && none.plans.empty() && none.every));
  CHECK(none.bottleneck == ballast::certificate{1, 2});
  CHECK(refusal([] { return k_best_partitions(numbers{1}, 0, {.stages = 1}); }) == "count = 0 must be positive");
  CHECK(refusal([] { return k_best_partitions(numbers{1}, 1, {}); }) == "stages = 0 must be in 1 ... 2^31");
}

}  // namespace test_partition_k_best
