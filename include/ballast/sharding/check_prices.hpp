// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <vector>

/// @file
/// @brief `price_certificate`, a proof that a batch takes longer than some time, and its validator.

namespace ballast::inline v0_2 {

/// @brief A proof by prices that no plan is done by `time`.
///
/// Take any plan that is done by `time`. A rank with k passes holds at most `k * capacity` tokens and trains for at most
/// `time - k * cost_per_pass` beside the fixed times. It pays `per_token[k - 1]` for each of its tokens and `per_time[k - 1]` for each
/// unit of its time, and the prices are such that no rank pays more than `budget`. So all ranks together pay at most `ranks * budget`. A
/// sample pays least where its tokens, and the least rank-time that it can take, cost least. If all samples pay more than all ranks can,
/// there is no such plan.
struct price_certificate {
  static constexpr std::int64_t budget = std::int64_t{1} << 62;  ///< what a rank pays at most
  std::int64_t time = 0;                                         ///< no plan is done by this time
  std::vector<std::int64_t> per_token;  ///< price of a token on a rank with 1, 2, ... passes, the last also with more
  std::vector<std::int64_t> per_time;   ///< price of a unit of time on these ranks; as many entries

  /// @brief The lower bound that is proved. @return `time + 1`, or 0 for a certificate without prices
  [[nodiscard]] std::int64_t lower_bound() const noexcept { return per_token.empty() ? 0 : time + 1; }
  friend bool operator==(price_certificate const&, price_certificate const&) = default;
};

namespace detail {

/// Most tokens that the shares of a rank count as in one pass: where whole samples stand beside shares, rounding moves up to a token.
[[nodiscard]] inline std::int64_t priced_capacity(sharding_options const& o) {
  return o.capacity + (o.execution == execution::mixed && o.ranks > 1 ? 1 : 0);
}

/// Whether no rank pays more than the budget.
[[nodiscard]] inline bool within_budget(price_certificate const& proof, std::int64_t tokens, sharding_options const& o) {
  auto const classes = proof.per_token.size();
  auto const budget = static_cast<std::uint64_t>(price_certificate::budget);
  auto const room = priced_capacity(o);
  // More passes than hold all tokens leave less time for no more tokens.
  auto const useful = tokens / room + (tokens % room != 0 ? 1 : 0);
  auto const most = o.cost_per_pass == 0 ? useful : (std::min)(useful, proof.time / o.cost_per_pass);
  for (std::size_t c = 0; c < classes; ++c) {
    if (proof.per_token[c] < 0 || proof.per_time[c] < 0) return false;
    auto const affordable = [&](std::int64_t passes) {
      auto const held = passes >= useful ? tokens : passes * room;
      auto const held_price = multiply(static_cast<std::uint64_t>(held), static_cast<std::uint64_t>(proof.per_token[c]));
      auto const time_price =
          multiply(static_cast<std::uint64_t>(proof.time - passes * o.cost_per_pass), static_cast<std::uint64_t>(proof.per_time[c]));
      return held_price.high == 0 && time_price.high == 0 && held_price.low <= budget && time_price.low <= budget - held_price.low;
    };
    auto const passes = static_cast<std::int64_t>(c) + 1;
    if (o.cost_per_pass > proof.time / passes) break;  // no rank has that many
    if (!affordable(passes)) return false;
    // The last class has all ranks with that many passes or more. What they may pay changes evenly with their passes, up to the last.
    if (c + 1 == classes && most > passes && !(affordable(most - 1) && affordable(most))) return false;
  }
  return true;
}

}  // namespace detail

/// @brief Checks a proof that no plan of a batch is done by some time.
///
/// It holds for plans of every policy whose samples are each shared equally by a group of ranks of a size that `options.sizes` allows, in
/// one pass.
///
/// @tparam R     range of integers
/// @tparam Cost  a `shard_cost_model`
/// @param proof    the prices
/// @param lengths  tokens of each sample
/// @param options  ranks, capacity, fixed time of a pass, and most ranks that share a sample
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return whether the proof holds
/// @throws invalid_input if an option or a length is not positive, a time is negative, the sum of the least rank-times exceeds 2^62, or
/// the two lists of prices differ in size
/// @par Complexity
/// O(samples (sizes of groups + prices)).
/// @par Determinism
/// A pure function of its arguments, in 128-bit integers.
template <length_range R, shard_cost_model Cost>
[[nodiscard]] bool check_prices(price_certificate const& proof, R const& lengths, sharding_options const& options, Cost const& cost) {
  detail::require_valid(options);
  require(proof.per_token.size() == proof.per_time.size(),
          [&] { return sentence(proof.per_token.size(), " prices of tokens for ", proof.per_time.size(), " prices of time"); });
  auto const tokens = extent_of(lengths).tokens;
  if (proof.per_token.empty() || tokens == 0 || proof.time < 0 || !detail::within_budget(proof, tokens, options)) return false;
  auto const left = proof.time - options.cost_per_pass;  // for the sample itself
  auto const widest =
      static_cast<std::int64_t>(options.most_ranks_shared == 0 ? options.ranks : (std::min)(options.most_ranks_shared, options.ranks));
  auto const classes = options.cost_per_pass == 0
                           ? proof.per_token.size()
                           : (std::min)(proof.per_token.size(), static_cast<std::size_t>(proof.time / options.cost_per_pass));
  auto const any = detail::takes_any_size(options, std::ranges::size(lengths));
  wide paid;
  std::int64_t sum = 0;
  auto const at = read_by_position(lengths);
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::ranges::size(lengths)); ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    std::int64_t least = -1;  // rank-time of the sample
    for (std::int64_t ranks = 1; ranks <= widest; any ? ++ranks : ranks *= 2) {
      if (length > options.capacity * ranks) continue;
      auto const time = static_cast<std::int64_t>(detail::shard_time(cost, i, length, ranks));
      require(time >= 0, [&] { return sentence("a sample of ", length, " tokens takes a negative time"); });
      if (time > left) continue;
      require(time <= price_certificate::budget / ranks, [] { return "a rank-time exceeds 2^62"; });
      if (least < 0 || time * ranks < least) least = time * ranks;
    }
    if (least < 0) return true;  // the sample alone takes longer
    require(least <= price_certificate::budget - sum, [] { return "the sum of rank-times exceeds 2^62"; });
    sum += least;
    wide cheapest;
    for (std::size_t c = 0; c < classes; ++c) {
      auto const price = multiply(static_cast<std::uint64_t>(length), static_cast<std::uint64_t>(proof.per_token[c])) +
                         multiply(static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(proof.per_time[c]));
      if (c == 0 || price < cheapest) cheapest = price;
    }
    paid = paid + cheapest;
  }
  return multiply(options.ranks, static_cast<std::uint64_t>(price_certificate::budget)) < paid;
}

}  // namespace ballast::inline v0_2
