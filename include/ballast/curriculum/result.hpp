// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/hash.hpp>
#include <ballast/core/level.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief The result of `plan_curriculum`.

namespace ballast::inline v0_2 {

/// @brief One step in training order, with all that a trainer needs to know about it.
struct curriculum_step {
  std::uint32_t source = 0;  ///< number of the source that the step belongs to
  std::uint32_t index = 0;   ///< index of the step in that source
  level setting;             ///< setting that the step is trained with: capacity, SP degree, recomputed layers
  std::uint64_t epoch = 0;   ///< number of the epoch
  friend constexpr bool operator==(curriculum_step const&, curriculum_step const&) = default;
};

/// @brief The steps of one epoch in training order.
struct curriculum_plan {
  std::vector<level> settings;        ///< setting of each source
  std::vector<std::uint32_t> source;  ///< source of each step, in training order
  std::vector<std::uint32_t> index;   ///< index of each step in its source, in training order
  std::uint64_t warm_up = 0;          ///< number of steps in the warm-up, which comes first
  std::uint64_t epoch = 0;            ///< number of the epoch

  /// @brief Number of steps.
  [[nodiscard]] std::size_t size() const noexcept { return source.size(); }
  /// @brief The step at position `i` of the training order. @param i position, below `size()` @return its source, index, setting and epoch
  [[nodiscard]] curriculum_step at(std::size_t i) const { return {source[i], index[i], settings[source[i]], epoch}; }

  /// @brief Number of steps whose setting differs from that of the step before. @par Complexity O(steps).
  [[nodiscard]] std::uint64_t switches() const {
    std::uint64_t sum = 0;
    for (std::size_t i = 1; i < size(); ++i) sum += settings[source[i]] == settings[source[i - 1]] ? 0U : 1U;
    return sum;
  }

  /// @brief Unevenness of the order after the warm-up: the largest number of steps by which any source is ahead of its share, or behind it,
  /// at any point.
  ///
  /// If n of N steps are from one source, that source's share of the first k steps is k n / N.
  ///
  /// @return the discrepancy: 0 for a single source; below 1 if shares are kept at every point, up to rounding
  /// @par Complexity
  /// O(steps), in integers except for the last division.
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
