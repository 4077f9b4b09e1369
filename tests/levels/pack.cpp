// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/hash.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/first_fit.hpp>

#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace test_levels_pack {

using lengths_t = std::vector<std::int64_t>;
using levels_t = std::vector<ballast::level>;

namespace {

levels_t const three{{16, 1, 3}, {32, 2, 4}, {128, 8, 5}};

// Every member stands once, in a level that holds it, and no pack exceeds its level; the sums are true.
void check_levels(ballast::level_packing<> const& p, std::size_t samples) {
  std::vector<int> stands(p.lengths.size(), 0);
  for (auto i : p.set_aside) ++stands[i];
  REQUIRE(p.first_pack.size() == p.levels.size() + 1);
  REQUIRE(p.first_pack.back() == p.packs.size());
  std::uint64_t filled = 0;
  std::int64_t filled_tokens = 0;
  for (std::size_t i = 0; i < p.levels.size(); ++i) {
    std::int64_t all = 0;
    for (auto pack = p.first_pack[i]; pack < p.first_pack[i + 1]; ++pack) {
      std::int64_t tokens = 0;
      REQUIRE_FALSE(p.packs[pack].empty());
      for (auto m : p.packs[pack]) {
        ++stands[m];
        tokens += p.lengths[m];
        if (i > 0 && p.lengths[m] <= p.levels[i - 1].capacity) {
          ++filled;
          filled_tokens += p.lengths[m];
        }
      }
      CHECK(tokens <= p.levels[i].capacity);
      all += tokens;
    }
    CHECK(p.tokens[i] == all);
    CHECK(p.count[i].lower_bound <= p.count[i].value);
  }
  CHECK(p.filled == filled);
  CHECK(p.filled_tokens == filled_tokens);
  CHECK(p.lengths.size() == samples + p.pieces.size());
  CHECK(std::count(stands.begin(), stands.end(), 1) == static_cast<std::ptrdiff_t>(stands.size()));
}

// Share of tokens in packs that communicate.
std::int64_t communicated(ballast::level_packing<> const& p) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < p.levels.size(); ++i) sum += p.levels[i].sp > 1 ? p.tokens[i] : 0;
  return sum;
}

lengths_t mixed(std::uint64_t seed, std::size_t n) {
  ballast::splitmix64 draw(seed);
  lengths_t lengths(n);
  for (auto& l : lengths) {
    auto const shape = draw() % 8;
    l = ballast_test::between(1, shape == 0 ? 128 : shape < 3 ? 32 : 16, draw);
  }
  return lengths;
}

}  // namespace

TEST_CASE("pack_levels: nothing is lost, no level exceeded, whatever is filled", "[packing][property]") {
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (auto const fill : {ballast::level_fill::never, ballast::level_fill::always, ballast::level_fill::where_it_pays}) {
      auto const lengths = mixed(seed, seed * 7);
      ballast::level_options const options{.fill = fill, .times = {{5, 1, 0}, {9, 2, 0}, {9, 2, 0}}};
      auto const p = ballast::pack_levels(lengths, three, options);
      CAPTURE(seed, static_cast<int>(fill));
      check_levels(p, lengths.size());
      CHECK(ballast::hash(p.packs) == ballast::hash(ballast::pack_levels(lengths, three, options).packs));
      if (fill == ballast::level_fill::never) CHECK(p.filled == 0);
    }
}

TEST_CASE("pack_levels: one level is the packer itself", "[packing]") {
  auto const lengths = mixed(3, 300);
  auto const p = ballast::pack_levels(lengths, levels_t{{128, 8, 0}});
  auto const plain = ballast::best_fit_decreasing(lengths, {.capacity = 128});
  CHECK(p.packs == plain.packs);
  CHECK(p.count[0] == plain.count);
}

TEST_CASE("pack_levels: another packer, other ranges", "[packing]") {
  auto const lengths = mixed(4, 300);
  auto const in_order = [](std::span<std::int64_t const> l, ballast::packing_options const& o, std::uint32_t) {
    return ballast::first_fit(l, o);
  };
  auto const p = ballast::pack_levels(lengths, three, {}, in_order);
  check_levels(p, lengths.size());
  CHECK(p.packs != ballast::pack_levels(lengths, three).packs);
  lengths_t const narrow{1, 2, 100, 30};
  CHECK(ballast::pack_levels(ballast_test::weakest_lengths(narrow), three).packs == ballast::pack_levels(narrow, three).packs);
}

TEST_CASE("pack_levels: filled room saves packs, and less is filled at a higher price", "[packing]") {
  auto const lengths = mixed(5, 2000);
  levels_t const two{{16, 1, 0}, {128, 8, 0}};
  auto const never = ballast::pack_levels(lengths, two);
  auto const always = ballast::pack_levels(lengths, two, {.fill = ballast::level_fill::always});
  CHECK(always.packs.size() < never.packs.size());
  CHECK(communicated(always) > communicated(never));
  CHECK(always.fill(1) > never.fill(1));
  auto before = communicated(always);
  for (std::int64_t price : {0, 1, 2, 3, 100}) {  // a pack of 16 tokens saves 40, so it pays up to a price of 2
    auto const p = ballast::pack_levels(
        lengths, two, {.fill = ballast::level_fill::where_it_pays, .times = {{40, 7, 0}, {300, 7, 0}}, .price_per_token = price});
    CHECK(communicated(p) <= before);
    CHECK((p.filled > 0) == (price <= 2));
    before = communicated(p);
  }
  CHECK(before == communicated(never));
}

TEST_CASE("fill_pays: what a token costs more against its share of a pack", "[packing]") {
  levels_t const levels{{10, 1, 0}, {100, 1, 0}, {1000, 4, 0}};
  auto const pays = [&](std::int64_t t0, std::int64_t t2, std::int64_t saved, std::int64_t price) {
    ballast::level_options const o{
        .fill = ballast::level_fill::where_it_pays, .times = {{saved, t0, 0}, {0, 5, 0}, {0, t2, 0}}, .price_per_token = price};
    return ballast::fill_pays(levels, o, 2, 0);
  };
  CHECK(pays(5, 5, 1, 0));
  CHECK_FALSE(pays(5, 5, 0, 0));
  CHECK(pays(5, 6, 11, 0));
  CHECK_FALSE(pays(5, 6, 10, 0));
  CHECK_FALSE(pays(5, 6, 20, 1));
  CHECK(pays(5, 6, 21, 1));
  CHECK(pays(6, 5, 0, 0));
  CHECK_FALSE(pays(0, 9223372036854775807, 9223372036854775807, 9223372036854775807));
  ballast::level_options const same{
      .fill = ballast::level_fill::where_it_pays, .times = {{1, 5, 0}, {0, 5, 0}, {0, 5, 0}}, .price_per_token = 1000};
  CHECK(ballast::fill_pays(levels, same, 1, 0));  // no more is communicated, so the price does not count
}

TEST_CASE("pack_levels: samples above the longest level follow the policy", "[packing]") {
  lengths_t const lengths{300, 10, 128, 129};
  auto const with = [&](ballast::oversize policy) { return ballast::pack_levels(lengths, three, {.oversize = policy}); };
  CHECK(ballast_test::refusal([&] { (void)with(ballast::oversize::reject); }) ==
        "lengths[0] = 300 exceeds the longest level, 128 (see oversize policy)");
  CHECK(ballast_test::refusal([&] { (void)with(ballast::oversize::alone); }) ==
        "oversize = alone: a pack above the longest level belongs to no level");
  auto const aside = with(ballast::oversize::set_aside);
  check_levels(aside, 4);
  CHECK(aside.set_aside == std::vector<std::uint32_t>{0, 3});
  auto const cut = with(ballast::oversize::truncate);
  check_levels(cut, 4);
  CHECK(cut.lengths == lengths_t{128, 10, 128, 128});
  auto const split = with(ballast::oversize::split);
  check_levels(split, 4);
  CHECK(split.lengths == lengths_t{128, 10, 128, 128, 128, 44, 1});
  CHECK(split.pieces == std::vector<ballast::sample_piece>{{0, 128, 128}, {0, 256, 44}, {3, 128, 1}});
  CHECK(split.tokens == lengths_t{11, 0, 4 * 128 + 44});  // the last piece needs but the shortest level
}

TEST_CASE("pack_levels: bad input is refused", "[packing]") {
  auto const refused = [](levels_t const& levels, ballast::level_options const& o = {}) {
    return ballast_test::refusal([&] { (void)ballast::pack_levels(lengths_t{1}, levels, o); });
  };
  CHECK(refused({}) == "levels is empty");
  CHECK(refused({{0, 1, 0}}) == "levels[0].capacity = 0 must be positive");
  CHECK(refused({{8, 0, 0}}) == "levels[0].sp = 0 must be positive");
  CHECK(refused({{8, 1, 0}, {8, 2, 0}}) == "levels[1].capacity = 8 must be above its predecessor's");
  CHECK(refused({{8, 1, 0}}, {.price_per_token = -1}) == "price_per_token = -1 must not be negative");
  CHECK(refused({{8, 1, 0}}) == "accepted");  // where it pays, but nothing is known to pay
  CHECK(refused({{8, 1, 0}}, {.times = {{1, 0, 0}, {1, 0, 0}}}) == "2 times for 1 level");
  CHECK(refused({{8, 1, 0}}, {.times = {{-1, 0, 0}}}) == "times[0] is negative");
  CHECK(ballast_test::refusal([] { (void)ballast::pack_levels(lengths_t{1, 0}, three); }) == "lengths[1] = 0 must be positive");
}

TEST_CASE("pack_levels: the plan of a fixed input is fixed", "[packing][golden]") {
  auto const lengths = ballast_test::golden_lengths();
  levels_t const levels{{512, 1, 0}, {2048, 4, 0}};
  CHECK(ballast::hash(ballast::pack_levels(lengths, levels, {.fill = ballast::level_fill::always}).packs) == 0xc3c47ac0103a9bc8);
}

}  // namespace test_levels_pack
