// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `length_buckets`: samples of similar length together, so that rounding up each length to the longest of its bucket adds least.

namespace ballast::inline v0_2 {

/// @brief Samples in buckets of similar length.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct bucketed_lengths {
  std::vector<std::int64_t> upper;  ///< upper end of each bucket, ascending: no sample of the bucket is longer
  groups<Index> samples;            ///< samples of each bucket, shortest first; equal lengths keep their order
  certificate excess;               ///< tokens that rounding up to the upper ends adds to all samples together, and a lower bound
};

namespace detail {

/// Samples in ascending order of length, and where each distinct length ends.
template <index_type Index>
struct length_steps {
  std::vector<Index> order;
  std::vector<std::int64_t> length;  // distinct, ascending
  std::vector<std::int64_t> until;   // until[k]: number of samples with one of the first k distinct lengths
  std::int64_t tokens = 0;
};

template <index_type Index, length_range R>
[[nodiscard]] length_steps<Index> steps_of(R const& lengths, std::uint64_t buckets) {
  require(buckets > 0, [] { return "buckets = 0 must be positive"; });
  auto const extent = extent_of(lengths);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  require(n == 0 || extent.longest <= (std::numeric_limits<std::int64_t>::max)() / static_cast<std::int64_t>(n),
          [&] { return sentence("the longest of the lengths, ", extent.longest, ", times their number reaches 2^63"); });
  auto const at = read_by_position(lengths);
  length_steps<Index> out;
  out.tokens = extent.tokens;
  out.order = order_by<Index>(n, [&](Index i) { return at[static_cast<std::size_t>(i)]; });
  out.until.push_back(0);
  for (auto const i : out.order) {
    auto const l = static_cast<std::int64_t>(at[static_cast<std::size_t>(i)]);
    if (out.length.empty() || out.length.back() != l) {
      out.length.push_back(l);
      out.until.push_back(out.until.back());
    }
    ++out.until.back();
  }
  return out;
}

/// Appends the samples of distinct lengths `[first, last)` as a bucket.
template <index_type Index>
void append_bucket(length_steps<Index> const& steps, std::size_t first, std::size_t last, std::int64_t upper,
                   bucketed_lengths<Index>& out) {
  auto const begin = static_cast<std::size_t>(steps.until[first]), end = static_cast<std::size_t>(steps.until[last]);
  out.upper.push_back(upper);
  out.samples.push_back(std::span(steps.order).subspan(begin, end - begin));
  out.excess.value += upper * static_cast<std::int64_t>(end - begin);
}

/// The fewest tokens of the first j distinct lengths, rounded up, in one bucket, two, three, ...
template <index_type Index>
class bucket_layers {
 public:
  explicit bucket_layers(length_steps<Index> const& steps) : steps_(&steps), least_(steps.length.size() + 1, 0) {
    for (std::size_t j = 1; j < least_.size(); ++j) least_[j] = rounded(0, j);
  }
  /// With as many buckets as there are layers.
  [[nodiscard]] std::int64_t tokens() const { return least_.back(); }
  [[nodiscard]] std::size_t buckets() const { return from_.size() + 1; }
  /// One bucket more.
  void add() {
    auto const d = steps_->length.size(), used = buckets();  // the first j lengths are in `used` buckets only if j >= used
    before_.swap(least_);
    least_.assign(d + 1, 0);
    from_.emplace_back(d + 1, Index{0});
    fill(used + 1, d, used, d - 1);
  }
  /// Where bucket b of the best buckets begins, for the last one to the first; `end` is where it ends.
  [[nodiscard]] std::size_t begin_of(std::size_t b, std::size_t end) const {
    return b == 0 ? 0 : static_cast<std::size_t>(from_[b - 1][end]);
  }

 private:
  [[nodiscard]] std::int64_t rounded(std::size_t i, std::size_t j) const {
    return steps_->length[j - 1] * (steps_->until[j] - steps_->until[i]);
  }
  /// The cost is a Monge array, so the best begin of the last bucket never falls with its end: divide and conquer.
  void fill(std::size_t low, std::size_t high, std::size_t first, std::size_t last) {
    if (low > high) return;
    auto const j = low + (high - low) / 2;
    auto best = first;
    for (auto i = first; i <= (std::min)(last, j - 1); ++i)
      if (before_[i] + rounded(i, j) < before_[best] + rounded(best, j)) best = i;
    least_[j] = before_[best] + rounded(best, j);
    from_.back()[j] = static_cast<Index>(best);
    fill(low, j - 1, first, best);
    fill(j + 1, high, best, last);
  }

  length_steps<Index> const* steps_;
  std::vector<std::int64_t> least_, before_;
  std::vector<std::vector<Index>> from_;  // of each layer behind the first: where the last bucket begins
};

}  // namespace detail

/// @brief Divides samples into buckets of similar length, such that rounding up each length to the longest of its bucket adds the fewest
/// tokens. A planner that then decides on buckets has few different samples.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths      tokens of each sample; may be empty
/// @param buckets      number of buckets, at least 1; there are never more than distinct lengths
/// @param most_excess  if positive or 0, more buckets are used until rounding up adds at most this many tokens
/// @return the buckets; upper ends are lengths of samples
/// @post `excess` is optimal for the number of buckets in the result
/// @throws invalid_input if `buckets` is 0, a length is not positive, or the longest times the number of samples reaches 2^63
/// @par Complexity
/// O(n log n + d Q log d) time and O(n + d Q) memory for d distinct lengths and Q buckets.
/// @par Determinism
/// A pure function of its arguments. Of buckets that add equally many tokens, the last one that differs begins with the shorter sample.
/// @par Source
/// The objective is that of FlexSP (arXiv 2412.01523, section 4), which solves it in O(n^2 Q). Divide and conquer for Monge costs: Yao,
/// "Efficient dynamic programming using quadrangle inequalities", STOC 1980.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] bucketed_lengths<Index> length_buckets(R const& lengths, std::uint64_t buckets, std::int64_t most_excess = -1) {
  auto const steps = detail::steps_of<Index>(lengths, buckets);
  auto const d = steps.length.size();
  bucketed_lengths<Index> out;
  if (d == 0) return out;
  std::vector<std::size_t> begin;  // of each bucket, and the end of the last
  if (buckets >= d || most_excess == 0) {
    begin.resize(d + 1);
    std::iota(begin.begin(), begin.end(), std::size_t{0});
  } else {
    detail::bucket_layers layers(steps);
    while (layers.buckets() < d && (layers.buckets() < buckets || (most_excess >= 0 && layers.tokens() - steps.tokens > most_excess)))
      layers.add();
    begin.resize(layers.buckets() + 1);
    begin.back() = d;
    for (auto b = layers.buckets(); b-- > 0;) begin[b] = layers.begin_of(b, begin[b + 1]);
  }
  for (std::size_t b = 0; b + 1 < begin.size(); ++b) append_bucket(steps, begin[b], begin[b + 1], steps.length[begin[b + 1] - 1], out);
  out.excess.value -= steps.tokens;
  out.excess.lower_bound = out.excess.value;
  return out;
}

/// @brief Divides samples into buckets of equal intervals of length: the baseline of `length_buckets`.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample; may be empty
/// @param buckets  number of intervals between 0 and the longest length, at least 1
/// @return the buckets that have samples. Upper ends are those of the intervals, the last one the longest length; the lower bound is 0
/// @throws invalid_input as `length_buckets`
/// @par Complexity
/// O(n log n).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The naive bucketing of FlexSP (arXiv 2412.01523, table 4).
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] bucketed_lengths<Index> equal_interval_buckets(R const& lengths, std::uint64_t buckets) {
  auto const steps = detail::steps_of<Index>(lengths, buckets);
  auto const d = steps.length.size();
  bucketed_lengths<Index> out;
  if (d == 0) return out;
  auto const longest = steps.length.back();
  auto const width = std::cmp_greater_equal(buckets, longest) ? 1 : divide_up(longest, static_cast<std::int64_t>(buckets));
  for (std::size_t i = 0, j = 0; i < d; i = j) {
    auto const low = round_down(steps.length[i] - 1, width), upper = longest - low < width ? longest : low + width;
    while (j < d && steps.length[j] <= upper) ++j;
    append_bucket(steps, i, j, upper, out);
  }
  out.excess.value -= steps.tokens;
  return out;
}

}  // namespace ballast::inline v0_2
