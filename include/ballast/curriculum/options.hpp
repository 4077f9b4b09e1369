// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/core/level.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Sources and options of a curriculum: which steps there are, how many are trained in each epoch, and in which order. The result of
/// `plan_curriculum`.

namespace ballast::inline v0_2 {

/// @brief The order in which an epoch trains its steps. Keys are `curriculum_source::keys`.
enum class curriculum_order : std::uint8_t {
  interleaved,        ///< every source has its share at every point of the epoch; the steps of a source come in random order
  random,             ///< all steps in random order
  ascending,          ///< by key, ascending; equal keys in random order
  ascending_buckets,  ///< buckets of similar keys one after another, smallest keys first; random order within a bucket
  shuffled_buckets,   ///< buckets of similar keys one after another, in random order; random order within a bucket
};

/// @brief A source of steps: the steps of one level, or of one data set at a level.
struct curriculum_source {
  level setting;                        ///< setting that each of its steps is trained with
  std::uint64_t steps = 0;              ///< number of its steps; may be 0
  std::vector<std::int64_t> keys = {};  ///< key of each step (mean length, cost, loss, …); empty: every key is `setting.capacity`
  /// Number of steps that epoch 0, 1, … trains; the last entry holds for all later epochs. With more than `steps`, steps are repeated; with
  /// fewer, some are left out. Empty: each step is trained once. See `steps_of_passes` and `largest_remainder`.
  std::vector<std::uint64_t> per_epoch = {};
};

/// @brief Options of `plan_curriculum`.
struct curriculum_options {
  curriculum_order order = curriculum_order::interleaved;  ///< order of all steps after the warm-up
  std::uint64_t warm_up = 0;  ///< number of steps, all from the sources of smallest capacity, that epoch 0 begins with; HBP published 500
  std::uint32_t warm_up_share = 500;  ///< largest share of those sources' steps that the warm-up takes, in thousandths; from 0 to 1000
  std::uint64_t buckets = 16;         ///< number of buckets of equally many steps, for the two orders by buckets; at least 1
  std::uint64_t seed = 0;             ///< any value; another seed gives another order
  std::uint64_t epoch = 0;            ///< number of the epoch, below 2^31; another epoch gives another order under the same seed
};

namespace detail {

// Sums and products of two counts stay below 2^62.
inline constexpr std::uint64_t most_curriculum_steps = (std::uint64_t{1} << 31) - 1;

template <class = when_called>
[[nodiscard]] inline std::uint64_t steps_in_epoch(curriculum_source const& source, std::uint64_t epoch) {
  if (source.per_epoch.empty()) return source.steps;
  return epoch < source.per_epoch.size() ? source.per_epoch[static_cast<std::size_t>(epoch)] : source.per_epoch.back();
}

inline void require_valid(curriculum_source const& source, std::size_t at) {
  auto const name = [&](char const* what) { return sentence("sources[", at, "].", what); };
  require(source.setting.capacity > 0,
          [&] { return sentence(name("setting.capacity"), " = ", source.setting.capacity, " must be positive"); });
  require(source.setting.sp > 0, [&] { return name("setting.sp") + " = 0 must be positive"; });
  require(source.steps <= most_curriculum_steps, [&] { return sentence(name("steps"), " = ", source.steps, " must be below 2^31"); });
  require(source.keys.empty() || source.keys.size() == source.steps,
          [&] { return sentence(name("keys"), " has ", source.keys.size(), " entries for ", source.steps, " steps"); });
  for (std::size_t e = 0; e < source.per_epoch.size(); ++e) {
    auto const count = source.per_epoch[e];
    auto const entry = [&] { return sentence(name("per_epoch["), e, "] = ", count); };
    require(count <= most_curriculum_steps, [&] { return entry() + " must be below 2^31"; });
    require(count == 0 || source.steps > 0, [&] { return entry() + " but the source has no steps"; });
  }
}

inline void require_valid(std::span<curriculum_source const> sources, curriculum_options const& o) {
  require(sources.size() < std::size_t{1} << 16, [&] { return sentence(sources.size(), " sources: at most 2^16 - 1 are allowed"); });
  for (std::size_t s = 0; s < sources.size(); ++s) require_valid(sources[s], s);
  require(o.epoch <= most_curriculum_steps, [&] { return sentence("epoch = ", o.epoch, " must be below 2^31"); });
  require(o.warm_up_share <= 1000, [&] { return sentence("warm_up_share = ", o.warm_up_share, " must be at most 1000"); });
  require(o.buckets > 0, [] { return "buckets = 0 must be positive"; });
  require(o.order <= curriculum_order::shuffled_buckets,
          [&] { return sentence("order = ", static_cast<int>(o.order), " is not an enumerator of curriculum_order"); });
}

// The steps of one epoch.
template <class = when_called>
[[nodiscard]] inline std::uint64_t steps_in_epoch(std::span<curriculum_source const> sources, std::uint64_t epoch) {
  std::uint64_t sum = 0;
  for (auto const& source : sources) sum += steps_in_epoch(source, epoch);
  require(sum <= most_curriculum_steps, [&] { return sentence("epoch ", epoch, " has ", sum, " steps: there may be 2^31 - 1"); });
  return sum;
}

}  // namespace detail

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
