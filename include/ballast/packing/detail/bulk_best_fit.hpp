// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/pooled_memory.hpp>
#include <ballast/packing/detail/room_index.hpp>
#include <ballast/packing/runs.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

// Best-fit decreasing in bulk. An item of length s goes into the fullest pack that has room for it, of room r. If r - s >= s, that pack is
// the only best fit for the next item of length s, so the item-by-item algorithm puts floor(r / s) of these items there. Packs of equal
// room are taken in the order of their numbers. So packs with equal room are filled at once, and the work depends only on lengths.

namespace ballast::inline v0_2::detail {

/// The packs key … key + packs - 1, which have equal room and equally many samples.
struct pack_interval {
  std::uint64_t key;
  std::uint64_t packs;
  std::int64_t room;
  std::uint64_t samples;
  std::uint32_t place;  // index in the chain of all intervals, which is sorted by key
};

/// Scratch memory of the planner, and its results: the runs, and the final intervals.
struct bulk_workspace {
  dense_rooms dense;
  ordered_rooms ordered;
  pairing_heaps<pack_interval> open;  // packs that may still take samples; all other packs are in `done`
  pooled_vector<pack_interval> done;
  pooled_vector<pack_run> runs;
  static constexpr std::uint32_t none = 0xffffffffU;
  pooled_vector<std::uint32_t> behind;  // the next interval by key, for each interval; the parts of a split interval take its place
};

/// Packs every item of `classes` and returns the number of packs. With `record`, runs and intervals are left in `ws`.
/// It is one long loop, since every part reads and writes the interval that is being filled.
template <class Rooms>
[[nodiscard]] std::uint64_t bulk_best_fit(bool record, histogram const& classes, std::int64_t capacity, std::uint64_t max_samples,
                                          Rooms& rooms, bulk_workspace& ws) {
  using heaps = pairing_heaps<pack_interval>;
  rooms.reset(capacity);
  ws.open.clear();
  ws.done.clear();
  ws.runs.clear();
  ws.behind.clear();
  if (classes.lengths.empty()) return 0;
  auto const shortest = classes.lengths.front();
  std::uint64_t packs = 0, placed = 0;

  std::uint32_t last = 0;                         // place of the packs with the highest numbers
  auto const chain = [&](std::uint32_t before) {  // a new place after `before`
    auto const place = static_cast<std::uint32_t>(ws.behind.size());
    ws.behind.push_back(place == 0 ? bulk_workspace::none : std::exchange(ws.behind[before], place));
    return place;
  };
  auto const store = [&](pack_interval const& part) {
    if (part.room < shortest || part.samples == max_samples) {
      if (record) ws.done.push_back(part);
      return;
    }
    auto const empty = rooms.insert(part.room);
    auto& head = rooms.head(part.room);
    head = ws.open.push(empty ? heaps::empty : head, part);
  };

  for (auto c = classes.lengths.size(); c-- > 0;) {
    auto const s = classes.lengths[c];
    for (auto left = classes.counts[c]; left != 0;) {
      auto const room = rooms.at_least(s);
      auto from = pack_interval{packs, 0, capacity, 0, 0};
      if (room >= 0) from = ws.open.top(rooms.head(room));
      auto const fitting = from.room - s < s ? 1 : static_cast<std::uint64_t>(from.room / s);
      auto const per_pack = (std::min)(fitting, max_samples - from.samples);
      auto const packs_filled = per_pack == 1 ? left : left / per_pack;
      auto const full = room >= 0 ? (std::min)(from.packs, packs_filled) : packs_filled;
      auto const rest = room >= 0 && full == from.packs ? 0 : left - full * per_pack;  // items for one further pack, fewer than per_pack
      auto const touched = full + (rest != 0 ? 1 : 0);
      auto const whole = room >= 0 && touched == from.packs;
      if (record) {
        ws.runs.push_back({placed, from.key, s, from.room, per_pack, from.samples});
        if (room < 0) last = from.place = chain(last);
      }
      if (room < 0) packs += touched;
      if (whole) {
        auto& head = rooms.head(room);
        head = ws.open.pop(head);
        if (head == heaps::empty) rooms.erase(room);
      }
      auto place = from.place;
      bool first = true;
      auto const next_place = [&] {
        if (record)
          if (!std::exchange(first, false)) place = chain(place);
        return place;
      };
      auto const after = [&](std::uint64_t samples) { return from.room - static_cast<std::int64_t>(samples) * s; };
      if (full != 0) store({from.key, full, after(per_pack), from.samples + per_pack, next_place()});
      if (rest != 0) store({from.key + full, 1, after(rest), from.samples + rest, next_place()});
      if (room >= 0 && !whole) {
        auto& top = ws.open.top(rooms.head(room));  // still the lowest: all other intervals of this room have higher numbers
        top.key += touched;
        top.packs -= touched;
        top.place = next_place();
      }
      if (record)
        if (from.place == last) last = place;
      placed += full * per_pack + rest;
      left -= full * per_pack + rest;
    }
  }
  return packs;
}

/// As above, with the room index that suits the capacity.
template <class = when_called>
[[nodiscard]] inline std::uint64_t bulk_best_fit(bool record, histogram const& classes, std::int64_t capacity, std::uint64_t max_samples,
                                                 bulk_workspace& ws) {
  if (capacity <= dense_rooms::largest_capacity) return bulk_best_fit(record, classes, capacity, max_samples, ws.dense, ws);
  return bulk_best_fit(record, classes, capacity, max_samples, ws.ordered, ws);
}

/// Calls `visit` for the intervals that `bulk_best_fit` left, in no order.
template <class Visit>
void for_each_interval(bulk_workspace const& ws, Visit const& visit) {
  for (auto const& part : ws.done) visit(part);
  ws.open.for_each(visit);
}

}  // namespace ballast::inline v0_2::detail
