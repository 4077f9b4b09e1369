// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Raises the number of packs to a demanded number while moving as little as possible.

namespace ballast::inline v0_2 {

/// @brief Raises the number of packs to `count` by moving single samples into new packs.
///
/// Each new pack needs at least one sample, so `count - packs.size()` moves are the fewest possible. Of all choices of that many samples,
/// the one with the smallest total weight is taken (of equal weights, lower sample indices). All other samples keep their pack and their
/// order.
///
/// @tparam Index   index type of the packs
/// @tparam Weight  callable from a member to its weight, an integer
/// @param packs   the packs; none is empty
/// @param count   the demanded number of packs; must not be below `packs.size()`
/// @param weight  returns the weight of a member
/// @return whether `packs` has `count` packs now; false, with `packs` unchanged, if there are fewer than `count` members or more than
/// `count` packs
/// @post no pack has become heavier; the new packs come after the others, lightest first
/// @par Complexity
/// O(members), plus O(d log d) for d new packs.
template <index_type Index, class Weight>
[[nodiscard]] bool raise_pack_count(groups<Index>& packs, std::size_t count, Weight const& weight) {
  if (count <= packs.size()) return count == packs.size();
  if (count > packs.members.size()) return false;
  auto const moves = count - packs.size();
  using candidate = std::pair<std::int64_t, Index>;
  std::vector<candidate> movable;  // every member but the heaviest of its pack, which always stays
  movable.reserve(packs.members.size() - packs.size());
  auto const heaviest = [&](std::span<Index const> pack) {
    std::size_t keep = 0;
    for (std::size_t j = 1; j < pack.size(); ++j)
      if (candidate{weight(pack[j]), pack[j]} > candidate{weight(pack[keep]), pack[keep]}) keep = j;
    return keep;
  };
  for (auto const pack : packs) {
    auto const keep = heaviest(pack);
    for (std::size_t j = 0; j < pack.size(); ++j)
      if (j != keep) movable.emplace_back(weight(pack[j]), pack[j]);
  }
  auto* const first = movable.data();  // pointers: programs compile one sort for all vectors
  auto* const last = first + moves;
  std::nth_element(first, last - 1, first + movable.size());
  std::sort(first, last);
  auto const heaviest_moved = *(last - 1);

  groups<Index> raised;
  raised.offsets.reserve(count + 1);
  raised.members.reserve(packs.members.size());
  for (auto const pack : packs) {
    auto const keep = heaviest(pack);
    for (std::size_t j = 0; j < pack.size(); ++j)
      if (j == keep || candidate{weight(pack[j]), pack[j]} > heaviest_moved) raised.members.push_back(pack[j]);
    raised.offsets.push_back(raised.members.size());
  }
  for (auto const* it = first; it != last; ++it) {
    raised.members.push_back(it->second);
    raised.offsets.push_back(raised.members.size());
  }
  packs = std::move(raised);
  return true;
}

namespace detail {

/// Whether a demanded number of packs is possible, and its certificate.
template <class Bound>
struct settled_count {
  ballast::status status;
  certificate count;
  Bound bound;
};
/// Judges the result of a packer: `found` packs of `items` items, with a lower bound of `least` packs. The demand is `exactly` that many
/// packs, or any multiple of `multiple` if `exactly` is 0. The status is infeasible only if `least` or the number of items proves it:
/// another packer may need fewer packs than were found.
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
