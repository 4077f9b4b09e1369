// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/levels/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `steps_by_level`: makes steps of the packs of several levels. Each step is of one level, and all steps hold about the same number
/// of tokens.

namespace ballast::inline v0_2 {

namespace detail {

[[nodiscard]] inline std::uint64_t ranks_of(level const& at, std::uint64_t devices) {
  require(devices > 0 && at.sp > 0 && devices % at.sp == 0,
          [&] { return sentence("sp = ", at.sp, " does not divide devices = ", devices); });
  return devices / at.sp;
}
/// Tokens of one step of these levels: as asked for, or those of `micro_batches` in the level that holds most.
template <class = when_called>
[[nodiscard]] inline std::int64_t tokens_per_step(std::span<level const> levels, level_options const& o) {
  require(o.tokens_per_step >= 0, [&] { return sentence("tokens_per_step = ", o.tokens_per_step, " must not be negative"); });
  require(o.tokens_per_step <= std::int64_t{1} << 61,
          [&] { return sentence("tokens_per_step = ", o.tokens_per_step, " must be at most 2^61"); });
  require(o.micro_batches > 0 && o.micro_batches < std::uint64_t{1} << 20,
          [&] { return sentence("micro_batches = ", o.micro_batches, " must be in 1 ... 2^20 - 1"); });
  require(o.devices < std::uint64_t{1} << 20, [&] { return sentence("devices = ", o.devices, " must be below 2^20"); });
  std::int64_t most = 0;
  for (auto const& l : levels) {
    require(l.capacity > 0 && l.capacity < std::int64_t{1} << 40,
            [&] { return sentence("capacity = ", l.capacity, " must be in 1 ... 2^40 - 1"); });
    most = (std::max)(most, static_cast<std::int64_t>(ranks_of(l, o.devices)) * l.capacity);
  }
  if (o.tokens_per_step != 0) return o.tokens_per_step;
  auto const count = static_cast<std::int64_t>(o.micro_batches);
  require(most <= (std::int64_t{1} << 61) / count,
          [&] { return sentence("micro_batches = ", count, " of ", most, " tokens exceed 2^61"); });
  return most * count;
}

/// The shape of one level's steps.
template <class = when_called>
[[nodiscard]] inline batching_options shape_of(level const& at, std::span<level const> levels, level_options const& o) {
  auto const whole = tokens_per_step(levels, o), row = static_cast<std::int64_t>(ranks_of(at, o.devices)) * at.capacity;
  auto const rounds = whole / row + (whole % row >= (row + 1) / 2 ? 1 : 0);
  require(rounds < std::int64_t{1} << 20, [&] {
    return sentence("tokens_per_step = ", whole, " is ", rounds, " micro-batches of capacity ", at.capacity, " on ",
                    ranks_of(at, o.devices), " ranks: a step has at most 2^20 - 1");
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
  require(!levels.empty(), [] { return "levels is empty"; });
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

}  // namespace detail

/// @brief The squared length as a cost, which is proportional to the work of attention. HBP sorts packs by it.
inline constexpr quadratic_cost attention_only{.linear = 0, .quadratic = 1};

/// @brief Deals the packs of every level to steps.
///
/// A level of SP degree sp has devices / sp ranks, and the number of micro-batches that brings its steps nearest to `tokens_per_step`. So
/// the global batch stays about the same when the level changes from step to step.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   how one length is weighed
/// @param packed   result of `pack_levels`
/// @param options  devices, tokens of a step, and which packs share a step
/// @param cost     cost of a sample by its length, for example `attention_only`; only the ratios within a level matter
/// @return the steps; `dropped` and `repeated` of a level name members of `packed`
/// @throws invalid_input unless every SP degree divides the number of devices; also as `deal_steps`
/// @par Complexity
/// O(samples + packs log packs).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680, algorithms 2 and 7.
template <index_type Index, cost_model Cost>
[[nodiscard]] level_batching<Index> steps_by_level(level_packing<Index> const& packed, level_options const& options, Cost const& cost) {
  level_batching<Index> out;
  out.levels = packed.levels;
  std::vector<std::int64_t> lengths;
  for (std::size_t i = 0; i < packed.levels.size(); ++i) {
    auto shape = detail::shape_of(packed.levels[i], packed.levels, options);
    shape.seed += i;
    auto const first = packed.first_pack[i], last = packed.first_pack[i + 1];
    auto const from = packed.packs.offsets[first];
    auto const members = std::span(packed.packs.members)
                             .subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(packed.packs.offsets[last] - from));
    groups<Index> packs;  // the packs of this level; members are positions in `members`
    packs.offsets.clear();
    for (auto p = first; p <= last; ++p) packs.offsets.push_back(packed.packs.offsets[p] - from);
    packs.members.resize(members.size());
    std::iota(packs.members.begin(), packs.members.end(), Index{0});
    lengths.clear();
    for (auto const m : members) lengths.push_back(packed.lengths[static_cast<std::size_t>(m)]);
    auto steps = deal_steps(std::move(packs), lengths, shape, cost,
                            {.how = options.balanced ? dealing::sorted : dealing::random, .emission = options.emission});
    renumber(steps, members);
    std::sort(steps.dropped.begin(), steps.dropped.end());
    std::sort(steps.repeated.begin(), steps.repeated.end());
    out.steps.push_back(std::move(steps));
  }
  return out;
}

}  // namespace ballast::inline v0_2
