// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

// The place of every micro-batch in its chain.

namespace ballast::inline v0_2::detail {

struct chain_place {
  std::uint32_t chain = unplaced;  // number of its chain
  std::uint32_t index = 0;         // its place there
  std::uint32_t after = 0;         // how many follow it there
  static constexpr auto unplaced = (std::numeric_limits<std::uint32_t>::max)();
};

// Throws unless the chains hold each of `micro_batches` once; `name` is that of the argument.
template <class = when_called>
inline void place_chains(groups<std::uint32_t> const& chains, std::size_t micro_batches, char const* name,
                         std::vector<chain_place>& places) {
  require(chains.members.size() == micro_batches,
          [&] { return sentence(name, " holds ", chains.members.size(), " micro-batches, not each of ", micro_batches, " once"); });
  require(!chains.offsets.empty() && chains.offsets.front() == 0 && chains.offsets.back() == micro_batches,
          [&] { return sentence(name, ".offsets must rise from 0 to the number of micro-batches, ", micro_batches); });
  require(chains.size() < chain_place::unplaced, [&] { return sentence(name, " has ", chains.size(), " chains, above 2^32 - 2"); });
  places.assign(micro_batches, {});
  for (std::size_t c = 0; c < chains.size(); ++c) {
    auto const first = chains.offsets[c], last = chains.offsets[c + 1];
    require(first <= last && last <= micro_batches,
            [&] { return sentence(name, ".offsets[", c + 1, "] breaks the rise from 0 to the number of micro-batches"); });
    for (auto i = first; i < last; ++i) {
      auto const m = chains.members[static_cast<std::size_t>(i)];
      require(m < micro_batches && places[m].chain == chain_place::unplaced, [&] {
        if (m < micro_batches) return sentence(name, ".members[", i, "] = ", m, " is listed twice");
        return sentence(name, ".members[", i, "] = ", m, " is no micro-batch: there are ", micro_batches);
      });
      places[m] = {static_cast<std::uint32_t>(c), static_cast<std::uint32_t>(i - first), static_cast<std::uint32_t>(last - i - 1)};
    }
  }
}

}  // namespace ballast::inline v0_2::detail
