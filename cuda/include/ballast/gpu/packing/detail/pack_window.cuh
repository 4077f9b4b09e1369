// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/packing/detail/length_weight.cuh>

#include <cstddef>
#include <cstdint>

// The steps of windowed.cuh: each block packs its window in place; then the packs of all windows are numbered.

namespace ballast::inline v0_2::gpu::detail {

// One window: sorts its samples, then places one after the other; all lanes search for the fullest pack with room.
template <class Length, class Index>
struct pack_window {
  static constexpr unsigned most_lanes = 256;
  length_weight<Length> weight;
  std::size_t count;
  std::size_t window;
  std::size_t sorted;  // size of the window rounded up to a power of two
  std::uint64_t capacity;
  std::uint64_t max_samples;
  std::uint16_t* starts;  // start of each pack among the members of its window; those of window w begin at w * window
  std::uint64_t* packs;   // number of packs of each window
  Index* members;
  std::uint64_t* bad;

  // A sample is coded as its weight, then its position counted from the end of the window: all codes differ, and larger ones come first.
  static constexpr unsigned place_bits = 16;

  [[nodiscard]] static std::size_t shared_bytes(std::size_t window, std::size_t sorted) {
    return (sorted + window) * sizeof(std::uint64_t) + 3 * window * sizeof(std::uint16_t);
  }

  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t w) const {
    auto const first = w * window;
    auto const size = count - first < window ? count - first : window;
    auto const kept = cut(block);
    load(block, kept, first, size);
    sort(block, kept.sample);
    auto const opened = place(block, kept, size);
    write(block, kept, w, size, opened);
  }

 private:
  static constexpr std::uint64_t place_mask = (1U << place_bits) - 1;

  // Data of a block in shared memory.
  struct arrays {
    std::uint64_t* sample;   // codes of the samples in sorted order
    std::uint64_t* room;     // room of each pack
    std::uint16_t* held;     // number of samples of each pack; later the position of its next member
    std::uint16_t* pack_of;  // pack of each sample
    std::uint16_t* slot;     // slot of each sample
  };
  template <class Block>
  [[nodiscard]] BALLAST_HD arrays cut(Block const& block) const {
    auto* const sample = block.template shared<std::uint64_t>();
    auto* const room = sample + sorted;
    auto* const held = reinterpret_cast<std::uint16_t*>(room + window);
    return {sample, room, held, held + window, held + 2 * window};
  }

  // Reads the samples; entries up to the power of two are 0 and sort last.
  template <class Block>
  BALLAST_HD void load(Block& block, arrays const& kept, std::size_t first, std::size_t size) const {
    block.each([&](unsigned lane) {
      for (std::size_t k = lane; k < sorted; k += block.lanes()) {
        kept.sample[k] = 0;
        if (k >= size) continue;
        auto const found = weight(first + k);
        if (found == 0) atomic_min(*bad, first + k);
        kept.sample[k] = (found == 0 ? 1 : found) << place_bits | (sorted - 1 - k);
      }
    });
  }

  // Batcher's bitonic network, descending.
  template <class Block>
  BALLAST_HD void sort(Block& block, std::uint64_t* sample) const {
    for (std::size_t width = 2; width <= sorted; width *= 2)
      for (auto step = width / 2; step > 0; step /= 2)
        block.each([&](unsigned lane) {
          for (std::size_t i = lane; i < sorted / 2; i += block.lanes()) {
            auto const low = (i & ~(step - 1)) * 2 + (i & (step - 1));
            auto const high = low + step;
            if ((sample[low] < sample[high]) == ((low & width) == 0)) {
              auto const moved = sample[low];
              sample[low] = sample[high];
              sample[high] = moved;
            }
          }
        });
  }

  // Computes pack and slot of every sample; returns the number of packs.
  template <class Block>
  [[nodiscard]] BALLAST_HD std::size_t place(Block& block, arrays const& kept, std::size_t size) const {
    constexpr auto none = ~std::uint64_t{0};
    auto* const room = kept.room;
    std::size_t opened = 0;
    for (std::size_t k = 0; k < size; ++k) {
      auto const need = kept.sample[k] >> place_bits;
      auto const best = block.least([&](unsigned lane) {
        auto found = none;
        for (std::size_t p = lane; p < opened; p += block.lanes()) {
          auto const key = room[p] << place_bits | p;
          if (room[p] >= need && key < found) found = key;
        }
        return found;
      });
      auto const opens = best == none;
      auto const p = opens ? opened : static_cast<std::size_t>(best & place_mask);
      block.each([&](unsigned lane) {
        if (lane != 0) return;
        auto const before = opens ? std::uint16_t{0} : kept.held[p];
        kept.pack_of[k] = static_cast<std::uint16_t>(p);
        kept.slot[k] = before;
        kept.held[p] = static_cast<std::uint16_t>(before + 1);
        room[p] = kept.held[p] < max_samples ? (opens ? capacity : room[p]) - need : 0;
      });
      opened += opens ? 1 : 0;
    }
    return opened;
  }

  // Writes where the packs begin in the window, and the members.
  template <class Block>
  BALLAST_HD void write(Block& block, arrays const& kept, std::size_t w, std::size_t size, std::size_t opened) const {
    auto const first = w * window;
    block.each([&](unsigned lane) {
      if (lane != 0) return;
      packs[w] = opened;
      std::size_t at = 0;
      for (std::size_t p = 0; p < opened; ++p) {
        auto const next = at + kept.held[p];
        kept.held[p] = starts[first + p] = static_cast<std::uint16_t>(at);
        at = next;
      }
    });
    block.each([&](unsigned lane) {
      for (std::size_t k = lane; k < size; k += block.lanes()) {
        auto const place = sorted - 1 - (kept.sample[k] & place_mask);
        members[first + kept.held[kept.pack_of[k]] + kept.slot[k]] = static_cast<Index>(first + place);
      }
    });
  }
};

struct window_packs_of {
  std::uint16_t const* starts;
  std::uint64_t const* before;  // packs in earlier windows; the last entry is the number of all packs
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
    *bad = none_bad;
    *packs = 0;
    *offsets = 0;
    *behind_windows = 0;
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
