// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/groups.cuh>
#include <ballast/gpu/core/scan.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/packing/detail/length_weight.cuh>
#include <ballast/gpu/packing/detail/pack_window.cuh>
#include <ballast/packing/options.hpp>
#include <ballast/packing/windowed.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

/// @file
/// @brief Best-fit decreasing within windows of consecutive samples; each window is one block.

namespace ballast::inline v0_2::gpu {

/// @brief Largest window of `windowed_best_fit_decreasing`, in samples: it needs 176 KiB of shared memory.
inline constexpr std::size_t longest_window = 8192;

/// @brief Packs windows of `window` consecutive samples, each by best-fit decreasing; twin of `ballast::windowed_best_fit_decreasing`.
///
/// For each sample, all lanes of a block search the open packs of the window. The time of a window therefore grows with its number of
/// packs, and not with the capacity, as with a table of free space. This pays if there are many windows with few packs; if a window has
/// thousands of packs, the host's table is the better algorithm.
///
/// @tparam On      the backend
/// @tparam Length  an integer
/// @tparam Index   `std::uint32_t` or `std::uint64_t`; `count` must not exceed its greatest value
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null, to 2 bytes per sample, 16 per window and a little more
/// @param lengths  sample lengths in tokens
/// @param count    number of samples
/// @param window   samples of one window, at least 1; the smaller of `window` and `count` is at most `longest_window`
/// @param options  capacity below 2^48, max_samples, sample_multiple and pack_multiple; no over-size policy and no demanded number of packs
/// @param offsets  array of `count` + 1 entries; the members of pack p are at `offsets[p]` … `offsets[p + 1]` - 1
/// @param members  array of `count` entries for sample indices: pack after pack, longest first
/// @param packs    one word for the number of packs
/// @param bad      one word: the first sample whose length is not positive or above the capacity; `none_bad` if there is none, otherwise
///                 the other outputs are unspecified
/// @return the first error; `On::invalid_value` if an option or the window is out of range or the workspace is too small
/// @pre The sum of the lengths is below 2^63.
/// @post The packs are those of the host twin, with their members in the same order.
/// @par Complexity
/// A fixed number of launches that do not wait for the host. For each sample, a block makes a pass over the open packs, in packs / lanes
/// steps, with two barriers; it has 32 lanes for windows of up to 1,024 samples. 8 bytes are moved per sample and 12 per pack; 22 bytes of
/// shared memory are needed per sample of a window.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Algorithm: Johnson et al., "Worst-case performance bounds for simple one-dimensional packing algorithms", SIAM J. Comput. 3 (1974).
/// Sorting within a window: Batcher, "Sorting networks and their applications", AFIPS 1968.
template <class On, integer Length, index_type Index>
[[nodiscard]] typename On::error_type windowed_best_fit_decreasing(On on, void* temp, std::size_t& bytes, Length const* lengths,
                                                                   std::size_t count, std::size_t window, packing_options const& options,
                                                                   std::uint64_t* offsets, Index* members, std::uint64_t* packs,
                                                                   std::uint64_t* bad) {
  using error = typename On::error_type;
  constexpr error none{};
  detail::in_place_options const asked{options};
  if (!asked.takes() || count > (std::numeric_limits<Index>::max)() || window == 0) return On::invalid_value;
  if (window > count) window = count == 0 ? 1 : count;
  if (window > longest_window || asked.capacity() >= std::int64_t{1} << 48) return On::invalid_value;
  auto const windows = divide_up(count, window);

  workspace cut(temp);
  auto* const starts = cut.take<std::uint16_t>(count);
  auto* const packs_of = cut.take<std::uint64_t>(windows + 1);
  auto* const before = cut.take<std::uint64_t>(windows + 1);
  auto const scan = [&](void* room, std::size_t& need) {
    return on.exclusive_sum(room, need, packs_of, before, windows + 1, std::uint64_t{0});
  };
  auto room = cut.finish<On>(bytes, scan);
  if (room.ends) return room.error;

  auto e = on.for_each(1, detail::window_begin{offsets, packs, bad, packs_of + windows});
  if (e != none || count == 0) return e;
  auto const sorted = std::bit_ceil(window);
  auto const lanes = window <= 1024 ? 32U : static_cast<unsigned>(sorted / 32);
  detail::pack_window<Length, Index> const body{
      asked.weight(lengths), count,  window,   sorted,  static_cast<std::uint64_t>(asked.capacity()),
      asked.max_samples(),   starts, packs_of, members, bad};
  e = on.blocks(windows, lanes, body.shared_bytes(window, sorted), body);
  if (e == none) e = scan(room.memory, room.bytes);
  if (e == none) e = on.for_each(count, detail::window_packs_of{starts, before, count, window, windows, offsets, packs});
  return e;
}

/// @brief Returns the packs, as the overload with `temp` writes them; allocates, and waits once.
/// @tparam Index   type of the sample indices
/// @tparam On      the backend
/// @tparam Length  an integer
/// @param on       the backend
/// @param lengths  sample lengths in tokens, on the device
/// @param count    number of samples
/// @param window   samples of one window
/// @param options  as for the other overload
/// @return the same groups as the host twin
/// @throws invalid_input as `ballast::windowed_best_fit_decreasing`, for an over-size policy or a demanded number of packs, and for a
/// window or a capacity that is too large for a device
/// @throws gpu_error if the backend reports an error
template <index_type Index = std::uint32_t, class On, integer Length>
[[nodiscard]] groups<On, Index> windowed_best_fit_decreasing(On on, Length const* lengths, std::size_t count, std::size_t window,
                                                             packing_options const& options) {
  detail::in_place_options const asked{options};
  require(window > 0, [] { return "window = 0 must be positive"; });
  asked.require_valid<Index>(count);
  require(window <= longest_window || count <= longest_window,
          [&] { return sentence("window = ", window, " exceeds ", longest_window, ", the longest of a device"); });
  require(options.capacity < std::int64_t{1} << 48,
          [&] { return sentence("capacity = ", options.capacity, " must be below 2^48 on a device"); });
  groups<On, Index> out{{on, count + 1}, {on, count}};
  array<std::uint64_t, On> const words(on, 2);  // packs, bad
  call(on, "windowed_best_fit_decreasing", [&](void* temp, std::size_t& bytes) {
    return windowed_best_fit_decreasing(on, temp, bytes, lengths, count, window, options, out.offsets.data(), out.members.data(),
                                        words.data(), words.data() + 1);
  });
  auto const found = fetch(on, words);
  if (found[1] != none_bad)
    (void)ballast::windowed_best_fit_decreasing<Index>(fetch(on, lengths, count), window, options);  // throws with the reason
  out.offsets.shrink(static_cast<std::size_t>(found[0]) + 1);
  return out;
}

}  // namespace ballast::inline v0_2::gpu
