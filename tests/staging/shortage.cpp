// SPDX-License-Identifier: Apache-2.0
#include <ballast/staging/shortage.hpp>

#include <ballast/core/random.hpp>
#include <ballast/staging/joint.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace test_staging_shortage {

namespace {

using namespace ballast;
using ballast_test::refusal;

/// The largest stage of the leanest cut of layers from `begin` on, by trying all cuts.
std::int64_t leanest(std::vector<stage_layer> const& layers, std::vector<std::uint64_t> const& held, std::size_t begin, std::size_t stage) {
  if (stage == held.size()) return begin == layers.size() ? 0 : (std::numeric_limits<std::int64_t>::max)();
  auto best = (std::numeric_limits<std::int64_t>::max)();
  std::int64_t bytes = 0, working = 0;
  for (auto end = begin; end < layers.size(); ++end) {
    auto least = layers[end].options[0].memory;
    for (auto const& o : layers[end].options) least = (std::min)(least, o.memory);
    bytes += layers[end].state + static_cast<std::int64_t>(held[stage]) * least;
    working = (std::max)(working, layers[end].working);
    best = (std::min)(best, (std::max)(bytes + working, leanest(layers, held, end + 1, stage + 1)));
  }
  return best;
}

}  // namespace

TEST_CASE("shortage_of: the least memory of all cuts, and a stage that needs it") {
  splitmix64 draw(31);
  auto const below = [&](std::uint64_t n) { return static_cast<std::int64_t>(uniform_below(n, draw)); };
  for (int round = 0; round < 300; ++round) {
    std::vector<stage_layer> layers(1 + static_cast<std::size_t>(below(7)));
    for (auto& l : layers) {
      l.state = below(20);
      l.working = round % 2 == 0 ? 0 : below(40);
      l.options.resize(1 + static_cast<std::size_t>(below(3)));
      for (auto& o : l.options) o.memory = below(30);
    }
    std::vector<std::uint64_t> held(1 + static_cast<std::size_t>(below((std::min)(layers.size(), std::size_t{4}))));
    for (auto& h : held) h = 1 + static_cast<std::uint64_t>(below(5));
    CAPTURE(round);
    auto const found = shortage_of(layers, held, 7);
    CHECK(found.needed == leanest(layers, held, 0, 0));
    CHECK(found.stage < held.size());
    CHECK(found.budget == 7);
    auto const plans = [&](std::int64_t bytes) {
      std::vector<std::int64_t> const capacity(held.size(), bytes);
      staging_options const options{.stages = held.size(), .capacity = capacity, .in_flight = held};
      return plan_stages(std::span<stage_layer const>(layers), options).partition.status;
    };
    CHECK(plans(found.needed) == status::feasible);
    if (found.needed > 0) CHECK(plans(found.needed - 1) == status::infeasible);  // one byte less is too few
  }
  std::vector<stage_layer> const two{{.options = {{.memory = 9}}}, {.state = 5, .options = {{.memory = 1}}}};
  CHECK(shortage_of(two, std::vector<std::uint64_t>{1, 5}, 3) == memory_shortage{.stage = 1, .needed = 10, .budget = 3});
  CHECK(refusal([&] { return shortage_of(two, std::vector<std::uint64_t>{1, 1, 1}, 3); }) == "2 layers cannot fill 3 stages");
  CHECK(refusal([&] { return shortage_of(std::vector<stage_layer>(2), std::vector<std::uint64_t>{1}, 3); }) == "layers[0] has no options");
}

}  // namespace test_staging_shortage
