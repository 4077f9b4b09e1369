// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/sharding/check_prices.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/price_search.hpp>
#include <ballast/sharding/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>

/// @file
/// @brief `price_bound`: a lower bound on the time of a batch from prices of tokens and of time, with its proof.

namespace ballast::inline v0_2 {

/// @brief How far `price_bound` searches.
struct price_options {
  std::int64_t lower = 0;           ///< a known lower bound; only proofs of larger ones are searched
  std::int64_t upper = 0;           ///< time of a known plan; 0 = none
  std::int64_t evaluations = 3000;  ///< most sets of prices that are tried; one takes O(classes log samples)
};

/// @brief Proves a lower bound on the time of every plan of a batch.
///
/// The bound by area adds up rank-time, and the bound by tokens counts passes. Together they prove more: a rank that saves passes has room
/// for fewer tokens, and one with more passes has less time. `price_certificate` says how prices prove it. The search halves the interval
/// between the two known times, and looks for prices at each.
///
/// The bound holds for every policy, if each sample is shared equally by a group of ranks of a size that `options.sizes` allows, in one
/// pass.
///
/// @tparam R     range of integers
/// @tparam Cost  a `shard_cost_model`
/// @param lengths  tokens of each sample
/// @param options  ranks, capacity, fixed time of a pass, and most ranks that share a sample
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @param search   known bounds, and how far to search
/// @return the proof of the best bound that was found; without prices if none above `search.lower` was found
/// @post `check_prices` accepts a proof with prices
/// @throws invalid_input if an option or a length is not positive, or the sum of all times exceeds 2^62
/// @par Complexity
/// O(n log n + n sizes of groups) for each of at most 80 times (17 where both bounds are known), and O(classes log n) for each evaluation.
/// @par Determinism
/// A pure function of its arguments, in 128-bit integers.
/// @par Source
/// Weak duality of the linear program that assigns samples to ranks by their number of passes.
template <length_range R, shard_cost_model Cost>
[[nodiscard]] price_certificate price_bound(R const& lengths, sharding_options const& options, Cost const& cost,
                                            price_options const& search = {}) {
  require(search.lower >= 0 && search.upper >= 0, [] { return "lower and upper must not be negative"; });
  detail::require_valid(options);
  auto const any = detail::takes_any_size(options, std::ranges::size(lengths));
  auto const times = detail::times_of_degrees(lengths, options, cost, any ? detail::all_sizes(options) : detail::powers_of_two(options));
  if (times.length.empty() || !times.allows_all()) return {};
  constexpr std::size_t most_classes = 8;  // ranks with this many passes or more are one class
  detail::price_search prices(times, most_classes, search.evaluations);
  price_certificate best;
  auto const proves = [&](std::int64_t time) {
    auto const found = prices.more() && prices.proves(time) && check_prices(prices.proof(), lengths, options, cost);
    if (found) best = prices.proof();
    return found;
  };
  // Between `low`, which may be proved, and `high`, which is not.
  auto low = search.lower, high = search.upper;
  if (high == 0) {
    for (high = (std::max)(low, options.cost_per_pass) + 1; proves(high) && high < detail::degree_times::most / 2; high *= 2)
      low = high + 1;
  }
  auto const enough = high / 2000;
  for (int probe = 0; probe < 16 && high - low > enough; ++probe) {
    auto const middle = low + (probe == 0 ? enough : (high - low) / (probe < 3 ? 4 : 2));  // the bound is often at the lower end
    if (proves(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return best;
}

}  // namespace ballast::inline v0_2
