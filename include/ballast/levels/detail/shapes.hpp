// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/curriculum/result.hpp>
#include <ballast/levels/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

// The shape of the steps of levels, and other parts that `plan_levels` and `compare_levels` share.

namespace ballast::inline v0_2::detail {

[[nodiscard]] inline std::uint64_t ranks_of(level const& at, std::uint64_t devices) {
  require(devices > 0 && at.sp > 0 && devices % at.sp == 0,
          [&] { return "sp = " + std::to_string(at.sp) + " does not divide devices = " + std::to_string(devices); });
  return devices / at.sp;
}
/// Tokens of one step of these levels: as asked for, or those of `micro_batches` in the level that holds most.
template <class = when_called>
[[nodiscard]] inline std::int64_t tokens_per_step(std::span<level const> levels, level_options const& o) {
  require(o.tokens_per_step >= 0, [&] { return "tokens_per_step = " + std::to_string(o.tokens_per_step) + " must not be negative"; });
  require(o.tokens_per_step <= std::int64_t{1} << 61,
          [&] { return "tokens_per_step = " + std::to_string(o.tokens_per_step) + " must be at most 2^61"; });
  require(o.micro_batches > 0 && o.micro_batches < std::uint64_t{1} << 20,
          [&] { return "micro_batches = " + std::to_string(o.micro_batches) + " must be in 1 ... 2^20 - 1"; });
  require(o.devices < std::uint64_t{1} << 20, [&] { return "devices = " + std::to_string(o.devices) + " must be below 2^20"; });
  std::int64_t most = 0;
  for (auto const& l : levels) {
    require(l.capacity > 0 && l.capacity < std::int64_t{1} << 40,
            [&] { return "capacity = " + std::to_string(l.capacity) + " must be in 1 ... 2^40 - 1"; });
    most = (std::max)(most, static_cast<std::int64_t>(ranks_of(l, o.devices)) * l.capacity);
  }
  if (o.tokens_per_step != 0) return o.tokens_per_step;
  auto const count = static_cast<std::int64_t>(o.micro_batches);
  require(most <= (std::int64_t{1} << 61) / count,
          [&] { return "micro_batches = " + std::to_string(count) + " of " + std::to_string(most) + " tokens exceed 2^61"; });
  return most * count;
}

/// The shape of one level's steps.
template <class = when_called>
[[nodiscard]] inline batching_options shape_of(level const& at, std::span<level const> levels, level_options const& o) {
  auto const whole = tokens_per_step(levels, o), row = static_cast<std::int64_t>(ranks_of(at, o.devices)) * at.capacity;
  auto const rounds = whole / row + (whole % row >= (row + 1) / 2 ? 1 : 0);
  require(rounds < std::int64_t{1} << 20, [&] {
    return "tokens_per_step = " + std::to_string(whole) + " is " + std::to_string(rounds) + " micro-batches of capacity " +
           std::to_string(at.capacity) + " on " + std::to_string(ranks_of(at, o.devices)) + " ranks: a step has at most 2^20 - 1";
  });
  return {.capacity = at.capacity,
          .ranks = ranks_of(at, o.devices),
          .micro_batches = static_cast<std::uint64_t>((std::max)(rounds, std::int64_t{1})),
          .left_over = o.left_over,
          .seed = o.seed,
          .epoch = o.epoch};
}

template <class = when_called>
[[nodiscard]] inline std::pair<std::vector<level>, std::vector<level_time>> settings_and_times(std::span<timed_level const> levels) {
  std::pair<std::vector<level>, std::vector<level_time>> out;
  for (auto const& [setting, time] : levels) {
    out.first.push_back(setting);
    out.second.push_back(time);
  }
  return out;
}

/// The cost of a sample in the longest level, in units so coarse that the sum over all samples stays below 2^63.
template <length_range R>
[[nodiscard]] quadratic_cost longest_level_cost(R const& lengths, std::span<timed_level const> levels) {
  require(!levels.empty(), [] { return std::string("levels is empty"); });
  auto const& [setting, time] = levels.back();
  std::vector<std::int64_t> trained;
  for (auto const length : lengths) trained.push_back((std::min)(static_cast<std::int64_t>(length), setting.capacity));
  auto const nanoseconds = time(0, token_load(trained), attention_load(trained));
  int shift = 0;
  while (nanoseconds >> shift > (std::int64_t{1} << 61) / 1000) ++shift;
  return {.linear = (std::max)(time.per_token >> shift, std::int64_t{1}), .quadratic = time.per_square >> shift};
}

/// Puts one number for each device and step, given level after level, into training order.
template <class = when_called>
[[nodiscard]] inline std::vector<std::int64_t> in_training_order(std::span<std::int64_t const> by_level, curriculum_plan const& order,
                                                                 std::size_t devices) {
  std::vector<std::size_t> first(order.settings.size() + 1, 0);  // first step of each level
  for (auto const source : order.source) ++first[source + 1];
  for (std::size_t l = 1; l < first.size(); ++l) first[l] += first[l - 1];
  std::vector<std::int64_t> out;
  out.reserve(by_level.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    auto const step = by_level.subspan((first[order.source[i]] + order.index[i]) * devices, devices);
    out.insert(out.end(), step.begin(), step.end());
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
