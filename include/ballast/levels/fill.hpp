// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `greedy_fill`: fills the room left in packs with spare samples.

namespace ballast::inline v0_2 {

namespace detail {

/// Spare samples by length; finds the longest remaining sample up to a given length.
template <index_type Index>
class spare_samples {
 public:
  spare_samples(std::span<Index const> spare, std::span<std::int64_t const> length) {
    std::vector<std::int64_t> lengths(spare.size());
    for (std::size_t j = 0; j < spare.size(); ++j) lengths[j] = length[static_cast<std::size_t>(spare[j])];
    classes_ = ballast::fold(lengths);
    next_.reserve(classes_.lengths.size());
    std::size_t first = 0;
    for (auto const count : classes_.counts) next_.push_back(std::exchange(first, first + static_cast<std::size_t>(count)));
    order_.resize(spare.size());
    auto at = next_;
    if (!lengths.empty() && classes_.lengths.back() <= longest_for_a_table(lengths.size())) {
      std::vector<std::uint32_t> class_of(static_cast<std::size_t>(classes_.lengths.back()) + 1);
      for (std::size_t c = 0; c < classes_.lengths.size(); ++c)
        class_of[static_cast<std::size_t>(classes_.lengths[c])] = static_cast<std::uint32_t>(c);
      for (std::size_t j = 0; j < spare.size(); ++j) order_[at[class_of[static_cast<std::size_t>(lengths[j])]]++] = spare[j];
    } else {
      for (std::size_t j = 0; j < spare.size(); ++j) order_[at[up_to(lengths[j]) - 1]++] = spare[j];
    }
    below_.resize(classes_.lengths.size() + 1);
    std::iota(below_.begin(), below_.end(), std::size_t{0});
  }
  /// Moves into `pack` as many samples as fit, longest first; returns the remaining room.
  std::int64_t fill(std::int64_t room, std::vector<Index>& pack) {
    for (auto c = find(up_to(room)); c > 0;) {
      auto const length = classes_.lengths[c - 1];
      auto& left = classes_.counts[c - 1];
      auto const take = (std::min)(left, static_cast<std::uint64_t>(room / length));
      for (std::uint64_t k = 0; k < take; ++k) pack.push_back(order_[next_[c - 1]++]);
      left -= take;
      room -= static_cast<std::int64_t>(take) * length;
      if (left == 0) below_[c] = c - 1;
      c = find((std::min)(c, up_to(room)));
    }
    return room;
  }
  [[nodiscard]] bool empty() { return find(classes_.lengths.size()) == 0; }

 private:
  /// The number of classes of at most `length`.
  [[nodiscard]] std::size_t up_to(std::int64_t length) const {
    return static_cast<std::size_t>(std::upper_bound(classes_.lengths.begin(), classes_.lengths.end(), length) - classes_.lengths.begin());
  }
  /// The last of the first `c` classes with remaining samples, counted from 1; 0 = none. Shortens the path by halving.
  [[nodiscard]] std::size_t find(std::size_t c) {
    while (below_[c] != c) c = below_[c] = below_[below_[c]];
    return c;
  }
  histogram classes_;
  std::vector<std::size_t> next_, below_;
  std::vector<Index> order_;
};

}  // namespace detail

/// @brief Moves spare samples into packs with room: takes the fullest pack first, and adds the longest sample that fits until none fits.
///
/// @tparam Index  type of the sample indices
/// @param packs     the packs; spare samples are appended to their members, and the order of packs is kept
/// @param lengths   tokens of each sample, by index
/// @param capacity  tokens of one pack
/// @param spare     samples that are in no pack; of equal lengths, earlier samples in this list are moved first
/// @return the spare samples that fit nowhere, in the given order
/// @post none of the returned samples fits into any pack; no pack exceeds the capacity
/// @throws invalid_input if a member or spare sample is out of range or occurs twice, if its length is not positive, or if a pack exceeds
/// the capacity at the start; `packs` is then unchanged
/// @par Complexity
/// O(members + packs log packs + moves log D) for D distinct spare lengths; all samples of a length that go into one pack are one move.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680, algorithm 6, which tries every spare sample for every pack.
template <index_type Index>
[[nodiscard]] std::vector<Index> greedy_fill(groups<Index>& packs, std::span<std::int64_t const> lengths, std::int64_t capacity,
                                             std::span<Index const> spare) {
  require(capacity >= 0, [&] { return sentence("capacity = ", capacity, " must not be negative"); });
  std::vector<char> seen(lengths.size(), 0);
  auto const length = [&](Index i) {
    require(i < lengths.size(), [&] { return sentence("member ", i, " is out of range: there are ", lengths.size(), " samples"); });
    auto const tokens = lengths[static_cast<std::size_t>(i)];
    require(tokens > 0, [&] { return entry("lengths", i, tokens) + " must be positive"; });
    require(!std::exchange(seen[static_cast<std::size_t>(i)], char{1}),
            [&] { return sentence("sample ", i, " occurs twice in packs and spare"); });
    return tokens;
  };
  std::vector<std::pair<std::int64_t, std::size_t>> rooms(packs.size());
  for (std::size_t p = 0; p < packs.size(); ++p) {
    auto room = capacity;
    for (auto const i : packs[p]) {
      auto const tokens = length(i);
      require(tokens <= room, [&] { return sentence("packs[", p, "] exceeds capacity ", capacity); });
      room -= tokens;
    }
    rooms[p] = {room, p};
  }
  for (auto const i : spare) (void)length(i);
  std::sort(rooms.begin(), rooms.end());
  detail::spare_samples<Index> left(spare, lengths);
  groups<Index> added;  // the samples added to each pack, in the order of `rooms`
  std::vector<std::size_t> added_to(packs.size());
  std::vector<Index> pack;
  for (std::size_t k = 0; k < rooms.size(); ++k) {
    pack.clear();
    (void)left.fill(rooms[k].first, pack);
    added_to[rooms[k].second] = k;
    added.push_back(pack);
  }
  groups<Index> filled;
  filled.members.reserve(packs.members.size() + added.members.size());
  for (auto const i : added.members) seen[static_cast<std::size_t>(i)] = 0;
  for (std::size_t p = 0; p < packs.size(); ++p) {
    filled.members.insert(filled.members.end(), packs[p].begin(), packs[p].end());
    filled.push_back(added[added_to[p]]);
  }
  packs = std::move(filled);
  std::vector<Index> stay;
  for (auto const i : spare)
    if (seen[static_cast<std::size_t>(i)] != 0) stay.push_back(i);
  return stay;
}

}  // namespace ballast::inline v0_2
