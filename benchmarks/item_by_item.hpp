// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

// Best-fit decreasing, one item at a time, in the three ways that compiled peers use. They are the baselines of benchmarks/packing.cpp:
// they write the same flat offsets and members as the library, from the same lengths, and find the same number of packs.

namespace baseline {

using ballast::groups;

// Packs are numbered as they open; `pack_of[k]` is the pack of the k-th item of `order`.
inline groups<> to_groups(std::vector<std::uint32_t> const& order, std::vector<std::uint32_t> const& pack_of, std::size_t packs) {
  groups<> out;
  out.offsets.assign(packs + 1, 0);
  for (auto p : pack_of) ++out.offsets[p + 1];
  std::partial_sum(out.offsets.begin(), out.offsets.end(), out.offsets.begin());
  auto next = out.offsets;
  out.members.resize(order.size());
  for (std::size_t k = 0; k < order.size(); ++k) out.members[next[pack_of[k]]++] = order[k];
  return out;
}

// Indices by length descending, then index: counting sort, as the fastest peers do.
inline std::vector<std::uint32_t> by_length_descending(std::vector<std::int32_t> const& lengths, std::int32_t capacity) {
  std::vector<std::uint32_t> next(static_cast<std::size_t>(capacity) + 2, 0), order(lengths.size());
  for (auto l : lengths) ++next[static_cast<std::size_t>(capacity - l) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  for (std::uint32_t i = 0; i < lengths.size(); ++i) order[next[static_cast<std::size_t>(capacity - lengths[i])]++] = i;
  return order;
}

// The textbook form: a balanced tree of (room, pack).
inline groups<> multiset_bfd(std::vector<std::int32_t> const& lengths, std::int32_t capacity) {
  auto const order = by_length_descending(lengths, capacity);
  std::vector<std::uint32_t> pack_of(order.size());
  std::multiset<std::pair<std::int32_t, std::uint32_t>> rooms;
  std::uint32_t packs = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    auto const length = lengths[order[k]];
    auto const best = rooms.lower_bound({length, 0});
    auto const [room, pack] = best == rooms.end() ? std::pair{capacity, packs++} : *best;
    if (best != rooms.end()) rooms.erase(best);
    if (room > length) rooms.emplace(room - length, pack);
    pack_of[k] = pack;
  }
  return to_groups(order, pack_of, packs);
}

// LightBinPack's bfd, which is the fastest of its packers for few samples: a sort by comparisons, and lists of packs in a tree of rooms. It
// takes lengths and rooms as doubles there; these are integers.
inline groups<> tree_bfd(std::vector<std::int32_t> const& lengths, std::int32_t capacity) {
  std::vector<std::pair<std::int32_t, std::uint32_t>> sorted;
  sorted.reserve(lengths.size());
  for (std::uint32_t i = 0; i < lengths.size(); ++i) sorted.emplace_back(-lengths[i], i);
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::uint32_t> order(sorted.size()), pack_of(sorted.size());
  std::map<std::int32_t, std::list<std::uint32_t>> packs_with;
  std::uint32_t packs = 0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    auto const length = -sorted[k].first;
    auto const best = packs_with.lower_bound(length);
    auto room = capacity;
    if (best == packs_with.end()) {
      pack_of[k] = packs++;
    } else {
      room = best->first;
      pack_of[k] = best->second.front();
      best->second.pop_front();
      if (best->second.empty()) packs_with.erase(best);
    }
    packs_with[room - length].push_back(pack_of[k]);
    order[k] = sorted[k].second;
  }
  return to_groups(order, pack_of, packs);
}

// The peers' form (TRL, LightBinPack's obfd): a segment tree over the room 0 … capacity that holds which rooms some pack has, and a list of
// packs a room.
inline groups<> segment_tree_bfd(std::vector<std::int32_t> const& lengths, std::int32_t capacity) {
  auto const order = by_length_descending(lengths, capacity);
  std::size_t leaves = 1;
  while (leaves <= static_cast<std::size_t>(capacity)) leaves *= 2;
  std::vector<std::int32_t> largest(2 * leaves, 0);  // largest room below a node that some pack has; 0 = none
  std::vector<std::vector<std::uint32_t>> packs_with(static_cast<std::size_t>(capacity) + 1);
  auto const update = [&](std::int32_t room, std::int32_t value) {
    auto node = leaves + static_cast<std::size_t>(room);
    largest[node] = value;
    for (node /= 2; node != 0; node /= 2) largest[node] = (std::max)(largest[2 * node], largest[2 * node + 1]);
  };
  std::vector<std::uint32_t> pack_of(order.size());
  std::uint32_t packs = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    auto const length = lengths[order[k]];
    auto room = capacity;
    std::uint32_t pack = 0;
    if (largest[1] < length) {
      pack = packs++;
    } else {
      std::size_t node = 1;  // the leftmost leaf that holds at least `length`
      while (node < leaves) node = 2 * node + (largest[2 * node] < length ? 1 : 0);
      room = static_cast<std::int32_t>(node - leaves);
      auto& list = packs_with[static_cast<std::size_t>(room)];
      pack = list.back();
      list.pop_back();
      if (list.empty()) update(room, 0);
    }
    if (auto const rest = room - length; rest > 0) {
      auto& list = packs_with[static_cast<std::size_t>(rest)];
      list.push_back(pack);
      if (list.size() == 1) update(rest, rest);
    }
    pack_of[k] = pack;
  }
  return to_groups(order, pack_of, packs);
}

}  // namespace baseline
