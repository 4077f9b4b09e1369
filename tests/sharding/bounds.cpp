// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/degree_cost.hpp>
#include <ballast/sharding/any_degree.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/plan_shards.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"

#include <cstdint>
#include <vector>

namespace test_sharding_bounds {

using ballast::execution;
using ballast::shard_bounds;
using ballast_test::between;
using ballast_test::flexsp_cost;

TEST_CASE("shard_bounds: never above the exhaustive optimum") {
  ballast::splitmix64 draw(11);
  auto const cost = flexsp_cost();
  double sum = 0, in_lockstep = 0;
  int const rounds = 120;
  for (int round = 0; round < rounds; ++round) {
    auto batch = ballast_test::random_tiny_batch(draw);
    auto const best = ballast_test::exhaustive_shards(batch.lengths, batch.options, cost);
    auto const bound = shard_bounds(batch.lengths, batch.options, cost).lower();
    CHECK(bound <= best.independent);
    sum += static_cast<double>(best.independent) / static_cast<double>(bound);
    batch.options.execution = execution::lockstep;
    auto const waiting = shard_bounds(batch.lengths, batch.options, cost).lower();
    CHECK(waiting <= best.lockstep);
    in_lockstep += static_cast<double>(best.lockstep) / static_cast<double>(waiting);
  }
  CHECK(sum / rounds < 1.06);  // and not far below it
  CAPTURE(in_lockstep / rounds);
  CHECK(in_lockstep / rounds < 1.06);
}

TEST_CASE("shard_bounds: in lockstep, a micro-batch lasts as long as a long sample, and its tokens limit what is beside it") {
  // Squares in nanoseconds, and five for each token on four ranks. The long sample takes 800 on two ranks, with room for eight short ones
  // beside it that have little work, or 600 on four. Sixty short ones take 15 passes of 100, so no rank-time is lost but beside it.
  ballast::degree_cost const cost{.square = 1000, .exchange = {0, 0, 5000}};
  ballast::sharding_options o{.capacity = 20, .ranks = 4, .cost_per_pass = 10, .execution = execution::lockstep};
  std::vector<std::int64_t> lengths(61, 5);
  lengths[7] = 40;
  CHECK(shard_bounds(lengths, o, cost).lower() == 600 + 60 * 25 / 4 + 5 * 10);
  CHECK(shard_bounds(lengths, o, cost).lower() <= ballast::plan_shards(lengths, o, cost).time.value);
  o.sizes = ballast::group_sizes::any;  // 734 on three ranks, with four short ones beside it
  CHECK(shard_bounds(lengths, o, cost).lower() == 600 + 60 * 25 / 4 + 5 * 10);
  o.sizes = ballast::group_sizes::automatic;
  lengths.assign({40, 40, 5, 5, 5, 5});  // two long ones beside each other, in the time of one
  CHECK(shard_bounds(lengths, o, cost).lower() == 800 + 25 + 2 * 10);
}

/// The optimum in lockstep on groups of any number of ranks, by dynamic programs over sets of samples and over ranks.
template <class Cost>
std::int64_t lockstep_on_any_sizes(std::vector<std::int64_t> const& lengths, ballast::sharding_options const& o, Cost const& cost) {
  constexpr auto never = ballast_test::exhaustive_times::never;
  auto const sets = std::size_t{1} << lengths.size(), ranks = static_cast<std::size_t>(o.ranks);
  std::vector<std::vector<std::int64_t>> pass(ranks + 1, std::vector<std::int64_t>(sets, never)), micro = pass;  // on so many ranks
  for (std::size_t w = 1; w <= ranks; ++w)
    for (std::size_t set = 0; set < sets; ++set) {
      std::int64_t tokens = 0, time = 0;
      for (std::size_t i = 0; i < lengths.size(); ++i)
        if ((set >> i & 1) != 0) {
          tokens += lengths[i];
          time += cost(lengths[i], static_cast<std::int64_t>(w));
        }
      if (tokens <= o.capacity * static_cast<std::int64_t>(w)) pass[w][set] = time;
    }
  micro[0][0] = 0;
  for (std::size_t r = 1; r <= ranks; ++r)
    for (std::size_t set = 0; set < sets; ++set)
      for (std::size_t w = 1; w <= r; ++w)
        for (auto part = set;; part = (part - 1) & set) {
          micro[r][set] = std::min(micro[r][set], std::max(pass[w][part], micro[r - w][set ^ part]));
          if (part == 0) break;
        }
  std::vector<std::int64_t> batches(sets, never);
  batches[0] = 0;
  for (std::size_t set = 1; set < sets; ++set)
    for (auto part = set; part != 0; part = (part - 1) & set)
      batches[set] = std::min(batches[set], micro[ranks][part] + o.cost_per_pass + batches[set ^ part]);
  return batches.back();
}

TEST_CASE("shard_bounds: in lockstep on any number of ranks, never above the exhaustive optimum") {
  ballast::splitmix64 draw(40);
  double sum = 0;
  int const rounds = 80;
  for (int round = 0; round < rounds; ++round) {
    auto batch = ballast_test::random_tiny_batch(draw);
    batch.lengths.resize(std::min(batch.lengths.size(), std::size_t{5}));
    auto& o = batch.options;
    o.ranks = static_cast<std::uint64_t>(between(4, 11, draw));
    o.execution = execution::lockstep;
    o.sizes = ballast::group_sizes::any;
    auto const best = lockstep_on_any_sizes(batch.lengths, o, batch.cost);
    auto const bound = shard_bounds(batch.lengths, o, batch.cost).lower();
    CAPTURE(round, batch.lengths, o.ranks, o.capacity, o.cost_per_pass);
    CHECK(bound <= best);
    CHECK(best <= ballast::plan_shards(batch.lengths, o, batch.cost).time.value);
    CHECK(ballast::any_degree_bound(batch.lengths, o, batch.cost) == bound);
    sum += static_cast<double>(best) / static_cast<double>(bound);
  }
  CAPTURE(sum / rounds);
  CHECK(sum / rounds < 1.06);
}

TEST_CASE("shard_bounds: in lockstep, ranks beside whole blocks hold few tokens") {
  // Two ranks exchange nothing, other numbers so much that more of them are no quicker. Two pairs are beside each other on five ranks, and
  // the fifth, alone, holds a token.
  auto const pairs = [](std::int64_t length, std::int64_t ranks) { return length < 1000 || ranks == 1 ? length : std::int64_t{1000}; };
  ballast::sharding_options const o{.capacity = 1000, .ranks = 5, .cost_per_pass = 10, .execution = execution::lockstep};
  CHECK(shard_bounds(std::vector(12, 1500), o, pairs).lower() == 6 * 1000 + 4 * 10);  // by rank-time 12 * 2000 / 5
  CHECK(shard_bounds(std::vector(40, 1500), o, pairs).lower() == 20 * 1000 + 12 * 10);
  ballast::splitmix64 draw(79);
  double sum = 0;
  constexpr int rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    ballast::sharding_options by{.capacity = 1000, .ranks = static_cast<std::uint64_t>(between(5, 7, draw))};
    by.cost_per_pass = between(0, 50000, draw);
    by.execution = execution::lockstep;
    ballast::degree_cost cost{.linear = between(1, 1000, draw) * 1000, .square = between(1, 1000, draw)};
    for (std::int64_t d = 1; d <= 7; ++d) cost.exchange_by_ranks.push_back(d == 1 ? 0 : between(1, d % 2 == 0 ? 9 : 900, draw) * 1000);
    std::vector<std::int64_t> lengths(6);
    for (auto& l : lengths) l = draw() % 4 == 0 ? between(10, 1000, draw) : between(1000, 1000 * static_cast<std::int64_t>(by.ranks), draw);
    auto const best = lockstep_on_any_sizes(lengths, by, cost);
    auto const bound = shard_bounds(lengths, by, cost).lower();
    CAPTURE(round, lengths, by.ranks, by.cost_per_pass, cost.linear, cost.square, cost.exchange_by_ranks);
    CHECK(bound <= best);
    sum += static_cast<double>(best) / static_cast<double>(bound) / rounds;
  }
  CAPTURE(sum);
  CHECK(sum < 1.06);
}

TEST_CASE("block_price_bound: copies of a sample that fill a group pay no more than the group may", "[sharding][property]") {
  struct area_and_time {
    std::int64_t area, time;
  };
  std::size_t held = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const ranks = between(3, 32, draw), capacity = between(50, 99, draw), length = between(1, ranks * capacity, draw);
    auto const narrowest = ballast::divide_up(length, capacity), work = length * between(500, 999, draw);
    area_and_time best{ballast::detail::degree_times::most, 0};
    std::vector<std::int64_t> times;
    auto quickest = best.area;
    for (auto d = narrowest; d <= ranks; ++d) {
      auto const time = work * between(1000, 1300, draw) / (1000 * d);
      times.push_back(time < quickest ? time : -1);
      quickest = (std::min)(quickest, time);
      if (time == quickest && d * time < best.area) best = {d * time, time};
    }
    ballast::detail::degree_times batch{};
    batch.options.ranks = static_cast<std::uint64_t>(ranks);
    batch.options.capacity = capacity;
    batch.length = {length};
    ballast::detail::block_price_bound bound;
    bound.add(narrowest, times);
    auto const size = between(2, ranks, draw), price = between(0, 2 * best.time / capacity + 1, draw), first = price * capacity;
    auto const pays = static_cast<double>(bound.paid(batch, std::vector{best}, size, price));
    for (std::size_t k = 0; k < times.size(); ++k) {
      if (times[k] < 0) continue;
      auto const d = narrowest + static_cast<std::int64_t>(k);
      auto const full = times[k] * capacity * d / length;  // as much time as tokens
      for (auto const lasts : {times[k], first, times[k] * 3 / 2, 2 * first, full, 1000 * full}) {
        if (lasts < times[k]) continue;
        auto const copies = (std::min)(static_cast<double>(lasts) / static_cast<double>(times[k]),
                                       static_cast<double>(capacity * d) / static_cast<double>(length));
        auto const whole = static_cast<double>(d / size) * static_cast<double>(ranks) / static_cast<double>(ranks / size);
        auto const may = static_cast<double>(d * (std::min)(lasts, first)) +
                         static_cast<double>((std::max)(lasts - first, std::int64_t{0})) * (lasts > first ? whole : 0);
        CAPTURE(seed, ranks, capacity, length, size, price, d, times[k], lasts);
        REQUIRE(copies * pays <= may * (1 + 1e-9) + 2);
        held += pays > 0 ? 1U : 0U;
      }
    }
  }
  CHECK(held > 10'000);
}

TEST_CASE("room_prices: the samples of no group pay more than its time and its room", "[sharding][property]") {
  std::int64_t groups = 0, raised = 0, full = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    ballast::splitmix64 draw(seed);
    ballast::sharding_options o{.capacity = between(1, 200, draw), .ranks = std::uint64_t{1} << between(0, 5, draw)};
    ballast::degree_cost cost{.linear = between(0, 1000, draw) * 1000, .square = draw() % 2 == 0 ? 0 : between(0, 5000, draw)};
    for (std::int64_t d = 1; d <= 32 && seed % 3 != 0; ++d) cost.exchange_by_ranks.push_back(between(0, 900'000, draw));
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(between(1, 8, draw)));
    for (auto& l : lengths)
      l = between(1, std::max(static_cast<std::int64_t>(o.ranks) * o.capacity >> between(0, 4, draw), std::int64_t{1}), draw);
    auto const times = ballast::detail::times_of_degrees(lengths, o, cost);
    auto const price = between(0, draw() % 2 == 0 ? 30 : 1000, draw);
    auto const pays = ballast::detail::room_prices(times, price);
    for (std::size_t i = 0; i < lengths.size(); ++i) raised += pays[i] > price * times.length[i] + times.least_area(i, times.most);
    for (std::size_t l = 0; l < times.levels; ++l)
      for (std::size_t set = 1; set < std::size_t{1} << lengths.size(); ++set) {
        std::int64_t tokens = 0, time = 0, paid = 0;
        for (std::size_t i = 0; i < lengths.size(); ++i)
          if ((set >> i & 1) != 0) {
            tokens += times.length[i];
            time += times.at(i, l);
            paid += pays[i];
          }
        if (tokens > times.room(l)) continue;
        auto const may = times.width[l] * (time + price * o.capacity);
        CAPTURE(seed, lengths, o.capacity, o.ranks, price, times.width[l], set);
        REQUIRE(paid <= may);
        ++groups;
        full += 100 * paid >= 99 * may;
      }
  }
  CAPTURE(groups, raised, full);
  CHECK(groups > 100'000);
  CHECK(raised > 1'500);
  CHECK(full > 10'000);
}

TEST_CASE("shard_bounds: in lockstep, what long samples leave of their room is filled with others, or empty") {
  // The long sample takes 105 on four ranks and leaves 190 tokens of their room. There a short one takes twice as much rank-time as alone.
  ballast::degree_cost const cost{.linear = 1000, .exchange = {0, 500, 250}};
  ballast::sharding_options const o{.capacity = 100, .ranks = 4, .cost_per_pass = 1000, .execution = execution::lockstep};
  std::vector<std::int64_t> lengths(60, 10);
  lengths[7] = 210;  // 800 tokens in all, so that two micro-batches are full
  CHECK(shard_bounds(lengths, o, cost).lower() == (2 * 210 + 2 * 190 + 400) / 4 + 2 * 1000);  // 253 by rank-time
  CHECK(ballast::plan_shards(lengths, o, cost).time.optimal());
}

TEST_CASE("shard_bounds: a harder problem never has a lower bound") {
  ballast::splitmix64 draw(5);
  auto const cost = flexsp_cost();
  for (int round = 0; round < 60; ++round) {
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(between(1, 60, draw)), 20000, draw);
    ballast::sharding_options const o{
        .capacity = 8192, .ranks = static_cast<std::uint64_t>(between(4, 24, draw)), .cost_per_pass = 1000000};
    auto const bound = shard_bounds(lengths, o, cost).lower();
    auto more = lengths;
    more.push_back(between(1, 20000, draw));
    CHECK(shard_bounds(more, o, cost).lower() >= bound);
    auto harder = o;
    harder.capacity = 6000;
    CHECK(shard_bounds(lengths, harder, cost).lower() >= bound);
    harder = o;
    harder.ranks -= 1;
    if (harder.ranks >= 4) CHECK(shard_bounds(lengths, harder, cost).lower() >= bound);
    harder = o;
    harder.cost_per_pass *= 3;
    CHECK(shard_bounds(lengths, harder, cost).lower() >= bound);
    harder = o;
    harder.execution = execution::lockstep;
    CHECK(shard_bounds(lengths, harder, cost).lower() >= bound);
  }
}

TEST_CASE("shard_bounds: each bound by hand") {
  ballast::degree_cost const cost{.linear = 1000};  // a nanosecond per token
  // 100 tokens on 4 ranks take 25; all 130 tokens take 33 on each rank; a pass costs 10.
  auto const b = shard_bounds(std::vector{100, 30}, {.capacity = 50, .ranks = 4, .cost_per_pass = 10}, cost);
  CHECK(b.longest == 35);
  CHECK(b.area == 43);
  // 45 tokens on each rank, with room for 20: three passes on some rank.
  auto const full = shard_bounds(std::vector(9, 20), {.capacity = 20, .ranks = 4, .cost_per_pass = 10}, cost);
  CHECK(full.area == 68);  // (180 + 9 * 10) / 4
  CHECK(full.rate == 75);  // a rank that holds 45 tokens runs three passes
  CHECK(shard_bounds(std::vector<int>{}, {.capacity = 20, .ranks = 4}, cost) == ballast::shard_lower_bounds{});
  CHECK(shard_bounds(std::vector{81}, {.capacity = 20, .ranks = 4}, cost).lower() == 0);  // has room nowhere
}

TEST_CASE("shard_bounds: samples longer than half of the widest group holds run one after the other") {
  ballast::degree_cost const cost{.linear = 8000};
  std::vector const lengths{4001, 4001, 4001, 10};
  ballast::sharding_options o{.capacity = 1000, .ranks = 8, .cost_per_pass = 10};
  CHECK(shard_bounds(lengths, o, cost).lower() == 3 * 4011);
  CHECK(shard_bounds(std::vector{4000, 4000, 4000, 10}, o, cost).lower() < 3 * 4010);  // two beside each other
  CHECK(ballast::plan_shards(std::vector{4001, 4001, 4001}, o, cost).time.optimal());
  o.sizes = ballast::group_sizes::powers_of_two;
  o.ranks = 11;
  CHECK(shard_bounds(lengths, o, cost).lower() == 3 * 4011);  // on 8 of them
  o.ranks = 16;
  o.most_ranks_shared = 8;
  CHECK(shard_bounds(lengths, o, cost).lower() < 2 * 4011);
  ballast::splitmix64 draw(12);
  o = {.capacity = 1000, .ranks = 16};
  for (int round = 0; round < 40; ++round) {
    std::vector<std::int64_t> drawn(static_cast<std::size_t>(between(1, 9, draw)));
    for (auto& l : drawn) l = between(7000, 16000, draw);
    o.cost_per_pass = between(0, 1000000000, draw);
    auto const bound = shard_bounds(drawn, o, flexsp_cost()).lower();
    CHECK(ballast::any_degree_bound(drawn, o, flexsp_cost()) <= bound);
    CHECK(bound <= ballast::plan_shards(drawn, o, flexsp_cost()).time.value);
  }
}

TEST_CASE("shard_bounds: a cost that takes less rank-time on more ranks is bounded by the least of it") {
  ballast::degree_cost const cost{.linear = 1000000, .exchange = {900000, 100000, 100000}};  // a rank alone pays most
  ballast::degree_cost const monotone{.linear = 1000000, .exchange = {100000, 100000, 100000}};
  std::vector const lengths{1000, 900, 800, 30, 20, 10};
  ballast::sharding_options const o{.capacity = 2000, .ranks = 4, .cost_per_pass = 1000};
  auto const least = shard_bounds(lengths, o, cost);
  CHECK(least.lower() >= shard_bounds(lengths, o, monotone).lower());
  std::int64_t area = 0;
  for (auto const l : lengths) {
    auto smallest = cost(l, 1);
    for (auto const d : {2, 4}) smallest = std::min(smallest, d * cost(l, d));
    area += smallest;
  }
  CHECK(least.area >= area / 4 + 1000);
}

}  // namespace test_sharding_bounds
