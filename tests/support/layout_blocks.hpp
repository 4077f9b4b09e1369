// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/link_time.hpp>
#include <ballast/weights/layout_model.hpp>

#include <cstdint>

namespace ballast_test {

/// A layer as GPT-2's without norms: six matrices, 12 h^2 parameters.
[[nodiscard]] inline ballast::layout_block plain_layer(std::int64_t h, std::int64_t heads) {
  using ballast::layout_rule;
  auto const matrix = [](char const* name, std::int64_t in, std::int64_t out) {
    return ballast::layout_weight{.name = name, .in = in, .out = out};
  };
  return {
      {.name = "qkv",
       .weights = {matrix("q", h, h), matrix("k", h, h), matrix("v", h, h)},
       .width = h,
       .makes = 3 * h,
       .kept = h,
       .opens = true},
      {.name = "attention", .rule = layout_rule::sequences, .width = 3 * h, .makes = h, .kept = 3 * h, .units = heads},
      {.name = "proj", .weights = {matrix("proj", h, h)}, .width = h, .makes = h, .kept = h, .closes = true},
      {.name = "fc1", .weights = {matrix("fc1", h, 4 * h)}, .width = h, .makes = 4 * h, .kept = h, .opens = true},
      {.name = "fc2", .weights = {matrix("fc2", 4 * h, h)}, .width = 4 * h, .makes = h, .kept = 8 * h, .closes = true},
  };
}

/// A number of devices of 10^15 FLOP/s in one node, with links of 10^11 bytes/s and without latency.
[[nodiscard]] inline ballast::layout_setting plain_devices(std::int64_t devices, std::int64_t tokens) {
  return {
      .devices = devices,
      .tokens = tokens,
      .links = {.per_node = devices, .inside = ballast::link_line{0, 100'000'000'000}, .between = ballast::link_line{0, 100'000'000'000}}};
}

}  // namespace ballast_test
