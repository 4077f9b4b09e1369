// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/level.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief Options of the planners of levels: how samples are packed, the shape of steps, and the order of steps. The results of
/// `pack_levels` and `steps_by_level`.

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

/// @brief Samples in packs of several levels, the result of `pack_levels`.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct level_packing {
  std::vector<level> levels;            ///< the given levels, by capacity
  groups<Index> packs;                  ///< packs of all levels, the shortest level first; a member `n + j` is `pieces[j]`, for n samples
  std::vector<std::size_t> first_pack;  ///< level i has the packs first_pack[i] … first_pack[i + 1] - 1; levels.size() + 1 entries
  std::vector<certificate> count;     ///< for each level, before samples of shorter levels were added: number of packs, and its lower bound
  std::vector<std::int64_t> tokens;   ///< tokens in the packs of each level
  std::vector<std::int64_t> lengths;  ///< tokens of each sample as packed, then of each piece
  std::vector<Index> set_aside;       ///< samples longer than the longest level that the policy left out, ascending
  std::vector<sample_piece> pieces;   ///< second and later pieces of split samples, by sample, then offset
  std::uint64_t filled = 0;           ///< number of samples that fill room in a longer level
  std::int64_t filled_tokens = 0;     ///< tokens of these samples

  /// @brief Share of a level's capacity that holds tokens, from 0 to 1. @param i number of the level, below `levels.size()`
  [[nodiscard]] double fill(std::size_t i) const noexcept {
    auto const n = first_pack[i + 1] - first_pack[i];
    return n == 0 ? 0.0 : static_cast<double>(tokens[i]) / (static_cast<double>(levels[i].capacity) * static_cast<double>(n));
  }
};

/// @brief The steps of every level, the result of `steps_by_level`.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct level_batching {
  std::vector<level> levels;  ///< the levels, by capacity
  /// Plan of steps of each level, with its number of ranks and micro-batches; members are those of the `level_packing`.
  std::vector<batching<Index>> steps;

  /// @brief Number of steps in all levels.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t sum = 0;
    for (auto const& s : steps) sum += s.steps();
    return sum;
  }
};

}  // namespace ballast::inline v0_2
