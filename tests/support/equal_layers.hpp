// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/graph/graph.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ballast_test {

/// A training step of equal layers: a matrix, an activation and a sum with the layer's input; backward with a gradient of the weight; an
/// update in place. An embedding before them and a loss behind.
[[nodiscard]] inline ballast::graph equal_layers(std::uint32_t layers) {
  using enum ballast::operator_kind;
  using kind = ballast::tensor_kind;
  ballast::graph g;
  std::vector<std::uint32_t> weights, inputs, products, gradients;
  auto const tensor = [&](std::string name, kind k, std::int64_t bytes) {
    return g.add({.name = std::move(name), .kind = k, .bytes = bytes});
  };
  auto x = tensor("x", kind::activation, 64);
  g.add({.name = "embedding", .time = 1}, {tensor("tokens", kind::activation, 8)}, {x});
  for (std::uint32_t i = 0; i < layers; ++i) {
    auto const name = "layer " + std::to_string(i) + " ";
    weights.push_back(g.add({.name = name + "weight", .kind = kind::parameter, .bytes = 100, .kept = true}));
    inputs.push_back(x);
    products.push_back(tensor(name + "product", kind::activation, 96));
    auto const active = tensor(name + "active", kind::activation, 65), sum = tensor(name + "sum", kind::activation, 64);
    g.add({.name = name + "multiply", .time = 9}, {x, weights[i]}, {products[i]});
    g.add({.name = name + "activate", .time = 2}, {products[i]}, {active});
    g.add({.name = name + "add", .time = 1}, {x, active}, {sum});
    x = sum;
  }
  auto const loss = g.add({.name = "loss", .bytes = 4, .kept = true});
  auto dx = tensor("gradient", kind::gradient, 64);
  g.add({.name = "loss", .time = 1}, {x}, {loss});
  g.add({.name = "loss backward", .kind = backward, .time = 1}, {x}, {dx});
  gradients.resize(layers);
  for (auto i = layers; i-- > 0;) {
    auto const name = "layer " + std::to_string(i) + " ";
    auto const dp = tensor(name + "gradient of product", kind::gradient, 96), through = tensor(name + "through", kind::gradient, 64);
    auto const sum = tensor(name + "gradient", kind::gradient, 64);
    gradients[i] = tensor(name + "gradient of weight", kind::gradient, 100);
    g.add({.name = name + "activate backward", .kind = backward, .time = 2}, {dx, products[i]}, {dp});
    g.add({.name = name + "weight backward", .kind = backward, .time = 9}, {dp, inputs[i]}, {gradients[i]});
    g.add({.name = name + "multiply backward", .kind = backward, .time = 9}, {dp, weights[i]}, {through});
    g.add({.name = name + "add backward", .kind = backward, .time = 1}, {dx, through}, {sum});
    dx = sum;
  }
  for (std::uint32_t i = 0; i < layers; ++i) {
    auto const name = "layer " + std::to_string(i) + " ";
    auto const changed =
        g.add({.name = name + "new weight", .kind = kind::parameter, .bytes = 100, .kept = true, .shares = weights[i], .in_place = true});
    g.add({.name = name + "update", .kind = update, .time = 3}, {weights[i], gradients[i]}, {changed});
  }
  return g;
}

}  // namespace ballast_test
