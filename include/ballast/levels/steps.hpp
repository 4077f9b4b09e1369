// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/levels/detail/shapes.hpp>
#include <ballast/levels/options.hpp>
#include <ballast/levels/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `steps_by_level`: makes steps of the packs of several levels. Each step is of one level, and all steps hold about the same number
/// of tokens.

namespace ballast::inline v0_2 {

/// @brief The squared length as a cost, which is proportional to the work of attention. HBP sorts packs by it.
inline constexpr quadratic_cost attention_only{.linear = 0, .quadratic = 1};

/// @brief Deals the packs of every level to steps.
///
/// A level of SP degree sp has devices / sp ranks, and the number of micro-batches that brings its steps nearest to `tokens_per_step`. So
/// the global batch stays about the same when the level changes from step to step.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   how one length is weighed
/// @param packed   result of `pack_levels`
/// @param options  devices, tokens of a step, and which packs share a step
/// @param cost     cost of a sample by its length, for example `attention_only`; only the ratios within a level matter
/// @return the steps; `dropped` and `repeated` of a level name members of `packed`
/// @throws invalid_input unless every SP degree divides the number of devices; also as `deal_steps`
/// @par Complexity
/// O(samples + packs log packs).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680, algorithms 2 and 7.
template <index_type Index, cost_model Cost>
[[nodiscard]] level_batching<Index> steps_by_level(level_packing<Index> const& packed, level_options const& options, Cost const& cost) {
  level_batching<Index> out;
  out.levels = packed.levels;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < packed.levels.size(); ++i) {
    auto shape = detail::shape_of(packed.levels[i], packed.levels, options);
    shape.seed += i;
    auto const first = packed.first_pack[i], last = packed.first_pack[i + 1];
    auto const from = packed.packs.offsets[first];
    auto const members = std::span(packed.packs.members)
                             .subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(packed.packs.offsets[last] - from));
    groups<Index> packs;  // the packs of this level; members are positions in `members`
    packs.offsets.clear();
    for (auto p = first; p <= last; ++p) packs.offsets.push_back(packed.packs.offsets[p] - from);
    packs.members.resize(members.size());
    std::iota(packs.members.begin(), packs.members.end(), Index{0});
    lengths.clear();
    for (auto const m : members) lengths.push_back(packed.lengths[static_cast<std::size_t>(m)]);
    auto steps = deal_steps(std::move(packs), lengths, shape, cost,
                            {.how = options.balanced ? dealing::sorted : dealing::random, .emission = options.emission});
    renumber(steps, members);
    std::sort(steps.dropped.begin(), steps.dropped.end());
    std::sort(steps.repeated.begin(), steps.repeated.end());
    out.steps.push_back(std::move(steps));
  }
  return out;
}

}  // namespace ballast::inline v0_2
