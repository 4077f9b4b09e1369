// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief `level`: a pack capacity together with the trainer settings its packs are trained with.

namespace ballast::inline v0_2 {

/// @brief A level of multi-level packing (HBP): all its packs have one capacity and one setting, so a trainer changes settings only
/// between steps of different levels.
struct level {
  std::int64_t capacity = 0;            ///< largest number of tokens in one pack
  std::uint32_t sp = 1;                 ///< sequence-parallel degree: number of GPUs that share a pack
  std::uint32_t recomputed_layers = 0;  ///< number of layers whose activations are computed again in the backward pass
  friend constexpr bool operator==(level const&, level const&) = default;
};

}  // namespace ballast::inline v0_2
