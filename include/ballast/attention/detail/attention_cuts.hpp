// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// Pairs of `count` queries of which the first is number `first`.
[[nodiscard]] constexpr std::int64_t window_pairs(std::int64_t first, std::int64_t count) noexcept {
  return count * first + triangle<std::int64_t>(count);
}

/// The largest integer whose square is at most `value`.
[[nodiscard]] constexpr std::int64_t integer_root(std::uint64_t value) noexcept {
  std::uint64_t root = 0;
  for (auto bit = std::uint64_t{1} << 31; bit != 0; bit >>= 1)
    if ((root | bit) * (root | bit) <= value) root |= bit;
  return static_cast<std::int64_t>(root);
}

/// The number of queries with which a window of `pairs` pairs moves the fewest bytes, a multiple. n queries that end at key k have
/// n k - n^2 / 2 pairs, so n (query + key_value / 2) + pairs key_value / n bytes are least where the two terms are equal.
[[nodiscard]] inline std::int64_t best_window(std::int64_t pairs, water_filling_options const& o) {
  auto const square = multiply_divide_up(static_cast<std::uint64_t>(pairs), static_cast<std::uint64_t>(2 * o.key_value_bytes),
                                         static_cast<std::uint64_t>(2 * o.query_bytes + o.key_value_bytes));
  return (std::max)(round_down(integer_root(square) + o.multiple / 2, o.multiple), o.multiple);
}

/// The last window of `count` queries of a range that has at most `most` pairs and begins a multiple behind the range.
template <index_type Index>
[[nodiscard]] attention_task<Index> window_of(attention_task<Index> t, std::int64_t count, std::int64_t most, std::int64_t multiple) {
  auto const first = (std::min)((most - triangle<std::int64_t>(count)) / count, t.end - count);
  t.begin += round_down(first - t.begin, multiple);
  t.end = t.tail_begin = t.tail_end = t.begin + count;
  return t;
}

/// Whether a range has a window of `count` queries with `most` pairs, but for rounding.
template <index_type Index>
[[nodiscard]] bool has_window(attention_task<Index> const& t, std::int64_t count, std::int64_t most) {
  return count < t.end - t.begin && window_pairs(t.begin, count) <= most && most <= window_pairs(t.end - count, count);
}

/// The window with about the most pairs up to `most`, less than all of the range, and a number of queries near `preferred`. Without
/// queries if there is none.
template <index_type Index>
[[nodiscard]] attention_task<Index> cut_window(attention_task<Index> const& t, std::int64_t most, std::int64_t preferred,
                                               std::int64_t multiple) {
  auto const none = [&] {
    auto empty = t;
    empty.end = t.begin;
    return empty;
  };
  auto const limit = (t.end - t.begin - 1) / multiple;
  if (limit == 0 || window_pairs(t.begin, multiple) > most) return none();
  // Counts, in multiples.
  auto const too_many = [&](std::int64_t n) { return window_pairs(t.begin, n * multiple) > most; };
  auto const few_enough = first_where(std::int64_t{1}, limit + 1, too_many) - 1;
  auto const as_many = [&](std::int64_t n) { return window_pairs(t.end - n * multiple, n * multiple) >= most; };
  auto const enough = first_where(std::int64_t{1}, few_enough, as_many);
  return window_of(t, (std::min)((std::max)(preferred / multiple, enough), few_enough) * multiple, most, multiple);
}

/// Most queries that can be taken off both ends.
template <index_type Index>
[[nodiscard]] std::int64_t most_off_ends(attention_task<Index> const& t) {
  return t.has_tail() ? (std::min)(t.end - t.begin, t.tail_end - t.tail_begin) : (t.end - t.begin) / 2;
}

/// `queries` off both ends.
template <index_type Index>
[[nodiscard]] attention_task<Index> cut_ends(attention_task<Index> t, std::int64_t queries) {
  auto const last = t.keys();
  t.end = t.begin + queries;
  t.tail_begin = last - queries;
  t.tail_end = last;
  return t;
}

/// What is left of a task without a part off both its ends.
template <index_type Index>
[[nodiscard]] attention_task<Index> without_ends(attention_task<Index> t, std::int64_t queries) {
  t.begin += queries;
  (t.has_tail() ? t.tail_end : t.end) -= queries;
  if (t.begin == t.end) {  // the head is used up
    t.begin = t.tail_begin;
    t.end = t.tail_end;
  }
  if (!t.has_tail() || t.begin == t.tail_begin) t.tail_begin = t.tail_end = t.end;
  return t;
}

}  // namespace ballast::inline v0_2::detail
