// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition/min_max.hpp>
#include <ballast/partition/min_max_runs.hpp>

#include "suite.hpp"

namespace test_partition_min_max_runs {

using namespace ballast_test;
using ballast::chain_runs;
using ballast::min_max_partition;

TEST_CASE("min_max_partition of runs: the cut, the certificate and the bound of the unfolded chain") {
  ballast::run_partition_workspace workspace;
  ballast::staged<> folded;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    CAPTURE(seed);
    ballast::splitmix64 draw(seed);
    chain_runs runs;
    numbers layers;
    auto const count = ballast::uniform_below(6, draw);
    for (std::uint64_t r = 0; r < count; ++r) {
      runs.values.push_back(between(0, 7, draw));
      runs.counts.push_back(1 + ballast::uniform_below(60, draw));
      layers.insert(layers.end(), static_cast<std::size_t>(runs.counts.back()), runs.values.back());
    }
    auto const stages = 1 + ballast::uniform_below(24, draw);
    auto const speed = draw_numbers(static_cast<std::size_t>(stages), 1, 3, draw);
    auto const kind = ballast::uniform_below(5, draw);
    partition_options const o{.stages = stages,
                              .min_layers = kind == 0   ? 0U
                                            : kind == 1 ? 4U
                                                        : 1U,
                              .min_weighted = kind == 2   ? 1U
                                              : kind == 3 ? 3U
                                                          : 0U,
                              .unit_time = kind == 4 ? std::span<std::int64_t const>(speed) : std::span<std::int64_t const>()};
    auto const cost = [](std::int64_t v) { return v * v; };
    auto const plan = min_max_partition(layers, o, cost);
    min_max_partition(runs, o, cost, workspace, folded);
    require_valid(check_partition(folded, layers, o, cost));
    REQUIRE((folded.boundaries == plan.boundaries && folded.bottleneck == plan.bottleneck && folded.bound == plan.bound));
    REQUIRE(folded.status == plan.status);
  }
}

TEST_CASE("min_max_partition of runs: a million million layers") {
  auto const trillion = std::uint64_t{1'000'000'000'000};
  chain_runs const runs{{3, 0, 5}, {trillion, trillion, trillion}};
  auto const plan = min_max_partition<std::uint64_t>(runs, {.stages = 4, .min_weighted = 1});
  CHECK(plan.bottleneck == ballast::certificate{2'000'000'000'001, 2'000'000'000'001});
  CHECK(plan.bound == partition_bound::probe);
  CHECK(plan.boundaries == std::vector<std::uint64_t>{0, 666'666'666'667, 2'200'000'000'000, 2'600'000'000'000, 3'000'000'000'000});
}

TEST_CASE("min_max_partition of runs: corners and refusals") {
  auto const none = min_max_partition(chain_runs{}, {.stages = 2, .min_layers = 0});
  CHECK((none.status == status::feasible && none.boundaries == cut{0, 0, 0} && none.bound == partition_bound::none));
  auto const few = min_max_partition(chain_runs{{4}, {2}}, {.stages = 3});
  CHECK((few.status == status::infeasible && few.bound == partition_bound::min_layers && few.bottleneck == ballast::certificate{2, 3}));
  auto const light = min_max_partition(chain_runs{{4, 0}, {2, 9}}, {.stages = 3, .min_weighted = 1});
  CHECK((light.status == status::infeasible && light.bound == partition_bound::min_weighted));

  auto const says = [](chain_runs const& runs, partition_options const& o) { return refusal([&] { return min_max_partition(runs, o); }); };
  numbers const two{1, 1};
  CHECK(says({{1}, {2}}, {}) == "stages = 0 must be in 1 ... 2^31");
  CHECK(says({{1}, {}}, {.stages = 1}) == "runs: 1 values but 0 counts");
  CHECK(says({{1, -1}, {1, 1}}, {.stages = 1}) == "runs.values[1] = -1 has a cost that is negative, not a number or too large for 63 bits");
  CHECK(says({{1, 4}, {1, std::uint64_t{1} << 61}}, {.stages = 1}) == "runs.values[1] = 4 brings the sum of costs to 2^63 or more");
  CHECK(says({{1}, {2}}, {.stages = 2, .size = two, .capacity = two}) ==
        "size, capacity and transfer have one entry per layer: partition the unfolded chain");
  CHECK(says({{1}, {std::uint64_t{1} << 32}}, {.stages = 2}) == "4294967296 layers need a 64-bit index: call with <std::uint64_t>");
}

}  // namespace test_partition_min_max_runs
