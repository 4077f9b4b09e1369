// SPDX-License-Identifier: Apache-2.0
#include <ballast/patterns/cutting_stock.hpp>

#include <ballast/core/random.hpp>

#include "support/bpplib.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/pattern_rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

// Samples that have to fill every pack to the last token: joins, and the search that makes them one by one.

namespace test_patterns_full_packs {

namespace {

using ballast::solve_cutting_stock;
using ballast::status;
using ballast::detail::full_pack_joins;
using ballast::detail::pattern_rows;
using ballast_test::between;
using ballast_test::counted;
using ballast_test::rows_of;
using counts = std::map<std::int64_t, std::uint64_t>;

/// Whether samples fill packs to the last token, by exhaustive search: the longest sample with every set beside it.
class filling {
 public:
  explicit filling(std::int64_t capacity) : capacity_(capacity) {}
  bool possible(counts const& samples) {
    if (samples.empty()) return true;
    if (!failed_.contains(samples)) {
      auto rest = samples;
      auto const longest = samples.rbegin()->first;
      take(rest, longest);
      if (beside(rest, longest, capacity_ - longest)) return true;
      failed_.insert(samples);
    }
    return false;
  }

 private:
  static void take(counts& samples, std::int64_t length) {
    if (--samples[length] == 0) samples.erase(length);
  }
  bool beside(counts const& samples, std::int64_t most, std::int64_t room) {
    if (room == 0) return possible(samples);
    for (auto const& [l, n] : samples) {
      if (l > (std::min)(most, room)) break;
      auto rest = samples;
      take(rest, l);
      if (beside(rest, l, room - l)) return true;
    }
    return false;
  }
  std::int64_t capacity_;
  std::set<counts> failed_;
};

/// Packs of `least` to `most` samples that are full; then a token moves from one sample to another `moves` times.
std::vector<std::int64_t> full_packs(std::size_t packs, std::int64_t capacity, std::int64_t least, std::int64_t most, std::uint64_t moves,
                                     ballast::splitmix64& draw) {
  std::vector<std::int64_t> out;
  for (std::size_t p = 0; p < packs; ++p) {
    auto room = capacity;
    for (auto n = between(least, most, draw); n > 1; --n) {
      out.push_back(between(1, (std::max)(std::int64_t{1}, 2 * (room - n) / n), draw));
      room -= out.back();
    }
    out.push_back(room);
  }
  for (; moves > 0; --moves) {
    auto const a = draw() % out.size(), b = draw() % out.size();
    if (out[a] == capacity || out[b] == 1) continue;
    ++out[a];
    --out[b];
  }
  return out;
}
/// Whether the packs of `joins` hold every sample once and are full.
bool fills(full_pack_joins<> const& joins, pattern_rows const& rows) {
  std::vector<std::uint64_t> placed(rows.size(), 0);
  auto full = true;
  joins.for_each_pack([&](std::span<std::uint32_t const> pack) {
    std::int64_t tokens = 0;
    for (auto const i : pack) {
      ++placed[i];
      tokens += rows.length[i];
    }
    full = full && tokens == rows.capacity;
  });
  return full && placed == rows.count;
}

}  // namespace

TEST_CASE("full_pack_joins: what is left fills packs where the samples do, against exhaustive search", "[patterns][property]") {
  std::size_t joined = 0, refuted = 0, solved = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const capacity = between(12, 90, draw);
    auto const lengths = full_packs(static_cast<std::size_t>(between(2, 6, draw)), capacity, 2, 5, draw() % 4, draw);
    auto const samples = counted(lengths);
    auto const rows = rows_of(samples, capacity);
    filling search(capacity);
    auto const possible = search.possible(samples);
    CAPTURE(seed, capacity, possible);
    ballast::search_budget budget(ballast::search_limits{});
    full_pack_joins<> joins(rows, budget, ~std::uint64_t{0});
    auto const found = joins.join_all();
    if (found == status::infeasible) {
      REQUIRE_FALSE(possible);
      ++refuted;
      continue;
    }
    auto const left = joins.rows_left(99);
    counts rest;
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      rest[left.length[i]] = left.count[i];
      n += left.count[i];
      auto const named = samples.contains(left.length[i]);
      REQUIRE((left.item_class[i] == 99) != named);
    }
    REQUIRE(search.possible(rest) == possible);
    if (n < lengths.size()) ++joined;
    if (found != status::feasible) continue;
    REQUIRE(n == 0);
    REQUIRE(fills(joins, rows));
    ++solved;
  }
  CHECK(joined > 300);
  CHECK(refuted > 50);
  CHECK(solved > 50);
}

TEST_CASE("full_pack_joins: a search of more packs than are completed, against exhaustive search", "[patterns][property]") {
  std::size_t feasible = 0, infeasible = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const capacity = between(60, 240, draw);
    auto const lengths = full_packs(static_cast<std::size_t>(between(9, 11, draw)), capacity, 3, 3, draw() % 16, draw);
    auto const samples = counted(lengths);
    auto const rows = rows_of(samples, capacity);
    CAPTURE(seed, capacity);
    ballast::search_budget budget(ballast::search_limits{});
    full_pack_joins<> joins(rows, budget, ~std::uint64_t{0});
    auto found = joins.join_all();
    if (found == status::unknown) found = joins.search(40, 20'000'000);
    if (found == status::unknown) continue;
    filling search(capacity);
    REQUIRE((found == status::feasible) == search.possible(samples));
    if (found == status::feasible) REQUIRE(fills(joins, rows));
    feasible += found == status::feasible ? 1 : 0;
    infeasible += found == status::infeasible ? 1 : 0;
  }
  CHECK(feasible > 50);
  CHECK(infeasible > 10);
}

// Lengths are doubled, and a pack of two odd samples and an even one joins them: parity keeps the odd ones together. So the whole fills
// packs where the first samples do, however many packs hide them.
TEST_CASE("solve_cutting_stock: few samples that fill no packs are found below packs that hide them", "[patterns][property]") {
  std::size_t feasible = 0, infeasible = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    ballast::splitmix64 draw(seed);
    auto capacity = std::int64_t{100};
    auto lengths = full_packs(3, capacity, 3, 4, draw() % 9, draw);
    filling search(capacity);
    auto const possible = search.possible(counted(lengths));
    std::uint64_t packs = 3;
    for (; packs < 15; ++packs) {
      capacity *= 2;
      for (auto& l : lengths) l *= 2;
      auto const a = 2 * between(capacity / 8, capacity / 3, draw) + 1, b = 2 * between(1, (capacity - a) / 4, draw) - 1;
      for (auto const l : {a, b, capacity - a - b}) lengths.push_back(l);
    }
    CAPTURE(seed, possible);
    auto const found = solve_cutting_stock(ballast::fold(lengths), {.capacity = capacity, .packs = packs}, {.work = 50'000'000});
    REQUIRE(found.status == (possible ? status::feasible : status::infeasible));
    REQUIRE(found.patterns.packs() == (possible ? packs : 0));
    (possible ? feasible : infeasible) += 1;
  }
  CHECK(feasible > 10);
  CHECK(infeasible > 10);
}

TEST_CASE("solve_cutting_stock: a plan found after joins has as many packs as were asked for", "[patterns][property]") {
  for (auto const seed : {98U, 133U, 200U, 201U, 202U, 203U, 204U, 205U}) {
    ballast::splitmix64 draw(seed);
    auto const capacity = between(1000, 4000, draw);
    auto const packs = static_cast<std::uint64_t>(between(12, 30, draw));
    auto const lengths = ballast::fold(full_packs(packs, capacity, 2, 6, 0, draw));
    auto const found = solve_cutting_stock(lengths, {.capacity = capacity, .packs = packs}, {.work = 10'000'000});
    CAPTURE(seed, capacity);
    REQUIRE(found.status != status::infeasible);
    REQUIRE(found.patterns.packs() == (found.status == status::feasible ? packs : 0));
    std::vector<std::uint64_t> placed(lengths.counts.size(), 0);
    for (std::size_t p = 0; p < found.patterns.size(); ++p) {
      std::int64_t tokens = 0;
      for (auto const& [c, copies] : found.patterns[p]) {
        placed[c] += found.patterns.repeats[p] * copies;
        tokens += lengths.lengths[c] * copies;
      }
      REQUIRE(tokens == capacity);
    }
    if (found.status == status::feasible) REQUIRE(placed == lengths.counts);
  }
}

TEST_CASE("solve_cutting_stock: joins and reduction keep less than twice the work, and tables as small as asked", "[patterns]") {
  for (std::int64_t const samples : {24, 49, 98, 900}) {
    ballast::splitmix64 draw(static_cast<std::uint64_t>(samples));
    auto const lengths = full_packs(samples == 900 ? 300 : 2, 131'072, 3, samples / 2, 0, draw);
    auto const folded = ballast::fold(lengths);
    auto const packs = static_cast<std::uint64_t>(folded.tokens() / 131'072);
    for (std::uint64_t work = lengths.size() * 256; work < 3'000'000; work += work / 2) {
      CAPTURE(samples, work);
      CHECK(solve_cutting_stock(folded, {.capacity = 131'072, .packs = packs}, {.work = work}).work < 2 * work);
    }
  }
  auto const wide = pattern_rows{std::int64_t{1} << 28, {(1 << 28) - 12, 7, 5}, {0, 1, 2}, {1, 1, 1}, 0};
  CHECK(full_pack_joins<>::least_work(wide, std::uint64_t{1} << 22) == ~std::uint64_t{0});
}

TEST_CASE("solve_cutting_stock: published instances of which every pack would have to be full", "[patterns][traces]") {
  for (auto const& each : ballast_test::bpplib({"201_2500_NR_22", "201_2500_NR_27", "201_2500_NR_36", "402_10000_NR_5", "600_20000_NR_40",
                                                "402_10000_DI_40", "600_20000_DI_5"})) {
    CAPTURE(each.name);
    auto const packs = static_cast<std::uint64_t>(each.lengths.tokens() / each.capacity);
    auto const found = solve_cutting_stock(each.lengths, {.capacity = each.capacity, .packs = packs}, {.work = 100'000'000});
    REQUIRE(found.status == (packs < each.best ? status::infeasible : status::feasible));
  }
}

}  // namespace test_patterns_full_packs
