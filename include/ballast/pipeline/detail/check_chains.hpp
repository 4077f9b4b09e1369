// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief Checks that every micro-batch is in one chain. Private.

namespace ballast::inline v0_2::detail {

template <class = when_called>
inline void check_chains(groups<std::uint32_t> const& chains) {
  auto const& [offsets, members] = chains;
  require(!offsets.empty() && offsets.front() == 0 && std::is_sorted(offsets.begin(), offsets.end()) && offsets.back() == members.size(),
          [] { return std::string("chains.offsets must ascend from 0 to chains.members.size()"); });
  std::vector<bool> seen(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    auto const m = members[i];
    require(m < members.size() && !seen[m],
            [&] { return entry("chains.members", i, m) + " must be below " + std::to_string(members.size()) + ", and no number twice"; });
    seen[m] = true;
  }
}

}  // namespace ballast::inline v0_2::detail
