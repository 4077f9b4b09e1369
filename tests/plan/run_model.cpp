// SPDX-License-Identifier: Apache-2.0
#include <ballast/plan/run_model.hpp>

#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace test_plan_run_model {

namespace {

using namespace ballast;
using ballast_test::refusal;

}  // namespace

TEST_CASE("run_model_of: work, bytes, states and rates of a model are those of its layers") {
  auto const model = transformer_preset("llama-3.1-8b");
  parallelism const spread{.tensor = 2, .data = 16, .sequence_parallel = true, .zero = 1};
  cluster const on{.device = device_named("h100"), .mfu = 0.4};
  auto const layers = layers_of(model, spread);
  auto const run = run_model_of(model, on, spread);
  CHECK(run.work_per_ms == 395'760'000'000);
  CHECK(run.link_bytes_per_ms == 450'000'000);  // one way
  CHECK(run.units_per_byte == 1);
  REQUIRE(run.layers.size() == layers.size());
  std::int64_t states = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    CAPTURE(i);
    auto const& of = run.layers[i];
    CHECK((of.name == layers[i].name && of.forward == layers[i].forward && of.backward == layers[i].backward));
    CHECK(of.boundary == layers[i].boundary);
    CHECK(of.options[0] == run_option{recompute_level::none, layers[i].kept, {}});
    for (std::size_t k = 1; k < of.options.size(); ++k) {
      CHECK(of.options[k].bytes == layers[i].memory(of.options[k].level));
      CHECK(of.options[k].work == layers[i].recomputed(of.options[k].level));
      CHECK(of.options[k].bytes.per_token < of.options[k - 1].bytes.per_token);
    }
    states += of.state;
  }
  CHECK(run.layers[0].options.size() == 1);  // the embedding keeps nothing
  CHECK(run.layers[1].options.size() == 3);
  CHECK(run.layers.back().options.size() == 2);  // the head knows no part
  // 6 bytes of each half of the parameters, and a sixteenth of 12 more, up to rounding
  auto const half = parameters(model) / 2;
  CHECK((states >= 6 * half + 12 * half / 16 && states < 6 * half + 12 * half / 16 + 1000));
  CHECK(refusal([&] { return run_model_of(model, {.device = on.device, .mfu = 0}); }) == "mfu = 0.000000 must be in (0, 1]");
}

TEST_CASE("shapes_of: tokens and squares of each pack") {
  groups<> packs;
  packs.push_back(std::vector<std::uint32_t>{0, 2});
  packs.push_back(std::vector<std::uint32_t>{1});
  std::vector<std::int64_t> tokens{3, 5, 4};
  CHECK(shapes_of(packs, std::span<std::int64_t const>(tokens)) ==
        std::vector<batch_shape>{{.tokens = 7, .squares = 25}, {.tokens = 5, .squares = 25}});
  tokens[2] = std::int64_t{1} << 32;
  CHECK(refusal([&] { return shapes_of(packs, std::span<std::int64_t const>(tokens)); }) ==
        "tokens[2] = 4294967296 is negative, or brings a sum of squares to 2^63");
  tokens.pop_back();
  CHECK(refusal([&] { return shapes_of(packs, std::span<std::int64_t const>(tokens)); }) ==
        "packs[0] has index 2, but there are 2 samples");
}

}  // namespace test_plan_run_model
