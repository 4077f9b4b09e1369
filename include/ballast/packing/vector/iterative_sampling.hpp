// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/patterns.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/detail/sampled_packs.hpp>
#include <ballast/packing/vector/detail/sampling_rounds.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Iterative sampling and filtering: random packs, of which each round keeps the full ones. Which samples meet stays random.

namespace ballast::inline v0_2 {

/// @brief How long to sample, and when a pack counts as full.
struct sampling_options {
  std::uint32_t rounds = 50;  ///< most passes over the samples that are left, at least 1
  /// A pack is full when some measure reaches its entry, each at least 1; one above the capacity is never reached. Empty: `full_packs`.
  std::vector<std::int64_t> filter{};
};

/// @brief When a pack counts as full, unless said otherwise: at the capacity of any measure, or at 127/128 of the last one's.
///
/// The published settings leave 28 to 128 of 4096 tokens free; this leaves 32.
/// @param capacity of one pack @return one entry per measure
[[nodiscard]] inline std::vector<std::int64_t> full_packs(std::span<std::int64_t const> capacity) {
  std::vector<std::int64_t> filter(capacity.begin(), capacity.end());
  if (!filter.empty()) filter.back() -= filter.back() / 128;
  return filter;
}

namespace detail {

inline void require_valid(sampling_options const& sampling, std::size_t measures) {
  require(sampling.rounds > 0, [] { return std::string("rounds = 0 must be positive"); });
  require(sampling.filter.empty() || sampling.filter.size() == measures, [&] {
    return "filter has " + std::to_string(sampling.filter.size()) + " entries for " + std::to_string(measures) + " measures";
  });
  for (std::size_t m = 0; m < sampling.filter.size(); ++m)
    require(sampling.filter[m] > 0, [&] { return entry("filter", m, sampling.filter[m]) + " must be positive"; });
}

/// The filter for all measures that a packer sees; a pack at the limit of samples is full.
[[nodiscard]] inline std::vector<std::int64_t> filter_of(sampling_options const& sampling, vector_packing_options const& options) {
  auto filter = sampling.filter.empty() ? full_packs(options.capacity) : sampling.filter;
  if (options.max_samples != 0) filter.push_back(static_cast<std::int64_t>((std::min)(options.max_samples, std::uint64_t{1} << 62)));
  return filter;
}

}  // namespace detail

/// @brief Iterative sampling and filtering on classes: see `iterative_sampling` for what it does.
///
/// @param classes   any number of classes, none above a capacity
/// @param capacity  of one pack, an entry per measure
/// @param filter    a pack is full when some measure reaches its entry
/// @param rounds    most passes over the samples that are left, at least 1
/// @param seed      of the rounds
/// @param at_most   packs of a plan that is known: the rounds end where they can only lead to more, and a plan of more may be returned
/// @return patterns; those of the packs kept by the filter come first, each pack on its own
[[nodiscard]] inline pack_patterns plan_iterative_sampling(measure_classes const& classes, std::span<std::int64_t const> capacity,
                                                           std::span<std::int64_t const> filter, std::uint32_t rounds, std::uint64_t seed,
                                                           std::size_t at_most = (std::numeric_limits<std::size_t>::max)()) {
  constexpr std::size_t many = std::size_t{1} << 19;  // classes finished; beyond that, time matters more than one round in two
  detail::sampling_rounds state(classes, capacity, filter);
  // The best plan so far: the first `prefix` full packs, and either `finish` or `rest`.
  std::size_t fewest = (std::numeric_limits<std::size_t>::max)(), prefix = 0, finished = 0;
  auto finished_at = fewest;  // full packs when best fit last finished: with no more of them it would do the same again
  pack_patterns finish;
  groups<std::uint32_t> rest;
  splitmix64 seeds(seed);
  for (std::uint32_t round = 0;; ++round) {
    auto const& left = state.left();
    auto const taken = state.taken().size();
    if (round > 0 && taken + left.size() <= fewest) {
      fewest = taken + left.size();
      prefix = taken;
      rest = left;
      finish.clear();
    }
    auto const least = state.least_packs();
    if (left.members.empty() || least > fewest || (round > 0 && least > at_most)) break;
    if (taken != finished_at && (finished < many || std::has_single_bit(round))) {
      finished_at = taken;
      auto patterns = detail::finish_by_best_fit(classes, capacity, left.members);
      finished += (std::min)(classes.size(), left.members.size());
      if (auto const packs = taken + static_cast<std::size_t>(patterns.packs()); packs <= fewest) {
        fewest = packs;
        prefix = taken;
        rest.clear();
        finish = std::move(patterns);
      }
    }
    if (round == rounds) break;
    state.sample(seeds());
  }

  pack_patterns out;
  detail::append_packs(state.taken(), prefix, out);
  detail::append_packs(rest, rest.size(), out);
  for (std::size_t p = 0; p < finish.size(); ++p) out.push_back(finish[p], finish.repeats[p]);
  return out;
}

/// @brief Packs samples of several measures by iterative sampling and filtering (ISF): random packs that are nearly full in some measure.
///
/// Each round brings the samples that are left into a random order and fills one pack after the other with them (next fit); packs that are
/// full in some measure are kept, the samples of the others go into the next round. Beyond the published procedure, the samples that a
/// round leaves are packed by best fit, and of all rounds (none at all included) the one with the fewest packs counts, of equal ones the
/// last: where the filter wastes small samples that large ones need, more rounds make more packs. Rounds end where a bound shows that no
/// later one can win. Samples above a capacity are listed, or the call throws; no other is lost.
///
/// @tparam Index  type of the sample indices
/// @param samples   measures of each sample
/// @param options   capacities and limits: `{.capacity = {9, 4096}}`; `seed` draws another plan
/// @param sampling  rounds and filter
/// @return packs of sample indices, those kept by the filter first; which sample of equal ones is where is random
/// @post no pack exceeds a capacity; each sample is in exactly one pack or in `set_aside`; no more packs than the published procedure
///       makes of the same draws in any number of rounds up to `rounds`
/// @throws invalid_input for a bad option or measure, or a sample above a capacity under `oversize::reject`
/// @par Complexity
/// O(rounds * n * measures) at most; where the filter keeps a fixed share of the packs, O(n * measures). Then `plan_vector_best_fit`.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Yao et al., OmniBal, arXiv 2407.20761, section 4.1, and its code.
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> iterative_sampling(sample_measures const& samples, vector_packing_options const& options,
                                                       sampling_options const& sampling = {}) {
  detail::require_valid(sampling, samples.measures());
  return detail::drive<Index>(samples, options, vector_packer::iterative_sampling, [&](auto const& items, vector_packing<Index>& out) {
    auto const filter = detail::filter_of(sampling, options);
    auto const patterns = plan_iterative_sampling(items.classes, items.capacity, filter, sampling.rounds, items.seed);
    auto const order = detail::mixed_order(items);
    detail::expand_all<Index>(patterns, {items.classes, order, items.begin, items.capacity, items.seed}, out.packs);
  });
}

}  // namespace ballast::inline v0_2
