// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// @brief What every packer returns.

namespace ballast::inline v0_2 {

/// @brief Which argument proves that no fewer packs can do.
enum class packing_bound : std::uint8_t {
  none,            ///< nothing to pack
  volume,          ///< total length over capacity
  cardinality,     ///< the limit of samples per pack
  martello_toth,   ///< L2: samples above half the capacity never share a pack
  dual_feasible,   ///< a dual feasible function (rounding of lengths to multiples of a unit)
  sample_count,    ///< more packs were demanded than there are samples, and no pack is empty
  ramp,            ///< a piecewise linear dual feasible function
  linear_program,  ///< duals of the linear program over all patterns, checked in integers
  mixture,         ///< a weighted sum of a sample's length and of 1, its share of the limit of samples per pack
};

/// @brief The bound's name as users know it. @param bound any of them @return a word for reports
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
  }
  return "none";
}

/// @brief A number of packs that no plan can go below, and the argument that proves it.
struct packs_needed {
  std::int64_t packs = 0;                     ///< the bound
  packing_bound bound = packing_bound::none;  ///< what proves it
  std::int64_t parameter = 0;  ///< martello_toth: the shortest length a that counts; dual_feasible: u; ramp: p (see `packing_lower_bound`)
  std::int64_t unit = 1;  ///< the argument is about lengths and capacity divided by this and rounded down, which only makes packing easier
};

/// @brief A later piece of a sample that was split; the first piece stands under the sample's own index.
struct sample_piece {
  std::uint64_t sample = 0;  ///< index of the sample
  std::int64_t offset = 0;   ///< first token of the piece in the sample
  std::int64_t length = 0;   ///< its tokens
  friend constexpr bool operator==(sample_piece const&, sample_piece const&) = default;
};

/// @brief Samples in packs, with the proof of how good the plan is.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct packing {
  ballast::status status = ballast::status::feasible;  ///< whether `packs` is a plan; not feasible only where a count was demanded
  /// Members are sample indices in `[0, n)`. An index `n + j` is `pieces[j]`.
  groups<Index> packs{};
  /// `value` packs, and the number below which no plan can go. Where no plan was found, `value` is the demanded count.
  certificate count{};
  packing_bound bound = packing_bound::none;  ///< what proves `count.lower_bound`
  std::int64_t tokens = 0;                    ///< sum of the lengths that stand in packs, without padding
  std::vector<Index> set_aside{};             ///< samples longer than the capacity that the policy left out, ascending
  std::vector<sample_piece> pieces{};         ///< second and later pieces of split samples, by sample, then offset
  bool complete = true;                       ///< false where a stop cut the search short

  /// @brief Share of the capacity that holds tokens, from 0 to 1. @param capacity tokens a pack can hold
  [[nodiscard]] double fill(std::int64_t capacity) const noexcept {
    return packs.empty() ? 0.0 : static_cast<double>(tokens) / (static_cast<double>(capacity) * static_cast<double>(packs.size()));
  }
  friend bool operator==(packing const&, packing const&) = default;
};

}  // namespace ballast::inline v0_2
