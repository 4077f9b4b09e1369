// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>

/// @file
/// @brief `kept_memory`: memory that a planner keeps between calls.

namespace ballast::inline v0_2 {

namespace detail {
struct memory_access;
}

/// @brief Memory that a planner keeps between calls, so that later calls allocate nothing as long as the input does not grow. Its contents
/// are private; a copy has a copy of them.
/// @tparam Memory  what the planner keeps
template <class Memory>
class kept_memory {
  friend struct detail::memory_access;
  Memory memory_{};
};

namespace detail {

struct memory_access {
  template <class Memory>
  [[nodiscard]] static constexpr Memory& of(kept_memory<Memory>& w) noexcept {
    return w.memory_;
  }
  template <class Memory>
  [[nodiscard]] static constexpr Memory const& of(kept_memory<Memory> const& w) noexcept {
    return w.memory_;
  }
};

/// What planners see of it.
template <class Memory>
[[nodiscard]] constexpr Memory& memory_of(kept_memory<Memory>& w) noexcept {
  return memory_access::of(w);
}
template <class Memory>
[[nodiscard]] constexpr Memory const& memory_of(kept_memory<Memory> const& w) noexcept {
  return memory_access::of(w);
}

}  // namespace detail
}  // namespace ballast::inline v0_2
