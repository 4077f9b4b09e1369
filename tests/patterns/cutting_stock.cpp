// SPDX-License-Identifier: Apache-2.0
#include <ballast/patterns/cutting_stock.hpp>

#include <ballast/core/hash.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>

#include "support/bpplib.hpp"
#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace test_patterns_cutting_stock {

namespace {

using ballast::cutting_stock;
using ballast::histogram;
using ballast::solve_cutting_stock;
using ballast::status;
using ballast_test::between;

/// Whether a plan places every sample once, in at most `packs` packs that keep the capacity and the limit of samples.
bool is_plan(ballast::pack_patterns const& plan, histogram const& h, std::int64_t capacity, std::uint64_t packs,
             std::uint64_t max_samples = ~std::uint64_t{0}) {
  std::vector<std::uint64_t> placed(h.lengths.size(), 0);
  for (std::size_t p = 0; p < plan.size(); ++p) {
    std::int64_t tokens = 0;
    std::uint64_t samples = 0;
    for (auto const& [c, copies] : plan[p]) {
      placed.at(c) += copies * plan.repeats[p];
      tokens += h.lengths[c] * copies;
      samples += copies;
    }
    if (tokens > capacity || samples > max_samples) return false;
  }
  return placed == h.counts && plan.packs() <= packs;
}

/// Whether the values prove that the samples need more than `packs` packs: a knapsack without tables that the solver uses.
bool is_proof(cutting_stock const& found, histogram const& h, std::int64_t capacity, std::uint64_t packs) {
  std::vector<std::int64_t> most(static_cast<std::size_t>(capacity) + 1, 0);
  std::uint64_t all = 0;
  for (std::size_t c = 0; c < h.lengths.size(); ++c) {
    auto const length = static_cast<std::size_t>(h.lengths[c]);
    for (std::uint64_t copy = 0; copy < (std::min)(h.counts[c], static_cast<std::uint64_t>(capacity / h.lengths[c])); ++copy)
      for (auto room = most.size(); room-- > length;) most[room] = (std::max)(most[room], most[room - length] + found.values[c]);
    all += h.counts[c] * static_cast<std::uint64_t>(found.values[c]);
  }
  return most.back() <= found.value_of_pack && all > packs * static_cast<std::uint64_t>(found.value_of_pack);
}

/// Triplets that fill packs exactly, none of whose samples is above half the capacity.
std::vector<std::int64_t> triplets(std::size_t packs, std::int64_t capacity, std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  std::vector<std::int64_t> out;
  for (std::size_t p = 0; p < packs; ++p) {
    auto const first = between(capacity * 38 / 100, capacity * 49 / 100, draw);
    auto const second = between(capacity / 4, (capacity - first) / 2, draw);
    for (auto const l : {first, second, capacity - first - second}) out.push_back(l);
  }
  return out;
}

std::uint64_t hash_of(ballast::pack_patterns const& plan) {
  ballast::fnv1a h;
  for (std::size_t p = 0; p < plan.size(); ++p) {
    h.append(plan.repeats[p]);
    for (auto const& [c, copies] : plan[p]) {
      h.append(c);
      h.append(copies);
    }
  }
  return h.value();
}

}  // namespace

TEST_CASE("solve_cutting_stock: says of few samples what exhaustive search says", "[patterns][property]") {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const capacity = between(10, 90, draw);
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(1 + draw() % 10), capacity, draw);
    auto const h = ballast::fold(lengths);
    auto const fewest = static_cast<std::uint64_t>(ballast_test::fewest_packs(lengths, capacity).value());
    for (auto const reduce : {true, false})
      for (auto const packs : {fewest - 1, fewest, fewest + 1}) {
        CAPTURE(seed, reduce, fewest, packs);
        auto const found = solve_cutting_stock(h, {.capacity = capacity, .packs = packs, .reduce = reduce}, {.work = 1'000'000});
        if (packs < fewest) {
          REQUIRE(found.status != status::feasible);
          if (fewest <= 9) REQUIRE(found.status == status::infeasible);
        } else {
          REQUIRE(found.status == status::feasible);
          REQUIRE(is_plan(found.patterns, h, capacity, packs));
        }
      }
  }
}

TEST_CASE("solve_cutting_stock: large capacities and limits of samples, against exhaustive search", "[patterns][property]") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const capacity = between(100'000, 900'000, draw);
    auto lengths = ballast_test::random_lengths(static_cast<std::size_t>(1 + draw() % 10), capacity / 10'000, draw);
    for (auto& l : lengths) l = l * 10'000 - between(0, 60, draw);
    auto const max_samples = draw() % 4;  // 0: no limit
    auto const h = ballast::fold(lengths);
    auto const fewest = static_cast<std::uint64_t>(ballast_test::fewest_packs(lengths, capacity, max_samples).value());
    for (std::uint64_t const most_cells : {12'000U, 100'000U})
      for (auto const packs : {fewest - 1, fewest}) {
        CAPTURE(seed, max_samples, most_cells, fewest, packs);
        ballast::cutting_stock_options const options{
            .capacity = capacity, .packs = packs, .max_samples = max_samples, .reduce = seed % 2 == 0, .most_cells = most_cells};
        auto const found = solve_cutting_stock(h, options, {.work = 5'000'000});
        if (packs == fewest) {
          REQUIRE(found.status == status::feasible);
          REQUIRE(is_plan(found.patterns, h, capacity, packs, max_samples == 0 ? ~std::uint64_t{0} : max_samples));
        } else {
          REQUIRE(found.status != status::feasible);
          if (fewest <= 9) REQUIRE(found.status == status::infeasible);
        }
      }
  }
}

TEST_CASE("solve_cutting_stock: a table of rounded lengths leads to the same answers as one of exact lengths", "[patterns][property]") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const capacity = between(3000, 5000, draw);
    auto const max_samples = seed % 3 == 0 ? 0U : 3U;
    std::vector<std::int64_t> lengths(30);
    for (auto& l : lengths) l = between(capacity / 6, capacity / 2, draw);
    auto const h = ballast::fold(lengths);
    ballast::cutting_stock_options options{.capacity = capacity, .max_samples = max_samples, .reduce = false};
    auto const tokens = h.tokens();
    for (options.packs = static_cast<std::uint64_t>(tokens / capacity + 1);; ++options.packs) {
      CAPTURE(seed, options.packs);
      options.most_cells = 1U << 22;
      auto const exact = solve_cutting_stock(h, options, {.work = 100'000'000});
      options.most_cells = 40'000;  // 322 rooms with a limit, 1,290 without
      auto const rounded = solve_cutting_stock(h, options, {.work = 100'000'000});
      REQUIRE(exact.status == rounded.status);
      if (max_samples == 0 && exact.status == status::infeasible && !rounded.values.empty())
        REQUIRE(is_proof(rounded, h, capacity, options.packs));
      if (exact.status != status::infeasible) break;
    }
    REQUIRE(solve_cutting_stock(h, options, {.work = 100'000'000}).status == status::feasible);
  }
}

TEST_CASE("solve_cutting_stock: a linear program proves what volume does not", "[patterns][property]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const capacity = between(60, 3000, draw);
    std::vector<std::int64_t> lengths(2 * static_cast<std::size_t>(between(10, 40, draw)) + 1);
    for (auto& l : lengths) l = between(capacity / 3 + 1, capacity / 2, draw);  // two in a pack, and one that is alone
    auto const h = ballast::fold(lengths);
    auto const packs = (lengths.size() + 1) / 2;
    auto const fits = solve_cutting_stock(h, {.capacity = capacity, .packs = packs, .reduce = false});
    REQUIRE(fits.status == status::feasible);
    REQUIRE(is_plan(fits.patterns, h, capacity, packs));
    auto const fails = solve_cutting_stock(h, {.capacity = capacity, .packs = packs - 1, .reduce = false});
    REQUIRE(fails.status == status::infeasible);
    REQUIRE(is_proof(fails, h, capacity, packs - 1));
    REQUIRE_FALSE(is_proof(fails, h, capacity, packs));
    REQUIRE(solve_cutting_stock(h, {.capacity = capacity, .packs = packs - 1}).status == status::infeasible);
  }
}

TEST_CASE("solve_cutting_stock: packs that triplets fill to the last token are found", "[patterns]") {
  std::uint64_t work = 0;
  for (auto const packs : {20U, 40U, 83U})
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      CAPTURE(packs, seed);
      auto const h = ballast::fold(triplets(packs, 1000, seed));
      auto const found = solve_cutting_stock(h, {.capacity = 1000, .packs = packs});
      REQUIRE(found.status == status::feasible);
      REQUIRE(is_plan(found.patterns, h, 1000, packs));
      REQUIRE(solve_cutting_stock(h, {.capacity = 1000, .packs = packs - 1}).status == status::infeasible);
      work += found.work;
    }
  CHECK(work < 400'000'000);
}

TEST_CASE("solve_cutting_stock: what has to fill every pack gets the same answer from squares as from fewest packs",
          "[patterns][property]") {
  std::size_t feasible = 0, infeasible = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const packs = static_cast<std::size_t>(between(9, 14, draw));  // too many for exhaustive search at the root
    auto lengths = triplets(packs, 200, seed);
    for (auto i = seed % 3; i > 0; --i) {  // moves tokens, so that it may be impossible
      auto const a = draw() % lengths.size(), b = draw() % lengths.size();
      ++lengths[a];
      --lengths[b];
    }
    auto const h = ballast::fold(lengths);
    CAPTURE(seed, packs);
    auto const squares = solve_cutting_stock(h, {.capacity = 200, .packs = packs}, {.work = 40'000'000});
    auto const simplex = solve_cutting_stock(h, {.capacity = 200, .packs = packs, .reduce = false}, {.work = 40'000'000});
    if (seed % 3 == 0) REQUIRE(squares.status == status::feasible);
    if (squares.status == status::feasible) REQUIRE(is_plan(squares.patterns, h, 200, packs));
    REQUIRE_FALSE((squares.status == status::feasible && simplex.status == status::infeasible));
    REQUIRE_FALSE((squares.status == status::infeasible && simplex.status == status::feasible));
    feasible += squares.status == status::feasible ? 1 : 0;
    infeasible += squares.status == status::infeasible ? 1 : 0;
  }
  CHECK((feasible >= 10 && infeasible > 0));
}

TEST_CASE("solve_cutting_stock: squares prove that odd samples fill no pack", "[patterns][property]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto lengths = triplets(30, 400, seed);
    for (auto& l : lengths) l *= 2;
    for (auto const l : {40, 60, 100, 100, 300, 500, 500}) lengths.push_back(l);
    auto const odd = lengths.size() - 2;
    REQUIRE(solve_cutting_stock(ballast::fold(lengths), {.capacity = 800, .packs = 32}).status == status::feasible);
    --lengths[odd];  // in different packs, and nothing else is odd
    ++lengths[odd + 1];
    REQUIRE(solve_cutting_stock(ballast::fold(lengths), {.capacity = 800, .packs = 32}).status == status::infeasible);
  }
}

TEST_CASE("solve_cutting_stock: many samples of few lengths, and a program that starts from another", "[patterns]") {
  ballast::splitmix64 draw(7);
  std::vector<std::int64_t> few(24);
  for (auto& l : few) l = between(110, 560, draw);
  std::vector<std::int64_t> lengths(5000);
  for (auto& l : lengths) l = few[static_cast<std::size_t>(draw() % few.size())];
  auto const h = ballast::fold(lengths);
  ballast::cutting_stock_options options{
      .capacity = 1024, .packs = static_cast<std::uint64_t>((h.tokens() + 1023) / 1024), .reduce = false};
  auto found = solve_cutting_stock(h, options);
  for (; found.status == status::infeasible; found = solve_cutting_stock(h, options)) {
    REQUIRE(is_proof(found, h, 1024, options.packs));
    ++options.packs;
  }
  REQUIRE(found.status == status::feasible);  // optimal, since one pack fewer is impossible
  REQUIRE(is_plan(found.patterns, h, 1024, options.packs));
  auto const again = solve_cutting_stock(h, options, {}, found.basis);
  REQUIRE(again.status == status::feasible);
  CHECK(is_plan(again.patterns, h, 1024, options.packs));
  CHECK(again.work < found.work);
}

TEST_CASE("solve_cutting_stock: parts of packs fit where a plan does, and not where values prove that there is none",
          "[patterns][property]") {
  std::size_t feasible = 0, proven = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ballast::splitmix64 draw(seed);
    std::vector<std::int64_t> lengths(60);
    for (auto& l : lengths) l = between(150, 700, draw);
    auto const h = ballast::fold(lengths);
    for (auto packs = ballast::divide_up(static_cast<std::uint64_t>(h.tokens()), std::uint64_t{1000}); packs < 40; ++packs) {
      CAPTURE(seed, packs);
      auto const found = solve_cutting_stock(h, {.capacity = 1000, .packs = packs, .reduce = false});
      if (found.status == status::infeasible && found.values.size() == h.lengths.size() && is_proof(found, h, 1000, packs)) {
        REQUIRE_FALSE(found.fractional);
        ++proven;
      }
      if (found.status != status::feasible) continue;
      REQUIRE(found.fractional);
      ++feasible;
      break;
    }
  }
  CHECK(feasible == 20);
  CHECK(proven > 0);
}

TEST_CASE("solve_cutting_stock: no answer comes where no table prices patterns, and that is known before", "[patterns]") {
  ballast::splitmix64 draw(9);
  std::vector<std::int64_t> lengths(40);
  for (auto& l : lengths) l = between(150, 700, draw);
  auto const h = ballast::fold(lengths);
  std::size_t answers = 0;
  for (std::uint64_t const cells : {10'000U, 20'000U, 60'000U, 4'000'000U})
    for (std::uint64_t const limit : {0U, 2U, 3U, 4U}) {
      CAPTURE(cells, limit);
      auto const found =
          solve_cutting_stock(h, {.capacity = 1000, .packs = 25, .max_samples = limit, .reduce = false, .most_cells = cells});
      auto const can = ballast::detail::can_price(1000, h.lengths.size(), limit, cells);
      REQUIRE(can == (found.status != status::unknown));
      answers += can ? 1U : 0U;
    }
  CHECK((answers > 4 && answers < 16));
}

TEST_CASE("solve_cutting_stock: the same plan in every build", "[patterns][determinism]") {
  auto const hash_for = [](std::vector<std::int64_t> const& lengths, std::int64_t capacity, std::uint64_t packs, bool reduce) {
    auto const h = ballast::fold(lengths);
    ballast::cutting_stock_options const options{.capacity = capacity, .packs = packs, .reduce = reduce};
    auto const found = solve_cutting_stock(h, options), again = solve_cutting_stock(h, options);
    CHECK((found.patterns == again.patterns && found.work == again.work && found.basis == again.basis));
    REQUIRE(found.status == status::feasible);
    return hash_of(found.patterns);
  };
  CHECK(hash_for(triplets(83, 1000, 3), 1000, 83, true) == 0xb86529eaff0b99faU);  // a release that changes it says so
  ballast::splitmix64 draw(17);
  std::vector<std::int64_t> lengths(240);
  for (auto& l : lengths) l = between(150, 700, draw);
  std::int64_t tokens = 0;
  for (auto const l : lengths) tokens += l;
  CHECK(hash_for(lengths, 1000, static_cast<std::uint64_t>(tokens / 1000 + 2), false) == 0xbda4c082915843f4U);
}

TEST_CASE("solve_cutting_stock: work that is spent, a stop and sizes beyond the limits leave it unknown", "[patterns]") {
  auto const h = ballast::fold(triplets(200, 20'000, 5));
  ballast::cutting_stock_options const options{.capacity = 20'000, .packs = 200};
  for (std::uint64_t const work : {0U, 1'000'000U, 10'000'000U, 50'000'000U}) {
    CAPTURE(work);
    auto const found = solve_cutting_stock(h, options, {.work = work});
    CHECK(found.status == status::unknown);
    CHECK(found.complete);
    CHECK(found.work <= work + 12'000'000);  // a pricing or an inversion that has begun
  }
  std::stop_source source;
  source.request_stop();
  auto const stopped = solve_cutting_stock(h, options, {.stop = source.get_token()});
  CHECK((stopped.status == status::unknown && !stopped.complete));
  CHECK(solve_cutting_stock(h, {.capacity = 20'000, .packs = 200, .most_rows = 100}).status == status::unknown);
  CHECK(solve_cutting_stock(h, {.capacity = 20'000, .packs = 200, .most_cells = 100'000}).status == status::unknown);
  CHECK(solve_cutting_stock(ballast::fold(std::vector<std::int64_t>(9, 1 << 29)), {.capacity = 3'000'000'000, .packs = 1}).status ==
        status::unknown);
}

TEST_CASE("solve_cutting_stock: many copies of few lengths keep 1.5 times the work, and more work takes no answer back",
          "[patterns][property]") {
  for (std::uint64_t seed = 0; seed < 240; seed += ballast_test::round_step) {
    ballast::splitmix64 draw(seed);
    auto const capacity = between(10, seed % 3 == 0 ? 3000 : 300, draw), packs = between(1, seed % 5 == 0 ? 2000 : 50, draw);
    auto const kinds = between(1, 8, draw);
    std::vector<std::int64_t> lengths;
    auto room = packs * capacity;  // in every second case, lengths of 1 fill it
    for (std::int64_t k = 0; k < kinds; ++k) {
      auto const length = between(1, (std::max)(std::int64_t{1}, capacity / between(1, 30, draw)), draw);
      auto const copies = between(0, room / length / (seed % 2 == 0 ? 2 : 1), draw);
      lengths.insert(lengths.end(), static_cast<std::size_t>(copies), length);
      room -= copies * length;
    }
    if (seed % 2 == 1) lengths.insert(lengths.end(), static_cast<std::size_t>(room), 1);
    auto const h = ballast::fold(lengths);
    auto before = status::unknown;
    for (std::uint64_t const work : {1'000U, 3'000U, 10'000U, 30'000U, 100'000U, 1'000'000U}) {
      CAPTURE(seed, work);
      auto const asked = ballast::divide_up(h.tokens(), capacity);
      auto const found = solve_cutting_stock(h, {.capacity = capacity, .packs = static_cast<std::uint64_t>(asked), .reduce = seed % 4 < 2},
                                             {.work = work});
      REQUIRE(found.work <= work + work / 2);
      if (before != status::unknown) REQUIRE(found.status == before);
      before = found.status;
    }
  }
}

TEST_CASE("solve_cutting_stock: nothing, one sample, whole packs, bad input", "[patterns]") {
  auto const says = [](std::vector<std::int64_t> const& lengths, std::int64_t capacity, std::uint64_t packs) {
    return solve_cutting_stock(ballast::fold(lengths), {.capacity = capacity, .packs = packs}).status;
  };
  CHECK(says({}, 7, 0) == status::feasible);
  CHECK(says({3}, 7, 0) == status::infeasible);
  CHECK(says({3}, 7, 1) == status::feasible);
  CHECK(says(std::vector<std::int64_t>(100, 3), 7, 50) == status::feasible);
  CHECK(says(std::vector<std::int64_t>(100, 3), 7, 49) == status::infeasible);
  CHECK(says(std::vector<std::int64_t>(1000, 1), 7, 143) == status::feasible);
  CHECK(says({1, 1, 1, 7, 7, 4, 3}, 7, 4) == status::feasible);
  CHECK(says({5, 5, 4}, 7, 2) == status::infeasible);
  auto const forty = ballast::histogram{{300, 301, 302, 303}, {10, 10, 10, 10}};  // more packs than samples
  for (auto const packs : {std::uint64_t{50}, std::uint64_t{1} << 40, std::uint64_t{1} << 63})
    CHECK(solve_cutting_stock(forty, {.capacity = 1000, .packs = packs, .max_samples = 2}).status == status::feasible);
  CHECK_THROWS_AS(says({8}, 7, 1), ballast::invalid_input);
  CHECK_THROWS_AS(says({1}, 0, 1), ballast::invalid_input);
}

TEST_CASE("solve_cutting_stock: the optimum of published instances that other searches miss", "[patterns][traces]") {
  for (auto const& each :
       ballast_test::bpplib({"Falkenauer_t60_06", "Falkenauer_t249_17", "Hard28_BPP742", "N1C2W2_H", "Waescher_TEST0014", "201_2500_DI_22",
                             "402_10000_DI_31", "BPP_1000_1000_0.2_0.8_4", "csAB125_6", "csBB125_6"})) {
    CAPTURE(each.name);
    auto const found = solve_cutting_stock(each.lengths, {.capacity = each.capacity, .packs = each.bound});
    REQUIRE(found.status == status::feasible);
    CHECK(is_plan(found.patterns, each.lengths, each.capacity, each.bound));
  }
}

}  // namespace test_patterns_cutting_stock
