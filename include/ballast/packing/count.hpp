// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief Raising the number of packs to a demanded one while moving as little as possible.

namespace ballast::inline v0_2 {

/// @brief Raises the number of packs to `count` by giving single samples a pack of their own.
///
/// Each new pack needs at least one sample, so `count - packs.size()` moves are the fewest possible; of all ways to choose that many, the
/// one that moves the smallest total weight is taken (equal weights: lower sample index). The other samples stay where they are, in their
/// order.
///
/// @tparam Index   index type of the packs
/// @tparam Weight  callable from a member to its weight, an integer
/// @param packs   the packs; none is empty
/// @param count   how many there shall be, at least `packs.size()`
/// @param weight  how much a member weighs in a pack
/// @return whether that many packs are possible; if not (fewer members than `count`), `packs` is unchanged
/// @post no total of a pack has grown; the new packs stand behind the others, lightest first
/// @par Complexity
/// O(members), plus O(d log d) for d new packs.
template <index_type Index, class Weight>
[[nodiscard]] bool raise_pack_count(groups<Index>& packs, std::size_t count, Weight const& weight) {
  if (count <= packs.size()) return count == packs.size();
  if (count > packs.members.size()) return false;
  auto const moves = count - packs.size();
  using candidate = std::pair<std::int64_t, Index>;
  std::vector<candidate> movable;  // every member but one heaviest of its pack: a pack may give up all but one
  movable.reserve(packs.members.size() - packs.size());
  for (auto const pack : packs) {
    std::size_t keep = 0;
    for (std::size_t j = 1; j < pack.size(); ++j)
      if (candidate{weight(pack[j]), pack[j]} > candidate{weight(pack[keep]), pack[keep]}) keep = j;
    for (std::size_t j = 0; j < pack.size(); ++j)
      if (j != keep) movable.emplace_back(weight(pack[j]), pack[j]);
  }
  auto const last = movable.begin() + static_cast<std::ptrdiff_t>(moves);
  std::nth_element(movable.begin(), last - 1, movable.end());
  std::sort(movable.begin(), last);
  auto const heaviest_moved = *(last - 1);

  groups<Index> raised;
  raised.offsets.reserve(count + 1);
  raised.members.reserve(packs.members.size());
  for (auto const pack : packs) {
    std::size_t keep = 0;
    for (std::size_t j = 1; j < pack.size(); ++j)
      if (candidate{weight(pack[j]), pack[j]} > candidate{weight(pack[keep]), pack[keep]}) keep = j;
    for (std::size_t j = 0; j < pack.size(); ++j)
      if (j == keep || candidate{weight(pack[j]), pack[j]} > heaviest_moved) raised.members.push_back(pack[j]);
    raised.offsets.push_back(raised.members.size());
  }
  for (auto it = movable.begin(); it != last; ++it) {
    raised.members.push_back(it->second);
    raised.offsets.push_back(raised.members.size());
  }
  packs = std::move(raised);
  return true;
}

namespace detail {

/// Whether a demanded number of packs can be had, and its certificate.
template <class Bound>
struct settled_count {
  ballast::status status;
  certificate count;
  Bound bound;
};
/// Judges a packer's result: `found` packs of `items` items, of which `least` are proven to be needed. The demand is `exactly` that many
/// packs, or where that is 0 any multiple of `multiple`. Infeasible says only what `least` and the number of items prove: another packer
/// may need fewer packs than were found.
template <class Bound>
[[nodiscard]] settled_count<Bound> judge_count(std::uint64_t found, std::uint64_t items, std::int64_t least, Bound bound,
                                               std::uint64_t multiple, std::uint64_t exactly) {
  auto const up = [&](std::uint64_t packs) {
    auto const rest = packs % multiple;
    return rest == 0 ? packs : packs + (multiple - rest);
  };
  auto const target = exactly != 0 ? exactly : up(found), needed = up(static_cast<std::uint64_t>(least));
  certificate const count{static_cast<std::int64_t>(target), static_cast<std::int64_t>(needed)};
  if ((exactly != 0 ? exactly : needed) > items) return {status::infeasible, count, Bound::sample_count};
  if (target < needed) return {status::infeasible, count, bound};
  if (target < found || target > items) return {status::unknown, count, bound};
  return {status::feasible, {count.value, exactly != 0 ? count.value : count.lower_bound}, bound};
}

}  // namespace detail

}  // namespace ballast::inline v0_2
