// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/scan.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/gpu/packing/vector/measures.cuh>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

// Sorts samples of several measures into classes: one stable sort by a key of all measures, and a scan that numbers the classes.

namespace ballast::inline v0_2::gpu::detail {

// A sample as one number: measure m counts in units of the product of all later `sizes`, which are one above the capacities. `values` is
// the product of all sizes, and the key of a sample that exceeds a capacity; 0 if the keys have more than 63 bits.
struct measure_keys {
  std::uint64_t size[most_measures] = {1, 1, 1, 1};
  std::uint64_t values = 1;
  explicit measure_keys(std::span<std::int64_t const> capacity) {
    for (std::size_t m = 0; m < capacity.size() && values != 0; ++m) {
      size[m] = static_cast<std::uint64_t>(capacity[m]) + 1;
      values = values > (std::uint64_t{1} << 63) / size[m] ? 0 : values * size[m];
    }
  }
};

// Words that the sort leaves for the host: the first bad sample, the number of classes, and the low and the high half of the sum of each
// measure over samples that exceed a capacity.
struct class_words {
  static constexpr std::size_t first_bad = 0, classes = 1, sums = 2, all = sums + 2 * most_measures;
};

template <class Value, class Key, class Index>
struct write_class_keys {
  sample_measures<Value> samples;
  measure_keys to;
  bool lists;  // whether a sample may exceed a capacity
  Key* keys;   // complements, because the sort descends
  Index* order;
  std::uint64_t* words;
  BALLAST_HD void operator()(std::size_t i) const {
    constexpr auto most = ~std::uint64_t{0} >> 1;
    using number = std::conditional_t<(sizeof(Key) < 4), std::uint32_t, Key>;  // products of 16 bits would be signed
    number key = 0;
    bool bad = false, exceeds = false, positive = false;
    for (std::size_t m = 0; m < most_measures; ++m) {
      if (m == samples.measures) break;
      auto const value = static_cast<std::uint64_t>(samples.columns[m][i]);  // a negative one becomes larger than `most`
      bad = bad || value > most;
      exceeds = exceeds || value >= to.size[m];
      positive = positive || value != 0;
      key = key * static_cast<number>(to.size[m]) + static_cast<number>(value);
    }
    if (bad || !positive || (exceeds && !lists)) {
      atomic_min(words[class_words::first_bad], i);
      exceeds = true;
    } else if (exceeds) {
      for (std::size_t m = 0; m < most_measures && m < samples.measures; ++m) {
        auto const value = static_cast<std::uint64_t>(samples.columns[m][i]);
        atomic_add(words[class_words::sums + 2 * m], value & 0xffffffffU);
        atomic_add(words[class_words::sums + 2 * m + 1], value >> 32);
      }
    }
    keys[i] = exceeds ? Key{0} : static_cast<Key>(static_cast<number>(to.values) - key);
    order[i] = static_cast<Index>(i);
  }
};

// 1 at the first sample of a class.
template <class Key, class Index>
struct begins_class {
  Key const* keys;
  BALLAST_HD Index operator()(std::size_t p) const { return p == 0 || keys[p] != keys[p - 1] ? Index{1} : Index{0}; }
};

template <class Key, class Index>
struct write_classes {
  begins_class<Key, Index> begins;
  Index const* number;
  std::size_t count;
  Key* keys;     // of each class
  Index* first;  // position of its first sample
  std::uint64_t* words;
  BALLAST_HD void operator()(std::size_t p) const {
    auto const c = number[p];
    auto const one = begins(p);
    if (one != 0) {
      keys[c] = begins.keys[p];
      first[c] = static_cast<Index>(p);
    }
    if (p + 1 == count) words[class_words::classes] = std::uint64_t{c} + one;
  }
};

// The arrays of the sort, cut from a workspace. After `queue`, the classes are where the samples were before.
template <class Key, class Index>
struct class_order : canonical_order<Key, Index> {
  using sorted = canonical_order<Key, Index>;
  using sorted::keys, sorted::samples, sorted::unsorted_keys, sorted::unsorted_samples;
  Index* number = nullptr;
  std::uint64_t* words = nullptr;

  template <class On>
  [[nodiscard]] auto scan(On on, void* some, std::size_t& need, std::size_t count) const {
    return on.exclusive_sum(some, need, mapped(begins_class<Key, Index>{keys}), number, count, Index{0});
  }
  template <class On>
  [[nodiscard]] workspace::scratch<On> cut(On on, workspace& memory, std::size_t& all_bytes, std::size_t count, std::uint64_t values) {
    number = memory.take<Index>(count);
    words = memory.take<std::uint64_t>(class_words::all);
    return sorted::cut(on, memory, all_bytes, count, values, [&](void* none, std::size_t& need) { return scan(on, none, need, count); });
  }
  template <class On, class Value>
  [[nodiscard]] typename On::error_type queue(On on, sample_measures<Value> const& from, measure_keys const& to, bool lists) {
    using error_type = typename On::error_type;
    auto const count = from.count;
    auto error = on.fill(words, 0, class_words::all * sizeof(std::uint64_t));
    auto const then = [&](auto const& step) {
      if (error == error_type{}) error = step();
    };
    auto* const classes = unsorted_keys;
    auto* const first = unsorted_samples;
    then([&] { return on.fill(words + class_words::first_bad, 0xff, sizeof(std::uint64_t)); });
    then([&] { return on.for_each(count, write_class_keys<Value, Key, Index>{from, to, lists, classes, first, words}); });
    then([&] { return on.sort_descending(this->temp, this->bytes, classes, keys, first, samples, count, this->bits); });
    then([&] { return scan(on, this->temp, this->bytes, count); });
    then([&] { return on.for_each(count, write_classes<Key, Index>{{keys}, number, count, classes, first, words}); });
    return error;
  }
};

// Calls `f` with a value of the narrowest type that all keys fit.
template <class F>
[[nodiscard]] auto with_class_key(measure_keys const& to, F const& f) {
  if (to.values < (std::uint64_t{1} << 16)) return f(std::uint16_t{});
  return to.values < (std::uint64_t{1} << 32) ? f(std::uint32_t{}) : f(std::uint64_t{});
}

}  // namespace ballast::inline v0_2::gpu::detail
