// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/packing/detail/canonical_order.cuh>
#include <ballast/gpu/packing/fold.cuh>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/run_length.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// @file
/// @brief How many packs device lengths need, without packing them.

namespace ballast::inline v0_2::gpu {

namespace detail {

inline void require_run_options(packing_options const& options) {
  ballast::detail::require_valid(options);
  require_on_device(options.capacity, "capacity");
  require(takes_runs(options),
          [] { return std::string("device lengths take no over-size policy and no demanded number of packs: pack them on the host"); });
}

// Throws what the host twin says of lengths of which one is bad.
template <class On, class Length>
void refuse_lengths(On on, Length const* lengths, std::size_t count, packing_options const& options) {
  (void)ballast::best_fit_decreasing<std::uint64_t>(all_lengths(on, lengths, count), options);
}

// The certificate of a plan for these lengths.
[[nodiscard]] inline pack_tally tally_of(pack_runs const& plan, histogram const& lengths, packing_options const& options) {
  auto const items = ballast::detail::weigh(lengths, options);
  auto const max_samples = options.max_samples != 0 ? options.max_samples : plan.samples + 1;
  auto const bound = packing_lower_bound(items.weights, plan.capacity, max_samples, static_cast<std::int64_t>(plan.packs));
  auto const verdict = ballast::detail::judge_count(plan.packs, plan.samples, bound, options);
  return {verdict.status, verdict.count, verdict.bound, items.tokens, 0};
}

}  // namespace detail

/// @brief The number of packs that best-fit decreasing needs for device lengths, with its certificate; allocates and waits.
///
/// To ask for many capacities, `fold` once and ask the host's `count_packs`.
///
/// @param on       where it runs
/// @param lengths  of the device, in tokens, each at least 1
/// @param count    how many
/// @param options  as for `best_fit_decreasing` on the device
/// @return exactly `ballast::count_packs` of the histogram of these lengths
/// @throws invalid_input as `best_fit_decreasing`
/// @throws gpu_error if the backend reports an error
/// @par Complexity
/// As `fold`, and O(D log D + R) on the host for D distinct lengths and R runs.
template <class On, integer Length>
[[nodiscard]] pack_tally count_packs(On on, Length const* lengths, std::size_t count, packing_options const& options) {
  detail::require_run_options(options);
  auto const [counts, bad] = detail::fetch_counts(on, lengths, count, detail::pack_padding_of(options).longest());
  if (bad != none_bad) detail::refuse_lengths(on, lengths, count, options);
  return ballast::count_packs(histogram_of(counts), options);
}

}  // namespace ballast::inline v0_2::gpu
