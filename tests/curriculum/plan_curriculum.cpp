// SPDX-License-Identifier: Apache-2.0
#include <ballast/curriculum/check.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>

#include "suite.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace test_curriculum_plan_curriculum {

using ballast::plan_curriculum;
using ballast_test::order;
using ballast_test::refusal;
using ballast_test::sources;

namespace {
void require_valid(ballast::verdict const& verdict) {
  INFO(ballast::describe(verdict));
  REQUIRE(verdict.valid());
}

std::vector<std::int64_t> keys_of(ballast::curriculum_plan const& plan, sources const& given) {
  std::vector<std::int64_t> keys;
  for (std::size_t i = 0; i < plan.size(); ++i) keys.push_back(given[plan.source[i]].keys[plan.index[i]]);
  return keys;
}

/// As published: a 16K level without and a 128K level with sequence parallelism.
sources two_levels() { return {{.setting = {16384, 1, 28}, .steps = 2900}, {.setting = {131072, 8, 29}, .steps = 760}}; }
}  // namespace

TEST_CASE("plan_curriculum: every plan is legal, and the same again") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    auto const [given, options] = ballast_test::random_case(seed);
    auto const plan = plan_curriculum(given, options);
    require_valid(ballast::check_curriculum(plan, given, options));
    REQUIRE(plan == plan_curriculum(given, options));
  }
}

TEST_CASE("plan_curriculum: without counts, each step comes once an epoch") {
  for (auto const how : ballast_test::all_orders)
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      auto const plan = plan_curriculum(two_levels(), {.order = how, .warm_up = 500, .seed = 5, .epoch = epoch});
      std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
      for (std::size_t i = 0; i < plan.size(); ++i) seen.emplace(plan.source[i], plan.index[i]);
      REQUIRE((plan.size() == 3660 && seen.size() == 3660 && seen.rbegin()->second == 759));
    }
}

TEST_CASE("plan_curriculum: interleaved sources keep their shares at every point") {
  ballast::splitmix64 draw(7);
  for (int round = 0; round < 300; ++round) {
    sources given(2 + draw() % 5);
    for (auto& source : given) source = {.setting = {1024}, .steps = static_cast<std::uint64_t>(ballast_test::between(1, 90, draw))};
    auto const plan = plan_curriculum(given, {.seed = draw()});
    auto const k = static_cast<double>(given.size());
    if (given.size() == 2)
      REQUIRE(plan.discrepancy() < 1.0);
    else
      REQUIRE(plan.discrepancy() <= 2.0 - 1.0 / (k - 1.0) + 1e-9);
  }
}

TEST_CASE("plan_curriculum: the seed turns the cycle, so a rare source may come at any place") {
  sources const given{{.setting = {1024}, .steps = 45}, {.setting = {2048}, .steps = 5}};
  std::vector<int> first(10, 0);
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    auto const plan = plan_curriculum(given, {.seed = seed});
    ++first[static_cast<std::size_t>(std::find(plan.source.begin(), plan.source.end(), 1U) - plan.source.begin())];
  }
  for (auto times : first) CHECK((times > 60 && times < 140));
}

TEST_CASE("plan_curriculum: the warm-up trains the least capacity alone, and is capped") {
  auto const given = two_levels();
  auto const plan = plan_curriculum(given, {.warm_up = 500, .seed = 2});
  CHECK(plan.warm_up == 500);
  CHECK(std::count(plan.source.begin(), plan.source.begin() + 500, 0U) == 500);
  CHECK(plan.discrepancy() < 1.0);  // of what remains
  CHECK(plan.switches() <= 2 * 760);
  CHECK(plan_curriculum(given, {.warm_up = 5000}).warm_up == 1450);
  CHECK(plan_curriculum(given, {.warm_up = 5000, .warm_up_share = 100}).warm_up == 290);
  CHECK(plan_curriculum(given, {.warm_up = 5000, .warm_up_share = 0}).warm_up == 0);
  CHECK(plan_curriculum(given, {.warm_up = 5000, .warm_up_share = 1000}).source[2899] == 0);
  CHECK(plan_curriculum(given, {.warm_up = 500, .epoch = 1}).warm_up == 0);

  // Data sets of one capacity share it in proportion; one without steps decides nothing.
  sources const mixed{{.setting = {4096}, .steps = 60},
                      {.setting = {8192}, .steps = 50},
                      {.setting = {4096, 2}, .steps = 30},
                      {.setting = {512}, .steps = 0}};
  auto const shared = plan_curriculum(mixed, {.warm_up = 30});
  CHECK(std::count(shared.source.begin(), shared.source.begin() + 30, 0U) == 20);
  CHECK(std::count(shared.source.begin(), shared.source.begin() + 30, 2U) == 10);
}

TEST_CASE("plan_curriculum: over any epochs, a source trains its steps evenly") {
  for (auto const how : ballast_test::all_orders) {
    sources const given{{.setting = {1024}, .steps = 10, .keys = {}, .per_epoch = {4}},
                        {.setting = {2048}, .steps = 7, .keys = {}, .per_epoch = {3, 12, 0, 7, 5}},
                        {.setting = {4096}, .steps = 5, .keys = {}, .per_epoch = {11}}};
    std::vector<std::vector<int>> times{std::vector<int>(10), std::vector<int>(7), std::vector<int>(5)};
    for (std::uint64_t epoch = 0; epoch < 12; ++epoch) {
      auto const plan = plan_curriculum(given, {.order = how, .seed = 8, .epoch = epoch});
      for (std::size_t i = 0; i < plan.size(); ++i) ++times[plan.source[i]][plan.index[i]];
      for (auto const& of : times) {
        auto const [low, high] = std::minmax_element(of.begin(), of.end());
        REQUIRE(*high - *low <= 1);
      }
    }
  }
}

TEST_CASE("plan_curriculum: repeats of a step are a pass apart") {
  sources const given{{.setting = {1024}, .steps = 20, .keys = {}, .per_epoch = {70}}};
  auto const plan = plan_curriculum(given, {.seed = 4});
  for (std::size_t pass = 0; pass < 3; ++pass) {
    auto const from = plan.index.begin() + static_cast<std::ptrdiff_t>(20 * pass);
    CHECK(std::set<std::uint32_t>(from, from + 20).size() == 20);
  }
  CHECK(std::set<std::uint32_t>(plan.index.begin() + 60, plan.index.end()).size() == 10);
}

TEST_CASE("plan_curriculum: by keys") {
  sources given{{.setting = {16384}, .steps = 500}, {.setting = {131072}, .steps = 300}};
  ballast::splitmix64 draw(17);
  for (auto& source : given)
    for (std::uint64_t i = 0; i < source.steps; ++i) source.keys.push_back(ballast_test::between(0, 1000000, draw));
  auto const sorted = keys_of(plan_curriculum(given, {.order = order::ascending}), given);
  CHECK(std::is_sorted(sorted.begin(), sorted.end()));

  auto const buckets_in = [&](order how, std::uint64_t seed) {  // number of each bucket of 80 keys, in training order
    auto const keys = keys_of(plan_curriculum(given, {.order = how, .buckets = 10, .seed = seed}), given);
    std::vector<std::size_t> numbers;
    for (std::size_t b = 0; b < 10; ++b) {
      auto part = std::vector<std::int64_t>(keys.begin() + static_cast<std::ptrdiff_t>(80 * b),
                                            keys.begin() + static_cast<std::ptrdiff_t>(80 * b + 80));
      CHECK(!std::is_sorted(part.begin(), part.end()));
      std::sort(part.begin(), part.end());
      auto const at = std::search(sorted.begin(), sorted.end(), part.begin(), part.end()) - sorted.begin();
      REQUIRE(at % 80 == 0);
      numbers.push_back(static_cast<std::size_t>(at / 80));
    }
    return numbers;
  };
  CHECK(buckets_in(order::ascending_buckets, 1) == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  auto const shuffled = buckets_in(order::shuffled_buckets, 1);
  CHECK(shuffled != buckets_in(order::shuffled_buckets, 2));
  CHECK(std::set<std::size_t>(shuffled.begin(), shuffled.end()).size() == 10);

  // A level without keys has its capacity for one.
  auto const levels = plan_curriculum(two_levels(), {.order = order::ascending});
  CHECK(std::is_sorted(levels.source.begin(), levels.source.end()));
}

TEST_CASE("plan_curriculum: random orders are equally likely") {
  sources const given{{.setting = {1024}, .steps = 2}, {.setting = {2048}, .steps = 2}};
  for (auto const how : {order::random, order::ascending}) {
    auto tied = given;
    for (auto& source : tied) source.keys = {3, 3};
    std::map<std::vector<std::pair<std::uint32_t, std::uint32_t>>, int> times;
    for (std::uint64_t seed = 0; seed < 2400; ++seed) {
      auto const plan = plan_curriculum(tied, {.order = how, .seed = seed});
      std::vector<std::pair<std::uint32_t, std::uint32_t>> steps;
      for (std::size_t i = 0; i < plan.size(); ++i) steps.emplace_back(plan.source[i], plan.index[i]);
      ++times[steps];
    }
    CHECK(times.size() == 24);
    for (auto const& [steps, count] : times) CHECK((count > 60 && count < 140));
  }
}

TEST_CASE("plan_curriculum: other seeds and epochs are other orders") {
  for (auto const how : ballast_test::all_orders) {
    std::set<std::uint64_t> hashes;
    for (std::uint64_t seed = 0; seed < 4; ++seed)
      for (std::uint64_t epoch = 0; epoch < 4; ++epoch)
        hashes.insert(ballast::hash(plan_curriculum(two_levels(), {.order = how, .seed = seed, .epoch = epoch})));
    CHECK(hashes.size() == 16);
  }
}

TEST_CASE("plan_curriculum: corners") {
  for (auto const how : ballast_test::all_orders) {
    ballast::curriculum_options const o{.order = how, .warm_up = 3};
    CHECK(plan_curriculum(sources{}, o) == ballast::curriculum_plan{});
    CHECK(plan_curriculum(sources{{.setting = {8}, .steps = 0}}, o).size() == 0);
    auto const one = plan_curriculum(sources{{.setting = {8}, .steps = 1}}, o);
    CHECK((one.size() == 1 && one.at(0) == ballast::curriculum_step{0, 0, {8}, 0} && one.discrepancy() == 0.0));
    auto const alone = plan_curriculum(sources{{.setting = {8}, .steps = 0}, {.setting = {16}, .steps = 40}}, o);
    CHECK((alone.switches() == 0 && alone.discrepancy() == 0.0 && alone.warm_up == 3));
  }
}

TEST_CASE("plan_curriculum: a million steps") {
  sources const given{{.setting = {16384}, .steps = 760001}, {.setting = {131072, 8}, .steps = 239999}};
  ballast::curriculum_options const o{.warm_up = 500};
  auto const plan = plan_curriculum(given, o);
  require_valid(ballast::check_curriculum(plan, given, o));
  CHECK(plan.discrepancy() < 1.0);
}

TEST_CASE("plan_curriculum: refuses what it cannot plan") {
  auto const refused = [](sources const& given, ballast::curriculum_options const& o = {}) {
    return refusal([&] { return plan_curriculum(given, o); });
  };
  ballast::curriculum_source const fine{.setting = {8}, .steps = 2};
  CHECK(refused({fine, {.setting = {}, .steps = 2}}) == "sources[1].setting.capacity = 0 must be positive");
  CHECK(refused({{.setting = {8, 0}, .steps = 2}}) == "sources[0].setting.sp = 0 must be positive");
  CHECK(refused({{.setting = {8}, .steps = 2, .keys = {1}}}) == "sources[0].keys has 1 entry for 2 steps");
  CHECK(refused({{.setting = {8}, .steps = std::uint64_t{1} << 31}}) == "sources[0].steps = 2147483648 must be below 2^31");
  CHECK(refused({{.setting = {8}, .steps = 0, .keys = {}, .per_epoch = {0, 5}}}) ==
        "sources[0].per_epoch[1] = 5 but the source has no steps");
  CHECK(refused({{.setting = {8}, .steps = 1, .keys = {}, .per_epoch = {std::uint64_t{1} << 31}}}) ==
        "sources[0].per_epoch[0] = 2147483648 must be below 2^31");
  ballast::curriculum_source const half{.setting = {8}, .steps = std::uint64_t{1} << 30};
  CHECK(refused({half, half}) == "epoch 0 has 2147483648 steps: there may be 2^31 - 1");
  CHECK(refused(sources(65536, fine)) == "65536 sources: at most 2^16 - 1 are allowed");
  CHECK(refused({fine}, {.warm_up_share = 1001}) == "warm_up_share = 1001 must be at most 1000");
  CHECK(refused({fine}, {.buckets = 0}) == "buckets = 0 must be positive");
  CHECK(refused({fine}, {.epoch = std::uint64_t{1} << 31}) == "epoch = 2147483648 must be below 2^31");
  CHECK(refused({fine}, {.order = static_cast<order>(9)}) == "order = 9 is not an enumerator of curriculum_order");
  CHECK(refused({fine}) == "accepted");
}

TEST_CASE("plan_curriculum: golden") {
  std::vector<std::uint64_t> hashes;
  for (auto const how : ballast_test::all_orders) {
    auto given = two_levels();
    given[1].per_epoch = {760, 1000};
    for (std::uint64_t i = 0; i < given[1].steps; ++i) given[1].keys.push_back(static_cast<std::int64_t>(i % 97 * 300));
    ballast::fnv1a h;
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch)
      h.append(ballast::hash(plan_curriculum(given, {.order = how, .warm_up = 500, .seed = 7, .epoch = epoch})));
    hashes.push_back(h.value());
  }
  CHECK(hashes == std::vector<std::uint64_t>{10831636747380934998U, 1454834484096410693U, 16614365182237811462U, 13937054529617775327U,
                                             14094573630719554714U});
}

}  // namespace test_curriculum_plan_curriculum
