// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

/// @file
/// @brief OmniBal's units for sequence parallelism: packs of almost equal length that the devices of a group train together.

namespace ballast::inline v0_2::omnibal {

/// @brief Packs in units, and how equal the packs of a unit are.
/// @tparam Index  type of the pack numbers
template <index_type Index = std::uint32_t>
struct sequence_units {
  groups<Index> units;           ///< numbers of the packs of each unit, as many as the degree
  std::vector<Index> repeated;   ///< packs that are in a second unit, so that the last unit is complete
  std::vector<double> distance;  ///< mean rank distance of the packs of a unit: of tiles, and of tokens
  double padding = 0;            ///< padding tokens over all tokens, if the packs of a unit are padded to the longest
};

/// @brief Makes units for sequence parallelism: packs are sorted by tokens, and each `degree` neighbours are one unit.
///
/// The first packs are repeated until the last unit is complete. In a unit, all packs are padded to the longest, and a pack without tiles
/// sees one dummy tile.
///
/// @tparam Index  type of the sample indices and pack numbers
/// @param packs    sample indices of each pack
/// @param samples  two measures of each sample, tiles and tokens
/// @param degree   sequence-parallel degree, at least 1
/// @return units and their figures; no unit without packs
/// @throws invalid_input if `degree` is 0, there are not two measures, an index is out of range, a measure is negative or a sum reaches
/// 2^63
/// @par Complexity
/// O(samples + packs log packs).
/// @par Determinism
/// A pure function of its arguments; packs of equal length keep their order.
/// @par Source
/// `get_sp_groups` in the code of Yao et al., OmniBal, arXiv 2407.20761.
template <index_type Index = std::uint32_t>
[[nodiscard]] sequence_units<Index> sequence_units_of(groups<Index> const& packs, sample_measures const& samples, std::uint64_t degree) {
  require(degree > 0, [] { return "degree = 0 must be positive"; });
  require(samples.measures() == 2, [&] { return sentence(samples.measures(), " measures, but units are made for 2"); });
  std::array<std::vector<std::int64_t>, 2> of_pack;
  for (std::size_t m = 0; m < 2; ++m)
    for (auto const pack : packs) {
      std::int64_t sum = 0;
      for (auto const i : pack) {
        require(i < samples.size(), [&] { return sentence("a pack holds ", i, ", which is not the index of a sample"); });
        add_checked(sum, samples.column(m)[static_cast<std::size_t>(i)], "measure", static_cast<std::size_t>(i));
      }
      of_pack[m].push_back(m == 0 ? (std::max)(sum, std::int64_t{1}) : sum);
    }
  sequence_units<Index> out;
  std::vector<Index> order(packs.size());
  std::iota(order.begin(), order.end(), Index{0});
  for (Index p = 0; !packs.empty() && order.size() % degree != 0; p = static_cast<Index>((p + 1) % packs.size())) {
    order.push_back(p);
    out.repeated.push_back(p);
  }
  std::sort(order.begin(), order.end(),
            [&](Index a, Index b) { return of_pack[1][a] != of_pack[1][b] ? of_pack[1][a] < of_pack[1][b] : a < b; });
  for (auto at = order.begin(); at != order.end(); at += static_cast<std::ptrdiff_t>(degree))
    out.units.push_back({at, at + static_cast<std::ptrdiff_t>(degree)});
  for (auto const& loads : of_pack) {
    std::vector<std::int64_t> in_order;
    for (auto const p : order) in_order.push_back(loads[p]);
    out.distance.push_back(balance_of_steps(in_order, static_cast<std::size_t>(degree)).mean_ratio);
  }
  out.padding = padding_ratio(out.units, std::span<std::int64_t const>(of_pack[1])).total_ratio;
  return out;
}

}  // namespace ballast::inline v0_2::omnibal
