// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/sequence_parallel.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/lengths.hpp"

// Levels with modelled times, and samples for them.

namespace test_levels {

using namespace ballast;

inline sequence_parallel_setup const cluster_of_16{.model = transformer_preset("llama-3.1-8b"), .devices = 16};

inline std::vector<timed_level> timed(std::vector<level> const& settings) {
  std::vector<timed_level> out;
  for (auto const& at : settings) out.push_back({at, modelled_level_time(cluster_of_16, at)});
  return out;
}
inline std::vector<timed_level> const three = timed({{1024, 1, 0}, {4096, 2, 5}, {16384, 8, 9}});

/// Mostly short ones, a few long ones.
inline std::vector<std::int64_t> mixed_lengths(std::size_t n, splitmix64& draw, std::int64_t longest = 16384) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    auto const size = static_cast<std::int64_t>(uniform_below(1000, draw));
    auto const rare = uniform_below(20, draw);
    out.push_back(rare == 0 ? 1 + longest * (size + 1) / 1000 - 1 : 1 + size);
  }
  return out;
}

/// For short samples and for long ones, on several devices.
inline std::vector<level> const two{{512, 1, 0}, {4096, 8, 0}};

/// Samples of which one in a hundred is for the longer level of `two`.
inline std::vector<std::int64_t> mixed(std::uint64_t seed, std::size_t n) {
  splitmix64 draw(seed);
  std::vector<std::int64_t> lengths(n);
  for (auto& l : lengths) {
    auto const is_long = draw() % 100 == 0;
    l = is_long ? ballast_test::between(513, 4096, draw) : ballast_test::between(1, 200, draw);
  }
  return lengths;
}

}  // namespace test_levels
