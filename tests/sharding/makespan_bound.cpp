// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/cost/divided_cost.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/makespan_bound.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_sharding_makespan_bound {

using namespace ballast;
using ballast_test::between;
using numbers = std::vector<std::int64_t>;

TEST_CASE("least_time: the work of all samples, or the longest of them") {
  divided_cost const even{quadratic_cost{.linear = 0, .quadratic = 1}};
  sharding_options const options{.capacity = 10, .ranks = 4, .cost_per_pass = 3};
  CHECK(least_time(numbers{}, options, even) == 0);
  CHECK(least_time(numbers{10}, options, even) == 28);                  // 100 / 4 + 3
  CHECK(least_time(numbers{10, 10, 10, 10, 1}, options, even) == 104);  // 401, and five passes of 3
}

TEST_CASE("least_time: no random plan takes less") {
  splitmix64 draw(7);
  for (int round = 0; round < 2000; ++round) {
    auto const ranks = between(1, 6, draw), capacity = between(20, 60, draw);
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(between(1, 12, draw)), capacity, draw);
    degree_cost const cost{.linear = between(0, 3000, draw), .square = between(0, 100, draw), .exchange = {0, between(0, 2000, draw), 900}};
    pass_list<> list;  // a pass for each sample, on neighbouring ranks
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      auto const first = between(0, ranks - 1, draw), last = between(first, ranks - 1, draw);
      std::vector<std::uint32_t> in;
      for (auto r = first; r <= last && static_cast<std::int64_t>(in.size()) < lengths[i]; ++r) in.push_back(static_cast<std::uint32_t>(r));
      list.ranks.push_back(in);
      list.placements.push_back({.sample = i, .pass = i});
    }
    auto const plan = make_shards(lengths, list, static_cast<std::uint64_t>(ranks));
    sharding_options const options{
        .capacity = capacity, .ranks = static_cast<std::uint64_t>(ranks), .cost_per_pass = between(0, 500, draw)};
    CAPTURE(round, lengths, ranks, capacity);
    CHECK(least_time(lengths, options, cost) <= time_shards(plan, cost, options.cost_per_pass).makespan);
  }
}

TEST_CASE("least_time: an evenly divided cost needs one call of each sample") {
  splitmix64 draw(8);
  for (int round = 0; round < 500; ++round) {
    auto const lengths = ballast_test::random_lengths(9, 60, draw);
    auto const square = [](std::int64_t n) { return n * n; };
    auto const divided = [](std::int64_t n, std::int64_t d) { return (n * n + d - 1) / d; };
    sharding_options const options{.capacity = 16, .ranks = static_cast<std::uint64_t>(between(1, 9, draw)), .cost_per_pass = 5};
    CHECK(least_time(lengths, options, divided_cost{square}) <= least_time(lengths, options, divided));
  }
}

}  // namespace test_sharding_makespan_bound
