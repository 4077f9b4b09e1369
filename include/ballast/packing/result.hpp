// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// @brief The result of every packer.

namespace ballast::inline v0_2 {

/// @brief The argument that proves a lower bound on the number of packs.
enum class packing_bound : std::uint8_t {
  none,            ///< nothing to pack
  volume,          ///< total length over capacity
  cardinality,     ///< number of samples over the limit of samples per pack
  martello_toth,   ///< L2: two samples above half the capacity never share a pack
  dual_feasible,   ///< a dual feasible function (rounding of lengths to multiples of a unit)
  sample_count,    ///< more packs were demanded than there are samples, though no pack may be empty
  ramp,            ///< a piecewise linear dual feasible function
  linear_program,  ///< dual values of the linear program over all patterns, checked in integers
  mixture,         ///< a weighted sum of two measures: a sample's length, and its count of 1 under the limit of samples per pack
  longest_rows,    ///< padded rows: the longest sample's batch has the same number of rows in every plan (`padded_batches`)
  cutting_stock,   ///< one pack fewer is impossible: packs of some best plan were made, and what is left needs the others by a bound or
                   ///< by the proof of `solve_cutting_stock`
};

/// @brief The name of a bound. @param bound any enumerator @return a word for reports, such as "martello-toth"
[[nodiscard]] constexpr std::string_view to_string(packing_bound bound) noexcept {
  switch (bound) {
    case packing_bound::none: return "none";
    case packing_bound::volume: return "volume";
    case packing_bound::cardinality: return "cardinality";
    case packing_bound::martello_toth: return "martello-toth";
    case packing_bound::dual_feasible: return "dual-feasible";
    case packing_bound::sample_count: return "sample-count";
    case packing_bound::ramp: return "ramp";
    case packing_bound::linear_program: return "linear-program";
    case packing_bound::mixture: return "mixture";
    case packing_bound::longest_rows: return "longest-rows";
    case packing_bound::cutting_stock: return "cutting-stock";
  }
  return "none";
}

/// @brief A lower bound on the number of packs, and the argument that proves it.
struct packs_needed {
  std::int64_t packs = 0;                     ///< the bound
  packing_bound bound = packing_bound::none;  ///< the argument that proves it
  std::int64_t parameter = 0;  ///< martello_toth: the shortest length a that counts; dual_feasible: u; ramp: p (see `packing_lower_bound`)
  std::int64_t unit = 1;       ///< lengths and capacity are first divided by this and rounded down, which only makes packing easier
};

/// @brief The second or a later piece of a split sample; the first piece has the index of the sample itself.
struct sample_piece {
  std::uint64_t sample = 0;  ///< index of the sample
  std::int64_t offset = 0;   ///< position of the piece's first token in the sample
  std::int64_t length = 0;   ///< tokens of the piece
  friend constexpr bool operator==(sample_piece const&, sample_piece const&) = default;
};

/// @brief Samples in packs, with the number of packs beside a proven lower bound.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct packing {
  ballast::status status = ballast::status::feasible;  ///< whether `packs` is a plan; can only fail if a number of packs was demanded
  /// The packs. A member in `[0, n)` is the index of a sample; a member `n + j` is `pieces[j]`.
  groups<Index> packs{};
  /// Number of packs and its lower bound. If no plan was found, `value` is the demanded number of packs.
  certificate count{};
  packing_bound bound = packing_bound::none;  ///< what proves `count.lower_bound`
  std::int64_t tokens = 0;                    ///< sum of the lengths in packs, without padding
  std::vector<Index> set_aside{};             ///< samples longer than the capacity that the policy left out, ascending
  std::vector<sample_piece> pieces{};         ///< second and later pieces of split samples, by sample, then offset
  bool complete = true;                       ///< false if a stop request or the wall clock ended the search early

  /// @brief Share of the capacity that holds tokens, from 0 to 1. @param capacity tokens a pack can hold
  [[nodiscard]] double fill(std::int64_t capacity) const noexcept {
    return packs.empty() ? 0.0 : static_cast<double>(tokens) / (static_cast<double>(capacity) * static_cast<double>(packs.size()));
  }
  friend bool operator==(packing const&, packing const&) = default;
};

}  // namespace ballast::inline v0_2
