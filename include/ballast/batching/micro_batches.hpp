// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/arrange.hpp>
#include <ballast/batching/detail/step_dealer.hpp>
#include <ballast/batching/in_order.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief One global batch into micro-batches: the same number on every rank, none above the cap, loads level.

namespace ballast::inline v0_1 {

/// @brief Splits one global batch over ranks and micro-batches, as trainers with generated data do at every step.
///
/// The number of micro-batches of a rank is the least for which a plan is found, and a multiple of `options.micro_batches` (a pipeline may
/// ask for a multiple of its stages). With `per_step`, the ranks' sums are levelled; with `per_micro_batch`, all micro-batches are.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param lengths  tokens of each sample, at most the capacity
/// @param options  `capacity`, `ranks`, `micro_batches` (of which the number is a multiple) and where ranks wait; the rest is not read
/// @param cost     what a sample costs
/// @return a plan of one step, or of none without samples; a place is empty only where a rank has fewer samples than places
/// @throws invalid_input for a bad option, length or cost
/// @par Complexity
/// O(samples log samples) and a bounded number of exchanges for each number of micro-batches that is tried, nearly always one or two.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = quadratic_cost>
[[nodiscard]] batching<Index> micro_batches(R const& lengths, batching_options const& options, Cost const& cost = default_step_cost) {
  auto const items = detail::weigh<Index>(lengths, options, cost);
  batching<Index> b;
  b.ranks = options.ranks;
  b.micro_batches = options.micro_batches;
  if (items.size() == 0) return b;
  std::vector<Index> all(items.size());
  std::iota(all.begin(), all.end(), Index{0});
  using detail::deal_rule;
  constexpr std::array rules{deal_rule::longest_first, deal_rule::rate_mean, deal_rule::rate_cap};
  auto const rows = options.synchronisation == synchronisation::per_micro_batch;
  auto const step_room = static_cast<std::uint64_t>(options.capacity) * options.ranks;
  auto const least = (static_cast<std::uint64_t>(items.all_tokens) + step_room - 1) / step_room;
  for (auto each = (least + options.micro_batches - 1) / options.micro_batches * options.micro_batches;; each += options.micro_batches) {
    auto const bins = rows ? options.ranks * each : options.ranks, places = rows ? 1 : each;
    detail::step_dealer<Index> deal(items, bins, places, options.capacity);
    deal(all, rules);
    if (!deal.left().empty()) continue;
    b.micro_batches = each;
    std::vector<Index> order;
    for (std::size_t r = 0; r < bins; ++r)
      for (std::size_t m = 0; m < places; ++m) {
        auto const pack = deal.place(r, m);
        if (!pack.empty()) order.push_back(static_cast<Index>(b.packs.size()));
        if (!rows) b.table.push_back(pack.empty() ? b.none : order.back());
        if (!pack.empty()) b.packs.push_back(pack);
      }
    if (rows) {
      auto const sums = detail::pack_sums(b.packs, [&](Index i) { return items.cost[i]; });
      detail::arrange_steps(b, std::span<Index const>(order), sums, options);
    }
    detail::certify(b, items, options);
    return b;
  }
}

}  // namespace ballast::inline v0_1
