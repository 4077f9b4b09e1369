// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief What every packer is asked: capacity, limits, padding, and what to do with a sample that no pack can hold.

namespace ballast::inline v0_2 {

/// @brief What happens to a sample that is longer than the capacity.
enum class oversize : std::uint8_t {
  reject,     ///< it is bad input: `invalid_input` is thrown
  set_aside,  ///< it is left out of every pack and listed in the result
  truncate,   ///< it is cut to the capacity; the rest of it is lost
  split,      ///< it is cut into pieces of the capacity and a rest; each piece is packed like a sample
  own,        ///< it gets a pack to itself, which exceeds the capacity
};

/// @brief The request to a packer. Only `capacity` has no default.
struct packing_options {
  std::int64_t capacity = 0;              ///< largest total of one pack, in tokens (or units of the cost); at least 1
  std::uint64_t max_samples = 0;          ///< most samples in one pack; 0 = no limit
  std::int64_t sample_multiple = 1;       ///< each sample takes its length rounded up to a multiple of this (2 * CP for zigzag)
  std::int64_t pack_multiple = 1;         ///< each pack's total, rounded up to a multiple of this, still fits the capacity
  std::uint64_t pack_count_multiple = 1;  ///< the number of packs is a multiple of this (ranks * micro-batches * virtual stages)
  std::uint64_t pack_count = 0;           ///< exactly this many packs; 0 = as few as the packer finds
  ballast::oversize oversize = ballast::oversize::reject;  ///< what happens to a sample longer than the capacity
  std::uint64_t seed = 0;                                  ///< of the packers that shuffle
};

}  // namespace ballast::inline v0_2
