// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/weigh.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief `weighed_samples`: lengths and costs of samples. Every planner of steps takes them in place of lengths and a cost function.
/// `weigh` makes them: it validates samples and computes the cost of each, once for all planners.

namespace ballast::inline v0_2 {

/// @brief Samples with their costs, made by `weigh`. The sums are those of the lists.
struct weighed_samples {
  std::vector<std::int64_t> tokens;  ///< tokens of each sample, positive
  std::vector<std::int64_t> cost;    ///< cost of each sample, positive
  std::int64_t all_tokens = 0;       ///< sum of `tokens`
  std::int64_t all_cost = 0;         ///< sum of `cost`
  std::int64_t all_squares = 0;      ///< sum of squared `tokens`
  std::int64_t longest = 0;          ///< largest number of tokens of a sample; 0 without samples
  std::int64_t most_expensive = 0;   ///< largest cost of a sample; 0 without samples

  /// @brief Number of samples.
  [[nodiscard]] std::size_t size() const noexcept { return tokens.size(); }
  friend bool operator==(weighed_samples const&, weighed_samples const&) = default;
};

namespace detail {

/// Upper limit of the sum of all costs, such that sums with fixed costs of micro-batches and steps, squared lengths of a step, and P * max
/// of a pipeline stay below 2^63.
[[nodiscard]] inline std::int64_t most_cost(std::size_t n, batching_options const& o) {
  auto const most = (std::numeric_limits<std::int64_t>::max)() / static_cast<std::int64_t>(4 * o.stages);
  if (n == 0) return most;
  // Only the last step has empty places, so places, and ranks of all steps, exceed the number of samples by those of one step at most.
  auto const turns = static_cast<std::int64_t>(n + o.ranks);
  auto const count = static_cast<std::int64_t>(o.left_over == left_over::repeat ? n + o.ranks * o.micro_batches : n);
  require(o.cost_per_micro_batch <= most / 2 / count && o.cost_per_step <= most / 2 / turns, [&] {
    return sentence("cost_per_micro_batch = ", o.cost_per_micro_batch, " and cost_per_step = ", o.cost_per_step, " bring the cost of ", n,
                    " samples too near to 2^63; count costs in a larger unit");
  });
  return most - o.cost_per_micro_batch * count - o.cost_per_step * turns;
}

/// The most ranks of a step that can share a sample, a power of two; 0 = no limit but the ranks.
[[nodiscard]] inline std::uint64_t ranks_to_share(std::uint64_t most_ranks_shared, batching_options const& o) noexcept {
  return std::bit_floor(most_ranks_shared == 0 ? o.ranks : (std::min)(most_ranks_shared, o.ranks));
}

/// Throws unless a sample has room on one rank, or on the ranks that can share it. `why` says why ranks share none.
inline void require_room(std::size_t i, std::int64_t tokens, batching_options const& o, std::uint64_t most_ranks_shared, char const* why) {
  auto const ranks = why == nullptr ? ranks_to_share(most_ranks_shared, o) : 1;
  require(tokens <= o.capacity * static_cast<std::int64_t>(ranks), [&] {
    auto long_one = sentence(entry("lengths", i, tokens), " exceeds capacity ", o.capacity);
    if (most_ranks_shared == 1) return long_one;
    if (why != nullptr) return long_one + ", and ranks share no samples " + why + ": raise the capacity or cut the sample";
    return sentence(long_one, " times the ", ranks, " ranks that can share it with most_ranks_shared = ", most_ranks_shared,
                    " and ranks = ", o.ranks, ": raise one of them or cut the sample");
  });
}

/// Throws unless all samples have room.
inline void require_room(weighed_samples const& samples, batching_options const& o, std::uint64_t most_ranks_shared,
                         char const* why = nullptr) {
  for (std::size_t i = 0; samples.longest > o.capacity && i < samples.size(); ++i)
    require_room(i, samples.tokens[i], o, most_ranks_shared, why);
}

/// Checks lengths whose sum is below 2^63, and adds them up.
template <class = when_called>
inline void add_up_tokens(weighed_samples& samples, batching_options const& o, std::uint64_t most_ranks_shared) {
  for (auto const l : samples.tokens) {
    samples.all_tokens += l;
    samples.longest = (std::max)(samples.longest, l);
  }
  auto const longest = samples.longest;
  require(longest <= (std::int64_t{1} << 31) && (longest == 0 || samples.all_tokens <= (std::int64_t{1} << 62) / longest), [&] {
    return sentence("the longest length, ", longest, ", exceeds 2^31 or brings the sum of squared lengths too near to 2^63");
  });
  for (auto const l : samples.tokens) samples.all_squares += l * l;
  require_room(samples, o, most_ranks_shared);
}

/// Checks costs and adds them up. No sum that a planner forms of them can reach 2^63.
template <class = when_called>
inline void add_up_costs(weighed_samples& samples, batching_options const& o) {
  auto const most = most_cost(samples.size(), o);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    auto const c = samples.cost[i];
    require(c > 0 && c <= most - samples.all_cost, [&] {
      return sentence(entry("lengths", i, samples.tokens[i]), " has cost ", c,
                      ", which is not positive or brings the sum of costs too near to 2^63; count costs in a larger unit");
    });
    samples.all_cost += c;
    samples.most_expensive = (std::max)(samples.most_expensive, c);
  }
}

/// The samples of checked lengths.
template <length_range R>
[[nodiscard]] weighed_samples samples_of(R const& lengths, batching_options const& o, std::uint64_t most_ranks_shared) {
  require_valid(o);
  (void)extent_of(lengths);
  auto const at = read_by_position(lengths);
  weighed_samples out;
  out.tokens.resize(static_cast<std::size_t>(std::ranges::size(lengths)));
  out.cost.resize(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) out.tokens[i] = static_cast<std::int64_t>(at[i]);
  add_up_tokens(out, o, most_ranks_shared);
  return out;
}

/// Samples whose lists are taken over, of lengths whose sum is below 2^63.
template <class = when_called>
[[nodiscard]] inline weighed_samples take_over(std::vector<std::int64_t> tokens, std::vector<std::int64_t> cost,
                                               batching_options const& o) {
  require_valid(o);
  weighed_samples out{.tokens = std::move(tokens), .cost = std::move(cost)};
  add_up_tokens(out, o, 1);
  add_up_costs(out, o);
  return out;
}

/// Throws if the samples were weighed for other options and do not fit these. `why` says why ranks share no samples.
template <index_type Index>
void require_fit(weighed_samples const& samples, batching_options const& o, std::uint64_t most_ranks_shared = 1,
                 char const* why = nullptr) {
  require_valid(o);
  auto const n = samples.size();
  require(n < (std::numeric_limits<Index>::max)(), [&] { return sentence(n, " samples need a 64-bit index: call with <std::uint64_t>"); });
  require_room(samples, o, most_ranks_shared, why);
  require(samples.all_cost <= most_cost(n, o), [&] {
    return sentence("the sum of costs, ", samples.all_cost, ", is too near to 2^63 for these options; count costs in a larger unit");
  });
}

}  // namespace detail

/// @brief Validates samples and computes the cost of each.
///
/// @tparam R     range of integers
/// @tparam Cost  cost of a sample by its length
/// @param lengths  tokens of each sample, at most the capacity, or that of the ranks that can share a sample
/// @param options  options of the planners that will take the samples: capacity, fixed costs and shape decide which sums are too large
/// @param cost     returns the cost of a sample from its tokens, an integer; called once for each sample
/// @param most_ranks_shared  most ranks that may share a sample, for planners that are given the same number; 0 = all ranks
/// @return the samples with their costs and sums
/// @throws invalid_input for a bad option; a length that is not positive, too large for the capacity or above 2^31; a cost that is not
/// positive; costs whose sums in the planners could exceed 2^63
/// @par Complexity
/// O(samples).
/// @par Determinism
/// A pure function of its arguments.
template <length_range R, cost_model Cost>
[[nodiscard]] weighed_samples weigh(R const& lengths, batching_options const& options, Cost const& cost,
                                    std::uint64_t most_ranks_shared = 1) {
  auto out = detail::samples_of(lengths, options, most_ranks_shared);
  for (std::size_t i = 0; i < out.size(); ++i)
    out.cost[i] = checked_cost(out.tokens[i], cost_of_sample{cost, i}, "cost", [&] { return entry("lengths", i, out.tokens[i]); });
  detail::add_up_costs(out, options);
  return out;
}

/// @brief As above, for samples whose costs are known already.
/// @param lengths  tokens of each sample, at most the capacity, or that of the ranks that can share a sample
/// @param costs    cost of each sample, positive; one for each length
/// @param options  options of the planners that will take the samples
/// @param most_ranks_shared  most ranks that may share a sample, for planners that are given the same number
/// @return the samples with their costs and sums
/// @throws invalid_input as the overload above, or unless both lists have the same size
/// @par Complexity
/// O(samples).
template <length_range R, length_range Costs>
[[nodiscard]] weighed_samples weigh(R const& lengths, Costs const& costs, batching_options const& options,
                                    std::uint64_t most_ranks_shared = 1) {
  require(std::ranges::size(lengths) == std::ranges::size(costs),
          [&] { return sentence("costs has ", std::ranges::size(costs), " entries for ", std::ranges::size(lengths), " lengths"); });
  auto const known = read_by_position(costs);
  auto out = detail::samples_of(lengths, options, most_ranks_shared);
  for (std::size_t i = 0; i < out.size(); ++i) {
    require(std::in_range<std::int64_t>(known[i]), [&] { return entry("costs", i, known[i]) + " must be below 2^63"; });
    out.cost[i] = static_cast<std::int64_t>(known[i]);
  }
  detail::add_up_costs(out, options);
  return out;
}

}  // namespace ballast::inline v0_2
