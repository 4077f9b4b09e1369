// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check_unequal_batch.hpp>
#include <ballast/batching/unequal_batch.hpp>
#include <ballast/cost/polynomial.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace test_batching_check_unequal_batch {
namespace {

using ballast::batching_fault;

TEST_CASE("check_unequal_batch: names the first broken rule", "[batching]") {
  std::vector<std::int64_t> const lengths{7, 3, 12, 2, 6};
  ballast::unequal_ranks const ranks{.unit_time = {1, 3}, .capacity = {9, 4}};
  auto const good = ballast::plan_unequal_batch(lengths, ranks, ballast::token_cost{});
  REQUIRE(ballast::check_unequal_batch(good, lengths, ranks, ballast::token_cost{}).valid());
  REQUIRE(good.too_long == std::vector<std::uint32_t>{2});
  auto const broken = [&](auto const& change) {
    auto plan = good;
    change(plan);
    return ballast::check_unequal_batch(plan, lengths, ranks, ballast::token_cost{}).fault;
  };
  auto const dear = [](std::int64_t) { return (std::numeric_limits<std::int64_t>::max)() / 2; };
  CHECK(ballast::check_unequal_batch(good, lengths, ranks, dear).fault == batching_fault::wrong_value);
  CHECK(ballast_test::refusal([&] {
          return ballast::check_unequal_batch(good, lengths, {.unit_time = {1}, .capacity = {9, 4}}, ballast::token_cost{});
        }) == "unit_time has 1 entry for 2 ranks");
  CHECK(broken([](auto& p) { p.rank_of.pop_back(); }) == batching_fault::wrong_shape);
  CHECK(broken([](auto& p) { ++p.rank_of.back(); }) == batching_fault::wrong_shape);
  CHECK(broken([](auto& p) { p.micro_batches.members.pop_back(); }) == batching_fault::bad_offsets);
  CHECK(broken([](auto& p) { p.micro_batches = {{0, 0, 4}, {0, 1, 3, 4}}, p.rank_of = {0, 2, 2}; }) == batching_fault::empty_pack);
  CHECK(broken([](auto& p) { p.micro_batches.members[0] = 5; }) == batching_fault::member_out_of_range);
  CHECK(broken([](auto& p) { p.micro_batches.members[1] = p.micro_batches.members[0]; }) == batching_fault::sample_twice);
  CHECK(broken([](auto& p) { p.micro_batches = {{0, 4}, {0, 1, 3, 4}}, p.rank_of = {0, 1, 1}; }) == batching_fault::overfull_pack);
  CHECK(broken([](auto& p) { p.too_long = {0}; }) == batching_fault::wrong_list);
  CHECK(broken([](auto& p) { p.too_long.clear(); }) == batching_fault::sample_missing);
  CHECK(broken([](auto& p) { ++p.time.value; }) == batching_fault::wrong_value);
  CHECK(broken([](auto& p) { p.time.lower_bound = p.time.value + 1; }) == batching_fault::wrong_bound);

  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  decltype(ballast::plan_unequal_batch(lengths, ranks, ballast::token_cost{})) large;
  large.micro_batches = {{0, 2}, {0, 1}};
  large.rank_of = {0, 1};
  auto const v = ballast::check_unequal_batch(large, std::vector{most / 2, most}, {.unit_time = {1}, .capacity = {most}}, dear);
  CHECK(v == ballast::verdict{batching_fault::overfull_pack, 0, most, most});
}

}  // namespace
}  // namespace test_batching_check_unequal_batch
