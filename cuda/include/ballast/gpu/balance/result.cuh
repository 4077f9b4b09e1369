// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief What the twins of balance/ return.

namespace ballast::inline v0_2::gpu {

/// @brief The set of an item that found no set with room.
inline constexpr std::uint32_t no_set = ~std::uint32_t{0};

/// @brief The loads of one plan, in three numbers.
struct load_figures {
  std::int64_t largest = 0;   ///< load of the most expensive set
  std::int64_t smallest = 0;  ///< load of the cheapest one
  std::int64_t total = 0;     ///< of all

  /// @brief Share of all rank time that is spent waiting, as `step_balance::idle`. @param sets of the plan @return 0 … 1
  [[nodiscard]] double idle(std::uint64_t sets) const noexcept {
    return largest == 0 ? 0.0 : 1.0 - static_cast<double>(total) / (static_cast<double>(largest) * static_cast<double>(sets));
  }
  friend constexpr bool operator==(load_figures const&, load_figures const&) = default;
};

/// @brief Equal samples in one set: a stretch of all samples sorted longest first.
struct set_run {
  std::uint64_t first = 0;  ///< position of its first sample in that order
  std::int64_t length = 0;  ///< tokens of each
  std::uint32_t set = 0;    ///< their set
};

}  // namespace ballast::inline v0_2::gpu
