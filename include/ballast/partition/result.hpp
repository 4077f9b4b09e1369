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
/// @brief Results of partitioners.

namespace ballast::inline v0_2 {

/// @brief The argument that proves a lower bound on the bottleneck, or that no partition exists.
enum class partition_bound : std::uint8_t {
  none,           ///< there is nothing to partition
  mean,           ///< total cost over the number of stages (or over the sum of their speeds)
  largest_layer,  ///< cost of the most expensive layer
  window,         ///< some stage has at least ceil(n / stages) layers: cost of the cheapest window of that many layers
  company,        ///< virtual stages: the device with the most expensive chunk has other chunks too
  probe,          ///< probes ruled out every smaller bottleneck; if infeasible, every partition
  min_layers,     ///< infeasible: there are fewer layers than the stages must have
  min_weighted,   ///< infeasible: there are fewer layers with a cost above 0 than the stages must have
  layer_size,     ///< infeasible: one layer exceeds every capacity
  capacity,       ///< infeasible: the total size exceeds the sum of all capacities
};

/// @brief The name of a bound for reports. @param bound any of them @return a word, such as "mean"
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

/// @brief A chain cut into pipeline stages: stage `s` has layers `boundaries[s]` … `boundaries[s + 1] - 1`.
///
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct staged {
  ballast::status status = ballast::status::infeasible;  ///< whether `boundaries` is a partition
  /// If feasible: the cost of the most expensive stage, and a lower bound for every partition. If infeasible: what is available or allowed
  /// (`value`) and what is needed (`lower_bound`), in the unit of `bound`; with `probe`, the most layers that the stages can hold, and the
  /// number of layers.
  certificate bottleneck;
  partition_bound bound = partition_bound::none;  ///< the argument that proves `bottleneck.lower_bound`
  std::vector<Index> boundaries;                  ///< stages + 1 entries from 0 to the number of layers; empty if infeasible
  double units_per_1 = 1;                         ///< integer units of the bottleneck per unit of the caller's cost: that of `scaled`
  friend bool operator==(staged const&, staged const&) = default;
};

/// @brief A partition with the least sum of squared stage costs under a limit on the bottleneck.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct balanced_stages {
  staged<Index> partition;  ///< the partition; its bottleneck is at most the limit
  wide squares;             ///< sum of the squared stage costs; no partition within the limit has less
};

/// @brief A partition with the least volume across its inner cuts under a limit on the bottleneck.
/// @tparam Index  type of the boundaries
template <index_type Index = std::uint32_t>
struct lean_stages {
  staged<Index> partition;  ///< the partition; its bottleneck is at most the limit
  certificate volume;       ///< volume across the inner cuts; no partition within the limit has less
};

}  // namespace ballast::inline v0_2
