// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/version.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

/// @file
/// @brief The validator of attention plans, of this library or any other planner. It shares no code with `water_filling`.

namespace ballast::inline v0_2 {

/// @brief The rule that an attention plan breaks.
enum class attention_fault : std::uint8_t {
  none,            ///< the plan is valid
  bad_offsets,     ///< offsets of the servers do not rise from 0 to the number of tasks, or there are not as many loads as servers
  bad_task,        ///< a task has no queries, or its tail begins before its head ends
  unknown_query,   ///< a task has queries that are in no given task, or in several of them
  wrong_home,      ///< the home of a task is not that of the given task that it is a part of
  query_twice,     ///< a query is in two tasks
  query_missing,   ///< a query of a given task is in no task
  second_rest,     ///< a given task has two parts (with a tail: three) that are no multiple of queries
  wrong_load,      ///< the load of a server is not the sum of the pairs of its tasks
  wrong_movement,  ///< the bytes or the number of moves are not those of the tasks away from home
  wrong_bound,     ///< the certificate is not the largest load and the mean, rounded up
};

/// @brief Describes a verdict in a sentence, such as "server 3: the load is 9000, not 8192".
/// @param v  a verdict of `check_attention_tasks`
/// @return the sentence
template <class = when_called>
[[nodiscard]] inline std::string describe(verdict<attention_fault> const& v) {
  auto const index = std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case attention_fault::none: return "the plan is valid";
    case attention_fault::bad_offsets: return "server_offsets or loads have " + found + " entries, or do not rise to " + expected;
    case attention_fault::bad_task: return "task " + index + " has no range of queries";
    case attention_fault::unknown_query: return "task " + index + ": the queries from " + found + " on are of no single given task";
    case attention_fault::wrong_home: return "task " + index + " has its home on server " + found + ", not " + expected;
    case attention_fault::query_twice: return "sample " + index + ": query " + found + " is in two tasks";
    case attention_fault::query_missing: return "sample " + index + ": query " + found + " is in no task";
    case attention_fault::second_rest: return "given task " + index + " has " + found + " parts that are no multiple";
    case attention_fault::wrong_load: return "server " + index + ": the load is " + found + ", not " + expected;
    case attention_fault::wrong_movement: return "the plan moves " + expected + ", not " + found;
    case attention_fault::wrong_bound: return "the certificate has " + found + ", not " + expected;
  }
  return {};
}

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
[[nodiscard]] verdict<attention_fault> check_queries(std::span<attention_task<Index> const> tasks,
                                                     std::span<attention_task<Index> const> given, std::int64_t multiple) {
  using enum attention_fault;
  auto const parts = ranges_of(tasks), wholes = ranges_of(given);
  std::vector<std::size_t> origin(tasks.size(), given.size()), rests(given.size(), 0);
  std::size_t k = 0;
  for (auto const& whole : wholes) {
    auto next = whole.begin;
    for (; k < parts.size() && parts[k].sample == whole.sample && parts[k].begin < whole.end; ++k) {
      auto const& part = parts[k];
      auto const at = static_cast<std::uint64_t>(part.begin);
      if (part.begin < whole.begin && next == whole.begin) return {unknown_query, part.task, at, 0};
      if (part.begin < next) return {query_twice, part.sample, at, 0};
      if (part.begin > next) return {query_missing, whole.sample, static_cast<std::uint64_t>(next), 0};
      if (part.end > whole.end) return {unknown_query, part.task, static_cast<std::uint64_t>(whole.end), 0};
      if (origin[part.task] != given.size() && origin[part.task] != whole.task) return {unknown_query, part.task, at, 0};
      origin[part.task] = whole.task;
      next = part.end;
    }
    if (next < whole.end) return {query_missing, whole.sample, static_cast<std::uint64_t>(next), 0};
  }
  if (k < parts.size()) return {unknown_query, parts[k].task, static_cast<std::uint64_t>(parts[k].begin), 0};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto const& t = tasks[i];
    auto const home = given[origin[i]].home;
    if (t.home != home) return {wrong_home, i, t.home, home};
    auto const head = t.end - t.begin, tail = t.tail_end > t.tail_begin ? t.tail_end - t.tail_begin : 0;
    if (head % multiple != 0 || tail % multiple != 0) ++rests[origin[i]];
  }
  for (std::size_t i = 0; i < given.size(); ++i)
    if (auto const most = given[i].tail_end > given[i].tail_begin ? 2U : 1U; rests[i] > most) return {second_rest, i, rests[i], most};
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
[[nodiscard]] verdict<attention_fault> check_attention_tasks(attention_plan<Index> const& plan,
                                                             std::vector<attention_task<Index>> const& given,
                                                             water_filling_options const& options) {
  using enum attention_fault;
  detail::require_valid(std::span<attention_task<Index> const>(given), options);
  auto const& offsets = plan.server_offsets;
  auto const servers = static_cast<std::size_t>(options.servers);
  if (offsets.size() != servers + 1 || plan.loads.size() != servers || offsets[0] != 0 || offsets.back() != plan.tasks.size() ||
      !std::is_sorted(offsets.begin(), offsets.end()))
    return {bad_offsets, 0, offsets.size(), plan.tasks.size()};
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    auto const& t = plan.tasks[i];
    if (t.begin < 0 || t.begin >= t.end || (t.tail_end > t.tail_begin && t.tail_begin < t.end)) return {bad_task, i, 0, 0};
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
    if (load != plan.loads[s]) return {wrong_load, s, static_cast<std::uint64_t>(plan.loads[s]), static_cast<std::uint64_t>(load)};
    all += load;
    most = (std::max)(most, load);
  }
  if (moves != plan.moves) return {wrong_movement, 0, plan.moves, moves};
  if (bytes != plan.bytes_moved)
    return {wrong_movement, 0, static_cast<std::uint64_t>(plan.bytes_moved), static_cast<std::uint64_t>(bytes)};
  if (plan.load.value != most) return {wrong_bound, 0, static_cast<std::uint64_t>(plan.load.value), static_cast<std::uint64_t>(most)};
  auto const mean = divide_up(all, static_cast<std::int64_t>(servers));
  if (plan.load.lower_bound != mean)
    return {wrong_bound, 0, static_cast<std::uint64_t>(plan.load.lower_bound), static_cast<std::uint64_t>(mean)};
  return {};
}

}  // namespace ballast::inline v0_2
