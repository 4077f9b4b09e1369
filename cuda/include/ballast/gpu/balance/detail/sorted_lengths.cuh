// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/map_each.cuh>
#include <ballast/gpu/core/sort.cuh>
#include <ballast/gpu/core/workspace.cuh>

#include <bit>
#include <cstddef>
#include <cstdint>

// Sorts samples in the order of a plan on classes: longest first, equal ones by index.

namespace ballast::inline v0_2::gpu::detail {

struct balance_key {
  std::int64_t longest;
  std::uint64_t* bad;
  template <class Len, class Index>
  BALLAST_HD void operator()(std::size_t i, Len read, std::uint32_t& key, Index& own) const {
    auto const length = static_cast<std::int64_t>(read);
    auto const good = length >= 1 && length <= longest;
    if (!good) atomic_min(*bad, i);
    key = good ? static_cast<std::uint32_t>(length) : 0;
    own = static_cast<Index>(i);
  }
};

// Scratch memory and results of the sort.
template <class Index>
struct balance_sorted {
  std::uint32_t *unsorted = nullptr, *keys = nullptr;
  Index *numbers = nullptr, *order = nullptr;
  void* sort = nullptr;
  std::size_t sort_bytes = 0;
};

template <class On, class Index>
[[nodiscard]] workspace::scratch<On> balance_take_sorted(On on, workspace& cut, std::size_t& bytes, std::size_t count,
                                                         balance_sorted<Index>& out) {
  out.unsorted = cut.take<std::uint32_t>(count);
  out.keys = cut.take<std::uint32_t>(count);
  out.numbers = cut.take<Index>(count);
  out.order = cut.take<Index>(count);
  auto const room = cut.finish<On>(bytes, [&](void* none, std::size_t& need) {
    return on.sort_descending(none, need, out.unsorted, out.keys, out.numbers, out.order, count, 32);
  });
  out.sort = room.memory;
  out.sort_bytes = room.bytes;
  return room;
}

template <class On, class Len, class Index>
[[nodiscard]] typename On::error_type balance_sort(On on, Len const* lengths, std::size_t count, std::int64_t longest,
                                                   balance_sorted<Index> s, std::uint64_t* bad) {
  constexpr typename On::error_type ok{};
  auto done = on.fill(bad, 0xff, sizeof(std::uint64_t));
  if (done == ok) done = map_each(on, count, lengths, balance_key{longest, bad}, s.unsorted, s.numbers);
  auto const bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(longest)));
  if (done == ok && count != 0) done = on.sort_descending(s.sort, s.sort_bytes, s.unsorted, s.keys, s.numbers, s.order, count, bits);
  return done;
}

}  // namespace ballast::inline v0_2::gpu::detail
