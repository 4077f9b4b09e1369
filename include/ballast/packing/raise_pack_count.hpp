// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

/// @file
/// @brief Raises the number of packs to a demanded number while moving as little as possible.

namespace ballast::inline v0_2 {

/// @brief Raises the number of packs to `count` by moving single samples into new packs.
///
/// Each new pack needs at least one sample, so `count - packs.size()` moves are the fewest possible. Of all choices of that many samples,
/// the one with the smallest total weight is taken (of equal weights, lower sample indices). Others keep their pack and their order.
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
  using candidate = std::tuple<std::int64_t, Index, std::size_t>;  // weight, member, its place in `packs.members`
  std::vector<candidate> lightest;                                 // of all members but the heaviest of each pack, which always stays
  bool full = false;                                               // whether `lightest[moves - 1]` is the heaviest of those to move so far
  auto const keep_lightest = [&] {
    auto* const first = lightest.data();  // pointers: programs compile one sort for all vectors
    std::nth_element(first, first + moves - 1, first + lightest.size());
    lightest.resize(moves);
    full = true;
  };
  std::size_t at = 0;
  for (auto const pack : packs) {
    candidate heaviest{weight(pack[0]), pack[0], at++};
    for (auto const i : pack.subspan(1)) {
      candidate other{weight(i), i, at++};
      if (other > heaviest) std::swap(other, heaviest);
      if (!full || other < lightest[moves - 1]) lightest.push_back(other);
    }
    if (lightest.size() >= 2 * moves + 1000) keep_lightest();
  }
  keep_lightest();
  std::vector<std::size_t> moved;
  for (auto const& c : lightest) moved.push_back(std::get<2>(c));
  std::sort(moved.data(), moved.data() + moves);
  std::sort(lightest.data(), lightest.data() + moves);

  groups<Index> raised;
  raised.offsets.reserve(count + 1);
  raised.members.reserve(packs.members.size());
  auto next = moved.begin();
  auto const first = packs.members.begin();
  auto from = first;
  for (auto const end : std::span(packs.offsets).subspan(1)) {
    for (; next != moved.end() && *next < end; from = first + static_cast<std::ptrdiff_t>(*next++) + 1)
      raised.members.insert(raised.members.end(), from, first + static_cast<std::ptrdiff_t>(*next));
    raised.members.insert(raised.members.end(), from, first + static_cast<std::ptrdiff_t>(end));
    from = first + static_cast<std::ptrdiff_t>(end);
    raised.offsets.push_back(raised.members.size());
  }
  for (auto const& c : lightest) {
    raised.members.push_back(std::get<1>(c));
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
