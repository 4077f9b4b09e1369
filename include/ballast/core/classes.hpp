// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/kept_memory.hpp>
#include <ballast/core/lengths.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

/// @file
/// @brief `histogram`: the distinct lengths of samples and how many samples have each; `fold` makes it. Lengths repeat, so planners decide
/// on distinct lengths and their counts.

namespace ballast::inline v0_2 {

/// @brief Distinct lengths and how many samples have each.
///
/// Histograms can be added: ranks that each hold a shard of the data agree on a global plan after one all-reduce of counts.
struct histogram {
  std::vector<std::int64_t> lengths;  ///< distinct, ascending, positive
  std::vector<std::uint64_t> counts;  ///< samples of each length, positive; as many as `lengths`

  /// @brief Number of samples: the sum of the counts.
  [[nodiscard]] std::uint64_t samples() const noexcept {
    std::uint64_t sum = 0;
    for (auto c : counts) sum += c;
    return sum;
  }
  /// @brief Sum of all lengths, in tokens.
  [[nodiscard]] std::int64_t tokens() const noexcept {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < lengths.size(); ++i) sum += lengths[i] * static_cast<std::int64_t>(counts[i]);
    return sum;
  }
  /// @brief Adds samples behind all others. @param length not below the lengths so far @param count number of samples, positive
  void append(std::int64_t length, std::uint64_t count) {
    if (lengths.empty() || lengths.back() != length) {
      lengths.push_back(length);
      counts.push_back(0);
    }
    counts.back() += count;
  }
  /// @brief Removes all lengths and keeps the memory.
  void clear() noexcept {
    lengths.clear();
    counts.clear();
  }
  /// @brief Adds the samples of another histogram. @param other any valid histogram @par Complexity Linear in the distinct lengths.
  histogram& operator+=(histogram const& other) {
    histogram sum;
    sum.lengths.reserve(lengths.size() + other.lengths.size());
    sum.counts.reserve(lengths.size() + other.lengths.size());
    std::size_t i = 0, j = 0;
    while (i < lengths.size() || j < other.lengths.size()) {
      auto const mine = j == other.lengths.size() || (i < lengths.size() && lengths[i] <= other.lengths[j]);
      auto const both = mine && j < other.lengths.size() && lengths[i] == other.lengths[j];
      sum.lengths.push_back(mine ? lengths[i] : other.lengths[j]);
      sum.counts.push_back((mine ? counts[i] : 0) + (both || !mine ? other.counts[j] : 0));
      i += mine ? 1 : 0;
      j += both || !mine ? 1 : 0;
    }
    *this = std::move(sum);
    return *this;
  }
  friend bool operator==(histogram const&, histogram const&) = default;
};

/// @brief Throws unless a histogram is valid: as many counts as lengths, lengths positive and strictly ascending, counts positive, and the
/// sum of all lengths below 2^63.
/// @param h  the histogram
/// @throws invalid_input naming the first entry that breaks a rule
inline void require_valid(histogram const& h) {
  require(h.lengths.size() == h.counts.size(),
          [&] { return sentence("histogram: ", h.lengths.size(), " lengths but ", h.counts.size(), " counts"); });
  constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
  std::uint64_t left = most;
  for (std::size_t i = 0; i < h.lengths.size(); ++i) {
    auto const length_entry = [&] { return entry("histogram.lengths", i, h.lengths[i]); };
    auto const count_entry = [&] { return entry("histogram.counts", i, h.counts[i]); };
    require(h.lengths[i] > 0, [&] { return length_entry() + " must be positive"; });
    require(i == 0 || h.lengths[i - 1] < h.lengths[i], [&] { return length_entry() + " must be above its predecessor"; });
    require(h.counts[i] > 0, [&] { return count_entry() + " must be positive"; });
    auto const length = static_cast<std::uint64_t>(h.lengths[i]);
    auto const narrow = (h.counts[i] | length) >> 31 == 0;  // avoids a division
    require(narrow ? h.counts[i] * length <= left : h.counts[i] <= left / length,
            [&] { return count_entry() + " brings the sum of lengths to 2^63 or more"; });
    left -= h.counts[i] * length;
  }
}

namespace detail {
struct fold_memory {
  std::vector<std::uint32_t> table;
  std::vector<std::int64_t> sorted;
};
}  // namespace detail

/// @brief Scratch memory of `fold`, for callers who fold in every step.
using fold_workspace = kept_memory<detail::fold_memory>;

/// @brief The largest value for which counting in a table is faster than sorting.
/// @param samples  number of values
/// @return about 8 times `samples`, at most 2^24
[[nodiscard]] constexpr std::int64_t longest_for_a_table(std::size_t samples) noexcept {
  auto const most = std::int64_t{1} << 24;
  return samples < static_cast<std::size_t>(most / 8) ? static_cast<std::int64_t>(8 * samples + 1024) : most;
}

/// @brief Folds values from 0 to `limit` with a table of counters; the value 0 marks an absent item.
///
/// @tparam Values  a type with `operator[]` that returns integers
/// @param values         `values[0] … values[count - 1]`
/// @param count          number of values
/// @param limit          the largest that may occur
/// @param may_be_absent  whether a 0 may occur
/// @param out            overwritten with the histogram of the values that are not 0
/// @param table          scratch memory, kept between calls
/// @return false, with `out` unchanged, if a value is outside [0, limit], if there are 2^32 values or more, or if a value is 0 and
///         `may_be_absent` is false; true otherwise
/// @par Complexity
/// O(count + limit).
template <class Values>
[[nodiscard]] bool fold_by_table(Values const& values, std::size_t count, std::int64_t limit, bool may_be_absent, histogram& out,
                                 std::vector<std::uint32_t>& table) {
  if (count > (std::numeric_limits<std::uint32_t>::max)()) return false;  // a counter could overflow
  auto const width = static_cast<std::size_t>(limit) + 1;
  std::size_t const tables =
      width <= 16384 ? 4 : 1;  // four tables: else equal neighbours wait for one counter; large tables cost more than they save
  table.assign(tables * width, 0);
  auto* const t = table.data();
  auto const counted = [&](std::size_t i, std::size_t k) {
    auto const v = static_cast<std::uint64_t>(values[i]);
    if (v >= width) [[unlikely]]
      return false;
    ++t[k * width + static_cast<std::size_t>(v)];
    return true;
  };
  std::size_t i = 0;
  if (tables == 4)
    for (; i + 4 <= count; i += 4)
      if (!(counted(i, 0) && counted(i + 1, 1) && counted(i + 2, 2) && counted(i + 3, 3))) return false;
  for (; i < count; ++i)
    if (!counted(i, 0)) return false;
  for (std::size_t k = 1; k < tables; ++k)
    for (std::size_t v = 0; v < width; ++v) t[v] += t[k * width + v];
  if (t[0] != 0 && !may_be_absent) return false;
  out.clear();
  for (std::size_t v = 1; v < width; ++v)
    if (t[v] != 0) {
      out.lengths.push_back(static_cast<std::int64_t>(v));
      out.counts.push_back(t[v]);
    }
  return true;
}

/// @brief Folds values that a planner has validated and that may be 0 for absent items: with a table of counters if they are small, by
/// sorting otherwise.
///
/// @tparam Values  a type with `operator[]` that returns integers
/// @param values     `values[0] … values[count - 1]`, from 0 to `longest`; 0 marks an absent item
/// @param count      number of values
/// @param longest    an upper bound on the values
/// @param out        overwritten with the histogram of the values that are not 0
/// @param workspace  scratch memory, kept between calls
/// @par Complexity
/// O(count) if `longest` is at most about 8 count and at most 2^24, O(count log count) otherwise.
template <class Values>
void fold(Values const& values, std::size_t count, std::int64_t longest, histogram& out, fold_workspace& workspace) {
  if (longest <= longest_for_a_table(count) && fold_by_table(values, count, longest, true, out, detail::memory_of(workspace).table)) return;
  out.clear();
  auto& sorted = detail::memory_of(workspace).sorted;
  sorted.resize(count);
  for (std::size_t i = 0; i < count; ++i) sorted[i] = static_cast<std::int64_t>(values[i]);
  std::sort(sorted.data(), sorted.data() + sorted.size());
  for (auto v : sorted)
    if (v != 0) out.append(v, 1);
}

/// @brief Folds sample lengths into caller-owned memory; later calls reuse the memory and allocate nothing when it is large enough.
/// @param lengths    sample lengths in tokens, each at least 1, in any order; may be empty
/// @param out        overwritten with the histogram
/// @param workspace  scratch memory, kept between calls
/// @throws invalid_input if a length is not positive or the sum reaches 2^63; `out` is then unchanged
template <length_range R>
void fold(R const& lengths, histogram& out, fold_workspace& workspace) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const at = read_by_position(lengths);
  // Most lengths are short: this limit skips the pass that would find the longest.
  auto const limit = (std::min)(longest_for_a_table(n), std::int64_t{16383});
  if (fold_by_table(at, n, limit, false, out, detail::memory_of(workspace).table)) return;
  fold(at, n, extent_of(lengths).longest, out, workspace);
}

/// @brief Folds sample lengths into their histogram.
///
/// @tparam R  range of integers
/// @param lengths  sample lengths in tokens, each at least 1, in any order; may be empty
/// @return the histogram
/// @throws invalid_input if a length is not positive or the sum reaches 2^63
/// @par Complexity
/// O(n) if the longest length is at most about 8 n and at most 2^24, O(n log n) otherwise.
template <length_range R>
[[nodiscard]] histogram fold(R const& lengths) {
  histogram h;
  fold_workspace workspace;
  fold(lengths, h, workspace);
  return h;
}

}  // namespace ballast::inline v0_2
