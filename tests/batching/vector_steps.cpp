// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/vector_steps.hpp>
#include <ballast/core/hash.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace test_batching_vector_steps {

using namespace ballast_test;
using measure = std::vector<std::int64_t>;
using options = ballast::vector_batching_options;
using plan_of_steps = ballast::vector_batching<>;

namespace {

/// Tiles, tokens that follow them loosely, and seconds of sound: as many measures as asked for.
std::vector<measure> mixture(std::size_t count, std::size_t measures, ballast::splitmix64& draw) {
  std::vector<measure> c(3, measure(count));
  for (std::size_t i = 0; i < count; ++i) {
    c[1][i] = draw() % 8 == 0 ? 0 : static_cast<std::int64_t>(draw() % 3 * 2 + 1);
    c[0][i] = 256 * c[1][i] + between(20, 700, draw);
    c[2][i] = between(0, 30, draw);
  }
  c.resize(measures);
  return c;
}

ballast::sample_measures view(std::vector<measure> const& columns) { return ballast::sample_measures({columns.begin(), columns.end()}); }

measure const capacities{4096, 9, 70};

/// The same options for samples with these capacities.
options within(measure const& capacity, options o = {}) {
  o.others.assign(capacity.begin(), capacity.end() - 1);
  o.steps.capacity = capacity.back();
  return o;
}
/// The first capacities.
measure first_capacities(std::size_t count) { return {capacities.begin(), capacities.begin() + static_cast<std::ptrdiff_t>(count)}; }

/// Next fit; samples of two kinds do not share a pack.
ballast::groups<> next_fit(std::vector<measure> const& c, std::optional<std::size_t> separate = {}) {
  ballast::groups<> packs;
  for (std::int64_t kind = 0; kind < (separate ? 2 : 1); ++kind) {
    std::vector<std::uint32_t> open;
    measure load(c.size(), 0);
    for (std::uint32_t i = 0; i < c[0].size(); ++i) {
      if (separate && (c[*separate][i] == 0) != (kind == 1)) continue;
      bool fits = true;
      for (std::size_t m = 0; m < c.size(); ++m) fits = fits && load[m] + c[m][i] <= capacities[m];
      if (!fits) {
        packs.push_back(open);
        open.clear();
        load.assign(c.size(), 0);
      }
      open.push_back(i);
      for (std::size_t m = 0; m < c.size(); ++m) load[m] += c[m][i];
    }
    if (!open.empty()) packs.push_back(open);
  }
  return packs;
}

/// Asserts what every plan owes: samples, capacities, separation, and that it says the truth of itself.
template <class Cost>
void check(plan_of_steps const& plan, std::vector<measure> const& c, options const& all, Cost const& cost) {
  auto const n = c[0].size(), k = c.size();
  auto const& o = all.steps;
  auto capacity = all.others;
  capacity.push_back(o.capacity);
  std::vector<std::int64_t> stands(n, 0), owed(n, 1);
  std::vector<int> used(plan.packs.size(), 0);
  REQUIRE((plan.ranks == o.ranks && plan.micro_batches == o.micro_batches && plan.table.size() % (o.ranks * o.micro_batches) == 0));
  std::vector<measure> load(k + 1, measure(plan.steps() * o.ranks, 0));
  std::int64_t slowest = 0, total = 0;
  for (std::size_t s = 0; s < plan.steps(); ++s) {
    std::int64_t most = 0;
    std::vector<bool> kinds(2, false);
    for (std::size_t r = 0; r < o.ranks; ++r) {
      std::int64_t mine = 0;
      for (std::size_t m = 0; m < o.micro_batches; ++m) {
        auto const p = plan.at(s, r, m);
        if (p == plan.none) continue;
        CHECK(used[p]++ == 0);
        CHECK(!plan.packs[p].empty());
        CHECK((all.max_samples == 0 || plan.packs[p].size() <= all.max_samples));
        measure held(k, 0);
        for (auto i : plan.packs[p]) {
          ++stands[i];
          measure row;
          for (std::size_t j = 0; j < k; ++j) {
            held[j] += c[j][i];
            row.push_back(c[j][i]);
          }
          mine += cost(row);
          if (all.separate) kinds[c[*all.separate][i] == 0 ? 1 : 0] = true;
        }
        for (std::size_t j = 0; j < k; ++j) {
          CHECK((held[j] <= capacity[j] || (all.oversize == ballast::oversize::alone && plan.packs[p].size() == 1)));
          load[j][s * o.ranks + r] += held[j];
        }
      }
      load[k][s * o.ranks + r] = mine;
      most = std::max(most, mine);
      total += mine;
    }
    slowest += most;
    CHECK(!(kinds[0] && kinds[1]));
  }
  for (auto i : plan.dropped) owed[i] = 0;
  for (auto i : plan.repeated) ++owed[i];
  CHECK(stands == owed);
  CHECK((std::is_sorted(plan.dropped.begin(), plan.dropped.end()) && std::is_sorted(plan.repeated.begin(), plan.repeated.end())));
  CHECK((plan.slowest.value == slowest && plan.cost == total && plan.slowest.lower_bound <= slowest));
  REQUIRE(plan.balance.size() == k);
  for (std::size_t j = 0; j <= k; ++j) {
    auto const& said = j < k ? plan.balance[j] : plan.cost_balance;
    double ratios = 0;
    for (std::size_t s = 0; s < plan.steps(); ++s) {
      auto const step = std::span(load[j]).subspan(s * o.ranks, o.ranks);
      double const largest = static_cast<double>(*std::max_element(step.begin(), step.end()));
      double sum = 0;
      for (auto l : step) sum += static_cast<double>(l);
      if (largest > 0) ratios += 1 - sum / (largest * static_cast<double>(o.ranks));
    }
    CHECK_THAT(said.mean_ratio * static_cast<double>(plan.steps()), Catch::Matchers::WithinAbs(ratios, 1e-6));
  }
}

std::uint64_t hash_of(plan_of_steps const& plan) {
  ballast::fnv1a h;
  h.append(ballast::hash(plan.packs));
  for (auto p : plan.table) h.append(p);
  return h.value();
}

}  // namespace

TEST_CASE("deal_steps of measures: every sample once or listed, figures that are true, for any number of measures") {
  ballast::splitmix64 draw(1);
  ballast::fnv1a unequal;  // the plans whose ranks may have different numbers of micro-batches
  for (int round = 0; round < 72; ++round) {
    auto const c = mixture(draw() % 700, 1 + static_cast<std::size_t>(round % 3), draw);
    auto o = within(
        first_capacities(c.size()),
        {.steps = {.ranks = 1 + draw() % 6, .micro_batches = 1 + draw() % 3, .left_over = static_cast<ballast::left_over>(round / 3 % 4)},
         .window = draw() % 4,
         .weights = measure(c.size(), 1)});
    o.steps.seed = draw();
    if (c.size() > 1 && draw() % 2 == 0) o.separate = 1;
    auto const packs = next_fit(c, o.separate);
    CAPTURE(round, c[0].size(), o.steps.ranks, o.steps.micro_batches, o.window, packs.size());
    auto const plan = ballast::deal_steps(packs, view(c), o);
    check(plan, c, o, [](measure const& row) { return std::accumulate(row.begin(), row.end(), std::int64_t{0}); });
    auto const by_first = ballast::deal_steps(packs, view(c), o, [](std::span<std::int64_t const> row) { return row[0]; });
    check(by_first, c, o, [](measure const& row) { return row[0]; });
    CHECK(hash_of(plan) == hash_of(ballast::deal_steps(packs, view(c), o)));
    auto const places = o.steps.ranks * o.steps.micro_batches;
    auto const empty = static_cast<std::size_t>(std::count(plan.table.begin(), plan.table.end(), plan.none));
    auto const kinds = o.separate ? 2U : 1U;
    if (o.steps.left_over == ballast::left_over::drop || o.steps.left_over == ballast::left_over::repeat) CHECK(empty == 0);
    if (o.steps.left_over == ballast::left_over::split && c[0].size() > 40 * places) CHECK(empty == 0);
    CHECK(empty < kinds * places);
    if (o.steps.left_over != ballast::left_over::drop) CHECK(plan.dropped.empty());
    if (o.steps.left_over != ballast::left_over::repeat) CHECK(plan.repeated.empty());
    for (std::size_t s = 0; s < plan.steps(); ++s) {
      std::size_t fewest = plan.table.size(), most = 0, held = 0;
      for (std::size_t r = 0; r < plan.ranks; ++r) {
        auto const mine = plan.packs_of(s, r);
        auto const has = static_cast<std::size_t>(std::ranges::distance(mine.begin(), mine.end()));
        for (auto const pack : mine) held += pack.size();
        fewest = std::min(fewest, has);
        most = std::max(most, has);
      }
      CHECK((fewest == most || (held < most * plan.ranks && s + kinds >= plan.steps())));
    }
    auto without = o;
    without.steps.equal_micro_batches = false;
    unequal.append(hash_of(ballast::deal_steps(packs, view(c), without)));
  }
  CHECK(unequal.value() == 0xb623ffef246626f8U);
}

TEST_CASE("deal_steps of measures: each measure is balanced at once, where random steps are not") {
  ballast::splitmix64 draw(2);
  auto const c = mixture(30000, 2, draw);
  auto const packs = next_fit(c);
  for (std::uint64_t const micro_batches : {1U, 4U}) {
    auto o = within({4096, 9}, {.steps = {.ranks = 8, .micro_batches = micro_batches}});
    auto const balanced = ballast::deal_steps(packs, view(c), o);
    o.window = 1;
    auto const random = ballast::deal_steps(packs, view(c), o);
    for (std::size_t m = 0; m < 2; ++m) {
      CAPTURE(micro_batches, m, random.balance[m].mean_ratio, balanced.balance[m].mean_ratio);
      CHECK(balanced.balance[m].mean_ratio < random.balance[m].mean_ratio / 3);
    }
    CHECK(balanced.cost_balance.mean_ratio < random.cost_balance.mean_ratio / 3);
    o.window = 0;
    auto const sorted = ballast::deal_steps(packs, view(c), o);
    for (std::size_t m = 0; m < 2; ++m) CHECK(sorted.balance[m].mean_ratio < balanced.balance[m].mean_ratio / 3);
  }
}

TEST_CASE("deal_steps of measures: packs of two kinds that could share steps do not where a balanced step can be had") {
  // Half of the packs are full in one measure, half in the other: rows of one kind each lose nothing.
  measure tiles, tokens;
  ballast::groups<> packs;
  for (std::uint32_t i = 0; i < 256; ++i) {
    tiles.push_back(i % 2 == 0 ? 9 : 4);
    tokens.push_back(i % 2 == 0 ? 1500 : 4000);
    packs.push_back(std::span(&i, 1));
  }
  auto const plan = ballast::deal_steps(packs, {tiles, tokens}, within({9, 4096}, {.steps = {.ranks = 4}, .window = 0}));
  CHECK((plan.balance[0].mean_ratio == 0 && plan.balance[1].mean_ratio == 0 && plan.slowest.optimal()));
}

TEST_CASE("deal_steps of measures: a weight of 0 switches a measure off, a callable is balanced beside the measures") {
  ballast::splitmix64 draw(3);
  auto const c = mixture(20000, 2, draw);
  auto const packs = next_fit(c);
  auto const with = [&](measure weights) {
    return ballast::deal_steps(packs, view(c), within({4096, 9}, {.steps = {.ranks = 8}, .weights = std::move(weights)}));
  };
  auto const both = with({}), tokens = with({1, 0}), tiles = with({0, 1}), heavy = with({1, 300});
  CHECK(tokens.balance[0].mean_ratio < both.balance[0].mean_ratio);
  CHECK(tokens.balance[1].mean_ratio > 2 * both.balance[1].mean_ratio);
  CHECK(tiles.balance[1].mean_ratio < both.balance[1].mean_ratio);
  CHECK(tiles.balance[0].mean_ratio > 2 * both.balance[0].mean_ratio);
  CHECK(tokens.cost_balance == tokens.balance[0]);
  CHECK(heavy.cost == tokens.cost + 300 * tiles.cost);

  auto o = within({4096, 9}, {.steps = {.ranks = 8}, .window = 1, .weights = {0, 1}});
  auto const squares = [](std::span<std::int64_t const> row) { return row[0] * row[0]; };
  auto const random = ballast::deal_steps(packs, view(c), o, squares);
  o.window = 16;
  auto const beside = ballast::deal_steps(packs, view(c), o, squares);
  o.weights = {0, 0};
  auto const alone = ballast::deal_steps(packs, view(c), o, squares);
  CHECK(beside.cost_balance.mean_ratio < random.cost_balance.mean_ratio / 2);
  CHECK(beside.balance[1].mean_ratio < random.balance[1].mean_ratio / 3);
  CHECK(alone.cost_balance.mean_ratio < beside.cost_balance.mean_ratio / 2);
  CHECK(alone.balance[1].mean_ratio > 2 * beside.balance[1].mean_ratio);
}

TEST_CASE("deal_steps of measures: packs that are split are balanced among themselves") {
  ballast::splitmix64 draw(4);
  measure tiles(2000), tokens(2000);
  ballast::groups<> packs;
  std::vector<std::uint32_t> four;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    tiles[i] = 2;
    tokens[i] = between(900, 1000, draw);
    four.push_back(i);
    if (four.size() == 4) packs.push_back(std::exchange(four, {}));
  }
  // 500 packs are 7 steps of 64 and 52 packs, or 208 samples for the 64 places of the last step: 3 or 4 each.
  auto const plan = ballast::deal_steps(packs, {tiles, tokens}, within({8, 4096}, {.steps = {.ranks = 64}}));
  CHECK((plan.steps() == 8 && plan.packs.size() == 512));
  std::map<std::size_t, int> sizes;
  for (auto const pack : plan.packs) ++sizes[pack.size()];
  CHECK(sizes == std::map<std::size_t, int>{{3, 48}, {4, 464}});
  CHECK_THAT(plan.balance[0].mean_ratio, Catch::Matchers::WithinAbs((1 - 208.0 / 256) / 8, 1e-12));
}

TEST_CASE("deal_steps of measures: the unit of a measure does not matter, however near its sum is to 2^60") {
  ballast::splitmix64 draw(8);
  measure tiles, tokens, large;
  ballast::groups<> packs;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    tiles.push_back(between(1, 9, draw));
    tokens.push_back(i == 77 ? 700 : between(1, 10, draw));
    large.push_back(tokens.back() << 47);
    packs.push_back(std::span(&i, 1));
  }
  auto const o = within({9, std::int64_t{700} << 47}, {.steps = {.ranks = 2}, .window = 0});
  CHECK((ballast::deal_steps(packs, {tiles, large}, o).table == ballast::deal_steps(packs, {tiles, tokens}, o).table));
}

TEST_CASE("plan_steps: packs and steps of several measures in one call") {
  ballast::splitmix64 draw(5);
  auto const c = mixture(8000, 2, draw);
  auto const sum = [](measure const& row) { return row[0] + 200 * row[1]; };
  auto o = within({4096, 9}, {.steps = {.ranks = 8, .seed = 7}, .weights = {1, 200}});
  auto const plan = ballast::plan_steps(view(c), o);
  check(plan, c, o, sum);
  CHECK((plan.dropped.empty() && plan.repeated.empty()));
  auto const packs = static_cast<std::size_t>(plan.pack_count.value);
  CHECK(plan.packs.size() == (packs + 7) / 8 * 8);
  CHECK((plan.pack_count.lower_bound > 0 && plan.pack_count.value >= plan.pack_count.lower_bound));
  CHECK(packs <= next_fit(c).size());
  CHECK(hash_of(plan) == hash_of(ballast::plan_steps(view(c), o)));
  auto const wide = ballast::plan_steps<std::uint64_t>(view(c), o);
  CHECK(std::equal(wide.table.begin(), wide.table.end(), plan.table.begin(), plan.table.end()));
  CHECK(ballast::hash(wide.packs) == ballast::hash(plan.packs));
  o.steps.epoch = 1;
  auto const next = ballast::plan_steps(view(c), o);
  check(next, c, o, sum);
  CHECK(next.packs != plan.packs);
  CHECK(next.pack_count.lower_bound == plan.pack_count.lower_bound);

  o.separate = 1;
  auto const apart = ballast::plan_steps(view(c), o);
  check(apart, c, o, sum);
  auto const text = static_cast<std::size_t>(std::count(c[1].begin(), c[1].end(), 0));
  std::vector<std::size_t> text_steps;  // where they stand
  std::size_t in_text_steps = 0;
  for (std::size_t s = 0; s < apart.steps(); ++s)
    if (c[1][apart.packs[apart.at(s, 0, 0)][0]] == 0) {
      text_steps.push_back(s);
      for (auto p : apart.step(s)) in_text_steps += apart.packs[p].size();
    }
  CHECK((in_text_steps == text && text_steps.size() > 2));
  auto const pace = apart.steps() / text_steps.size();
  for (std::size_t j = 1; j < text_steps.size(); ++j) {
    auto const gap = text_steps[j] - text_steps[j - 1];
    CHECK((gap == pace || gap == pace + 1));
  }
}

TEST_CASE("plan_steps: no pack has more samples than allowed, whatever is split, repeated or dropped") {
  ballast::splitmix64 draw(10);
  for (int round = 0; round < 36; ++round) {
    auto const c = mixture(draw() % 900, 1 + static_cast<std::size_t>(round % 3), draw);
    auto const n = c[0].size();
    auto o = within(first_capacities(c.size()), {.steps = {.ranks = 1 + draw() % 6,
                                                           .micro_batches = 1 + draw() % 3,
                                                           .left_over = static_cast<ballast::left_over>(round / 3 % 4),
                                                           .seed = draw()},
                                                 .max_samples = 1 + draw() % 4,
                                                 .weights = measure(c.size(), 1)});
    if (c.size() > 1 && draw() % 2 == 0) o.separate = 1;
    CAPTURE(round, n, o.steps.ranks, o.steps.micro_batches, o.max_samples);
    auto const plan = ballast::plan_steps(view(c), o);
    check(plan, c, o, [](measure const& row) { return std::accumulate(row.begin(), row.end(), std::int64_t{0}); });
    CHECK(plan.pack_count.lower_bound >= static_cast<std::int64_t>((n + o.max_samples - 1) / o.max_samples));
    CHECK(plan.pack_count.value >= plan.pack_count.lower_bound);
    o.max_samples = n + 1;  // binds nothing
    auto loose = o;
    loose.max_samples = 0;
    CHECK(ballast::plan_steps(view(c), o).pack_count.lower_bound == ballast::plan_steps(view(c), loose).pack_count.lower_bound);
  }
  // Packs of the last step are dealt again by cost: without the limit, the six cheap samples of three packs would share one.
  measure tokens;
  ballast::groups<> packs;
  for (std::uint32_t i = 0; i < 21; i += 3) {
    tokens.insert(tokens.end(), {1000, 1, 1});
    packs.push_back(std::vector<std::uint32_t>{i, i + 1, i + 2});
  }
  auto const o = within({4096}, {.steps = {.ranks = 4}, .max_samples = 3, .weights = {1}});
  auto const dealt = ballast::deal_steps(packs, {tokens}, o);
  CHECK(dealt.steps() == 2);
  check(dealt, {tokens}, o, [](measure const& row) { return row[0]; });
}

TEST_CASE("plan_steps: samples above a capacity, no samples, one sample") {
  measure const tiles{1, 12, 2, 3, 1, 5}, tokens{100, 100, 200, 5000, 300, 400};
  auto const first = [](measure const& row) { return row[0]; };
  auto o = within({9, 4096}, {.steps = {.ranks = 2}, .oversize = ballast::oversize::set_aside, .weights = {1, 0}});
  auto const aside = ballast::plan_steps({tiles, tokens}, o);
  check(aside, {tiles, tokens}, o, first);
  CHECK(aside.dropped == std::vector<std::uint32_t>{1, 3});
  o.oversize = ballast::oversize::alone;
  auto const own = ballast::plan_steps({tiles, tokens}, o);
  check(own, {tiles, tokens}, o, first);
  CHECK(own.dropped.empty());
  CHECK(ballast::plan_steps({measure{}, measure{}}, o).steps() == 0);
  auto const one = ballast::plan_steps({measure{3}, measure{400}}, o);
  CHECK((one.steps() == 1 && one.packs.size() == 1 && one.balance[0].mean_ratio == 0.5));
}

TEST_CASE("deal_steps of measures: golden") {
  ballast::splitmix64 draw(6);
  auto const c = mixture(5000, 3, draw);
  auto const plan = ballast::deal_steps(next_fit(c), view(c), within(capacities, {.steps = {.ranks = 8, .micro_batches = 2, .seed = 9}}));
  CHECK(hash_of(plan) == 5117434895488243685U);
}

TEST_CASE("deal_steps of measures: refusals name the argument, the index and the value") {
  measure const tiles{1, 2, 0}, tokens{5, 6, 7};
  auto const packs_of = [](std::vector<std::vector<std::uint32_t>> const& of) {
    ballast::groups<> packs;
    for (auto const& p : of) packs.push_back(p);
    return packs;
  };
  auto const refused = [&](options const& o, std::vector<std::vector<std::uint32_t>> const& packs = {{0, 1}, {2}}) {
    return refusal([&] { return ballast::deal_steps(packs_of(packs), {tiles, tokens}, o); });
  };
  auto const good = within({9, 20});
  auto const with = [&](auto const& change) {
    auto o = good;
    change(o);
    return refused(o);
  };
  CHECK(refused(good) == "accepted");
  CHECK(with([](options& o) { o.others = {}; }) == "others has 0 capacities for 2 measures: one less is needed");
  CHECK(with([](options& o) { o.steps.capacity = 0; }) == "capacity[1] = 0 must be positive");
  CHECK(with([](options& o) { o.steps.ranks = 0; }) == "ranks = 0 must be in 1 ... 2^20 - 1");
  CHECK(with([](options& o) { o.steps.micro_batches = 1U << 20; }) == "micro_batches = 1048576 must be in 1 ... 2^20 - 1");
  CHECK(with([](options& o) { o.weights = {1}; }) == "weights has 1 entry for 2 measures");
  CHECK(with([](options& o) { o.weights = {1, -2}; }) == "weights[1] = -2 must not be negative");
  CHECK(with([](options& o) { o.weights = {0, 0}; }) == "no measure has a positive weight");
  CHECK(with([](options& o) { o.weights = {1, std::int64_t{1} << 60}; }) ==
        "weights[1] = 1152921504606846976 brings the weighted sum of its measure, which is 18, too near to 2^63");
  CHECK(with([](options& o) { o.separate = 2; }) == "separate = 2 is no measure: there are 2");
  CHECK(with([](options& o) { o.oversize = ballast::oversize::split; }).find("oversize: a sample of several measures") == 0);
  CHECK(with([](options& o) { o.others = {2}; }) == "packs[0] holds 3 of measure 0, more than capacity[0] = 2");
  CHECK(with([](options& o) { o.steps.capacity = 6; }) == "packs[0] holds 11 of measure 1, more than capacity[1] = 6");
  CHECK(with([](options& o) { o.max_samples = 1; }) == "packs[0] holds 2 samples, more than max_samples = 1");
  CHECK(refused(good, {{0}, {}}) == "packs[1] is empty");
  CHECK(refused(good, {{0}, {3}}) == "packs[1] has member 3 of 3 samples");
  CHECK(refused(good, {{0}, {1, 0}}) == "packs[1] has sample 0, which is in a pack already");
  CHECK(refused(within({9, 20}, {.separate = 0}), {{0}, {1, 2}}) == "packs[1] mixes samples 1 and 2, which measure 0 separates");
  CHECK(refusal([&] { return ballast::deal_steps(packs_of({{0}}), {measure{1}, measure{-4}}, good); }) ==
        "measures[1][0] = -4 must not be negative");
  CHECK(refusal([&] {
          return ballast::deal_steps(packs_of({{0}}), {tiles, tokens}, good, [](std::span<std::int64_t const> row) { return row[0] - 2; });
        }) == "sample 0 has cost -1, which is negative or brings the sum of costs too near to 2^63; count costs in a larger unit");
}

}  // namespace test_batching_vector_steps
