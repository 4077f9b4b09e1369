// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief `forward_operator`: an operator of a forward pass, with its dependencies.

namespace ballast::inline v0_2 {

/// @brief An operator of a forward pass, which has one output.
struct forward_operator {
  std::int64_t time = 0;                ///< time to run it, not negative
  std::int64_t bytes = 0;               ///< bytes of its output, and also of the output's gradient; not negative
  std::int64_t workspace = 0;           ///< bytes held while it runs, forward or backward; not negative
  std::vector<std::uint32_t> inputs{};  ///< operators whose outputs it reads; each comes before it
  std::vector<std::uint32_t> needs{};   ///< operators whose outputs its backward reads: itself or earlier ones
};

}  // namespace ballast::inline v0_2
