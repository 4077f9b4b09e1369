// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>
#include <span>

/// @file
/// @brief What every partitioner is asked: how many stages, and what a stage may be.

namespace ballast::inline v0_2 {

/// @brief The request to a partitioner. Only `stages` has no default.
///
/// The cost of a stage is the sum of its layers' costs, times `unit_time` of the stage, plus `transfer` at both of its cuts.
struct partition_options {
  std::uint64_t stages = 0;                   ///< stages of the pipeline, in order, 1 … 2^31
  std::uint64_t min_layers = 1;               ///< fewest layers of a stage; 0 allows empty stages
  std::uint64_t min_weighted = 0;             ///< fewest layers with a cost above 0 in a stage
  std::span<std::int64_t const> unit_time{};  ///< by stage: time of one unit of cost on its device, at least 1; empty: 1 everywhere
  std::span<std::int64_t const> size{};       ///< by layer: what a capacity limits (bytes), not negative; empty: no capacities
  std::span<std::int64_t const> capacity{};   ///< by stage: largest total size; given if and only if `size` is, or without layers
  std::span<std::int64_t const> transfer{};   ///< by inner cut (after layer 0 … n - 2): time that both neighbours spend on it; empty: 0
  std::int64_t limit = 0;                     ///< largest stage cost that a second objective may use; 0: the least possible
};

}  // namespace ballast::inline v0_2
