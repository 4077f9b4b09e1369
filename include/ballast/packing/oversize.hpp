// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/detail/fit_samples.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief Applies the over-size policy to samples longer than the capacity, and weighs what is left of each sample, once for every planner.

namespace ballast::inline v0_2 {

/// @brief Samples as they are trained on, after the over-size policy was applied, each with its cost.
///
/// With n samples, item `i < n` is sample `i` or its first piece, and item `n + j` is `pieces[j]`. Packers number the members of packs in
/// the same way.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct trained_samples {
  std::vector<std::int64_t> tokens{};  ///< length of each item; for a sample that was set aside, its full length
  std::vector<std::int64_t> cost{};    ///< cost of each item; 0 for a sample that was set aside
  std::vector<Index> set_aside{};      ///< samples longer than the capacity that the policy left out, ascending
  std::vector<Index> alone{};          ///< samples longer than the capacity that are packed alone, ascending
  std::vector<sample_piece> pieces{};  ///< second and later pieces of split samples, by sample, then offset
  std::int64_t all_tokens = 0;         ///< sum of `tokens`, without the samples that were set aside
  std::int64_t all_cost = 0;           ///< sum of `cost`

  friend bool operator==(trained_samples const&, trained_samples const&) = default;
};

/// @brief Applies an over-size policy to samples, and weighs what is left of each.
///
/// The capacity counts tokens, whatever `cost` is: the capacity limits what a micro-batch holds, the cost says how long it takes.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity, its multiples and the policy: `{.capacity = 8192, .oversize = oversize::split}`; other options are only
/// validated
/// @param cost     weighs one length; called once for each item, and never for a sample that was set aside
/// @return the items, and which samples the policy left out, cut or left to be packed alone
/// @post every token is in exactly one item, except the tokens of samples in `set_aside` and those that `truncate` cut off; no item exceeds
/// the capacity, after both roundings, except those in `set_aside` and `alone`
/// @throws invalid_input for a bad option, a length that is not positive, one above the capacity under `oversize::reject`, a cost that is
/// not positive, or a sum of costs of 2^63 or more
/// @par Complexity
/// O(samples + pieces).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost>
[[nodiscard]] trained_samples<Index> apply_oversize(R const& lengths, packing_options const& options, Cost const& cost = {}) {
  require_valid(options);
  auto const n = detail::indexable_size<Index>(lengths);
  auto const whole = extent_of(lengths);
  auto const length_at = read_by_position(lengths);
  trained_samples<Index> out;
  out.tokens.resize(n);
  out.cost.resize(n);
  for (std::size_t i = 0; i < n; ++i) out.tokens[i] = static_cast<std::int64_t>(length_at[i]);
  out.all_tokens = whole.tokens;
  detail::cost_sum sum;
  auto const take = [&](std::size_t item, std::size_t sample, std::int64_t tokens, std::int64_t) {
    if (item >= n) {
      out.tokens.push_back(tokens);
      out.cost.push_back(0);
    }
    auto const entry = [&] { return detail::name_length(length_at, sample); };
    out.tokens[item] = tokens;
    out.cost[item] = detail::positive_cost(cost_of_sample{cost, item}, tokens, entry);
    sum.add(out.cost[item], entry);
  };
  out.all_tokens -= detail::fit_samples(length_at, n, options, token_cost{}, out, take);
  for (auto const i : out.alone) take(i, i, out.tokens[i], 0);
  out.all_cost = sum.value();
  return out;
}

/// @brief A histogram after an over-size policy was applied.
struct trained_histogram {
  histogram weights;            ///< lengths as they are trained on, rounded up to the sample multiple
  std::int64_t tokens = 0;      ///< sum of the lengths that are trained on, without padding
  std::uint64_t set_aside = 0;  ///< samples that the policy left out
  std::uint64_t alone = 0;      ///< samples that are packed alone; not in `weights`
};

/// @brief Applies an over-size policy to a histogram of lengths.
///
/// @param lengths  histogram of sample lengths in tokens
/// @param options  capacity, its multiples and the policy; other options are only validated
/// @return the histogram of what is packed, and how many samples were set aside or are packed alone
/// @throws invalid_input for a bad option, an invalid histogram, or a length above the capacity under `oversize::reject`
/// @par Complexity
/// O(D log D) for D distinct lengths.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline trained_histogram apply_oversize(histogram const& lengths, packing_options const& options) {
  require_valid(options);
  require_valid(lengths);
  detail::require_a_piece_fits(options);
  auto const largest = detail::largest_item(options);
  trained_histogram out;
  if (lengths.lengths.empty() || (options.sample_multiple == 1 && lengths.lengths.back() <= largest)) {
    out.weights = lengths;
    out.tokens = lengths.tokens();
    return out;
  }
  std::vector<std::pair<std::int64_t, std::uint64_t>> entries;
  for (std::size_t i = 0; i < lengths.lengths.size(); ++i) {
    auto const length = lengths.lengths[i];
    auto const count = lengths.counts[i];
    auto kept = length;
    if (length > largest) {
      require(options.oversize != oversize::reject, [&] {
        return sentence(entry("histogram.lengths", i, length), " exceeds capacity ", round_down(options.capacity, options.pack_multiple),
                        " (see oversize policy)");
      });
      if (options.oversize == oversize::set_aside) {
        out.set_aside += count;
        continue;
      }
      if (options.oversize == oversize::alone) out.alone += count;
      if (options.oversize == oversize::truncate) kept = largest;
      if (options.oversize == oversize::split) entries.emplace_back(largest, count * static_cast<std::uint64_t>((length - 1) / largest));
    }
    out.tokens += kept * static_cast<std::int64_t>(count);
    if (kept > largest && options.oversize == oversize::alone) continue;
    entries.emplace_back(round_up(kept > largest ? (kept - 1) % largest + 1 : kept, options.sample_multiple), count);
  }
  std::sort(entries.begin(), entries.end());
  for (auto const& [weight, count] : entries) out.weights.append(weight, count);
  require_valid(out.weights);  // rounding up may bring the sum to 2^63
  return out;
}

}  // namespace ballast::inline v0_2
