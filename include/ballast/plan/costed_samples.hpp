// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <concepts>
#include <cstdint>
#include <span>

/// @file
/// @brief `costed_samples`: what figures, limits and comparisons of a plan need of its samples.

namespace ballast::inline v0_2 {

/// @brief Samples with tokens and cost by index: `weighed_samples`, or the `trained_samples` of a data plan.
template <class S>
concept costed_samples = requires(S const& samples) {
  { samples.tokens } -> std::convertible_to<std::span<std::int64_t const>>;
  { samples.cost } -> std::convertible_to<std::span<std::int64_t const>>;
};

}  // namespace ballast::inline v0_2
