// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/levels/detail/level_members.hpp>
#include <ballast/levels/fill.hpp>
#include <ballast/levels/options.hpp>
#include <ballast/levels/result.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Packing into levels: each sample goes to the shortest level that holds it, and each level is packed on its own.

namespace ballast::inline v0_2 {

/// @brief Whether samples of a shorter level are worth moving into the room of a longer one.
///
/// Compares what moving one pack's worth of tokens costs with the cost of the pack that disappears: moving c_j tokens, a pack of level j,
/// costs c_j (t_i - t_j + price if level i communicates more) and saves what such a pack costs by itself. Times per squared length are left
/// out; they differ between levels by recomputation alone.
///
/// @param levels   capacities strictly rising
/// @param options  what is filled, times and price
/// @param into     the longer level
/// @param from     the shorter one
/// @return the answer; never for no fill, always for every fill
[[nodiscard]] inline bool fill_pays(std::span<level const> levels, level_packing_options const& options, std::size_t into,
                                    std::size_t from) noexcept {
  if (options.fill != level_fill::where_it_pays) return options.fill == level_fill::always;
  auto const price = levels[into].sp > levels[from].sp ? options.price_per_token : 0;
  auto const more = options.times[into].per_token - options.times[from].per_token;
  auto const most = (std::numeric_limits<std::int64_t>::max)();
  auto const each = more > most - price ? most : more + price;
  return compare_products(each, levels[from].capacity, options.times[from].per_pack, 1) < 0;
}

/// @brief The packer of `pack_levels` unless another is given.
struct best_fit_decreasing_packer {
  /// @brief Packs. @param lengths tokens of each sample @param options the level's capacity @return the plan
  template <index_type Index>
  [[nodiscard]] packing<Index> operator()(std::span<std::int64_t const> lengths, packing_options const& options, Index) const {
    return best_fit_decreasing<Index>(lengths, options);
  }
};

/// @brief Packs samples into levels, the longest level first, and fills its packs from shorter levels where that pays.
///
/// Level i takes the samples above the capacity of level i - 1 and up to its own. Pieces of split samples go to the level they need.
///
/// @tparam Index   type of the sample indices
/// @tparam R       range of integers
/// @tparam Packer  callable (lengths, packing_options, Index) -> a result with `packs` and `count`
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param levels   capacities strictly rising
/// @param options  over-size policy and terms of filling
/// @param packer   packs one level: all its samples, none above the capacity, into groups of their positions
/// @return the packs of all levels
/// @post every sample is in one pack of the level it needs, or of a longer one if it filled room there, or in `set_aside`
/// @throws invalid_input for bad levels, a length that is not positive, or one above the longest level under `oversize::reject`
/// @par Complexity
/// That of the packer, and of `greedy_fill` where that is used; O(samples * levels) beside.
/// @par Determinism
/// A pure function of its arguments if the packer is.
/// @par Source
/// Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680, algorithm 2.
template <index_type Index = std::uint32_t, length_range R, class Packer = best_fit_decreasing_packer>
[[nodiscard]] level_packing<Index> pack_levels(R const& lengths, std::span<level const> levels, level_packing_options const& options = {},
                                               Packer const& packer = {}) {
  detail::require_valid(levels, options);
  level_packing<Index> out;
  out.levels.assign(levels.begin(), levels.end());
  detail::take_members(lengths, levels.back().capacity, options.oversize, out);
  auto const level_of = [&](std::int64_t length) {
    std::size_t i = 0;
    while (levels[i].capacity < length) ++i;
    return i;
  };
  auto const k = levels.size();
  std::vector<std::vector<Index>> waiting(k);
  for (std::size_t m = 0; m < out.lengths.size(); ++m)
    if (auto const length = out.lengths[m]; length > 0) waiting[level_of(length)].push_back(static_cast<Index>(m));

  std::vector<groups<Index>> packed(k);
  std::vector<std::int64_t> local;
  out.count.resize(k);
  out.tokens.resize(k);
  for (auto i = k; i-- > 0;) {
    auto const& mine = waiting[i];
    local.clear();
    for (auto const m : mine) local.push_back(out.lengths[static_cast<std::size_t>(m)]);
    auto plan = packer(std::span<std::int64_t const>(local), packing_options{.capacity = levels[i].capacity}, Index{});
    out.count[i] = plan.count;
    packed[i] = std::move(plan.packs);
    for (auto& m : packed[i].members) m = mine[static_cast<std::size_t>(m)];
    std::vector<Index> spare;
    auto const pays = [&](std::size_t j) { return fill_pays(levels, options, i, j); };
    for (auto j = i; j-- > 0;)
      if (pays(j)) spare.insert(spare.end(), waiting[j].begin(), waiting[j].end());
    if (!spare.empty() && !packed[i].empty()) {
      auto const before = packed[i].members.size();
      auto const stay = greedy_fill<Index>(packed[i], out.lengths, levels[i].capacity, spare);
      for (std::size_t j = 0; j < i; ++j)
        if (pays(j)) waiting[j].clear();
      for (auto const m : stay) waiting[level_of(out.lengths[static_cast<std::size_t>(m)])].push_back(m);
      out.filled += packed[i].members.size() - before;
    }
    for (auto const m : packed[i].members) {
      auto const length = out.lengths[static_cast<std::size_t>(m)];
      out.tokens[i] += length;
      if (i > 0 && length <= levels[i - 1].capacity) out.filled_tokens += length;
    }
  }
  out.first_pack.push_back(0);
  for (auto const& packs : packed) {
    for (auto const offset : std::span(packs.offsets).subspan(1)) out.packs.offsets.push_back(out.packs.members.size() + offset);
    out.packs.members.insert(out.packs.members.end(), packs.members.begin(), packs.members.end());
    out.first_pack.push_back(out.packs.size());
  }
  return out;
}

}  // namespace ballast::inline v0_2
