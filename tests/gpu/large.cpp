// SPDX-License-Identifier: Apache-2.0
// Sizes that the other tests do not reach: on a device, 10^8 samples as on the host, and more than 2^31 against what every result must
// hold. Elsewhere the same with one in ten thousand samples.
#include "support/backends.hpp"

#include <ballast/core/config.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/reduce.cuh>
#include <ballast/gpu/cost/pack_costs.cuh>
#include <ballast/gpu/loss/fixed_point_sum.cuh>
#include <ballast/gpu/packing/best_fit_decreasing.cuh>
#include <ballast/gpu/packing/next_fit.cuh>
#include <ballast/gpu/packing/run_length.cuh>
#include <ballast/gpu/packing/windowed.cuh>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/windowed.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpu = ballast::gpu;
using ballast::gpu::fetch;
using ballast_test::expect;
using ballast_test::expect_equal;
using ballast_test::part;

namespace {

#if defined(__CUDACC__)
constexpr std::size_t unit = 1'000'000;
bool once(ballast_test::on_device on) { return on.stream == nullptr; }  // the default stream is enough
#else
constexpr std::size_t unit = 100;
template <class On>
bool once(On) {
  return true;
}
#endif

// Bell-shaped over octaves.
struct draw_length {
  std::uint32_t *lengths, capacity;
  BALLAST_HD void operator()(std::size_t i) const {
    ballast::splitmix64 random(i);
    auto bits = random();
    std::uint64_t power = 1;
    for (bits &= 0xffff; bits != 0; bits &= bits - 1) power *= 2;
    auto const length = power + random() % power;
    lengths[i] = static_cast<std::uint32_t>(length < capacity ? length : capacity);
  }
};
template <class On>
gpu::array<std::uint32_t, On> draw_lengths(On on, std::size_t n, std::int64_t capacity) {
  gpu::array<std::uint32_t, On> lengths(on, n);
  gpu::check(on.for_each(n, draw_length{lengths.data(), static_cast<std::uint32_t>(capacity)}), "draw_length");
  return lengths;
}

template <class On>
void test_like_host(On on, std::size_t n, std::int64_t capacity) {
  auto const lengths = draw_lengths(on, n, capacity);
  auto const host = fetch(on, lengths);
  ballast::packing_options const o{.capacity = capacity};
  {
    auto const found = gpu::best_fit_decreasing(on, lengths.data(), n, o);
    auto const wanted = ballast::best_fit_decreasing(host, o);
    expect_equal(fetch(on, found.packs.offsets), wanted.packs.offsets, "offsets of best-fit decreasing");
    expect_equal(fetch(on, found.packs.members), wanted.packs.members, "members of best-fit decreasing");
  }
  expect_equal(fetch(on, gpu::next_fit(on, lengths.data(), n, o).offsets), ballast::next_fit(host, o).packs.offsets, "offsets of next fit");
  if (n <= 10 * unit) {
    auto const wanted = ballast::windowed_best_fit_decreasing(host, 1000, o).packs.members;
    expect_equal(fetch(on, gpu::windowed_best_fit_decreasing(on, lengths.data(), n, 1000, o).members), wanted, "members of windows");
    ballast::packing_options const all{.capacity = capacity / 8, .pack_count_multiple = 1000, .oversize = ballast::oversize::split};
    auto const found = gpu::best_fit_decreasing(on, lengths.data(), n, all);
    auto const split = ballast::best_fit_decreasing(host, all);
    expect_equal(fetch(on, found.packs.offsets), split.packs.offsets, "offsets of split samples");
    expect_equal(fetch(on, found.packs.members), split.packs.members, "members of split samples");
    expect(fetch(on, found.pieces) == split.pieces, "pieces");
  }
}

struct mark_member {
  std::uint32_t const* members;
  std::uint32_t* seen;
  BALLAST_HD void operator()(std::size_t i) const { gpu::atomic_add(seen[members[i]], std::uint32_t{1}); }
};
struct not_seen_once {
  std::uint32_t const* seen;
  BALLAST_HD std::uint64_t operator()(std::size_t i) const { return seen[i] == 1 ? 0 : 1; }
};
struct outside {
  std::int64_t const* load;
  std::int64_t capacity;
  BALLAST_HD std::uint64_t operator()(std::size_t p) const { return load[p] <= 0 || load[p] > capacity ? 1 : 0; }
};
struct plus {
  BALLAST_HD std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a + b; }
};
template <class On, class F>
std::uint64_t sum_of(On on, F f, std::size_t n) {
  gpu::array<std::uint64_t, On> const sum(on, 1);
  call(on, "sum_of",
       [&](void* temp, std::size_t& bytes) { return on.reduce(temp, bytes, gpu::mapped(f), sum.data(), n, std::uint64_t{0}, plus{}); });
  return gpu::fetch_one(on, sum.data());
}

// Every sample is in one pack, no pack exceeds the capacity, and there are as many packs as were counted.
template <class On>
void test_packing(On on, std::size_t n, std::int64_t capacity) {
  auto const lengths = draw_lengths(on, n, capacity);
  auto const found = gpu::best_fit_decreasing(on, lengths.data(), n, {.capacity = capacity});
  auto const packs = found.packs.size();
  expect(gpu::count_packs(on, lengths.data(), n, {.capacity = capacity}).count == found.count &&
             packs == static_cast<std::size_t>(found.count.value),
         "as many packs as counted");
  {
    gpu::array<std::uint32_t, On> const seen(on, n);
    gpu::check(on.fill(seen.data(), 0, 4 * n), "fill");
    gpu::check(on.for_each(n, mark_member{found.packs.members.data(), seen.data()}), "mark_member");
    expect(sum_of(on, not_seen_once{seen.data()}, n) == 0, "every sample once");
  }
  gpu::array<std::int64_t, On> const load(on, packs);
  gpu::packed_lengths<std::uint32_t> const in{.lengths = lengths.data(),
                                              .samples = n,
                                              .members = found.packs.members.data(),
                                              .placed = n,
                                              .offsets = found.packs.offsets.data(),
                                              .packs = packs};
  gpu::pack_costs(on, in, capacity, ballast::token_cost{}, load.data());
  expect(sum_of(on, outside{load.data(), capacity}, packs) == 0, "no pack above the capacity");
}

struct write_numbers {
  float* numbers;
  BALLAST_HD void operator()(std::size_t i) const { numbers[i] = i % 2 == 0 ? 0.5F : 0.25F; }
};
// Numbers whose sum is known, in three sequences of which the second crosses 2^31.
template <class On>
void test_sums(On on, std::size_t n) {
  gpu::array<float, On> const numbers(on, n);
  gpu::check(on.for_each(n, write_numbers{numbers.data()}), "write_numbers");
  auto const tokens = static_cast<std::int64_t>(n);
  auto const cu = gpu::send(on, std::vector<std::int64_t>{0, tokens / 4 * 2, tokens - 2, tokens});
  auto const sums = fetch(on, gpu::fixed_point_sums(on, numbers.data(), n, cu.data(), 3));
  std::vector<double> found;
  for (auto const& s : sums) found.push_back(s.value());
  auto const pairs = [](std::int64_t count) { return 0.75 * static_cast<double>(count / 2); };
  auto const first = pairs(tokens / 4 * 2), second = pairs(tokens - 2 - tokens / 4 * 2);
  expect_equal(found, std::vector<double>{first, second, 0.75, first + second + 0.75}, "sums, and that of all");
}

}  // namespace

int main(int argc, char** argv) {
  auto const like_host = [](std::size_t units, std::int64_t capacity) {
    return [=](auto on) {
      if (once(on)) test_like_host(on, units * unit, capacity);
    };
  };
  auto const packing = [](std::size_t units) {
    return [=](auto on) {
      if (once(on)) test_packing(on, units * unit, 8192);
    };
  };
  auto const sums = [](auto on) {
    if (once(on)) test_sums(on, 2200 * unit);
  };
  return ballast_test::run_everywhere(argc, argv, part{"ten_million_as_on_the_host", like_host(10, 8192)},
                                      part{"hundred_million_as_on_the_host", like_host(100, 8192)},
                                      part{"long_lengths_as_on_the_host", like_host(25, 131'072)}, part{"billion", packing(1000)},
                                      part{"above_2_31", packing(2200)}, part{"sums_above_2_31", sums});
}
