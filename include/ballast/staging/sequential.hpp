// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/staging/detail/oracle.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>
#include <ballast/staging/result.hpp>

#include <cstddef>
#include <cstdint>

/// @file
/// @brief `plan_stages_in_sequence`: first a partition that is balanced in time, then the best recomputation within it; a baseline.

namespace ballast::inline v0_2 {

/// @brief Cuts a chain for time alone, and then fits each stage into memory with the selection that adds least time.
///
/// Each of the two steps is exact, but not both together: the partition may have a stage that does not fit with any selection, or a slow
/// stage where another partition has a fast one. `plan_stages` is never worse.
///
/// @tparam Index  type of the boundaries
/// @param chain    the folded chain of layers
/// @param options  as for `plan_stages`
/// @return the plan, with the bottleneck of the partition without memory as lower bound; infeasible if a stage of it does not fit
/// @throws invalid_input as `plan_stages`
/// @par Complexity
/// O(p log n log C) for the partition, then one selection per stage.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The two steps of OmniBal, arXiv 2407.20761, section 4.
template <index_type Index = std::uint32_t>
[[nodiscard]] joint_stages<Index> plan_stages_in_sequence(layer_chain const& chain, staging_options const& options) {
  detail::stage_oracle<> oracle(chain, options);
  joint_stages<Index> out;
  out.partition = min_max_partition<Index>(oracle.layers(), oracle.cut(),
                                           [&](std::uint64_t b, std::uint64_t e, std::uint64_t) { return oracle.sums(b, e).time; });
  if (out.partition.status != status::feasible) return out;
  auto const& cuts = out.partition.boundaries;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    auto const of = oracle.sums(cuts[s], cuts[s + 1]);
    if (oracle.fits(of, s)) {
      static_cast<void>(oracle.settle(cuts[s], cuts[s + 1], s, 0));
      continue;
    }
    out.partition = {.status = status::infeasible,
                     .bottleneck = {options.capacity[s], stage_bytes(of.state, of.working, of.least, options.in_flight[s])},
                     .bound = partition_bound::capacity,
                     .boundaries = {}};
    return out;
  }
  detail::fill_stages(oracle, out);
  return out;
}

BALLAST_INSTANTIATE(joint_stages<std::uint32_t> plan_stages_in_sequence(layer_chain const&, staging_options const&))

}  // namespace ballast::inline v0_2
