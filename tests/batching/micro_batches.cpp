// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/batching/check_micro_batches.hpp>
#include <ballast/batching/micro_batches.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/cost/polynomial.hpp>

#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <stop_token>
#include <utility>
#include <vector>

namespace test_batching_micro_batches {

using namespace ballast_test;
using ballast::batching_options;
using ballast::micro_batch_constraints;
using ballast::micro_batches;
using ballast::status;
using ballast::synchronisation;
using numbers = std::vector<std::int64_t>;
using keys = std::vector<std::uint64_t>;

namespace {
inline constexpr ballast::quadratic_cost dear{.linear = 500, .quadratic = 1};

struct batch_case {
  numbers lengths;
  batching_options options;
  keys together, apart;
  micro_batch_constraints asked;
};
/// A batch of any shape under any rules; of keys those that fit the capacity together.
batch_case random_batch(std::uint64_t seed, std::int64_t most) {
  ballast::splitmix64 draw(seed);
  batch_case c;
  c.lengths = random_lengths(static_cast<std::size_t>(between(1, most, draw)), 1000, draw);
  c.options = {.capacity = between(1000, 3000, draw),
               .ranks = static_cast<std::uint64_t>(between(1, 8, draw)),
               .micro_batches = static_cast<std::uint64_t>(between(1, 3, draw)),
               .synchronisation = static_cast<synchronisation>(between(0, 2, draw)),
               .stages = static_cast<std::uint64_t>(between(1, 4, draw))};
  auto const kind = between(0, 4, draw);
  if (kind == 1 || kind == 3)
    for (std::size_t i = 0; i < c.lengths.size(); ++i) c.together.push_back(i % 5 == 3 ? i - 1 : i);  // pairs
  for (std::size_t i = 0; i + 1 < c.together.size(); ++i)
    if (c.together[i + 1] == c.together[i] && c.lengths[i] + c.lengths[i + 1] > c.options.capacity) c.lengths[i + 1] = 1;
  for (std::size_t i = 0; i + 1 < c.lengths.size() && kind == 3; ++i)
    if (c.together[i + 1] == c.together[i] && c.lengths[i] + 1 > c.options.capacity) c.lengths[i] -= 1;
  if (kind == 2 || kind == 3)
    for (std::size_t i = 0; i < c.lengths.size(); ++i) c.apart.push_back((kind == 3 ? c.together[i] : i) % 3);
  c.asked.equal_counts = kind == 4;
  c.asked.small_ends = between(0, 2, draw) == 0;
  if (between(0, 3, draw) == 0) c.asked.at_least = static_cast<std::uint64_t>(between(1, 9, draw));
  if (between(0, 3, draw) == 0) {
    c.asked.exactly = c.options.micro_batches * static_cast<std::uint64_t>(between(1, 12, draw));
    c.asked.at_least = 1;
  }
  return c;
}
micro_batch_constraints rules_of(batch_case const& c) {
  auto asked = c.asked;
  asked.together = c.together;
  asked.apart = c.apart;
  return asked;
}
void require_plan(ballast::micro_batching<> const& plan, batch_case const& c, auto const& cost) {
  auto const verdict = check_micro_batches(plan, c.lengths, c.options, cost, rules_of(c));
  INFO(ballast::describe(verdict));
  REQUIRE(verdict.valid());
}

/// The fewest packs by trying every pack for every sample.
std::size_t fewest_packs(numbers const& lengths, std::int64_t capacity) {
  auto best = lengths.size();
  numbers held;
  std::function<void(std::size_t)> const put = [&](std::size_t i) {
    if (held.size() >= best) return;
    if (i == lengths.size()) {
      best = held.size();
      return;
    }
    for (std::size_t p = 0; p < held.size(); ++p)
      if (held[p] + lengths[i] <= capacity) {
        held[p] += lengths[i];
        put(i + 1);
        held[p] -= lengths[i];
      }
    held.push_back(lengths[i]);
    put(i + 1);
    held.pop_back();
  };
  put(0);
  return best;
}
/// The least cost of the slowest rank over all ways to fill `each` micro-batches on `ranks`, by trying them all; nothing if none fits.
std::int64_t least_slowest(numbers const& lengths, std::int64_t capacity, std::size_t ranks, std::size_t each, bool equal) {
  auto best = std::numeric_limits<std::int64_t>::max();
  numbers held(ranks * each), cost(ranks), count(ranks * each);
  std::function<void(std::size_t)> const put = [&](std::size_t i) {
    if (i == lengths.size()) {
      auto const [low, high] = std::minmax_element(count.begin(), count.end());
      if (!equal || *high - *low <= 1) best = (std::min)(best, *std::max_element(cost.begin(), cost.end()));
      return;
    }
    for (std::size_t p = 0; p < held.size(); ++p) {
      if (held[p] + lengths[i] > capacity) continue;
      held[p] += lengths[i];
      cost[p / each] += dear(lengths[i]);
      ++count[p];
      put(i + 1);
      --count[p];
      cost[p / each] -= dear(lengths[i]);
      held[p] -= lengths[i];
      if (count[p] == 0 && p % each == 0) break;  // empty ranks are alike
    }
  };
  put(0);
  return best;
}
}  // namespace

TEST_CASE("micro_batches: every rule is kept, the bounds are below, and the plan is the same twice") {
  int infeasible = 0, unknown = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    CAPTURE(seed);
    auto const c = random_batch(seed, seed % 3 == 0 ? 12 : 150);
    auto const plan = micro_batches(c.lengths, c.options, dear, rules_of(c));
    require_plan(plan, c, dear);
    auto const again = micro_batches(c.lengths, c.options, dear, rules_of(c));
    REQUIRE((again.packs == plan.packs && again.table == plan.table && again.count == plan.count && again.status == plan.status));
    infeasible += plan.status == status::infeasible ? 1 : 0;
    unknown += plan.status == status::unknown ? 1 : 0;
  }
  CHECK(infeasible > 20);
  CHECK(unknown < 10);
}

TEST_CASE("micro_batches: the least number, and nothing infeasible that is not") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    auto c = random_batch(seed, 9);
    c.together.clear();
    c.apart.clear();
    c.asked = {};
    auto const packs = fewest_packs(c.lengths, c.options.capacity);
    auto const ranks = static_cast<std::size_t>(c.options.ranks), step = static_cast<std::size_t>(c.options.micro_batches);
    auto const least = ((packs + ranks - 1) / ranks + step - 1) / step * step;
    auto const plan = micro_batches(c.lengths, c.options, dear);
    require_plan(plan, c, dear);
    REQUIRE(plan.micro_batches == least);
    REQUIRE(plan.count.optimal());
    for (auto each = step; each <= least + 2 * step; each += step) {
      c.asked.exactly = each;
      auto const demanded = micro_batches(c.lengths, c.options, dear, c.asked);
      require_plan(demanded, c, dear);
      REQUIRE((demanded.status == status::feasible) == (each >= least));
      if (each < least) REQUIRE(demanded.count.lower_bound > demanded.count.value);
    }
  }
}

TEST_CASE("micro_batches: near the best of all plans of few samples") {
  int cases = 0, best = 0, none = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const l = random_lengths(static_cast<std::size_t>(between(4, 7, draw)), 1000, draw);
    for (bool const equal : {false, true}) {
      batching_options const o{.capacity = between(1000, 1800, draw), .ranks = 2};
      micro_batch_constraints const asked{.exactly = 2, .equal_counts = equal};
      auto const plan = micro_batches(l, o, dear, asked);
      auto const least = least_slowest(l, o.capacity, 2, 2, equal);
      if (plan.status != status::feasible) {
        if (plan.status == status::infeasible) REQUIRE(least == std::numeric_limits<std::int64_t>::max());
        none += least == std::numeric_limits<std::int64_t>::max() ? 1 : 0;
        continue;
      }
      REQUIRE(plan.slowest.value >= least);
      REQUIRE(plan.slowest.lower_bound <= least);
      ++cases;
      best += plan.slowest.value * 100 <= least * 105 ? 1 : 0;
    }
  }
  CAPTURE(cases, best, none);
  CHECK((cases > 200 && none > 3));
  CHECK(best * 100 > cases * 90);
}

TEST_CASE("micro_batches: no more work than the page says, whatever the lengths") {
  for (std::uint64_t ranks = 1; ranks <= 8; ranks += 7) {
    numbers const half(20'000, 2049);  // no two share a micro-batch: one plan, not one for every number that fails
    auto const plan = micro_batches(half, {.capacity = 4096, .ranks = ranks}, dear);
    CHECK((plan.micro_batches == 20'000 / ranks && plan.count.optimal() && plan.slowest.optimal()));
    int asked = 0;
    auto const counted = [&](std::int64_t l) {
      ++asked;
      return dear(l);
    };
    numbers const some(4'000, 2049);
    static_cast<void>(micro_batches(some, {.capacity = 4096, .ranks = ranks}, counted, {.equal_counts = true}));
    CHECK(asked == 4'000);  // each sample is weighed once
  }
  ballast::splitmix64 draw(3);
  auto const wide = [&](std::size_t n, std::int64_t low, std::int64_t high) {
    numbers l(n);
    for (auto& x : l) x = between(low, high, draw);
    return l;
  };
  for (auto const& l : {wide(2000, 1 << 18, 1 << 20), wide(2000, (1 << 20) / 3, (1 << 20) / 3 + 999), wide(2000, 262'145, 262'200)}) {
    auto const plan = micro_batches(l, {.capacity = 1 << 20, .ranks = 3}, ballast::quadratic_cost{}, {}, {.work = 1'000'000});
    CHECK(check_micro_batches(plan, l, {.capacity = 1 << 20, .ranks = 3}, ballast::quadratic_cost{}).valid());
    CHECK(plan.count.value <= plan.count.lower_bound + plan.count.lower_bound / 4);
  }
}

TEST_CASE("micro_batches: those of one rank are no less balanced than by longest processing time first, where that fits") {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const l = random_lengths(static_cast<std::size_t>(between(1, 80, draw)), 1000, draw);
    batching_options const o{.capacity = between(1000, 3000, draw), .ranks = 1};
    auto const fewest = micro_batches(l, o, dear).micro_batches;
    for (auto each = fewest; each < (std::min)(fewest + 6, std::uint64_t{l.size()} + 1); ++each) {
      micro_batch_constraints const asked{.exactly = each};
      auto const plan = micro_batches(l, o, dear, asked);
      REQUIRE(check_micro_batches(plan, l, o, dear, asked).valid());
      std::int64_t largest = 0;
      for (auto const pack : plan.packs) {
        std::int64_t cost = 0;
        for (auto i : pack) cost += dear(l[i]);
        largest = (std::max)(largest, cost);
      }
      auto const rival = ballast::longest_processing_time(l, {.sets = each, .capacity = o.capacity}, dear);
      if (rival.status != status::feasible) continue;
      REQUIRE(largest <= rival.load.value);
      compared += each > fewest ? 1 : 0;
    }
  }
  CHECK(compared > 500);
}

TEST_CASE("micro_batches: what best fit cannot prove is searched for") {
  ballast::splitmix64 draw(17);
  std::int64_t found = 0, needed = 0;
  for (int batch = 0; batch < 5; ++batch) {
    numbers l(256);
    for (auto& x : l) x = draw() % 6 == 0 ? between(300, 700, draw) : between(1250, 1470, draw);  // as of images: about three in 4,096
    std::int64_t tokens = 0;
    for (auto x : l) tokens += x;
    auto const plan = micro_batches(l, {.capacity = 4096}, dear);
    CHECK(plan.count.lower_bound >= (tokens + 4095) / 4096);
    CHECK(plan.count.value <= plan.count.lower_bound + 1);
    CHECK(plan.count.value <= micro_batches(l, {.capacity = 4096}, dear, {}, {.work = 0}).count.value);
    std::stop_source stopped;
    stopped.request_stop();
    auto const cut = micro_batches(l, {.capacity = 4096}, dear, {}, {.stop = stopped.get_token()});
    CHECK((plan.complete && !cut.complete && !static_cast<ballast::batching<> const&>(cut).complete));
    found += plan.count.value;
    needed += plan.count.lower_bound;
  }
  CHECK(found <= needed + 2);
}

TEST_CASE("micro_batches: balanced where nothing forbids it; the smallest cost and the weakest range do") {
  ballast::splitmix64 draw(13);
  numbers l(1024);
  for (auto& x : l) x = between(50, 800, draw);
  batching_options o{.capacity = 8192, .ranks = 8};
  CHECK(micro_batches(l, o, ballast::dense_4096_cost).slowest.gap() < 0.002);
  CHECK(micro_batches(l, o, ballast::dense_4096_cost, {.exactly = 8, .equal_counts = true}).slowest.gap() < 0.005);
  o.synchronisation = synchronisation::per_micro_batch;
  CHECK(micro_batches(l, o, ballast::dense_4096_cost).slowest.gap() < 0.02);
  CHECK(micro_batches(weakest_lengths(l), o, smallest_cost(2)).slowest.gap() < 0.02);
  CHECK(micro_batches(std::vector<int>{}, o, dear).steps() == 0);
  auto const plan = micro_batches<std::uint64_t>(l, o, dear);
  CHECK(ballast::hash(plan.packs) == ballast::hash(micro_batches(l, o, dear).packs));
}

TEST_CASE("micro_batches: keys, equal counts and small ends by hand") {
  keys const pairs{1, 1, 2, 2, 3, 3}, kinds{0, 0, 0, 0, 7, 7};
  numbers const l{3, 3, 3, 3, 3, 3};
  CHECK(micro_batches(l, {.capacity = 12}, dear).micro_batches == 2);
  CHECK(micro_batches(l, {.capacity = 11}, dear, {.together = pairs}).micro_batches == 3);  // a pair and half of another do not count
  CHECK(micro_batches(l, {.capacity = 12}, dear, {.together = pairs, .apart = kinds}).micro_batches == 2);
  CHECK(micro_batches(l, {.capacity = 18}, dear, {.apart = kinds}).micro_batches == 2);
  CHECK(micro_batches(l, {.capacity = 18, .micro_batches = 4}, dear).micro_batches == 4);
  CHECK(micro_batches(l, {.capacity = 18}, dear, {.at_least = 3}).micro_batches == 3);
  numbers const uneven{9, 1, 1, 1, 1, 1};
  auto const counts = [&](bool equal) {
    auto const plan = micro_batches(uneven, {.capacity = 10}, dear, {.equal_counts = equal});
    return std::pair(plan.micro_batches, plan.packs[0].size() + plan.packs[1].size());
  };
  CHECK(counts(false) == std::pair(std::uint64_t{2}, std::size_t{6}));
  CHECK(counts(true).first == 3);  // with two, three samples would share with the 9
  auto const humps = micro_batches(numbers{1, 2, 3, 4, 5}, {.capacity = 5}, dear, {.exactly = 5, .small_ends = true});
  CHECK(humps.packs.members.size() == 5);
  numbers order;
  for (std::uint64_t m = 0; m < 5; ++m) order.push_back(humps.packs[humps.at(0, 0, m)][0] + 1);
  CHECK(order == numbers{1, 3, 5, 4, 2});

  auto const says = [&](micro_batch_constraints const& c, std::uint64_t multiple = 1) {
    return refusal([&] { return micro_batches(l, {.capacity = 12, .micro_batches = multiple}, dear, c); });
  };
  keys const few{1};
  keys const torn{0, 1, 0, 0, 0, 0};
  CHECK(says({.together = few}) == "together has 1 keys for 6 samples");
  CHECK(says({.together = pairs, .apart = torn}) == "samples 0 and 1 belong together and must be apart");
  CHECK(says({.at_least = 0}) == "at_least = 0 must be in 1 ... 2^20 - 1");
  CHECK(says({.exactly = 3}, 2) == "exactly = 3 must be below 2^20, a multiple of micro_batches = 2 and not below at_least = 1");
  CHECK(says({.together = pairs, .equal_counts = true}) == "equal_counts cannot be combined with together or apart keys");
}

}  // namespace test_batching_micro_batches
