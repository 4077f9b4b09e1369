// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/memory/buffer.hpp>
#include <ballast/memory/caching_allocator.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `replay_allocator`: what a caching allocator reserves for buffers whose times of use are known.

namespace ballast::inline v0_2 {

/// @brief Memory that was reserved or given back for a buffer, just before the buffer was placed.
struct buffer_reservation : reservation {
  std::uint32_t buffer = 0;  ///< the buffer

  friend constexpr bool operator==(buffer_reservation const&, buffer_reservation const&) = default;
};

/// @brief The result of `replay_allocator`. All peaks are in bytes; where a buffer does not fit, they count what was before it.
struct allocator_replay {
  ballast::status status = ballast::status::feasible;  ///< infeasible: the allocator's capacity is too small for buffer `failed`
  std::int64_t live_peak = 0;                          ///< most bytes of buffers in use at a time
  std::int64_t peak_allocated = 0;               ///< most bytes in blocks in use: buffers rounded up, with rests that are not divided off
  std::int64_t peak_reserved = 0;                ///< most bytes that the allocator took from the device
  std::uint32_t failed = 0xffff'ffff;            ///< the buffer that does not fit; 2^32 - 1 if all do
  std::uint64_t retries = 0;                     ///< buffers before which all free segments were given back
  std::vector<allocation> blocks;                ///< the block of each buffer; that of no bytes where none was allocated
  std::vector<buffer_reservation> reservations;  ///< what was reserved and given back, in order

  /// @brief The bytes reserved, with the lower bound of any allocator: the bytes in use at one time.
  [[nodiscard]] constexpr certificate reserved() const noexcept { return {peak_reserved, live_peak}; }
  /// @brief Bytes reserved at the peak beyond the live peak: what rounding, undivided rests, segments and fragments cost together.
  [[nodiscard]] constexpr std::int64_t fragmentation() const noexcept { return peak_reserved - live_peak; }
  /// @brief The part of `fragmentation` that is inside of blocks in use: rounding, and rests that are not divided off.
  [[nodiscard]] constexpr std::int64_t rounding() const noexcept { return peak_allocated - live_peak; }
};

namespace detail {

// Throws unless an allocator can place the buffers.
template <class = when_called>
void require_placeable(std::span<buffer const> buffers) {
  require_index<std::uint32_t>(buffers.size() + 1, "buffers");
  checked sum(0);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    auto const& b = buffers[i];
    auto const at = [&](char const* name, std::int64_t value) { return sentence("buffers[", i, "].", name, " = ", value); };
    require(b.lower < b.upper, [&] { return sentence(at("upper", b.upper), " must be above lower = ", b.lower); });
    require(b.size >= 0, [&] { return at("size", b.size) + " must not be negative"; });
    require(b.alignment >= 1 && least_block % b.alignment == 0, [&] { return at("alignment", b.alignment) + " must divide 512"; });
    require(b.fixed == -1, [&] { return at("fixed", b.fixed) + ": an allocator chooses every address"; });
    sum = sum + checked(b.size);
    require(sum.fits(), [&] { return at("size", b.size) + ": the sizes together exceed 2^63 - 1"; });
  }
}

// The indices of buffers by a time, then by index.
template <class = when_called>
[[nodiscard]] std::vector<std::pair<std::int64_t, std::uint32_t>> by_time(std::span<buffer const> buffers, std::int64_t buffer::* time) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> out(buffers.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = {buffers[i].*time, static_cast<std::uint32_t>(i)};
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace detail

/// @brief Allocates and frees buffers in the order of their times, as a caching allocator would while a program runs.
///
/// At one time, all buffers that end then are freed first, and the buffers that begin then are allocated after that, both in the order of
/// their indices. So an operator at time t has inputs in use at t and outputs that begin at t, and the outputs never take their place. The
/// replay ends at the first buffer that does not fit.
///
/// @param buffers  the buffers; those of 0 bytes take no memory
/// @param options  the settings of the allocator
/// @return the peaks, and the block of each buffer
/// @post `live_peak <= peak_allocated <= peak_reserved <= options.capacity`
/// @throws invalid_input if a buffer is empty in time, has a negative size, a fixed address or an alignment that does not divide 512, if
/// the sizes together exceed 2^63 - 1, or as `caching_allocator`
/// @par Complexity
/// O(n log n) and the calls of the allocator.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] allocator_replay replay_allocator(std::span<buffer const> buffers, caching_allocator_options const& options = {}) {
  detail::require_placeable<>(buffers);
  caching_allocator allocator(options);
  allocator_replay out;
  out.blocks.resize(buffers.size());
  auto const begins = detail::by_time<>(buffers, &buffer::lower), ends = detail::by_time<>(buffers, &buffer::upper);
  auto end = ends.begin();
  for (auto const& [time, i] : begins) {
    for (; end->first <= time; ++end) allocator.deallocate(out.blocks[end->second]);
    auto const block = allocator.allocate(buffers[i].size);
    for (auto const& r : allocator.reservations().subspan(out.reservations.size())) out.reservations.push_back({r, i});
    if (!block) {
      out.status = status::infeasible;
      out.failed = i;
      break;
    }
    out.blocks[i] = *block;
  }
  auto const& f = allocator.figures();
  out.live_peak = f.peak_requested;
  out.peak_allocated = f.peak_allocated;
  out.peak_reserved = f.peak_reserved;
  out.retries = f.retries;
  return out;
}

BALLAST_INSTANTIATE(allocator_replay replay_allocator(std::span<buffer const>, caching_allocator_options const&))

}  // namespace ballast::inline v0_2
