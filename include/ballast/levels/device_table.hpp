// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/levels/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

/// @file
/// @brief `table_of`: writes a plan in levels as one table by device.

namespace ballast::inline v0_2 {

/// @brief A plan in levels as one table by device, for a trainer.
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct device_table {
  groups<Index> packs;               ///< sample indices of each pack; packs of all levels, the shortest level first
  std::vector<Index> table;          ///< pack number or `none`, by step in training order, then device, then micro-batch
  std::vector<std::uint32_t> level;  ///< number of each step's level
  std::uint64_t devices = 1;         ///< number of devices; devices that share a pack are neighbours: device d belongs to rank d / sp
  std::uint64_t micro_batches = 1;   ///< the largest number of any level; levels with fewer have `none` in the other places
  static constexpr Index none = batching<Index>::none;  ///< marks an empty place; -1 if read as signed
};

/// @brief Hash of a table by device: FNV-1a over its shape, packs, places and levels.
///
/// @tparam Index  index type of the table
/// @param plan  any table
/// @return 64 bits; equal tables have equal hashes, whatever their index type
/// @par Complexity
/// O(samples + places).
template <index_type Index>
[[nodiscard]] constexpr std::uint64_t hash(device_table<Index> const& plan) noexcept {
  fnv1a h;
  h.append(plan.devices);
  h.append(plan.micro_batches);
  h.append(hash(plan.packs));
  for (auto const p : plan.table) h.append(p == plan.none ? (std::numeric_limits<std::uint64_t>::max)() : std::uint64_t{p});
  for (auto const l : plan.level) h.append(l);
  return h.value();
}

/// @brief Writes a plan in levels as one table by device.
///
/// @tparam Index  type of the sample indices
/// @param plan  result of `plan_levels`
/// @return packs, places in training order, and the level of each step
/// @throws invalid_input if the index type cannot number all packs
/// @par Complexity
/// O(samples + devices * steps).
/// @par Determinism
/// A pure function of its argument.
template <index_type Index>
[[nodiscard]] device_table<Index> table_of(level_plan<Index> const& plan) {
  device_table<Index> out;
  std::vector<std::size_t> first;  // pack of each level
  for (std::size_t l = 0; l < plan.steps.steps.size(); ++l) {
    auto const& steps = plan.steps.steps[l];
    auto const before = out.packs.members.size();
    first.push_back(out.packs.size());
    for (auto const offset : std::span(steps.packs.offsets).subspan(1)) out.packs.offsets.push_back(before + offset);
    out.packs.members.insert(out.packs.members.end(), steps.packs.members.begin(), steps.packs.members.end());
    out.devices = steps.ranks * plan.steps.levels[l].sp;
    if (steps.steps() > 0) out.micro_batches = (std::max)(out.micro_batches, steps.micro_batches);
  }
  require_index<Index>(out.packs.size() + 1, "packs");  // the last number is `none`
  auto const places = static_cast<std::size_t>(out.devices * out.micro_batches);
  out.table.assign(plan.order.size() * places, out.none);
  for (std::size_t i = 0; i < plan.order.size(); ++i) {
    auto const at = plan.order.at(i);
    auto const& steps = plan.steps.steps[at.source];
    out.level.push_back(at.source);
    for (std::uint64_t d = 0; d < out.devices; ++d)
      for (std::uint64_t m = 0; m < steps.micro_batches; ++m)
        if (auto const pack = steps.at(at.index, static_cast<std::size_t>(d / at.setting.sp), static_cast<std::size_t>(m));
            pack != out.none)
          out.table[i * places + static_cast<std::size_t>(d * out.micro_batches + m)] = static_cast<Index>(first[at.source] + pack);
  }
  return out;
}

}  // namespace ballast::inline v0_2
