// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

/// @file
/// @brief The validator of attention plans, of this library or any other planner. It shares no code with `water_filling`.

namespace ballast::inline v0_2 {

/// @brief The rule that an attention plan breaks.
struct attention_fault : common_fault {
  static constexpr rule wrong_server_count{"there are loads or offsets of {found} servers, not of {expected}"};
  static constexpr rule bad_task{"task {index} has no range of queries"};
  static constexpr rule unknown_query{"task {index}: the queries from {found} on are of no single given task"};
  static constexpr rule wrong_home{"task {index} has its home on server {found}, not {expected}"};
  static constexpr rule query_twice{"sample {index}: query {found} is in two tasks"};
  static constexpr rule query_missing{"sample {index}: query {found} is in no task"};
  static constexpr rule second_rest{"given task {index} has {found} parts that are no multiple"};
  static constexpr rule wrong_load{"server {index}: the load is {found}, not {expected}"};
  static constexpr rule wrong_movement{"the plan moves {expected}, not {found}"};
};

namespace detail {

/// Neighbouring queries of a task.
template <index_type Index>
struct query_range {
  Index sample;
  std::int64_t begin, end;
  std::size_t task;
  friend constexpr bool operator<(query_range const& a, query_range const& b) noexcept {
    return std::tie(a.sample, a.begin, a.end) < std::tie(b.sample, b.begin, b.end);
  }
};

template <index_type Index>
[[nodiscard]] std::vector<query_range<Index>> ranges_of(std::span<attention_task<Index> const> tasks) {
  std::vector<query_range<Index>> out;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto const& t = tasks[i];
    auto const tail = t.tail_end > t.tail_begin, one = tail && t.tail_begin == t.end;
    out.push_back({t.sample, t.begin, one ? t.tail_end : t.end, i});
    if (tail && !one) out.push_back({t.sample, t.tail_begin, t.tail_end, i});
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Whether each query of the given tasks is in one task, with its home, and each given task has one part that is no multiple at most.
template <index_type Index>
[[nodiscard]] verdict check_queries(std::span<attention_task<Index> const> tasks, std::span<attention_task<Index> const> given,
                                    std::int64_t multiple) {
  using broken = attention_fault;
  auto const parts = ranges_of(tasks), wholes = ranges_of(given);
  std::vector<std::size_t> origin(tasks.size(), given.size()), rests(given.size(), 0);
  std::size_t k = 0;
  for (auto const& whole : wholes) {
    auto next = whole.begin;
    for (; k < parts.size() && parts[k].sample == whole.sample && parts[k].begin < whole.end; ++k) {
      auto const& part = parts[k];
      auto const at = static_cast<std::uint64_t>(part.begin);
      if (part.begin < whole.begin && next == whole.begin) return {broken::unknown_query, part.task, at, 0};
      if (part.begin < next) return {broken::query_twice, part.sample, at, 0};
      if (part.begin > next) return {broken::query_missing, whole.sample, next, 0};
      if (part.end > whole.end) return {broken::unknown_query, part.task, whole.end, 0};
      if (origin[part.task] != given.size() && origin[part.task] != whole.task) return {broken::unknown_query, part.task, at, 0};
      origin[part.task] = whole.task;
      next = part.end;
    }
    if (next < whole.end) return {broken::query_missing, whole.sample, next, 0};
  }
  if (k < parts.size()) return {broken::unknown_query, parts[k].task, parts[k].begin, 0};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto const& t = tasks[i];
    auto const home = given[origin[i]].home;
    if (t.home != home) return {broken::wrong_home, i, t.home, home};
    auto const head = t.end - t.begin, tail = t.tail_end > t.tail_begin ? t.tail_end - t.tail_begin : 0;
    if (head % multiple != 0 || tail % multiple != 0) ++rests[origin[i]];
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (auto const most = given[i].tail_end > given[i].tail_begin ? 2U : 1U; rests[i] > most)
      return {broken::second_rest, i, rests[i], most};
  return {};
}

}  // namespace detail

/// @brief Checks an attention plan against the definition.
///
/// Each query of the given tasks is in one task. Of each given task, all parts but one (with a tail: but two) have a multiple of
/// `options.multiple` queries in their heads and tails. Loads, bytes, moves and the certificate are those of the tasks. Whether loads are
/// within the tolerance is not checked.
///
/// @tparam Index  index type of the plan
/// @param plan     the plan; all members may have any values
/// @param given    the attention as it is placed; no query occurs twice
/// @param options  servers, bytes and multiple
/// @throws invalid_input as `water_filling` of the tasks and options
/// @return the first broken rule. Its index is a task, a given task, a sample or a server, as the sentence of `describe` says
/// @par Complexity
/// O(tasks log tasks).
template <index_type Index>
[[nodiscard]] verdict check_attention_tasks(attention_plan<Index> const& plan, std::vector<attention_task<Index>> const& given,
                                            water_filling_options const& options) {
  using broken = attention_fault;
  detail::require_valid(std::span<attention_task<Index> const>(given), options);
  auto const& offsets = plan.server_offsets;
  auto const servers = static_cast<std::size_t>(options.servers);
  if (offsets.size() != servers + 1 || plan.loads.size() != servers) return {broken::wrong_server_count, 0, plan.loads.size(), servers};
  if (auto const v = check_offsets(offsets, plan.tasks.size()); !v.valid()) return v;
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    auto const& t = plan.tasks[i];
    if (t.begin < 0 || t.begin >= t.end || (t.tail_end > t.tail_begin && t.tail_begin < t.end)) return {broken::bad_task, i, 0, 0};
  }
  auto const tasks = std::span<attention_task<Index> const>(plan.tasks);
  if (auto const v = detail::check_queries(tasks, std::span<attention_task<Index> const>(given), options.multiple); !v.valid()) return v;
  std::int64_t all = 0, most = 0, bytes = 0;
  std::uint64_t moves = 0;
  for (std::size_t s = 0; s < servers; ++s) {
    std::int64_t load = 0;
    for (auto i = static_cast<std::size_t>(offsets[s]); i < offsets[s + 1]; ++i) {
      auto const& t = tasks[i];
      auto const head = t.end - t.begin, tail = t.tail_end > t.tail_begin ? t.tail_end - t.tail_begin : 0;
      load += head * t.end - head * (head - 1) / 2 + tail * t.tail_end - tail * (tail - 1) / 2;
      if (t.home == s) continue;
      ++moves;
      bytes += (head + tail) * options.query_bytes + (tail > 0 ? t.tail_end : t.end) * options.key_value_bytes;
    }
    if (load != plan.loads[s]) return {broken::wrong_load, s, plan.loads[s], load};
    all += load;
    most = (std::max)(most, load);
  }
  if (moves != plan.moves) return {broken::wrong_movement, 0, plan.moves, moves};
  if (bytes != plan.bytes_moved) return {broken::wrong_movement, 0, plan.bytes_moved, bytes};
  auto const mean = divide_up(all, static_cast<std::int64_t>(servers));
  if (plan.load.value == most && plan.load.lower_bound != mean) return {broken::wrong_bound, 0, plan.load.lower_bound, mean};
  return check_certificate(plan.load, most);
}

}  // namespace ballast::inline v0_2
