// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/result.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <ranges>
#include <vector>

namespace test_batching_result {

namespace {
template <class Index>
ballast::batching<Index> small_plan() {
  constexpr auto none = ballast::batching<Index>::none;
  ballast::batching<Index> plan;
  plan.ranks = 2;
  plan.micro_batches = 2;
  for (auto const& pack : std::vector<std::vector<Index>>{{4, 1}, {0}, {2, 3}, {5}}) plan.packs.push_back(pack);
  plan.table = {2, 0, none, 1, none, none, 3, none};
  plan.dropped = {6};
  return plan;
}
}  // namespace

TEST_CASE("batching: what a rank trains on in a step is one range", "[batching]") {
  auto const plan = small_plan<std::uint32_t>();
  auto const samples = [](auto const& range) {
    std::vector<std::vector<std::uint32_t>> out;
    for (auto const pack : range) out.emplace_back(pack.begin(), pack.end());
    return out;
  };
  using lists = std::vector<std::vector<std::uint32_t>>;
  CHECK(samples(plan.packs_of(0, 0)) == lists{{2, 3}, {4, 1}});
  CHECK(samples(plan.packs_of(0, 1)) == lists{{0}});  // its first place is empty
  CHECK(samples(plan.packs_of(1, 0)).empty());
  CHECK(plan.packs_of(1, 0).empty());
  CHECK(!plan.packs_of(1, 1).empty());
  CHECK(samples(plan.packs_of(0)) == lists{{2, 3}, {4, 1}, {0}});
  CHECK(samples(plan.packs_of(1)) == lists{{5}});
  CHECK(plan.idle_ranks() == std::vector<std::uint64_t>{0});
  static_assert(std::ranges::forward_range<decltype(plan.packs_of(0, 0))>);
}

TEST_CASE("hash: a plan of steps has one hash, whatever its index type, and any other plan another", "[batching]") {
  auto const plan = small_plan<std::uint32_t>();
  auto const known = hash(plan);
  CHECK(known == 0x178514846b0ab22eU);  // golden: a change of this number is a change of the format
  CHECK(hash(small_plan<std::uint64_t>()) == known);
  auto const changed = [&](auto const& change) {
    auto other = plan;
    change(other);
    return hash(other) != known;
  };
  CHECK(changed([](auto& p) { p.ranks = 1; }));
  CHECK(changed([](auto& p) { std::swap(p.table[0], p.table[1]); }));
  CHECK(changed([](auto& p) { std::swap(p.packs.members[0], p.packs.members[1]); }));
  CHECK(changed([](auto& p) { p.repeated.swap(p.dropped); }));
  CHECK(changed([](auto& p) { p.dropped.clear(); }));
  CHECK(changed([](auto& p) { p.shared = {{4, 0, 0, 2}}; }));
  CHECK(!changed([](auto& p) { p.cost = 17; }));  // a figure
}

}  // namespace test_batching_result
