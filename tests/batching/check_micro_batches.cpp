// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check_micro_batches.hpp>
#include <ballast/batching/micro_batches.hpp>
#include <ballast/cost/polynomial.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/verdicts.hpp"

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace test_batching_check_micro_batches {

using ballast::batching_options;
using ballast::micro_batch_constraints;
using ballast::micro_batches;
using ballast::status;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;
using keys = std::vector<std::uint64_t>;

namespace {
inline constexpr ballast::quadratic_cost dear{.linear = 500, .quadratic = 1};
}  // namespace

TEST_CASE("check_micro_batches: names the first rule broken") {
  numbers const l{3, 3, 2, 4, 5, 1};
  keys const pairs{1, 1, 2, 2, 3, 3}, kinds{0, 0, 1, 1, 0, 0};
  batching_options const o{.capacity = 8, .ranks = 1, .micro_batches = 1};
  auto const good = micro_batches(l, o, dear, {.together = pairs, .apart = kinds, .at_least = 3, .small_ends = true});
  auto const says = [&](auto change, micro_batch_constraints const& c) {
    auto plan = good;
    change(plan);
    return ballast_test::place_of(check_micro_batches(plan, l, o, dear, c));
  };
  micro_batch_constraints const asked{.together = pairs, .apart = kinds, .at_least = 3, .small_ends = true};
  auto const same = [](auto&) {};
  CHECK(says(same, asked) == ballast::verdict{});
  CHECK(says([](auto& p) { ++p.cost; }, asked) == ballast::verdict{ballast::batching_fault::wrong_cost, 0});
  CHECK(says([](auto& p) { p.status = status::unknown; }, asked) == ballast::verdict{ballast::micro_batch_fault::plan_refused, 0});
  CHECK(says(same, {.at_least = 4}) == ballast::verdict{ballast::micro_batch_fault::wrong_number, 0});
  CHECK(says(same, {.exactly = 2}) == ballast::verdict{ballast::micro_batch_fault::wrong_number, 0});
  CHECK(says([](auto& p) { p.count.value = 2; }, asked) == ballast::verdict{ballast::micro_batch_fault::wrong_number, 0});
  CHECK(says([](auto& p) { p.count.lower_bound = 4; }, asked) == ballast::verdict{ballast::micro_batch_fault::wrong_bound, 0});
  keys const one(6, 1), each{0, 1, 2, 3, 4, 5};
  CHECK(says(same, {.together = one}).fault == ballast::micro_batch_fault::torn_apart);
  CHECK(says(same, {.apart = each}).fault == ballast::micro_batch_fault::mixed_keys);
  CHECK(says([](auto& p) { std::swap(p.table[0], p.table[1]); }, asked) == ballast::verdict{ballast::micro_batch_fault::expensive_end, 2});

  auto none = o;
  none.micro_batches = 0;
  CHECK(ballast_test::place_of(check_micro_batches(good, l, none, dear)) == ballast::verdict{ballast::micro_batch_fault::wrong_number, 0});
  CHECK(refusal([&] { return check_micro_batches(good, l, o, dear, {.apart = std::span(each).first(2)}); }) ==
        "apart has 2 entries for 6 samples");

  auto const flat = micro_batches(l, o, dear, {.equal_counts = true});
  CHECK(check_micro_batches(flat, l, o, dear, {.equal_counts = true}).valid());
  auto gap = micro_batches(l, o, dear, {.exactly = 4});
  gap.micro_batches = 5;
  gap.count = {5, 5};
  gap.table.push_back(gap.none);
  CHECK(ballast_test::place_of(check_micro_batches(gap, l, o, dear, {.exactly = 5})) ==
        ballast::verdict{ballast::micro_batch_fault::needless_gap, 0});
}

}  // namespace test_batching_check_micro_batches
