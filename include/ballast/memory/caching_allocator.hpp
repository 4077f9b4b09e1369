// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/memory/allocator_types.hpp>
#include <ballast/memory/detail/cached_memory.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

/// @file
/// @brief `caching_allocator`: where PyTorch's caching allocator puts what a program allocates on a CUDA device, and how much it reserves.

namespace ballast::inline v0_2 {

namespace detail {

// The settings, if an allocator can have them; else throws.
template <class = when_called>
[[nodiscard]] caching_allocator_options valid_settings(caching_allocator_options const& o) {
  auto const within = [](char const* name, std::int64_t value, std::int64_t least) {
    require(value >= least && value <= unlimited_bytes,
            [&] { return sentence(name, " = ", value, " must be in ", least, " ... 2^62 - 1"); });
  };
  within("capacity", o.capacity, 0);
  within("max_split_size", o.max_split_size, large_segment + 1);
  within("max_non_split_rounding", o.max_non_split_rounding, large_segment);
  within("roundup_power2_divisions", o.roundup_power2_divisions, 1);
  require(std::has_single_bit(static_cast<std::uint64_t>(o.roundup_power2_divisions)),
          [&] { return sentence("roundup_power2_divisions = ", o.roundup_power2_divisions, " must be a power of 2"); });
  require(!o.expandable_segments || o.max_split_size == unlimited_bytes,
          [&] { return sentence("max_split_size = ", o.max_split_size, " has no meaning for expandable segments"); });
  return o;
}

}  // namespace detail

/// @brief Places blocks as PyTorch's caching allocator for CUDA does on one stream (`backend:native`).
///
/// A request is rounded up to a multiple of 512 bytes. Up to 1 MiB, the pool of small blocks serves it, from segments of 2 MiB; above, the
/// pool of large blocks, from segments of 20 MiB for a request below 10 MiB, else of the request rounded up to 2 MiB. It gets the smallest
/// free block of the pool that is large enough, of equal ones the one at the lowest address; if there is none, a new segment. What is left
/// of the block stays free if it has at least 512 bytes (small) or more than 1 MiB (large), else it belongs to the block in use. A block
/// that is deallocated is joined with its free neighbours. Segments are given back only if a new segment would pass the capacity: then all
/// that are entirely free are given back, and the request is tried again.
///
/// With `max_split_size`, a smaller request gets no block of this size or more; a request of this size or more gets no block that is larger
/// by `max_non_split_rounding` or more, and its block is not divided. At the capacity, free blocks of at least this size are given back
/// before all others. With `expandable_segments`, a pool has addresses for 9/8 of the capacity. It maps pages (2 MiB; large 20 MiB) at the
/// lowest addresses that are free for long enough, keeps every rest of at least 512 bytes, and gives back all pages that are entirely free.
///
/// The addresses of new segments ascend; the driver may choose others, which matters only among free blocks of one size. Not modelled:
/// several streams, `garbage_collection_threshold`, divisions of powers of 2 that differ by size, and pools of CUDA graphs.
/// @par Source
/// PyTorch, "CUDA semantics", section on memory management, and the comment at the head of c10/cuda/CUDACachingAllocator.cpp.
class caching_allocator {
 public:
  /// @brief An allocator that has reserved nothing.
  /// @param options  its settings
  /// @throws invalid_input if a setting is out of its range, or if segments are expandable and `max_split_size` is set
  explicit caching_allocator(caching_allocator_options const& options = {})
      : divisions_(options.roundup_power2_divisions), memory_(detail::valid_settings(options)) {}

  /// @brief Allocates a block.
  /// @param bytes  not negative; nothing is allocated for 0
  /// @return the block; or nothing if it does not fit, though all that was free has been given back
  /// @throws invalid_input if `bytes` is negative
  /// @par Complexity
  /// O(log blocks); O(free blocks) more when memory is given back; O(blocks) more when an expandable segment grows.
  /// @par Determinism
  /// A function of the options and of all calls so far.
  template <class = when_called>
  [[nodiscard]] std::optional<allocation> allocate(std::int64_t bytes) {
    require(bytes >= 0, [&] { return sentence("bytes = ", bytes, " must not be negative"); });
    if (bytes == 0) return allocation{};
    auto const b = memory_.take(rounded((std::min)(bytes, unlimited_bytes)), bytes);
    if (b == detail::no_block) return std::nullopt;
    auto const& block = memory_.blocks()[b];
    return allocation{b, block.segment, block.offset, block.size};
  }

  /// @brief Frees a block.
  /// @param block  a result of `allocate` that was not deallocated
  /// @throws invalid_input if no block in use has this number and address
  /// @par Complexity
  /// O(log blocks).
  template <class = when_called>
  void deallocate(allocation const& block) {
    if (block == allocation{}) return;
    auto const& blocks = memory_.blocks();
    require(blocks.in_use(block.block) && blocks[block.block].segment == block.segment && blocks[block.block].offset == block.offset,
            [&] { return sentence("block ", block.block, " is not in use at offset ", block.offset, " of segment ", block.segment); });
    memory_.put_back(block.block);
  }

  /// @brief Gives back all segments that are entirely free, or all such pages if segments are expandable, as `torch.cuda.empty_cache`.
  /// @par Complexity
  /// O(free blocks log blocks).
  template <class = when_called>
  void give_back() {
    memory_.give_back_cached();
  }

  /// @brief What is held now, and the peaks.
  [[nodiscard]] allocator_figures const& figures() const noexcept { return memory_.figures(); }
  /// @brief All memory that was reserved or given back so far, in order.
  [[nodiscard]] std::span<reservation const> reservations() const noexcept { return memory_.log(); }

 private:
  // 512 bytes times a whole number; above 512 bytes a division, the next power of 2 or a division between two.
  [[nodiscard]] std::int64_t rounded(std::int64_t bytes) const noexcept {
    if (divisions_ == 1 || bytes <= detail::least_block * divisions_) return detail::round_up_to(bytes, detail::least_block);
    auto const power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(bytes)));
    return detail::round_up_to(bytes, power / divisions_);
  }

  std::int64_t divisions_;
  detail::cached_memory<> memory_;
};

}  // namespace ballast::inline v0_2
