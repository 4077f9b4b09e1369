// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief How `stream_steps` draws its steps.

namespace ballast::inline v0_2 {

/// @brief How much randomness is given up for balance, and which way. Shares are in thousandths.
struct stream_options {
  /// Share of a step's capacity that is drawn for it. 0 draws all of it, and gives back a tenth at most where that balances the step.
  std::uint32_t fill = 980;
  /// A sample that costs more than this share of a rank's mean step waits in the pool for its like; 0 = no pool.
  std::uint32_t threshold = 350;
  /// The pool holds this many samples per rank before some must go. `whole_epoch` gathers all outliers first, and spreads everything
  /// else evenly over the steps.
  std::uint32_t pool = 4;
  std::uint32_t oldest = 0;  ///< steps that a sample may wait in the pool before it is taken with its neighbours; 0 = no limit
  /// A sample that costs more than this share of a rank's mean step is split over several ranks (context parallelism); 0 = none is.
  std::uint32_t share = 0;
  std::uint32_t share_overhead = 0;     ///< what splitting adds to a sample's cost
  std::uint64_t most_ranks_shared = 0;  ///< most ranks that share a sample, a power of two; 0 = as many as there are
  friend constexpr bool operator==(stream_options const&, stream_options const&) = default;

  static constexpr std::uint32_t whole_epoch = 0xffffffffU;  ///< for `pool`
};

}  // namespace ballast::inline v0_2
