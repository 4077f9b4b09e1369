// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief `weighed_samples`: lengths and costs of samples. Every planner of steps takes them in place of lengths and a cost function.

namespace ballast::inline v0_2 {

/// @brief Samples with their costs, made by `weigh`. The sums are those of the lists.
struct weighed_samples {
  std::vector<std::int64_t> tokens;  ///< tokens of each sample, positive
  std::vector<std::int64_t> cost;    ///< cost of each sample, positive
  std::int64_t all_tokens = 0;       ///< sum of `tokens`
  std::int64_t all_cost = 0;         ///< sum of `cost`
  std::int64_t all_squares = 0;      ///< sum of squared `tokens`
  std::int64_t longest = 0;          ///< largest number of tokens of a sample; 0 without samples
  std::int64_t most_expensive = 0;   ///< largest cost of a sample; 0 without samples

  /// @brief Number of samples.
  [[nodiscard]] std::size_t size() const noexcept { return tokens.size(); }
  friend bool operator==(weighed_samples const&, weighed_samples const&) = default;
};

}  // namespace ballast::inline v0_2
