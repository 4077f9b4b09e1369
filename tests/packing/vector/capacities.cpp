// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/vector/capacities.hpp>

#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace test_packing_vector_capacities {

namespace {

struct pairs {
  std::vector<std::int64_t> tiles, tokens;
  [[nodiscard]] ballast::sample_measures view() const { return {tiles, tokens}; }
};

pairs images(std::size_t count, std::int64_t text, std::uint64_t seed) {
  ballast::splitmix64 random(seed);
  pairs out;
  for (std::size_t i = 0; i < count; ++i) {
    out.tiles.push_back(1 + 2 * static_cast<std::int64_t>(ballast::uniform_below(3, random)));
    out.tokens.push_back(256 * out.tiles.back() +
                         static_cast<std::int64_t>(ballast::uniform_below(static_cast<std::uint64_t>(text), random)));
  }
  return out;
}

// What holds for every choice.
void is_sound(ballast::capacity_choice const& choice, pairs const& data, ballast::capacity_search const& search) {
  REQUIRE(!choice.trials.empty());
  CHECK(choice.trials.size() <= search.tuning.most_trials);
  auto const in_range = [&](ballast::capacity_trial const& t) {
    return t.samples_per_pack >= search.samples_per_pack_least && t.samples_per_pack <= search.samples_per_pack_most;
  };
  bool any = false;
  for (std::size_t i = 0; i < choice.trials.size(); ++i) {
    auto const& t = choice.trials[i];
    CHECK(t.capacity[0] >= *std::max_element(data.tiles.begin(), data.tiles.end()));
    CHECK(t.capacity[1] >= *std::max_element(data.tokens.begin(), data.tokens.end()));
    CHECK(t.samples_per_pack * static_cast<double>(t.packs) > static_cast<double>(data.tiles.size()) - 0.5);
    CHECK(t.score == t.rank_distance[0] + t.rank_distance[1]);
    for (std::size_t j = 0; j < i; ++j) CHECK(choice.trials[j].capacity != t.capacity);  // none twice: no going back and forth
    if (i >= 2) {
      CHECK(t.capacity[0] - choice.trials[i - 1].capacity[0] == choice.trials[1].capacity[0] - choice.trials[0].capacity[0]);
      CHECK(t.capacity[1] - choice.trials[i - 1].capacity[1] == choice.trials[1].capacity[1] - choice.trials[0].capacity[1]);
    }
    if (!in_range(t)) continue;
    any = true;
    CHECK(choice.chosen().score <= t.score);
  }
  CHECK(choice.wanted == any);
  CHECK(in_range(choice.chosen()) == any);
}

}  // namespace

TEST_CASE("choose_capacities: starts at the text per tile and adds one tile a trial") {
  // 3 tiles a sample in the mean; text of 1000 rounds up to 1024: 341 a tile, so steps of 336.
  pairs const data{std::vector<std::int64_t>(600, 3), std::vector<std::int64_t>(600, 1000)};
  auto const choice = ballast::choose_capacities(data.view());
  is_sound(choice, data, {});
  CHECK(choice.trials[0].capacity == std::vector<std::int64_t>{12, 4096});
  CHECK(choice.trials[1].capacity == std::vector<std::int64_t>{13, 4432});
  CHECK(choice.trials[0].samples_per_pack == 4);
  CHECK(choice.wanted);
  CHECK(choice.best == 0);  // all packs are alike here and there
  CHECK(choice.trials.back().samples_per_pack > 5);
}

TEST_CASE("choose_capacities: up and down, the best of the wanted ones") {
  for (auto const& [start, most] : {std::pair{2048, 32U}, {4096, 32U}, {9000, 32U}, {4096, 1U}, {1, 5U}, {40000, 3U}}) {
    CAPTURE(start, most);
    auto const data = images(1500, 300, 2);
    ballast::capacity_search const search{.tuning = {.start = start, .most_trials = most}};
    auto const choice = ballast::choose_capacities(data.view(), search);
    is_sound(choice, data, search);
    CHECK(choice == ballast::choose_capacities(data.view(), search));
    if (most == 32) {
      CHECK(choice.wanted);
      CHECK((choice.trials.size() < 2 || (choice.trials[1].capacity[0] < choice.trials[0].capacity[0]) == (start == 9000)));
    }
  }
}

TEST_CASE("choose_capacities: packs as the plan that follows") {
  auto const data = images(1500, 300, 4);
  ballast::sampling_options const published{.rounds = 20, .finish = ballast::sampling_finish::next_fit, .keep = ballast::kept_round::last};
  for (std::int64_t const spare : {0, 28, 128}) {
    auto const choice = ballast::choose_capacities(data.view(), {.spare = spare, .sampling = published, .seed = 3});
    for (auto const& t : choice.trials) {
      auto sampling = published;
      sampling.filter = {t.capacity[0], t.capacity[1] - spare};
      CHECK(ballast::iterative_sampling(data.view(), {.capacity = t.capacity, .seed = 3}, sampling).packs.size() ==
            static_cast<std::size_t>(t.packs));
    }
  }
}

TEST_CASE("choose_capacities: where no capacity has the wanted samples per pack, the closest is chosen") {
  pairs const data{std::vector<std::int64_t>(64, 2), std::vector<std::int64_t>(64, 3000)};
  ballast::capacity_search const search{.samples_per_pack_least = 1.25, .samples_per_pack_most = 1.75};
  auto const choice = ballast::choose_capacities(data.view(), search);
  is_sound(choice, data, search);
  CHECK_FALSE(choice.wanted);
  CHECK(choice.trials.front().samples_per_pack == 1);
  CHECK(choice.trials.back().samples_per_pack == 2);
  CHECK(choice.best == 0);
}

TEST_CASE("choose_capacities: ends on odd data") {
  std::vector<pairs> const odd{
      {{1}, {1}},
      {{0}, {5000}},
      {{7}, {0}},
      {std::vector<std::int64_t>(100, 0), std::vector<std::int64_t>(100, 10)},
      {std::vector<std::int64_t>(100, 3), std::vector<std::int64_t>(100, 0)},
      {std::vector<std::int64_t>(50, 1000), std::vector<std::int64_t>(50, 1)},
      {{1, 1, 1, 40}, {1, 1, 1, 100000}},
      {{1, std::int64_t{1} << 61}, {std::int64_t{1} << 61, 1}},
  };
  for (std::size_t i = 0; i < odd.size(); ++i)
    for (auto const start : {std::int64_t{1}, std::int64_t{4096}, std::int64_t{1} << 62}) {
      CAPTURE(i, start);
      ballast::capacity_search const search{.tuning = {.start = start}};
      is_sound(ballast::choose_capacities(odd[i].view(), search), odd[i], search);
    }
}

TEST_CASE("choose_capacities: bad arguments are named") {
  auto const data = images(3, 10, 1);
  auto const refused = [&](ballast::capacity_search const& s) {
    return ballast_test::refusal([&] { return ballast::choose_capacities(data.view(), s); });
  };
  CHECK(refused({.ranks = 0}) == "ranks = 0 must be positive");
  CHECK(refused({.tuning = {.start = 0}}) == "start = 0 must be positive");
  CHECK(refused({.tuning = {.most_trials = 0}}) == "most_trials = 0 must be positive");
  CHECK(refused({.samples_per_pack_least = 6}) == "samples_per_pack_least = 6.000000 must not exceed samples_per_pack_most = 5.000000");
  CHECK(refused({.sampling = {.rounds = 0}}) == "rounds = 0 must be positive");
  CHECK(refused({.sampling = {.filter = {9, 4000}}}) == "filter must be empty: spare sets it");
  CHECK(ballast_test::refusal([&] { return ballast::choose_capacities({data.tiles}); }) == "1 measure, but capacities are chosen for 2");
  pairs const none;
  CHECK(ballast_test::refusal([&] { return ballast::choose_capacities(none.view()); }) == "samples are needed to choose capacities");
}

}  // namespace test_packing_vector_capacities
