// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/mapped.cuh>
#include <ballast/gpu/core/scan.cuh>
#include <ballast/gpu/core/workspace.cuh>
#include <ballast/gpu/packing/detail/length_weight.cuh>
#include <ballast/gpu/packing/detail/next_fit_phases.cuh>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/options.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

/// @file
/// @brief Next fit on a device: the packs of `ballast::next_fit`; samples stay in place.

namespace ballast::inline v0_2::gpu {

/// @brief Packs on a device whose samples are in the original order.
/// @tparam On     the backend
/// @tparam Index  type of the pack numbers
template <class On, index_type Index = std::uint32_t>
struct packs_in_order {
  array<std::uint64_t, On> offsets;  ///< size() + 1 entries: the first sample of each pack, and the number of samples
  array<Index, On> pack;             ///< for each sample, the number of its pack

  /// @brief Number of packs.
  [[nodiscard]] std::size_t size() const noexcept { return offsets.size() - 1; }
};

/// @brief Samples of one tile of `next_fit`: 15 for each of 256 lanes, which avoids bank conflicts in shared memory.
inline constexpr std::size_t next_fit_tile = 3840;

/// @brief Fills one pack after the other in the given order; twin of `ballast::next_fit`.
///
/// Each pack is a range of samples, so its first sample defines it. The start of the next pack is a function of the start of this one. Each
/// tile of samples tabulates that function for all its samples at once; nothing is guessed, so nothing has to be repeated.
///
/// @tparam On      the backend
/// @tparam Length  an integer
/// @tparam Index   `std::uint32_t` or `std::uint64_t`; `count` must not exceed its greatest value
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null, to 9 bytes per sample and a little more
/// @param lengths  sample lengths in tokens
/// @param count    number of samples
/// @param options  capacity, max_samples, sample_multiple and pack_multiple; no over-size policy and no demanded number of packs
/// @param offsets  array of `count` + 1 entries; pack p has the samples `offsets[p]` … `offsets[p + 1]` - 1, and the last entry is `count`
/// @param pack     array of `count` entries for the pack of each sample
/// @param packs    one word for the number of packs
/// @param bad      one word: the first sample whose length is not positive, above the capacity, or brings the sum of lengths to 2^63;
///                 `none_bad` if there is none, otherwise the other outputs are unspecified
/// @param tile     samples that one block tabulates, 1 … 16384
/// @return the first error; `On::invalid_value` if an option is out of range or the workspace is too small
/// @post The packs are those of the host twin.
/// @par Complexity
/// A fixed number of launches that do not wait for the host, for any lengths. 43 bytes are moved per sample. One lane walks a step for each
/// of √(count / tile) spans, or for each pack that is longer than a tile; the other lanes walk at most √(count / tile) steps, and one lane
/// of each tile 64 in shared memory.
/// @par Determinism
/// A pure function of its arguments; the result does not depend on `tile`.
/// @par Source
/// Johnson, "Near-optimal bin packing algorithms", MIT 1973.
template <class On, integer Length, index_type Index>
[[nodiscard]] typename On::error_type next_fit(On on, void* temp, std::size_t& bytes, Length const* lengths, std::size_t count,
                                               packing_options const& options, std::uint64_t* offsets, Index* pack, std::uint64_t* packs,
                                               std::uint64_t* bad, std::size_t tile = next_fit_tile) {
  using error = typename On::error_type;
  constexpr error none{};
  detail::in_place_options const asked{options};
  if (!asked.takes() || count > (std::numeric_limits<Index>::max)() || tile == 0 || tile > 16384) return On::invalid_value;
  auto const tiles = divide_up(count, tile);
  std::size_t span_tiles = 1;
  while (span_tiles * span_tiles < tiles) ++span_tiles;
  auto const span = span_tiles * tile;
  auto const spans = divide_up(count, span);

  workspace cut(temp);
  auto* const sums = cut.take<std::uint64_t>(count + 1);
  auto* const starts = cut.take<std::uint8_t>(count);
  auto* const leave_span = cut.take<Index>(spans * tile);
  auto* const span_entry = cut.take<Index>(spans);
  auto* const tile_entry = cut.take<Index>(tiles);
  mapped const weights(asked.weight(lengths));
  mapped const steps(detail::next_fit_step<Index>{starts});
  auto const sum = [&](void* room, std::size_t& need) {
    return on.inclusive_scan(room, need, weights, sums + (room == nullptr ? 0 : 1), count, detail::next_fit_sum{});
  };
  auto const number = [&](void* room, std::size_t& need) {
    return on.inclusive_scan(room, need, steps, pack, count, detail::next_fit_sum{});
  };
  auto room = cut.finish<On>(bytes, sum, number);
  if (room.ends) return room.error;

  auto e = on.for_each(1, detail::next_fit_begin{sums, offsets, packs, bad});
  if (e != none || count == 0) return e;
  auto const lanes = tile < next_fit_tile ? static_cast<unsigned>(divide_up(tile, std::size_t{480}) * 32) : 256U;
  detail::next_fit_view const view{sums,
                                   count,
                                   static_cast<std::uint32_t>(tile),
                                   static_cast<std::uint32_t>(divide_up(tile, std::size_t{lanes})),
                                   static_cast<std::uint64_t>(asked.capacity()),
                                   asked.max_samples()};
  auto const shared = view.shared_bytes(lanes);
  auto* const leave = pack;  // `pack` is written last
  e = sum(room.memory, room.bytes);
  if (e == none) e = on.fill(span_entry, 0xff, spans * sizeof(Index));
  if (e == none) e = on.fill(tile_entry, 0xff, tiles * sizeof(Index));
  if (e == none) e = on.fill(starts, 0, count);
  if (e == none) e = on.blocks(tiles, lanes, shared, detail::next_fit_leave<Index>{view, leave, bad});
  if (e == none) e = on.for_each(spans * tile, detail::next_fit_leave_span<Index>{leave, leave_span, count, tile, span});
  if (e == none) e = on.for_each(1, detail::next_fit_enter_spans<Index>{leave, leave_span, span_entry, count, tile, span});
  if (e == none) e = on.for_each(spans, detail::next_fit_enter_tiles<Index>{leave, span_entry, tile_entry, count, tile, span});
  if (e == none) e = on.blocks(tiles, lanes, shared, detail::next_fit_mark<Index>{view, tile_entry, starts});
  if (e == none) e = number(room.memory, room.bytes);
  if (e == none) e = on.for_each(count, detail::next_fit_end<Index>{starts, pack, offsets, packs, count});
  return e;
}

/// @brief Returns the packs, as the overload with `temp` writes them; allocates, and waits once.
/// @tparam Index   type of the pack numbers
/// @tparam On      the backend
/// @tparam Length  an integer
/// @param on       the backend
/// @param lengths  sample lengths in tokens, on the device
/// @param count    number of samples
/// @param options  as for the other overload
/// @return the packs
/// @throws invalid_input as `ballast::next_fit`, and for an over-size policy or a demanded number of packs
/// @throws gpu_error if the backend reports an error
template <index_type Index = std::uint32_t, class On, integer Length>
[[nodiscard]] packs_in_order<On, Index> next_fit(On on, Length const* lengths, std::size_t count, packing_options const& options) {
  detail::in_place_options const asked{options};
  asked.require_valid<Index>(count);
  packs_in_order<On, Index> out{{on, count + 1}, {on, count}};
  array<std::uint64_t, On> const words(on, 2);  // packs, bad
  call(on, "next_fit", [&](void* temp, std::size_t& bytes) {
    return next_fit(on, temp, bytes, lengths, count, options, out.offsets.data(), out.pack.data(), words.data(), words.data() + 1);
  });
  auto const found = fetch(on, words);
  if (found[1] != none_bad) (void)ballast::next_fit<Index>(fetch(on, lengths, count), options);  // throws with the reason
  out.offsets.shrink(static_cast<std::size_t>(found[0]) + 1);
  return out;
}

}  // namespace ballast::inline v0_2::gpu
