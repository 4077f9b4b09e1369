// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/histogram.hpp>
#include <ballast/core/kept_memory.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// @file
/// @brief Folds values that a planner has already validated and that may be 0 for absent items. classes.hpp folds sample lengths.

namespace ballast::inline v0_2 {

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

/// @brief Folds values that are known to be valid: with a table of counters if they are small, by sorting otherwise.
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
  for (auto v : sorted) {
    if (v == 0) continue;
    if (out.lengths.empty() || out.lengths.back() != v) {
      out.lengths.push_back(v);
      out.counts.push_back(0);
    }
    ++out.counts.back();
  }
}

}  // namespace ballast::inline v0_2
