// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/kept_memory.hpp>
#include <ballast/packing/detail/driver.hpp>
#include <ballast/packing/detail/few_best_fit.hpp>
#include <ballast/packing/detail/scatter.hpp>

#include <cstdint>
#include <optional>

/// @file
/// @brief Best-fit decreasing, computed on the histogram of lengths: the same packs as item by item, an order of magnitude faster.

namespace ballast::inline v0_2 {

namespace detail {
template <index_type Index>
struct packing_memory {
  driver_workspace<Index> driver;
  bulk_workspace bulk;
  scatter_workspace<Index> positions;
  raw_buffer<std::int64_t> wide;
  raw_buffer<std::uint16_t> narrow;
  pooled_memory searches;
};
template <index_type Index, class Executor>
struct best_fit_decreasing_solver {
  packing_memory<Index>* kept;  ///< null: made where it is needed
  Executor const& executor;
  [[nodiscard]] static constexpr bool unfolded(std::size_t count, std::int64_t heaviest) { return are_few(count, heaviest); }
  template <class Weights>
  [[nodiscard]] solved operator()(packing_items<Weights> const& items, groups<Index>& packs) const {
    if (items.count <= most_few) {
      std::int64_t wide[few_arrays::wide * most_few];
      std::uint16_t narrow[few_arrays::narrow * most_few];
      return {pack_few(items, {items.count, wide, narrow}, packs), true};
    }
    std::optional<packing_memory<Index>> own;
    auto& ws = kept != nullptr ? *kept : own.emplace();
    if (items.classes.lengths.empty()) {
      few_arrays const arrays(items.count, ws.wide.get(few_arrays::wide * items.count), ws.narrow.get(few_arrays::narrow * items.count));
      if (auto const bound = pack_few(items, arrays, packs); !packs.empty()) return {bound, true};
    }
    auto const count = bulk_best_fit(true, items.classes, items.capacity, items.max_samples, ws.bulk);
    expand(count, ws.bulk, canonical_order(items, ws.positions, executor), packs, executor);
    return {packing_lower_bound(items.classes, items.capacity, items.max_samples, static_cast<std::int64_t>(count)), true};
  }
};
}  // namespace detail

/// @brief Scratch memory of `best_fit_decreasing` and `pack`. A caller who plans every step keeps one: calls after the first then allocate
/// nothing as long as the input does not grow.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
using packing_workspace = kept_memory<detail::packing_memory<Index>>;

/// @brief Packs by best-fit decreasing, into caller-owned memory.
///
/// For callers who plan every step. The other overload says what is computed.
///
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length
/// @param workspace scratch memory, kept between calls
/// @param out      overwritten with the plan; its memory is used again
/// @param executor  executes the passes over the samples; the plan does not depend on it
/// @throws invalid_input as the other overload; `out` is then unchanged
template <index_type Index, length_range R, cost_model Cost, executor Executor = serial>
void best_fit_decreasing(R const& lengths, packing_options const& options, Cost const& cost, packing_workspace<Index>& workspace,
                         packing<Index>& out, Executor const& executor = {}) {
  auto& memory = detail::memory_of(workspace);
  detail::drive<Index>(lengths, options, cost, detail::best_fit_decreasing_solver<Index, Executor>{&memory, executor}, memory.driver, out);
}

/// @brief Packs by best-fit decreasing: each sample, longest first, goes into the fullest pack that has room for it.
///
/// Of equally full packs, the one opened first is taken; of equal lengths, the lower index comes first. The plan is made on the histogram
/// of lengths and expanded in parallel passes over the samples. The packs are exactly those of the item-by-item algorithm.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @tparam Executor  `serial`, `threads` or an executor of the caller
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and limits
/// @param cost     weighs one length; tokens by default
/// @param executor  executes the passes over the samples; the plan does not depend on it
/// @return packs in the order they were opened; the members of a pack by length, longest first
/// @post at most 11/9 OPT + 4 packs, if neither the samples per pack nor the number of packs is limited
/// @throws invalid_input for a bad option, a length that is not positive, or one above the capacity under `oversize::reject`
/// @par Complexity
/// O(n + D log D + R) time for n samples, D distinct lengths and R <= D + 2 D sqrt(2 capacity) runs (1 to 3 D on real data); where the
/// longest length is far above n, the samples are sorted instead, in O(n log n). O(n + longest length) scratch memory.
/// @par Determinism
/// A pure function of lengths, options and cost, with every `executor`.
/// @par Source
/// Johnson, Demers, Ullman, Garey, Graham, "Worst-case performance bounds for simple one-dimensional packing algorithms", SIAM J. Comput. 3
/// (1974): the algorithm and its bound. Krell et al., arXiv 2107.02027: packing the histogram.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost, executor Executor = serial>
[[nodiscard]] packing<Index> best_fit_decreasing(R const& lengths, packing_options const& options, Cost const& cost = {},
                                                 Executor const& executor = {}) {
  detail::driver_workspace<Index> workspace;
  packing<Index> out;
  detail::drive<Index>(lengths, options, cost, detail::best_fit_decreasing_solver<Index, Executor>{nullptr, executor}, workspace, out);
  return out;
}

BALLAST_INSTANTIATE(packing<std::uint32_t> best_fit_decreasing(std::vector<std::int32_t> const&, packing_options const&, token_cost const&,
                                                               serial const&))
BALLAST_INSTANTIATE(packing<std::uint32_t> best_fit_decreasing(std::vector<std::int64_t> const&, packing_options const&, token_cost const&,
                                                               serial const&))
BALLAST_INSTANTIATE(packing<std::uint32_t> best_fit_decreasing(std::span<std::int32_t const> const&, packing_options const&,
                                                               token_cost const&, serial const&))
BALLAST_INSTANTIATE(packing<std::uint32_t> best_fit_decreasing(std::span<std::int64_t const> const&, packing_options const&,
                                                               token_cost const&, serial const&))

}  // namespace ballast::inline v0_2
