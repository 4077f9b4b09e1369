// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

/// @file
/// @brief How HBP chooses its levels (Yao et al., arXiv 2503.07680, section 3): the best setting of every pack length, from probes of
/// memory and times, and two phases that choose among the lengths.

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
  require(least <= most, [&] { return sentence("least = ", least, " exceeds most = ", most); });
  require(head_room >= 0, [&] { return sentence("head_room = ", head_room, " must not be negative"); });
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

/// @brief What a profile may recompute.
struct profiling_options {
  std::uint32_t least = 0;     ///< recomputed layers of the first probe of memory; the paper's example is 20 of 32
  std::uint32_t most = 0;      ///< number of all layers, at least `least`
  std::int64_t head_room = 0;  ///< bytes that must stay free
  std::int64_t tokens = 1;     ///< tokens of a timed iteration; only ratios matter
};

/// @brief Finds the fastest SP degree of a pack length, and the layers to recompute there (the paper's algorithm 3).
///
/// For each degree, `greedy_profile_checkpointing` estimates the fewest recomputed layers that fit, and one iteration is timed with them.
/// Degrees at which nothing fits are not timed. Beyond the paper: if the timed iteration runs out of memory, one layer more is recomputed
/// and the iteration is timed again; of equally fast degrees, the first is returned.
///
/// @tparam Probe  callable (sp, layers) -> std::optional of bytes left, empty if memory ran out
/// @tparam Timer  callable (sp, layers) -> std::optional of the time of an iteration, empty if memory ran out
/// @param length     tokens of a pack
/// @param degrees    SP degrees to try
/// @param remaining  profiles or models the memory of some iterations
/// @param time       profiles or models the time of an iteration; all degrees have the same tokens in an iteration
/// @param options    layers, head-room and tokens of an iteration
/// @return the fastest setting, an entry for `select_levels`; empty if no degree fits
/// @throws invalid_input if `length` or a degree is not positive, or a time is not positive; also as `greedy_profile_checkpointing`
/// @par Complexity
/// For each degree, the probes of `greedy_profile_checkpointing` and one timed iteration, or more where the estimate runs out of memory.
template <class Probe, class Timer>
  requires std::convertible_to<std::invoke_result_t<Probe const&, std::uint32_t, std::uint32_t>, std::optional<std::int64_t>> &&
           std::convertible_to<std::invoke_result_t<Timer const&, std::uint32_t, std::uint32_t>, std::optional<std::int64_t>>
[[nodiscard]] std::optional<profiled_level> find_best_setting(std::int64_t length, std::span<std::uint32_t const> degrees,
                                                              Probe const& remaining, Timer const& time, profiling_options const& options) {
  require(length > 0, [&] { return sentence("length = ", length, " must be positive"); });
  std::optional<profiled_level> best;
  for (std::size_t i = 0; i < degrees.size(); ++i) {
    auto const sp = degrees[i];
    require(sp > 0, [&] { return sentence("degrees[", i, "] = 0 must be positive"); });
    auto const of_degree = [&](std::uint32_t layers) { return remaining(sp, layers); };
    auto const found = greedy_profile_checkpointing(of_degree, options.least, options.most, options.head_room);
    if (found.status != status::feasible) continue;
    auto layers = found.layers;
    std::optional<std::int64_t> taken = time(sp, layers);
    while (!taken && layers < options.most) taken = time(sp, ++layers);
    if (!taken) continue;
    require(*taken > 0, [&] { return sentence("the time at sp = ", sp, " is ", *taken, ": it must be positive"); });
    if (!best || *taken < best->time) best = profiled_level{{length, sp, layers}, *taken, options.tokens};
  }
  return best;
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
  require(!profile.empty(), [] { return "profile is empty: no strategy fits in memory"; });
  auto const slower = [](profiled_level const& a, profiled_level const& b) {
    auto const order = compare_products(a.time, b.tokens, b.time, a.tokens);
    return order != 0 ? order > 0 : a.setting.capacity > b.setting.capacity;
  };
  auto best = profile.front(), longest = profile.front();
  for (std::size_t i = 0; i < profile.size(); ++i) {
    auto const& p = profile[i];
    require(p.time > 0 && p.tokens > 0 && p.setting.capacity > 0 && p.setting.sp > 0, [&] {
      return sentence("profile[", i, "] has time ", p.time, ", ", p.tokens, " tokens, capacity ", p.setting.capacity,
                      " and sp = ", p.setting.sp, ": all must be positive");
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

}  // namespace ballast::inline v0_2::hbp
