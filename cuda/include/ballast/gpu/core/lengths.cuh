// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief Lengths that are counted on a device: how long they may be, and how one that is not allowed is read.

namespace ballast::inline v0_2::gpu {

/// @brief The longest sample that device lengths may have, in tokens: counts are kept for each length up to the capacity.
inline constexpr std::int64_t longest_on_device = std::int64_t{1} << 24;

/// @brief A length, or 0 for one that is not allowed. @param length tokens @param longest the most @return 0, or a length in 1 … longest
template <integer Length>
[[nodiscard]] BALLAST_HD constexpr std::uint32_t length_or_0(Length length, std::uint32_t longest) {
  return static_cast<std::uint64_t>(length) <= longest ? static_cast<std::uint32_t>(length) : 0;  // a negative one is above
}

/// @brief Throws for a number of tokens above `longest_on_device`. @param tokens the number @param name the argument that holds it
/// @throws invalid_input naming both
inline void require_on_device(std::int64_t tokens, char const* name) {
  require(tokens <= longest_on_device, [&] {
    return std::string(name) + " = " + std::to_string(tokens) + " exceeds " + std::to_string(longest_on_device) +
           ", the most for device lengths";
  });
}

}  // namespace ballast::inline v0_2::gpu
