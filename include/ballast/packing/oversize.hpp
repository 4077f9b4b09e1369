// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/detail/fit_samples.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief What becomes of samples longer than the capacity, and what each sample costs then: decided once, for every planner.

namespace ballast::inline v0_2 {

/// @brief Samples as they are trained on, after the over-size policy, each with its cost.
///
/// Item `i` below the number of samples is sample `i`, or its first piece; item `n + j` is `pieces[j]`. Packers number their members alike.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct trained_samples {
  std::vector<std::int64_t> tokens{};  ///< of each item; of a sample that was set aside, its own length
  std::vector<std::int64_t> cost{};    ///< of each item; 0 for a sample that was set aside
  std::vector<Index> set_aside{};      ///< samples longer than the capacity that the policy left out, ascending
  std::vector<Index> alone{};          ///< samples longer than the capacity that get a pack to themselves, ascending
  std::vector<sample_piece> pieces{};  ///< second and later pieces of split samples, by sample, then offset
  std::int64_t all_tokens = 0;         ///< sum of `tokens` without samples that were set aside
  std::int64_t all_cost = 0;           ///< sum of `cost`

  friend bool operator==(trained_samples const&, trained_samples const&) = default;
};

/// @brief Applies an over-size policy to samples and weighs what is left of each, once.
///
/// The capacity is one of tokens here, whatever the cost: it is what a micro-batch holds, and the cost is what it takes.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  sample lengths in tokens, each at least 1; may be empty
/// @param options  capacity and its multiples, and the policy: `{.capacity = 8192, .oversize = oversize::split}`; the rest is only checked
/// @param cost     weighs one length; called once for each item, and never for a sample that was set aside
/// @return the items, and which samples the policy left out, cut or put into packs of their own
/// @post every token of a sample is in exactly one item, but for those that `set_aside` names and those that `truncate` cut off; no item
/// exceeds the capacity, both roundings considered, but those of `set_aside` and `alone`
/// @throws invalid_input for a bad option, a length that is not positive, one above the capacity under `oversize::reject`, or a cost that
/// is not positive or brings the sum of costs to 2^63 or more
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
    out.cost[item] = detail::checked_cost(cost, tokens, entry);
    sum.add(out.cost[item], entry);
  };
  out.all_tokens -= detail::fit_samples(length_at, n, options, token_cost{}, out, take);
  for (auto const i : out.alone) take(i, i, out.tokens[i], 0);
  out.all_cost = sum.value();
  return out;
}

/// @brief A histogram after an over-size policy: the weights that are packed, and the samples that are not packed with others.
struct trained_histogram {
  histogram weights;            ///< lengths as they are trained on, rounded up to the sample multiple
  std::int64_t tokens = 0;      ///< sum of the lengths that are trained on, without padding
  std::uint64_t set_aside = 0;  ///< samples that the policy left out
  std::uint64_t alone = 0;      ///< samples that get a pack to themselves; not in `weights`
};

/// @brief Applies an over-size policy to a histogram of lengths.
///
/// @param lengths  histogram of sample lengths in tokens
/// @param options  capacity and its multiples, and the policy; the rest is only checked
/// @return what every set of samples with this histogram becomes
/// @throws invalid_input for a bad option, an invalid histogram, or a length above the capacity under `oversize::reject`
/// @par Complexity
/// O(D log D) for D distinct lengths.
/// @par Determinism
/// A pure function of its arguments.
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
        return entry("histogram.lengths", i, length) + " exceeds capacity " +
               std::to_string(round_down(options.capacity, options.pack_multiple)) + " (see oversize policy)";
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
  for (auto const& [weight, count] : entries) {
    if (out.weights.lengths.empty() || out.weights.lengths.back() != weight) {
      out.weights.lengths.push_back(weight);
      out.weights.counts.push_back(0);
    }
    out.weights.counts.back() += count;
  }
  require_valid(out.weights);  // rounding up may bring the sum to 2^63
  return out;
}

}  // namespace ballast::inline v0_2
