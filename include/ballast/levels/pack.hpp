// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/levels/fill.hpp>
#include <ballast/levels/options.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `pack_levels`: assigns each sample to the shortest level that holds it, and packs each level separately.

namespace ballast::inline v0_2 {

namespace detail {

/// Throws unless capacities strictly ascend and all options are in range.
inline void require_valid(std::span<level const> levels, level_options const& o) {
  require(!levels.empty(), [] { return "levels is empty"; });
  for (std::size_t i = 0; i < levels.size(); ++i) {
    auto const name = [&] { return sentence("levels[", i, "]"); };
    require(levels[i].capacity > 0, [&] { return sentence(name(), ".capacity = ", levels[i].capacity, " must be positive"); });
    require(levels[i].sp > 0, [&] { return name() + ".sp = 0 must be positive"; });
    require(i == 0 || levels[i - 1].capacity < levels[i].capacity,
            [&] { return sentence(name(), ".capacity = ", levels[i].capacity, " must be above its predecessor's"); });
  }
  require(o.price_per_token >= 0, [&] { return sentence("price_per_token = ", o.price_per_token, " must not be negative"); });
  if (o.fill != level_fill::where_it_pays || o.times.empty()) return;
  require(o.times.size() == levels.size(), [&] { return sentence(o.times.size(), " times for ", levels.size(), " levels"); });
  for (std::size_t i = 0; i < o.times.size(); ++i)
    require(o.times[i].per_pack >= 0 && o.times[i].per_token >= 0, [&] { return sentence("times[", i, "] is negative"); });
}

/// Applies the over-size policy: writes the length of each member, 0 for a sample that was set aside.
template <index_type Index, length_range R>
void take_members(R const& lengths, std::int64_t longest, oversize policy, level_packing<Index>& out) {
  require(policy != oversize::alone, [] { return "oversize = alone: a pack above the longest level belongs to no level"; });
  auto const at = read_by_position(lengths);
  if (policy == oversize::reject && extent_of(lengths).longest > longest)
    for (std::size_t i = 0;; ++i)
      require(std::cmp_less_equal(at[i], longest),
              [&] { return sentence(entry("lengths", i, at[i]), " exceeds the longest level, ", longest, " (see oversize policy)"); });
  auto trained = apply_oversize<Index>(lengths, {.capacity = longest, .oversize = policy});
  for (auto const i : trained.set_aside) trained.tokens[static_cast<std::size_t>(i)] = 0;
  require_index<Index>(trained.tokens.size() + 1, "members");
  out.lengths = std::move(trained.tokens);
  out.set_aside = std::move(trained.set_aside);
  out.pieces = std::move(trained.pieces);
}

}  // namespace detail

/// @brief Returns whether it pays to move samples of a shorter level into the packs of a longer level.
///
/// Compares the cost of moving one pack's worth of tokens with the cost of the pack that disappears. Moving c_j tokens, the capacity of
/// level j, into level i costs c_j (t_i - t_j), with times t per token, plus c_j times the price if level i has a higher SP degree. It
/// saves the fixed time of a pack in level j. Times per squared length are not compared; they differ between levels only by recomputation.
///
/// @param levels   levels with strictly ascending capacities
/// @param options  fill policy, times and price
/// @param into     number of the longer level
/// @param from     number of the shorter level
/// @return whether it pays; false for `level_fill::never` and without times, true for `level_fill::always`
[[nodiscard]] inline bool fill_pays(std::span<level const> levels, level_options const& options, std::size_t into,
                                    std::size_t from) noexcept {
  if (options.fill != level_fill::where_it_pays) return options.fill == level_fill::always;
  if (options.times.empty()) return false;
  auto const price = levels[into].sp > levels[from].sp ? options.price_per_token : 0;
  auto const more = options.times[into].per_token - options.times[from].per_token;
  auto const most = (std::numeric_limits<std::int64_t>::max)();
  auto const each = more > most - price ? most : more + price;
  return compare_products(each, levels[from].capacity, options.times[from].per_pack, 1) < 0;
}

/// @brief The default packer of `pack_levels`.
struct best_fit_decreasing_packer {
  /// @brief Packs the samples of one level. @param lengths tokens of each sample @param options the level's capacity @return the plan
  template <index_type Index>
  [[nodiscard]] packing<Index> operator()(std::span<std::int64_t const> lengths, packing_options const& options, Index) const {
    return best_fit_decreasing<Index>(lengths, options);
  }
};

/// @brief Packs samples into levels, the longest level first, and fills room in its packs with samples of shorter levels if `options` say
/// so.
///
/// Level i takes the samples that are longer than the capacity of level i - 1 and not longer than that of level i. Pieces of split samples
/// go to the shortest level that holds them.
///
/// @tparam Index   type of the sample indices
/// @tparam R       range of integers
/// @tparam Packer  callable (lengths, packing_options, Index) -> a result with `packs` and `count`
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param levels   levels with strictly ascending capacities
/// @param options  over-size policy, and when to fill room
/// @param packer   packs one level: given the lengths of its samples, none above the capacity, returns packs of their positions
/// @return the packs of all levels
/// @post every sample is in one pack of the shortest level that holds it, or of a longer level where it fills room, or in `set_aside`
/// @throws invalid_input for bad levels, a length that is not positive, or one above the longest level under `oversize::reject`
/// @par Complexity
/// That of the packer, that of `greedy_fill` if room is filled, and O(samples * levels).
/// @par Determinism
/// A pure function of its arguments if the packer is.
/// @par Source
/// Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680, algorithm 2.
template <index_type Index = std::uint32_t, length_range R, class Packer = best_fit_decreasing_packer>
[[nodiscard]] level_packing<Index> pack_levels(R const& lengths, std::span<level const> levels, level_options const& options = {},
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
