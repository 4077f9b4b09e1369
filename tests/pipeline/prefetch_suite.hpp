// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/pipeline/prefetch_layer.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_test {

using prefetch_layers = std::vector<ballast::prefetch_layer>;

[[nodiscard]] inline prefetch_layers random_prefetch_layers(ballast::splitmix64& generator) {
  prefetch_layers out(static_cast<std::size_t>(ballast::uniform_below(9, generator)));
  auto const time = [&] { return static_cast<std::int64_t>(ballast::uniform_below(4, generator) * ballast::uniform_below(9, generator)); };
  for (auto& l : out) {
    l = {.forward = time(),
         .backward = time(),
         .loaded = ballast::uniform_below(2, generator) == 0,
         .spilled = ballast::uniform_below(2, generator) == 0};
    if (l.loaded) l.load = time();
    l.store = time();
    l.update = time();
    l.give_back = time();
  }
  return out;
}

}  // namespace ballast_test
