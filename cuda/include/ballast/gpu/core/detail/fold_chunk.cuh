// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/gpu/core/atomic.cuh>
#include <ballast/gpu/core/lengths.cuh>

#include <cstddef>
#include <cstdint>

// The block of `fold` (classes.cuh).

namespace ballast::inline v0_2::gpu::detail {

// One block counts one chunk of the samples: the first `in_shared` lengths in its shared memory, the rare longer ones in global memory.
template <class Length>
struct fold_chunk {
  static constexpr unsigned ahead = 4;  // number of lengths that a lane reads before it counts the first, to keep enough reads in flight
  Length const* lengths;
  std::size_t count;
  std::size_t chunk;  // number of samples, below 2^32 so that no counter overflows
  std::uint32_t longest;
  std::uint32_t in_shared;
  std::uint64_t* counts;
  std::uint64_t* first_bad;
  template <class Block>
  BALLAST_HD void operator()(Block& block, std::size_t b) const {
    auto* const local = block.template shared<std::uint32_t>();
    auto const begin = b * chunk;
    auto const end = count - begin < chunk ? count : begin + chunk;
    block.each([&](unsigned lane) {
      for (auto c = lane; c < in_shared; c += block.lanes()) local[c] = 0;
    });
    block.each([&](unsigned lane) {
      for (auto i = begin + lane; i < end; i += ahead * block.lanes()) {
        Length read[ahead]{};
        for (unsigned k = 0; k < ahead && i + k * block.lanes() < end; ++k) read[k] = lengths[i + k * block.lanes()];
        for (unsigned k = 0; k < ahead && i + k * block.lanes() < end; ++k) {
          auto const length = length_or_0(read[k], longest);
          if (length == 0) atomic_min(*first_bad, i + k * block.lanes());
          if (length < in_shared)
            atomic_add(local[length], std::uint32_t{1});
          else
            atomic_add(counts[length], std::uint64_t{1});
        }
      }
    });
    block.each([&](unsigned lane) {
      for (auto c = lane; c < in_shared; c += block.lanes())
        if (local[c] != 0) atomic_add(counts[c], std::uint64_t{local[c]});
    });
  }
};

}  // namespace ballast::inline v0_2::gpu::detail
