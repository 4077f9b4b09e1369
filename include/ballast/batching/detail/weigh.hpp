// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Upper limit of the sum of all costs, such that sums with fixed costs of micro-batches and steps, squared lengths of a step, and P * max
/// of a pipeline stay below 2^63.
[[nodiscard]] inline std::int64_t most_cost(std::size_t n, batching_options const& o) {
  auto const most = (std::numeric_limits<std::int64_t>::max)() / static_cast<std::int64_t>(4 * o.stages);
  if (n == 0) return most;
  // Only the last step has empty places, so the places, and the ranks of all steps, exceed the number of samples by those of one step at
  // most.
  auto const turns = static_cast<std::int64_t>(n + o.ranks);
  auto const count = static_cast<std::int64_t>(o.left_over == left_over::repeat ? n + o.ranks * o.micro_batches : n);
  require(o.cost_per_micro_batch <= most / 2 / count && o.cost_per_step <= most / 2 / turns, [&] {
    return "cost_per_micro_batch = " + std::to_string(o.cost_per_micro_batch) + " and cost_per_step = " + std::to_string(o.cost_per_step) +
           " bring the cost of " + std::to_string(n) + " samples too near to 2^63";
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
    auto long_one = entry("lengths", i, tokens) + " exceeds capacity " + std::to_string(o.capacity);
    if (most_ranks_shared == 1) return long_one;
    if (why != nullptr) return long_one + ", and ranks share no samples " + why + ": raise the capacity or cut the sample";
    return long_one + " times the " + std::to_string(ranks) +
           " ranks that can share it with most_ranks_shared = " + std::to_string(most_ranks_shared) +
           " and ranks = " + std::to_string(o.ranks) + ": raise one of them or cut the sample";
  });
}

/// Validates lengths and weighs them by `cost_of(sample, tokens)`. No sum that a planner forms of these costs can reach 2^63.
template <length_range R, class CostOf>
[[nodiscard]] weighed_samples weigh_by(R const& lengths, batching_options const& o, std::uint64_t most_ranks_shared,
                                       CostOf const& cost_of) {
  require_valid(o);
  weighed_samples out;
  auto const whole = extent_of(lengths);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const at = read_by_position(lengths);
  auto const most = most_cost(n, o);
  require(whole.longest <= (std::int64_t{1} << 31) && (n == 0 || whole.tokens <= (std::int64_t{1} << 62) / whole.longest), [&] {
    return "the longest length, " + std::to_string(whole.longest) + ", exceeds 2^31 or brings the sum of squared lengths too near to 2^63";
  });
  out.all_tokens = whole.tokens;
  out.longest = whole.longest;
  out.tokens.resize(n);
  out.cost.resize(n);
  for (std::size_t i = 0; i < n; ++i) {
    auto const here = [&] { return entry("lengths", i, at[i]); };
    auto const l = out.tokens[i] = static_cast<std::int64_t>(at[i]);
    require_room(i, l, o, most_ranks_shared, nullptr);
    auto const value = cost_of(i, l, here);
    require(std::cmp_greater(value, 0) && std::cmp_less_equal(value, most - out.all_cost), [&] {
      return here() + " has cost " + std::to_string(value) + ", which is not positive or brings the sum of costs too near to 2^63";
    });
    auto const c = out.cost[i] = static_cast<std::int64_t>(value);
    out.all_cost += c;
    out.all_squares += l * l;
    out.most_expensive = (std::max)(out.most_expensive, c);
  }
  return out;
}

/// Throws if the samples were weighed for other options and do not fit these. `why` says why ranks share no samples.
template <index_type Index>
void require_fit(weighed_samples const& samples, batching_options const& o, std::uint64_t most_ranks_shared = 1,
                 char const* why = nullptr) {
  require_valid(o);
  auto const n = samples.size();
  require(n < (std::numeric_limits<Index>::max)(),
          [&] { return std::to_string(n) + " samples need a 64-bit index: call with <std::uint64_t>"; });
  for (std::size_t i = 0; samples.longest > o.capacity && i < n; ++i) require_room(i, samples.tokens[i], o, most_ranks_shared, why);
  require(samples.all_cost <= most_cost(n, o),
          [&] { return "the sum of costs, " + std::to_string(samples.all_cost) + ", is too near to 2^63 for these options"; });
}

}  // namespace ballast::inline v0_2::detail
