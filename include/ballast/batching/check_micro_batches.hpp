// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/check.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/verdict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <set>
#include <utility>
#include <vector>

/// @file
/// @brief The validator of the micro-batches of one global batch, of this library or any other planner. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief The rule that the plan of a global batch breaks.
struct micro_batch_fault : common_fault {
  static constexpr rule plan_refused{"the result says that there is no plan, but there is one, or no number was demanded"};
  static constexpr rule wrong_number{"there is not one step, or its number of micro-batches is not the demanded one or not count.value"};
  static constexpr rule torn_apart{"sample {index} is not in the micro-batch of the samples with its together key"};
  static constexpr rule mixed_keys{"pack {index} holds samples with different apart keys"};
  static constexpr rule uneven_counts{"two micro-batches differ by more than one sample, but equal_counts was set"};
  static constexpr rule needless_gap{"rank {index} has an empty place that samples could fill, or two more than another rank"};
  static constexpr rule expensive_end{"micro-batch {index} costs more than a cheaper one between it and the start, but small_ends was set"};
};

namespace detail {

/// Samples with the same `together` key must share a micro-batch, samples with different `apart` keys must not.
template <index_type Index>
[[nodiscard]] verdict check_keys(micro_batching<Index> const& plan, micro_batch_constraints const& c) {
  std::map<std::uint64_t, std::size_t> home;  // pack of each `together` key
  std::vector<std::size_t> pack_of(c.together.size());
  for (std::size_t p = 0; p < plan.packs.size() && !c.together.empty(); ++p)
    for (auto i : plan.packs[p]) pack_of[i] = p;
  for (std::size_t i = 0; i < c.together.size(); ++i)
    if (home.try_emplace(c.together[i], pack_of[i]).first->second != pack_of[i]) return {micro_batch_fault::torn_apart, i};
  for (std::size_t p = 0; p < plan.packs.size() && !c.apart.empty(); ++p)
    for (auto i : plan.packs[p])
      if (c.apart[i] != c.apart[plan.packs[p][0]]) return {micro_batch_fault::mixed_keys, p};
  return {};
}

/// No place may be empty without need, and counts must be equal with `equal_counts`.
template <index_type Index>
[[nodiscard]] verdict check_counts(micro_batching<Index> const& plan, std::size_t n, micro_batch_constraints const& c) {
  auto const each = static_cast<std::size_t>(plan.micro_batches);
  std::vector<std::uint64_t> held(static_cast<std::size_t>(plan.ranks), 0);
  std::size_t fewest = n, most = 0;
  for (std::size_t at = 0; at < plan.table.size(); ++at) {
    auto const samples = plan.table[at] == plan.none ? 0 : plan.packs[plan.table[at]].size();
    fewest = (std::min)(fewest, samples);
    most = (std::max)(most, samples);
    held[at / each] += samples != 0 ? 1U : 0U;
  }
  if (c.equal_counts && most - fewest > 1) return {micro_batch_fault::uneven_counts, 0};
  auto const units = c.together.empty() ? n : std::set<std::uint64_t>(c.together.begin(), c.together.end()).size();
  if (plan.packs.size() != (std::min)(units, plan.table.size())) return {micro_batch_fault::needless_gap, 0};
  auto const [low, high] = std::minmax_element(held.begin(), held.end());
  if (*high - *low > 1) return {micro_batch_fault::needless_gap, low - held.begin()};
  return {};
}

/// The cost of the samples in each place.
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] std::vector<std::int64_t> place_costs(micro_batching<Index> const& plan, R const& lengths, Cost const& cost) {
  auto const length = read_by_position(lengths);
  std::vector<std::int64_t> sum(plan.table.size(), 0);
  for (std::size_t at = 0; at < sum.size(); ++at)
    if (plan.table[at] != plan.none)
      for (auto i : plan.packs[plan.table[at]])
        sum[at] += static_cast<std::int64_t>(cost(static_cast<std::int64_t>(length[static_cast<std::size_t>(i)])));
  return sum;
}

/// No micro-batch of a rank may be cheaper than others on both sides; if ranks wait at every micro-batch, the most expensive micro-batch of
/// each row counts.
template <index_type Index>
[[nodiscard]] verdict check_ends(micro_batching<Index> const& plan, std::vector<std::int64_t> const& costs, bool rows) {
  auto const each = static_cast<std::size_t>(plan.micro_batches);
  for (std::size_t r = 0; r < (rows ? 1 : plan.ranks); ++r) {
    bool falls = false;
    std::int64_t before = 0;
    for (std::size_t m = 0; m < each; ++m) {
      auto now = costs[r * each + m];
      for (std::size_t other = 1; rows && other < plan.ranks; ++other) now = (std::max)(now, costs[other * each + m]);
      if (falls && now > before) return {micro_batch_fault::expensive_end, m};
      falls = falls || now < before;
      before = now;
    }
  }
  return {};
}

}  // namespace detail

/// @brief Checks the plan of one global batch against the options and constraints.
///
/// @tparam Index  index type of the plan
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param plan         the plan; its members may have any values
/// @param lengths      tokens of each sample, each at least 1
/// @param options      the options that the plan must meet; the number of micro-batches of a rank must be a multiple of their
/// `micro_batches`
/// @param cost         cost of a sample by its length
/// @param constraints  the constraints that the plan must meet
/// @return the first broken rule, in the order of `micro_batch_fault`; its index is a sample, pack, rank or place
/// @throws invalid_input if `together` or `apart` has entries, but not one for each sample
/// @par Complexity
/// O(samples log samples + places).
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] verdict check_micro_batches(micro_batching<Index> const& plan, R const& lengths, batching_options const& options,
                                          Cost const& cost, micro_batch_constraints const& constraints = {}) {
  using broken = micro_batch_fault;
  auto const& c = constraints;
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require(c.apart.empty() || c.apart.size() == n, [&] { return sentence("apart has ", c.apart.size(), " entries for ", n, " samples"); });
  if (plan.status != status::feasible) {
    if (plan.steps() != 0 || !plan.packs.empty() || c.exactly == 0) return {broken::plan_refused, 0};
    if (plan.status == status::infeasible && plan.count.lower_bound <= plan.count.value) return {broken::wrong_bound, 0};
    return {};
  }
  auto one_step = options;
  one_step.left_over = left_over::shorten;  // empty places are checked below
  if (auto const step = check_batching(plan, lengths, one_step, cost, 0, c.together); !step.valid()) return step;
  if (!plan.dropped.empty() || !plan.repeated.empty() || !plan.shared.empty()) return {broken::wrong_number, 0};
  auto const each = plan.micro_batches;
  if (plan.steps() != (n == 0 ? 0 : 1) || options.micro_batches == 0 || each % options.micro_batches != 0 || each < c.at_least ||
      (c.exactly != 0 && each != c.exactly))
    return {broken::wrong_number, 0};
  if (n == 0) return {};
  if (std::cmp_not_equal(plan.count.value, each)) return {broken::wrong_number, 0};
  if (auto const v = check_certificate(plan.count, each); !v.valid()) return v;
  if (auto const v = detail::check_keys(plan, c); !v.valid()) return v;
  if (auto const v = detail::check_counts(plan, n, c); !v.valid()) return v;
  auto const rows = options.synchronisation == synchronisation::per_micro_batch;
  return c.small_ends ? detail::check_ends(plan, detail::place_costs(plan, lengths, cost), rows) : verdict{};
}

}  // namespace ballast::inline v0_2
