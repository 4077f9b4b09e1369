// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/packing/options.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief What planners of levels are asked: how samples are packed, what shape steps have, and in which order they come.

namespace ballast::inline v0_2 {

/// @brief When room in the packs of a long level is filled with samples of shorter levels.
enum class level_fill : std::uint8_t {
  never,          ///< no sample is in a longer level than it needs
  always,         ///< as published: it saves packs, and makes tokens communicate that need not
  where_it_pays,  ///< only where the packs saved are worth more than the extra communication: see `fill_pays`
};

/// @brief How samples are packed into levels.
struct level_packing_options {
  ballast::oversize oversize = ballast::oversize::reject;  ///< of a sample above the longest level; every policy but `alone`
  level_fill fill = level_fill::never;                     ///< whether long packs are filled up from shorter levels
  std::vector<level_time> times{};                         ///< of each level, for `where_it_pays`
  std::int64_t price_per_token = 0;  ///< what else a token costs that moves to a higher SP degree, in device-picoseconds; not negative
};

/// @brief The shape of the steps. Only `devices` has no good default.
struct level_batching_options {
  std::uint64_t devices = 1;                                 ///< in all; a level has devices / sp ranks, so sp divides them
  std::int64_t tokens_per_step = 0;                          ///< of every level's steps; 0 = the most of any level with one micro-batch
  bool balanced = true;                                      ///< packs of like cost share a step; false = random steps
  ballast::emission emission = ballast::emission::cyclic;    ///< order of a level's steps where they are balanced
  ballast::left_over left_over = ballast::left_over::split;  ///< what happens to an incomplete last step of a level
  std::uint64_t seed = 0;                                    ///< any value; another seed is another order
  std::uint64_t epoch = 0;                                   ///< another epoch is another order of the same steps
};

/// @brief What a plan of an epoch is asked. Only `devices` has no good default.
struct level_plan_options {
  std::uint64_t devices = 1;        ///< in all; a level has devices / sp ranks, so sp divides them
  std::uint64_t micro_batches = 1;  ///< of a rank in the level whose steps hold most tokens; other levels have as many as hold the same
  ballast::oversize oversize = ballast::oversize::reject;    ///< of a sample above the longest level; every policy but `alone`
  level_fill fill = level_fill::where_it_pays;               ///< whether long packs are filled up from shorter levels
  ballast::left_over left_over = ballast::left_over::split;  ///< what happens to an incomplete last step of a level
  curriculum_options order{.warm_up = 500};                  ///< order of the steps; its seed and epoch are not read
  std::uint64_t seed = 0;                                    ///< any value; another seed is another plan
  std::uint64_t epoch = 0;                                   ///< another epoch is another order
};

}  // namespace ballast::inline v0_2
