// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/patterns.hpp>
#include <ballast/packing/vector/detail/open_packs.hpp>
#include <ballast/packing/vector/detail/relative_size.hpp>
#include <ballast/packing/vector/measures.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Best fit in bulk: the classes in the given order, all samples of a class at once.
template <class = when_called>
[[nodiscard]] inline pack_patterns best_fit_in_order(measure_classes const& classes, std::span<std::int64_t const> capacity,
                                                     std::span<std::uint32_t const> order, room_score const& score) {
  auto const k = classes.measures;
  constexpr auto most_copies = std::uint64_t{(std::numeric_limits<std::uint32_t>::max)()};
  open_packs<> open(k);
  pack_patterns out;
  // least[m] at position p: what every later sample needs at least of measure m. A pack with less room is closed.
  std::vector<std::int64_t> least((order.size() + 1) * k, (std::numeric_limits<std::int64_t>::max)());
  for (auto p = order.size(); p-- > 0;)
    for (std::size_t m = 0; m < k; ++m) least[p * k + m] = (std::min)(least[(p + 1) * k + m], classes[order[p]][m]);

  std::vector<std::int64_t> room(k), before(k);
  for (std::size_t p = 0; p < order.size(); ++p) {
    auto const c = order[p];
    auto const sample = classes[c];
    auto left = classes.counts[c];
    auto const copies_in = [&](std::span<std::int64_t const> r) {
      auto copies = (std::min)(left, most_copies);
      for (std::size_t m = 0; m < k; ++m)
        if (sample[m] > 0) copies = (std::min)(copies, static_cast<std::uint64_t>(r[m] / sample[m]));
      return copies;
    };
    auto const put = [&](std::uint64_t copies, std::uint64_t packs, std::uint32_t chain, std::span<std::int64_t const> r) {
      bool closed = copies == most_copies;  // a pattern cannot hold more copies of a class
      for (std::size_t m = 0; m < k; ++m) {
        room[m] = r[m] - static_cast<std::int64_t>(copies) * sample[m];
        closed = closed || room[m] < least[(p + 1) * k + m];
      }
      left -= copies * packs;
      pattern_item const item{c, static_cast<std::uint32_t>(copies)};
      if (closed)
        open.emit(item, chain, packs, out);
      else
        open.insert(score(room), packs, item, chain, room);
    };
    while (left > 0) {
      auto const at = open.find(sample);
      if (open.is_end(at)) {
        auto const copies = copies_in(capacity);
        put(copies, left / copies, open_packs<>::nothing, capacity);
        continue;
      }
      auto const e = open[at];
      before.assign(open.room(e).begin(), open.room(e).end());
      auto const copies = copies_in(before);
      auto const packs = (std::min)(left / copies, e.count);
      if (packs == e.count)
        open.erase(at);
      else
        open[at].count -= packs;
      put(copies, packs, e.chain, before);
    }
  }
  open.emit_all(out);
  return out;
}

}  // namespace ballast::inline v0_2::detail
