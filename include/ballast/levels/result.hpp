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
/// @brief Samples in packs of several levels, and the steps of those packs.

namespace ballast::inline v0_2 {

/// @brief Samples in packs of several levels.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct level_packing {
  std::vector<level> levels;            ///< as asked, by capacity
  groups<Index> packs;                  ///< of all levels, the shortest level first; a member `n + j` is `pieces[j]`
  std::vector<std::size_t> first_pack;  ///< level i has the packs first_pack[i] … first_pack[i + 1] - 1; one entry more than levels
  std::vector<certificate> count;       ///< of each level before it was filled: its packs, and the least number for its samples
  std::vector<std::int64_t> tokens;     ///< in the packs of each level
  std::vector<std::int64_t> lengths;    ///< tokens of each member as packed: samples, then pieces
  std::vector<Index> set_aside;         ///< samples above the longest level that the policy left out, ascending
  std::vector<sample_piece> pieces;     ///< second and later pieces of split samples, by sample, then offset
  std::uint64_t filled = 0;             ///< members in a longer level than they need
  std::int64_t filled_tokens = 0;       ///< their tokens

  /// @brief Share of a level's capacity that holds tokens, from 0 to 1. @param i level, below `levels.size()`
  [[nodiscard]] double fill(std::size_t i) const noexcept {
    auto const n = first_pack[i + 1] - first_pack[i];
    return n == 0 ? 0.0 : static_cast<double>(tokens[i]) / (static_cast<double>(levels[i].capacity) * static_cast<double>(n));
  }
};

/// @brief The steps of every level.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct level_batching {
  std::vector<level> levels;           ///< by capacity
  std::vector<batching<Index>> steps;  ///< of each level, with its own ranks and micro-batches; members are those of the level packing

  /// @brief Number of steps of all levels.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t sum = 0;
    for (auto const& s : steps) sum += s.steps();
    return sum;
  }
};

}  // namespace ballast::inline v0_2
