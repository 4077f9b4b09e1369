// SPDX-License-Identifier: Apache-2.0
// The backends give the same integers: scans, reductions, sorts, atomics and blocks, over counts at the edges of warps, blocks and tiles.
#include "support/backends.hpp"

#include <ballast/core/random.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/workspace.cuh>

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace gpu = ballast::gpu;

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

template <class On>
void test_counts(On on, std::size_t n) {
  ballast::splitmix64 random{n};
  std::vector<std::uint64_t> in(n);
  for (auto& x : in) x = random();
  auto const data = gpu::send(on, in);
  gpu::array<std::uint64_t, On> out(on, n);
  auto const at = " of " + std::to_string(n);
  element_of const element{data.data()};

  gpu::call(on, "sum", [&](void* temp, std::size_t& bytes) {
    return on.exclusive_sum(temp, bytes, gpu::mapped(element), out.data(), n, std::uint64_t{5});
  });
  std::vector<std::uint64_t> wanted(n);
  for (std::size_t i = 0; i < n; ++i) wanted[i] = i == 0 ? 5 : wanted[i - 1] + in[i - 1] % 1000;
  ballast_test::expect_equal(gpu::fetch(on, out), wanted, "exclusive sum" + at);

  gpu::call(on, "scan", [&](void* temp, std::size_t& bytes) {
    return on.inclusive_scan(temp, bytes, gpu::mapped(element), out.data(), n, greater_of{});
  });
  for (std::size_t i = 0; i < n; ++i) wanted[i] = (std::max)(i == 0 ? 0 : wanted[i - 1], in[i] % 1000);
  ballast_test::expect_equal(gpu::fetch(on, out), wanted, "greatest so far" + at);

  gpu::array<std::uint64_t, On> three(on, 3);
  gpu::call(on, "reduce", [&](void* temp, std::size_t& bytes) {
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
  gpu::call(on, "sort", [&](void* temp, std::size_t& bytes) {
    return on.sort_descending(temp, bytes, keys_in.data(), keys_out.data(), values_in.data(), values_out.data(), n, bits);
  });
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] > keys[b]; });
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
  gpu::check(on.blocks(blocks, 64, 64 * sizeof(std::uint64_t), selection_sort{data.data(), out.data()}), "blocks");
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t k = 0; k < 64; ++k) in[64 * b + k] = in[64 * b + k] % 1000 * 64 + k;
    std::sort(in.begin() + static_cast<std::ptrdiff_t>(64 * b), in.begin() + static_cast<std::ptrdiff_t>(64 * b + 64));
  }
  ballast_test::expect_equal(gpu::fetch(on, out), in, "blocks");
}

void test_workspace() {
  gpu::workspace counting(nullptr);
  ballast_test::expect(counting.bytes() == 1 && counting.take<int>(1) == nullptr && counting.counting(), "a workspace without memory");
  (void)counting.take<char>(257);
  ballast_test::expect(counting.bytes() == 768, "aligned to 256");
  alignas(256) std::byte memory[768];
  gpu::workspace cut(memory);
  ballast_test::expect(static_cast<void*>(cut.take<int>(1)) == memory && static_cast<void*>(cut.take<char>(257)) == memory + 256,
                       "the same cuts");
}

}  // namespace

int main() {
  test_workspace();
  return ballast_test::run_everywhere([](auto on, std::string const&) {
    for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 255U, 256U, 257U, 4096U, 100'003U}) {
      test_counts(on, n);
      test_sort<std::uint16_t>(on, n, 13);
      test_sort<std::uint32_t>(on, n, 18);
    }
    test_blocks(on);
  });
}
