// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/levels/options.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Metrics of steps of several levels: fill, balance, communication and time.

namespace ballast::inline v0_2 {

/// @brief Metrics of a plan in levels.
struct level_figures {
  std::size_t steps = 0;           ///< number of steps in all levels
  std::uint64_t packs = 0;         ///< number of packs in these steps
  double fill = 0;                 ///< share of the packs' capacity that holds tokens
  double attention_ratio = 0;      ///< ABR: mean over the steps of 1 - mean / max of the ranks' squared lengths
  double communication_ratio = 0;  ///< CR: mean over the steps of the share of tokens in packs with an SP degree above 1
  double token_ratio = 0;          ///< DBR: as ABR, for tokens
  double idle = 0;                 ///< share of all device time that is spent waiting, under the given times
  double seconds = 0;              ///< time of all steps
  /// Nanoseconds that each device works in each step, by step, then device. The steps come level after level in the result of `figures_of`,
  /// and in training order in a `level_plan` and a `level_comparison`.
  std::vector<std::int64_t> loads;

  /// @brief Speedup of this plan over another plan. @param other metrics of another plan for the same samples
  /// @return time of the other plan over time of this plan; 1 without steps
  [[nodiscard]] double speedup_over(level_figures const& other) const noexcept { return seconds > 0 ? other.seconds / seconds : 1.0; }
};

namespace detail {

/// The work of a rank in a step.
struct rank_work {
  std::uint64_t packs = 0;
  std::int64_t tokens = 0, squares = 0, time = 0, load = 0;  // `time` and `load`: nanoseconds of all its devices, and of each device
};
template <index_type Index>
[[nodiscard]] rank_work work_of_rank(batching<Index> const& steps, std::size_t step, std::size_t rank,
                                     std::span<std::int64_t const> lengths, level_time const& at, std::uint32_t sp) {
  rank_work sum;
  for (auto const pack : steps.packs_of(step, rank)) {
    std::int64_t tokens = 0, squares = 0;
    for (auto const i : pack) {
      auto const length = lengths[static_cast<std::size_t>(i)];
      tokens += length;
      squares += length * length;
    }
    auto const time = at(1, tokens, squares);
    sum = {sum.packs + 1, sum.tokens + tokens, sum.squares + squares, sum.time + time, sum.load + time / std::int64_t{sp}};
  }
  return sum;
}

}  // namespace detail

/// @brief Computes the metrics of a plan, from profiled or modelled times.
/// @tparam Index  type of the sample indices
/// @param plan     result of `steps_by_level`
/// @param lengths  tokens of each member: `level_packing::lengths`
/// @param times    time of each level
/// @return the metrics, for reports
/// @throws invalid_input unless there is one time for each level; also if a sum reaches 2^63
/// @par Complexity
/// O(samples + devices * steps).
/// @par Determinism
/// The metrics are doubles, computed from exact sums.
template <index_type Index>
[[nodiscard]] level_figures figures_of(level_batching<Index> const& plan, std::span<std::int64_t const> lengths,
                                       std::span<level_time const> times) {
  require(times.size() == plan.levels.size(), [&] { return sentence(times.size(), " times for ", plan.levels.size(), " levels"); });
  level_figures f;
  std::vector<std::int64_t> communicated, tokens_of_step;
  double occupied = 0, busy = 0, room = 0, held = 0;
  for (std::size_t i = 0; i < plan.levels.size(); ++i) {
    auto const& steps = plan.steps[i];
    auto const& at = plan.levels[i];
    if (steps.steps() == 0) continue;
    auto const ranks = static_cast<std::size_t>(steps.ranks);
    std::vector<std::int64_t> squares, tokens, time;  // of each rank in each step
    for (std::size_t s = 0; s < steps.steps(); ++s) {
      tokens_of_step.push_back(0);
      for (std::size_t r = 0; r < ranks; ++r) {
        auto const work = detail::work_of_rank(steps, s, r, lengths, times[i], at.sp);
        squares.push_back(work.squares);
        tokens.push_back(work.tokens);
        time.push_back(work.time);
        tokens_of_step.back() += work.tokens;
        f.loads.insert(f.loads.end(), at.sp, work.load);
        f.packs += work.packs;
        room += static_cast<double>(work.packs) * static_cast<double>(at.capacity);
      }
      communicated.push_back(at.sp > 1 ? tokens_of_step.back() : 0);
      held += static_cast<double>(tokens_of_step.back());
    }
    auto const count = static_cast<double>(steps.steps());
    f.steps += steps.steps();
    f.attention_ratio += count * balance_of_steps(squares, ranks).mean_ratio;
    f.token_ratio += count * balance_of_steps(tokens, ranks).mean_ratio;
    auto const waits = balance_of_steps(time, ranks);
    auto const taken = static_cast<double>(waits.slowest) * static_cast<double>(ranks);
    occupied += taken;
    busy += static_cast<double>(waits.total);
    f.seconds += taken / (static_cast<double>(ranks) * static_cast<double>(at.sp)) / 1e9;
  }
  if (f.steps == 0) return f;
  f.attention_ratio /= static_cast<double>(f.steps);
  f.token_ratio /= static_cast<double>(f.steps);
  f.communication_ratio = communication_ratio(communicated, tokens_of_step);
  f.idle = 1.0 - busy / occupied;
  f.fill = room > 0 ? held / room : 0.0;
  return f;
}

}  // namespace ballast::inline v0_2
