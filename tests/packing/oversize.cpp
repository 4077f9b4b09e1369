// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/oversize.hpp>

#include <ballast/packing/best_fit_decreasing.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_packing_oversize {

using ballast::oversize;
using ballast::packing_options;
using ballast_test::refusal;

namespace {

constexpr oversize policies[] = {oversize::set_aside, oversize::truncate, oversize::split, oversize::alone};

/// 3 l + 1, and how often it was asked for each length.
struct counted_cost {
  std::vector<std::int64_t>* asked;
  std::int64_t operator()(std::int64_t l) const {
    asked->push_back(l);
    return 3 * l + 1;
  }
};

}  // namespace

TEST_CASE("apply_oversize: what each policy makes of the samples") {
  std::vector<int> const lengths{5, 20, 3, 9, 2};
  auto const applied = [&](oversize policy) { return ballast::apply_oversize(lengths, {.capacity = 8, .oversize = policy}); };
  using tokens = std::vector<std::int64_t>;
  using samples = std::vector<std::uint32_t>;
  auto const aside = applied(oversize::set_aside);
  CHECK((aside.tokens == tokens{5, 20, 3, 9, 2} && aside.cost == tokens{5, 0, 3, 0, 2} && aside.set_aside == samples{1, 3}));
  CHECK((aside.all_tokens == 10 && aside.all_cost == 10 && aside.alone.empty() && aside.pieces.empty()));
  auto const cut = applied(oversize::truncate);
  CHECK((cut.tokens == tokens{5, 8, 3, 8, 2} && cut.cost == cut.tokens && cut.all_tokens == 26 && cut.set_aside.empty()));
  auto const own = applied(oversize::alone);
  CHECK((own.tokens == tokens{5, 20, 3, 9, 2} && own.cost == own.tokens && own.alone == samples{1, 3} && own.all_tokens == 39));
  auto const split = applied(oversize::split);  // 20 = 8 + 8 + 4, 9 = 8 + 1
  CHECK((split.tokens == tokens{5, 8, 3, 8, 2, 8, 4, 1} && split.cost == split.tokens && split.all_tokens == 39));
  CHECK(split.pieces == std::vector<ballast::sample_piece>{{1, 8, 8}, {1, 16, 4}, {3, 8, 1}});
  CHECK(ballast::apply_oversize(std::vector<int>{}, {.capacity = 1}) == ballast::trained_samples<>{});
  CHECK(ballast::apply_oversize<std::uint64_t>(lengths, {.capacity = 20}).cost == tokens{5, 20, 3, 9, 2});
}

TEST_CASE("apply_oversize: items are those of a packing, and each is weighed once", "[property]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const lengths = ballast_test::random_lengths(draw() % 40, 60, draw);
    packing_options o{.capacity = ballast_test::between(8, 40, draw), .oversize = policies[seed % 4]};
    o.pack_multiple = ballast_test::between(1, 4, draw);
    o.sample_multiple = ballast_test::between(1, 4, draw);
    std::vector<std::int64_t> asked;
    auto const items = ballast::apply_oversize(lengths, o, counted_cost{&asked});
    auto const plan = ballast::best_fit_decreasing(lengths, o);
    REQUIRE((items.pieces == plan.pieces && items.set_aside == plan.set_aside && items.all_tokens == plan.tokens));
    REQUIRE((items.tokens.size() == lengths.size() + items.pieces.size() && items.cost.size() == items.tokens.size()));
    std::int64_t packed = 0, cost = 0;
    for (auto const i : plan.packs.members) {
      packed += items.tokens[i];
      cost += items.cost[i];
      REQUIRE(items.cost[i] == 3 * items.tokens[i] + 1);
    }
    REQUIRE((packed == plan.tokens && cost == items.all_cost && asked.size() == plan.packs.members.size()));
    auto trained = items.tokens;  // nothing of a sample is lost or doubled
    for (auto const& piece : items.pieces) trained[piece.sample] += piece.length;
    trained.resize(lengths.size());
    REQUIRE((o.oversize == oversize::truncate || trained == std::vector<std::int64_t>(lengths.begin(), lengths.end())));
  }
}

TEST_CASE("apply_oversize: a histogram becomes what its samples become", "[property]") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    auto const lengths = ballast_test::random_lengths(draw() % 40, 60, draw);
    packing_options const o{.capacity = ballast_test::between(8, 40, draw),
                            .sample_multiple = ballast_test::between(1, 4, draw),
                            .oversize = policies[seed % 4]};
    auto const folded = ballast::apply_oversize(ballast::fold(lengths), o);
    auto const items = ballast::apply_oversize(lengths, o);
    auto gone = items.set_aside;
    gone.insert(gone.end(), items.alone.begin(), items.alone.end());
    std::vector<std::int64_t> weights;
    for (std::size_t i = 0; i < items.tokens.size(); ++i)
      if (std::find(gone.begin(), gone.end(), i) == gone.end()) weights.push_back(ballast::round_up(items.tokens[i], o.sample_multiple));
    REQUIRE(folded.weights == ballast::fold(weights));
    REQUIRE((folded.tokens == items.all_tokens && folded.set_aside == items.set_aside.size() && folded.alone == items.alone.size()));
  }
}

TEST_CASE("apply_oversize: what it throws for") {
  auto const refused = [](packing_options const& o, std::vector<std::int64_t> const& l, auto const& cost) {
    return refusal([&] { return ballast::apply_oversize(l, o, cost); });
  };
  ballast::token_cost const tokens;
  CHECK(refused({}, {}, tokens) == "capacity = 0 must be positive");
  CHECK(refused({.capacity = 8}, {3, 0}, tokens) == "lengths[1] = 0 must be positive");
  CHECK(refused({.capacity = 8}, {3, 9}, tokens) == "lengths[1] = 9 exceeds capacity 8 (see oversize policy)");
  CHECK(refused({.capacity = 8, .sample_multiple = 16, .oversize = oversize::truncate}, {3}, tokens) ==
        "sample_multiple = 16 exceeds the capacity 8: no piece fits");
  auto const half = [](std::int64_t l) { return (std::int64_t{1} << 62) + l - l; };
  CHECK(refused({.capacity = 8, .oversize = oversize::split}, {9}, half) == "lengths[0] = 9 brings the sum of costs to 2^63 or more");
  CHECK(refused({.capacity = 8, .oversize = oversize::set_aside}, {9, 3}, half) == "accepted");
  CHECK(refused({.capacity = 8}, {3}, [](std::int64_t) { return 0; }) == "lengths[0] = 3 costs 0; a packer needs positive costs");
  CHECK(refusal([&] { return ballast::apply_oversize(ballast::histogram{{9}, {2}}, {.capacity = 8}).tokens; }) ==
        "histogram.lengths[0] = 9 exceeds capacity 8 (see oversize policy)");
}

}  // namespace test_packing_oversize
