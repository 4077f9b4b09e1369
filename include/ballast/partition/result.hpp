// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/wide.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// @brief What every partitioner returns.

namespace ballast::inline v0_2 {

/// @brief Which argument proves that no smaller bottleneck can be, or that there is no plan at all.
enum class partition_bound : std::uint8_t {
  none,           ///< nothing to partition
  mean,           ///< the total cost over the stages (over their speeds)
  largest_layer,  ///< one layer alone
  window,         ///< some stage has ceil(n / stages) layers; the cheapest window of that length
  company,        ///< of virtual stages: the device with the most expensive chunk has other chunks too
  probe,          ///< every cut below was ruled out by a probe; where infeasible: every cut at all
  min_layers,     ///< infeasible: fewer layers than the stages must have
  min_weighted,   ///< infeasible: fewer layers with a cost above 0 than the stages must have
  layer_size,     ///< infeasible: one layer exceeds every capacity
  capacity,       ///< infeasible: the total size is above all capacities together
};

/// @brief The bound's name as users know it. @param bound any of them @return a word for reports
[[nodiscard]] constexpr std::string_view to_string(partition_bound bound) noexcept {
  switch (bound) {
    case partition_bound::none: return "none";
    case partition_bound::mean: return "mean";
    case partition_bound::largest_layer: return "largest-layer";
    case partition_bound::window: return "window";
    case partition_bound::company: return "company";
    case partition_bound::probe: return "probe";
    case partition_bound::min_layers: return "min-layers";
    case partition_bound::min_weighted: return "min-weighted";
    case partition_bound::layer_size: return "layer-size";
    case partition_bound::capacity: return "capacity";
  }
  return "none";
}

/// @brief A pipeline cut: stage `s` runs layers `boundaries[s]` … `boundaries[s + 1] - 1`.
///
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct staged {
  ballast::status status = ballast::status::infeasible;  ///< whether `boundaries` is a plan
  /// The cost of the most expensive stage, and what no plan can go below. Where infeasible: what is there or allowed (`value`) and what is
  /// needed
  /// (`lower_bound`), in the unit of `bound`; for `probe` layers that the stages can hold at most, and all layers.
  certificate bottleneck;
  partition_bound bound = partition_bound::none;  ///< what proves `bottleneck.lower_bound`
  std::vector<Index> boundaries;                  ///< stages + 1 entries from 0 to the number of layers; none without a plan
  double units_per_1 = 1;                         ///< integer units of the bottleneck per unit of the caller's cost: that of `scaled`
  friend bool operator==(staged const&, staged const&) = default;
};

/// @brief A partition whose stages are as balanced as its limit allows.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct balanced_stages {
  staged<Index> partition;  ///< its bottleneck is at most the limit
  wide squares;             ///< sum of the squares of the stage costs; no plan within the limit has less
};

/// @brief A partition that moves as little as its limit allows.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct lean_stages {
  staged<Index> partition;  ///< its bottleneck is at most the limit
  certificate volume;       ///< what crosses the inner cuts; no plan within the limit moves less
};

/// @brief A partition of least weighted sum.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct traded_stages {
  staged<Index> partition;  ///< the lower bound of its bottleneck is the least of any cut
  certificate volume;       ///< what crosses its inner cuts, and the least that crosses those of any cut
  certificate total;        ///< its bottleneck plus its volume; no cut has less
};

/// @brief Partitions in order of merit.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct ranked_stages {
  ballast::status status = ballast::status::infeasible;  ///< whether there is any
  certificate bottleneck;                                ///< of the best one; where infeasible as in `staged`
  partition_bound bound = partition_bound::none;         ///< what proves its lower bound
  std::vector<balanced_stages<Index>> plans;             ///< best first; the lower bound of each is the least bottleneck
  bool every = false;                                    ///< whether there are no others
};

}  // namespace ballast::inline v0_2
