// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition.hpp>

#include "suite.hpp"

namespace test_partition_exhaustive {

using namespace ballast_test;

// Every objective under every constraint, against every cut there is: 2,000 random chains a row.

namespace {

struct row {
  char const* name;
  unsigned kinds;
  int least_infeasible;  // so many chains at least have no cut, or the row would not test refusals
};

void agrees(ballast::staged<> const& plan, chain_case const& c, std::vector<worth> const& cuts) {
  require_valid(check_partition(plan, c.layers, c.options()));
  REQUIRE((plan.status == status::feasible) == !cuts.empty());
  if (!cuts.empty()) REQUIRE(plan.bottleneck == ballast::certificate{cuts[0].bottleneck, cuts[0].bottleneck});
}

void min_max_agrees(chain_case const& c, std::vector<worth> const& cuts) {
  auto const plan = ballast::min_max_partition(c.layers, c.options());
  agrees(plan, c, cuts);
  if (!c.transfer.empty() || c.min_weighted != 0) return;
  auto const cost = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t stage) {
    std::int64_t load = 0, held = 0;
    for (auto i = begin; i < end; ++i) {
      load += c.layers[i] * (c.unit_time.empty() ? 1 : c.unit_time[stage]);
      held += c.size.empty() ? 0 : c.size[i];
    }
    return !c.capacity.empty() && held > c.capacity[stage] ? ballast::unaffordable : load;
  };
  partition_options const o{.stages = c.stages, .min_layers = c.min_layers};
  auto const weighed = ballast::min_max_partition(c.layers.size(), o, cost);
  agrees(weighed, c, cuts);
  require_valid(check_partition(weighed, c.layers.size(), o, cost));
  REQUIRE(weighed.boundaries == plan.boundaries);
}

void second_objectives_agree(chain_case c, std::vector<worth> const& cuts, bool slack) {
  if (slack && !cuts.empty()) c.limit = cuts[0].bottleneck + cuts[0].bottleneck / 8;
  auto const level = ballast::least_squares_partition(c.layers, c.options());
  auto const lean = ballast::least_volume_partition(c.layers, c.volume, c.options());
  require_valid(check_partition(level.partition, c.layers, c.options()));
  require_valid(check_partition(lean.partition, c.layers, c.options()));
  if (cuts.empty()) return;
  auto const limit = slack ? c.limit : cuts[0].bottleneck;
  worth const *most_level = nullptr, *leanest = nullptr;
  auto const first = [](worth const& a, worth const& b) {
    return std::lexicographical_compare(a.boundaries.rbegin(), a.boundaries.rend(), b.boundaries.rbegin(), b.boundaries.rend());
  };
  for (auto const& w : cuts) {
    if (w.bottleneck > limit) break;
    if (most_level == nullptr || w.squares < most_level->squares || (w.squares == most_level->squares && first(w, *most_level)))
      most_level = &w;
    if (leanest == nullptr || w.volume < leanest->volume || (w.volume == leanest->volume && first(w, *leanest))) leanest = &w;
  }
  REQUIRE(level.partition.boundaries == most_level->boundaries);
  REQUIRE(level.squares == ballast::wide{0, most_level->squares});
  REQUIRE(level.partition.bottleneck == ballast::certificate{most_level->bottleneck, cuts[0].bottleneck});
  REQUIRE(lean.partition.boundaries == leanest->boundaries);
  REQUIRE(lean.volume == ballast::certificate{leanest->volume, leanest->volume});
  REQUIRE(lean.partition.bottleneck == ballast::certificate{leanest->bottleneck, cuts[0].bottleneck});
}

}  // namespace

TEST_CASE("partition: every objective under every constraint agrees with trying every cut") {
  auto const test = GENERATE(row{"plain", nothing, 50}, row{"empty stages", empty_stages, 0}, row{"several layers", several_layers, 200},
                             row{"weighted layers", weighted_layers, 200}, row{"speeds", speeds, 50},
                             row{"speeds, empty stages", speeds | empty_stages, 0}, row{"capacities", capacities, 200},
                             row{"capacities, several layers", capacities | several_layers, 200}, row{"transfers", transfers, 50},
                             row{"transfers, capacities", transfers | capacities | speeds, 200},
                             row{"all", speeds | capacities | transfers | several_layers | weighted_layers, 200},
                             row{"all but transfers", speeds | capacities | several_layers | weighted_layers, 200});
  CAPTURE(test.name);
  int infeasible = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    auto const c = random_chain_case(seed * 64 + test.kinds, test.kinds);
    auto const cuts = every_cut(c);
    infeasible += cuts.empty() ? 1 : 0;
    min_max_agrees(c, cuts);
    second_objectives_agree(c, cuts, seed % 2 == 0);
  }
  CHECK(infeasible >= test.least_infeasible);
}

}  // namespace test_partition_exhaustive
