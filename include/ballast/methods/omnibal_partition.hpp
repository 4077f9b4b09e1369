// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/partition/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// @file
/// @brief OmniBal's balance of the model: cuts around a balanced one, ranked by spread and by communication, to be measured.

namespace ballast::inline v0_2::omnibal {

/// @brief The settings of the search; `stages` has no default.
struct partition_search {
  std::uint64_t stages = 0;   ///< stages of the pipeline, at least 1
  std::uint64_t radius = 1;   ///< r: layers that an inner boundary moves either way
  std::uint64_t listed = 50;  ///< how many each ranking lists
};

/// @brief A cut and what the rankings see of it.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct partition_candidate {
  std::vector<Index> boundaries;  ///< stages + 1 entries, rising
  std::int64_t bottleneck = 0;    ///< time of the most expensive stage
  std::int64_t volume = 0;        ///< what crosses its inner cuts
  wide squares;                   ///< sum of the squared stage times: in the order of their variance, since all cuts have one sum
};

/// @brief What the search lists.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct partition_candidates {
  staged<Index> anchor;  ///< the balanced cut; infeasible with fewer layers than stages, and nothing is listed
  std::vector<partition_candidate<Index>> candidates;  ///< the most balanced ones, then those of least volume that are not among them
  std::uint64_t tried = 0;                             ///< cuts of the neighbourhood whose boundaries rise
};

/// @brief Lists cuts to be measured: all whose inner boundaries are within a radius of a balanced cut's, best by spread, then by volume.
///
/// The published code minimises the bottleneck of the anchor to a tolerance, and lets boundaries cross; here the anchor is exact and every
/// stage has a layer. It adds variance to volume without a common unit, so that volume decides; here volume ranks and variance breaks ties.
/// `trade_off_partition` finds the best sum of bottleneck and volume of all cuts, and `k_best_partitions` the most balanced ones.
///
/// @tparam Index  type of the boundaries
/// @param layers  time of each layer, first to last, not negative
/// @param volume  by inner cut (after layer 0 … n - 2): what crosses it, not negative
/// @param o       stages, radius and length of the lists
/// @return candidates, with the anchor
/// @throws invalid_input for a bad option, more than 2^20 cuts in the neighbourhood, a wrong number of volumes, or a negative number
/// @par Complexity
/// O(k (p + log k)) for p stages, radius r and the k = (2 r + 1)^(p - 1) cuts of the neighbourhood.
/// @par Determinism
/// A pure function of its arguments; what ties is ordered by boundaries.
/// @par Source
/// Yao et al., OmniBal, arXiv 2407.20761, section on model partition, and its code.
template <index_type Index = std::uint32_t>
[[nodiscard]] partition_candidates<Index> partition_around_anchor(std::span<std::int64_t const> layers,
                                                                  std::span<std::int64_t const> volume, partition_search const& o) {
  partition_candidates<Index> out;
  out.anchor = min_max_partition<Index>(layers, {.stages = o.stages});
  require(volume.size() + 1 == layers.size() || (layers.empty() && volume.empty()),
          [&] { return "volume has " + std::to_string(volume.size()) + " entries for " + std::to_string(layers.size()) + " layers"; });
  auto left = (std::int64_t{1} << 62) - 1;
  for (std::size_t i = 0; i < volume.size(); ++i) {
    require(volume[i] >= 0 && volume[i] <= left, [&] { return entry("volume", i, volume[i]) + " is negative, or brings the sum to 2^62"; });
    left -= volume[i];
  }
  constexpr auto most = std::uint64_t{1} << 20;
  std::uint64_t cuts = 1;
  for (std::uint64_t s = 1; s < o.stages && o.radius > 0; ++s) {
    require(o.radius < most && cuts <= most / (2 * o.radius + 1), [&] {
      return "radius = " + std::to_string(o.radius) + " with stages = " + std::to_string(o.stages) + " makes more than 2^20 cuts";
    });
    cuts *= 2 * o.radius + 1;
  }
  if (out.anchor.status != status::feasible) return out;

  auto const n = layers.size();
  std::vector<std::int64_t> before(n + 1);
  for (std::size_t i = 0; i < n; ++i) before[i + 1] = before[i] + layers[i];
  std::vector<partition_candidate<Index>> all;
  for (std::uint64_t number = 0; number < cuts; ++number) {  // its digits in base 2 r + 1 are the moves
    partition_candidate<Index> c{out.anchor.boundaries, 0, 0, {}};
    auto digits = number;
    auto rises = true;
    for (auto s = static_cast<std::size_t>(o.stages) - 1; s > 0; --s, digits /= 2 * o.radius + 1) {
      auto const up = std::uint64_t{c.boundaries[s]} + digits % (2 * o.radius + 1);
      auto const last = s + 1 == o.stages ? n : std::size_t{c.boundaries[s + 1]};
      rises = rises && up > o.radius && up - o.radius < last;
      if (rises) c.boundaries[s] = static_cast<Index>(up - o.radius);
    }
    if (!rises) continue;
    for (std::size_t s = 0; s < o.stages; ++s) {
      auto const time = before[c.boundaries[s + 1]] - before[c.boundaries[s]];
      c.bottleneck = (std::max)(c.bottleneck, time);
      c.squares = c.squares + multiply(static_cast<std::uint64_t>(time), static_cast<std::uint64_t>(time));
      if (s > 0) c.volume += volume[c.boundaries[s] - 1];
    }
    all.push_back(std::move(c));
  }
  out.tried = all.size();

  auto const listed = static_cast<std::size_t>((std::min)(o.listed, std::uint64_t{all.size()}));
  auto const by_spread = [](auto const& a, auto const& b) {
    return std::tie(a.squares, a.volume, a.boundaries) < std::tie(b.squares, b.volume, b.boundaries);
  };
  auto const by_volume = [](auto const& a, auto const& b) {
    return std::tie(a.volume, a.squares, a.boundaries) < std::tie(b.volume, b.squares, b.boundaries);
  };
  std::sort(all.begin(), all.end(), by_volume);
  std::vector<partition_candidate<Index>> const lean(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(listed));
  std::sort(all.begin(), all.end(), by_spread);
  all.resize(listed);
  out.candidates = std::move(all);
  for (auto const& c : lean)
    if (!std::binary_search(out.candidates.begin(), out.candidates.begin() + static_cast<std::ptrdiff_t>(listed), c, by_spread))
      out.candidates.push_back(c);
  return out;
}

}  // namespace ballast::inline v0_2::omnibal
