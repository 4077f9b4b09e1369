// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/lengths.cuh>
#include <ballast/gpu/core/map_each.cuh>
#include <ballast/gpu/core/sort.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/packing/options.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

// Sorts samples in canonical order: padded length descending, then the order of visits. It is one stable sort with keys as narrow as
// possible.

namespace ballast::inline v0_2::gpu::detail {

// Padded lengths as multiples of `multiple`: a pack holds `units` of them. Key k is the padded length (k + 1) * multiple.
struct pack_padding {
  std::uint32_t multiple = 1;
  std::uint32_t units = 0;
  [[nodiscard]] BALLAST_HD std::uint32_t longest() const { return multiple * units; }
  // `length` is in 1 … longest().
  [[nodiscard]] BALLAST_HD std::uint32_t key(std::uint32_t length) const { return multiple == 1 ? length - 1 : (length - 1) / multiple; }
};

// For options that `takes_runs` (run_plans.cuh) accepts.
[[nodiscard]] inline pack_padding pack_padding_of(packing_options const& o) {
  auto const capacity = ballast::round_down(o.capacity, o.pack_multiple);
  if (o.sample_multiple > capacity) return {};
  return {static_cast<std::uint32_t>(o.sample_multiple), static_cast<std::uint32_t>(capacity / o.sample_multiple)};
}

// Writes key and index of a sample in index order.
struct write_length_key {
  pack_padding pad;
  std::uint64_t* first_bad;  // null: all samples are good
  template <class Length, class Key, class Index>
  BALLAST_HD void operator()(std::size_t i, Length read, Key& key, Index& sample) const {
    auto const length = length_or_0(read, pad.longest());
    if (length == 0 && first_bad != nullptr) atomic_min(*first_bad, i);
    key = static_cast<Key>(length == 0 ? 0 : pad.key(length));
    sample = static_cast<Index>(i);
  }
};
// The same in an order of visits.
template <class Length>
struct write_visited_key {
  Length const* lengths;
  std::size_t count;
  write_length_key write;
  template <class Key, class Index>
  BALLAST_HD void operator()(std::size_t j, Index visited, Key& key, Index& sample) const {
    auto const known = visited < count;
    write(known ? static_cast<std::size_t>(visited) : j, known ? lengths[visited] : Length{0}, key, sample);
    sample = known ? visited : 0;
  }
};

// The arrays of the sort, cut from a workspace.
template <class Key, class Index>
struct canonical_order {
  Key* keys = nullptr;  // sorted after `queue`
  Index* samples = nullptr;
  Key* unsorted_keys = nullptr;
  Index* unsorted_samples = nullptr;
  void* temp = nullptr;
  std::size_t bytes = 0;
  int bits = 1;

  // `values` is one above the largest key; `more` are further steps that need memory, which `temp` and `bytes` are enough for.
  template <class On, class... Steps>
  [[nodiscard]] workspace::scratch<On> cut(On on, workspace& memory, std::size_t& all_bytes, std::size_t count, std::uint64_t values,
                                           Steps const&... more) {
    bits = static_cast<int>(std::bit_width(values > 1 ? values - 1 : 1U));
    keys = memory.take<Key>(count);
    samples = memory.take<Index>(count);
    unsorted_keys = memory.take<Key>(count);
    unsorted_samples = memory.take<Index>(count);
    auto const sorts = [&](void* none, std::size_t& need) {
      return on.sort_descending(none, need, unsorted_keys, keys, unsorted_samples, samples, count, bits);
    };
    auto const room = memory.finish<On>(all_bytes, sorts, more...);
    temp = room.memory;
    bytes = room.bytes;
    return room;
  }
  template <class On, class Length>
  [[nodiscard]] typename On::error_type queue(On on, Length const* lengths, std::size_t count, pack_padding pad, Index const* visit,
                                              std::uint64_t* first_bad) {
    using error_type = typename On::error_type;
    write_length_key const write{pad, first_bad};
    auto const error = visit == nullptr
                           ? map_each(on, count, lengths, write, unsorted_keys, unsorted_samples)
                           : map_each(on, count, visit, write_visited_key<Length>{lengths, count, write}, unsorted_keys, unsorted_samples);
    return error != error_type{} ? error : on.sort_descending(temp, bytes, unsorted_keys, keys, unsorted_samples, samples, count, bits);
  }
};

// Calls `f` with a value of the narrowest type that all keys fit.
template <class F>
[[nodiscard]] auto with_key(pack_padding pad, F const& f) {
  return pad.units <= 65536 ? f(std::uint16_t{}) : f(std::uint32_t{});
}

}  // namespace ballast::inline v0_2::gpu::detail
