// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief `memory_event`: what is done, step by step, to run a graph within a memory limit.

namespace ballast::inline v0_2 {

/// @brief A step of a run of a graph. Memory is named by the tensor that owns it (`graph_uses::memory`).
struct memory_event {
  /// @brief What is done.
  enum class action : std::uint8_t {
    run,    ///< the operator runs for the first time and makes its outputs
    rerun,  ///< the operator runs again and makes those of its outputs that are not in memory
    drop,   ///< the memory is freed
    store,  ///< the memory is copied to the host and freed
    load,   ///< the memory is allocated and copied from the host
  };
  action what = action::run;  ///< what is done
  std::uint32_t index = 0;    ///< index of an operator (run, rerun) or of the tensor that owns the memory

  friend constexpr bool operator==(memory_event const&, memory_event const&) = default;
};

}  // namespace ballast::inline v0_2
