// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/level.hpp>
#include <ballast/packing/result.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief The results of `pack_levels` and `steps_by_level`.

namespace ballast::inline v0_2 {

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
