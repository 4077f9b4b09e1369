// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/streams/one_by_one.hpp>
#include <ballast/streams/outlier_stream.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace test_streams_one_by_one {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;

namespace {

constexpr quadratic_cost cost{.linear = 100, .quadratic = 1};
outlier_options const shape{.micro_batches = 3, .capacity = {2000}};

}  // namespace

TEST_CASE("one_by_one: the steps are those of blocks cut where enough tokens came, whenever they are popped", "[property]") {
  splitmix64 draw(1);
  for (int round = 0; round < 30; ++round) {
    auto const tokens = between(1, 5000, draw);
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(between(0, 80, draw)), 2000, draw);
    outlier_stream policy(shape, cost);
    std::vector<stream_step> wanted;
    numbers block;
    std::int64_t sum = 0;
    for (auto const l : lengths) {
      block.push_back(l);
      if ((sum += l) < tokens) continue;
      wanted.push_back(policy.push(block));
      block.clear();
      sum = 0;
    }
    if (!block.empty()) wanted.push_back(policy.push(block));
    for (auto& s : policy.flush()) wanted.push_back(s);

    one_by_one stream(outlier_stream(shape, cost), tokens);
    std::vector<stream_step> found;
    for (auto const l : lengths) {
      stream.push(l);
      while (stream.ready() && draw() % 3 != 0) found.push_back(stream.pop());
      if (draw() % 4 == 0) stream = one_by_one(outlier_stream(shape, cost, stream.policy().state()), tokens, 1, stream.pending());
    }
    for (auto& s : stream.flush()) found.push_back(s);
    CHECK(found == wanted);
    CHECK(stream.pending().empty());
    CHECK(!stream.ready());
    CHECK(stream.flush().empty());
  }
}

TEST_CASE("one_by_one: samples of several measures count by the last, and misuse") {
  auto const by_row = [](std::span<std::int64_t const> row) { return row[0] + row[1]; };
  one_by_one rows(outlier_stream({.micro_batches = 1, .capacity = {9, 9}}, by_row), 5, 2);
  rows.push(numbers{9, 4});
  CHECK(!rows.ready());
  rows.push(numbers{0, 1});
  REQUIRE(rows.ready());
  CHECK(rows.pop().lengths == numbers{9, 4, 0, 1});
  CHECK(refusal([&] { return rows.push(3), 0; }) == "a sample of 1 measure instead of 2");
  CHECK(refusal([&] { return rows.push(numbers{-1, 3}), 0; }) == "row[0] = -1 must not be negative");
  CHECK(refusal([&] { return rows.pop(); }) == "no block is complete: ask ready()");

  one_by_one single(outlier_stream(shape, cost), 5);
  CHECK(refusal([&] { return single.push(0), 0; }) == "length = 0 must be positive");
  single.push(2001);  // only the policy knows its capacity
  CHECK(refusal([&] { return single.pop(); }) == "lengths[0] = 2001 exceeds capacity = 2000");
  CHECK(std::ranges::equal(single.pending(), numbers{2001}));
  auto const start = [](std::int64_t tokens, std::size_t measures, numbers const& pending) {
    return refusal([&] { return one_by_one(outlier_stream(shape, cost), tokens, measures, pending).ready(); });
  };
  CHECK(start(0, 1, {}) == "tokens = 0 must be positive");
  CHECK(start(1, 0, {}) == "measures = 0 must be positive");
  CHECK(start(1, 2, {1, 2, 3}) == "3 measures are no multiple of 2");
}

}  // namespace test_streams_one_by_one
