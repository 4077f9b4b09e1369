// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Equal items folded: lengths repeat, so planners decide on distinct lengths and their counts.

namespace ballast::inline v0_2 {

/// @brief Distinct lengths and how often each occurs.
///
/// Histograms add: ranks that each hold a shard of the data agree on a global plan after one all-reduce of counts.
struct histogram {
  std::vector<std::int64_t> lengths;  ///< distinct, ascending, positive
  std::vector<std::uint64_t> counts;  ///< samples of each length, positive; as many as `lengths`

  /// @brief Number of samples.
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
  /// @brief Removes everything and keeps the memory.
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

/// @brief Refuses a histogram that is not one: lengths must be positive and strictly ascending, counts positive, the token sum below 2^63.
/// @param h  the histogram, perhaps built by hand or read from a file
/// @throws invalid_input naming the first entry that breaks a rule
inline void require_valid(histogram const& h) {
  require(h.lengths.size() == h.counts.size(),
          [&] { return "histogram: " + std::to_string(h.lengths.size()) + " lengths but " + std::to_string(h.counts.size()) + " counts"; });
  constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
  std::uint64_t left = most;
  for (std::size_t i = 0; i < h.lengths.size(); ++i) {
    auto const name = [&](char const* what, auto value) {
      return std::string("histogram.") + what + "[" + std::to_string(i) + "] = " + std::to_string(value);
    };
    require(h.lengths[i] > 0, [&] { return name("lengths", h.lengths[i]) + " must be positive"; });
    require(i == 0 || h.lengths[i - 1] < h.lengths[i], [&] { return name("lengths", h.lengths[i]) + " must be above its predecessor"; });
    require(h.counts[i] > 0, [&] { return name("counts", h.counts[i]) + " must be positive"; });
    auto const length = static_cast<std::uint64_t>(h.lengths[i]);
    auto const narrow = (h.counts[i] | length) >> 31 == 0;  // spares a division
    require(narrow ? h.counts[i] * length <= left : h.counts[i] <= left / length,
            [&] { return name("counts", h.counts[i]) + " brings the sum of lengths to 2^63 or more"; });
    left -= h.counts[i] * length;
  }
}

/// @brief Scratch memory of `fold`, for callers who fold every step.
struct fold_workspace {
  std::vector<std::uint32_t> table;  ///< private
  std::vector<std::int64_t> sorted;  ///< private
};

namespace detail {

/// Largest value that a table of counters is worth for `samples` items.
[[nodiscard]] constexpr std::int64_t longest_for_a_table(std::size_t samples) noexcept {
  auto const most = std::int64_t{1} << 24;
  return samples < static_cast<std::size_t>(most / 8) ? static_cast<std::int64_t>(8 * samples + 1024) : most;
}

/// Folds items of value 0 … limit into `out`, where 0 marks an absent item. False, and `out` is as it was, if a value is outside, there are
/// 2^32 values, or an item is absent where none may be.
template <class Values>
[[nodiscard]] bool fold_by_table(Values const& values, std::size_t count, std::int64_t limit, bool may_be_absent, histogram& out,
                                 std::vector<std::uint32_t>& table) {
  if (count > (std::numeric_limits<std::uint32_t>::max)()) return false;  // a counter could overflow
  auto const width = static_cast<std::size_t>(limit) + 1;
  std::size_t const tables =
      width <= 16384 ? 4 : 1;  // equal neighbours would wait for each other's counter; large tables cost more than they save
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

/// Folds items of value 1 … longest into `out`; a value of 0 marks an absent item.
template <class Values>
void fold(Values const& values, std::size_t count, std::int64_t longest, histogram& out, fold_workspace& workspace) {
  if (longest <= longest_for_a_table(count) && fold_by_table(values, count, longest, true, out, workspace.table)) return;
  out.clear();
  auto& sorted = workspace.sorted;
  sorted.resize(count);
  for (std::size_t i = 0; i < count; ++i) sorted[i] = static_cast<std::int64_t>(values[i]);
  std::sort(sorted.begin(), sorted.end());
  for (auto v : sorted) {
    if (v == 0) continue;
    if (out.lengths.empty() || out.lengths.back() != v) {
      out.lengths.push_back(v);
      out.counts.push_back(0);
    }
    ++out.counts.back();
  }
}

/// A length range read by position, whatever its iterator.
template <length_range R>
struct by_position {
  decltype(std::ranges::begin(std::declval<R const&>())) first;
  [[nodiscard]] auto operator[](std::size_t i) const { return first[static_cast<std::ranges::range_difference_t<R const>>(i)]; }
};
template <length_range R>
[[nodiscard]] auto read_by_position(R const& lengths) {
  if constexpr (std::ranges::contiguous_range<R const>)
    return std::ranges::data(lengths);
  else
    return by_position<R>{std::ranges::begin(lengths)};
}

/// Smallest, largest and summed length; throws if one is not positive or the sum does not fit in 63 bits.
struct extent {
  std::int64_t shortest = 0, longest = 0, tokens = 0;
};
template <length_range R>
[[nodiscard]] extent measure(R const& lengths) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  extent e;
  if (n == 0) return e;
  auto const at = read_by_position(lengths);
  auto low = at[0], high = at[0];
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const v = at[i];
    low = v < low ? v : low;
    high = v > high ? v : high;
    sum += static_cast<std::uint64_t>(v);
  }
  auto const entry = [&](std::size_t i) { return "lengths[" + std::to_string(i) + "] = " + std::to_string(at[i]); };
  auto const where = [&](auto is_bad) {
    std::size_t i = 0;
    while (!is_bad(at[i])) ++i;
    return entry(i);
  };
  require(std::cmp_greater(low, 0), [&] { return where([](auto v) { return std::cmp_less_equal(v, 0); }) + " must be positive"; });
  require(std::in_range<std::int64_t>(high),
          [&] { return where([](auto v) { return !std::in_range<std::int64_t>(v); }) + " must be below 2^63"; });
  if (std::cmp_greater(high, (std::numeric_limits<std::int64_t>::max)() / static_cast<std::int64_t>(n))) {
    std::int64_t left = (std::numeric_limits<std::int64_t>::max)();
    for (std::size_t i = 0; i < n; ++i) {
      auto const v = static_cast<std::int64_t>(at[i]);
      require(v <= left, [&] { return entry(i) + " brings the sum of lengths to 2^63 or more"; });
      left -= v;
    }
  }
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high), static_cast<std::int64_t>(sum)};
}

}  // namespace detail

/// @brief Folds sample lengths into caller-owned memory; nothing is allocated once it is warm.
/// @param lengths    sample lengths in tokens, each at least 1, in any order; may be empty
/// @param out        overwritten with the histogram
/// @param workspace  scratch memory, kept between calls
/// @throws invalid_input if a length is not positive or the sum reaches 2^63; `out` is as it was then
template <length_range R>
void fold(R const& lengths, histogram& out, fold_workspace& workspace) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  auto const at = detail::read_by_position(lengths);
  auto const limit =
      (std::min)(detail::longest_for_a_table(n), std::int64_t{16383});  // most lengths are short: no pass to find the longest
  if (detail::fold_by_table(at, n, limit, false, out, workspace.table)) return;
  detail::fold(at, n, detail::measure(lengths).longest, out, workspace);
}

/// @brief Folds sample lengths into their histogram.
///
/// @tparam R  range of integers
/// @param lengths  sample lengths in tokens, each at least 1, in any order; may be empty
/// @return the histogram
/// @throws invalid_input if a length is not positive or the sum reaches 2^63
/// @par Complexity
/// O(n) where the longest length is at most about 8 n and 2^24, O(n log n) otherwise.
template <length_range R>
[[nodiscard]] histogram fold(R const& lengths) {
  histogram h;
  fold_workspace workspace;
  fold(lengths, h, workspace);
  return h;
}

}  // namespace ballast::inline v0_2
