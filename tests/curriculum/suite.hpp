// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/curriculum/options.hpp>

#include "support/lengths.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast_test {

using sources = std::vector<ballast::curriculum_source>;
using order = ballast::curriculum_order;

inline constexpr order all_orders[] = {order::interleaved, order::random, order::ascending, order::ascending_buckets,
                                       order::shuffled_buckets};

/// Up to five sources with few steps, some with keys, some repeated or thinned, some empty.
struct curriculum_case {
  sources given;
  ballast::curriculum_options options;
};
inline curriculum_case random_case(std::uint64_t seed) {
  ballast::splitmix64 draw(seed);
  curriculum_case c;
  auto const many = draw() % 6;
  for (std::uint64_t s = 0; s < many; ++s) {
    ballast::curriculum_source source;
    source.setting.capacity = between(1, 3, draw) * 16384;
    source.setting.sp = static_cast<std::uint32_t>(between(1, 8, draw));
    source.setting.recomputed_layers = static_cast<std::uint32_t>(between(0, 32, draw));
    source.steps = static_cast<std::uint64_t>(draw() % 4 == 0 ? between(0, 2, draw) : between(1, 60, draw));
    if (draw() % 2 == 0)
      for (std::uint64_t i = 0; i < source.steps; ++i) source.keys.push_back(between(-20, 20, draw));
    if (draw() % 2 == 0 && source.steps > 0)
      for (auto left = draw() % 4; left > 0; --left) source.per_epoch.push_back(static_cast<std::uint64_t>(between(0, 150, draw)));
    c.given.push_back(std::move(source));
  }
  c.options.order = all_orders[draw() % 5];
  c.options.warm_up = draw() % 40;
  c.options.warm_up_share = static_cast<std::uint32_t>(between(0, 1000, draw));
  c.options.buckets = 1 + draw() % 20;
  c.options.seed = draw();
  c.options.epoch = draw() % 5;
  return c;
}

}  // namespace ballast_test
