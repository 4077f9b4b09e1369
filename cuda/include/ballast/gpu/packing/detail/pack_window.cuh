// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/packing/detail/length_weight.cuh>

#include <cstddef>
#include <cstdint>

// The steps of windowed.cuh: a block packs its window where it stands, then packs of all windows are numbered.

namespace ballast::inline v0_2::gpu::detail {

// One window: sorts its samples, then places one after the other, all lanes looking for the fullest pack with room.
template <class Length, class Index>
struct pack_window {
  length_weight<Length> weight;
  std::size_t count;
  std::size_t window;
  std::size_t sorted;  // the window's size rounded up to a power of two
  std::uint64_t capacity;
  std::uint64_t max_samples;
  std::uint16_t* starts;  // of each pack among the members of its window; those of window w begin at w * window
  std::uint64_t* packs;   // of each window
  Index* members;
  std::uint64_t* bad;

  // A sample is its weight, then its place counted from the window's end: no two are equal, and greater ones come first.
  static constexpr unsigned place_bits = 16;

  [[nodiscard]] static std::size_t shared_bytes(std::size_t window, std::size_t sorted) {
    return (sorted + window) * sizeof(std::uint64_t) + 3 * window * sizeof(std::uint16_t);
  }

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t w) const {
    auto const first = w * window;
    auto const size = count - first < window ? count - first : window;
    auto* const sample = block.template shared<std::uint64_t>();
    auto* const room = sample + sorted;
    auto* const held = reinterpret_cast<std::uint16_t*>(room + window);  // by each pack; then where its next member goes
    auto* const pack_of = held + window;                                 // of each sample, in sorted order
    auto* const slot = pack_of + window;
    auto const none = ~std::uint64_t{0};

    block.each([&](unsigned lane) {
      for (std::size_t k = lane; k < sorted; k += block.lanes()) {
        sample[k] = 0;
        if (k >= size) continue;
        auto const found = weight(first + k);
        if (found == 0) atomic_min(*bad, first + k);
        sample[k] = (found == 0 ? 1 : found) << place_bits | (sorted - 1 - k);
      }
    });
    sort(block, sample);

    std::size_t opened = 0;
    for (std::size_t k = 0; k < size; ++k) {
      auto const need = sample[k] >> place_bits;
      auto const best = block.least([&](unsigned lane) {
        auto found = none;
        for (std::size_t p = lane; p < opened; p += block.lanes()) {
          auto const key = room[p] << place_bits | p;
          if (room[p] >= need && key < found) found = key;
        }
        return found;
      });
      auto const opens = best == none;
      auto const p = opens ? opened : static_cast<std::size_t>(best & ((1U << place_bits) - 1));
      block.each([&](unsigned lane) {
        if (lane != 0) return;
        auto const before = opens ? std::uint16_t{0} : held[p];
        pack_of[k] = static_cast<std::uint16_t>(p);
        slot[k] = before;
        held[p] = static_cast<std::uint16_t>(before + 1);
        room[p] = held[p] < max_samples ? (opens ? capacity : room[p]) - need : 0;
      });
      opened += opens ? 1 : 0;
    }

    block.each([&](unsigned lane) {
      if (lane != 0) return;
      packs[w] = opened;
      std::size_t at = 0;
      for (std::size_t p = 0; p < opened; ++p) {
        auto const next = at + held[p];
        held[p] = starts[first + p] = static_cast<std::uint16_t>(at);
        at = next;
      }
    });
    block.each([&](unsigned lane) {
      for (std::size_t k = lane; k < size; k += block.lanes()) {
        auto const place = sorted - 1 - (sample[k] & ((1U << place_bits) - 1));
        members[first + held[pack_of[k]] + slot[k]] = static_cast<Index>(first + place);
      }
    });
  }

 private:
  // Batcher's bitonic network, descending.
  template <class Block>
  BALLAST_HD void sort(Block& block, std::uint64_t* sample) const {
    for (std::size_t run = 2; run <= sorted; run *= 2)
      for (auto step = run / 2; step > 0; step /= 2)
        block.each([&](unsigned lane) {
          for (std::size_t i = lane; i < sorted / 2; i += block.lanes()) {
            auto const low = (i & ~(step - 1)) * 2 + (i & (step - 1));
            auto const high = low + step;
            if ((sample[low] < sample[high]) == ((low & run) == 0)) {
              auto const moved = sample[low];
              sample[low] = sample[high];
              sample[high] = moved;
            }
          }
        });
  }
};

struct window_packs_of {
  std::uint16_t const* starts;
  std::uint64_t const* before;  // packs in earlier windows; behind the last entry, all packs
  std::size_t count;
  std::size_t window;
  std::size_t windows;
  std::uint64_t* offsets;
  std::uint64_t* packs;

  BALLAST_HD void operator()(std::size_t i) const {
    auto const w = i / window, p = i % window;
    if (p < before[w + 1] - before[w]) offsets[before[w] + p] = w * window + starts[i];
    if (i + 1 < count) return;
    *packs = before[windows];
    offsets[before[windows]] = count;
  }
};

struct window_begin {
  std::uint64_t* offsets;
  std::uint64_t* packs;
  std::uint64_t* bad;
  std::uint64_t* behind_windows;
  BALLAST_HD void operator()(std::size_t) const {
    *bad = ~std::uint64_t{0};
    *packs = 0;
    *offsets = 0;
    *behind_windows = 0;
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
