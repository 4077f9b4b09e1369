// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/check.hpp>
#include <ballast/batching/micro_batch_options.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/verdict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <string>
#include <vector>

/// @file
/// @brief The validator of micro-batches of one global batch, from this library or any other planner. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief The rule that the plan of a global batch breaks.
enum class micro_batch_fault : std::uint8_t {
  none,           ///< it is a valid plan
  not_a_step,     ///< what `check_batching` found: `found` is its `batching_fault`, `index` its index
  plan_refused,   ///< the result says that there is no plan, and has one; or says so without a demand or a proof
  wrong_number,   ///< not one step, or the number of micro-batches is not what was asked or what `count` says
  wrong_bound,    ///< the lower bound of `count` is above its value; or, where infeasible, is not
  torn_apart,     ///< samples of one `together` key stand in two micro-batches
  mixed_keys,     ///< samples of two `apart` keys share a micro-batch
  uneven_counts,  ///< equal counts were asked for, and two micro-batches differ by more than one sample
  needless_gap,   ///< a place is empty that could hold something, or one rank has two empty places more than another
  expensive_end,  ///< small ends were asked for, and a micro-batch is cheaper than ones on both sides
};

/// @brief A sentence for a verdict. @param v any verdict @return for instance "mixed keys at 17"
[[nodiscard]] inline std::string describe(verdict<micro_batch_fault> const& v) {
  if (v.valid()) return "valid";
  if (v.fault == micro_batch_fault::not_a_step) return describe(verdict<batching_fault>{static_cast<batching_fault>(v.found), v.index});
  constexpr char const* names[] = {"none",       "not a step", "plan refused",  "wrong number", "wrong bound",
                                   "torn apart", "mixed keys", "uneven counts", "needless gap", "expensive end"};
  return std::string(names[static_cast<std::size_t>(v.fault)]) + " at " + std::to_string(v.index);
}

/// @brief Checks the plan of one global batch against its definition.
///
/// @tparam Index  index type of the plan
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param plan         the plan; it may hold anything
/// @param lengths      tokens of each sample, each at least 1
/// @param options      what was asked; the number of micro-batches is a multiple of its `micro_batches`
/// @param cost         what a sample costs
/// @param constraints  what was asked beside
/// @return the first rule broken, in the order of `micro_batch_fault`; its index is the sample, pack, rank or place
/// @par Complexity
/// O(samples log samples + places).
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] verdict<micro_batch_fault> check_micro_batches(micro_batching<Index> const& plan, R const& lengths,
                                                             batching_options const& options, Cost const& cost,
                                                             micro_batch_constraints const& constraints = {}) {
  using enum micro_batch_fault;
  auto const& c = constraints;
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  if (plan.status != status::feasible) {
    if (plan.steps() != 0 || !plan.packs.empty() || c.exactly == 0) return {plan_refused, 0};
    if (plan.status == status::infeasible && plan.count.lower_bound <= plan.count.value) return {wrong_bound, 0};
    return {};
  }
  auto one_step = options;
  one_step.left_over = left_over::shorten;  // empty places have rules of their own below
  if (auto const step = check_batching(plan, lengths, one_step, cost, 0, c.together); !step.valid())
    return {not_a_step, step.index, static_cast<std::uint64_t>(step.fault)};
  if (!plan.dropped.empty() || !plan.repeated.empty() || !plan.shared.empty()) return {wrong_number, 0};
  auto const each = plan.micro_batches, ranks = plan.ranks, places = each * ranks;
  if (plan.steps() != (n == 0 ? 0 : 1) || each % options.micro_batches != 0 || each < c.at_least || (c.exactly != 0 && each != c.exactly))
    return {wrong_number, 0};
  if (n == 0) return {};
  if (plan.count.value != static_cast<std::int64_t>(each)) return {wrong_number, 0};
  if (plan.count.lower_bound > plan.count.value) return {wrong_bound, 0};

  std::vector<std::size_t> pack_of(n);
  for (std::size_t p = 0; p < plan.packs.size(); ++p)
    for (auto i : plan.packs[p]) pack_of[i] = p;
  std::map<std::uint64_t, std::size_t> home;  // of a together key
  for (std::size_t i = 0; i < c.together.size(); ++i)
    if (home.try_emplace(c.together[i], pack_of[i]).first->second != pack_of[i]) return {torn_apart, i};
  for (std::size_t p = 0; p < plan.packs.size() && !c.apart.empty(); ++p)
    for (auto i : plan.packs[p])
      if (c.apart[i] != c.apart[plan.packs[p][0]]) return {mixed_keys, p};

  auto const samples = [&](std::size_t place) { return plan.table[place] == plan.none ? 0 : plan.packs[plan.table[place]].size(); };
  std::size_t fewest = n, most = 0;
  for (std::size_t at = 0; at < places; ++at) {
    fewest = (std::min)(fewest, samples(at));
    most = (std::max)(most, samples(at));
  }
  if (c.equal_counts && most - fewest > 1) return {uneven_counts, 0};
  auto const units = c.together.empty() ? n : home.size();
  if (plan.packs.size() != (std::min)(units, static_cast<std::size_t>(places))) return {needless_gap, 0};
  std::vector<std::uint64_t> held(static_cast<std::size_t>(ranks), 0);
  for (std::size_t at = 0; at < places; ++at) held[at / static_cast<std::size_t>(each)] += samples(at) != 0 ? 1U : 0U;
  auto const [low, high] = std::minmax_element(held.begin(), held.end());
  if (*high - *low > 1) return {needless_gap, static_cast<std::uint64_t>(low - held.begin())};

  if (!c.small_ends) return {};
  auto const cost_at = [&](std::size_t r, std::size_t m) {
    std::int64_t sum = 0;
    if (auto const p = plan.at(0, r, m); p != plan.none)
      for (auto i : plan.packs[p])
        sum += static_cast<std::int64_t>(
            cost(static_cast<std::int64_t>(std::ranges::begin(lengths)[static_cast<std::ranges::range_difference_t<R const>>(i)])));
    return sum;
  };
  auto const rows = options.synchronisation == synchronisation::per_micro_batch;  // then the most expensive of each row counts
  for (std::size_t r = 0; r < (rows ? 1 : ranks); ++r) {
    bool falls = false;
    std::int64_t before = 0;
    for (std::size_t m = 0; m < each; ++m) {
      auto now = cost_at(r, m);
      for (std::size_t other = 1; rows && other < ranks; ++other) now = (std::max)(now, cost_at(other, m));
      if (falls && now > before) return {expensive_end, m};
      falls = falls || now < before;
      before = now;
    }
  }
  return {};
}

}  // namespace ballast::inline v0_2
