// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/dealing.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/workspace.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/polynomial.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// @file
/// @brief Rate matching: balances two measures at once, so that the plan is balanced for every weighting of the two.

namespace ballast::inline v0_2 {

namespace detail {
/// Deals by the rates of `d.part`, whose sum is given, and `d.size`.
template <index_type Index>
void deal_by_rate(deal<Index>& d, std::int64_t total_part, rate_target target) {
  d.sort_by(d.size);
  d.start();
  d.measure.assign(static_cast<std::size_t>(d.sets), 0);
  auto const share = [&](std::int64_t total) { return divide_up(total, static_cast<std::int64_t>(d.sets)); };
  auto const part_goal = share(total_part);
  auto const size_goal = target == rate_target::mean ? (std::min)(d.capacity, share(d.total_size)) : d.capacity;
  auto const steeper = [&](std::size_t a, std::size_t b) {
    auto const size_a = size_goal - (d.capacity - d.room[a]), size_b = size_goal - (d.capacity - d.room[b]);
    if (size_a <= 0 || size_b <= 0) return size_a > size_b;
    return compare_products(part_goal - d.measure[a], size_b, part_goal - d.measure[b], size_a) > 0;
  };
  d.deal_in_order(std::span<keyed_item<Index> const>(d.order), steeper, [&](std::size_t i, std::size_t s) { d.measure[s] += d.part[i]; });
}
}  // namespace detail

/// @brief Balances two measures by rate matching: each item, largest first, goes to the set with room that needs most of the first measure
/// for each unit of the second.
///
/// Let Q be the mean part of a set and T its mean size, or the capacity (see `rate_target`). A set that holds q and t has the rate (Q - q)
/// / (T - t), and an item goes to the set of largest rate, or to the lower number of equal rates. Sets that have reached T come last, the
/// emptiest first. If no item is far above a set's mean, both measures come out balanced, and so does every cost `a * size + b * part`: the
/// ratio of attention to other work need not be known.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @tparam Part   a `cost_model`
/// @tparam Size   a `cost_model`
/// @param items    the items, one integer each; may be empty
/// @param options  number of sets, limits and target
/// @param cost     cost of an item, for the loads and the certificate; the sets do not depend on it; the item itself by default
/// @param part     the first measure of an item; its square by default
/// @param size     the second measure of an item, limited by the capacity; the item itself by default
/// @return the sets, each with its largest item first
/// @throws invalid_input for a bad option, a missing capacity, or a cost, part or size, or a sum of them, outside [0, 2^63)
/// @par Complexity
/// O(n log n + n log k) time; O(n k) in the worst case, if sets are nearly full. O(n + k) memory.
/// @par Determinism
/// A pure function of costs, parts, sizes and options; rates are compared exactly, in 128 bits.
/// @par Source
/// This library (docs/balance.md).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = token_cost, cost_model Part = quadratic_cost,
          cost_model Size = token_cost>
[[nodiscard]] balanced_sets<Index> rate_matching(R const& items, balance_options const& options, Cost const& cost = {},
                                                 Part const& part = Part{.linear = 0, .quadratic = 1}, Size const& size = {}) {
  return detail::by_value<Index>([&](auto& workspace, auto& out) { rate_matching(items, options, cost, part, size, workspace, out); });
}

/// @brief As above, into caller-owned memory.
/// @param items      the items, one integer each
/// @param options    number of sets, limits and target
/// @param cost       cost of an item, for the loads and the certificate
/// @param part       the first measure of an item
/// @param size       the second measure of an item, limited by the capacity
/// @param workspace  scratch memory, kept between calls
/// @param out        overwritten with the plan; its memory is used again
/// @throws invalid_input as the overload above
template <index_type Index, length_range R, cost_model Cost, cost_model Part, cost_model Size>
void rate_matching(R const& items, balance_options const& options, Cost const& cost, Part const& part, Size const& size,
                   balance_workspace<Index>& workspace, balanced_sets<Index>& out) {
  require(options.target == rate_target::mean || options.capacity > 0,
          [] { return std::string("rate_target::capacity needs a capacity"); });
  auto& d = detail::memory_of(workspace).deal;
  detail::prepare(items, options, cost, size, d);
  auto const total_part = weigh(items, part, "items", "part", d.part);
  detail::deal_by_rate(d, total_part, options.target);
  detail::finish(d, options.misfit, out);
}

}  // namespace ballast::inline v0_2
