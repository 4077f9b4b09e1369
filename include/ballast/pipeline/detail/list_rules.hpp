// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/pipeline/detail/chain_places.hpp>
#include <ballast/pipeline/detail/work_table.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

// What limits each stage of a list schedule, from checked arguments.

namespace ballast::inline v0_2::detail {

// Returns the number of stages.
template <class = when_called>
[[nodiscard]] inline std::size_t check_list(groups<std::uint32_t> const& chains, std::uint64_t stages,
                                            std::span<std::int64_t const> capacity, std::span<std::int64_t const> warm_up,
                                            std::vector<chain_place>& places) {
  constexpr auto most = (std::numeric_limits<std::uint32_t>::max)();
  require(stages > 0 && stages <= most, [&] { return sentence("stages = ", stages, " must be in 1 ... 2^32 - 1"); });
  auto const each = [&](char const* name, std::span<std::int64_t const> of) {
    require(of.empty() || of.size() == stages,
            [&] { return sentence(name, " has ", of.size(), " entries, which is neither none nor one for each of ", stages, " stages"); });
    for (std::size_t s = 0; s < of.size(); ++s) require(of[s] >= 0, [&] { return entry(name, s, of[s]) + " must not be negative"; });
  };
  each("capacity", capacity);
  each("warm_up", warm_up);
  require(!chains.members.empty() && chains.members.size() <= most,
          [&] { return sentence("chains holds ", chains.members.size(), " micro-batches: there must be 1 ... 2^32 - 1"); });
  place_chains(chains, chains.members.size(), "chains", places);
  return static_cast<std::size_t>(stages);
}

struct list_rules {
  struct limits {
    std::int64_t capacity = 0;            // most bytes
    std::int64_t warm_up = 0;             // bytes up to which a forward is preferred
    std::int64_t largest_kept = 0;        // of a micro-batch
    std::int64_t largest_recomputed = 0;  // of a micro-batch
    std::int64_t needed = 0;              // bytes that any order holds at some time
    std::uint32_t neediest = 0;           // chain that needs them
  };
  std::vector<limits> stages;

  // Before a chain's last backward on a stage all its forwards have been done there, and no backward. Its backwards descend. So during the
  // backward of one chunk, the stage holds what is kept of all chunks up to it, and what is recomputed of it.
  template <class = when_called>
  void load(groups<std::uint32_t> const& chains, work_table const& table, std::span<std::int64_t const> capacity,
            std::span<std::int64_t const> warm_up) {
    constexpr auto no_limit = (std::numeric_limits<std::int64_t>::max)();
    auto const count = table.virtual_stages;
    stages.assign(count, {});
    for (std::size_t s = 0; s < count; ++s) {
      auto& on = stages[s];
      for (std::size_t c = 0; c < chains.size(); ++c) {
        std::int64_t kept = 0;
        for (auto const m : chains[c]) {
          auto const& w = table.works[m * count + s];
          kept += w.kept;
          on.largest_kept = (std::max)(on.largest_kept, w.kept);
          on.largest_recomputed = (std::max)(on.largest_recomputed, w.recomputed);
          if (auto const held = kept + w.recomputed; held > on.needed) {
            on.needed = held;
            on.neediest = static_cast<std::uint32_t>(c);
          }
        }
      }
      auto const depth = static_cast<std::int64_t>(count - s);
      on.capacity = capacity.empty() ? no_limit : capacity[s];
      on.warm_up = !warm_up.empty() ? warm_up[s] : on.largest_kept > no_limit / depth ? no_limit : depth * on.largest_kept;
    }
  }
};

}  // namespace ballast::inline v0_2::detail
