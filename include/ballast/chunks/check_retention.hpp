// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/chunks/chunk_retention.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief The validator of the tasks of a chain of chunks. It shares no code with `retained_tasks`.

namespace ballast::inline v0_2 {

/// @brief The rule that the tasks of a chain break.
struct retention_fault : common_fault {
  static constexpr rule chunk_out_of_range{"task {index} is of chunk {found}, which must be below {expected}"};
  static constexpr rule forward_too_early{"task {index} runs chunk {found} forward before chunk {expected}"};
  static constexpr rule forward_twice{"task {index} runs chunk {found} forward, which has run or holds its activations"};
  static constexpr rule backward_too_early{"task {index} is of chunk {found}, but chunk {expected} must run backward first"};
  static constexpr rule not_held{"task {index} runs chunk {found} backward, which does not hold its activations"};
  static constexpr rule too_many_held{"task {index} holds the activations of {found} chunks, more than {expected}"};
  static constexpr rule backward_missing{"chunk {index} does not run backward"};
};

/// @brief Checks the tasks of a chain of dependent chunks against the definition.
///
/// A forward needs the keys and values of all earlier chunks. A backward needs the activations of its chunk, and the backwards of all
/// later chunks; so does a repeated forward, whose backward must be possible at once. Never more than `retained` chunks hold activations.
///
/// @param tasks     the tasks, in order
/// @param chunks    number of chunks in the chain
/// @param retained  most chunks that hold their activations at once
/// @return the first broken rule; its index is the task or, for a missing backward, the chunk
/// @par Complexity
/// O(tasks + chunks).
template <class = when_called>
[[nodiscard]] inline verdict check_retention(std::span<chunk_task const> tasks, std::uint64_t chunks, std::uint64_t retained) {
  using broken = retention_fault;
  std::vector<bool> holds(static_cast<std::size_t>(chunks));
  std::uint64_t forwards = 0, left = chunks, held = 0;  // forwards so far; chunks that have not run backward
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    std::uint64_t const k = tasks[t].chunk;
    auto const pass = tasks[t].pass;
    if (k >= chunks) return {broken::chunk_out_of_range, t, k, chunks};
    if (pass == chunk_pass::forward_keep || pass == chunk_pass::forward_drop) {
      if (k < forwards) return {broken::forward_twice, t, k, 0};
      if (k > forwards) return {broken::forward_too_early, t, k, forwards};
      ++forwards;
    } else if (k + 1 != left) {
      return {broken::backward_too_early, t, k, left == 0 ? 0 : left - 1};
    } else if (k >= forwards) {
      return {broken::not_held, t, k, 0};
    }
    if (pass == chunk_pass::forward_keep || pass == chunk_pass::forward_again) {
      if (holds[k]) return {broken::forward_twice, t, k, 0};
      holds[k] = true;
      if (++held > retained) return {broken::too_many_held, t, held, retained};
    }
    if (pass == chunk_pass::backward) {
      if (!holds[k]) return {broken::not_held, t, k, 0};
      holds[k] = false;
      --held;
      --left;
    }
  }
  if (left > 0) return {broken::backward_missing, left - 1, 0, 1};
  return {};
}

}  // namespace ballast::inline v0_2
