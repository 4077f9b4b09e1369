// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/packing/vector/detail/class_builder.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief `classify`: sorts samples of several measures into classes of samples that agree in every measure.

namespace ballast::inline v0_2 {

/// @brief Sorts samples into classes of samples that agree in every measure.
///
/// @tparam Index  type of the sample indices
/// @param samples  any number of samples
/// @return the classes, ascending, and the samples of each class
/// @throws invalid_input for a negative measure, a sample whose measures are all 0, or a sum of 2^63 or more
/// @par Complexity
/// O(n) if the product of the measures' ranges is at most 8 n, otherwise O(n log n).
template <index_type Index = std::uint32_t>
[[nodiscard]] classified_samples<Index> classify(sample_measures const& samples) {
  require_valid(samples);
  return detail::classify<Index>(samples, false, [](std::size_t) { return true; });
}

}  // namespace ballast::inline v0_2
