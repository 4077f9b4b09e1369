// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/karmarkar_karp.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief verl's balancing of a global batch (volcengine/verl): Karmarkar-Karp over data-parallel ranks, then over their micro-batches.

namespace ballast::inline v0_2::verl {

/// @brief The workload of a sample for a model of hidden size 4096: `24576 L + L^2`. @return the cost
[[nodiscard]] constexpr quadratic_cost workload() noexcept { return {.linear = 24576, .quadratic = 1}; }

/// @brief Variants of `schedule`.
struct variant {
  std::uint64_t context_ranks = 0;  ///< ranks that share every sample; 0 = the number that takes least time for the batch
  bool equal_counts = false;        ///< whether the data-parallel ranks get equal numbers of samples
  /// Whether the number of micro-batches is the published one, whatever they hold. It is chosen by the tokens of a rank alone, so a
  /// micro-batch may exceed the capacity.
  bool as_published = false;
};

namespace detail {

/// Samples of each micro-batch of each group, or none if a micro-batch exceeds `room` and `strict` is set.
template <index_type Index, class Lengths>
std::vector<groups<Index>> micro_batches_of(groups<Index> const& sets, std::uint64_t count, std::int64_t room, bool strict,
                                            Lengths const& length) {
  std::vector<groups<Index>> out;
  std::vector<std::int64_t> mine;
  for (auto const set : sets) {
    mine.clear();
    for (auto const i : set) mine.push_back(length(i));
    auto parts = karmarkar_karp<Index>(mine, {.sets = count}, workload()).sets;
    for (auto const part : parts) {
      std::int64_t tokens = 0;
      for (auto const j : part) tokens += mine[static_cast<std::size_t>(j)];
      if (strict && tokens > room) return {};
    }
    for (auto& j : parts.members) j = set[static_cast<std::size_t>(j)];
    out.push_back(std::move(parts));
  }
  return out;
}

/// The passes of one number of context-parallel ranks, and their time; `unknown` if none were found.
template <index_type Index>
struct trial {
  ballast::status status = status::unknown;
  std::int64_t time = 0;
  pass_list<Index> list;
};
template <index_type Index, length_range R, degree_cost_model Cost>
trial<Index> on_degree(R const& lengths, std::uint64_t degree, sharding_options const& o, Cost const& cost, variant const& by) {
  auto const n = static_cast<std::uint64_t>(std::ranges::size(lengths)), groups_of_ranks = o.ranks / degree;
  auto const at = read_by_position(lengths);
  auto const length = [&](Index i) { return static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]); };
  auto const room = o.capacity * static_cast<std::int64_t>(degree);
  auto const sets = karmarkar_karp<Index>(lengths, {.sets = groups_of_ranks, .equal_counts = by.equal_counts}, workload()).sets;
  std::int64_t fewest = 1;
  for (auto const set : sets) {
    std::int64_t tokens = 0;
    for (auto const i : set) tokens += length(i);
    fewest = (std::max)(fewest, divide_up(tokens, room));
  }
  trial<Index> out;
  std::vector<groups<Index>> parts;
  auto count = static_cast<std::uint64_t>(fewest);
  for (; parts.empty() && count <= n; ++count) parts = micro_batches_of(sets, count, room, !by.as_published, length);
  if (parts.empty()) return out;
  for (std::size_t m = 0; m < parts.front().size(); ++m) {
    grouped_samples<Index> together;
    std::int64_t slowest = 0;
    for (auto const& of_group : parts) {
      std::int64_t tokens = 0, time = o.cost_per_pass;
      for (auto const i : of_group[m]) {
        tokens += length(i);
        time += static_cast<std::int64_t>(cost(length(i), static_cast<std::int64_t>(degree)));
      }
      if (tokens > 0 && tokens < static_cast<std::int64_t>(degree)) return {};  // some ranks would have no token
      if (tokens > 0) slowest = (std::max)(slowest, time);
      together.widths.push_back(static_cast<std::uint32_t>(degree));
      together.samples.push_back(of_group[m]);
    }
    append_micro_batch(out.list, together, o.ranks);
    out.time += slowest;
  }
  out.status = status::feasible;
  return out;
}

}  // namespace detail

/// @brief Schedules a global batch as verl does: all samples are shared by equally many ranks, micro-batches run in lockstep.
///
/// Karmarkar-Karp distributes the samples over the data-parallel groups, then the samples of each group over micro-batches, by the
/// workload `24576 L + L^2`. All groups have the same number of micro-batches: as many as the tokens of the fullest group need.
///
/// **Erratum.** Nothing in the published rule keeps a micro-batch within the capacity. Here the number of micro-batches grows until all
/// are; `variant::as_published` keeps the published number.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param options  ranks, capacity of a pass, fixed time of a pass; `execution` is not read
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @param by       variants
/// @return the shards, in lockstep; `infeasible` if a sample exceeds the room of the largest group, `unknown` if no number of micro-batches
/// within the capacity was found
/// @post `check_shards` accepts the result, unless it is as published; `time.lower_bound` holds for every plan in lockstep on groups that
/// `options.sizes` allows
/// @throws invalid_input if a length or an option is not positive, or `context_ranks` does not divide the ranks or is a size that
/// `options.sizes` does not allow
/// @par Complexity
/// O(n log n) for each number of micro-batches that is tried, and for each number of context-parallel ranks.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// verl, `utils/seqlen_balancing.py` (workload, two levels, number of micro-batches).
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost>
[[nodiscard]] shards<Index> schedule(R const& lengths, sharding_options options, Cost const& cost, variant const& by = {}) {
  options.execution = execution::lockstep;
  auto const least = shard_bounds(lengths, options, cost).lower();
  auto const longest = extent_of(lengths).longest;
  auto const d = by.context_ranks,
             most = options.most_ranks_shared == 0 ? options.ranks : (std::min)(options.most_ranks_shared, options.ranks);
  auto const any = ballast::detail::takes_any_size(options, std::ranges::size(lengths));
  auto const allowed = [&](std::uint64_t degree) { return options.ranks % degree == 0 && (any || std::has_single_bit(degree)); };
  require(d == 0 || (d <= options.ranks && allowed(d)),
          [&] { return sentence("context_ranks = ", d, " must be ", any ? "a number" : "a power of two", " that divides ranks, or 0"); });
  require(d <= most, [&] { return sentence("context_ranks = ", d, " exceeds most_ranks_shared = ", most); });
  detail::trial<Index> best{.status = status::infeasible, .list = {}};
  if (longest == 0) best.status = status::feasible;  // there are no samples
  for (std::uint64_t degree = d == 0 ? 1 : d; degree <= (d == 0 ? most : d); ++degree) {
    if (longest == 0 || !allowed(degree) || longest > options.capacity * static_cast<std::int64_t>(degree)) continue;
    auto one = detail::on_degree<Index>(lengths, degree, options, cost, by);
    if (best.status != status::feasible || (one.status == status::feasible && one.time < best.time)) best = std::move(one);
  }
  shards<Index> out;
  if (best.status == status::feasible) out = make_shards(lengths, best.list, options.ranks, options.layout);
  out.status = best.status;
  out.execution = execution::lockstep;
  if (best.status != status::infeasible) out.time = {best.time, least};
  return out;
}

}  // namespace ballast::inline v0_2::verl
