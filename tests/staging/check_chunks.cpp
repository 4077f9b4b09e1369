// SPDX-License-Identifier: Apache-2.0
#include <ballast/staging/check.hpp>
#include <ballast/staging/chunks.hpp>

#include "support/catch.hpp"
#include "support/verdicts.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace test_staging_check_chunks {

using namespace ballast;

TEST_CASE("check_chunks: every broken rule is named, with its place") {
  std::vector<stage_layer> const layers(
      8, {.time = 30, .state = 10, .working = 6, .options = {{.memory = 10}, {.memory = 4, .time = 10}, {.memory = 4, .transfer = 40}}});
  std::vector<std::int64_t> const capacity{146, 106};
  auto const held = held_by_chunk(interleaved_schedule{.chunks = 2}, 2, 8);
  chunk_options const options{.capacity = capacity, .hidden_percent = 10};
  auto const good = plan_chunks(std::span<stage_layer const>(layers), held, options);
  REQUIRE(good.partition.boundaries == std::vector<std::uint32_t>{0, 2, 4, 6, 8});
  auto const after = [&](auto const& spoil) {
    auto plan = good;
    spoil(plan);
    return ballast_test::place_of(check_chunks(plan, std::span<stage_layer const>(layers), held, options));
  };
  using f = staging_fault;
  CHECK(after([](auto&) {}) == verdict{});
  CHECK(after([](auto& p) { p.partition.status = status::unknown; }) == verdict{f::plan_refused, 0});
  CHECK(after([](auto& p) { p.option.pop_back(); }) == verdict{f::wrong_size, 0});
  CHECK(after([](auto& p) { p.figures.pop_back(); }) == verdict{f::wrong_size, 0});
  CHECK(after([](auto& p) { p.partition.boundaries[2] = 9; }) == verdict{f::bad_boundaries, 2});
  CHECK(after([](auto& p) { p.partition.boundaries[0] = 1; }) == verdict{f::bad_boundaries, 0});
  CHECK(after([](auto& p) { p.partition.boundaries[4] = 7; }) == verdict{f::bad_boundaries, 4});
  CHECK(after([](auto& p) { p.partition.boundaries[1] = 0; }) == verdict{f::too_few_layers, 0});
  CHECK(after([](auto& p) { p.option[2] = 3; }) == verdict{f::bad_option, 2});
  CHECK(after([](auto& p) { p.partition.boundaries[1] = 3; }) == verdict{f::over_capacity, 0});
  CHECK(after([](auto& p) { p.figures[1].working += 1; }) == verdict{f::wrong_figures, 1});
  CHECK(after([](auto& p) { p.figures[0].memory -= 1; }) == verdict{f::wrong_figures, 0});
  CHECK(after([](auto& p) { p.option[2] = 1; }) == verdict{f::wrong_figures, 1});
  CHECK(after([](auto& p) { p.option[2] = 2; }) == verdict{f::wrong_figures, 1});
  CHECK(after([](auto& p) { p.partition.bottleneck.value -= 1; }) == verdict{f::wrong_value, 0});
  CHECK(after([](auto& p) { p.partition.bottleneck.lower_bound = p.partition.bottleneck.value + 1; }) == verdict{f::wrong_bound, 0});
}

}  // namespace test_staging_check_chunks
