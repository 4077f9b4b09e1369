// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/packing/options.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief Options of the planners of levels: how samples are packed, the shape of steps, and the order of steps.

namespace ballast::inline v0_2 {

/// @brief Whether room in the packs of a long level is filled with samples of shorter levels.
enum class level_fill : std::uint8_t {
  never,          ///< every sample is in the shortest level that holds it
  always,         ///< as HBP published: this saves packs, but more tokens communicate
  where_it_pays,  ///< only if the packs saved are worth more than the extra communication: see `fill_pays`
};

/// @brief Options of `plan_levels`, and of `pack_levels` and `steps_by_level`, each of which reads its part. Set `devices`; its default is
/// rarely right.
struct level_options {
  std::uint64_t devices = 1;  ///< number of devices in all; a level has devices / sp ranks, so every sp must divide it
  /// Micro-batches of a rank in the level whose steps hold most tokens; in other levels, as many as hold about the same tokens.
  std::uint64_t micro_batches = 1;
  std::int64_t tokens_per_step = 0;  ///< tokens of one step in every level; 0 = as many as `micro_batches` says
  ballast::oversize oversize =
      ballast::oversize::reject;                ///< what happens to a sample longer than the longest level; any policy except `alone`
  level_fill fill = level_fill::where_it_pays;  ///< whether samples of shorter levels fill room in the packs of longer levels
  std::vector<level_time> times{};   ///< time of each level, for `where_it_pays`; without them, nothing pays. `plan_levels` has its own
  std::int64_t price_per_token = 0;  ///< further cost of a token that moves to a higher SP degree, in device-picoseconds; not negative
  bool balanced = true;              ///< true: packs of similar cost share a step; false: random steps
  ballast::emission emission = ballast::emission::cyclic;    ///< order of a level's steps if `balanced`
  ballast::left_over left_over = ballast::left_over::split;  ///< what happens to an incomplete last step of a level
  curriculum_options order{.warm_up = 500};                  ///< order of the steps; `order.seed` and `order.epoch` are not read
  std::uint64_t seed = 0;                                    ///< any value; another seed gives another plan
  std::uint64_t epoch = 0;                                   ///< another epoch gives another order
};

}  // namespace ballast::inline v0_2
