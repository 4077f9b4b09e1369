// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief `level`: packs of one capacity and one setting of the trainer.

namespace ballast::inline v0_2 {

/// @brief A set of packs that share a capacity and a setting, so that a trainer switches settings only between steps.
struct level {
  std::int64_t capacity = 0;            ///< tokens of one pack
  std::uint32_t sp = 1;                 ///< sequence-parallel degree: GPUs that share a pack
  std::uint32_t recomputed_layers = 0;  ///< layers whose activations are computed again in the backward pass
  friend constexpr bool operator==(level const&, level const&) = default;
};

}  // namespace ballast::inline v0_2
