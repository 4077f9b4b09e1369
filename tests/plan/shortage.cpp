// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/shortage.hpp>

#include <ballast/core/random.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace test_plan_shortage {

namespace {

using namespace ballast;
using ballast_test::refusal;

/// The largest stage of the leanest cut of layers from `begin` on, by trying all cuts.
std::int64_t leanest(std::vector<stage_layer> const& layers, std::vector<std::uint64_t> const& held, std::size_t begin, std::size_t stage) {
  if (stage == held.size()) return begin == layers.size() ? 0 : (std::numeric_limits<std::int64_t>::max)();
  auto best = (std::numeric_limits<std::int64_t>::max)();
  std::int64_t bytes = 0;
  for (auto end = begin; end < layers.size(); ++end) {
    auto least = layers[end].options[0].memory;
    for (auto const& o : layers[end].options) least = (std::min)(least, o.memory);
    bytes += layers[end].state + static_cast<std::int64_t>(held[stage]) * least;
    best = (std::min)(best, (std::max)(bytes, leanest(layers, held, end + 1, stage + 1)));
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
  }
  std::vector<stage_layer> const two{{.options = {{.memory = 9}}}, {.state = 5, .options = {{.memory = 1}}}};
  CHECK(shortage_of(two, std::vector<std::uint64_t>{1, 5}, 3) == memory_shortage{.stage = 1, .needed = 10, .budget = 3});
  CHECK(refusal([&] { return shortage_of(two, std::vector<std::uint64_t>{1, 1, 1}, 3); }) == "2 layers cannot fill 3 stages");
  CHECK(refusal([&] { return shortage_of(std::vector<stage_layer>(2), std::vector<std::uint64_t>{1}, 3); }) == "layers[0] has no options");
}

}  // namespace test_plan_shortage
