// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/recompute/check.hpp>
#include <ballast/recompute/compiled.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_recompute_compiled {

using namespace ballast;
using ballast_test::refusal;

namespace {
std::vector<dimension> const batch{{"tokens", 1, 16384}, {"squares", 1, std::int64_t{1} << 28}, {"tiles", 0, 64}};

symbolic polynomial_of(batch_cost const& cost) { return cost.over(symbolic::of(0), symbolic::of(1), symbolic::of(2)); }
std::vector<symbolic_option> options_of(layer const& c) {
  std::vector<symbolic_option> out;
  for (auto const& o : c.options) out.push_back({polynomial_of(o.bytes), polynomial_of(o.work), {}});
  return out;
}
}  // namespace

TEST_CASE("compiled: a model's layers fold into few classes, and every batch gets a legal, nearly best selection") {
  compiled_selection plan(batch);
  auto const chain = layers_of(vision_language_preset("internvl-chat-1.5"));
  for (auto const& c : chain) plan.add(options_of(c));
  CHECK(plan.size() == 6);  // patches, vision, projector, embedding, language, head
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    splitmix64 draw(seed);
    auto const tiles = static_cast<std::int64_t>(uniform_below(65, draw));
    auto const tokens = 256 * tiles / 8 + 64 + static_cast<std::int64_t>(uniform_below(8192, draw));
    std::array const values{tokens, tokens * tokens / 3, tiles};
    auto const items = plan.at(values);
    std::int64_t least = 0, most = 0;
    for (auto const& c : chain) {
      auto const shape = batch_shape{values[0], values[1], values[2]};
      least += (std::min)(c.options.front().bytes(shape), c.options.back().bytes(shape));
      most += c.options.front().bytes(shape);
    }
    selection_options const asked{.budget = least + (most - least) / 1000 * static_cast<std::int64_t>(uniform_below(1001, draw))};
    auto const greedy = plan.evaluate(values, asked), exact = choose_options(items, asked);
    CAPTURE(seed, greedy.time.value, greedy.time.lower_bound, exact.time.value);
    REQUIRE(greedy.status == status::feasible);
    CHECK(check_selection(greedy, items, asked) == verdict<selection_fault>{});
    CHECK(check_selection(exact, items, asked) == verdict<selection_fault>{});
    CHECK(exact.time.optimal());
    CHECK(greedy.time.value >= exact.time.value);
    CHECK(greedy.time.lower_bound <= exact.time.value);
  }
}

TEST_CASE("compiled: what no batch can want is removed, and nothing else") {
  auto const tokens = symbolic::of(0), tiles = symbolic::of(2);
  compiled_selection plan(batch);
  std::vector<symbolic_option> const options{{100 * tokens, 0, 0},
                                             {40 * tokens, 7 * tokens, 0},
                                             {40 * tokens + tiles, 7 * tokens, 0},  // never better than the one before
                                             {30 * tiles, 9 * tokens, 0},           // depends on the batch
                                             {40 * tokens, 6 * tokens, 2 * tokens}};
  CHECK(plan.add(options, 3) == 0);
  CHECK(plan.add(options, 2) == 0);
  CHECK(std::vector<std::uint32_t>(plan.origin(0).begin(), plan.origin(0).end()) == std::vector<std::uint32_t>{0, 1, 3, 4});
  CHECK(plan.add(std::vector<symbolic_option>{{5, 0, 0}}) == 1);
  auto const numbers = plan.at(std::array<std::int64_t, 3>{10, 1, 2});
  CHECK(numbers.counts == std::vector<std::uint64_t>{5, 1});
  CHECK(numbers[0][2] == memory_option{60, 90, 0});
}

TEST_CASE("compiled: what makes no sense is refused") {
  compiled_selection plan(batch);
  auto const tiles = symbolic::of(2);
  CHECK(refusal([&] { return plan.add({}); }) == "a class needs at least one choice and one item");
  CHECK(refusal([&] { return plan.add(std::vector<symbolic_option>{{tiles - 1, 0, 0}}); }) ==
        "choices[0] holds 1 tiles - 1, which is not proven not to be negative");
  CHECK(refusal([&] { return plan.at(std::array<std::int64_t, 2>{1, 1}); }) == "2 values for 3 dimensions");
  CHECK(refusal([&] { return plan.at(std::array<std::int64_t, 3>{0, 1, 1}); }) == "values[0] = 0 is outside the range of tokens");
}

}  // namespace test_recompute_compiled
