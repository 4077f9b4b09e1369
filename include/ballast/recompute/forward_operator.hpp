// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief What a forward pass is made of, with its dependencies.

namespace ballast::inline v0_2 {

/// @brief An operator of the forward pass, with its one output.
struct forward_operator {
  std::int64_t time = 0;                ///< to run it, not negative
  std::int64_t bytes = 0;               ///< of its output and of the output's gradient, not negative
  std::int64_t workspace = 0;           ///< held while it runs, forward or backward, not negative
  std::vector<std::uint32_t> inputs{};  ///< operators whose outputs it reads; each comes before it
  std::vector<std::uint32_t> needs{};   ///< outputs that its backward reads: its own or earlier ones
};

}  // namespace ballast::inline v0_2
