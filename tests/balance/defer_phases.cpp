// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance/defer_phases.hpp>
#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

namespace test_balance_defer_phases {

using ballast::defer_phases;
using ballast::deferral_options;
using ballast::status;
using ballast_test::between;
using ballast_test::refusal;
using pairs = std::vector<std::array<std::int64_t, 2>>;
using numbers = std::vector<std::int64_t>;

namespace {

/// Samples of text, of which half have images.
struct drawn {
  pairs costs, sizes;
  numbers items;
  explicit drawn(std::size_t n) : items(n) { std::iota(items.begin(), items.end(), 0); }
  drawn(std::size_t n, ballast::splitmix64& draw) : drawn(n) {
    for (std::size_t i = 0; i < n; ++i) {
      auto const patches = draw() % 2 == 0 ? between(1, 8, draw) * 40 : 0, tokens = patches / 4 + between(5, 120, draw);
      sizes.push_back({patches, tokens});
      costs.push_back({patches, 2 * tokens});
    }
  }
  [[nodiscard]] std::array<std::int64_t, 2> largest() const {
    std::array<std::int64_t, 2> out{};
    for (auto const& s : sizes)
      for (std::size_t p = 0; p < 2; ++p) out[p] = std::max(out[p], s[p]);
    return out;
  }
};
auto of(pairs const& list) {
  return [&](std::int64_t i) { return list[static_cast<std::size_t>(i)]; };
}
ballast::deferred_phases<> planned(drawn const& batch, deferral_options const& o) {
  return defer_phases(batch.items, o, of(batch.costs), of(batch.sizes));
}

/// Loads of all ranks in a micro-batch of a phase, and the time of them.
struct table {
  std::size_t ranks, micro_batches;
  std::array<numbers, 2> load, held;
  explicit table(deferral_options const& o) : ranks(o.ranks), micro_batches(o.micro_batches) {
    for (auto* const of : {&load, &held})
      for (auto& t : *of) t.assign(ranks * micro_batches, 0);
  }
  void add(drawn const& batch, std::size_t i, std::size_t r, std::size_t a, std::size_t b, std::int64_t sign) {
    for (std::size_t p = 0; p < 2; ++p) {
      auto const c = (p == 0 ? a : b) * ranks + r;
      load[p][c] += sign * batch.costs[i][p];
      held[p][c] += sign * batch.sizes[i][p];
    }
  }
  [[nodiscard]] std::int64_t time() const {
    std::int64_t sum = 0;
    for (auto const& t : load)
      for (std::size_t m = 0; m < micro_batches; ++m) {
        auto const from = t.begin() + static_cast<std::ptrdiff_t>(m * ranks);
        sum += *std::max_element(from, from + static_cast<std::ptrdiff_t>(ranks));
      }
    return sum;
  }
  [[nodiscard]] bool fits(deferral_options const& o) const {
    for (std::size_t p = 0; p < 2; ++p)
      if (o.capacity[p] > 0 && *std::max_element(held[p].begin(), held[p].end()) > o.capacity[p]) return false;
    return true;
  }
};

/// Least times of all plans, by trying each, with deferral and without; `never` if no plan has room.
struct optimum {
  static constexpr std::int64_t never = (std::numeric_limits<std::int64_t>::max)();
  std::int64_t deferred = never, whole = never;
};
optimum try_all(drawn const& batch, deferral_options const& o) {
  table t(o);
  optimum best;
  std::function<void(std::size_t, bool)> const place = [&](std::size_t i, bool whole) {
    if (i == batch.items.size()) {
      if (!t.fits(o)) return;
      best.deferred = std::min(best.deferred, t.time());
      if (whole) best.whole = std::min(best.whole, t.time());
      return;
    }
    for (std::size_t r = 0; r < t.ranks; ++r)
      for (std::size_t a = 0; a < t.micro_batches; ++a)
        for (std::size_t b = a; b < t.micro_batches; ++b) {
          t.add(batch, i, r, a, b, 1);
          place(i + 1, whole && a == b);
          t.add(batch, i, r, a, b, -1);
        }
  };
  place(0, true);
  return best;
}

/// Each sample once in each phase, on one rank and in order, within the capacities, and the figures are those of the micro-batches.
void check(ballast::deferred_phases<> const& plan, drawn const& batch, deferral_options const& o) {
  REQUIRE(plan.status == status::feasible);
  auto const n = batch.items.size(), cells = static_cast<std::size_t>(o.ranks * o.micro_batches);
  auto const m = static_cast<std::size_t>(o.micro_batches);
  REQUIRE(plan.encoder.size() == cells);
  REQUIRE(plan.language.size() == cells);
  CHECK(plan.encoder.members.size() == n);
  CHECK(plan.language.members.size() == n);
  std::vector<std::size_t> first(n, cells), second(n, cells);
  for (std::size_t b = 0; b < cells; ++b) {
    for (auto const i : plan.encoder[b]) first[i] = b;
    for (auto const i : plan.language[b]) second[i] = b;
  }
  table t(o);
  numbers waiting(cells, 0);
  for (std::size_t i = 0; i < n; ++i) {
    REQUIRE(first[i] < cells);
    REQUIRE(second[i] < cells);
    CHECK(first[i] / m == second[i] / m);
    CHECK(first[i] <= second[i]);
    t.add(batch, i, first[i] / m, first[i] % m, second[i] % m, 1);
    for (auto b = first[i]; b < second[i]; ++b) waiting[b] += batch.sizes[i][1];
  }
  CHECK(t.fits(o));
  CHECK(plan.time.value == t.time());
  CHECK(plan.held == *std::max_element(waiting.begin(), waiting.end()));
  CHECK(plan.time.lower_bound <= plan.time.value);
  if (plan.undeferred > 0) CHECK(plan.time.value <= plan.undeferred);
}

}  // namespace

TEST_CASE("defer_phases: beside all plans of a few samples, no bound exceeds the optimum, and most plans reach it") {
  ballast::splitmix64 draw(5);
  int rounds = 0, optimal = 0, gains = 0, whole = 0;
  double ratios = 0, worst = 1;
  for (int round = 0; round < 132; round += ballast_test::round_step) {
    deferral_options o{.ranks = static_cast<std::uint64_t>(between(1, 3, draw)),
                       .micro_batches = static_cast<std::uint64_t>(between(1, 3, draw))};
    drawn const batch(static_cast<std::size_t>(o.ranks * o.micro_batches > 4 ? between(2, 4, draw) : between(2, 6, draw)), draw);
    auto const largest = batch.largest();
    for (std::size_t p = 0; p < 2; ++p)
      if (draw() % 4 != 0) o.capacity[p] = largest[p] + between(0, 100, draw);
    auto const best = try_all(batch, o);
    auto const plan = planned(batch, o);
    CAPTURE(round, o.ranks, o.micro_batches, o.capacity, batch.costs, best.deferred, best.whole);
    if (plan.status == status::infeasible) CHECK(best.deferred == optimum::never);
    if (best.deferred == optimum::never) continue;
    CHECK(plan.time.lower_bound <= best.deferred);
    if (plan.status != status::feasible) continue;
    check(plan, batch, o);
    ++rounds;
    CHECK(plan.time.value >= best.deferred);
    if (plan.undeferred > 0) CHECK(plan.undeferred >= best.whole);
    optimal += plan.time.value == best.deferred;
    whole += plan.undeferred == best.whole;
    gains += plan.time.value < best.whole;
    auto const ratio = static_cast<double>(plan.time.value) / static_cast<double>(best.deferred);
    ratios += ratio;
    worst = std::max(worst, ratio);
  }
  CAPTURE(rounds, optimal, whole, gains, ratios / rounds, worst);
  CHECK(10 * optimal >= 9 * rounds);
  CHECK(10 * whole >= 9 * rounds);
  CHECK(ratios / rounds < 1.01);
  CHECK(worst < 1.1);
  if (ballast_test::round_step == 1) CHECK(gains >= 3);  // below every plan without deferral
}

TEST_CASE("defer_phases: the bound of both phases together is above that of each, and below the least time of all plans") {
  // The rank with the long text has room for images only where the language model takes longer than the text.
  drawn batch(5);
  batch.costs = batch.sizes = {{0, 100}, {50, 25}, {50, 25}, {50, 25}, {50, 25}};
  CHECK(planned(batch, {.ranks = 2, .micro_batches = 1}).time == ballast::certificate{250, 250});
  for (auto& [first, second] : batch.costs) std::swap(first, second);
  CHECK(planned(batch, {.ranks = 2, .micro_batches = 1}).time == ballast::certificate{250, 250});

  ballast::splitmix64 draw(8);
  int rounds = 0, above = 0, optimal = 0;
  for (int round = 0; round < 300; round += ballast_test::round_step, ++rounds) {
    drawn few(static_cast<std::size_t>(between(1, 6, draw)));
    for (std::size_t i = 0; i < few.items.size(); ++i)
      few.costs.push_back({draw() % 3 == 0 ? 0 : between(0, 99, draw), draw() % 3 == 0 ? 0 : between(0, 99, draw)});
    few.sizes = few.costs;
    deferral_options const o{.ranks = static_cast<std::uint64_t>(between(1, 3, draw)), .micro_batches = 1 + draw() % 2};
    auto const plan = planned(few, o);
    CAPTURE(round, o.ranks, o.micro_batches, few.costs);
    CHECK(plan.time.lower_bound <= try_all(few, o).deferred);
    std::array<numbers, 3> loads;
    for (auto const& [first, second] : few.costs)
      for (std::size_t p = 0; p < 3; ++p) loads[p].push_back(p == 0 ? first : p == 1 ? second : first + second);
    std::array<std::int64_t, 3> known{};
    for (std::size_t p = 0; p < 3; ++p) {
      std::sort(loads[p].rbegin(), loads[p].rend());
      known[p] = ballast::balance_lower_bound(loads[p], o.ranks).load;
    }
    CHECK(plan.time.lower_bound >= std::max(known[0] + known[1], known[2]));
    above += plan.time.lower_bound > std::max(known[0] + known[1], known[2]);
    optimal += plan.time.optimal();
  }
  CAPTURE(rounds, above, optimal);
  if (ballast_test::round_step == 1) CHECK(above >= 5);
  CHECK(optimal * 2 > rounds);
}

TEST_CASE("defer_phases: a few long texts leave their ranks little room for images") {
  ballast::splitmix64 draw(9);
  drawn batch(512);
  for (std::size_t i = 0; i < batch.items.size(); ++i) {
    auto const patches = draw() % 2 == 0 ? between(1, 8, draw) * between(256, 2048, draw) : 0;
    auto const tokens = patches / 4 + (draw() % 10 == 0 ? between(2000, 16000, draw) : between(50, 2000, draw));
    batch.sizes.push_back({patches, tokens});
    batch.costs.push_back({8 * patches, 10 * tokens + tokens * tokens / 4000});
  }
  deferral_options const o{.ranks = 64, .micro_batches = 4, .capacity = {32768, 32768}};
  auto const plan = planned(batch, o);
  check(plan, batch, o);
  CHECK(plan.time.gap() < 0.04);
}

TEST_CASE("defer_phases: plans are valid, take the time they say and come nearer to the bound than without deferral") {
  ballast::splitmix64 draw(6);
  double gap = 0, whole = 0;
  int rounds = 0;
  for (int round = 0; round < 66; ++round) {  // all of them: the means say little of few
    drawn const batch(static_cast<std::size_t>(between(1, 160, draw)), draw);
    deferral_options o{.ranks = static_cast<std::uint64_t>(between(1, 8, draw)),
                       .micro_batches = static_cast<std::uint64_t>(between(1, 8, draw)),
                       .work = 1 << 22};
    std::array<std::int64_t, 2> all{};
    for (auto const& s : batch.sizes)
      for (std::size_t p = 0; p < 2; ++p) all[p] += s[p];
    auto const cells = static_cast<std::int64_t>(o.ranks * o.micro_batches);
    for (std::size_t p = 0; p < 2; ++p)
      if (round % 2 == 0 && draw() % 3 != 0) o.capacity[p] = batch.largest()[p] + all[p] / cells * 5 / 4;
    auto const plan = planned(batch, o);
    CAPTURE(round, o.ranks, o.micro_batches, o.capacity, batch.items.size());
    check(plan, batch, o);
    if (plan.undeferred == 0) continue;
    gap += plan.time.gap();
    whole += ballast::certificate{plan.undeferred, plan.time.lower_bound}.gap();
    ++rounds;
  }
  CAPTURE(rounds, gap / rounds, whole / rounds);
  CHECK(gap < whole * 2 / 3);
  CHECK(gap / rounds < 0.02);
}

TEST_CASE("defer_phases: a batch that needs a part of its micro-batches leaves the others empty, and its ranks are even") {
  ballast::splitmix64 draw(7);
  drawn const batch(256, draw);
  deferral_options o{.ranks = 8, .micro_batches = 8, .capacity = {4096, 4096}};
  auto const plan = planned(batch, o);
  check(plan, batch, o);
  CHECK(plan.time.gap() < 0.01);
  o.micro_batches = 64;  // as many as there are samples of a rank, and more: the plan is no worse
  CHECK(planned(batch, o).time.value <= plan.time.value);
}

TEST_CASE("defer_phases: what is even without deferral stays as it is, and one rank or one micro-batch gains nothing") {
  drawn batch(12);
  batch.costs.assign(12, {7, 9});
  batch.sizes.assign(12, {3, 3});
  auto const even = planned(batch, {.ranks = 3, .micro_batches = 4, .capacity = {3, 3}});
  CHECK(even.time.value == 4 * (7 + 9));
  CHECK(even.time.optimal());
  CHECK(even.undeferred == even.time.value);
  CHECK(even.held == 0);
  CHECK(planned(batch, {.ranks = 1, .micro_batches = 4}).time == ballast::certificate{12 * 16, 12 * 16});
  CHECK(planned(batch, {.ranks = 4, .micro_batches = 1}).held == 0);
}

TEST_CASE("defer_phases: the language part of a sample waits where that lets both phases be even") {
  // One sample of text on each rank, and one with images: whole samples are even in one phase or in the other.
  drawn batch(4);
  batch.costs = batch.sizes = {{0, 100}, {0, 60}, {50, 60}, {50, 100}};
  deferral_options const o{.ranks = 2, .micro_batches = 2, .capacity = {50, 100}};
  auto const plan = planned(batch, o);
  check(plan, batch, o);
  CHECK(plan.time.value == 50 + 100 + 60);
  CHECK(plan.time.optimal());
  CHECK(plan.undeferred == 50 + 100 + 100);
  CHECK(plan.held == 60);
  CHECK(try_all(batch, o).whole == plan.undeferred);
}

TEST_CASE("defer_phases: refusals and batches without room") {
  numbers const items{5, 9};
  auto const ones = [](std::int64_t) { return std::array<std::int64_t, 2>{1, 2}; };
  auto const sizes = [](std::int64_t i) { return std::array<std::int64_t, 2>{0, i}; };
  auto const said = [&](deferral_options const& o) { return refusal([&] { return defer_phases(items, o, ones, sizes); }); };
  CHECK(said({.ranks = 1}) == "ranks = 1 and micro_batches = 0 must be at least 1, together at most 2^20");
  CHECK(said({.ranks = 1, .micro_batches = 1, .capacity = {0, -1}}) == "capacity and work must not be negative");
  auto const three = [](std::int64_t) { return std::array<int, 3>{1, 1, 1}; };
  auto const below = [](std::int64_t i) { return std::array<std::int64_t, 2>{1, 5 - i}; };
  deferral_options const one{.ranks = 1, .micro_batches = 1};
  CHECK(refusal([&] { return defer_phases(items, one, three, sizes); }) == "items[0] = 5 has 3 costs and 2 sizes, not 2 of both");
  CHECK(refusal([&] { return defer_phases(items, one, below, sizes); }) == "costs of items[1] = -4 must not be negative");
  auto const with_room = [&](std::uint64_t m, std::int64_t room) {
    return defer_phases(items, {.ranks = 1, .micro_batches = m, .capacity = {0, room}}, ones, sizes).status;
  };
  CHECK(with_room(2, 8) == status::infeasible);
  CHECK(with_room(1, 13) == status::infeasible);
  CHECK(with_room(1, 14) == status::feasible);
  CHECK(with_room(2, 9) == status::feasible);
  CHECK(defer_phases(numbers{}, one, ones, sizes).encoder.size() == 1);
}

}  // namespace test_balance_defer_phases
