// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>

/// @file
/// @brief What a caching allocator is told and what it answers: its settings, an allocation, a reservation, its figures.

namespace ballast::inline v0_2 {

/// @brief More bytes than any allocator can hold: no limit.
inline constexpr std::int64_t unlimited_bytes = (std::int64_t{1} << 62) - 1;

/// @brief Settings of a caching allocator in bytes, under the names of PyTorch's `PYTORCH_ALLOC_CONF`.
struct caching_allocator_options {
  std::int64_t capacity = unlimited_bytes;        ///< most bytes that it may reserve, in 0 ... `unlimited_bytes`
  std::int64_t max_split_size = unlimited_bytes;  ///< a block of this size or more is not divided; more than 20 MiB
  /// A request of at least `max_split_size` takes a cached block only if that is larger by less than this; at least 20 MiB.
  std::int64_t max_non_split_rounding = std::int64_t{20} << 20;
  /// A request is rounded up to one of this many sizes from one power of 2 to the next; a power of 2; 1: to 512 bytes.
  std::int64_t roundup_power2_divisions = 1;
  bool expandable_segments = false;  ///< one segment for each pool, which grows and shrinks by pages

  friend constexpr bool operator==(caching_allocator_options const&, caching_allocator_options const&) = default;
};

/// @brief A block that was allocated. Its address is an offset in a segment.
struct allocation {
  std::uint32_t block = 0xffff'ffff;  ///< the allocator's number for the block; 2^32 - 1 if no bytes were asked for
  std::uint32_t segment = 0;          ///< segments are numbered from 0 in the order in which they are reserved
  std::int64_t offset = 0;            ///< bytes from the start of the segment; a multiple of 512
  std::int64_t size = 0;              ///< bytes of the block, at least the bytes asked for

  friend constexpr bool operator==(allocation const&, allocation const&) = default;
};

/// @brief Memory that an allocator took from the device or gave back.
struct reservation {
  std::uint32_t segment = 0;  ///< the segment
  std::int64_t offset = 0;    ///< first byte in the segment; 0 unless segments are expandable
  std::int64_t bytes = 0;     ///< positive: that many were reserved; negative: given back

  friend constexpr bool operator==(reservation const&, reservation const&) = default;
};

/// @brief The bytes that an allocator holds, and the most that it ever held.
struct allocator_figures {
  std::int64_t requested = 0;       ///< asked for, and not deallocated yet
  std::int64_t allocated = 0;       ///< in blocks that are in use
  std::int64_t reserved = 0;        ///< taken from the device
  std::int64_t inactive_split = 0;  ///< in free blocks of segments that are partly in use; 0 if segments are expandable
  std::int64_t peak_requested = 0;  ///< largest `requested`
  std::int64_t peak_allocated = 0;  ///< largest `allocated`
  std::int64_t peak_reserved = 0;   ///< largest `reserved`
  std::uint64_t segments = 0;       ///< segments that hold memory
  std::uint64_t retries = 0;        ///< allocations before which all free segments were given back

  friend constexpr bool operator==(allocator_figures const&, allocator_figures const&) = default;
};

}  // namespace ballast::inline v0_2
