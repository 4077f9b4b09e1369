// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/lengths.cuh>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/detail/driver.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/run_length.hpp>
#include <ballast/packing/runs.hpp>

#include <cstddef>
#include <cstdint>

// Shared by the twins that plan by runs: the options that they accept, the messages of the host, and the certificate.

namespace ballast::inline v0_2::gpu::detail {

// Whether a plan of runs supports the options.
[[nodiscard]] inline bool takes_runs(packing_options const& o) {
  return o.capacity > 0 && o.capacity <= longest_on_device && o.sample_multiple > 0 && o.pack_multiple > 0 &&
         o.pack_multiple <= o.capacity && o.pack_count == 0 && o.pack_count_multiple == 1 && o.oversize == oversize::reject;
}
inline void require_device_options(packing_options const& options) {
  require_valid(options);
  require_on_device(options.capacity, "capacity");
}

// Throws with the message of the host twin for lengths of which one is bad.
template <class On, class Length>
void throw_for_lengths(On on, Length const* lengths, std::size_t count, packing_options const& options) {
  (void)ballast::best_fit_decreasing<std::uint64_t>(fetch(on, lengths, count), options);
}

// The certificate of a plan for these lengths.
[[nodiscard]] inline pack_tally tally_of(pack_runs const& plan, histogram const& lengths, packing_options const& options) {
  auto const items = apply_oversize(lengths, options);
  auto const max_samples = options.max_samples != 0 ? options.max_samples : plan.samples + 1;
  auto const bound = packing_lower_bound(items.weights, plan.capacity, max_samples, static_cast<std::int64_t>(plan.packs));
  auto const verdict = ballast::detail::judge_count(plan.packs, plan.samples, bound, options);
  return {verdict.status, verdict.count, verdict.bound, items.tokens, 0};
}

}  // namespace ballast::inline v0_2::gpu::detail
