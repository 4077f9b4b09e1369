// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/curriculum/options.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ballast::inline v0_2::detail {

// Sums and products of two counts stay below 2^62.
inline constexpr std::uint64_t most_curriculum_steps = (std::uint64_t{1} << 31) - 1;

template <class = when_called>
[[nodiscard]] inline std::uint64_t steps_in_epoch(curriculum_source const& source, std::uint64_t epoch) {
  if (source.per_epoch.empty()) return source.steps;
  return epoch < source.per_epoch.size() ? source.per_epoch[static_cast<std::size_t>(epoch)] : source.per_epoch.back();
}

inline void require_valid(curriculum_source const& source, std::size_t at) {
  auto const name = [&](char const* what) { return "sources[" + std::to_string(at) + "]." + what; };
  require(source.setting.capacity > 0,
          [&] { return name("setting.capacity") + " = " + std::to_string(source.setting.capacity) + " must be positive"; });
  require(source.setting.sp > 0, [&] { return name("setting.sp") + " = 0 must be positive"; });
  require(source.steps <= most_curriculum_steps,
          [&] { return name("steps") + " = " + std::to_string(source.steps) + " must be below 2^31"; });
  require(source.keys.empty() || source.keys.size() == source.steps, [&] {
    return name("keys") + " has " + std::to_string(source.keys.size()) + " entries for " + std::to_string(source.steps) + " steps";
  });
  for (std::size_t e = 0; e < source.per_epoch.size(); ++e) {
    auto const count = source.per_epoch[e];
    auto const entry = [&] { return name("per_epoch[") + std::to_string(e) + "] = " + std::to_string(count); };
    require(count <= most_curriculum_steps, [&] { return entry() + " must be below 2^31"; });
    require(count == 0 || source.steps > 0, [&] { return entry() + " but the source has no steps"; });
  }
}

inline void require_valid(std::span<curriculum_source const> sources, curriculum_options const& o) {
  require(sources.size() < std::size_t{1} << 16, [&] { return std::to_string(sources.size()) + " sources: at most 2^16 - 1 are allowed"; });
  for (std::size_t s = 0; s < sources.size(); ++s) require_valid(sources[s], s);
  require(o.epoch <= most_curriculum_steps, [&] { return "epoch = " + std::to_string(o.epoch) + " must be below 2^31"; });
  require(o.warm_up_share <= 1000, [&] { return "warm_up_share = " + std::to_string(o.warm_up_share) + " must be at most 1000"; });
  require(o.buckets > 0, [] { return std::string("buckets = 0 must be positive"); });
  require(o.order <= curriculum_order::shuffled_buckets,
          [&] { return "order = " + std::to_string(static_cast<int>(o.order)) + " is not an enumerator of curriculum_order"; });
}

// The steps of one epoch.
template <class = when_called>
[[nodiscard]] inline std::uint64_t steps_in_epoch(std::span<curriculum_source const> sources, std::uint64_t epoch) {
  std::uint64_t sum = 0;
  for (auto const& source : sources) sum += steps_in_epoch(source, epoch);
  require(sum <= most_curriculum_steps,
          [&] { return "epoch " + std::to_string(epoch) + " has " + std::to_string(sum) + " steps: there may be 2^31 - 1"; });
  return sum;
}

}  // namespace ballast::inline v0_2::detail
