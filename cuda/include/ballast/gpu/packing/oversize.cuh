// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/packing/detail/fit_lengths.cuh>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

/// @file
/// @brief Applies the over-size policy to samples on a device, for the twins that take only lengths up to the capacity.

namespace ballast::inline v0_2::gpu {

/// @brief Samples on a device as they are trained on; its members are those of `ballast::trained_samples`, and mean the same.
///
/// Costs are not kept: `sample_costs` weighs the items.
///
/// @tparam On      the backend
/// @tparam Length  type of the lengths; no item is longer than its sample
/// @tparam Index   type of the sample indices
template <class On, integer Length, index_type Index = std::uint32_t>
struct trained_samples {
  array<Length, On> tokens;        ///< length of each item; for a sample that was set aside, its full length
  array<Index, On> set_aside;      ///< samples longer than the capacity that the policy left out, ascending
  array<Index, On> alone;          ///< samples longer than the capacity that are packed alone, ascending
  array<sample_piece, On> pieces;  ///< second and later pieces of split samples, by sample, then offset
  std::int64_t all_tokens = 0;     ///< sum of `tokens`, without the samples that were set aside
};

/// @brief Applies an over-size policy to samples on a device; twin of `ballast::apply_oversize`. Allocates and waits.
///
/// There is no form with a workspace, because the number of items is not known before. By `truncate` and `split`, all items are packed with
/// others: any twin takes `tokens` as its lengths.
///
/// @tparam Index   type of the sample indices
/// @tparam On      the backend
/// @tparam Length  an integer
/// @param on       the backend
/// @param lengths  sample lengths in tokens, on the device, each at least 1
/// @param count    number of samples
/// @param options  capacity, its multiples and the policy; other options are only validated
/// @return the items, and which samples the policy left out, cut or left to be packed alone
/// @throws invalid_input as `ballast::apply_oversize`
/// @throws gpu_error if the backend reports an error
/// @par Complexity
/// O(count + entries log count) for the entries of `set_aside`, `alone` and `pieces`: a pass that reads the lengths, and if there are
/// entries, a second one with a scan, and a search for each entry; then a copy of all items.
/// @par Determinism
/// As on the host, bit for bit.
template <index_type Index = std::uint32_t, class On, integer Length>
[[nodiscard]] trained_samples<On, Length, Index> apply_oversize(On on, Length const* lengths, std::size_t count,
                                                                packing_options const& options) {
  require_valid(options);
  require_index<Index>(count, "samples");
  auto fitted = detail::fit_lengths<Index>(on, lengths, count, options);
  auto const& pieces = fitted.pieces;
  trained_samples<On, Length, Index> out{
      {on, count + pieces.size()}, {on, 0}, {on, 0}, {on, 0}, static_cast<std::int64_t>(fitted.sums.trained)};
  auto const most =
      ballast::detail::cuts(options.oversize) ? ballast::detail::largest_item(options) : (std::numeric_limits<std::int64_t>::max)();
  check(on.for_each(out.tokens.size(), detail::write_item<Length, Index>{lengths, count, static_cast<std::uint64_t>(most), nullptr, 0,
                                                                         pieces.data(), out.tokens.data()}),
        "apply_oversize");
  (options.oversize == oversize::alone ? out.alone : out.set_aside) = std::move(fitted.listed);
  out.pieces = std::move(fitted.pieces);
  return out;
}

}  // namespace ballast::inline v0_2::gpu
