// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/bounds.hpp>
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/weigh.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

// The parts that all balancers share: validation, memory and the certificate.

namespace ballast::inline v0_2::detail {

inline constexpr std::int64_t unlimited = dealt_sets<>::unlimited;

/// One set of a tuple of the differencing method; its items are a chain.
template <index_type Index>
struct differencing_part {
  std::int64_t sum, size;
  std::uint64_t count;
  std::uint64_t place;  ///< in a heap: of equal sums, the one with the larger place is taken first
  Index head, tail;
};
/// A tuple: `parts` sets in one block of the pool, largest sum first, or as a heap with the smallest sum first.
struct differencing_tuple {
  std::int64_t spread;  ///< largest sum minus smallest
  std::uint64_t id;     ///< position of its first item among the sorted items
  std::size_t block, parts;
  bool heap = false;
  std::int64_t largest = 0;  ///< largest sum of a heap
};

/// The sets, and the scratch memory of all methods.
template <index_type Index>
struct deal : dealt_sets<Index> {
  std::vector<std::int64_t> part;     ///< by item: first measure of rate matching
  std::vector<std::int64_t> measure;  ///< by set: first measure of rate matching
  std::int64_t total_cost = 0, total_size = 0;
  std::vector<std::int64_t> bound_costs, bound_sizes;

  std::vector<differencing_part<Index>> pool, merged;
  std::vector<std::size_t> free_blocks;
  std::vector<differencing_tuple> tuples;
  std::vector<Index> next;
  std::vector<keyed_item<Index>> left;  ///< items that the method could not place
};

inline void require_valid(balance_options const& o) {
  require(o.sets >= 1 && o.sets <= std::uint64_t{1} << 31, [&] { return sentence("sets = ", o.sets, " must be in 1 ... 2^31"); });
  require(o.capacity >= 0, [&] { return sentence("capacity = ", o.capacity, " must not be negative (0 = no limit)"); });
  require(!(o.equal_counts && o.misfit == misfit::set_aside),
          [] { return std::string("equal_counts needs misfit::refuse: items set aside would make the counts uneven"); });
}

template <index_type Index, length_range R, cost_model Cost, cost_model Size>
void prepare(R const& items, balance_options const& o, Cost const& cost, Size const& size, deal<Index>& d) {
  require_valid(o);
  auto const n = static_cast<std::size_t>(std::ranges::size(items));
  require_index<Index>(n, "items");
  d.total_cost = weigh(items, cost, "items", "cost", d.cost);
  d.total_size = weigh(items, size, "items", "size", d.size);
  d.sets = o.sets;
  d.capacity = o.capacity != 0 ? o.capacity : unlimited;
  d.max_items = o.max_items;
  d.equal = o.equal_counts;
}

/// The reason why no plan exists, as a bound and its two numbers; `none` if that is not proven.
template <index_type Index>
[[nodiscard]] std::pair<balance_bound, certificate> impossible(deal<Index>& d) {
  auto const n = d.items();
  auto const k = static_cast<std::int64_t>(d.sets);
  if (d.max_items != 0 && d.max_items < n && divide_up(std::uint64_t{n}, d.max_items) > d.sets)
    return {balance_bound::item_counts, {static_cast<std::int64_t>(d.max_items * d.sets), static_cast<std::int64_t>(n)}};
  if (d.capacity == unlimited || n == 0) return {};
  auto& sizes = d.bound_sizes;
  sizes = d.size;
  std::sort(sizes.begin(), sizes.end(), std::greater<>{});
  if (sizes[0] > d.capacity) return {balance_bound::item_size, {d.capacity, sizes[0]}};
  if (d.capacity < divide_up(d.total_size, k)) return {balance_bound::capacity, {d.capacity * k, d.total_size}};
  auto const bound = balance_lower_bound(sizes, d.sets, least_items(n, d.sets, d.max_items, d.equal));
  if (bound.load > d.capacity) return {bound.bound, {d.capacity, bound.load}};
  return {};
}

/// Writes the sets, each in the order of `d.order`, and certifies them.
template <index_type Index>
void finish(deal<Index>& d, misfit policy, balanced_sets<Index>& out) {
  auto const k = static_cast<std::size_t>(d.sets);
  auto const n = d.items();
  out.sets.clear();
  out.set_aside.clear();
  for (std::size_t i = 0; i < n; ++i)
    if (d.set_of[i] == dealt_sets<Index>::none) out.set_aside.push_back(static_cast<Index>(i));
  auto const placed = n - out.set_aside.size();
  if (placed < n && policy == misfit::refuse) {
    auto const [bound, numbers] = impossible(d);
    out.status = bound == balance_bound::none ? status::unknown : status::infeasible;
    out.bound = bound;
    out.load = numbers;
    out.set_aside.clear();
    return;
  }
  out.status = status::feasible;
  out.sets.offsets.resize(k + 1);
  for (std::size_t s = 0; s < k; ++s) out.sets.offsets[s + 1] = out.sets.offsets[s] + d.count[s];
  out.sets.members.resize(placed);
  auto& costs = d.bound_costs;  // costs of the items in sets, to which the bound applies
  auto& sizes = d.bound_sizes;
  costs.resize(placed);
  sizes.resize(placed);
  std::size_t seen = 0;
  for (std::size_t s = 0; s < k; ++s) d.count[s] = out.sets.offsets[s];  // position of the set's next member
  bool sorted = true;
  for (auto const& [key, i] : d.order) {
    if (d.set_of[i] == dealt_sets<Index>::none) continue;
    out.sets.members[static_cast<std::size_t>(d.count[d.set_of[i]]++)] = i;
    sorted = sorted && (seen == 0 || costs[seen - 1] >= d.cost[i]);
    costs[seen] = d.cost[i];
    sizes[seen++] = d.size[i];
  }
  out.load.value = *std::max_element(d.load.begin(), d.load.end());
  auto best = d.capacity == unlimited ? load_bound{} : capacity_bound(costs, sizes, d.sets, d.capacity);
  if (!sorted) std::sort(costs.begin(), costs.end(), std::greater<>{});
  std::int64_t sum = 0;
  for (auto& c : costs) c = sum += c;
  auto const of_costs = bound_of_costs([&](std::uint64_t i) { return i == 0 ? 0 : costs[static_cast<std::size_t>(i) - 1]; }, placed, d.sets,
                                       least_items(placed, d.sets, d.max_items, d.equal));
  if (of_costs.load >= best.load) best = of_costs;
  out.load.lower_bound = best.load;
  out.bound = best.bound;
}

/// Deals items by a method that is given sorted items and empty sets.
template <index_type Index, length_range R, cost_model Cost, cost_model Size, class Method>
void balance_by(Method const& method, R const& items, balance_options const& o, Cost const& cost, Size const& size, deal<Index>& d,
                balanced_sets<Index>& out) {
  prepare(items, o, cost, size, d);
  d.sort_by(d.cost);
  d.start();
  method(d);
  finish(d, o.misfit, out);
}

}  // namespace ballast::inline v0_2::detail
