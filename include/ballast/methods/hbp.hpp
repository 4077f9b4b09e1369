// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/steps.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief HBP, hierarchical balance packing (Yao et al., arXiv 2503.07680): levels chosen in two phases, steps of packs with similar
/// attention, short levels first.

namespace ballast::inline v0_2::hbp {

/// @brief The number of layers to recompute.
struct checkpointing {
  ballast::status status = ballast::status::infeasible;  ///< infeasible: memory runs out even if all probed layers are recomputed
  std::uint32_t layers = 0;                              ///< fewest recomputed layers that fit, by the estimate
};

/// @brief Estimates the fewest recomputed layers that fit in memory, from two probes (the paper's algorithm 4).
///
/// Let m(c) be the memory left with c recomputed layers. A layer saves m_ave = (m(most) - m(least)) / (most - least), and the answer is
/// most - m(most) / m_ave. Beyond the paper, the quotient is rounded down; some head-room is kept; the answer is in [0, most]; a probe that
/// runs out of memory is repeated half-way to `most`; and the result says if no layer saves anything or nothing fits.
///
/// @tparam Probe  callable (layers) -> std::optional of bytes left, empty if memory ran out
/// @param remaining  profiles or models some iterations with a number of recomputed layers
/// @param least      recomputed layers of the first probe, at most `most`; the paper's example is 20 of 32
/// @param most       number of all layers
/// @param head_room  bytes that must stay free
/// @return the layers, or infeasible
/// @throws invalid_input if `least` is above `most` or `head_room` is negative
/// @par Complexity
/// Two probes, and one more for each time that the first runs out of memory: at most 2 + log2(most - least).
template <class Probe>
  requires std::convertible_to<std::invoke_result_t<Probe const&, std::uint32_t>, std::optional<std::int64_t>>
[[nodiscard]] checkpointing greedy_profile_checkpointing(Probe const& remaining, std::uint32_t least, std::uint32_t most,
                                                         std::int64_t head_room = 0) {
  require(least <= most, [&] { return "least = " + std::to_string(least) + " exceeds most = " + std::to_string(most); });
  require(head_room >= 0, [&] { return "head_room = " + std::to_string(head_room) + " must not be negative"; });
  std::optional<std::int64_t> const at_most = remaining(most);
  if (!at_most || *at_most < head_room) return {};
  std::optional<std::int64_t> at_least = at_most;
  while (least < most) {
    at_least = remaining(least);
    if (at_least) break;
    least += (most - least + 1) / 2;
  }
  if (least == most) return {status::feasible, most};
  auto const saved = *at_most - *at_least;
  if (saved <= 0) return {status::feasible, *at_least >= head_room ? least : most};
  auto const spare = multiply(static_cast<std::uint64_t>(*at_most - head_room), most - least);
  auto const all = multiply(static_cast<std::uint64_t>(saved), most);
  if (spare.high > all.high || (spare.high == all.high && spare.low >= all.low)) return {status::feasible, 0};
  auto const up = multiply_divide_up(static_cast<std::uint64_t>(*at_most - head_room), most - least, static_cast<std::uint64_t>(saved));
  auto const exact = multiply(up, static_cast<std::uint64_t>(saved)) == spare;
  return {status::feasible, most - static_cast<std::uint32_t>(exact ? up : up - 1)};
}

/// @brief The measured time of one level.
struct profiled_level {
  level setting;            ///< pack length, SP degree, recomputed layers
  std::int64_t time = 0;    ///< time of an iteration, in any unit; positive
  std::int64_t tokens = 1;  ///< tokens of an iteration; give all levels the same number to compare iterations as published
};

/// @brief Numbers of iterations that profiling takes.
struct profiling {
  std::uint64_t time = 0;    ///< for times: lengths * degrees * iterations
  std::uint64_t memory = 0;  ///< for memory: slices * iterations, since memory depends only on the tokens of a device
  friend constexpr bool operator==(profiling const&, profiling const&) = default;
};
/// @brief The cost of profiling (appendix G). @param lengths number of pack lengths @param degrees number of SP degrees
/// @param slices number of distinct lengths per device @param iterations iterations of one profile, 3 to 10 @return numbers of iterations
[[nodiscard]] constexpr profiling profiling_cost(std::uint64_t lengths, std::uint64_t degrees, std::uint64_t slices,
                                                 std::uint64_t iterations = 5) noexcept {
  return {lengths * degrees * iterations, slices * iterations};
}

/// @brief Chooses levels in two phases, as HBP does (section 3).
///
/// Phase 1 takes the fastest strategy of each pack length; then it takes the fastest length, l_best, and the longest, l_max. Times are
/// compared per token, since iterations may have different numbers of tokens. Phase 2 adds the slices l_best / sp and l_max / sp, which
/// need no communication; the latter is left out if it is below l_best.
///
/// @param profile  levels that fit in memory, in any order; at least one
/// @return levels by ascending capacity; `choose_levels` makes the exact choice
/// @throws invalid_input if there is no profile or an entry is not positive
/// @par Complexity
/// O(profile).
template <class = when_called>
[[nodiscard]] inline std::vector<level> select_levels(std::span<profiled_level const> profile) {
  require(!profile.empty(), [] { return std::string("profile is empty: no strategy fits in memory"); });
  auto const slower = [](profiled_level const& a, profiled_level const& b) {
    auto const order = compare_products(a.time, b.tokens, b.time, a.tokens);
    return order != 0 ? order > 0 : a.setting.capacity > b.setting.capacity;
  };
  auto best = profile.front(), longest = profile.front();
  for (std::size_t i = 0; i < profile.size(); ++i) {
    auto const& p = profile[i];
    require(p.time > 0 && p.tokens > 0 && p.setting.capacity > 0 && p.setting.sp > 0, [&] {
      return "profile[" + std::to_string(i) + "] has time " + std::to_string(p.time) + ", " + std::to_string(p.tokens) +
             " tokens, capacity " + std::to_string(p.setting.capacity) + " and sp = " + std::to_string(p.setting.sp) +
             ": all must be positive";
    });
    if (slower(best, p)) best = p;
    if (p.setting.capacity > longest.setting.capacity || (p.setting.capacity == longest.setting.capacity && slower(longest, p)))
      longest = p;
  }
  auto const slice = [](level const& l) { return level{l.capacity / std::int64_t{l.sp}, 1, l.recomputed_layers}; };
  std::vector<level> levels{best.setting, longest.setting};
  auto const add = [&](level const& l) {
    auto const same = std::any_of(levels.begin(), levels.end(), [&](level const& k) { return k.capacity == l.capacity; });
    if (!same && l.capacity > 0) levels.push_back(l);
  };
  if (best.setting == longest.setting) levels.pop_back();
  add(slice(best.setting));
  if (auto const second = slice(longest.setting); second.capacity >= best.setting.capacity) add(second);
  std::sort(levels.begin(), levels.end(), [](level const& a, level const& b) { return a.capacity < b.capacity; });
  return levels;
}

/// @brief The base packer of the paper, for `pack_levels`: iterative sampling and filtering.
struct isf_packer {
  sampling_options sampling{};  ///< rounds and filter
  std::uint64_t seed = 0;       ///< any value; another seed is another plan
  /// @brief Packs samples. @param lengths tokens of each sample @param options the level's capacity @return the plan
  template <index_type Index>
  [[nodiscard]] vector_packing<Index> operator()(std::span<std::int64_t const> lengths, packing_options const& options, Index) const {
    return iterative_sampling<Index>(sample_measures({lengths}), {.capacity = {options.capacity}, .seed = seed}, sampling);
  }
};

/// @brief Options of HBP. The defaults are those of the paper where it states them.
struct options {
  std::uint64_t devices = 32;                                ///< number of devices
  sampling_options sampling{};                               ///< rounds and filter of the base packer
  level_fill fill = level_fill::always;                      ///< whether long packs are filled with short samples
  bool balanced = true;                                      ///< whether steps have packs of similar attention; false for the ablation
  ballast::left_over left_over = ballast::left_over::split;  ///< policy for an incomplete last step; the paper does not state it
  ballast::oversize oversize = ballast::oversize::reject;    ///< policy for samples that are too long; the paper does not state it
  std::uint64_t warm_up = 500;                               ///< number of steps of the shortest level at the beginning of training
  std::uint64_t seed = 0;                                    ///< any value; another seed is another plan
  std::uint64_t epoch = 0;                                   ///< another epoch is another order
};

/// @brief The plan of an epoch by HBP.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct plan {
  level_packing<Index> packed;  ///< packs of every level
  level_batching<Index> steps;  ///< steps of every level
  curriculum_plan order;        ///< the dynamic training pipeline: the order of all steps of all levels
};

/// @brief Plans an epoch as HBP does: packs by level, steps of packs with similar attention, short level first.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample
/// @param levels   from `select_levels` or `choose_levels`
/// @param o        devices, filling, warm-up, seed, …
/// @return packs, steps and their order
/// @throws invalid_input as `pack_levels`, `steps_by_level` and `plan_curriculum`
/// @par Complexity
/// As `iterative_sampling`, plus O(packs log packs).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] plan<Index> plan_training(R const& lengths, std::span<level const> levels, options const& o = {}) {
  plan<Index> p;
  p.packed = pack_levels<Index>(lengths, levels, {.oversize = o.oversize, .fill = o.fill}, isf_packer{o.sampling, o.seed});
  p.steps = steps_by_level(
      p.packed, {.devices = o.devices, .balanced = o.balanced, .left_over = o.left_over, .seed = o.seed, .epoch = o.epoch}, attention_only);
  std::vector<curriculum_source> sources;
  for (std::size_t i = 0; i < levels.size(); ++i) sources.push_back({.setting = levels[i], .steps = p.steps.steps[i].steps()});
  p.order = plan_curriculum(sources, {.warm_up = o.warm_up, .seed = o.seed, .epoch = o.epoch});
  return p;
}

}  // namespace ballast::inline v0_2::hbp
