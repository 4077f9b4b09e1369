// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/vector/capacities.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>

#include <ballast/core/hash.hpp>
#include <ballast/packing/vector/check.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace test_packing_vector_iterative_sampling {

namespace {

using columns = std::vector<std::vector<std::int64_t>>;

ballast::sample_measures view(columns const& data) {
  return ballast::sample_measures(std::vector<std::span<std::int64_t const>>(data.begin(), data.end()));
}

std::int64_t below(std::int64_t bound, ballast::splitmix64& random) {
  return static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(bound), random));
}

// Images and text: 1, 3 or 5 tiles of 256 tokens and some text.
columns images(std::size_t count, std::uint64_t seed) {
  ballast::splitmix64 random(seed);
  columns out(2);
  for (std::size_t i = 0; i < count; ++i) {
    out[0].push_back(1 + 2 * below(3, random));
    out[1].push_back(256 * out[0].back() + below(600, random));
  }
  return out;
}

// Mostly samples of which no two share a pack of nine tiles, and a few that fill up what they leave.
columns large_and_fillers() {
  columns out(2);
  ballast::splitmix64 random(5);
  for (std::size_t i = 0; i < 1060; ++i) {
    out[0].push_back(i < 600 ? 5 : i < 960 ? 3 : 1);
    out[1].push_back(256 * out[0].back() + below(200, random));
  }
  return out;
}

// The procedure as published, one sample at a time, on samples above no capacity: the packs after each number of rounds. Rows are put in
// order first, and drawn as the library draws.
std::vector<std::size_t> packs_as_published(columns const& data, std::vector<std::int64_t> const& capacity,
                                            std::vector<std::int64_t> const& filter, std::uint32_t rounds, std::uint64_t seed) {
  auto const k = data.size();
  std::vector<std::vector<std::int64_t>> pool;
  for (std::size_t i = 0; i < data[0].size(); ++i) {
    pool.emplace_back();
    for (auto const& column : data) pool.back().push_back(column[i]);
  }
  std::sort(pool.begin(), pool.end());
  std::vector<std::size_t> after;
  std::size_t accepted = 0;
  ballast::splitmix64 seeds(seed);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    ballast::splitmix64 random(seeds());
    ballast::detail::shuffle(std::span(pool), random);
    std::vector<std::vector<std::vector<std::int64_t>>> packs;
    std::vector<std::int64_t> load(k);
    for (auto const& row : pool) {
      bool fits = !packs.empty();
      for (std::size_t m = 0; m < k; ++m) fits = fits && load[m] + row[m] <= capacity[m];
      if (!fits) {
        packs.emplace_back();
        load.assign(k, 0);
      }
      packs.back().push_back(row);
      for (std::size_t m = 0; m < k; ++m) load[m] += row[m];
    }
    after.push_back(accepted + packs.size());
    pool.clear();
    for (auto const& pack : packs) {
      bool full = false;
      for (std::size_t m = 0; m < k; ++m) {
        std::int64_t sum = 0;
        for (auto const& row : pack) sum += row[m];
        full = full || sum >= filter[m];
      }
      if (full)
        ++accepted;
      else
        pool.insert(pool.end(), pack.begin(), pack.end());
    }
  }
  return after;
}

// The published sampling pass with its two faults: samples above a capacity vanish, and with them the open pack where one of them is last.
std::vector<std::vector<std::size_t>> sample_as_coded(columns const& data, std::vector<std::int64_t> const& capacity,
                                                      std::vector<std::uint32_t> const& order) {
  std::vector<std::vector<std::size_t>> packs;
  std::vector<std::size_t> open;
  std::int64_t tiles = 0, tokens = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    auto const i = std::size_t{order[at]};
    if (data[0][i] > capacity[0] || data[1][i] > capacity[1]) continue;
    if (tiles + data[0][i] > capacity[0] || tokens + data[1][i] > capacity[1]) {
      packs.push_back(open);
      open.clear();
      tiles = tokens = 0;
    }
    open.push_back(i);
    tiles += data[0][i];
    tokens += data[1][i];
    if (at + 1 == order.size()) packs.push_back(open);
  }
  return packs;
}

}  // namespace

TEST_CASE("iterative_sampling: every plan is legal, certified and the same again") {
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    ballast::splitmix64 random(seed);
    columns data(1 + static_cast<std::size_t>(below(4, random)));
    auto const n = below(2, random) == 0 ? below(12, random) : below(300, random);
    ballast::vector_packing_options o{.seed = seed};
    for (auto& column : data) {
      o.capacity.push_back(1 + below(200, random));
      auto const top = o.capacity.back() + (seed % 3 == 0 ? 0 : o.capacity.back() / 4);
      for (std::int64_t i = 0; i < n; ++i) column.push_back(&column == &data.back() ? 1 + below(top, random) : below(top + 1, random));
    }
    o.max_samples = seed % 5 == 0 ? 1 + static_cast<std::uint64_t>(below(4, random)) : 0;
    o.pack_count_multiple = seed % 4 == 0 ? 3 : 1;
    o.oversize = seed % 3 == 0 ? ballast::oversize::reject : seed % 3 == 1 ? ballast::oversize::set_aside : ballast::oversize::alone;
    CAPTURE(seed, n, data.size());
    auto const plan = ballast::iterative_sampling(view(data), o);
    CHECK(ballast::describe(ballast::check_packing(plan, view(data), o)) == "valid");
    CHECK(plan.packer == ballast::vector_packer::iterative_sampling);
    CHECK(plan.packs == ballast::iterative_sampling(view(data), o).packs);
    CHECK(ballast::hash(plan.packs) == ballast::hash(ballast::iterative_sampling<std::uint64_t>(view(data), o).packs));
  }
}

TEST_CASE("sampling_rounds: the published procedure, draw by draw") {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    auto const data = images(700, seed);
    std::vector<std::int64_t> const capacity{9, 4096}, filter{9, 3968};
    auto const sorted = ballast::classify(view(data));
    auto const published = packs_as_published(data, capacity, filter, 12, seed);
    ballast::detail::sampling_rounds state(sorted.classes, capacity, filter);
    ballast::splitmix64 seeds(seed);
    for (std::size_t round = 0; round < published.size(); ++round) {
      CAPTURE(seed, round);
      CHECK(state.least_packs() <= published[round]);
      state.sample(seeds());
      CHECK(state.taken().size() + state.left().size() == published[round]);
      CHECK(state.taken().members.size() + state.left().members.size() == 700);
    }
  }
}

TEST_CASE("iterative_sampling: no more packs than the published procedure after any number of rounds, nor than best fit") {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    CAPTURE(seed);
    auto const data = images(400, seed);
    std::vector<std::int64_t> const capacity{seed % 2 == 0 ? 9 : 18, seed % 2 == 0 ? 4096 : 6016};
    std::vector<std::int64_t> const filter{capacity[0], capacity[1] - 128};
    auto const published = packs_as_published(data, capacity, filter, 20, seed);
    auto const plan = ballast::iterative_sampling(view(data), {.capacity = capacity, .seed = seed}, {.rounds = 20, .filter = filter});
    CHECK(plan.packs.size() <= *std::min_element(published.begin(), published.end()));
    CHECK(plan.packs.size() <= ballast::plan_vector_best_fit(ballast::classify(view(data)).classes, capacity).packs());
  }
}

TEST_CASE("iterative_sampling: the published finish and round, and each half of them", "[published]") {
  using enum ballast::sampling_finish;
  using enum ballast::kept_round;
  std::vector<std::int64_t> const capacity{9, 4096}, filter{9, 3968};
  for (std::uint64_t seed = 0; seed < 8; ++seed)
    for (std::uint32_t const rounds : {1U, 2U, 5U, 20U}) {
      CAPTURE(seed, rounds);
      auto const data = seed == 0 ? large_and_fillers() : images(500, seed);
      auto const packs = [&](ballast::sampling_finish finish, ballast::kept_round keep) {
        ballast::vector_packing_options const o{.capacity = capacity, .seed = seed};
        auto const plan = ballast::iterative_sampling(view(data), o, {.rounds = rounds, .filter = filter, .finish = finish, .keep = keep});
        CHECK(ballast::check_packing(plan, view(data), o).valid());
        return plan.packs.size();
      };
      auto const published = packs_as_published(data, capacity, filter, rounds, seed);
      CHECK(packs(next_fit, last) == published.back());
      CHECK(packs(next_fit, best) == *std::min_element(published.begin(), published.end()));
      CHECK(packs(best_fit, last) <= published.back());
      CHECK(packs(best_fit, best) <= packs(best_fit, last));
    }
}

TEST_CASE("iterative_sampling: more rounds never make more packs") {
  auto const data = images(900, 3);
  auto before = (std::numeric_limits<std::size_t>::max)();
  for (std::uint32_t rounds : {1U, 2U, 3U, 5U, 10U, 50U}) {
    auto const packs = ballast::iterative_sampling(view(data), {.capacity = {18, 6016}}, {.rounds = rounds}).packs.size();
    CHECK(packs <= before);
    before = packs;
  }
}

TEST_CASE("iterative_sampling: the best round is kept where more rounds waste what large samples need") {
  auto const data = large_and_fillers();
  std::vector<std::int64_t> const capacity{9, 4096}, filter{9, 3968};
  auto const published = packs_as_published(data, capacity, filter, 50, 0);
  CHECK(published[49] > published[1]);
  auto const plan = ballast::iterative_sampling(view(data), {.capacity = capacity}, {.rounds = 50, .filter = filter});
  CHECK(plan.packs.size() == 600);  // one for each sample of five tiles
}

TEST_CASE("iterative_sampling: the published code loses samples in two ways, this does not") {
  auto data = images(500, 8);
  for (std::size_t i = 0; i < 500; i += 10) data[0][i] = 10;
  std::vector<std::int64_t> const capacity{9, 4096};
  bool open_pack_lost = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    auto const order = ballast::random_permutation(500, seed);
    std::size_t kept = 0;
    for (auto const& pack : sample_as_coded(data, capacity, order)) kept += pack.size();
    CHECK(kept <= 450);
    CHECK((kept < 450) == (order.back() % 10 == 0));
    open_pack_lost = open_pack_lost || kept < 450;

    auto const plan = ballast::iterative_sampling(
        view(data), {.capacity = capacity, .oversize = ballast::oversize::set_aside, .seed = seed}, {.rounds = 3});
    CHECK(plan.packs.members.size() == 450);
    CHECK(plan.set_aside.size() == 50);
  }
  CHECK(open_pack_lost);
}

TEST_CASE("iterative_sampling: corner cases") {
  columns const none(2);
  auto const empty = ballast::iterative_sampling(view(none), {.capacity = {9, 4096}});
  CHECK(empty.packs.empty());
  CHECK(empty.count.optimal());

  columns const exact{{3, 3, 3, 3, 3, 3}};
  CHECK(ballast::iterative_sampling(view(exact), {.capacity = {9}}).packs.size() == 2);
  CHECK(ballast::iterative_sampling(view(exact), {.capacity = {9}, .max_samples = 2}).packs.size() == 3);
  CHECK(ballast::iterative_sampling(view(exact), {.capacity = {9}, .max_samples = ~std::uint64_t{0}}).packs.size() == 2);
  CHECK(ballast::iterative_sampling(view(exact), {.capacity = {3}}).packs.size() == 6);

  columns const one{{0}, {7}};
  CHECK(ballast::iterative_sampling(view(one), {.capacity = {1, 7}}).packs.size() == 1);
}

TEST_CASE("iterative_sampling: a filter that no pack reaches leaves all to best fit or next fit") {
  auto const data = images(300, 1);
  auto const best_fit = ballast::plan_vector_best_fit(ballast::classify(view(data)).classes, std::vector<std::int64_t>{18, 6016}).packs();
  CHECK(ballast::iterative_sampling(view(data), {.capacity = {18, 6016}}, {.filter = {19, 6017}}).packs.size() <= best_fit);
}

TEST_CASE("iterative_sampling: which samples meet is random") {
  columns const alike{std::vector<std::int64_t>(1000, 1), std::vector<std::int64_t>(1000, 1300)};
  columns mixed = alike;
  for (std::size_t i = 0; i < 1000; i += 3) mixed[1][i] = 1700;
  ballast::vector_packing_options o{.capacity = {9, 4096}};
  auto const first = ballast::iterative_sampling(view(alike), o);
  CHECK(first.packs.size() == 334);
  CHECK_FALSE(std::is_sorted(first.packs.members.begin(), first.packs.members.end()));
  o.seed = 1;
  CHECK(ballast::iterative_sampling(view(alike), o).packs != first.packs);
}

TEST_CASE("plan_iterative_sampling: a plan that is known ends the rounds, and what comes back is whole") {
  auto const data = images(2000, 4);
  auto const classes = ballast::classify(view(data)).classes;
  std::vector<std::int64_t> const capacity{9, 4096};
  ballast::sampling_options const sampling{.filter = ballast::full_packs(capacity)};
  auto const free = ballast::plan_iterative_sampling(classes, capacity, sampling, 0).packs();
  auto const bound = ballast::detail::sampling_rounds(classes, capacity, sampling.filter).least_packs();
  for (auto const known : {bound, static_cast<std::size_t>(free)}) {
    auto const plan = ballast::plan_iterative_sampling(classes, capacity, sampling, 0, known);
    std::vector<std::uint64_t> counts(classes.size(), 0);
    for (std::size_t p = 0; p < plan.size(); ++p)
      for (auto const& [c, copies] : plan[p]) counts[c] += copies * plan.repeats[p];
    CHECK(counts == classes.counts);
    if (known == free) CHECK(plan.packs() == free);
  }
}

TEST_CASE("iterative_sampling: the golden plan") {
  auto const data = images(3000, 2026);
  auto const sorted = ballast::classify(view(data));
  std::vector<std::int64_t> const capacity{18, 6016}, filter{18, 5888};
  ballast::detail::sampling_rounds state(sorted.classes, capacity, filter);
  for (std::uint64_t seed = 0; seed < 3; ++seed) state.sample(seed);
  CHECK(ballast::hash(state.taken()) == 0x342b35931f42f1e9U);

  auto const plan = ballast::iterative_sampling(view(data), {.capacity = capacity, .seed = 7});
  CHECK(plan.packs.size() == 549);
  CHECK(ballast::hash(plan.packs) == 0x8fbe5223f8ff17b2U);
}

TEST_CASE("iterative_sampling: bad options are named") {
  auto const data = images(3, 1);
  auto const refused = [&](ballast::sampling_options const& s) {
    return ballast_test::refusal([&] { return ballast::iterative_sampling(view(data), {.capacity = {9, 4096}}, s); });
  };
  CHECK(refused({.rounds = 0}) == "rounds = 0 must be positive");
  CHECK(refused({.filter = {9}}) == "filter has 1 entry for 2 measures");
  CHECK(refused({.filter = {9, 0}}) == "filter[1] = 0 must be positive");
  CHECK(ballast_test::refusal([&] { return ballast::iterative_sampling(view(data), {.capacity = {0, 4096}}); }) ==
        "capacity[0] = 0 must be positive");
}

TEST_CASE("scaled_below: unbiased below small bounds, in range below large ones") {
  ballast::splitmix64 random(1);
  std::vector<int> seen(6);
  for (int i = 0; i < 60000; ++i) ++seen[static_cast<std::size_t>(ballast::detail::scaled_below(6, random))];
  for (auto const times : seen) CHECK((times > 9600 && times < 10400));
  auto const large = (std::uint64_t{1} << 63) + 1;  // half of all draws are refused
  for (int i = 0; i < 1000; ++i) CHECK(ballast::detail::scaled_below(large, random) < large);
}

}  // namespace test_packing_vector_iterative_sampling
