// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/pipeline/detail/chain_places.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// @file
/// @brief `chunked_order`: the state-aware 1F1B of ChunkFlow.

namespace ballast::inline v0_2 {

/// @brief The order of state-aware 1F1B: 1F1B of micro-batches that depend on each other, in strict turns.
///
/// Chains of one micro-batch come first, then the longer ones, both as given. Every stage has the same order of forwards, and the same
/// order of backwards, in which each chain descends. As in 1F1B, stage s does `stages` - s - 1 forwards and then a forward and a backward
/// in turn; where a backward needs more forwards of its chain than that, they are done before it, and the turns resume when the backwards
/// have caught up.
///
/// No stage waits for ever. The number of forwards that are done before the i-th backward never grows from stage to stage. So if all stages
/// have done i - 1 backwards, all can do the forwards before the i-th, from the first stage to the last, and then the i-th backward, from
/// the last to the first.
///
/// Which activations are kept is a matter of the works, not of the order: a chunk that is not retained has its forward's time in
/// `stage_work::recompute`.
///
/// @param stages  number of stages, at least 1
/// @param chains  consecutive chunks of one sample, in the order of its tokens; each micro-batch is in one chain
/// @return the order, for `simulate_order`
/// @throws invalid_input if there is no stage or micro-batch, or the chains do not hold every micro-batch once
/// @par Complexity
/// O(stages x micro-batches).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Yuan et al., "Efficient Long Context Fine-tuning with Chunk Flow", ICML 2025.
template <class = when_called>
[[nodiscard]] inline pipeline_order chunked_order(std::uint64_t stages, groups<std::uint32_t> const& chains) {
  constexpr auto most = (std::numeric_limits<std::uint32_t>::max)();
  auto const count = chains.members.size();
  require(stages > 0 && stages <= most, [&] { return sentence("stages = ", stages, " must be in 1 ... 2^32 - 1"); });
  require(count > 0 && count <= most, [&] { return sentence("chains holds ", count, " micro-batches: there must be 1 ... 2^32 - 1"); });
  std::vector<detail::chain_place> places;
  detail::place_chains(chains, count, "chains", places);

  std::vector<std::uint32_t> forwards, backwards;
  std::vector<std::size_t> before;            // forwards that must be done before each backward
  for (int longer = 0; longer < 2; ++longer)  // standalone chunks, then dependent ones
    for (auto const chain : chains) {
      if (chain.empty() || (chain.size() > 1) != (longer == 1)) continue;
      forwards.insert(forwards.end(), chain.begin(), chain.end());
      backwards.insert(backwards.end(), chain.rbegin(), chain.rend());
      before.insert(before.end(), chain.size(), forwards.size());
    }

  pipeline_order order;
  order.micro_batches = count;
  order.chains = chains;
  order.tasks.reserve(2 * static_cast<std::size_t>(stages) * count);
  for (std::uint32_t s = 0; s < stages; ++s) {
    order.stage_of.push_back(s);
    std::size_t done = 0;
    for (std::size_t i = 0; i < count; ++i) {
      auto const in_turn = i + static_cast<std::size_t>(stages) - s;
      auto const until = (std::max)(before[i], (std::min)(in_turn, count));
      while (done < until) order.tasks.push_back({forwards[done++], s, pipeline_pass::forward});
      order.tasks.push_back({backwards[i], s, pipeline_pass::backward});
    }
    order.offsets.push_back(order.tasks.size());
  }
  return order;
}

}  // namespace ballast::inline v0_2
