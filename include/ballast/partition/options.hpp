// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>
#include <span>

/// @file
/// @brief Options of every partitioner: the number of stages, and what a stage may hold.

namespace ballast::inline v0_2 {

/// @brief Options of a partitioner. Only `stages` has no default.
///
/// The cost of a stage is the sum of its layers' costs, times `unit_time` of the stage, plus `transfer` at both of its cuts.
struct partition_options {
  std::uint64_t stages = 0;                   ///< number of pipeline stages, 1 … 2^31
  std::uint64_t min_layers = 1;               ///< smallest number of layers of a stage; 0 allows empty stages
  std::uint64_t min_weighted = 0;             ///< smallest number of layers with a cost above 0 in a stage
  std::span<std::int64_t const> unit_time{};  ///< for each stage, the time of one unit of cost, at least 1; empty: 1 everywhere
  std::span<std::int64_t const> size{};       ///< for each layer, what a capacity limits (bytes), not negative; empty: no capacities
  std::span<std::int64_t const> capacity{};   ///< for each stage, the largest total size; given if and only if `size` is, or without layers
  std::span<std::int64_t const> transfer{};   ///< for each inner cut (after layer 0 … n - 2), time of both neighbours for it; empty: 0
  std::int64_t limit = 0;                     ///< largest stage cost that a second objective may use; 0: the least bottleneck
};

}  // namespace ballast::inline v0_2
