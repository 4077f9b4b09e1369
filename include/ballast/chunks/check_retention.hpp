// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/chunks/chunk_retention.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/verdict.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief The validator of the tasks of a chain of chunks. It shares no code with `retained_tasks`.

namespace ballast::inline v0_2 {

/// @brief The rule that the tasks of a chain break.
enum class retention_fault : std::uint8_t {
  none,                ///< the tasks are valid
  chunk_out_of_range,  ///< a task is of no chunk
  forward_too_early,   ///< a forward does not have the keys and values of the chunk before it
  forward_twice,       ///< a first forward of a chunk that has run forward, or again of one that holds its activations
  backward_too_early,  ///< a backward or a repeated forward does not come right after the backwards of all later chunks
  not_held,            ///< a backward of a chunk that does not hold its activations
  too_many_held,       ///< more chunks than allowed hold their activations
  backward_missing,    ///< a chunk does not run backward
};

/// @brief Describes a verdict in a sentence, such as "task 17 holds the activations of 5 chunks, more than 4".
/// @param v  a verdict of `check_retention`
/// @return the sentence
template <class = when_called>
[[nodiscard]] inline std::string describe(verdict<retention_fault> const& v) {
  auto const task = "task " + std::to_string(v.index), found = std::to_string(v.found), expected = std::to_string(v.expected);
  switch (v.fault) {
    case retention_fault::none: return "the tasks are valid";
    case retention_fault::chunk_out_of_range: return task + " is of chunk " + found + ", which must be below " + expected;
    case retention_fault::forward_too_early: return task + " runs chunk " + found + " forward before chunk " + expected;
    case retention_fault::forward_twice: return task + " runs chunk " + found + " forward, which has run or holds its activations";
    case retention_fault::backward_too_early:
      return task + " is of chunk " + found + ", but chunk " + expected + " must run backward first";
    case retention_fault::not_held: return task + " runs chunk " + found + " backward, which does not hold its activations";
    case retention_fault::too_many_held: return task + " holds the activations of " + found + " chunks, more than " + expected;
    case retention_fault::backward_missing: return "chunk " + std::to_string(v.index) + " does not run backward";
  }
  return {};
}

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
[[nodiscard]] inline verdict<retention_fault> check_retention(std::span<chunk_task const> tasks, std::uint64_t chunks,
                                                              std::uint64_t retained) {
  using enum retention_fault;
  std::vector<bool> holds(static_cast<std::size_t>(chunks));
  std::uint64_t forwards = 0, left = chunks, held = 0;  // forwards so far; chunks that have not run backward
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    std::uint64_t const k = tasks[t].chunk;
    auto const pass = tasks[t].pass;
    if (k >= chunks) return {chunk_out_of_range, t, k, chunks};
    if (pass == chunk_pass::forward_keep || pass == chunk_pass::forward_drop) {
      if (k < forwards) return {forward_twice, t, k, 0};
      if (k > forwards) return {forward_too_early, t, k, forwards};
      ++forwards;
    } else if (k + 1 != left) {
      return {backward_too_early, t, k, left == 0 ? 0 : left - 1};
    } else if (k >= forwards) {
      return {not_held, t, k, 0};
    }
    if (pass == chunk_pass::forward_keep || pass == chunk_pass::forward_again) {
      if (holds[k]) return {forward_twice, t, k, 0};
      holds[k] = true;
      if (++held > retained) return {too_many_held, t, held, retained};
    }
    if (pass == chunk_pass::backward) {
      if (!holds[k]) return {not_held, t, k, 0};
      holds[k] = false;
      --held;
      --left;
    }
  }
  if (left > 0) return {backward_missing, left - 1, 0, 1};
  return {};
}

}  // namespace ballast::inline v0_2
