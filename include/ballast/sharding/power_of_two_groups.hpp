// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/group_fit.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

/// @file
/// @brief `power_of_two_groups`: one micro-batch onto groups of 1, 2, 4, ... ranks that run at the same time.

namespace ballast::inline v0_2 {

/// @brief The groups of ranks of one micro-batch, and the samples of each.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct grouped_samples {
  /// Whether there are groups: `infeasible` if no groups of powers of two have room, `unknown` if none were found.
  ballast::status status = status::infeasible;
  certificate time;  ///< of the slowest group; the bound holds for all groups of powers of two with one pass each
  std::vector<std::uint32_t>
      widths;             ///< number of ranks of each group, descending; group g has the ranks behind those of the groups before
  groups<Index> samples;  ///< samples of each group, longest first
};

namespace detail {

/// The groups of a fit, the widest first. `samples` are the positions that were planned.
template <index_type Index>
[[nodiscard]] grouped_samples<Index> sorted_groups(degree_times const& times, std::span<std::size_t const> samples, group_fit const& fit) {
  grouped_samples<Index> out;
  out.status = status::feasible;
  out.time.value = fit.time;
  std::vector<std::vector<Index>> members(fit.groups.size());
  for (std::size_t j = 0; j < samples.size(); ++j) members[fit.group_of[j]].push_back(static_cast<Index>(times.sample[samples[j]]));
  for (auto const g : fit.widest_first()) {
    out.widths.push_back(static_cast<std::uint32_t>(times.width[fit.groups[g].level]));
    out.samples.push_back(members[g]);
  }
  return out;
}

}  // namespace detail

/// @brief Divides the ranks into groups of powers of two and gives each sample to a group, so that the slowest group takes least.
///
/// A group takes `cost_per_pass` and the time of all its samples, and has room for `capacity` tokens on each rank. The search halves the
/// time T: each sample wants the number of ranks that costs the fewest rank-seconds within T, goes to the group where it costs least, or
/// opens a group while ranks are left. Groups of equal size by least load are tried too. At last the slowest group gets idle ranks.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `shard_cost_model`
/// @param lengths  tokens of each sample of the micro-batch; may be empty
/// @param options  ranks, capacity and fixed time of a pass; `execution` and `layout` are not read
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return the groups; ranks that are in none are idle
/// @post no group holds more than `capacity` tokens for each of its ranks, or fewer than one
/// @throws invalid_input if a length or an option is not positive, or the sum of all times exceeds 2^62
/// @par Complexity
/// O(n log n + n (log ranks + groups)) for each of at most 17 + log2(ranks) constructions.
/// @par Determinism
/// A pure function of its arguments; equal lengths keep their order.
/// @par Source
/// The problem that FlexSP (arXiv 2412.01523, section 4) gives to an integer program for each micro-batch.
template <index_type Index = std::uint32_t, length_range R, shard_cost_model Cost>
[[nodiscard]] grouped_samples<Index> power_of_two_groups(R const& lengths, sharding_options const& options, Cost const& cost) {
  auto const times = detail::times_of_degrees(lengths, options, cost);
  auto const samples = detail::all_positions(times);
  grouped_samples<Index> out;
  auto const tokens = std::accumulate(times.length.begin(), times.length.end(), std::int64_t{0});
  if (tokens > options.capacity * static_cast<std::int64_t>(options.ranks)) return out;
  if (!samples.empty() && !times.allows_all()) return out;
  detail::group_planner planner(times);
  auto const& fit = planner.plan(samples);
  if (fit.time < detail::degree_times::most)
    out = detail::sorted_groups<Index>(times, samples, fit);
  else
    out.status = status::unknown;
  out.time.lower_bound = planner.bound(samples);
  return out;
}

/// @brief Appends the groups of a micro-batch to the passes of a schedule. Every rank gets one pass; those of idle ranks are empty.
/// @tparam Index  type of the sample indices
/// @param list     the passes so far
/// @param groups   groups of the micro-batch, of at most `ranks` ranks together
/// @param ranks    number of ranks
/// @param samples  index in the batch of each sample of the micro-batch; empty = the same index
/// @par Complexity
/// O(ranks + samples of the micro-batch).
template <index_type Index>
void append_micro_batch(pass_list<Index>& list, grouped_samples<Index> const& groups, std::uint64_t ranks,
                        std::span<Index const> samples = {}) {
  std::vector<std::uint32_t> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), std::uint32_t{0});
  std::size_t first = 0;
  for (std::size_t g = 0; g < groups.widths.size(); ++g) {
    auto const pass = static_cast<std::uint32_t>(list.ranks.size());
    for (auto const i : groups.samples[g]) list.placements.push_back({.sample = samples.empty() ? i : samples[i], .pass = pass});
    list.ranks.push_back(std::span(members).subspan(first, groups.widths[g]));
    first += groups.widths[g];
  }
  if (first < members.size()) list.ranks.push_back(std::span(members).subspan(first));
}

}  // namespace ballast::inline v0_2
