// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/methods/omnibal_recompute.hpp>
#include <ballast/recompute/keep_tensors.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace test_methods_omnibal_recompute {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;

TEST_CASE("omnibal_recompute: two probes give back what a layer holds") {
  omnibal::layer_bytes const truth{.vision = 1'800'000'000, .language = 950'000'000};
  auto const probe = [&](std::int64_t v, std::int64_t l) { return omnibal::memory_probe{v, l, v * truth.vision + l * truth.language}; };
  CHECK(omnibal::solve_probes({probe(3, 1), probe(0, 4)}) == truth);
  CHECK(omnibal::solve_probes({probe(0, 4), probe(3, 1)}) == truth);
  CHECK(omnibal::solve_probes({probe(2, 0), probe(0, 0)}) == omnibal::layer_bytes{.vision = truth.vision});      // a kind left open
  CHECK(omnibal::solve_probes({probe(0, 5), probe(0, 2)}) == omnibal::layer_bytes{.language = truth.language});  // singular
  CHECK(omnibal::solve_probes({probe(2, 2), probe(1, 1)}) == omnibal::layer_bytes{});
  CHECK(refusal([&] { return omnibal::solve_probes({omnibal::memory_probe{-1, 0, 0}, probe(1, 0)}); }) ==
        "probes[0].vision = -1 must be in [0, 32768]");
}

TEST_CASE("omnibal_recompute: stages of one and of both kinds") {
  omnibal::layer_bytes const bytes{.vision = 20, .language = 10};
  CHECK(omnibal::recomputed_layers(12, 0, 95, bytes) == 12 - 3);      // 95 / 20 = 4, one in reserve
  CHECK(omnibal::recomputed_layers(0, 12, 95, bytes) == 12 - 8);      // 95 / 10 = 9
  CHECK(omnibal::recomputed_layers(5, 12, 95, bytes) == 17 - 8);      // language first
  CHECK(omnibal::recomputed_layers(5, 4, 95, bytes) == 9 - (4 + 1));  // 55 left: two vision layers, one in reserve
  CHECK(omnibal::recomputed_layers(5, 4, 9, bytes) == 9);
  CHECK(omnibal::recomputed_layers(5, 4, -1, bytes) == 9);
  CHECK(omnibal::recomputed_layers(5, 4, 1000, bytes) == 0);
  CHECK(refusal([&] { return omnibal::recomputed_layers(1, 1, 1, {.vision = 0}); }) == "bytes = {0, 1073741824} must be positive");
}

TEST_CASE("omnibal_recompute: within the memory, and never better than the exact selection") {
  int behind = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    splitmix64 draw(seed);
    auto const vision = between(0, 20, draw), language = between(1, 20, draw);
    omnibal::layer_bytes const bytes{between(5, 30, draw), between(5, 30, draw)};
    auto const vision_time = between(1, 30, draw), language_time = between(1, 30, draw), room = between(0, 400, draw);
    auto const recomputed = omnibal::recomputed_layers(vision, language, room, bytes);
    auto const kept_vision = vision - (recomputed < vision ? recomputed : vision);
    auto const kept_language = language - (recomputed > vision ? recomputed - vision : 0);
    CAPTURE(seed, vision, language, room, recomputed);
    CHECK(kept_vision * bytes.vision + kept_language * bytes.language <= room);
    std::vector<saved_tensor> kinds{{.bytes = bytes.language, .time = language_time, .count = static_cast<std::uint64_t>(language)}};
    if (vision > 0) kinds.push_back({.bytes = bytes.vision, .time = vision_time, .count = static_cast<std::uint64_t>(vision)});
    auto const best = keep_tensors(kinds, room);
    auto const time = (vision - kept_vision) * vision_time + (language - kept_language) * language_time;
    CHECK(time >= best.time.value);
    behind += time > best.time.value ? 1 : 0;
  }
  CHECK(behind > 250);
}

}  // namespace test_methods_omnibal_recompute
