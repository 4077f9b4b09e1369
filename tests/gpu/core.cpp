// SPDX-License-Identifier: Apache-2.0
// The backends give the same integers: scans, reductions, sorts, atomics and blocks, over counts at the edges of warps, blocks and tiles.
// So do the passes over rows.
#include "support/backends.hpp"

#include <ballast/core/classes.hpp>
#include <ballast/core/random.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/classes.cuh>
#include <ballast/gpu/core/groups.cuh>
#include <ballast/gpu/core/lengths.cuh>
#include <ballast/gpu/core/map_each.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/narrow_float.cuh>
#include <ballast/gpu/core/reduce.cuh>
#include <ballast/gpu/core/row_tiles.cuh>
#include <ballast/gpu/core/rows.cuh>
#include <ballast/gpu/core/scan.cuh>
#include <ballast/gpu/core/search.cuh>
#include <ballast/gpu/core/sort.cuh>
#include <ballast/gpu/core/wide.cuh>
#include <ballast/gpu/core/workspace.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace gpu = ballast::gpu;
using ballast_test::part;

namespace {

struct element_of {
  std::uint64_t const* data;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const { return data[i] % 1000; }
};

struct greater_of {
  BALLAST_HD std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a < b ? b : a; }
};

struct tally {  // [sum, least, greatest]
  std::uint64_t const* data;
  std::uint64_t* out;
  BALLAST_HD void operator()(std::size_t i) const {
    gpu::atomic_add(out[0], data[i]);
    gpu::atomic_min(out[1], data[i]);
    gpu::atomic_max(out[2], data[i]);
  }
};

// Each block sorts its 64 values by taking the least again and again.
struct selection_sort {
  std::uint64_t const* in;
  std::uint64_t* out;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto* const kept = block.template shared<std::uint64_t>();
    block.each([&](unsigned lane) { kept[lane] = in[64 * b + lane] % 1000 * 64 + lane; });
    for (unsigned k = 0; k < 64; ++k) {
      auto const least = block.least([&](unsigned lane) { return kept[lane]; });
      block.each([&](unsigned lane) {
        if (kept[lane] != least) return;
        out[64 * b + k] = least;
        kept[lane] = ~std::uint64_t{0};
      });
    }
  }
};

// The first warp of a block finds the least, the sum and the sums before each of what its lanes have, and all lanes see it.
struct warp_figures {
  std::uint64_t const* in;
  std::uint64_t* out;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto* const kept = block.template shared<std::uint64_t>();
    block.each([&](unsigned lane) { kept[lane] = in[64 * b + lane] >> 2; });
    block.first_warp([&](auto& warp) {
      auto const least = warp.least([&](unsigned lane) { return kept[lane]; });
      auto const total = warp.total([&](unsigned lane) { return kept[lane] % 1000; });
      warp.sums_before([&](unsigned lane) { return kept[lane]; }, [&](unsigned lane, std::uint64_t sum) { kept[32 + lane] = sum; });
      warp.each([&](unsigned lane) { kept[lane] = lane % 2 == 0 ? least : total + warp.lanes(); });
    });
    block.each([&](unsigned lane) { out[64 * b + lane] = kept[lane]; });
  }
};

struct half_and_index {
  template <class In, class A>
  BALLAST_HD void operator()(std::size_t i, In value, A& half) const {
    half = static_cast<A>(value / 2 + static_cast<In>(i));
  }
  template <class In, class A, class B>
  BALLAST_HD void operator()(std::size_t i, In value, A& half, B& index) const {
    (*this)(i, value, half);
    index = static_cast<B>(i);
  }
};

// Maps `count` elements from element `begin` on, so that arrays have every alignment.
template <class In, class A, class B, class On>
void test_map_each(On on, std::size_t begin, std::size_t count) {
  std::vector<In> in(begin + count);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<In>(3 * i);
  std::vector<A> halves(in.size());
  std::vector<B> indices(in.size());
  auto const data = gpu::send(on, in);
  auto const a = gpu::send(on, halves), one = gpu::send(on, halves);
  auto const b = gpu::send(on, indices);
  gpu::check(gpu::map_each(on, count, data.data() + begin, half_and_index{}, a.data() + begin, b.data() + begin), "map_each");
  gpu::check(gpu::map_each<1>(on, count, data.data() + begin, half_and_index{}, one.data() + begin), "map_each");
  for (std::size_t i = 0; i < count; ++i) half_and_index{}(i, in[begin + i], halves[begin + i], indices[begin + i]);
  auto const name = std::to_string(count) + " elements from " + std::to_string(begin);
  ballast_test::expect_equal(gpu::fetch(on, a), halves, "halves of " + name);
  ballast_test::expect_equal(gpu::fetch(on, one), halves, "halves one by one of " + name);
  ballast_test::expect_equal(gpu::fetch(on, b), indices, "indices of " + name);
}

template <class On>
void test_counts(On on, std::size_t n) {
  ballast::splitmix64 random{n};
  std::vector<std::uint64_t> in(n);
  for (auto& x : in) x = random();
  auto const data = gpu::send(on, in);
  gpu::array<std::uint64_t, On> out(on, n);
  auto const at = " of " + std::to_string(n);
  element_of const element{data.data()};

  call(on, "sum", [&](void* temp, std::size_t& bytes) {
    return on.exclusive_sum(temp, bytes, gpu::mapped(element), out.data(), n, std::uint64_t{5});
  });
  std::vector<std::uint64_t> wanted(n);
  for (std::size_t i = 0; i < n; ++i) wanted[i] = i == 0 ? 5 : wanted[i - 1] + in[i - 1] % 1000;
  ballast_test::expect_equal(gpu::fetch(on, out), wanted, "exclusive sum" + at);

  call(on, "scan",
       [&](void* temp, std::size_t& bytes) { return on.inclusive_scan(temp, bytes, gpu::mapped(element), out.data(), n, greater_of{}); });
  for (std::size_t i = 0; i < n; ++i) wanted[i] = (std::max)(i == 0 ? 0 : wanted[i - 1], in[i] % 1000);
  ballast_test::expect_equal(gpu::fetch(on, out), wanted, "greatest so far" + at);

  gpu::array<std::uint64_t, On> three(on, 3);
  call(on, "reduce", [&](void* temp, std::size_t& bytes) {
    return on.reduce(temp, bytes, gpu::mapped(element), three.data(), n, std::uint64_t{7}, greater_of{});
  });
  ballast_test::expect(gpu::fetch(on, three)[0] == (n == 0 ? 7 : (std::max)(std::uint64_t{7}, wanted[n - 1])), "greatest" + at);

  std::vector<std::uint64_t> const start{0, ~std::uint64_t{0}, 0};
  gpu::check(on.upload(three.data(), start.data(), 3), "upload");
  gpu::check(on.for_each(n, tally{data.data(), three.data()}), "for_each");
  auto figures = start;
  for (auto const x : in) figures = {figures[0] + x, (std::min)(figures[1], x), (std::max)(figures[2], x)};
  ballast_test::expect_equal(gpu::fetch(on, three), figures, "atomics" + at);
}

template <class Key, class On>
void test_sort(On on, std::size_t n, int bits) {
  ballast::splitmix64 random{n + static_cast<unsigned>(bits)};
  std::vector<Key> keys(n);
  for (auto& k : keys) k = static_cast<Key>(random() >> (64 - bits));
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  auto const keys_in = gpu::send(on, keys);
  auto const values_in = gpu::send(on, order);
  gpu::array<Key, On> const keys_out(on, n);
  gpu::array<std::uint32_t, On> const values_out(on, n);
  call(on, "sort", [&](void* temp, std::size_t& bytes) {
    return on.sort_descending(temp, bytes, keys_in.data(), keys_out.data(), values_in.data(), values_out.data(), n, bits);
  });
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] != keys[b] ? keys[a] > keys[b] : a < b; });
  ballast_test::expect_equal(gpu::fetch(on, values_out), order, "order of " + std::to_string(n) + " keys of " + std::to_string(bits));
  for (std::size_t i = 0; i < n; ++i) order[i] = static_cast<std::uint32_t>(keys[order[i]]);
  ballast_test::expect_equal(gpu::fetch(on, keys_out), order, "keys");
}

template <class On>
void test_blocks(On on) {
  constexpr std::size_t blocks = 37;
  ballast::splitmix64 random{37};
  std::vector<std::uint64_t> in(64 * blocks);
  for (auto& x : in) x = random();
  auto const data = gpu::send(on, in);
  gpu::array<std::uint64_t, On> const out(on, in.size());
  gpu::check(on.blocks(blocks, 64, 64 * sizeof(std::uint64_t), warp_figures{data.data(), out.data()}), "first_warp");
  auto figures = in;
  for (auto& x : figures) x >>= 2;
  for (std::size_t b = 0; b < blocks; ++b) {
    auto const first = figures.begin() + static_cast<std::ptrdiff_t>(64 * b);
    auto const least = *std::min_element(first, first + 32);
    std::uint64_t total = 32;
    for (std::ptrdiff_t lane = 0; lane < 32; ++lane) total += first[lane] % 1000;
    for (std::ptrdiff_t lane = 0; lane < 32; ++lane) first[32 + lane] = lane == 0 ? 0 : first[31 + lane] + first[lane - 1];
    for (std::ptrdiff_t lane = 0; lane < 32; ++lane) first[lane] = lane % 2 == 0 ? least : total;
  }
  ballast_test::expect_equal(gpu::fetch(on, out), figures, "first_warp");
  gpu::check(on.blocks(blocks, 64, 64 * sizeof(std::uint64_t), selection_sort{data.data(), out.data()}), "blocks");
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t k = 0; k < 64; ++k) in[64 * b + k] = in[64 * b + k] % 1000 * 64 + k;
    std::sort(in.begin() + static_cast<std::ptrdiff_t>(64 * b), in.begin() + static_cast<std::ptrdiff_t>(64 * b + 64));
  }
  ballast_test::expect_equal(gpu::fetch(on, out), in, "blocks");
}

struct errors_only {
  using error_type = int;
  static constexpr int invalid_value = 1;
};
void test_workspace() {
  auto const step = [](std::size_t wanted, int error) {
    return [=](void* memory, std::size_t& need) {
      need = wanted;
      return memory == nullptr ? error : 9;
    };
  };
  std::size_t bytes = 0;
  auto const empty = gpu::workspace(nullptr).finish<errors_only>(bytes);
  ballast_test::expect(empty.ends && empty.error == 0 && bytes == 1, "nothing is taken");
  gpu::workspace counting(nullptr);
  ballast_test::expect(counting.take<int>(1) == nullptr && counting.take<char>(257) == nullptr, "a workspace without memory");
  auto const counted = counting.finish<errors_only>(bytes, step(3, 0), step(300, 0), step(1, 0));
  ballast_test::expect(counted.ends && counted.error == 0 && bytes == 1280, "aligned to 256, and the largest step");
  alignas(256) std::byte memory[1280];
  auto const given = [&](std::size_t size, auto const&... steps) {
    gpu::workspace cut(memory);
    ballast_test::expect(static_cast<void*>(cut.take<int>(1)) == memory && static_cast<void*>(cut.take<char>(257)) == memory + 256,
                         "the same cuts");
    return cut.finish<errors_only>(size, steps...);
  };
  auto const works = given(1280, step(3, 0), step(300, 0));
  ballast_test::expect(!works.ends && works.error == 0 && works.memory == memory + 768 && works.bytes == 300, "memory of the steps");
  auto const less = given(1279, step(300, 0));
  ballast_test::expect(less.ends && less.error == errors_only::invalid_value, "too few bytes");
  auto const failed = given(1280, step(3, 0), step(3, 7), step(3, 8));
  ballast_test::expect(failed.ends && failed.error == 7, "the first step that fails");
}

struct is_above {
  std::uint64_t const* values;
  std::uint64_t value;
  BALLAST_HD bool operator()(std::uint64_t i) const { return values[i] > value; }
};
void test_search() {
  std::vector<std::uint64_t> const values{2, 2, 5, 9, 9, 9, 12};
  for (std::size_t count = 0; count <= values.size(); ++count)
    for (std::uint64_t value = 0; value < 14; ++value) {
      auto const end = values.begin() + static_cast<std::ptrdiff_t>(count);
      auto const wanted = static_cast<std::uint64_t>(std::upper_bound(values.begin(), end, value) - values.begin());
      ballast_test::expect(gpu::first_above(values.data(), count, value) == wanted, "the first above " + std::to_string(value));
      ballast_test::expect(gpu::first_where(count, is_above{values.data(), value}) == wanted, "the first where");
    }
}

void test_lengths() {
  using ballast_test::expect;
  expect(gpu::length_or_0(std::int64_t{-1}, 9) == 0 && gpu::length_or_0(0, 9) == 0 && gpu::length_or_0(9, 9) == 9, "lengths in range");
  expect(gpu::length_or_0(10, 9) == 0 && gpu::length_or_0(~std::uint64_t{0}, 9) == 0 && gpu::length_or_0(1, 0) == 0, "and above");
  gpu::require_on_device(gpu::longest_on_device, "capacity");
  ballast_test::expect_refusal("capacity = 16777217 exceeds 16777216, the most for device lengths",
                               [] { gpu::require_on_device(gpu::longest_on_device + 1, "capacity"); });
}

template <class On>
void test_call(On on) {
  std::vector<std::int32_t> const values{3, 1, 4, 1, 5};
  auto sent = gpu::send(on, values);
  ballast_test::expect_equal(gpu::fetch(on, sent), values, "there and back");
  ballast_test::expect_equal(gpu::fetch(on, sent.data() + 1, 3), std::vector<std::int32_t>{1, 4, 1}, "a part");
  ballast_test::expect(gpu::fetch_one(on, sent.data() + 4) == 5, "one");
  sent.shrink(2);
  ballast_test::expect_equal(gpu::fetch(on, sent), std::vector<std::int32_t>{3, 1}, "shrunk");
  gpu::groups<On> const sets{gpu::send(on, std::vector<std::uint64_t>{0, 2, 5}), {on, 5}};
  ballast_test::expect(sets.size() == 2 && gpu::groups<On>{{on, 0}, {on, 0}}.size() == 0, "groups");
  try {
    call(on, "a call", [](void*, std::size_t&) { return On::invalid_value; });
    ballast_test::expect(false, "an error that is not thrown");
  } catch (gpu::gpu_error const& e) {
    ballast_test::expect(e.code() == static_cast<int>(On::invalid_value), e.what());
  }
}

template <class On>
void test_classes(On on, std::size_t n, std::uint64_t most) {
  std::vector<std::int32_t> lengths(n);
  ballast::splitmix64 random{7};
  for (auto& l : lengths) l = static_cast<std::int32_t>(1 + random() % most);
  auto const there = gpu::send(on, lengths);
  ballast_test::expect(gpu::fold(on, there.data(), lengths.size(), static_cast<std::int64_t>(most)) == ballast::fold(lengths),
                       "fold to " + std::to_string(most));
  auto const longest = *std::max_element(lengths.begin(), lengths.end());
  auto const found = gpu::count_lengths(on, there.data(), lengths.size(), longest - 1);
  auto const bad = static_cast<std::uint64_t>(std::find(lengths.begin(), lengths.end(), longest) - lengths.begin());
  ballast_test::expect(found.first_bad == bad && found.counts.size() == static_cast<std::size_t>(longest) && found.counts[0] > 0,
                       "the first length that is not allowed");
  ballast_test::expect_refusal(
      "lengths[" + std::to_string(bad) + "] = " + std::to_string(longest) + " must be in 1 … " + std::to_string(longest - 1),
      [&] { (void)gpu::fold(on, there.data(), lengths.size(), longest - 1); });
  ballast_test::expect_refusal("longest = 0 must be positive", [&] { (void)gpu::fold(on, there.data(), lengths.size(), 0); });
}

// What a visitor sees at a place, as one number; and how often each place is visited.
struct note_place {
  std::uint64_t const* data;
  std::uint64_t* out;
  std::uint64_t* visits;
  std::size_t length;
  [[nodiscard]] BALLAST_HD std::uint64_t read(gpu::row_place const& place) const { return data[place.at]; }
  BALLAST_HD void operator()(gpu::row_place const& place, std::uint64_t value) const {
    auto const at = place.row * length + place.at;
    out[at] = value + (place.segment * 1'000'003 + place.begin) * 1'000'003 + place.end + (place.inside ? 1U << 31 : 0U);
    gpu::atomic_add(visits[at], std::uint64_t{1});
  }
};
// The same for visitors that write neighbours at once.
template <class T>
struct write_place {
  using output = T;
  struct of_segment {
    std::uint64_t code;
    BALLAST_HD void operator()(gpu::row_place const& place, std::uint64_t value, T& to) const {
      to = static_cast<T>(value + code + place.at);
    }
  };
  std::uint64_t const* data;
  T* out;
  std::size_t length;
  [[nodiscard]] BALLAST_HD std::uint64_t read(gpu::row_place const& place) const { return data[place.at]; }
  template <unsigned N>
  BALLAST_HD void read(gpu::row_place const& place, std::uint64_t* to) const {
    gpu::load<N>(data + place.at, to);
  }
  [[nodiscard]] BALLAST_HD bool wide(std::size_t) const { return gpu::is_wide(data); }
  [[nodiscard]] BALLAST_HD of_segment in(gpu::row_place const& place) const {
    return {(place.segment * 1'000'003 + place.begin) * 1'000'003 + place.end + (place.inside ? 1U << 31 : 0U)};
  }
  [[nodiscard]] BALLAST_HD T* target(std::size_t row) const { return out + row * length; }
};
struct sum_values {
  std::uint64_t const* data;
  std::uint64_t* sums;
  [[nodiscard]] BALLAST_HD std::uint64_t read(gpu::row_place const& place) const { return data[place.at]; }
  BALLAST_HD std::int64_t operator()(gpu::row_place const& place, std::uint64_t value) const {
    return place.inside ? static_cast<std::int64_t>(value >> 9) - (std::int64_t{1} << 54) : 0;
  }
  template <unsigned N>
  BALLAST_HD void read(gpu::row_place const& place, std::uint64_t* to) const {
    gpu::load<N>(data + place.at, to);
  }
  [[nodiscard]] BALLAST_HD bool wide(std::size_t) const { return gpu::is_wide(data); }
  BALLAST_HD void emit(std::size_t segment, gpu::two_words sum) const {
    gpu::atomic_add(sums[2 * segment], static_cast<std::uint64_t>(sum.high));
    gpu::atomic_add(sums[2 * segment + 1], static_cast<std::uint64_t>(sum.low));
  }
};

// Sums that also write their summands.
struct sum_and_write : sum_values {
  using output = std::uint32_t;
  struct of_segment {
    sum_and_write const* term;
    BALLAST_HD std::int64_t operator()(gpu::row_place const& place, std::uint64_t value, std::uint32_t& to) const {
      to = static_cast<std::uint32_t>(value + place.begin);
      return static_cast<sum_values const&>(*term)(place, value);
    }
  };
  std::uint32_t* out;
  [[nodiscard]] BALLAST_HD of_segment in(gpu::row_place const&) const { return {this}; }
  [[nodiscard]] BALLAST_HD std::uint32_t* target(std::size_t) const { return out; }
};

// What visitors write that write neighbours at once, from `skip` elements after an aligned begin on.
template <class T, class On, class Bounds>
void test_wide_visits(On on, Bounds const& bounds, std::vector<std::uint64_t> const& data, std::vector<std::uint64_t> const& starts,
                      std::size_t skip, std::vector<std::uint64_t> const& wanted, std::string const& name) {
  auto const length = data.size();
  auto shifted = data;
  shifted.insert(shifted.begin(), skip, 7);
  auto const data_there = gpu::send(on, shifted), starts_there = gpu::send(on, starts);
  auto const out = gpu::send(on, std::vector<T>(2 * length + skip));
  write_place<T> const visitor{data_there.data() + skip, out.data() + skip, length};
  gpu::check(gpu::visit_rows(on, gpu::same_bounds<Bounds>{bounds}, 2, length, starts_there.data(), visitor), "visit_rows");
  auto const found = gpu::fetch(on, out);
  for (std::size_t i = 0; i < 2 * length; ++i)
    ballast_test::expect(found[i + skip] == static_cast<T>(wanted[i] + i % length), name + "written at " + std::to_string(i));
}

// Two rows of the same segments of 0 … `most` places, with `rest` places behind them.
template <class On>
void test_row_tiles(On on, std::size_t segments, std::uint64_t most, std::size_t rest) {
  ballast::splitmix64 random{segments + most};
  std::vector<std::uint64_t> offsets{0};
  for (std::size_t i = 0; i < segments; ++i) offsets.push_back(offsets.back() + random() % (most + 1));
  auto const length = static_cast<std::size_t>(offsets.back()) + rest;
  std::vector<std::uint64_t> data(length), notes(2 * length), once(length), sums(2 * segments);
  for (auto& x : data) x = random();
  std::size_t segment = 0;
  for (std::size_t at = 0; at < length; ++at) {
    while (segment < segments && offsets[segment + 1] <= at) ++segment;
    auto const inside = segment < segments;
    gpu::row_place const place{0, at, segment, offsets[segment], inside ? offsets[segment + 1] : length, inside};
    note_place{data.data(), notes.data(), once.data(), length}(place, data[at]);
    notes[length + at] = notes[at];
    if (!inside) continue;
    auto const term = sum_values{data.data(), nullptr}(place, data[at]);
    sums[2 * segment] += static_cast<std::uint64_t>(term >> 32);
    sums[2 * segment + 1] += static_cast<std::uint64_t>(term & 0xffffffff);
  }
  auto const name = std::to_string(segments) + " segments of at most " + std::to_string(most) + ": ";
  auto const offsets_there = gpu::send(on, offsets);
  auto const data_there = gpu::send(on, data);
  gpu::offset_bounds<std::uint64_t> const bounds{offsets_there.data(), segments};
  auto const out = gpu::send(on, std::vector<std::uint64_t>(2 * length)), visits = gpu::send(on, std::vector<std::uint64_t>(2 * length));
  gpu::check(gpu::visit_rows(on, gpu::same_bounds<decltype(bounds)>{bounds}, 2, length,
                             note_place{data_there.data(), out.data(), visits.data(), length}),
             "visit_rows");
  ballast_test::expect_equal(gpu::fetch(on, out), notes, name + "places");
  ballast_test::expect_equal(gpu::fetch(on, visits), std::vector<std::uint64_t>(2 * length, 1), name + "visits");
  auto const words = gpu::tile_words(2, length);
  gpu::array<std::uint64_t, On> const starts(on, words), bad(on, 1);
  gpu::check(gpu::check_each(on, words, bad.data(), gpu::find_tiles(gpu::same_bounds<decltype(bounds)>{bounds}, length, starts.data())),
             "check_each");
  ballast_test::expect(gpu::fetch_one(on, bad.data()) == gpu::none_bad, name + "a fresh word");
  auto const in_tiles = gpu::fetch(on, starts);
  for (std::size_t const skip : {0U, 1U}) {
    test_wide_visits<std::uint64_t>(on, bounds, data, in_tiles, skip, notes, name);
    test_wide_visits<std::uint32_t>(on, bounds, data, in_tiles, skip, notes, name);
  }
  auto const one_form = [&](std::vector<std::uint64_t> of) {
    for (std::size_t i = 0; i < segments; ++i) {
      of[2 * i] += of[2 * i + 1] >> 32;
      of[2 * i + 1] &= 0xffffffff;
    }
    return of;
  };
  for (std::size_t const skip : {0U, 1U}) {
    auto shifted = data;
    shifted.insert(shifted.begin(), skip, 7);
    auto const from = gpu::send(on, shifted);
    auto const searched = gpu::send(on, std::vector<std::uint64_t>(2 * segments)),
               with = gpu::send(on, std::vector<std::uint64_t>(2 * segments));
    auto const written = gpu::send(on, std::vector<std::uint32_t>(length));
    sum_values const term{from.data() + skip, searched.data()};
    gpu::check(gpu::sum_segments(on, bounds, length, term), "sum_segments");
    gpu::check(gpu::sum_segments(on, bounds, length, starts.data(), sum_and_write{{from.data() + skip, with.data()}, written.data()}),
               "sum_segments");
    ballast_test::expect_equal(one_form(gpu::fetch(on, searched)), one_form(sums), name + "sums");
    ballast_test::expect_equal(one_form(gpu::fetch(on, with)), one_form(sums), name + "sums beside outputs");
    auto const all = gpu::fetch(on, written);
    segment = 0;
    for (std::size_t at = 0; at < length; ++at) {
      while (segment < segments && offsets[segment + 1] <= at) ++segment;
      ballast_test::expect(all[at] == static_cast<std::uint32_t>(data[at] + offsets[segment]), name + "output " + std::to_string(at));
    }
  }
}

double value_of(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  auto const fraction = static_cast<int>(bits & ((1U << fraction_bits) - 1));
  auto const exponent = static_cast<int>(bits >> fraction_bits & ((1U << exponent_bits) - 1)), bias = (1 << (exponent_bits - 1)) - 1;
  return exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                       : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
}
// Every number of 16 bits is the double of its exponent and fraction; what lies between two becomes the nearer one.
template <class Number>
void test_narrow(int exponent_bits, int fraction_bits) {
  using ballast_test::expect;
  auto const infinite = ((1U << exponent_bits) - 1) << fraction_bits;
  for (std::uint32_t bits = 0; bits < 0x8000; ++bits) {
    auto const number = __builtin_bit_cast(Number, static_cast<std::uint16_t>(bits));
    auto const negative = __builtin_bit_cast(Number, static_cast<std::uint16_t>(bits | 0x8000U));
    auto const at = "16 bits " + std::to_string(bits);
    auto const x = static_cast<double>(number);
    if (bits > infinite) {
      expect(std::isnan(x) && std::isnan(static_cast<double>(Number(x))), at);
      continue;
    }
    expect(bits == infinite ? std::isinf(x) : x == value_of(bits, exponent_bits, fraction_bits), at);
    expect(static_cast<double>(negative) == -x && static_cast<float>(number) == static_cast<float>(x), at + ", negative");
    expect(Number(x).bits == bits && Number(-x).bits == (bits | 0x8000U), at + ", there and back");
    if (bits >= infinite) continue;
    auto const middle =
        static_cast<float>((x + value_of(bits + 1, exponent_bits, fraction_bits)) / 2);  // exact; that of 2^k - 1 is infinite
    expect(Number(middle).bits == bits + (bits & 1U), at + ", the middle");
    expect(Number(std::nextafter(middle, 0.0F)).bits == bits &&
               Number(-std::nextafter(middle, std::numeric_limits<float>::infinity())).bits == ((bits + 1) | 0x8000U),
           at + ", beside the middle");
  }
}

}  // namespace

int main(int argc, char** argv) {
  test_workspace();
  test_search();
  test_lengths();
  test_narrow<gpu::bfloat16>(8, 7);
  test_narrow<gpu::float16>(5, 10);
  return ballast_test::run_everywhere(  //
      argc, argv,
      part{"primitives",
           [](auto on) {
             for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 255U, 256U, 257U, 4096U, 100'003U}) {
               test_counts(on, n);
               test_sort<std::uint16_t>(on, n, 13);
               test_sort<std::uint32_t>(on, n, 18);
             }
             test_blocks(on);
             for (std::size_t begin = 0; begin < 5; ++begin)
               for (std::size_t const n : {0U, 1U, 3U, 4U, 5U, 1026U}) {
                 test_map_each<std::int32_t, std::uint16_t, std::uint32_t>(on, begin, n);
                 test_map_each<std::uint64_t, std::uint64_t, std::uint8_t>(on, begin, n);
               }
             test_call(on);
           }},
      part{"classes", [](auto on) { test_classes(on, 70'000, 8192); }},
      part{"classes_to_131072",  // at the ends of the shared memory that a block has unasked, and may have on a device; and beyond it
           [](auto on) {
             for (std::uint64_t const most : {12'000U, 57'599U, 57'600U, 57'856U, 131'072U}) test_classes(on, 20'000, most);
           }},
      part{"row_tiles", [](auto on) {
             test_row_tiles(on, 0, 0, 100);
             test_row_tiles(on, 1, 9000, 0);
             test_row_tiles(on, 3000, 3, 5000);
             test_row_tiles(on, 40, 500, 1);
             test_row_tiles(on, 20'000, 1, 3);  // more segments in a tile than places
             test_row_tiles(on, 7, 5000, 77);
           }});
}
