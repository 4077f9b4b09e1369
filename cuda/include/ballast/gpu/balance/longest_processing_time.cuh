// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/gpu/balance/batches.cuh>
#include <ballast/gpu/balance/detail/costs.cuh>
#include <ballast/gpu/balance/detail/deal_batch.cuh>
#include <ballast/gpu/balance/result.cuh>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/workspace.cuh>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

/// @file
/// @brief Longest processing time first for thousands of global batches at once. Each block sorts and deals one batch; each lane keeps some
/// sets.

namespace ballast::inline v0_2::gpu {

/// @brief Assigns the items of every batch to sets, most expensive first, each to the least loaded set with room; twin of
/// `ballast::longest_processing_time` for every batch.
///
/// Among equal loads, the lower set is taken; among equal costs, the lower index is first.
///
/// @tparam Index  type of the item indices
/// @tparam On     the backend
/// @param on       the backend
/// @param temp     scratch memory, or null to get its size
/// @param bytes    size of `temp` in bytes; set if `temp` is null
/// @param in       the batches
/// @param options  at most `most_sets` sets, max_items and equal_counts, the same for all batches; no capacity; a limit of items requires
///                 `misfit::set_aside`
/// @param set_of   array for the set of each item; gets `no_set` if all sets hold `max_items`
/// @param loads    array for the load of each set, batch after batch: `in.batches * options.sets` values
/// @param first_bad  one word: the first item with a negative cost or one that brings the sum of its batch to 2^63; all ones if there is
/// none
/// @return the error, if any; `invalid_value` if sets, batches or other options are out of range, there are too many items for the index,
/// or
///         the workspace is too small
/// @par Complexity
/// O(items log items + items sets / lanes) in a batch; batches run side by side. A batch of at most twice the mean items, and of 4096,
/// is sorted in the shared memory of its block: 8 bytes are read and 4 written an item. A longer one is sorted in parts of this size, which
/// the block merges in scratch memory, 8 bytes an item, 16 with 64-bit indices.
/// @par Determinism
/// A pure function of costs, batches and options.
/// @par Source
/// Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17 (1969).
template <index_type Index = std::uint32_t, class On>
[[nodiscard]] typename On::error_type longest_processing_time(On on, void* temp, std::size_t& bytes, cost_batches const& in,
                                                              balance_options const& options, std::uint32_t* set_of, std::int64_t* loads,
                                                              std::uint64_t* first_bad) {
  constexpr typename On::error_type ok{};
  if (options.capacity != 0 || (options.max_items != 0 && options.misfit != misfit::set_aside)) return On::invalid_value;
  if (options.sets < 1 || options.sets > most_sets || in.batches >> 32 != 0 || in.items > (std::numeric_limits<Index>::max)())
    return On::invalid_value;
  auto const sets = static_cast<std::uint32_t>(options.sets);
  auto const mean = in.items / (std::max)(in.batches, std::uint64_t{1});
  auto chunk = std::bit_ceil(static_cast<std::uint32_t>(std::clamp(2 * mean, detail::balance_least_chunk, detail::balance_most_chunk)));
  while (chunk > detail::balance_least_chunk && detail::balance_shared_bytes(sets, chunk) > on.shared_memory()) chunk /= 2;
  workspace cut(temp);
  auto const n = in.items <= chunk ? std::size_t{0} : static_cast<std::size_t>(in.items);
  auto* const one = cut.take<Index>(n);
  auto* const other = cut.take<Index>(n);
  if (auto const end = cut.finish<On>(bytes); end.ends) return end.error;
  auto const done = on.fill(first_bad, 0xff, sizeof(std::uint64_t));
  if (done != ok) return done;
  auto const lanes = sets > detail::balance_warp_sets || mean > 256 ? 256U : round_up((std::max)(static_cast<unsigned>(mean), 1U), 32U);
  return on.blocks(static_cast<std::size_t>(in.batches), lanes, detail::balance_shared_bytes(sets, chunk),
                   detail::balance_deal<Index>{
                       in.costs, in.items, in.offsets, one, other, chunk, sets, static_cast<unsigned>(std::bit_width(sets - 1)),
                       options.max_items == 0 ? ~std::uint64_t{0} : options.max_items, options.equal_counts, set_of, loads, first_bad});
}

/// @brief As the overload with `temp`, with scratch memory from the backend; waits for the results.
/// @tparam Index type of the item indices @tparam On the backend
/// @param on the backend @param in the batches @param options number of sets and limits @param set_of array for the set of each item
/// @param loads array for the load of each set, batch after batch
/// @throws gpu_error if the backend reports an error
/// @throws invalid_input for a bad option, or naming the first bad item, as `ballast::longest_processing_time`
template <index_type Index = std::uint32_t, class On>
void longest_processing_time(On on, cost_batches const& in, balance_options const& options, std::uint32_t* set_of, std::int64_t* loads) {
  ballast::detail::require_valid(options);
  array<std::uint64_t, On> const bad(on, 1);
  call(on, "longest_processing_time", [&](void* temp, std::size_t& bytes) {
    return longest_processing_time<Index>(on, temp, bytes, in, options, set_of, loads, bad.data());
  });
  detail::balance_require_costs(on, bad, in.costs);
}

}  // namespace ballast::inline v0_2::gpu
