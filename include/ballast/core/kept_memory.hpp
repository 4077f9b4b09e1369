// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>

/// @file
/// @brief `kept_memory`: memory that a planner keeps between calls.

namespace ballast::inline v0_2 {

namespace detail {
template <class Kept>
[[nodiscard]] constexpr auto& memory_of(Kept& w) noexcept;
}

/// @brief Memory that a planner keeps between calls, so that later calls allocate nothing as long as the input does not grow. Its contents
/// are private; a copy has a copy of them.
/// @tparam Memory  what the planner keeps
template <class Memory>
class kept_memory {
  template <class Kept>
  friend constexpr auto& detail::memory_of(Kept& w) noexcept;
  Memory memory_{};
};

namespace detail {
/// What planners see of it.
template <class Kept>
[[nodiscard]] constexpr auto& memory_of(Kept& w) noexcept {
  return w.memory_;
}
}  // namespace detail

}  // namespace ballast::inline v0_2
