// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/classes.hpp>
#include <ballast/levels/choose.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace test_levels_choose {

using lengths_t = std::vector<std::int64_t>;

namespace {

// The best of all choices: every set of candidates of rising capacity that reaches the longest length.
std::pair<std::int64_t, std::size_t> best_by_enumeration(ballast::histogram const& h, std::vector<ballast::timed_level> candidates,
                                                         std::size_t most_levels) {
  std::sort(candidates.begin(), candidates.end(), [](auto const& a, auto const& b) { return a.setting.capacity < b.setting.capacity; });
  auto best = std::pair((std::numeric_limits<std::int64_t>::max)(), std::size_t{0});
  for (std::size_t subset = 1; subset < std::size_t{1} << candidates.size(); ++subset) {
    std::vector<ballast::timed_level> levels;
    auto rising = true;
    for (std::size_t c = 0; c < candidates.size(); ++c)
      if ((subset >> c & 1) != 0) {
        rising = rising && (levels.empty() || levels.back().setting.capacity < candidates[c].setting.capacity);
        levels.push_back(candidates[c]);
      }
    if (!rising || (most_levels != 0 && levels.size() > most_levels) || levels.back().setting.capacity < h.lengths.back()) continue;
    best = (std::min)(best, std::pair(ballast::time_of_levels(h, levels), levels.size()));
  }
  return best;
}

std::vector<ballast::timed_level> random_candidates(ballast::splitmix64& draw, std::size_t count, std::int64_t longest) {
  std::vector<ballast::timed_level> out;
  for (std::size_t c = 0; c < count; ++c) {
    auto const capacity = ballast_test::between(1, longest, draw);
    auto const sp = static_cast<std::uint32_t>(ballast_test::between(1, 8, draw));
    auto const per_pack = ballast_test::between(0, 1000000, draw);
    auto const per_token = ballast_test::between(1, 50000, draw);
    auto const per_square = ballast_test::between(0, 100, draw);
    out.push_back({{c == 0 ? longest : capacity / 8 * 8 + 8, sp, 0}, {per_pack, per_token, per_square}});
  }
  return out;
}

}  // namespace

TEST_CASE("choose_levels: as good as every choice there is", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    ballast::splitmix64 draw(seed);
    auto const longest = ballast_test::between(8, 60, draw);
    auto const h = ballast::fold(ballast_test::random_lengths(40, longest, draw));
    auto const candidates = random_candidates(draw, static_cast<std::size_t>(ballast_test::between(1, 9, draw)), longest);
    for (std::size_t most : {0U, 1U, 2U, 3U}) {
      CAPTURE(seed, longest, candidates.size(), most);
      auto const [time, levels] = best_by_enumeration(h, candidates, most);
      auto const choice = ballast::choose_levels(h, candidates, most);
      REQUIRE(choice.status == ballast::status::feasible);
      CHECK(choice.time.value == time);
      CHECK(choice.time.optimal());
      CHECK(choice.levels.size() == levels);
      CHECK(ballast::time_of_levels(h, choice.levels) == time);
    }
  }
}

TEST_CASE("choose_levels: capacities up to the largest integer", "[packing]") {
  auto const h = ballast::fold(lengths_t{4, 4, 9});
  for (auto const capacity : {std::int64_t{1} << 40, std::int64_t{1} << 62, (std::numeric_limits<std::int64_t>::max)()}) {
    std::vector<ballast::timed_level> const candidates{{{capacity, 1, 0}, {7000, 1000, 0}}};
    CAPTURE(capacity);
    CHECK(ballast::choose_levels(h, candidates).time.value == 7 + 17);  // one pack
    CHECK(ballast::time_of_levels(h, candidates) == 7 + 17);
  }
}

TEST_CASE("choose_levels: communication is kept to the samples that need it", "[packing]") {
  // A token takes 10 ns alone and 12 with communication; a sample above 16 needs it.
  std::vector<ballast::timed_level> const candidates{{{16, 1, 0}, {0, 10000, 0}}, {{128, 8, 0}, {0, 12000, 0}}};
  auto const h = ballast::fold(lengths_t{4, 4, 4, 4, 100});
  auto const choice = ballast::choose_levels(h, candidates);
  CHECK(choice.levels == candidates);
  CHECK(choice.time.value == 16 * 10 + 100 * 12);
  CHECK(ballast::choose_levels(h, candidates, 1).levels == std::vector{candidates[1]});
  CHECK(ballast::choose_levels(ballast::fold(lengths_t{4}), candidates).levels == std::vector{candidates[0]});
}

TEST_CASE("choose_levels: nothing to pack, and nothing that fits", "[packing]") {
  std::vector<ballast::timed_level> const candidates{{{16, 1, 0}, {0, 10, 0}}};
  auto const none = ballast::choose_levels({}, candidates);
  CHECK((none.status == ballast::status::feasible && none.levels.empty() && none.time.value == 0));
  CHECK(ballast::choose_levels(ballast::fold(lengths_t{17}), candidates).status == ballast::status::infeasible);
  CHECK(ballast::choose_levels(ballast::fold(lengths_t{1}), {}).status == ballast::status::infeasible);
}

TEST_CASE("choose_levels: bad input is refused", "[packing]") {
  auto const h = ballast::fold(lengths_t{4, 9});
  auto const choose = [&](ballast::timed_level const& candidate) {
    return ballast_test::refusal([&] { (void)ballast::choose_levels(h, std::vector{candidate}); });
  };
  CHECK(choose({{0, 1, 0}, {}}) == "candidates[0] has capacity 0 and sp = 1: both must be positive");
  CHECK(choose({{16, 0, 0}, {}}) == "candidates[0] has capacity 16 and sp = 0: both must be positive");
  CHECK(choose({{16, 1, 0}, {0, -1, 0}}).find("is negative") != std::string::npos);
  auto const time = [&](std::vector<ballast::timed_level> const& levels) {
    return ballast_test::refusal([&] { (void)ballast::time_of_levels(h, levels); });
  };
  CHECK(time({{{16, 1, 0}, {}}, {{16, 2, 0}, {}}}) == "levels[1] has capacity 16, not above its predecessor's");
  CHECK(time({{{8, 1, 0}, {}}}) == "a sample of 9 tokens is longer than every level");
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  auto const huge = ballast::histogram{{1 << 20}, {1 << 20}};
  CHECK(ballast_test::refusal([&] {
          (void)ballast::time_of_levels(huge, std::vector<ballast::timed_level>{{{1 << 20, 1, 0}, {most, most, most}}});
        }).find("2^61 nanoseconds or more") != std::string::npos);
}

}  // namespace test_levels_choose
