// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/version.hpp>

#include <cstddef>
#include <initializer_list>

/// @file
/// @brief Samples of several measures on a device.

namespace ballast::inline v0_2::gpu {

/// @brief The most measures of a sample on a device.
inline constexpr std::size_t most_measures = 4;

/// @brief A view of samples on the device, as `ballast::sample_measures`: one array of integers for each measure.
/// @tparam Value  an integer
template <integer Value>
struct sample_measures {
  Value const* columns[most_measures] = {};  ///< arrays of `count` integers, on the device
  std::size_t measures = 0;                  ///< number of arrays; more than `most_measures` are refused by what packs them
  std::size_t count = 0;                     ///< number of samples

  /// @brief Views the arrays. @param all `{tiles, tokens}` @param samples number of samples
  sample_measures(std::initializer_list<Value const*> all, std::size_t samples) : measures(all.size()), count(samples) {
    for (std::size_t m = 0; m < measures && m < most_measures; ++m) columns[m] = all.begin()[m];
  }
};

}  // namespace ballast::inline v0_2::gpu
