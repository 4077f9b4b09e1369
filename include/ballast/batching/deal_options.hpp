// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief How packs that were made before are dealt to steps.

namespace ballast::inline v0_2 {

/// @brief Which packs share a step.
enum class dealing : std::uint8_t {
  in_order,  ///< the next ones, pack k of a step to rank k % ranks, micro-batch k / ranks: what a trainer does that neither shuffles nor
             ///< knows costs; the naive plan of every comparison here
  random,    ///< random ones, dealt likewise: the usual plan of trainers that pack. Ranks wait for whichever drew the longest samples
  sorted,    ///< packs of like cost, balanced over the ranks: neighbours of a window sorted by cost share a step
  rows,      ///< in each micro-batch packs of like cost, in each step rows of all costs: for trainers that wait at every micro-batch
};

/// @brief In which order steps of unequal cost are trained.
enum class emission : std::uint8_t {
  cyclic,      ///< eight strata of cost in turn, shuffled inside: neighbouring steps average out
  shuffled,    ///< at random
  decreasing,  ///< most expensive first
};

/// @brief How packs are dealt. All but `how` is of `dealing::sorted` and `dealing::rows` alone.
struct deal_options {
  dealing how = dealing::sorted;  ///< which packs share a step
  std::uint64_t window = 0;       ///< steps of packs that are sorted together, in a random order of all packs; 0 = the whole set
  ballast::emission emission = ballast::emission::cyclic;  ///< order of the steps inside a window; rows always come at random
  bool redeal = false;  ///< whether the samples of each step (row) are dealt to its places anew, where that lowers its cost
};

}  // namespace ballast::inline v0_2
