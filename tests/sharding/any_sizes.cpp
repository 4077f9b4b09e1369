// SPDX-License-Identifier: Apache-2.0
// Groups of any number of ranks in `plan_shards`, `lockstep_shards` and the simpler planners.
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_degree_cost.hpp>
#include <ballast/sharding/any_degree.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/check_prices.hpp>
#include <ballast/sharding/plan_shards.hpp>
#include <ballast/sharding/price_bound.hpp>
#include <ballast/sharding/simple_shards.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace test_sharding_any_sizes {

using namespace ballast;
using ballast_test::between;
using numbers = std::vector<std::int64_t>;

namespace {

/// An 8B model on accelerators of 400 TFLOP/s, nearly.
degree_cost const model{.linear = 121'500'000, .square = 660, .exchange = {0, 436'000, 655'000, 765'000, 2'900'000}};

struct drawn {
  numbers lengths;
  sharding_options options;
};
/// 2, 4 or 8 samples a rank: a few long ones among short ones, or all of any length up to what half of the ranks hold.
drawn draw_batch(std::uint64_t seed) {
  splitmix64 draw(seed);
  drawn out{.lengths = {}, .options = {.capacity = between(2000, 9000, draw), .ranks = static_cast<std::uint64_t>(between(1, 24, draw))}};
  out.options.cost_per_pass = draw() % 4 == 0 ? 0 : between(0, 60'000'000, draw);
  auto const most = out.options.capacity * static_cast<std::int64_t>((out.options.ranks + 1) / 2);
  auto const tail = draw() % 2 == 0;
  out.lengths.resize(static_cast<std::size_t>(out.options.ranks) << (1 + draw() % 3));
  for (auto& l : out.lengths) l = tail && draw() % 8 != 0 ? between(100, out.options.capacity, draw) : between(100, most, draw);
  return out;
}

void check_plan(shards<> const& plan, drawn const& of) {
  auto const verdict = check_shards(plan, of.lengths, of.options, {.aligned = !detail::takes_any_size(of.options, of.lengths.size())});
  CAPTURE(describe(verdict));
  REQUIRE(verdict.valid());
  REQUIRE(plan.status == status::feasible);
  REQUIRE(plan.time.value == time_shards(plan, model, of.options.cost_per_pass).makespan);
  REQUIRE(plan.time.lower_bound <= plan.time.value);
}

/// Groups of one width: samples, longest first, to the group of least load and into its first pass with room; or, in lockstep, packs in
/// the order of the samples, one for each group of a micro-batch.
std::int64_t one_width(drawn const& of, std::int64_t width, bool in_order) {
  auto const& o = of.options;
  auto lengths = of.lengths;
  std::sort(lengths.rbegin(), lengths.rend());
  auto const groups = static_cast<std::size_t>(static_cast<std::int64_t>(o.ranks) / width);
  if (lengths[0] > o.capacity * width) return std::numeric_limits<std::int64_t>::max();
  if (in_order) {
    std::int64_t sum = 0, tokens = 0;
    numbers packs;
    for (auto const l : lengths) {
      if (packs.empty() || tokens + l > o.capacity * width) {
        packs.push_back(o.cost_per_pass);
        tokens = 0;
      }
      tokens += l;
      packs.back() += model(l, width);
    }
    for (std::size_t p = 0; p < packs.size(); p += groups)
      sum += *std::max_element(packs.begin() + static_cast<std::ptrdiff_t>(p),
                               packs.begin() + static_cast<std::ptrdiff_t>(std::min(p + groups, packs.size())));
    return sum;
  }
  numbers load(groups, 0);
  std::vector<numbers> room(groups);
  for (auto const l : lengths) {
    auto const g = static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    auto at = std::find_if(room[g].begin(), room[g].end(), [&](auto r) { return r >= l; });
    if (at == room[g].end()) {
      at = room[g].insert(at, o.capacity * width);
      load[g] += o.cost_per_pass;
    }
    *at -= l;
    load[g] += model(l, width);
  }
  return *std::max_element(load.begin(), load.end());
}

/// The least time of any passes, each on any ranks: every division of the samples into passes, all ranks for each, in every order.
std::int64_t least_of_all(drawn const& of) {
  auto const& o = of.options;
  auto const n = of.lengths.size();
  auto best = std::numeric_limits<std::int64_t>::max();
  std::vector<std::size_t> pass(n, 0);
  auto const every_order = [&](std::size_t passes) {
    numbers tokens(passes, 0);
    for (std::size_t i = 0; i < n; ++i) tokens[pass[i]] += of.lengths[i];
    std::vector<std::uint32_t> ranks(passes, 1), order(passes);
    for (;;) {  // sets of ranks
      numbers time(passes, o.cost_per_pass);
      auto fits = true;
      for (std::size_t p = 0; p < passes; ++p) fits = fits && tokens[p] <= o.capacity * std::popcount(ranks[p]);
      for (std::size_t i = 0; i < n; ++i) time[pass[i]] += model(of.lengths[i], std::popcount(ranks[pass[i]]));
      for (std::uint32_t p = 0; p < passes; ++p) order[p] = p;
      do {
        if (!fits) break;
        numbers free(static_cast<std::size_t>(o.ranks), 0);
        for (auto const p : order) {
          std::int64_t start = 0;
          for (std::size_t r = 0; r < free.size(); ++r)
            if ((ranks[p] >> r & 1) != 0) start = std::max(start, free[r]);
          for (std::size_t r = 0; r < free.size(); ++r)
            if ((ranks[p] >> r & 1) != 0) free[r] = start + time[p];
        }
        best = std::min(best, *std::max_element(free.begin(), free.end()));
      } while (std::next_permutation(order.begin(), order.end()));
      std::size_t p = 0;
      while (p < passes && ++ranks[p] == std::uint32_t{1} << o.ranks) ranks[p++] = 1;
      if (p == passes) return;
    }
  };
  auto const divide = [&](auto const& self, std::size_t i, std::size_t passes) -> void {
    if (i == n) return every_order(passes);
    for (std::size_t p = 0; p <= passes; ++p) {
      pass[i] = p;
      self(self, i + 1, std::max(passes, p + 1));
    }
  };
  divide(divide, 0, 0);
  return best;
}

/// Samples as `bench_sharding --counts` draws them: each octave of lengths is half, or two thirds, as frequent as the one before.
drawn octaves(std::uint64_t ranks, std::uint64_t each, bool long_tail) {
  splitmix64 random(1000 * ranks + 10 * each * ranks + (long_tail ? 3 : 2));
  auto const draw = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(high - low + 1), random));
  };
  drawn out{.lengths = numbers(ranks * each), .options = {.capacity = 8192, .ranks = ranks, .cost_per_pass = 14'400'000}};
  for (auto& l : out.lengths) {
    l = long_tail ? 900 : 300;
    while (l < 200'000 && draw(0, long_tail ? 2 : 1) != 0) l *= 2;
    l = std::min(draw(l, 2 * l), out.options.capacity * static_cast<std::int64_t>(ranks));
  }
  return out;
}
double gap_on_h100(drawn const& of) {
  auto const& h100 = device_named("h100");
  auto const cost = degree_cost_of(transformer_preset("llama-3.1-8b"), h100, datasheet_fabric(h100),
                                   {.ranks = static_cast<std::int64_t>(of.options.ranks), .tokens = of.options.capacity});
  auto const plan = plan_shards(of.lengths, of.options, cost);
  REQUIRE(check_shards(plan, of.lengths, of.options).valid());
  REQUIRE(plan.time.value == time_shards(plan, cost, of.options.cost_per_pass).makespan);
  return plan.time.gap();
}

}  // namespace

TEST_CASE("plan_shards: groups of any size are never worse than powers of two, nor than one width for all samples",
          "[sharding][property]") {
  int faster = 0, odd = 0;
  for (std::uint64_t seed = 0; seed < 120; seed += ballast_test::round_step) {
    auto batch = draw_batch(seed);
    auto& o = batch.options;
    CAPTURE(seed, o.capacity, o.ranks, o.cost_per_pass, batch.lengths);
    for (auto const policy : {execution::mixed, execution::independent, execution::lockstep}) {
      o.execution = policy;
      for (auto const deep : {false, true}) {
        if (deep && seed % 6 != 0) continue;
        o.sizes = group_sizes::any;
        auto const any = plan_shards(batch.lengths, o, model, {.deep = deep});
        check_plan(any, batch);
        for (auto const ranks : any.rank_groups) odd += !std::has_single_bit(ranks.size());
        REQUIRE(any.time.lower_bound >= shard_bounds(batch.lengths, o, model).lower());
        for (std::int64_t width = 1; width <= static_cast<std::int64_t>(o.ranks); ++width)
          if (width <= 16 || static_cast<std::int64_t>(o.ranks) % width == 0)
            REQUIRE(any.time.value <= one_width(batch, width, policy == execution::lockstep));
        REQUIRE(any.time.value <= homogeneous_shards(batch.lengths, o, model).time.value);
        o.sizes = group_sizes::powers_of_two;
        auto const blocks = plan_shards(batch.lengths, o, model, {.deep = deep});
        REQUIRE(any.time.lower_bound <= blocks.time.value);
        REQUIRE(any.time.value <= blocks.time.value);
        faster += any.time.value < blocks.time.value;
        o.sizes = group_sizes::automatic;
        auto const usual = plan_shards(batch.lengths, o, model, {.deep = deep});
        check_plan(usual, batch);
        REQUIRE(hash(usual) == hash(std::has_single_bit(o.ranks) ? blocks : any));
      }
    }
  }
  CAPTURE(faster, odd);
  CHECK(faster * ballast_test::round_step > 200);
  CHECK(odd * ballast_test::round_step > 2000);
}

TEST_CASE("plan_shards: bounds for any size are below the least time of all plans, and proofs by prices hold", "[sharding][property]") {
  int optimal = 0, rounds = 0, proven = 0;
  for (std::uint64_t seed = 0; seed < 60; seed += ballast_test::round_step) {
    splitmix64 draw(1000 + seed);
    drawn batch{.lengths = numbers(static_cast<std::size_t>(between(1, 4, draw))),
                .options = {.capacity = between(500, 4000, draw), .ranks = 3, .cost_per_pass = between(0, 60'000'000, draw)}};
    auto& o = batch.options;
    o.execution = execution::independent;
    for (auto& l : batch.lengths) l = between(100, 3 * o.capacity, draw);
    CAPTURE(seed, o.capacity, o.cost_per_pass, batch.lengths);
    auto const best = least_of_all(batch);
    auto const plan = plan_shards(batch.lengths, o, model, {.deep = true});
    check_plan(plan, batch);
    REQUIRE(plan.time.lower_bound <= best);
    REQUIRE(best <= plan.time.value);
    REQUIRE(any_degree_bound(batch.lengths, o, model) <= best);
    REQUIRE(any_degree_shards(batch.lengths, o, model).time.value >= best);
    auto const proof = price_bound(batch.lengths, o, model);
    REQUIRE(proof.lower_bound() <= best);
    if (!proof.per_token.empty()) REQUIRE(check_prices(proof, batch.lengths, o, model));
    proven += !proof.per_token.empty();
    optimal += plan.time.value == best;
    ++rounds;
  }
  CAPTURE(optimal, rounds, proven);
  CHECK(proven * 10 > rounds * 9);
  CHECK(optimal * 10 > rounds * 8);
}

TEST_CASE("plan_shards: 6 and 7 ranks share long samples that 4 would leave waiting", "[sharding]") {
  sharding_options o{.capacity = 1000, .ranks = 7, .cost_per_pass = 10};
  degree_cost const cost{.linear = 1000};
  numbers const one{7000};  // has room on all ranks alone
  for (auto const policy : {execution::mixed, execution::independent, execution::lockstep}) {
    o.execution = policy;
    CHECK(plan_shards(one, o, cost).time == certificate{1010, 1010});
    CHECK(plan_shards(numbers{3000, 4000}, o, cost).time.value <= 1011);  // on 3 and 4, or both on all
  }
  CHECK(homogeneous_shards(one, o, cost).time.value == 1010);
  CHECK(static_shards(one, 7000, o, cost).time.value == 1010);
  o.ranks = 6;
  CHECK(static_shards(numbers{2500, 2000}, 2500, o, cost).time.value == 10 + 834);  // two groups of 3
  o.sizes = group_sizes::powers_of_two;
  CHECK(plan_shards(numbers{4001}, o, cost).status == status::infeasible);
  CHECK(static_shards(numbers{2500, 2000}, 2500, o, cost).time.value == 20 + 625 + 500);  // one group of 4
}

TEST_CASE("plan_shards: long samples are not on numbers of ranks that are slower than fewer, nor short of much less rank-time",
          "[sharding]") {
  // Odd numbers of ranks exchange slowly, as if they shared their links unevenly: 6 ranks take less rank-time than 5.
  degree_cost const cost{.linear = 1'000'000, .exchange_by_ranks = {0, 10'000, 400'000, 20'000, 500'000, 30'000, 600'000}};
  sharding_options o{.capacity = 1000, .ranks = 7, .cost_per_pass = 1000};
  numbers const lengths{4500, 4500, 900, 900, 900, 900};
  for (auto const policy : {execution::mixed, execution::independent, execution::lockstep}) {
    o.execution = policy;
    auto const plan = plan_shards(lengths, o, cost);
    REQUIRE(check_shards(plan, lengths, o).valid());
    for (auto const ranks : plan.rank_groups) CHECK(ranks.size() % 2 == 0);
    CHECK(plan.time.value == time_shards(plan, cost, o.cost_per_pass).makespan);
  }
}

TEST_CASE("any_degree_bound: samples longer than half of the ranks hold run one after the other", "[sharding]") {
  sharding_options const o{.capacity = 1000, .ranks = 6, .cost_per_pass = 10};
  degree_cost const cost{.exchange = {1000, 1000, 1000, 1000}};  // a nanosecond for a token, on whatever ranks
  CHECK(any_degree_bound(numbers{3001, 3001, 3001, 10}, o, cost) == 3 * 3011);
  CHECK(any_degree_bound(numbers{3000, 3000, 3000, 10}, o, cost) < 3 * 3010);  // two beside each other
  CHECK(plan_shards(numbers{3001, 3001, 3001, 10}, o, cost).time == certificate{3 * 3011, 3 * 3011});
}

TEST_CASE("plan_shards: many samples on many ranks keep to powers of two by default", "[sharding]") {
  numbers const lengths(2000, 100);
  sharding_options o{.capacity = 1000, .ranks = 1000, .cost_per_pass = 10};
  CHECK(!detail::takes_any_size(o, lengths.size()));
  CHECK(check_shards(plan_shards(lengths, o, model), lengths, o, {.aligned = true}).valid());
  CHECK(detail::takes_any_size(o, 1000));
  o.sizes = group_sizes::any;
  CHECK(detail::takes_any_size(o, lengths.size()));
}

TEST_CASE("plan_shards: neither groups of one size nor sizes that are worth trying keep the search from better plans", "[sharding]") {
  CHECK(gap_on_h100(octaves(95, 4, false)) < 0.09);
  CHECK(gap_on_h100(octaves(123, 2, false)) < 0.045);
}

TEST_CASE("plan_shards: rounds shorten micro-batches on a power of two ranks, too", "[sharding]") {
  for (std::uint64_t const each : {2U, 4U}) {
    auto batch = octaves(128, each, true);
    batch.options.execution = execution::lockstep;
    CHECK(gap_on_h100(batch) < 0.04);
  }
}

TEST_CASE("plan_shards: the bound in lockstep sees that ranks beside whole nodes hold little", "[sharding]") {
  for (std::uint64_t const ranks : {79U, 87U, 95U}) {  // nodes of 8
    auto batch = octaves(ranks, 4, true);
    batch.options.execution = execution::lockstep;
    CHECK(gap_on_h100(batch) < 0.07);
  }
}

TEST_CASE("plan_shards: two batches on which plain context parallelism was ahead", "[sharding]") {
  auto const* const folder = std::getenv("BALLAST_TRACES");
  if (folder == nullptr) {
    WARN("BALLAST_TRACES is not set: the small batches are not planned");
    return;
  }
  for (std::uint64_t const gpus : {6U, 7U}) {
    auto const name = std::string(folder) + "/rivals/small/worst_" + std::to_string(gpus) + ".txt";
    std::ifstream in(name);
    numbers lengths;
    for (std::int64_t l = 0; in >> l;) lengths.push_back(l);
    CAPTURE(name);
    REQUIRE(!lengths.empty());
    drawn batch{.lengths = lengths, .options = {.capacity = gpus == 6 ? 8700 : 8250, .ranks = gpus, .cost_per_pass = 11'400'000}};
    for (auto const policy : {execution::mixed, execution::independent, execution::lockstep}) {
      batch.options.execution = policy;
      auto const plan = plan_shards(lengths, batch.options, model);
      check_plan(plan, batch);
      CHECK(plan.time.value <= one_width(batch, static_cast<std::int64_t>(gpus), true));
      CHECK(plan.time.gap() < (policy == execution::lockstep ? 0.06 : 0.04));
      auto blocks = batch.options;
      blocks.sizes = group_sizes::powers_of_two;
      CHECK(plan.time.value * 5 < plan_shards(lengths, blocks, model).time.value * 4);
    }
  }
}

}  // namespace test_sharding_any_sizes
