// SPDX-License-Identifier: Apache-2.0
// Shows that lanes as threads find what they are for: a body that is right, and the same with one mistake: planted_races NAME, and CTest
// expects the report of ThreadSanitizer.
#include "backends.hpp"

#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/call.cuh>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace {

enum class race { none, no_atomic, no_barrier, outside_each, two_blocks };

// Every lane brings its number to shared memory, reads that of its neighbour, and adds it to a sum of all blocks.
template <race Planted>
struct body {
  std::uint32_t* sum;
  std::uint32_t* blocks;
  template <class Block>
  void operator()(Block& block, std::size_t b) const {
    auto* const shared = block.template shared<std::uint32_t>();
    if constexpr (Planted == race::outside_each) shared[block.lanes()] = 1;
    if constexpr (Planted == race::no_barrier)
      block.each([&](unsigned lane) {
        shared[lane] = lane;
        add(*sum, shared[(lane + 1) % block.lanes()]);
      });
    else {
      block.each([&](unsigned lane) { shared[lane] = lane; });
      block.each([&](unsigned lane) { add(*sum, shared[(lane + 1) % block.lanes()]); });
    }
    block.each([&](unsigned lane) {
      if (lane == 0) blocks[Planted == race::two_blocks ? 0 : b] = 1;
    });
  }
  static void add(std::uint32_t& to, std::uint32_t value) {
    if constexpr (Planted == race::no_atomic)
      to += value;
    else
      ballast::gpu::atomic_add(to, value);
  }
};

template <race Planted>
bool run() {
  constexpr std::size_t blocks = 8, lanes = 64;
  ballast_test::on_lanes const on;
  ballast::gpu::array<std::uint32_t, ballast_test::on_lanes> const words(on, 1 + blocks);
  (void)on.fill(words.data(), 0, (1 + blocks) * sizeof(std::uint32_t));
  (void)on.blocks(blocks, lanes, (lanes + 1) * sizeof(std::uint32_t), body<Planted>{words.data(), words.data() + 1});
  return ballast::gpu::fetch(on, words)[0] == blocks * (lanes * (lanes - 1) / 2);
}

}  // namespace

int main(int, char** arguments) {
  std::string const name = arguments[1];
  if (name == "none") return run<race::none>() ? 0 : 1;
  if (name == "no_atomic") return run<race::no_atomic>();
  if (name == "no_barrier") return run<race::no_barrier>();
  if (name == "outside_each") return run<race::outside_each>();
  return run<race::two_blocks>();
}
