// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/hash.hpp>
#include <ballast/packing/check.hpp>

#include "support/archetypes.hpp"
#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/naive_packers.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

// What holds for every packer. A packer comes as a callable (lengths, options, cost) -> packing, its definition as one (naive_items) ->
// packs.

namespace ballast_test {

template <class Index>
[[nodiscard]] packs as_packs(ballast::groups<Index> const& groups) {
  packs out;
  for (auto const group : groups) out.emplace_back(group.begin(), group.end());
  return out;
}

/// The items that the options make of the lengths, one after the other as the documentation says.
inline std::pair<naive_items, packs> items_by_definition(std::vector<std::int64_t> const& lengths, ballast::packing_options const& o) {
  naive_items items{{}, o.capacity - o.capacity % o.pack_multiple, o.max_samples, o.seed};
  packs alone;
  auto const padded = [&](std::int64_t l) { return (l + o.sample_multiple - 1) / o.sample_multiple * o.sample_multiple; };
  std::int64_t longest = items.capacity;
  while (longest % o.sample_multiple != 0) --longest;
  std::vector<std::int64_t> pieces;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    auto const l = lengths[i];
    auto const fits = padded(l) <= items.capacity;
    auto const cut = o.oversize == ballast::oversize::truncate || o.oversize == ballast::oversize::split;
    items.weight.push_back(fits ? padded(l) : cut ? longest : 0);
    if (!fits && o.oversize == ballast::oversize::alone) alone.push_back({i});
    if (!fits && o.oversize == ballast::oversize::split)
      for (auto rest = l - longest; rest > 0; rest -= longest) pieces.push_back(padded((std::min)(rest, longest)));
  }
  items.weight.insert(items.weight.end(), pieces.begin(), pieces.end());
  return {items, alone};
}

/// Options of every kind, and lengths of which some are too long where the policy allows it.
struct packing_case {
  std::vector<std::int64_t> lengths;
  ballast::packing_options options;
};
inline packing_case random_case(std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  std::int64_t const capacities[] = {1, 2, 7, 64, 100, 4097, 30000, std::int64_t{1} << 22};
  std::uint64_t const limits[] = {0, 0, 0, 1, 2, 5};
  std::size_t const sizes[] = {0, 1, 2, 3, 9, 40, 150};
  packing_case c;
  auto& o = c.options;
  o.capacity = capacities[draw() % 8];
  o.max_samples = limits[draw() % 6];
  o.sample_multiple = draw() % 3 == 0 ? (std::min)(o.capacity, std::int64_t{4}) : 1;
  o.pack_multiple = draw() % 3 == 0 ? (std::min)(o.capacity, o.sample_multiple * 3) : 1;
  if (o.capacity - o.capacity % o.pack_multiple < o.sample_multiple) o.sample_multiple = 1;
  o.oversize = static_cast<ballast::oversize>(draw() % 5);
  o.seed = draw();
  auto const fitting = o.capacity - o.capacity % o.pack_multiple;
  auto const longest =
      o.oversize == ballast::oversize::reject ? fitting - fitting % o.sample_multiple : o.capacity + o.capacity * between(0, 2, draw) / 2;
  c.lengths = random_lengths(sizes[draw() % 7], longest, draw);
  return c;
}

inline void require_valid(ballast::verdict const& verdict) {
  INFO(ballast::describe(verdict));
  REQUIRE(verdict.valid());
}

template <class Packer, class Definition>
void is_its_definition(Packer const& pack, Definition const& definition) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    auto const [lengths, options] = random_case(seed);
    auto const plan = pack(lengths, options, ballast::token_cost{});
    require_valid(check_packing(plan, lengths, options));
    auto const [items, alone] = items_by_definition(lengths, options);
    auto expected = definition(items);
    expected.insert(expected.end(), alone.begin(), alone.end());
    REQUIRE(as_packs(plan.packs) == expected);
    auto const again = pack(lengths, options, ballast::token_cost{});
    REQUIRE((again.packs == plan.packs && again.count == plan.count && again.bound == plan.bound));
  }
}

/// A number of packs that is demanded is met, or proven impossible, or said to be unknown, by the plain plan and the bound.
template <class Packer>
void meets_pack_counts(Packer const& pack) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    auto [lengths, options] = random_case(seed);
    auto const plain = pack(lengths, options, ballast::token_cost{});
    auto const items = plain.packs.members.size();
    if (seed % 2 == 0)
      options.pack_count_multiple = 1 + seed % 7;
    else
      options.pack_count = 1 + seed % 50;
    auto const plan = pack(lengths, options, ballast::token_cost{});
    require_valid(check_packing(plan, lengths, options));
    auto const found = static_cast<std::uint64_t>(plain.packs.size());
    auto const target = seed % 2 != 0
                            ? options.pack_count
                            : (found + options.pack_count_multiple - 1) / options.pack_count_multiple * options.pack_count_multiple;
    REQUIRE(plan.count.value == static_cast<std::int64_t>(target));
    auto const multiple = static_cast<std::int64_t>(options.pack_count_multiple);
    auto const needed = (plain.count.lower_bound + multiple - 1) / multiple * multiple;
    if (seed % 2 == 0 ? std::cmp_greater(needed, items) : target > items)
      REQUIRE((plan.status == ballast::status::infeasible && plan.bound == ballast::packing_bound::sample_count));
    else if (target > items)
      REQUIRE(plan.status == ballast::status::unknown);
    else if (target >= found)
      REQUIRE((plan.status == ballast::status::feasible && plan.packs.size() == target && (seed % 2 == 0 || plan.count.optimal())));
    else
      REQUIRE(plan.status ==
              (static_cast<std::int64_t>(target) < plain.count.lower_bound ? ballast::status::infeasible : ballast::status::unknown));
  }
}

/// Against the true optimum of small cases: the bound is below it, the plan within `proven(packs, optimum)`.
template <class Packer, class Proven>
void is_near_the_optimum(Packer const& pack, Proven const& proven) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    std::int64_t const capacity = between(1, 60, draw);
    auto const lengths = random_lengths(1 + draw() % 8, capacity, draw);
    std::uint64_t const limit = draw() % 4;
    auto const plan = pack(lengths, {.capacity = capacity, .max_samples = limit}, ballast::token_cost{});
    auto const optimum = fewest_packs(lengths, capacity, limit).value();
    REQUIRE(plan.count.lower_bound <= optimum);
    REQUIRE(plan.count.value >= optimum);
    if (limit == 0) REQUIRE(proven(plan.count.value, optimum));
  }
}

/// The corner cases, the weakest arguments and the widest index.
template <class Packer, class Packer64>
void handles_corners(Packer const& pack, Packer64 const& pack64) {
  using lengths = std::vector<int>;
  auto const tokens = ballast::token_cost{};
  auto const packed = [&](lengths const& l, ballast::packing_options const& o) { return pack(l, o, tokens); };
  auto const none = packed({}, {.capacity = 8});
  CHECK((none.packs.empty() && none.packs.offsets.size() == 1 && none.count == ballast::certificate{} &&
         none.bound == ballast::packing_bound::none));
  CHECK(as_packs(packed({5}, {.capacity = 8}).packs) == packs{{0}});
  CHECK(as_packs(packed({8, 8}, {.capacity = 8, .pack_count = 2}).packs).size() == 2);  // exact fill
  auto const equal = packed(lengths(10, 3), {.capacity = 8});
  CHECK((equal.count == ballast::certificate{5, 5} && equal.count.optimal() && equal.tokens == 30));
  CHECK(packed(lengths(10, 3), {.capacity = 8, .max_samples = 1}).bound == ballast::packing_bound::cardinality);
  CHECK(refusal([&] { return packed({1, 9, 10}, {.capacity = 8}); }) == "lengths[1] = 9 exceeds capacity 8 (see oversize policy)");
  auto const aside = packed({9, 10}, {.capacity = 8, .oversize = ballast::oversize::set_aside});
  CHECK((aside.packs.empty() && aside.set_aside == std::vector<std::uint32_t>{0, 1} && aside.tokens == 0));
  auto const huge =
      pack(std::vector<std::int64_t>{std::int64_t{1} << 60, std::int64_t{3} << 60}, {.capacity = std::int64_t{7} << 60}, tokens);
  CHECK((huge.packs.size() == 1 && huge.count.optimal()));

  ballast::splitmix64 draw(5);
  auto const wide = random_lengths(300, 900, draw);
  ballast::packing_options const o{.capacity = 1000, .sample_multiple = 8, .seed = 3};
  auto const plan = pack(wide, o, tokens);
  CHECK(pack(weakest_lengths(wide), o, tokens).packs == plan.packs);
  auto const plan64 = pack64(wide, o);
  static_assert(std::same_as<decltype(plan64.packs.members), std::vector<std::uint64_t>>);
  CHECK((ballast::hash(plan64.packs) == ballast::hash(plan.packs) && plan64.count == plan.count));
  ballast::packing_options const doubled{.capacity = 2000, .sample_multiple = 16, .seed = 3};
  auto const cost = smallest_cost(2);
  auto const costed = pack(weakest_lengths(wide), doubled, cost);
  CHECK((costed.packs == plan.packs && costed.tokens == plan.tokens));
  require_valid(check_packing(costed, weakest_lengths(wide), doubled, cost));
}

/// The plan of one fixed input, the same in every build: a release that changes it says so in the CHANGELOG.
template <class Packer>
[[nodiscard]] std::uint64_t golden_hash(Packer const& pack) {
  return ballast::hash(pack(golden_lengths(), {.capacity = 4096, .max_samples = 24, .seed = 7}, ballast::token_cost{}).packs);
}

}  // namespace ballast_test
