// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>

#include <cstdint>

/// @file
/// @brief Limits on lengths that are counted on a device, and how lengths outside the limits are read.

namespace ballast::inline v0_2::gpu {

/// @brief The largest length of a sample on a device, in tokens: counts are kept for each length up to the capacity.
inline constexpr std::int64_t longest_on_device = std::int64_t{1} << 24;

/// @brief Returns a length, or 0 if it is not allowed. @param length tokens @param longest largest length allowed
/// @return 0, or a length in 1 … longest
template <integer Length>
[[nodiscard]] BALLAST_HD constexpr std::uint32_t length_or_0(Length length, std::uint32_t longest) {
  return static_cast<std::uint64_t>(length) <= longest ? static_cast<std::uint32_t>(length) : 0;  // a negative length becomes larger
}

/// @brief Throws unless a number of tokens is at most `longest_on_device`. @param tokens the number @param name its argument
/// @throws invalid_input naming both
inline void require_on_device(std::int64_t tokens, char const* name) {
  require(tokens <= longest_on_device,
          [&] { return sentence(name, " = ", tokens, " exceeds ", longest_on_device, ", the most for device lengths"); });
}

}  // namespace ballast::inline v0_2::gpu
