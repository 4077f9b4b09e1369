// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/divided_cost.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/methods/detail/split_samples.hpp>
#include <ballast/methods/local_or_distributed_options.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/makespan_bound.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief `local_or_distributed`: one micro-batch of a context-parallel group, each sample whole on one rank or shared by all ranks.

namespace ballast::inline v0_2 {

/// @brief Communication that takes no time.
inline constexpr linear_cost no_communication{.per_token = 0};

/// @brief One micro-batch: which samples are whole on which rank, and which ones all ranks share.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct split_batch {
  /// A value of `rank_of`: all ranks share the sample.
  static constexpr std::uint32_t all_ranks = pass_list<Index>::all_ranks;

  ballast::status status = ballast::status::feasible;  ///< `infeasible` and `unknown` have no placement
  std::vector<std::uint32_t> rank_of;                  ///< of each sample: its rank, or `all_ranks`
  std::vector<std::int64_t> loads;                     ///< of each rank: time of its whole samples and of its shares, without communication
  std::vector<std::int64_t> local_tokens;              ///< of each rank: tokens of its whole samples
  std::int64_t shared_tokens = 0;                      ///< tokens of all shared samples together
  std::vector<std::int64_t> free_tokens;  ///< of each rank: `capacity - local_tokens - ceil(shared_tokens / ranks)`; negative only if the
                                          ///< published roll-back broke the capacity
  std::uint64_t rolled_back = 0;          ///< number of samples that were whole and became shared
  certificate overlapped;                 ///< the objective below, and a lower bound on it for samples, ranks, capacity and cost
  ballast::shards<Index> shards;          ///< one pass of each rank that holds tokens; `time` is that of `time_shards`
};

namespace detail {

/// Appends the pass of a micro-batch: of all ranks if they share a sample, otherwise of those that hold one. `at(k)` is the sample that
/// comes k-th, and its rank.
template <index_type Index, class At>
void append_pass(split_batch<Index> const& batch, At const& at, std::uint32_t first_rank, pass_list<Index>& out) {
  auto const pass = static_cast<std::uint32_t>(out.ranks.size());
  for (std::uint32_t r = 0; r < batch.local_tokens.size(); ++r)
    if (batch.shared_tokens > 0 || batch.local_tokens[r] > 0) out.ranks.members.push_back(first_rank + r);
  out.ranks.offsets.push_back(out.ranks.members.size());
  for (std::size_t k = 0; k < batch.rank_of.size(); ++k) {
    auto const [sample, rank] = at(k);
    out.placements.push_back({sample, pass, rank == out.all_ranks ? out.all_ranks : first_rank + rank});
  }
}

/// Times of every sample of a batch, alone and shared by all `ranks`; the sums are checked.
template <index_type Index, length_range R, degree_cost_model Cost>
[[nodiscard]] std::vector<timed_sample<Index>> time_samples(R const& lengths, std::uint64_t ranks, Cost const& cost) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  auto const extent = extent_of(lengths);
  require(extent.tokens < std::int64_t{1} << 62, [] { return "the sum of lengths must be below 2^62"; });
  auto const at = read_by_position(lengths);
  std::vector<timed_sample<Index>> out(n);
  std::int64_t alone = 0, shared = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    out[i] = {length, sample_time(cost, i, length, 1), sample_time(cost, i, length, ranks), static_cast<Index>(i), 0};
    add_time(alone, out[i].alone, i, length);
    add_time(shared, out[i].shared, i, length);
  }
  return out;
}

}  // namespace detail

/// @brief Places each sample of a micro-batch whole on one rank, or shares it among all ranks of the group.
///
/// The objective is `max over ranks of max(communication(V), time of its whole samples) + time of its shares`, where V is the tokens of all
/// shared samples: the exchange of keys and values hides behind the whole samples. Sharing costs communication, so samples stay whole while
/// there is room. They come in ascending order. Each is placed whole on the rank with the least time, else whole on the rank with the most
/// free tokens, else shared, else the shortest whole sample of the fullest rank becomes shared and the sample is tried again.
///
/// A sample with fewer tokens than there are ranks is shared only together with others.
///
/// @tparam Index          type of the sample indices
/// @tparam R              range of integers
/// @tparam Cost           a `degree_cost_model`, or a `cost_model`, which is divided evenly
/// @tparam Communication  a `cost_model`
/// @param lengths        tokens of each sample, positive; may be empty
/// @param options        capacity and ranks of the group, and variants for comparisons
/// @param cost           time of a sample by its length and by how many ranks share it, without communication
/// @param communication  time to exchange V shared tokens, which must not fall as V rises; 0 by default
/// @return the placement, the pieces of each rank, and the objective with a lower bound. Without a plan, `status` is `infeasible` if the
///         samples have more tokens than the group has room for, otherwise `unknown`
/// @post with the corrected roll-back no rank exceeds the capacity, and there is a plan if the tokens fit into `ranks * capacity` and no
///       sample has fewer tokens than there are ranks
/// @throws invalid_input for a bad option, a length that is not positive, or a time outside [0, 2^62)
/// @par Complexity
/// O(K log K + (K + roll-backs) log N) for K samples on N ranks, and N calls of a cost that is not divided evenly for each sample.
/// @par Determinism
/// A pure function of its arguments; of equal ranks the lower number is taken, of equal lengths the lower index.
/// @par Source
/// Xu et al., "Skrull", arXiv 2505.19609, algorithms 1, 3 and 4. The printed roll-back charges only the rank that it makes room on with the
/// share of the sample, although every rank gets one; `rolling_back::corrected` charges all.
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost, cost_model Communication = linear_cost>
[[nodiscard]] split_batch<Index> local_or_distributed(R const& lengths, local_or_distributed_options const& options, Cost const& cost,
                                                      Communication const& communication = no_communication) {
  sharding_options const as_sharding{.capacity = options.capacity, .ranks = options.ranks, .cost_per_pass = options.cost_per_pass};
  detail::require_valid(as_sharding);
  auto samples = detail::time_samples<Index>(lengths, options.ranks, cost);
  if (options.order == placing_order::shortest_first) std::sort(samples.begin(), samples.end(), detail::shorter<Index>);
  auto const n = static_cast<std::size_t>(options.ranks);
  detail::split_samples<Index> split(samples, options.ranks, options.capacity, options.roll_back, options.local);
  split_batch<Index> out;
  out.overlapped.lower_bound = detail::overlapped_bound(samples, options.ranks, options.capacity, communication);
  out.shards.execution = execution::mixed;
  if (!split.run()) {
    auto const tokens =
        std::accumulate(samples.begin(), samples.end(), std::int64_t{0}, [](auto t, auto const& s) { return t + s.length; });
    out.status = tokens > options.capacity * static_cast<std::int64_t>(n) ? status::infeasible : status::unknown;
    out.shards.status = out.status;
    return out;
  }
  if (options.share_more) split.share_more(communication);
  out.shared_tokens = split.shared_tokens();
  out.rolled_back = split.rolled_back();
  out.rank_of.resize(samples.size());
  out.local_tokens.assign(n, 0);
  out.loads.assign(n, 0);
  std::int64_t shared = 0;
  for (auto const& s : samples) {
    out.rank_of[s.sample] = s.rank;
    if (s.rank == out.all_ranks) {
      shared += s.shared;
    } else {
      out.local_tokens[s.rank] += s.length;
      out.loads[s.rank] += s.alone;
    }
  }
  auto const exchange = out.shared_tokens == 0 ? 0 : static_cast<std::int64_t>(communication(out.shared_tokens));
  auto const share = divide_up(out.shared_tokens, static_cast<std::int64_t>(n));
  out.overlapped.value = shared + (std::max)(exchange, *std::max_element(out.loads.begin(), out.loads.end()));
  for (auto& load : out.loads) load += shared;
  for (auto const tokens : out.local_tokens) out.free_tokens.push_back(options.capacity - tokens - share);

  if (!options.pieces) return out;
  pass_list<Index> list;
  if (!samples.empty()) detail::append_pass(out, [&](std::size_t k) { return std::pair(samples[k].sample, samples[k].rank); }, 0, list);
  out.shards = make_shards(lengths, list, options.ranks, options.layout);
  out.shards.execution = execution::mixed;
  auto const slowest = *std::max_element(out.loads.begin(), out.loads.end());  // what `time_shards` returns
  out.shards.time = {samples.empty() ? 0 : options.cost_per_pass + slowest, least_time(lengths, as_sharding, cost)};
  return out;
}

/// @brief As above, for a cost of whole samples, such as their FLOPs: each of d ranks takes 1/d of it.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost, cost_model Communication = linear_cost>
[[nodiscard]] split_batch<Index> local_or_distributed(R const& lengths, local_or_distributed_options const& options, Cost const& cost,
                                                      Communication const& communication = no_communication) {
  return local_or_distributed<Index>(lengths, options, divided_cost<Cost>{cost}, communication);
}

}  // namespace ballast::inline v0_2
