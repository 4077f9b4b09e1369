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

/// How many spare samples there are of each length; finds the longest that remain up to a given length.
class spare_lengths {
 public:
  explicit spare_lengths(histogram classes) : classes_(std::move(classes)), below_(classes_.lengths.size() + 1) {
    std::iota(below_.begin(), below_.end(), std::size_t{0});
  }
  /// Takes as many samples as fit, longest first: calls take(number of the length, samples, room before them).
  template <class Take>
  void fill(std::int64_t room, Take const& take) {
    for (auto c = find(up_to(room)); c > 0;) {
      auto const length = classes_.lengths[c - 1];
      auto& left = classes_.counts[c - 1];
      auto const taken = (std::min)(left, static_cast<std::uint64_t>(room / length));
      take(c - 1, taken, room);
      left -= taken;
      room -= static_cast<std::int64_t>(taken) * length;
      if (left == 0) below_[c] = c - 1;
      c = find((std::min)(c, up_to(room)));
    }
  }
  /// The number of lengths of at most `length`.
  [[nodiscard]] std::size_t up_to(std::int64_t length) const {
    return static_cast<std::size_t>(std::upper_bound(classes_.lengths.begin(), classes_.lengths.end(), length) - classes_.lengths.begin());
  }
  [[nodiscard]] histogram const& classes() const { return classes_; }

 private:
  /// The last of the first `c` lengths with remaining samples, counted from 1; 0 = none. Shortens the path by halving.
  [[nodiscard]] std::size_t find(std::size_t c) {
    while (below_[c] != c) c = below_[c] = below_[below_[c]];
    return c;
  }
  histogram classes_;
  std::vector<std::size_t> below_;
};

/// Spare samples by length, of equal lengths in the given order.
template <index_type Index>
class spare_samples {
 public:
  spare_samples(std::span<Index const> spare, std::span<std::int64_t const> length) : left_(fold_spare(spare, length)) {
    auto const& classes = left_.classes();
    next_.reserve(classes.lengths.size());
    std::size_t first = 0;
    for (auto const count : classes.counts) next_.push_back(std::exchange(first, first + static_cast<std::size_t>(count)));
    order_.resize(spare.size());
    auto at = next_;
    std::vector<std::uint32_t> class_of;
    if (!spare.empty() && classes.lengths.back() <= longest_for_a_table(spare.size())) {
      class_of.resize(static_cast<std::size_t>(classes.lengths.back()) + 1);
      for (std::size_t c = 0; c < classes.lengths.size(); ++c)
        class_of[static_cast<std::size_t>(classes.lengths[c])] = static_cast<std::uint32_t>(c);
    }
    for (auto const i : spare) {
      auto const tokens = length[static_cast<std::size_t>(i)];
      order_[at[class_of.empty() ? left_.up_to(tokens) - 1 : class_of[static_cast<std::size_t>(tokens)]]++] = i;
    }
  }
  /// Moves into `pack` as many samples as fit, longest first.
  void fill(std::int64_t room, std::vector<Index>& pack) {
    left_.fill(room, [&](std::size_t c, std::uint64_t count, std::int64_t) {
      for (std::uint64_t k = 0; k < count; ++k) pack.push_back(order_[next_[c]++]);
    });
  }

 private:
  [[nodiscard]] static histogram fold_spare(std::span<Index const> spare, std::span<std::int64_t const> length) {
    std::vector<std::int64_t> lengths(spare.size());
    for (std::size_t j = 0; j < spare.size(); ++j) lengths[j] = length[static_cast<std::size_t>(spare[j])];
    return ballast::fold(lengths);
  }
  spare_lengths left_;
  std::vector<std::size_t> next_;
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
    left.fill(rooms[k].first, pack);
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
