// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/replicated.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief EPLB, DeepSeek's expert-parallel load balancer: the published heuristic, as a baseline of `balance_replicated`.

namespace ballast::inline v0_2::eplb {

namespace detail {
/// A fraction of rows: compared by cross-multiplication. Rows are below 2^42, copies below 2^21.
struct fraction {
  std::int64_t rows = 0, copies = 1;
};
/// Items by descending load, then by index.
template <class Less>
[[nodiscard]] std::vector<std::size_t> descending(std::size_t count, Less const& less) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return less(b, a) || (!less(a, b) && a < b); });
  return order;
}

/// "Balanced packing": items, most load first, each to the least loaded pack with room, of equal ones the first. With a single item for
/// each pack, item i goes to pack i. Returns the items of the packs, pack after pack, in the order in which they came.
template <class = when_called>
[[nodiscard]] std::vector<std::size_t> packed(std::vector<fraction> const& items, std::size_t packs) {
  auto const each = items.size() / packs;
  if (each == 1) {
    std::vector<std::size_t> out(items.size());
    std::iota(out.begin(), out.end(), std::size_t{0});
    return out;
  }
  auto const order =
      descending(items.size(), [&](auto a, auto b) { return items[a].rows * items[b].copies < items[b].rows * items[a].copies; });
  std::vector<std::int64_t> loads(packs);
  std::vector<std::size_t> out(items.size()), used(packs);
  for (auto const i : order) {
    auto to = packs;
    for (std::size_t p = 0; p < packs; ++p)
      if (used[p] < each && (to == packs || loads[p] < loads[to])) to = p;
    out[to * each + used[to]++] = i;
    loads[to] += (row_units * items[i].rows + items[i].copies - 1) / items[i].copies;
  }
  return out;
}

/// Every expert once, then copy after copy of the expert with the most rows for each of its copies, of equal ones the first.
template <class = when_called>
[[nodiscard]] std::vector<std::size_t> replicated(std::vector<std::int64_t> const& rows, std::size_t slots,
                                                  std::vector<std::int64_t>& copies) {
  std::vector<std::size_t> out(rows.size());
  std::iota(out.begin(), out.end(), std::size_t{0});
  copies.assign(rows.size(), 1);
  while (out.size() < slots) {
    std::size_t most = 0;
    for (std::size_t e = 1; e < rows.size(); ++e)
      if (rows[e] * copies[most] > rows[most] * copies[e]) most = e;
    ++copies[most];
    out.push_back(most);
  }
  return out;
}
}  // namespace detail

/// @brief Where EPLB puts the copies of the experts of one layer.
///
/// If the nodes divide the groups, the policy is hierarchical: groups are packed to nodes, the experts of a node get copies, and the copies
/// are packed to the ranks of the node. Otherwise groups and nodes are ignored: the experts get copies, and these are packed to all ranks.
/// Two copies of an expert may be on the same rank.
///
/// @param loads    rows of each expert, not negative; their sum is below 2^42
/// @param options  ranks, slots, nodes and groups; `may_share` is not read
/// @return the expert of each slot, rank after rank, in the order of the published program
/// @throws invalid_input if an argument is out of range
/// @par Complexity
/// O(n (S - n) + S (R + log S)) for n experts, S slots and R ranks.
/// @par Determinism
/// Loads are compared exactly; of equal ones the first is taken. The published program compares 32-bit floats, and may take others.
/// @par Source
/// deepseek-ai/EPLB, described in DeepSeek-AI, "DeepSeek-V3 technical report", arXiv 2412.19437, section 3.4.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> place(std::span<std::int64_t const> loads, replication_options const& options) {
  auto by = options;
  by.may_share = true;
  if (by.groups == 0 || by.nodes == 0 || by.groups % by.nodes != 0) by.groups = by.nodes = 1;
  require_valid(by, loads.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    require(loads[i] >= 0 && loads[i] < (std::int64_t{1} << 42) - sum,
            [&] { return entry("loads", i, loads[i]) + " is negative, or brings the sum of loads to 2^42 or more"; });
    sum += loads[i];
  }
  auto const groups = static_cast<std::size_t>(by.groups), nodes = static_cast<std::size_t>(by.nodes), size = loads.size() / groups;
  auto const slots = static_cast<std::size_t>(by.slots == 0 ? loads.size() : by.slots) / nodes;  // of a node
  std::vector<detail::fraction> of_group(groups);
  for (std::size_t e = 0; e < loads.size(); ++e) of_group[e / size].rows += loads[e];
  auto const order = detail::packed(of_group, nodes);
  std::vector<std::uint32_t> out;
  for (std::size_t n = 0; n < nodes; ++n) {
    std::vector<std::size_t> experts;
    for (std::size_t g = n * groups / nodes; g < (n + 1) * groups / nodes; ++g)
      for (std::size_t i = 0; i < size; ++i) experts.push_back(order[g] * size + i);
    std::vector<std::int64_t> rows, copies;
    for (auto const e : experts) rows.push_back(loads[e]);
    auto const held = detail::replicated(rows, slots, copies);
    std::vector<detail::fraction> shares;
    shares.reserve(held.size());
    for (auto const e : held) shares.push_back({rows[e], copies[e]});
    for (auto const i : detail::packed(shares, static_cast<std::size_t>(by.ranks) / nodes))
      out.push_back(static_cast<std::uint32_t>(experts[held[i]]));
  }
  return out;
}

/// @brief The load of the most loaded rank of a placement, in `row_units` of a row.
/// @param expert_of  expert of each slot, rank after rank; a multiple of `ranks` of slots
/// @param loads      rows of each expert; their sum is below 2^42
/// @param ranks      number of ranks, at least 1
/// @return the load; shares are rounded up
/// @throws invalid_input if a slot holds no expert, or the ranks do not divide the slots
/// @par Complexity
/// O(slots + ranks).
template <class = when_called>
[[nodiscard]] std::int64_t largest_load(std::span<std::uint32_t const> expert_of, std::span<std::int64_t const> loads,
                                        std::uint64_t ranks) {
  require(ranks >= 1 && expert_of.size() % ranks == 0,
          [&] { return sentence("ranks = ", ranks, " must divide slots = ", expert_of.size()); });
  std::vector<std::int64_t> copies(loads.size()), of(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < expert_of.size(); ++i) {
    require(expert_of[i] < loads.size(), [&] { return sentence(entry("expert_of", i, expert_of[i]), " must be below ", loads.size()); });
    ++copies[expert_of[i]];
  }
  auto const each = expert_of.size() / of.size();
  for (std::size_t i = 0; i < expert_of.size(); ++i) {
    auto const c = copies[expert_of[i]];
    of[i / each] += (row_units * loads[expert_of[i]] + c - 1) / c;
  }
  return *std::max_element(of.begin(), of.end());
}

}  // namespace ballast::inline v0_2::eplb
