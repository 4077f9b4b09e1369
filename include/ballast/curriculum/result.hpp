// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/hash.hpp>
#include <ballast/core/level.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief What a planner of curricula returns.

namespace ballast::inline v0_2 {

/// @brief One step in training order: all that a trainer needs to know of it.
struct curriculum_step {
  std::uint32_t source = 0;  ///< whose step it is
  std::uint32_t index = 0;   ///< which of that source's steps
  level setting;             ///< how it is trained: capacity, SP degree, recomputed layers
  std::uint64_t epoch = 0;   ///< the epoch it belongs to
  friend constexpr bool operator==(curriculum_step const&, curriculum_step const&) = default;
};

/// @brief The steps of one epoch in training order.
struct curriculum_plan {
  std::vector<level> settings;        ///< of each source
  std::vector<std::uint32_t> source;  ///< whose step is trained, for each step in training order
  std::vector<std::uint32_t> index;   ///< which of that source's steps it is; as many as `source`
  std::uint64_t warm_up = 0;          ///< how many of them, from the first, are the warm-up
  std::uint64_t epoch = 0;            ///< the epoch planned

  /// @brief Number of steps.
  [[nodiscard]] std::size_t size() const noexcept { return source.size(); }
  /// @brief The step trained at place `i`. @param i place, below `size()` @return its source, index, setting and epoch
  [[nodiscard]] curriculum_step at(std::size_t i) const { return {source[i], index[i], settings[source[i]], epoch}; }

  /// @brief How often a step has another setting than the one before it. @par Complexity O(steps).
  [[nodiscard]] std::uint64_t switches() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 1; i < size(); ++i) sum += settings[source[i]] == settings[source[i - 1]] ? 0U : 1U;
    return sum;
  }

  /// @brief How uneven the order is after the warm-up: the most steps by which any source is ahead of or behind its share at any point.
  ///
  /// Of N steps, n of one source, that source's share of the first k is k n / N.
  ///
  /// @return 0 for a single source; below 1 means that shares are kept at every point, up to rounding
  /// @par Complexity
  /// O(steps), in integers up to the last division.
  [[nodiscard]] double discrepancy() const {
    auto const first = static_cast<std::size_t>(warm_up);
    if (first >= size()) return 0.0;
    auto const all = static_cast<std::int64_t>(size() - first);
    std::vector<std::int64_t> count(settings.size(), 0), seen(settings.size(), 0);
    for (auto i = first; i < size(); ++i) ++count[source[i]];
    std::int64_t most = 0;  // a source is furthest behind just before one of its steps, and furthest ahead just after
    for (auto i = first; i < size(); ++i) {
      auto const s = source[i];
      auto const k = static_cast<std::int64_t>(i - first);
      auto const behind = count[s] * k - all * seen[s]++;
      auto const ahead = all * seen[s] - count[s] * (k + 1);
      most = (std::max)({most, behind, ahead});
    }
    return static_cast<double>(most) / static_cast<double>(all);
  }

  friend bool operator==(curriculum_plan const&, curriculum_plan const&) = default;
};

/// @brief Hash of a curriculum: FNV-1a over source and index of every step, each as a little-endian 64-bit integer.
/// @param plan  any plan
/// @return 64 bits; plans of equal order have equal hashes
/// @par Complexity
/// O(steps).
[[nodiscard]] inline std::uint64_t hash(curriculum_plan const& plan) {
  fnv1a h;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    h.append(plan.source[i]);
    h.append(plan.index[i]);
  }
  return h.value();
}

}  // namespace ballast::inline v0_2
