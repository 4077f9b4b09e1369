// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/kept_memory.hpp>
#include <ballast/core/math.hpp>
#include <ballast/packing/detail/bulk_best_fit.hpp>
#include <ballast/packing/detail/driver.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/runs.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief Best-fit decreasing on a histogram of lengths, in time independent of the number of samples. Returns a plan of runs, or only the
/// number of packs.

namespace ballast::inline v0_2 {

/// @brief How many packs a histogram needs, without the packs themselves.
struct pack_tally {
  ballast::status status = ballast::status::feasible;  ///< can only fail if a number of packs was demanded
  certificate count;                                   ///< number of packs, and its lower bound
  packing_bound bound = packing_bound::none;           ///< what proves `count.lower_bound`
  std::int64_t tokens = 0;                             ///< sum of the lengths in packs, without padding
  std::uint64_t set_aside = 0;                         ///< samples that the over-size policy left out
};

/// @brief Counts the packs that best-fit decreasing needs, and certifies the count.
///
/// Equals `best_fit_decreasing(lengths, options).count` for every set of lengths with this histogram.
///
/// @param lengths  histogram of sample lengths in tokens
/// @param options  as for `best_fit_decreasing`, every field
/// @return number of packs with its certificate, tokens, and samples set aside
/// @throws invalid_input for a bad option, an invalid histogram, or a length above the capacity under `oversize::reject`
/// @par Complexity
/// O(D log D + R) for D distinct lengths and R runs; independent of the number of samples.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] pack_tally count_packs(histogram const& lengths, packing_options const& options) {
  auto const items = apply_oversize(lengths, options);
  auto const capacity = round_down(options.capacity, options.pack_multiple);
  auto const samples = items.weights.samples() + items.alone;
  auto const max_samples = options.max_samples != 0 ? options.max_samples : samples + 1;
  detail::bulk_workspace ws;
  auto const packs = detail::bulk_best_fit(false, items.weights, capacity, max_samples, ws);
  auto bound = packing_lower_bound(items.weights, capacity, max_samples, static_cast<std::int64_t>(packs));
  bound.packs += static_cast<std::int64_t>(items.alone);
  auto const verdict = detail::judge_count(packs + items.alone, samples, bound, options);
  return {verdict.status, verdict.count, verdict.bound, verdict.status == status::feasible ? items.tokens : 0, items.set_aside};
}

namespace detail {

struct runs_memory {
  bulk_workspace bulk;
  std::vector<pack_block> blocks;
};

// Plans everything of `out` but its runs, which stay in `memory.bulk.runs`; calls `ready()` as soon as they are there, before the
// blocks.
template <class Ready>
void plan_runs(histogram const& lengths, packing_options const& options, runs_memory& memory, pack_runs& out, Ready const& ready) {
  require(options.oversize == oversize::reject && options.pack_count == 0 && options.pack_count_multiple == 1, [] {
    return std::string("a plan of runs takes no over-size policy and no demanded number of packs: use best_fit_decreasing on the lengths");
  });
  auto const items = apply_oversize(lengths, options);
  auto& [bulk, blocks] = memory;
  out.capacity = round_down(options.capacity, options.pack_multiple);
  out.sample_multiple = options.sample_multiple;
  out.samples = items.weights.samples();
  out.packs = bulk_best_fit(true, items.weights, out.capacity, options.max_samples != 0 ? options.max_samples : out.samples + 1, bulk);
  ready();
  blocks.resize(bulk.behind.size());
  for_each_interval(bulk, [&](pack_interval const& part) { blocks[part.place] = {part.key, 0, part.samples, out.capacity - part.room}; });
  out.blocks.clear();
  std::uint64_t member = 0;
  for (auto place = blocks.empty() ? bulk_workspace::none : 0; place != bulk_workspace::none; place = bulk.behind[place]) {
    if (!out.blocks.empty()) member += (blocks[place].first_pack - out.blocks.back().first_pack) * out.blocks.back().samples;
    blocks[place].first_member = member;
    out.blocks.push_back(blocks[place]);
  }
}

}  // namespace detail

/// @brief Scratch memory of `plan_best_fit_decreasing`, for callers who plan every step.
using plan_workspace = kept_memory<detail::runs_memory>;

/// @brief Plans best-fit decreasing on a histogram of lengths, into caller-owned memory.
///
/// @param lengths    histogram of sample lengths in tokens
/// @param options    as the other overload
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the other overload
template <class = when_called>
inline void plan_best_fit_decreasing(histogram const& lengths, packing_options const& options, plan_workspace& workspace, pack_runs& out) {
  auto& memory = detail::memory_of(workspace);
  auto const& runs = memory.bulk.runs;
  detail::plan_runs(lengths, options, memory, out, [&] { out.runs.assign(runs.begin(), runs.end()); });
}

/// @brief Plans best-fit decreasing on a histogram of lengths, and returns the plan as runs.
///
/// For ranks that each hold a shard: they sum their histograms, compute the same plan, and find the places of their samples by `place`
/// (expand.hpp).
///
/// @param lengths  histogram of sample lengths in tokens
/// @param options  capacity, max_samples, sample_multiple and pack_multiple; every length must fit, and no number of packs can be demanded
/// @return the plan, 48 bytes a run
/// @throws invalid_input for a bad option, an invalid histogram, or a length above the capacity
/// @par Complexity
/// O(D log D + R) for D distinct lengths and R <= D + 2 D sqrt(2 capacity) runs (1 to 3 D on real data); independent of the number of
/// samples.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline pack_runs plan_best_fit_decreasing(histogram const& lengths, packing_options const& options) {
  plan_workspace workspace;
  pack_runs plan;
  plan_best_fit_decreasing(lengths, options, workspace, plan);
  return plan;
}

BALLAST_INSTANTIATE(pack_tally count_packs(histogram const&, packing_options const&))

}  // namespace ballast::inline v0_2
