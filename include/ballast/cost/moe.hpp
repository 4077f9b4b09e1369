// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/detail/transformer_counts.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief Work of the routed experts of a mixture-of-experts layer: capacity, rows, FLOPs, dropped rows, and the rows of each rank.
///
/// A router sends each of T tokens to k of N experts: k T rows, one for each pair of token and expert. With a capacity, each expert
/// computes C rows: rows beyond C are dropped, and missing rows are padded. Dropless experts compute the rows that come.

namespace ballast::inline v0_2 {

/// @brief How tokens are routed to experts.
///
/// k prototypes of N / k experts, each of which takes every token once, have the capacity and FLOPs of N experts of which k see a token
/// (Yang et al., "M6-T", arXiv 2105.15082): call the functions for one prototype and multiply by k.
struct expert_routing {
  std::int64_t experts = 1;   ///< N: number of experts
  std::int64_t active = 1;    ///< k: number of experts that a token is sent to
  std::int64_t capacity = 0;  ///< rows that an expert takes, in thousandths of an even share k T / N; 0: as many as come (dropless)

  friend constexpr bool operator==(expert_routing const&, expert_routing const&) = default;
};

/// @brief Throws unless a routing is in range.
/// @param by  the routing
/// @throws invalid_input naming the field
constexpr void require_valid(expert_routing const& by) {
  detail::require_within("experts", by.experts, 1, 2048);
  detail::require_within("active", by.active, 1, by.experts);
  detail::require_within("capacity", by.capacity, 0, 1'000'000);
}

/// @brief Rows that one expert takes at most: C = ceil(capacity / 1000 k T / N).
/// @param tokens  T: number of tokens that are routed together, in [0, 2^40]
/// @param by      how they are routed
/// @return the rows; T if the experts are dropless, because a token is sent to an expert at most once
/// @throws invalid_input if an argument is out of range
/// @par Source
/// Lepikhin et al., "GShard", arXiv 2006.16668.
[[nodiscard]] constexpr std::int64_t expert_capacity(std::int64_t tokens, expert_routing const& by) {
  require_valid(by);
  detail::require_within("tokens", tokens, 0, std::int64_t{1} << 40);
  if (by.capacity == 0) return tokens;
  return static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(tokens * by.active),
                                                      static_cast<std::uint64_t>(by.capacity),
                                                      static_cast<std::uint64_t>(by.experts * 1000)));
}

/// @brief Rows that all experts of a layer compute together: N C with a capacity, empty rows included, and k T without.
/// @param tokens  T: number of tokens that are routed together, in [0, 2^40]
/// @param by      how they are routed
/// @return the rows, below 2^62
/// @throws invalid_input if an argument is out of range
[[nodiscard]] constexpr std::int64_t expert_rows(std::int64_t tokens, expert_routing const& by) {
  auto const most = expert_capacity(tokens, by);
  return by.capacity == 0 ? tokens * by.active : by.experts * most;
}

/// @brief Forward FLOPs of one routed expert per row, by its matrices.
/// @param model  the shape
/// @return FLOPs per row
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t expert_flops_per_row(transformer const& model) {
  require_valid(model);
  return 2 * detail::ffn_matrices(model, model.expert_ffn);
}

/// @brief Forward FLOPs of the router of one layer per token: 2 d N, for any number of active experts or prototypes.
/// @param model  the shape
/// @return FLOPs per token; 0 if the model has no experts
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr std::int64_t router_flops_per_token(transformer const& model) {
  require_valid(model);
  return 2 * model.hidden * model.experts;
}

/// @brief An upper bound on the expected number of dropped rows of a layer if the router is uniform.
///
/// Uniform means that each token is sent to k distinct experts, each set of k with the same probability and independently of other tokens.
/// The load L of an expert then is binomial with mean m = k T / N and variance v = m (1 - k / N). The mean of max(0, L - C) is
/// (E|L - C| + m - C) / 2, and E|L - C| is at most the root of E(L - C)^2 = v + (C - m)^2, by the inequality of Cauchy and Schwarz. For N
/// experts, with D = N C - k T, the bound is (sqrt(T k (N - k) + D^2) - D) / 2. At a capacity of one even share and many rows for each
/// expert, the mean is about 0.8 of the bound.
///
/// @param tokens  T: number of tokens that are routed together
/// @param by      how they are routed
/// @return rows, rounded up; 0 if an expert has room for every token
/// @throws invalid_input if an argument is out of range, or if N C or k T reaches 2^31
/// @par Complexity
/// O(1): 32 divisions.
[[nodiscard]] constexpr std::int64_t most_expected_drops(std::int64_t tokens, expert_routing const& by) {
  auto const capacity = expert_capacity(tokens, by);
  if (capacity >= tokens) return 0;
  auto const routed = tokens * by.active, room = by.experts * capacity;
  require((std::max)(routed, room) < std::int64_t{1} << 31,
          [&] { return "tokens = " + std::to_string(tokens) + " bring the rows of a layer to 2^31 or more"; });
  auto const spare = room - routed, square = tokens * by.active * (by.experts - by.active) + spare * spare;  // below 2^63
  std::int64_t low = 0, high = std::int64_t{1} << 32;  // the root, rounded up, is in (low, high]
  while (high - low > 1) {
    auto const middle = low + (high - low) / 2;
    (divide_up(square, middle) <= middle ? high : low) = middle;
  }
  return divide_up((square == 0 ? 0 : high) - spare, std::int64_t{2});
}

/// @brief What becomes of the rows of a layer, from the loads of its experts.
struct routed_rows {
  std::int64_t kept = 0;       ///< number of rows that experts compute, without empty ones
  std::int64_t dropped = 0;    ///< number of rows beyond the capacity
  std::int64_t largest = 0;    ///< rows kept of the expert with the most
  std::int64_t imbalance = 0;  ///< standard deviation of the loads over their mean, in thousandths, rounded down; 0 if there are no rows

  friend constexpr bool operator==(routed_rows const&, routed_rows const&) = default;
};

/// @brief Counts kept and dropped rows, and how unevenly the rows are routed.
///
/// @param loads     number of rows that the router sends to each expert; at most 2^20 experts
/// @param capacity  rows that an expert takes (`expert_capacity`), at least 0
/// @return the rows
/// @post `kept + dropped` is the sum of the loads, and `largest <= capacity`
/// @throws invalid_input if a load is negative, or the loads or their sum are out of range (2^31)
/// @par Complexity
/// O(experts).
/// @par Source
/// Yang et al., "M6-T", arXiv 2105.15082 (coefficient of variation of the loads).
template <class = when_called>
[[nodiscard]] constexpr routed_rows count_routed_rows(std::span<std::int64_t const> loads, std::int64_t capacity) {
  require(loads.size() <= std::size_t{1} << 20, [&] { return std::to_string(loads.size()) + " loads: at most 2^20 experts are counted"; });
  require(capacity >= 0, [&] { return "capacity = " + std::to_string(capacity) + " must not be negative"; });
  routed_rows out;
  std::int64_t sum = 0, squares = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    auto const load = loads[i];
    require(load >= 0 && load < (std::int64_t{1} << 31) - sum,
            [&] { return entry("loads", i, load) + " is negative, or brings the sum of loads to 2^31 or more"; });
    sum += load;
    squares += load * load;
    auto const kept = (std::min)(load, capacity);
    out.kept += kept;
    out.dropped += load - kept;
    out.largest = (std::max)(out.largest, kept);
  }
  if (sum == 0) return out;
  // with N loads of mean m, deviation^2 / m^2 = N squares / sum^2 - 1; find the largest v with v^2 <= 10^6 times that
  constexpr std::int64_t thousand2 = 1'000'000;
  auto const reaches = [&](std::int64_t v) {
    return compare_products(v * v + thousand2, sum * sum, static_cast<std::int64_t>(loads.size()) * thousand2, squares) <= 0;
  };
  std::int64_t high = std::int64_t{1} << 21;  // above 1000 sqrt(N)
  while (high - out.imbalance > 1) {
    auto const middle = out.imbalance + (high - out.imbalance) / 2;
    (reaches(middle) ? out.imbalance : high) = middle;
  }
  return out;
}

/// @brief Rows that each rank computes, and the makespan: the rows of the rank with the most, for which all others wait.
struct rank_rows {
  std::vector<std::int64_t> rows;  ///< of each rank
  std::int64_t makespan = 0;       ///< the largest of them

  friend bool operator==(rank_rows const&, rank_rows const&) = default;
};

/// @brief Sums the rows of the experts of each rank, for any placement.
///
/// @param loads     number of rows of each expert, kept ones if there is a capacity
/// @param rank_of   the rank of each expert
/// @param ranks     number of ranks, in [1, 2^24]; a rank without experts has no rows
/// @return the rows of each rank
/// @throws invalid_input if a load is negative, a sum reaches 2^63, or an expert has no rank in [0, ranks)
/// @par Complexity
/// O(experts + ranks).
template <class = when_called>
[[nodiscard]] rank_rows rows_of_ranks(std::span<std::int64_t const> loads, std::span<std::uint32_t const> rank_of, std::int64_t ranks) {
  detail::require_within("ranks", ranks, 1, 1 << 24);
  require(rank_of.size() == loads.size(),
          [&] { return "rank_of has " + std::to_string(rank_of.size()) + " entries for " + std::to_string(loads.size()) + " loads"; });
  rank_rows out{.rows = std::vector<std::int64_t>(static_cast<std::size_t>(ranks))};
  for (std::size_t i = 0; i < loads.size(); ++i) {
    require(rank_of[i] < out.rows.size(), [&] { return entry("rank_of", i, rank_of[i]) + " must be below " + std::to_string(ranks); });
    add_checked(out.rows[rank_of[i]], loads[i], "loads", i);
  }
  out.makespan = *std::max_element(out.rows.begin(), out.rows.end());
  return out;
}

/// @brief Sums the rows of the experts of each rank, if rank r has the r-th block of adjacent experts, as expert parallelism places them.
///
/// @param loads  number of rows of each expert, kept ones if there is a capacity
/// @param ranks  number of ranks, a divisor of the number of experts
/// @return the rows of each rank
/// @throws invalid_input if a load is negative, a sum reaches 2^63, or `ranks` is out of range or no divisor
/// @par Complexity
/// O(experts + ranks).
template <class = when_called>
[[nodiscard]] rank_rows rows_of_ranks(std::span<std::int64_t const> loads, std::int64_t ranks) {
  detail::require_within("ranks", ranks, 1, 1 << 24);
  auto const each = loads.size() / static_cast<std::size_t>(ranks);
  require(each * static_cast<std::size_t>(ranks) == loads.size(),
          [&] { return "ranks = " + std::to_string(ranks) + " must divide experts = " + std::to_string(loads.size()); });
  std::vector<std::uint32_t> rank_of(loads.size());
  for (std::size_t i = 0; i < loads.size(); ++i) rank_of[i] = static_cast<std::uint32_t>(i / each);
  return rows_of_ranks(loads, rank_of, ranks);
}

}  // namespace ballast::inline v0_2
