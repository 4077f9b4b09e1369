// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/status.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/packing/detail/fit_lengths.cuh>
#include <ballast/packing/detail/driver.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>
#include <ballast/packing/run_length.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

// What a plan of runs is made for, since it takes neither over-size policies nor demanded numbers of packs: the items that share packs.

namespace ballast::inline v0_2::gpu::detail {

// The items are the samples, without those that are left out, and then the pieces.
template <class On, class Length, class Index>
struct run_items {
  fitted_lengths<On, Index> fitted;
  array<Length, On> own;  // empty if the items are the samples
  Length const* lengths;
  std::size_t count;

  [[nodiscard]] std::uint64_t alone(packing_options const& o) const { return o.oversize == oversize::alone ? fitted.sums.listed : 0; }
  // The options for the items. No limit of samples is one more than there are samples, as for the host's driver.
  [[nodiscard]] packing_options options(packing_options o, std::size_t samples) const {
    if (o.max_samples == 0) o.max_samples = std::uint64_t{samples} + 1;
    o.pack_count = 0;
    o.pack_count_multiple = 1;
    o.oversize = oversize::reject;
    return o;
  }
  // The tally of all samples, from that of the items.
  [[nodiscard]] pack_tally settle(pack_tally const& planned, packing_options const& o) const {
    auto const more = alone(o);
    packs_needed const bound{planned.count.lower_bound + static_cast<std::int64_t>(more), planned.bound};
    auto const verdict = ballast::detail::judge_count(static_cast<std::uint64_t>(planned.count.value) + more, count + more, bound, o);
    auto const tokens = o.oversize == oversize::reject ? planned.tokens : static_cast<std::int64_t>(fitted.sums.trained);
    return {verdict.status, verdict.count, verdict.bound, verdict.status == status::feasible ? tokens : 0,
            o.oversize == oversize::set_aside ? fitted.sums.listed : 0};
  }
};

template <class Index, class On, class Length>
[[nodiscard]] run_items<On, Length, Index> run_items_of(On on, Length const* lengths, std::size_t count, packing_options const& options) {
  if (options.oversize == oversize::reject) return {{{}, {on, 0}, {on, 0}}, {on, 0}, lengths, count};  // the plan finds what does not fit
  auto fitted = fit_lengths<Index>(on, lengths, count, options);
  auto const& sums = fitted.sums;
  if (sums.listed == 0 && sums.trained == sums.tokens) return {std::move(fitted), {on, 0}, lengths, count};
  auto const items = count - fitted.listed.size() + fitted.pieces.size();
  run_items<On, Length, Index> out{std::move(fitted), {on, items}, nullptr, items};
  auto const& [_, listed, pieces] = out.fitted;
  auto const largest = static_cast<std::uint64_t>(ballast::detail::largest_item(options));
  check(on.for_each(items, write_item<Length, Index>{lengths, count, largest, listed.data(), listed.size(), pieces.data(), out.own.data()}),
        "apply_oversize");
  out.lengths = out.own.data();
  return out;
}

}  // namespace ballast::inline v0_2::gpu::detail
