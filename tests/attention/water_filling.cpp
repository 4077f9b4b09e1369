// SPDX-License-Identifier: Apache-2.0
#include <ballast/attention/check_attention_tasks.hpp>
#include <ballast/attention/water_filling.hpp>
#include <ballast/core/random.hpp>
#include <ballast/sharding/make_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/wlb_lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace test_attention_water_filling {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using tasks = std::vector<attention_task<>>;

namespace {

/// Whole samples, each on the server with the fewest tokens so far.
tasks dealt_by_tokens(std::vector<std::int64_t> const& lengths, std::size_t servers) {
  std::vector<std::int64_t> tokens(servers, 0);
  tasks out;
  for (std::uint32_t i = 0; i < lengths.size(); ++i) {
    auto const least = static_cast<std::size_t>(std::min_element(tokens.begin(), tokens.end()) - tokens.begin());
    tokens[least] += lengths[i];
    out.push_back({i, static_cast<std::uint32_t>(least), 0, lengths[i], 0, 0});
  }
  return out;
}

std::int64_t pairs_of(tasks const& of) {
  return std::accumulate(of.begin(), of.end(), std::int64_t{0}, [](auto sum, auto const& t) { return sum + t.pairs(); });
}

}  // namespace

TEST_CASE("water_filling: every query once, and no server worse than before", "[property]") {
  splitmix64 draw(1);
  for (int round = 0; round < 300; ++round) {
    auto const servers = static_cast<std::size_t>(between(1, 12, draw));
    auto const count = between(0, 60, draw), longest = between(1, 3000, draw);
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(count), longest, draw);
    tasks given;
    for (std::uint32_t i = 0; i < lengths.size(); ++i) {
      auto const home = static_cast<std::uint32_t>(draw() % servers);
      if (draw() % 3 != 0 || lengths[i] < 4) {
        given.push_back({i, home, 0, lengths[i], 0, 0});
      } else {  // a head and a tail here, what is between them there
        auto const head = between(1, lengths[i] / 2, draw), tail = between(head, lengths[i] - 1, draw);
        given.push_back({i, home, 0, head, tail, lengths[i]});
        if (tail > head) given.push_back({i, static_cast<std::uint32_t>(draw() % servers), head, tail, tail, tail});
      }
    }
    for (auto const& [how, cut] :
         {std::pair{filling::two_sided, attention_cut::window}, std::pair{filling::two_sided, attention_cut::head_and_tail},
          std::pair{filling::one_sided, attention_cut::window}, std::pair{filling::one_sided, attention_cut::head_and_tail}}) {
      water_filling_options const o{.servers = servers,
                                    .query_bytes = 4,
                                    .key_value_bytes = 1,
                                    .multiple = between(1, 192, draw),
                                    .tolerance = between(0, 100, draw),
                                    .filling = how,
                                    .cut = cut};
      auto const plan = water_filling(given, o);
      CAPTURE(round, describe(check_attention_tasks(plan, given, o)));
      CHECK(check_attention_tasks(plan, given, o).valid());
      CHECK(plan.load.lower_bound <= plan.load.value);
      CHECK(std::accumulate(plan.loads.begin(), plan.loads.end(), std::int64_t{0}) == pairs_of(given));
      std::vector<std::int64_t> before(servers, 0);
      for (auto const& t : given) before[t.home] += t.pairs();
      if (!given.empty()) CHECK(plan.load.value <= *std::max_element(before.begin(), before.end()));
      CHECK(hash(plan) == hash(water_filling(given, o)));
    }
  }
}

TEST_CASE("water_filling: within the tolerance on both sides where parts are small enough", "[property]") {
  splitmix64 draw(2);
  for (int round = 0; round < 100; ++round) {
    auto const servers = static_cast<std::size_t>(between(2, 20, draw));
    auto const lengths = ballast_test::random_lengths(40, 2000, draw);
    auto given = dealt_by_tokens(lengths, servers);
    for (auto const tolerance : {std::int64_t{200}, std::int64_t{20}, std::int64_t{0}}) {
      water_filling_options const o{.servers = servers, .query_bytes = 2, .key_value_bytes = 1, .multiple = 1, .tolerance = tolerance};
      auto const plan = water_filling(given, o);
      auto const mean = pairs_of(given) / static_cast<std::int64_t>(servers);
      for (std::size_t server = 0; server < servers; ++server)  // neighbouring parts are one task
        for (std::size_t k = 1; k < plan(server).size(); ++k) {
          auto const &a = plan(server)[k - 1], &b = plan(server)[k];
          CHECK_FALSE((a.sample == b.sample && a.end == b.begin));
        }
      auto const slack = mean * tolerance / 1000 + 4001;  // a part of one query at each end of the longest sample
      for (auto const load : plan.loads) {
        CHECK(load <= mean + slack);
        CHECK(load >= mean - slack);
      }
    }
  }
}

TEST_CASE("water_filling: 64 servers with long documents, from 9 times the mean to 1 % above it", "[published]") {
  auto const lengths = ballast_test::wlb_lengths(2410, 3);
  auto const given = dealt_by_tokens(lengths, 64);
  water_filling_options o{.servers = 64,
                          .query_bytes = 8192,
                          .key_value_bytes = 4096,
                          .tolerance = 100,
                          .filling = filling::one_sided,
                          .cut = attention_cut::head_and_tail};
  auto const one_sided = water_filling(given, o);
  o.filling = filling::two_sided;
  auto const loose = water_filling(given, o);
  o.tolerance = 5;
  auto const ends = water_filling(given, o);
  o.cut = attention_cut::window;
  auto const tight = water_filling(given, o);
  o.tolerance = 0;
  auto const exact = water_filling(given, o);
  for (auto const* plan : {&one_sided, &loose, &ends, &tight, &exact}) CHECK(check_attention_tasks(*plan, given, o).valid());
  std::vector<std::int64_t> before(64, 0);
  for (auto const& t : given) before[t.home] += t.pairs();
  auto const mean = one_sided.load.lower_bound;
  CHECK(*std::max_element(before.begin(), before.end()) > 3 * mean);
  CHECK(one_sided.load.value > mean + mean / 10);  // the tolerance bounds the receivers only
  CHECK(loose.load.value <= mean + mean / 10);
  CHECK(ends.load.value * 1000 <= mean * 1010);
  CHECK(tight.load.value * 1000 <= mean * 1005);
  CHECK(*std::min_element(tight.loads.begin(), tight.loads.end()) * 1000 >= mean * 995 - 1000);
  CHECK(exact.load.value * 10'000 <= mean * 10'001);
  CHECK(tight.bytes_moved * 10 < ends.bytes_moved * 9);  // windows leave out the keys behind them
  CHECK(tight.bytes_moved < one_sided.bytes_moved);
}

TEST_CASE("water_filling: 256 servers, where a head and a tail of a long document are too large", "[published]") {
  auto const lengths = ballast_test::wlb_lengths(10000, 4);
  auto const given = dealt_by_tokens(lengths, 256);
  water_filling_options o{.servers = 256, .query_bytes = 8192, .key_value_bytes = 4096, .tolerance = 0};
  auto const windows = water_filling(given, o);
  CHECK(check_attention_tasks(windows, given, o).valid());
  CHECK(windows.load.value * 10'000 <= windows.load.lower_bound * 10'001);
  o.cut = attention_cut::head_and_tail;
  auto const ends = water_filling(given, o);
  CHECK(check_attention_tasks(ends, given, o).valid());
  CHECK(ends.load.value * 1000 <= ends.load.lower_bound * 1012);
}

TEST_CASE("water_filling: two long documents among short ones, which parts of them cannot even out alone") {
  splitmix64 draw(9);
  std::vector<std::int64_t> lengths(32 * 60);
  for (auto& l : lengths) {
    auto const rare = draw() % 1000 == 0;
    l = rare ? 131072 - static_cast<std::int64_t>(draw() % 1000) : 32 + static_cast<std::int64_t>(draw() % 600);
  }
  auto const given = dealt_by_tokens(lengths, 32);
  water_filling_options o{.servers = 32, .query_bytes = 8, .key_value_bytes = 4};
  auto const windows = water_filling(given, o);  // needs exchanges
  CHECK(windows.load.value * 1000 <= windows.load.lower_bound * 1005);
  o.cut = attention_cut::head_and_tail;
  auto const ends = water_filling(given, o);  // needs parts of other donors
  CHECK(ends.load.value * 1000 <= ends.load.lower_bound * 1005);
  CHECK(*std::min_element(ends.loads.begin(), ends.loads.end()) * 1000 >= ends.load.lower_bound * 995 - 1000);
}

TEST_CASE("water_filling: a window moves the fewest bytes of all windows with as many pairs", "[property]") {
  splitmix64 draw(5);
  int single = 0;
  for (int round = 0; round < 300; ++round) {
    auto const length = between(500, 4000, draw), other = between(1, length * 3 / 4, draw);
    water_filling_options const o{
        .servers = 2, .query_bytes = between(1, 40, draw), .key_value_bytes = between(1, 40, draw), .multiple = 1, .tolerance = 20};
    tasks const given{{0, 0, 0, length, 0, 0}, {1, 1, 0, other, 0, 0}};
    auto const plan = water_filling(given, o);
    CHECK(plan.load.value * 100 <= plan.load.lower_bound * 102);
    if (plan.moves != 1) continue;
    ++single;
    auto const moved = plan.loads[1] - given[1].pairs();
    auto best = (std::numeric_limits<std::int64_t>::max)();
    for (std::int64_t n = 1; n < length; ++n) {  // the first window of n queries with that many pairs
      auto const first = (std::max)((moved - n * (n + 1) / 2 + n - 1) / n, std::int64_t{0});
      if (first + n <= length) best = (std::min)(best, n * o.query_bytes + (first + n) * o.key_value_bytes);
    }
    CAPTURE(round, length, other, moved);
    CHECK(plan.bytes_moved <= best + o.query_bytes + o.key_value_bytes);
  }
  CHECK(single > 250);
}

TEST_CASE("water_filling: tiny cases by hand") {
  // 8 queries on server 0, none on 1: 36 pairs. The middle four, or two queries off each end, have 18.
  tasks const given{{0, 0, 0, 8, 0, 0}};
  water_filling_options o{.servers = 2, .query_bytes = 1, .key_value_bytes = 1, .multiple = 2, .tolerance = 0};
  auto const window = water_filling(given, o);
  CHECK(window.loads == std::vector<std::int64_t>{18, 18});
  CHECK(window.load.optimal());
  CHECK(window.tasks == tasks{{0, 0, 0, 2, 2, 2}, {0, 0, 6, 8, 8, 8}, {0, 0, 2, 6, 6, 6}});
  CHECK(window.moves == 1);
  CHECK(window.bytes_moved == 4 + 6);
  o.cut = attention_cut::head_and_tail;
  auto const ends = water_filling(given, o);
  CHECK(ends.loads == std::vector<std::int64_t>{18, 18});
  CHECK(ends.tasks == tasks{{0, 0, 2, 6, 6, 6}, {0, 0, 0, 2, 6, 8}});
  CHECK(ends.bytes_moved == 4 + 8);
  o.multiple = 4;  // no part: a multiple off both ends would be all queries
  CHECK(water_filling(given, o).moves == 0);
  // The longer sample moves with fewer bytes per pair.
  tasks const two{{0, 0, 0, 4, 0, 0}, {1, 0, 0, 4, 0, 0}, {2, 0, 0, 8, 0, 0}};
  o.tolerance = 1000;
  o.filling = filling::one_sided;
  CHECK(water_filling(two, o).moves == 0);
  o.tolerance = 900;
  o.multiple = 1;
  auto const moved = water_filling(two, o);
  CHECK(moved(1).size() == 1);
  CHECK(moved(1)[0].sample == 2);
  CHECK(water_filling(tasks{}, o).loads == std::vector<std::int64_t>{0, 0});
  // A head and a tail may move apart; where they are neighbours and stay, they are one task.
  tasks const neighbours{{0, 0, 0, 4, 4, 8}};
  CHECK(water_filling(neighbours, {.servers = 1, .query_bytes = 1, .key_value_bytes = 1}).tasks == tasks{{0, 0, 0, 8, 8, 8}});
}

TEST_CASE("water_filling: misuse") {
  tasks const given{{0, 0, 0, 8, 0, 0}};
  water_filling_options const o{.servers = 2, .query_bytes = 1, .key_value_bytes = 1};
  auto const with = [&](auto change) {
    auto other = o;
    change(other);
    return refusal([&] { return water_filling(given, other); });
  };
  CHECK(with([](auto& x) { x.servers = 0; }) == "servers = 0 must be in 1 ... 2^20 - 1");
  CHECK(with([](auto& x) { x.query_bytes = 0; }) == "query_bytes = 0 must be in 1 ... 2^24 - 1");
  CHECK(with([](auto& x) { x.key_value_bytes = 1 << 24; }) == "key_value_bytes = 16777216 must be in 1 ... 2^24 - 1");
  CHECK(with([](auto& x) { x.multiple = 0; }) == "multiple = 0 must be in 1 ... 2^24 - 1");
  CHECK(with([](auto& x) { x.tolerance = 1001; }) == "tolerance = 1001 must be in 0 ... 1000");
  auto const of = [&](attention_task<> const& t) { return refusal([&] { return water_filling(tasks{t}, o); }); };
  CHECK(of({0, 2, 0, 8, 0, 0}) == "tasks[0].home = 2 must be below servers");
  CHECK(of({0, 0, 5, 5, 0, 0}) == "tasks[0] has the queries 5 to 5, which is no range");
  CHECK(of({0, 0, 0, 5, 4, 8}) == "tasks[0].tail_begin must not be before its end");
  CHECK(of({0, 0, 0, std::int64_t{1} << 31, 0, 0}) == "tasks[0] ends at key 2147483648, 2^31 or more");
}

}  // namespace test_attention_water_filling
