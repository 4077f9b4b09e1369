// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/batching/stream_steps.hpp>
#include <ballast/cost/polynomial.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace test_batching_stream_steps {

// What all planners owe is in planners.cpp.

using namespace ballast_test;
using options = ballast::batching_options;
using ballast::stream_options;

namespace {
/// Short samples, and one in sixteen that costs a multiple of them.
std::vector<std::int64_t> with_outliers(std::size_t count) {
  ballast::splitmix64 draw(11);
  std::vector<std::int64_t> lengths(count);
  for (auto& l : lengths) l = 50 + static_cast<std::int64_t>(draw() % (draw() % 16 == 0 ? 4000 : 300));
  return lengths;
}
ballast::quadratic_cost const attention{.linear = 0, .quadratic = 1};
}  // namespace

TEST_CASE("stream_steps: gathered outliers balance the steps", "[batching]") {
  auto const lengths = with_outliers(6000);
  options const o{.capacity = 4096, .ranks = 8, .seed = 3};
  auto const made = [&](stream_options const& how) {
    auto const plan = ballast::stream_steps(lengths, o, attention, how);
    REQUIRE(ballast::describe(ballast::check_batching(plan, lengths, o, attention)) == "valid");
    return plan;
  };
  auto const random = made({.tuning = {.threshold = 0}}), gathered = made({});
  CHECK(random.longest_delay <= 2);  // what finds no room comes with the next steps
  CHECK(random.token_delay > 0);
  CHECK(gathered.slowest_over_mean() - 1 < (random.slowest_over_mean() - 1) / 4);
  CHECK(gathered.token_delay == 0);  // nothing is late: the order is that of the plan
  CHECK(made({.tuning = {.fill = 900, .threshold = 0}}).fill(o.capacity) < random.fill(o.capacity));
}

TEST_CASE("stream_steps: outliers are split over ranks, no more than allowed", "[batching]") {
  auto const lengths = with_outliers(3000);
  options const o{.capacity = 4096, .ranks = 8, .seed = 3};
  for (std::uint64_t const most : {2U, 8U}) {
    stream_options const how{.share_overhead = 50, .most_ranks_shared = most, .tuning = {.threshold = 0, .share = 200}};
    auto const plan = ballast::stream_steps(lengths, o, attention, how);
    CHECK(ballast::describe(ballast::check_batching(plan, lengths, o, attention, 50)) == "valid");
    CHECK(!plan.shared.empty());
    for (auto const& s : plan.shared) CHECK(s.ranks <= most);
  }
}

TEST_CASE("stream_steps: refusals name the argument and the value", "[batching]") {
  std::vector<int> const one{5};
  auto const said = [&](stream_options const& how) {
    return refusal([&] { return ballast::stream_steps(one, {.capacity = 8}, attention, how); });
  };
  CHECK(said({.tuning = {.fill = 1001}}) == "fill = 1001 must be at most 1000");
  CHECK(said({.most_ranks_shared = 6}) == "most_ranks_shared = 6 must be a power of two above 1, or 0");
  CHECK(said({.most_ranks_shared = 1}) == "most_ranks_shared = 1 must be a power of two above 1, or 0");
}

}  // namespace test_batching_stream_steps
