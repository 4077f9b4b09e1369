// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/histogram.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

/// @file
/// @brief Folding of values that a planner has already validated, with absent ones among them; lengths are folded by classes.hpp.

namespace ballast::inline v0_2 {

/// @brief Scratch memory of `fold`, for callers who fold every step.
struct fold_workspace {
  std::vector<std::uint32_t> table;  ///< private
  std::vector<std::int64_t> sorted;  ///< private
};

/// @brief The largest value that a table of counters is worth, rather than sorting.
/// @param samples  how many values are counted
/// @return about 8 times as many, and 2^24 at most
[[nodiscard]] constexpr std::int64_t longest_for_a_table(std::size_t samples) noexcept {
  auto const most = std::int64_t{1} << 24;
  return samples < static_cast<std::size_t>(most / 8) ? static_cast<std::int64_t>(8 * samples + 1024) : most;
}

/// @brief Folds values from 0 to a limit by a table of counters; a value of 0 marks an absent item.
///
/// @tparam Values  what is read by position
/// @param values         `values[0] … values[count - 1]`, integers
/// @param count          how many
/// @param limit          the largest that may occur
/// @param may_be_absent  whether a 0 may occur
/// @param out            overwritten with the histogram of those that are not 0
/// @param table          scratch memory, kept between calls
/// @return whether it was done; `out` is as it was where a value is outside, there are 2^32 values, or an item is absent where none may be
/// @par Complexity
/// O(count + limit).
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

/// @brief Folds values that are known to be valid: by a table where they are small, by sorting where not.
///
/// @tparam Values  what is read by position
/// @param values     `values[0] … values[count - 1]`, integers from 0 to `longest`; 0 marks an absent item
/// @param count      how many
/// @param longest    the largest that occurs, or more
/// @param out        overwritten with the histogram of those that are not 0
/// @param workspace  scratch memory, kept between calls
/// @par Complexity
/// O(count) where `longest` is at most about 8 count and 2^24, O(count log count) otherwise.
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

}  // namespace ballast::inline v0_2
