// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/layer_matrices.hpp>
#include <ballast/cost/presets.hpp>

#include "support/catch.hpp"
#include "support/hybrid_shapes.hpp"
#include "support/refusal.hpp"
#include "support/state_space_shapes.hpp"

#include <cstdint>
#include <vector>

namespace test_cost_layer_matrices {

using namespace ballast;
using ballast_test::refusal;

std::vector<weight_matrix> matrices(transformer const& model, std::int64_t layer) {
  std::vector<weight_matrix> all;
  for_each_matrix(model, layer, [&](weight_matrix const& m) { all.push_back(m); });
  return all;
}

TEST_CASE("layer_matrices: their weights are the FLOPs and the parameters of each preset's layers") {
  auto const check = [](auto name, transformer const& model) {
    for (std::int64_t const layer : {std::int64_t{0}, model.layers - 1}) {
      CAPTURE(name, layer);
      std::int64_t all = 0, active = 0;
      for (auto const& m : matrices(model, layer)) {
        all += m.copies * m.in * m.out;
        active += m.visited * m.in * m.out;
      }
      CHECK(all + detail::layer_vectors(model, layer, model.experts) == layer_parameters(model, layer));
      auto const& l = model.linear;  // the convolution and the state have no matrix that is visited
      auto const others = l.layers.contains(layer) ? l.kernel * l.convolved() + 4 * l.value_heads * l.key_width * l.value_width : 0;
      auto scan = std::int64_t{0};
      if (detail::is_space(model, layer)) scan = 2 * model.space.kernel * model.space.convolved() + detail::scan_flops(model.space);
      if (detail::is_conv(model, layer)) scan = 2 * model.conv.kernel * model.hidden;
      CHECK(2 * (active + others) + scan == layer_flops(model, layer).per_token);
    }
  };
  for (auto const& p : transformer_presets) check(p.name, p.model);
  for (auto const& p : ballast_test::hybrid_shapes) check(p.name, p.model);
  for (auto const& p : ballast_test::state_space_shapes) check(p.name, p.model);
}

TEST_CASE("layer_matrices: the shapes of a layer with grouped heads, with experts, with latent attention") {
  auto const& qwen = transformer_preset("qwen2.5-7b");  // the shapes of its published checkpoint
  CHECK(matrices(qwen, 0) == std::vector<weight_matrix>{{.in = 3584, .out = 3584, .query_or_value = true},
                                                        {.in = 3584, .out = 512},
                                                        {.in = 3584, .out = 512, .query_or_value = true},
                                                        {.in = 3584, .out = 3584},
                                                        {.in = 3584, .out = 18944},
                                                        {.in = 3584, .out = 18944},
                                                        {.in = 18944, .out = 3584}});
  auto const& deepseek = transformer_preset("deepseek-v3");
  CHECK(matrices(deepseek, 3) == std::vector<weight_matrix>{{.in = 7168, .out = 1536, .replicated = true},
                                                            {.in = 1536, .out = 24576, .query_or_value = true},
                                                            {.in = 7168, .out = 576, .replicated = true},
                                                            {.in = 512, .out = 32768, .query_or_value = true},
                                                            {.in = 16384, .out = 7168},
                                                            {.in = 7168, .out = 256, .router = true, .replicated = true},
                                                            {.in = 7168, .out = 2048, .copies = 256, .visited = 8, .expert = true},
                                                            {.in = 7168, .out = 2048, .copies = 256, .visited = 8, .expert = true},
                                                            {.in = 2048, .out = 7168, .copies = 256, .visited = 8, .expert = true},
                                                            {.in = 7168, .out = 2048},
                                                            {.in = 7168, .out = 2048},
                                                            {.in = 2048, .out = 7168}});
  auto const& next = ballast_test::hybrid_shapes[0].model;
  auto const linear = matrices(next, 0), gated = matrices(next, 3);
  CHECK(linear.size() == gated.size() - 1);
  CHECK((linear[0] == weight_matrix{.in = 2048, .out = 12288} && linear[1] == weight_matrix{.in = 2048, .out = 64} &&
         linear[2] == weight_matrix{.in = 4096, .out = 2048}));
  CHECK((gated[0] == weight_matrix{.in = 2048, .out = 8192, .query_or_value = true} && gated[3] == weight_matrix{.in = 4096, .out = 2048}));
  CHECK(linear[4] == weight_matrix{.in = 2048, .out = 1, .replicated = true});
  CHECK(matrices(transformer_preset("gpt2-xl"), 47).size() == 6);  // no gate
  CHECK(refusal([&] { return matrices(qwen, 28).size(); }) == "layer = 28 must be in [0, 28)");
}

}  // namespace test_cost_layer_matrices
