// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/partition/check_consecutive.hpp>
#include <ballast/partition/consecutive_micro_batches.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace test_partition_consecutive_micro_batches {

using namespace ballast_test;
using ballast::consecutive_options;
using ballast::status;

using span_function = std::function<std::int64_t(std::uint64_t, std::uint64_t)>;

/// A time that rises at both ends, of one of several kinds: padded, packed, with a least time, concave in the tokens, any.
span_function random_cost(std::vector<std::int64_t> const& lengths, ballast::splitmix64& draw) {
  auto const n = lengths.size();
  auto const kind = draw() % 5;
  auto const fixed = between(0, 40, draw);
  if (kind == 0) return [=](std::uint64_t i, std::uint64_t j) { return fixed + static_cast<std::int64_t>(j - i) * lengths[i]; };
  if (kind == 1)
    return [=](std::uint64_t i, std::uint64_t j) {
      return fixed + std::accumulate(lengths.begin() + static_cast<std::ptrdiff_t>(i), lengths.begin() + static_cast<std::ptrdiff_t>(j),
                                     std::int64_t{0});
    };
  if (kind == 2)
    return [=](std::uint64_t i, std::uint64_t j) { return (std::max)(3 * fixed, static_cast<std::int64_t>(j - i) * lengths[i]); };
  if (kind == 3)
    return [=](std::uint64_t i, std::uint64_t j) {
      auto const x = static_cast<std::int64_t>(j - i) * lengths[i];
      std::int64_t root = 0;
      while ((root + 1) * (root + 1) <= 100 * x) ++root;
      return fixed + root;
    };
  std::vector<std::vector<std::int64_t>> table(n + 1, std::vector<std::int64_t>(n + 1, 0));
  for (std::size_t width = 1; width <= n; ++width)
    for (std::size_t i = 0; i + width <= n; ++i)
      table[i][i + width] = between(0, 9, draw) + (std::max)(table[i][i + width - 1], table[i + 1][i + width]);
  return [=](std::uint64_t i, std::uint64_t j) { return table[i][j]; };
}

/// The least objective over all cuts; the largest number if there is none.
std::int64_t exhaustive(std::size_t n, consecutive_options const& o, span_function const& cost, span_function const& size) {
  auto best = (std::numeric_limits<std::int64_t>::max)();
  for (std::uint64_t set = 0; set < std::uint64_t{1} << (n - 1); ++set) {
    std::int64_t slowest = 0, sum = 0;
    auto fits = true;
    for (std::uint64_t begin = 0, end = 1; end <= n; ++end) {
      if (end < n && (set >> (end - 1) & 1U) == 0) continue;
      slowest = (std::max)(slowest, cost(begin, end));
      sum += cost(begin, end);
      fits = fits && size(begin, end) <= o.capacity;
      begin = end;
    }
    auto const value = static_cast<std::int64_t>(o.slowest_weight) * slowest + static_cast<std::int64_t>(o.sum_weight) * sum;
    if (fits) best = (std::min)(best, value);
  }
  return best;
}

std::vector<std::int64_t> descending(std::size_t n, std::int64_t longest, ballast::splitmix64& draw) {
  auto out = random_lengths(n, longest, draw);
  std::sort(out.begin(), out.end(), std::greater<>());
  return out;
}

TEST_CASE("consecutive_micro_batches: optimal among all cuts of up to 12 samples", "[partition][consecutive_micro_batches]") {
  ballast::splitmix64 draw(5);
  int with_queue = 0, without = 0, impossible = 0;
  for (int round = 0; round < 1500; round += round_step) {
    auto const n = static_cast<std::size_t>(between(1, round % 8 == 0 ? 12 : 8, draw));
    auto const lengths = descending(n, 30, draw);
    auto const cost = random_cost(lengths, draw);
    span_function const size = [&](std::uint64_t i, std::uint64_t j) { return static_cast<std::int64_t>(j - i) * lengths[i]; };
    consecutive_options const o{.capacity = between(20, 200, draw),
                                .slowest_weight = static_cast<std::uint64_t>(between(0, 12, draw)),
                                .sum_weight = static_cast<std::uint64_t>(between(1, 3, draw))};
    auto const best = exhaustive(n, o, cost, size);
    auto const plan = ballast::consecutive_micro_batches(n, o, cost, size);
    CAPTURE(round, n, plan.objective.value, best, plan.quadrangle);
    REQUIRE(check_consecutive(plan, n, o, cost, size).valid());
    if (plan.status == status::infeasible) {
      ++impossible;
      CHECK(best == (std::numeric_limits<std::int64_t>::max)());
      continue;
    }
    CHECK(plan.objective.value == best);
    CHECK(plan.objective.optimal());
    ++(plan.quadrangle ? with_queue : without);
    CHECK(plan == ballast::consecutive_micro_batches(n, o, cost, size));

    auto published = o;
    published.candidate_step = 1;
    auto const thinned = ballast::consecutive_micro_batches(n, published, cost, size);
    REQUIRE(check_consecutive(thinned, n, o, cost, size).valid());
    if (thinned.status == status::feasible) {
      CHECK(thinned.objective.value >= best);
      CHECK(thinned.objective.lower_bound <= best);
    }
    auto hurried = o;
    hurried.work = 1;
    auto const rough = ballast::consecutive_micro_batches(n, hurried, cost, size);
    REQUIRE(check_consecutive(rough, n, o, cost, size).valid());
    CHECK(rough.objective.value >= best);
    CHECK(rough.objective.lower_bound <= best);
    CHECK(rough.programs == 1);
  }
  if (round_step == 1) {
    CHECK(with_queue > 300);
    CHECK(without > 300);
    CHECK(impossible > 5);
  }
}

/// f over all candidates, one program each, as the method was published but without leaving out any.
std::int64_t every_candidate(std::size_t n, consecutive_options const& o, span_function const& cost, span_function const& size) {
  std::vector<std::int64_t> limits;
  for (std::size_t j = 1; j <= n; ++j)
    for (std::size_t i = 0; i < j; ++i)
      if (size(i, j) <= o.capacity) limits.push_back(cost(i, j));
  std::sort(limits.begin(), limits.end());
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  auto best = (std::numeric_limits<std::int64_t>::max)();
  constexpr auto none = (std::numeric_limits<std::int64_t>::max)() / 4;
  for (auto const limit : limits) {
    std::vector<std::int64_t> least(n + 1, none);
    least[0] = 0;
    for (std::size_t j = 1; j <= n; ++j)
      for (std::size_t i = j; i-- > 0 && size(i, j) <= o.capacity && cost(i, j) <= limit;)
        least[j] = (std::min)(least[j], least[i] + cost(i, j));
    if (least[n] < none)
      best = (std::min)(best, static_cast<std::int64_t>(o.slowest_weight) * limit + static_cast<std::int64_t>(o.sum_weight) * least[n]);
  }
  return best;
}

TEST_CASE("consecutive_micro_batches: equal to all candidates, one by one, with few programs", "[partition][consecutive_micro_batches]") {
  ballast::splitmix64 draw(6);
  for (int round = 0; round < 60; round += round_step) {
    auto const n = static_cast<std::size_t>(between(20, 60, draw));
    auto const lengths = descending(n, 400, draw);
    auto const cost = random_cost(lengths, draw);
    span_function const size = [&](std::uint64_t i, std::uint64_t j) { return static_cast<std::int64_t>(j - i) * lengths[i]; };
    consecutive_options const o{.capacity = between(400, 4000, draw), .slowest_weight = static_cast<std::uint64_t>(between(0, 30, draw))};
    auto const plan = ballast::consecutive_micro_batches(n, o, cost, size);
    CAPTURE(round, n, plan.programs, plan.quadrangle);
    REQUIRE(check_consecutive(plan, n, o, cost, size).valid());
    CHECK(plan.objective.value == every_candidate(n, o, cost, size));
    CHECK(plan.objective.optimal());
    CHECK(plan.programs <= 60);
  }
}

TEST_CASE("consecutive_micro_batches: a batch whose spans exceed the table", "[partition][consecutive_micro_batches]") {
  std::vector<std::int64_t> sums{0};
  ballast::splitmix64 draw(7);
  constexpr std::size_t n = 3000;  // 4.5 million spans
  for (std::size_t i = 0; i < n; ++i) sums.push_back(sums.back() + between(1, 50, draw));
  auto const cost = [&](std::uint64_t i, std::uint64_t j) { return 2000 + sums[j] - sums[i]; };
  auto const free = [](std::uint64_t, std::uint64_t) { return 0; };
  consecutive_options const o{.slowest_weight = 8};
  auto const plan = ballast::consecutive_micro_batches(n, o, cost, free);
  CHECK(check_consecutive(plan, n, o, cost, free).valid());
  CHECK(plan.objective.optimal());
  CHECK(plan.quadrangle);
  // k micro-batches take at least ceil(total / k) + 2000 each: the best k by that bound is attained.
  auto least = (std::numeric_limits<std::int64_t>::max)();
  for (std::int64_t k = 1; k <= 100; ++k) least = (std::min)(least, 8 * (2000 + (sums.back() + k - 1) / k) + sums.back() + 2000 * k);
  CHECK(plan.objective.value >= least);
  CHECK(plan.objective.value <= least + 8 * 50);

  std::uint64_t calls = 0;
  auto const counts = [&](std::uint64_t i, std::uint64_t j) { return static_cast<void>(++calls), cost(i, j); };
  CHECK(ballast::consecutive_micro_batches(n, {.slowest_weight = 8, .quadrangle = true}, counts, free) == plan);
  calls = 0;
  CHECK(ballast::consecutive_micro_batches(n, {.quadrangle = true}, counts, free) == ballast::consecutive_micro_batches(n, {}, cost, free));
  CHECK(calls < n * n / 20);  // of n * n / 2 spans
}

TEST_CASE("consecutive_micro_batches: as published, close candidates are left out, and with them every plan",
          "[partition][consecutive_micro_batches]") {
  // Three samples that take 3, 2 and 1: of the candidates 1 ... 6 only 1 is kept, and the first sample takes 3.
  std::vector<std::int64_t> const sums{0, 3, 5, 6};
  auto const cost = [&](std::uint64_t i, std::uint64_t j) { return sums[j] - sums[i]; };
  consecutive_options const by{.slowest_weight = 3, .candidate_step = 5};
  auto const none = ballast::consecutive_micro_batches(3, by, cost, cost);
  CHECK(none.status == status::unknown);
  CHECK(check_consecutive(none, 3, by, cost, cost).valid());
  auto const exact = ballast::consecutive_micro_batches(3, {.slowest_weight = 3}, cost, cost);
  CHECK(exact.objective.value == 15);  // 3 * 3 + 6
  CHECK(exact.slowest == 3);
  CHECK(exact.sum == 6);
}

TEST_CASE("consecutive_micro_batches: only the sum, only the slowest, no sample, one sample", "[partition][consecutive_micro_batches]") {
  std::vector<std::int64_t> const lengths{9, 5, 5, 2, 1};
  auto const cost = [&](std::uint64_t i, std::uint64_t j) { return 4 + static_cast<std::int64_t>(j - i) * lengths[i]; };
  auto const size = [](std::uint64_t i, std::uint64_t j) { return j - i; };
  auto const sum = ballast::consecutive_micro_batches(5, {.sum_weight = 2}, cost, size);
  CHECK(sum.boundaries == std::vector<std::uint32_t>{0, 1, 3, 5});  // 13 + 14 + 8
  CHECK(sum.objective == ballast::certificate{70, 70});
  CHECK(sum.programs == 1);
  auto const slowest = ballast::consecutive_micro_batches<std::uint64_t>(5, {.slowest_weight = 1, .sum_weight = 0}, cost, size);
  CHECK(slowest.slowest == 13);
  CHECK(slowest.objective == ballast::certificate{13, 13});
  auto const empty = ballast::consecutive_micro_batches(0, {}, cost, size);
  CHECK(empty.boundaries == std::vector<std::uint32_t>{0});
  CHECK(check_consecutive(empty, 0, {}, cost, size).valid());
  CHECK(ballast::consecutive_micro_batches(1, {.slowest_weight = 2}, cost, size).objective.value == 39);
  auto const full = ballast::consecutive_micro_batches(5, {.capacity = 1}, cost, size);
  CHECK(full.boundaries.size() == 6);
  auto const too_large = ballast::consecutive_micro_batches(5, {.capacity = 8}, cost, cost);
  CHECK(too_large.status == status::infeasible);
  CHECK(too_large.objective == ballast::certificate{8, 13});
  CHECK(check_consecutive(too_large, 5, {.capacity = 8}, cost, cost).valid());
}

TEST_CASE("consecutive_micro_batches: bad options and callables are refused", "[partition][consecutive_micro_batches]") {
  auto const one = [](std::uint64_t, std::uint64_t) { return 1; };
  auto const with = [&](consecutive_options const& o, auto const& cost, auto const& size) {
    return refusal([&] { return ballast::consecutive_micro_batches(4, o, cost, size); });
  };
  CHECK(with({.capacity = 0}, one, one) == "capacity = 0 must be positive");
  CHECK(with({.sum_weight = 0}, one, one) == "slowest_weight = 0 and sum_weight = 0 must be below 2^31, and not both 0");
  CHECK(with({.candidate_step = -1}, one, one) == "candidate_step = -1 must not be negative");
  auto const falls = [](std::uint64_t i, std::uint64_t j) { return j - i == 3 ? 1 : 2; };
  CHECK(with({}, falls, one) == "cost(0, 3) = 1 is below cost(1, 3) = 2: it must not fall if the span grows");
  CHECK(with({.capacity = 2}, one, falls) == "size(0, 3) = 1 is below size(0, 2) = 2: it must not fall if the span grows");
  auto const at_end = [](std::uint64_t i, std::uint64_t j) { return i == 1 && j == 4 ? 3 : 4; };
  CHECK(with({}, at_end, one) == "cost(1, 4) = 3 is below cost(2, 4) = 4: it must not fall if the span grows");
  auto const inner = [](std::uint64_t i, std::uint64_t j) { return i == 1 && j == 4 ? 9 : 4; };  // only the end that is the same
  CHECK(with({}, inner, one) == "cost(0, 4) = 4 is below cost(1, 4) = 9: it must not fall if the span grows");
  auto const negative = [](std::uint64_t i, std::uint64_t) { return i == 2 ? -1 : 0; };
  CHECK(with({}, negative, one) == "cost(2, 3) = -1 is outside [0, 2^62)");
  auto const huge = [](std::uint64_t, std::uint64_t) { return std::uint64_t{1} << 61; };
  CHECK(with({}, huge, one) == "the slowest micro-batch that fits takes 2305843009213693952: the objective could reach 2^62");
  CHECK(with(
            {}, [](std::uint64_t, std::uint64_t) { return std::uint64_t{1} << 63; }, one) ==
        "cost(0, 1) = 9223372036854775808 is outside [0, 2^62)");
}

}  // namespace test_partition_consecutive_micro_batches
