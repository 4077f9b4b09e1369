// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/options.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief What a packer of samples with several measures is asked (vector bin packing).

namespace ballast::inline v0_2 {

/// @brief The request to a packer of several measures. Only `capacity` has no default.
struct vector_packing_options {
  std::vector<std::int64_t> capacity{};   ///< largest total of each measure in one pack: one entry per measure, each at least 1
  std::uint64_t max_samples = 0;          ///< most samples in one pack; 0 = no limit
  std::uint64_t pack_count_multiple = 1;  ///< the number of packs is a multiple of this (ranks * micro-batches)
  /// What happens to a sample that exceeds a capacity: `reject`, `set_aside` or `own`. One of several measures cannot be cut.
  ballast::oversize oversize = ballast::oversize::reject;
  std::uint64_t seed = 0;  ///< of the packers that draw
};

}  // namespace ballast::inline v0_2
