// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <cstdint>

/// @file
/// @brief The options of every packer: capacity, limits, padding, and the policy for samples longer than the capacity.

namespace ballast::inline v0_2 {

/// @brief What happens to a sample that is longer than the capacity.
enum class oversize : std::uint8_t {
  reject,     ///< it is bad input: `invalid_input` is thrown
  set_aside,  ///< it is left out of every pack and listed in the result
  truncate,   ///< it is cut to the capacity; the rest is not trained on
  split,      ///< it is cut into pieces of the capacity and a rest; each piece is packed like a sample
  alone,      ///< it is the only sample of its pack, which exceeds the capacity
};

/// @brief Options of a packer. Only `capacity` has no default.
struct packing_options {
  std::int64_t capacity = 0;              ///< largest total of one pack, in tokens (or units of the cost); at least 1
  std::uint64_t max_samples = 0;          ///< largest number of samples in one pack; 0 = no limit
  std::int64_t sample_multiple = 1;       ///< each sample takes up its length rounded up to a multiple of this (2 * CP for zigzag)
  std::int64_t pack_multiple = 1;         ///< each pack's total, rounded up to a multiple of this, must fit the capacity
  std::uint64_t pack_count_multiple = 1;  ///< the number of packs is a multiple of this (ranks * micro-batches * virtual stages)
  std::uint64_t pack_count = 0;           ///< exactly this many packs; 0 = as few as the packer finds
  ballast::oversize oversize = ballast::oversize::reject;  ///< what happens to a sample longer than the capacity
  std::uint64_t seed = 0;                                  ///< seed of the random order; read by the packers that shuffle
};

/// @brief Throws unless the options are valid, independently of the samples.
/// @param o  the request
/// @throws invalid_input naming the option
inline void require_valid(packing_options const& o) {
  auto const positive = [](auto value, char const* name) {
    require(value > 0, [&] { return sentence(name, " = ", value, " must be positive"); });
  };
  positive(o.capacity, "capacity");
  positive(o.sample_multiple, "sample_multiple");
  positive(o.pack_multiple, "pack_multiple");
  positive(o.pack_count_multiple, "pack_count_multiple");
  auto const countable = [](std::uint64_t value, char const* name) {  // so that a number of packs rounded up to it stays below 2^63
    require(value <= std::uint64_t{1} << 62, [&] { return sentence(name, " = ", value, " must be at most 2^62"); });
  };
  countable(o.pack_count_multiple, "pack_count_multiple");
  countable(o.pack_count, "pack_count");
  require(o.pack_multiple <= o.capacity, [&] { return sentence("pack_multiple = ", o.pack_multiple, " exceeds capacity ", o.capacity); });
  require(o.pack_count % o.pack_count_multiple == 0,
          [&] { return sentence("pack_count = ", o.pack_count, " is not a multiple of pack_count_multiple = ", o.pack_count_multiple); });
}

}  // namespace ballast::inline v0_2
