// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/version.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/partition/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// @file
/// @brief OmniBal's balance of model and memory: candidate partitions around a balanced one, ranked by variance and by communication, to be
/// measured; and how many layers each stage recomputes.

namespace ballast::inline v0_2::omnibal {

/// @brief Options of the search; `stages` has no default.
struct partition_search {
  std::uint64_t stages = 0;   ///< number of pipeline stages, at least 1
  std::uint64_t radius = 1;   ///< r: number of layers that an inner boundary may move in either direction
  std::uint64_t listed = 50;  ///< number of candidates that each ranking lists
};

/// @brief A candidate partition, with the numbers that the rankings use.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct partition_candidate {
  std::vector<Index> boundaries;  ///< stages + 1 entries, strictly ascending
  std::int64_t bottleneck = 0;    ///< time of the most expensive stage
  std::int64_t volume = 0;        ///< volume across its inner cuts
  wide squares;                   ///< sum of the squared stage times; it orders like the variance, since all partitions have the same mean
};

/// @brief The result of the search.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct partition_candidates {
  staged<Index> anchor;  ///< the balanced partition; if it is infeasible (fewer layers than stages), there are no candidates
  std::vector<partition_candidate<Index>> candidates;  ///< the most balanced ones, then those of least volume that are not among them
  std::uint64_t tried = 0;                             ///< number of valid partitions in the neighbourhood
};

/// @brief Lists partitions to be measured: from all within a radius of the balanced one, the most balanced and those of least volume.
///
/// The published code minimises the bottleneck of the anchor up to a tolerance, and lets boundaries cross. Here the anchor is exact, and
/// every stage has a layer. The published code adds variance and volume without a common unit, so that volume decides; here volume ranks,
/// and variance breaks ties.
///
/// @tparam Index  type of the boundaries
/// @param layers  time of each layer, first to last, not negative
/// @param volume  for each inner cut (after layer 0 … n - 2), the volume across it, not negative
/// @param o       stages, radius and length of the lists
/// @return candidates, and the anchor
/// @throws invalid_input if an option is out of range, the neighbourhood has more than 2^20 partitions, the number of volumes is wrong, or
/// a
///         number is negative
/// @par Complexity
/// O(k (p + log k)) for p stages, radius r and the k = (2 r + 1)^(p - 1) partitions of the neighbourhood.
/// @par Determinism
/// A pure function of its arguments; ties are ordered by boundaries.
/// @par Source
/// Yao et al., OmniBal, arXiv 2407.20761, section on model partition, and its code.
template <index_type Index = std::uint32_t>
[[nodiscard]] partition_candidates<Index> partition_around_anchor(std::span<std::int64_t const> layers,
                                                                  std::span<std::int64_t const> volume, partition_search const& o) {
  partition_candidates<Index> out;
  out.anchor = min_max_partition<Index>(layers, {.stages = o.stages});
  require(volume.size() + 1 == layers.size() || (layers.empty() && volume.empty()),
          [&] { return sentence("volume has ", volume.size(), " entries for ", layers.size(), " layers"); });
  auto left = (std::int64_t{1} << 62) - 1;
  for (std::size_t i = 0; i < volume.size(); ++i) {
    require(volume[i] >= 0 && volume[i] <= left, [&] { return entry("volume", i, volume[i]) + " is negative, or brings the sum to 2^62"; });
    left -= volume[i];
  }
  constexpr auto most = std::uint64_t{1} << 20;
  std::uint64_t cuts = 1;
  for (std::uint64_t s = 1; s < o.stages && o.radius > 0; ++s) {
    require(o.radius < most && cuts <= most / (2 * o.radius + 1),
            [&] { return sentence("radius = ", o.radius, " with stages = ", o.stages, " makes more than 2^20 cuts"); });
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

/// @brief Memory that the published code leaves free: bytes.
inline constexpr std::int64_t default_reserve = std::int64_t{3} << 30;

/// @brief Memory that one layer takes if it is not recomputed.
struct layer_bytes {
  std::int64_t vision = std::int64_t{2} << 30;    ///< bytes of a vision layer; the default is the published guess
  std::int64_t language = std::int64_t{1} << 30;  ///< bytes of a language layer; the default is the published guess

  friend constexpr bool operator==(layer_bytes const&, layer_bytes const&) = default;
};

/// @brief Returns how many layers of a stage the adaptive rule recomputes, counted from the stage's first layer.
///
/// The rule releases language layers before vision layers, regardless of the time that a byte of each saves, and keeps one layer in
/// reserve. `keep_tensors` (recompute/keep_tensors.hpp) makes the best use of the same memory.
///
/// @param vision    number of vision layers of the stage
/// @param language  number of language layers of the stage
/// @param room      memory that is free if all layers are recomputed, minus a reserve (`default_reserve`)
/// @param bytes     bytes of a released layer of each kind, positive
/// @return the number of recomputed layers
/// @throws invalid_input if a count is negative or a size not positive
/// @par Source
/// Yao et al., OmniBal, arXiv 2407.20761, section on adaptive re-computation, and its code.
template <class = when_called>
[[nodiscard]] inline std::int64_t recomputed_layers(std::int64_t vision, std::int64_t language, std::int64_t room,
                                                    layer_bytes const& bytes) {
  require(vision >= 0 && language >= 0,
          [&] { return sentence("vision = ", vision, " and language = ", language, " must not be negative"); });
  require(bytes.vision > 0 && bytes.language > 0,
          [&] { return sentence("bytes = {", bytes.vision, ", ", bytes.language, "} must be positive"); });
  if (room < 0) return vision + language;
  auto const first = room / bytes.language;
  auto const all_language = vision > 0 && first >= language;
  auto const released = all_language ? language + (room - language * bytes.language) / bytes.vision - 1 : first - 1;
  return (std::max)(vision + language - (std::max)(released, std::int64_t{0}), std::int64_t{0});
}

}  // namespace ballast::inline v0_2::omnibal
