// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/fault.hpp>
#include <ballast/batching/micro_batch_options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/verdict.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

// The rules for one global batch that do not apply to other plans of steps.

namespace ballast::inline v0_2::detail {

/// Samples with the same `together` key must share a micro-batch, samples with different `apart` keys must not.
template <index_type Index>
[[nodiscard]] verdict<micro_batch_fault> check_keys(micro_batching<Index> const& plan, micro_batch_constraints const& c) {
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
[[nodiscard]] verdict<micro_batch_fault> check_counts(micro_batching<Index> const& plan, std::size_t n, micro_batch_constraints const& c) {
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
  if (*high - *low > 1) return {micro_batch_fault::needless_gap, static_cast<std::uint64_t>(low - held.begin())};
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
[[nodiscard]] verdict<micro_batch_fault> check_ends(micro_batching<Index> const& plan, std::vector<std::int64_t> const& costs, bool rows) {
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

}  // namespace ballast::inline v0_2::detail
