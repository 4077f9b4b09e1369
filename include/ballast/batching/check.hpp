// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/verdict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief The validator of plans of steps, ours or anybody's. It shares no code with the planners.

namespace ballast::inline v0_2 {

/// @brief The rule that a plan of steps breaks.
enum class batching_fault : std::uint8_t {
  none,                 ///< it is a valid plan
  wrong_shape,          ///< the ranks are not those asked for, or the table is no whole number of steps
  bad_offsets,          ///< the offsets of the packs do not rise from 0 to the number of members
  empty_pack,           ///< a pack has no member
  member_out_of_range,  ///< a member of a pack is no sample
  pack_out_of_range,    ///< a place of the table holds no pack's number
  pack_twice,           ///< a pack stands in two places
  wrong_shared,         ///< a shared sample does not stand once on each of its ranks, in one micro-batch
  overfull_pack,        ///< the samples of a pack exceed the capacity
  wrong_list,           ///< `dropped` or `repeated` is not ascending, or names what is no sample
  sample_missing,       ///< a sample stands in no step, or less often than `repeated` says, and is not listed as dropped
  sample_twice,         ///< a sample stands in steps more often than `repeated` says
  empty_place,          ///< a place is empty that samples, or `left_over`, could fill; of a pipeline, a rank without micro-batches
  uneven_step,          ///< a rank of the last step has two micro-batches more than another that has an empty place
  wrong_tokens,         ///< the sum of tokens is not that of the packs in the table
  wrong_cost,           ///< the sum of costs is not that of the packs in the table
  wrong_value,          ///< the certificate's value is not what the table costs
  wrong_bound,          ///< the certificate's lower bound is above its value
};

/// @brief The fault's name. @param fault any of them @return a few words
[[nodiscard]] constexpr char const* to_string(batching_fault fault) noexcept {
  constexpr char const* names[] = {"none",        "wrong shape",  "bad offsets",   "empty pack", "member out of range", "pack out of range",
                                   "pack twice",  "wrong shared", "overfull pack", "wrong list", "sample missing",      "sample twice",
                                   "empty place", "uneven step",  "wrong tokens",  "wrong cost", "wrong value",         "wrong bound"};
  return names[static_cast<std::size_t>(fault)];
}

/// @brief A sentence for a verdict. @param v any verdict @return for instance "overfull pack at 17"
[[nodiscard]] inline std::string describe(verdict<batching_fault> const& v) {
  return v.valid() ? "valid" : std::string(to_string(v.fault)) + " at " + std::to_string(v.index);
}

/// @brief Checks a plan of steps against its definition: every sample once or named, no capacity exceeded, and what it says of itself true.
///
/// @tparam Index  index type of the plan
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param plan     the plan; it may hold anything
/// @param lengths  tokens of each sample, each at least 1
/// @param options  what was asked; of `micro_batches`, the plan's own number counts
/// @param cost     what a sample costs
/// @param share_overhead  thousandths that splitting added to the cost of shared samples
/// @param keys  `step_constraints::together`, if the planner was given it: what cannot be split up
/// @return the first rule broken, in the order of `batching_fault`; its index is the place of the table, pack, member, entry of a list
/// or sample
/// @par Complexity
/// O(samples + places).
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] verdict<batching_fault> check_batching(batching<Index> const& plan, R const& lengths, batching_options const& options,
                                                     Cost const& cost, std::uint32_t share_overhead = 0,
                                                     std::span<std::uint64_t const> keys = {}) {
  using enum batching_fault;
  auto const n = static_cast<std::uint64_t>(std::ranges::size(lengths));
  auto const length = [&](std::uint64_t i) {
    return static_cast<std::int64_t>(std::ranges::begin(lengths)[static_cast<std::ranges::range_difference_t<R const>>(i)]);
  };
  auto const ranks = plan.ranks, each = plan.micro_batches, places = ranks * each;
  if (ranks != options.ranks || each == 0 || plan.table.size() % places != 0) return {wrong_shape, 0};
  auto const& [offsets, members] = plan.packs;
  if (offsets.empty() || offsets.front() != 0 || offsets.back() != members.size()) return {bad_offsets, 0};
  for (std::size_t p = 1; p < offsets.size(); ++p)
    if (offsets[p] < offsets[p - 1]) return {bad_offsets, p};
  for (std::size_t p = 1; p < offsets.size(); ++p)
    if (offsets[p] == offsets[p - 1]) return {empty_pack, p - 1};
  for (std::size_t m = 0; m < members.size(); ++m)
    if (members[m] >= n) return {member_out_of_range, m};
  std::vector<char> used(plan.packs.size(), 0);
  for (std::size_t at = 0; at < plan.table.size(); ++at) {
    auto const p = plan.table[at];
    if (p == plan.none) continue;
    if (p >= used.size()) return {pack_out_of_range, at};
    if (used[p]++) return {pack_twice, at};
  }

  std::vector<std::uint64_t> degree(n, 1), stands(n, 0);
  for (std::size_t j = 0; j < plan.shared.size(); ++j) {
    auto const& s = plan.shared[j];
    if (s.sample >= n || s.ranks < 2 || s.first_rank % s.ranks != 0 || s.first_rank + s.ranks > ranks || s.step >= plan.steps() ||
        degree[s.sample] != 1)
      return {wrong_shared, j};
    degree[s.sample] = s.ranks;
    auto const in = [&](std::uint64_t r, std::uint64_t m) {
      auto const p = plan.at(s.step, r, m);
      return p != plan.none && std::ranges::count(plan.packs[p], s.sample) == 1;
    };
    std::uint64_t together = 0;
    for (std::uint64_t m = 0; m < each; ++m) {
      std::uint64_t on = 0;
      for (auto r = s.first_rank; r < s.first_rank + s.ranks; ++r) on += std::uint64_t{in(r, m)};
      together = (std::max)(together, on);
    }
    if (together != s.ranks) return {wrong_shared, j};
  }
  auto const charge = [&](Index i) {
    auto const whole = static_cast<std::int64_t>(cost(length(i)));
    if (degree[i] == 1) return whole;
    auto const parts = static_cast<std::int64_t>(1000 * degree[i]), factor = 1000 + std::int64_t{share_overhead};
    auto const rest = whole % parts * factor;  // whole * factor itself might be too large
    return whole / parts * factor + (rest + parts - 1) / parts;
  };
  auto const warm_up = static_cast<std::int64_t>(options.synchronisation == synchronisation::pipeline ? options.stages - 1 : 0);
  std::int64_t tokens = 0, sum = 0, value = 0;
  for (std::size_t s = 0; s < plan.steps(); ++s) {
    std::vector<std::int64_t> of_row(each, 0);
    std::int64_t slowest = 0;
    for (std::size_t r = 0; r < ranks; ++r) {
      std::int64_t all = 0, most = 0;
      for (std::size_t m = 0; m < each; ++m) {
        auto const p = plan.at(s, r, m);
        if (p == plan.none) continue;
        std::int64_t held = 0, c = options.cost_per_micro_batch;
        for (auto i : plan.packs[p]) {
          auto const k = static_cast<std::int64_t>(degree[i]);
          held += (length(i) + k - 1) / k;
          c += charge(i);
          ++stands[i];
        }
        if (held > options.capacity) return {overfull_pack, p};
        tokens += held;
        all += c;
        most = (std::max)(most, c);
        of_row[m] = (std::max)(of_row[m], c);
      }
      sum += all;
      slowest = (std::max)(slowest, all + warm_up * most);
    }
    if (options.synchronisation == synchronisation::per_micro_batch) {
      for (auto row : of_row) value += row;
    } else {
      value += slowest;
    }
    value += options.cost_per_step;
    sum += options.cost_per_step * static_cast<std::int64_t>(ranks);
  }

  std::vector<std::uint64_t> expected(degree);
  for (auto const* list : {&plan.dropped, &plan.repeated})
    for (std::size_t k = 0; k < list->size(); ++k) {
      auto const i = (*list)[k];
      if (i >= n || (k > 0 && (*list)[k - 1] > i)) return {wrong_list, k};
      if (list == &plan.repeated) {
        ++expected[i];
      } else {
        if (expected[i] == 0) return {wrong_list, k};
        expected[i] = 0;
      }
    }
  for (std::uint64_t i = 0; i < n; ++i)
    if (stands[i] < expected[i]) return {sample_missing, i};
  for (std::uint64_t i = 0; i < n; ++i)
    if (stands[i] > expected[i]) return {sample_twice, i};
  // Whether a pack could give a sample to an empty place.
  auto const splits = [&](Index p) {
    if (p == plan.none) return false;
    auto const pack = plan.packs[p];
    auto const other = [&](Index i) { return keys.empty() ? i != pack[0] : keys[i] != keys[pack[0]]; };
    return std::ranges::any_of(pack, other) && std::ranges::any_of(pack, [&](Index i) { return degree[i] == 1; });
  };
  auto const all_thin = std::ranges::find(plan.table, plan.none) != plan.table.end() && std::ranges::none_of(plan.table, splits);
  auto const rank_counts = options.synchronisation == synchronisation::pipeline;  // not the place: replicas run what they can take
  for (std::size_t s = 0; s < plan.steps(); ++s) {
    auto const step = plan.step(s);
    auto const last = s + 1 == plan.steps();
    std::uint64_t fewest = each, most = 0, idle = ranks;
    auto empty = places;
    for (std::uint64_t r = ranks; r-- > 0;) {
      auto const mine = step.subspan(static_cast<std::size_t>(r * each), static_cast<std::size_t>(each));
      auto const has = each - static_cast<std::uint64_t>(std::ranges::count(mine, plan.none));
      fewest = (std::min)(fewest, has);
      most = (std::max)(most, has);
      if (has == 0) idle = r;
      if (has == 0 || (has < each && !rank_counts))
        empty = r * each + static_cast<std::uint64_t>(std::ranges::find(mine, plan.none) - mine.begin());
    }
    if (empty == places) continue;
    auto const held = std::ranges::any_of(plan.shared, [&](auto const& x) { return x.step == s; });  // shared samples have their ranks
    if (held && all_thin) continue;
    auto const spread_thin = options.left_over == left_over::split     ? all_thin
                             : options.left_over == left_over::shorten ? idle == ranks || std::ranges::none_of(step, splits)
                                                                       : false;
    if (!last || !spread_thin) return {empty_place, s * places + empty};
    if (most > fewest + 1 && !held && (!rank_counts || fewest == 0)) return {uneven_step, s * places + empty};
  }
  if (tokens != plan.tokens) return {wrong_tokens, 0};
  if (sum != plan.cost) return {wrong_cost, 0};
  if (value != plan.slowest.value) return {wrong_value, 0};
  if (plan.slowest.lower_bound > value) return {wrong_bound, 0};
  return {};
}

}  // namespace ballast::inline v0_2
