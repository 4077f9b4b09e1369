// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/cost/sample_degree_cost.hpp>
#include <ballast/methods/length_buckets.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/workspace.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/time_shards.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief FlexSP (Wang et al., arXiv 2412.01523): micro-batches of samples of similar length, each on groups of different sizes.

namespace ballast::inline v0_2::flexsp {

/// @brief How the groups of a micro-batch are found.
enum class grouping : std::uint8_t {
  search,      ///< `power_of_two_groups`, in place of the paper's integer program
  warm_start,  ///< the best groups of one size, the point from which the paper's code starts its integer program
};

/// @brief Variants of the planner. The defaults are those of the paper and its code.
struct variants {
  std::uint64_t counts = 5;    ///< numbers of micro-batches that are tried, from the fewest whose tokens fit on; at least 1
  std::uint64_t buckets = 16;  ///< buckets of lengths in a micro-batch; 0 = decide on the lengths themselves
  std::uint64_t fewest_ranks =
      2;  ///< ranks of the smallest group, and 1, 2, 4, ... times as many in others; the paper's code has no groups of one rank
  grouping how = grouping::search;  ///< how the groups of a micro-batch are found
};

namespace detail {

using ballast::detail::cost_of_units;
using ballast::detail::widest_group;

/// The best groups of one size: each sample, longest first, to the group of least time that has room. `lengths` descend.
template <index_type Index, class Cost>
[[nodiscard]] grouped_samples<Index> equal_groups(std::span<std::int64_t const> lengths, sharding_options const& o, Cost const& cost) {
  constexpr auto most = std::int64_t{1} << 62;
  grouped_samples<Index> best;
  best.status = status::unknown;
  for (std::uint64_t width = 1; width <= widest_group(o); width *= 2) {
    struct group {
      std::int64_t time = 0, tokens = 0;
      std::vector<Index> samples{};
    };
    std::vector<group> groups(static_cast<std::size_t>(o.ranks / width));
    auto const room = o.capacity * static_cast<std::int64_t>(width);
    auto fits = true;
    for (std::size_t i = 0; i < lengths.size() && fits; ++i) {
      auto const rank = [&](group const& g) { return g.tokens + lengths[i] <= room ? g.time : most; };
      auto& least = *std::ranges::min_element(groups, {}, rank);
      auto const time = static_cast<std::int64_t>(cost(lengths[i], static_cast<std::int64_t>(width)));
      fits = rank(least) < most && time < most - least.time;
      if (!fits) break;
      least.time += time;
      least.tokens += lengths[i];
      least.samples.push_back(static_cast<Index>(i));
    }
    std::erase_if(groups, [](group const& g) { return g.samples.empty(); });
    auto const slowest = fits ? (std::ranges::max)(groups, {}, &group::time).time + o.cost_per_pass : most;
    if (!fits || (best.status == status::feasible && slowest >= best.time.value)) continue;
    best = {.status = status::feasible, .time = {slowest, 0}, .widths = {}, .samples = {}};
    best.widths.assign(groups.size(), static_cast<std::uint32_t>(width));
    for (auto const& g : groups) best.samples.push_back(g.samples);
  }
  return best;
}

/// The micro-batches of one count.
template <index_type Index>
struct trial {
  bool found = true;
  std::int64_t time = 0;  // by the lengths on which was decided
  std::vector<grouped_samples<Index>> micro_batches;
};

/// The groups of consecutive samples; `lengths` descend.
template <index_type Index, class Cost>
[[nodiscard]] grouped_samples<Index> groups_of(std::span<std::int64_t const> lengths, sharding_options const& o, Cost const& cost,
                                               variants const& by) {
  auto const tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  std::vector<std::int64_t> rounded(lengths.begin(), lengths.end());
  if (by.buckets > 0) {
    // The paper's code takes more buckets until rounding up fills at most half of the free room.
    auto const room = o.capacity * static_cast<std::int64_t>(o.ranks);
    auto const buckets = length_buckets<Index>(lengths, by.buckets, (room - tokens) / 2);
    for (std::size_t b = 0; b < buckets.samples.size(); ++b)
      for (auto const i : buckets.samples[b]) rounded[static_cast<std::size_t>(i)] = buckets.upper[b];
  }
  auto units = o;  // of `fewest_ranks` ranks
  units.ranks /= by.fewest_ranks;
  units.most_ranks_shared /= by.fewest_ranks;
  units.capacity *= static_cast<std::int64_t>(by.fewest_ranks);
  cost_of_units<Cost> const by_units{&cost, static_cast<std::int64_t>(by.fewest_ranks)};
  auto out = by.how == grouping::search ? power_of_two_groups<Index>(rounded, units, by_units)
                                        : equal_groups<Index>(std::span<std::int64_t const>(rounded), units, by_units);
  for (std::size_t g = 0; g < out.widths.size(); ++g) {
    out.widths[g] *= static_cast<std::uint32_t>(by.fewest_ranks);
    std::int64_t held = 0;
    for (auto const i : out.samples[g]) held += lengths[static_cast<std::size_t>(i)];
    if (held < std::int64_t{out.widths[g]}) out.status = status::unknown;  // a rank without a token
  }
  return out;
}

/// The best of the tried counts of micro-batches; `lengths` descend.
template <index_type Index, class Cost>
[[nodiscard]] std::pair<trial<Index>, staged<Index>> best_trial(std::span<std::int64_t const> lengths, sharding_options const& o,
                                                                Cost const& cost, variants const& by) {
  auto const room = o.capacity * static_cast<std::int64_t>(o.ranks);
  auto const tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  std::pair<trial<Index>, staged<Index>> best;
  best.first.found = false;
  partition_workspace workspace;
  staged<Index> cut;
  std::uint64_t tried = 0;
  for (auto count = static_cast<std::uint64_t>(divide_up(tokens, room)); count <= lengths.size(); ++count) {
    if (tried >= by.counts && (best.first.found || tried / 4 >= by.counts)) break;
    min_max_partition(lengths, {.stages = count}, token_cost{}, workspace, cut);
    if (cut.bottleneck.value > room) continue;
    ++tried;
    trial<Index> now;
    for (std::size_t m = 0; m < count && now.found; ++m) {
      auto const first = static_cast<std::size_t>(cut.boundaries[m]), last = static_cast<std::size_t>(cut.boundaries[m + 1]);
      now.micro_batches.push_back(groups_of<Index>(lengths.subspan(first, last - first), o, cost, by));
      now.found = now.micro_batches.back().status == status::feasible;
      now.time += now.micro_batches.back().time.value;
    }
    if (now.found && (!best.first.found || now.time < best.first.time)) best = {std::move(now), cut};
  }
  return best;
}

inline void require_valid(sharding_options const& o, variants const& by, std::uint64_t samples) {
  require(by.counts > 0, [] { return "counts = 0 must be positive"; });
  auto const any = ballast::detail::takes_any_size(o, samples);
  require(by.fewest_ranks > 0 && by.fewest_ranks <= widest_group(o) && (any || std::has_single_bit(by.fewest_ranks)), [&] {
    return sentence("fewest_ranks = ", by.fewest_ranks, any ? " must be positive, at most " : " must be a power of two, at most ",
                    widest_group(o));
  });
}

}  // namespace detail

/// @brief Schedules a global batch as FlexSP does.
///
/// The samples, sorted by length, are cut into consecutive micro-batches such that the largest has the fewest tokens. In each micro-batch,
/// lengths are rounded up to the ends of a few buckets, and the samples are given to groups of 2, 4, 8, ... ranks such that the slowest
/// takes least. Several counts of micro-batches are tried, and the one that takes least with rounded lengths is kept.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param options  shape of the batch, such as `options_of`; `execution` is not read
/// @param cost     time of a sample by its length and the number of ranks that share it, such as `cost_of`
/// @param by       variants
/// @return the shards, in lockstep, longest samples first; `infeasible` if a sample has room on no group, `unknown` if no tried count has
/// groups for all samples with a token on each rank
/// @post `check_shards` accepts the result. `time.value` is the makespan of `time_shards`, by the lengths themselves; `time.lower_bound`
/// holds for every plan in lockstep on groups that `options.sizes` allows, of one rank too
/// @throws invalid_input if a length, an option or `counts` is not positive, `fewest_ranks` is no size of a group that `options.sizes`
/// allows, or the sum of all times or the time of rounded lengths reaches 2^62
/// @par Complexity
/// O(n log n), and `counts` times `length_buckets` and `power_of_two_groups` of all samples; up to four times as many if none has groups.
/// @par Determinism
/// A pure function of its arguments; equal lengths keep their order.
/// @par Source
/// FlexSP (arXiv 2412.01523), section 4, and the code of the paper for what it leaves open.
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost>
[[nodiscard]] shards<Index> schedule(R const& lengths, sharding_options options, Cost const& cost, variants const& by = {}) {
  options.execution = execution::lockstep;
  auto const bound = shard_bounds(lengths, options, cost).lower();
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  detail::require_valid(options, by, n);
  require_index<Index>(n, "samples");
  shards<Index> out;
  out.execution = execution::lockstep;
  if (extent_of(lengths).longest >
      options.capacity * static_cast<std::int64_t>(by.fewest_ranks * std::bit_floor(detail::widest_group(options) / by.fewest_ranks))) {
    out.status = status::infeasible;
    return out;
  }
  auto const at = read_by_position(lengths);
  auto const length = [&](Index i) { return static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]); };
  auto const order = order_by<Index>(n, [&](Index i) { return -length(i); });
  std::vector<std::int64_t> sorted(n);
  std::ranges::transform(order, sorted.begin(), length);
  pass_list<Index> list;
  if (n > 0) {
    auto const [best, cut] = detail::best_trial<Index>(std::span<std::int64_t const>(sorted), options, cost, by);
    out.time.lower_bound = bound;
    if (!best.found) {
      out.status = status::unknown;
      return out;
    }
    for (std::size_t m = 0; m < best.micro_batches.size(); ++m) {
      auto const first = static_cast<std::size_t>(cut.boundaries[m]), last = static_cast<std::size_t>(cut.boundaries[m + 1]);
      append_micro_batch(list, best.micro_batches[m], options.ranks, std::span<Index const>(order).subspan(first, last - first));
    }
  }
  out = make_shards(lengths, list, options.ranks, options.layout);
  out.execution = execution::lockstep;
  out.time = {time_shards(out, cost, options.cost_per_pass).makespan, bound};
  return out;
}

}  // namespace ballast::inline v0_2::flexsp
