// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/metrics/communication.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/levels/pack.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Packs of several levels into steps: each step is of one level, all steps hold about the same number of tokens.

namespace ballast::inline v0_2 {

/// @brief The squared lengths alone: what attention costs beyond a share of the tokens. What HBP sorts by.
inline constexpr quadratic_cost attention_only{.linear = 0, .quadratic = 1};

/// @brief The shape of the steps. Only `devices` has no good default.
struct level_batching_options {
  std::uint64_t devices = 1;                                 ///< of the run; a level has devices / sp ranks, so sp divides them
  std::int64_t tokens_per_step = 0;                          ///< of every level's steps; 0 = the most of any level with one micro-batch
  bool balanced = true;                                      ///< packs of like cost share a step; false = random steps
  ballast::emission emission = ballast::emission::cyclic;    ///< order of a level's steps where they are balanced
  ballast::left_over left_over = ballast::left_over::split;  ///< what happens to an incomplete last step of a level
  std::uint64_t seed = 0;                                    ///< any value; another seed is another order
  std::uint64_t epoch = 0;                                   ///< another epoch is another order of the same run
};

/// @brief The steps of every level.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct level_batching {
  std::vector<level> levels;           ///< by capacity
  std::vector<batching<Index>> steps;  ///< of each level, with its own ranks and micro-batches; members are those of the level packing

  /// @brief Number of steps of all levels.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t sum = 0;
    for (auto const& s : steps) sum += s.steps();
    return sum;
  }
};

namespace detail {

[[nodiscard]] inline std::uint64_t ranks_of(level const& at, std::uint64_t devices) {
  require(devices > 0 && devices % at.sp == 0,
          [&] { return "sp = " + std::to_string(at.sp) + " does not divide devices = " + std::to_string(devices); });
  return devices / at.sp;
}
/// The shape of one level's steps.
[[nodiscard]] inline batching_options shape_of(level const& at, std::span<level const> levels, level_batching_options const& o) {
  require(o.tokens_per_step >= 0, [&] { return "tokens_per_step = " + std::to_string(o.tokens_per_step) + " must not be negative"; });
  require(o.devices < std::uint64_t{1} << 20, [&] { return "devices = " + std::to_string(o.devices) + " must be below 2^20"; });
  auto const tokens = [&](level const& l) {
    require(l.capacity < std::int64_t{1} << 40, [&] { return "capacity = " + std::to_string(l.capacity) + " must be below 2^40"; });
    return static_cast<std::int64_t>(ranks_of(l, o.devices)) * l.capacity;
  };
  auto whole = o.tokens_per_step;
  if (whole == 0)
    for (auto const& l : levels) whole = (std::max)(whole, tokens(l));
  auto const rounds = whole / tokens(at) + (whole % tokens(at) >= (tokens(at) + 1) / 2 ? 1 : 0);
  return {.capacity = at.capacity,
          .ranks = ranks_of(at, o.devices),
          .micro_batches = static_cast<std::uint64_t>((std::max)(rounds, std::int64_t{1})),
          .left_over = o.left_over,
          .seed = o.seed,
          .epoch = o.epoch};
}

}  // namespace detail

/// @brief Makes the steps of every level.
///
/// A level of SP degree sp has devices / sp ranks, and as many micro-batches as bring its steps nearest to `tokens_per_step`; so the level
/// can change from step to step and the global batch stays what it is.
///
/// @tparam Index  type of the sample indices
/// @tparam Cost   how one length is weighed
/// @param packed   from `pack_levels`
/// @param options  devices, tokens of a step, and how packs meet in steps
/// @param cost     what a sample costs, `attention_only` say; within a level only proportions matter
/// @return the steps; `dropped` and `repeated` of a level refer to members of the packing
/// @throws invalid_input if an SP degree does not divide the devices, or as `deal_steps`
/// @par Complexity
/// O(samples + packs log packs).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680, algorithms 2 and 7.
template <index_type Index, cost_model Cost>
[[nodiscard]] level_batching<Index> steps_by_level(level_packing<Index> const& packed, level_batching_options const& options,
                                                   Cost const& cost) {
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
    groups<Index> packs;  // of the level's own members, numbered in their order
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

/// @brief The figures of steps of several levels.
struct level_figures {
  std::size_t steps = 0;           ///< of all levels
  double attention_ratio = 0;      ///< ABR: mean over the steps of 1 - mean / max of the ranks' squared lengths
  double communication_ratio = 0;  ///< CR: mean over the steps of the share of tokens in packs with sp above 1
  double token_ratio = 0;          ///< DBR: as ABR, of tokens
  double idle = 0;                 ///< share of all device time that is spent waiting, under the modelled times
  double seconds = 0;              ///< modelled time of all steps
};

/// @brief Measures the steps of a plan, under profiled or modelled times.
/// @tparam Index  type of the sample indices
/// @param plan     from `steps_by_level`
/// @param lengths  tokens of each member: `level_packing::lengths`
/// @param times    of each level
/// @return the figures, for reports
/// @throws invalid_input if there are not as many times as levels, or a sum reaches 2^63
/// @par Complexity
/// O(samples).
template <index_type Index>
[[nodiscard]] level_figures figures_of(level_batching<Index> const& plan, std::span<std::int64_t const> lengths,
                                       std::span<level_time const> times) {
  require(times.size() == plan.levels.size(),
          [&] { return std::to_string(times.size()) + " times for " + std::to_string(plan.levels.size()) + " levels"; });
  level_figures f;
  std::vector<std::int64_t> communicated, tokens_of_step;
  double occupied = 0, busy = 0;
  for (std::size_t i = 0; i < plan.levels.size(); ++i) {
    auto const& steps = plan.steps[i];
    if (steps.steps() == 0) continue;
    auto const each = static_cast<std::size_t>(steps.micro_batches), ranks = static_cast<std::size_t>(steps.ranks);
    std::vector<std::int64_t> squares, tokens, time;
    for (std::size_t place = 0; place < steps.table.size(); ++place) {
      if (place % each == 0) {
        squares.push_back(0);
        tokens.push_back(0);
        time.push_back(0);
      }
      if (place % (each * ranks) == 0) tokens_of_step.push_back(0);
      auto const p = steps.table[place];
      if (p == steps.none) continue;
      std::int64_t pack_tokens = 0, pack_squares = 0;
      for (auto const m : steps.packs[static_cast<std::size_t>(p)]) {
        auto const l = lengths[static_cast<std::size_t>(m)];
        pack_tokens += l;
        pack_squares += l * l;
      }
      squares.back() += pack_squares;
      tokens.back() += pack_tokens;
      time.back() += times[i](1, pack_tokens, pack_squares);
      tokens_of_step.back() += pack_tokens;
    }
    for (auto s = communicated.size(); s < tokens_of_step.size(); ++s)
      communicated.push_back(plan.levels[i].sp > 1 ? tokens_of_step[s] : 0);
    auto const count = static_cast<double>(steps.steps());
    f.steps += steps.steps();
    f.attention_ratio += count * balance_of_steps(squares, ranks).mean_ratio;
    f.token_ratio += count * balance_of_steps(tokens, ranks).mean_ratio;
    auto const waits = balance_of_steps(time, ranks);
    auto const mine = static_cast<double>(waits.slowest) * static_cast<double>(ranks);
    occupied += mine;
    busy += static_cast<double>(waits.total);
    f.seconds += mine / (static_cast<double>(ranks) * static_cast<double>(plan.levels[i].sp)) / 1e9;
  }
  if (f.steps == 0) return f;
  f.attention_ratio /= static_cast<double>(f.steps);
  f.token_ratio /= static_cast<double>(f.steps);
  f.communication_ratio = communication_ratio(communicated, tokens_of_step);
  f.idle = 1.0 - busy / occupied;
  return f;
}

}  // namespace ballast::inline v0_2
