// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief Results of the twins of balance/.

namespace ballast::inline v0_2::gpu {

/// @brief The set of an item for which no set had room.
inline constexpr std::uint32_t no_set = ~std::uint32_t{0};

/// @brief The loads of one plan, summarised in three numbers.
struct load_figures {
  std::int64_t largest = 0;   ///< load of the most expensive set
  std::int64_t smallest = 0;  ///< load of the cheapest set
  std::int64_t total = 0;     ///< sum of all loads

  /// @brief Share of all rank time that is spent waiting, as `step_balance::idle`. @param sets number of sets @return the share, in [0, 1]
  [[nodiscard]] double idle(std::uint64_t sets) const noexcept {
    return largest == 0 ? 0.0 : 1.0 - static_cast<double>(total) / (static_cast<double>(largest) * static_cast<double>(sets));
  }
  friend constexpr bool operator==(load_figures const&, load_figures const&) = default;
};

/// @brief Equal samples in one set: a range of all samples sorted longest first.
struct set_run {
  std::uint64_t first = 0;  ///< position of the first sample in that order
  std::int64_t length = 0;  ///< tokens of each sample
  std::uint32_t set = 0;    ///< set of the samples
};

}  // namespace ballast::inline v0_2::gpu
