// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/bounds.hpp>
#include <ballast/balance/detail/phase_sets.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/polynomial.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief `balance_phases` and `refine_phases`: items with a cost in each of several phases (vision, audio, language), balanced in all
/// phases together.

namespace ballast::inline v0_2 {

/// @brief Maps an item to its costs: a sized range of integers, one for each phase, such as `std::array<std::int64_t, 3>`.
template <class C>
concept phase_cost_model = std::copy_constructible<C> && std::regular_invocable<C const&, std::int64_t> &&
                           length_range<std::remove_cvref_t<std::invoke_result_t<C const&, std::int64_t>>>;

/// @brief Options of `balance_phases` and `refine_phases`. Only `sets` has no default.
struct phase_options {
  std::uint64_t sets = 0;     ///< number of sets, from 1 to 2^31
  std::int64_t capacity = 0;  ///< largest total size (tokens) of a bin; 0 = no limit
  std::uint64_t bins = 1;     ///< bins of each set, such as the micro-batches of a rank; above 1 only with a capacity; sets * bins < 2^32
  refinement refine{};        ///< rounds (0 = three times the sets, times the phases) and partners of the exchanges
};

/// @brief Sets with a load in each phase.
/// @tparam Index  type of the item indices
template <index_type Index = std::uint32_t>
struct phase_sets {
  ballast::status status = ballast::status::feasible;  ///< `infeasible` and `unknown` have no sets and no loads
  groups<Index> sets;               ///< item indices of each set, ascending; with several bins, of each bin, set after set
  std::uint64_t phases = 0;         ///< number of phases; 0 without items
  std::vector<std::int64_t> loads;  ///< `loads[set * phases + phase]`
  certificate time;                 ///< sum over phases of the largest load of a set, and a lower bound on it
  friend bool operator==(phase_sets const&, phase_sets const&) = default;
};

namespace detail {

/// Items by their costs and sizes, checked.
struct phase_items {
  std::vector<std::int64_t> costs{};  ///< phase after phase of each item
  std::size_t phases = 0;
  phase_bins bins{};
};

/// The costs and sizes of all items, checked.
template <index_type Index, length_range R, phase_cost_model Costs, cost_model Size>
[[nodiscard]] phase_items weigh_phases(R const& items, phase_options const& o, Costs const& costs, Size const& size) {
  auto const n = static_cast<std::size_t>(std::ranges::size(items));
  require_index<Index>(n, "items");
  auto const most = std::uint64_t{1} << 31;
  require(o.sets >= 1 && o.sets <= most, [&] { return sentence("sets = ", o.sets, " must be in 1 ... 2^31"); });
  require(o.capacity >= 0, [&] { return sentence("capacity = ", o.capacity, " must not be negative"); });
  require(o.bins >= 1 && o.bins <= (2 * most - 1) / o.sets && (o.bins == 1 || o.capacity > 0),
          [&] { return sentence("bins = ", o.bins, " must be at least 1, below 2^32 over the sets, and 1 without a capacity"); });
  phase_items out{.bins = {.capacity = o.capacity, .each = static_cast<std::size_t>(o.bins)}};
  auto const at = read_by_position(items);
  std::int64_t sum = 0, sizes = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const item = static_cast<std::int64_t>(at[i]);
    auto const of_item = costs(item);
    auto const count = static_cast<std::size_t>(std::ranges::size(of_item));
    if (i == 0) out.phases = count;
    require(count == out.phases && count > 0,
            [&] { return sentence(entry("items", i, at[i]), " has ", count, " costs, not ", out.phases); });
    auto const cost = read_by_position(of_item);
    for (std::size_t p = 0; p < count; ++p) {
      require(std::in_range<std::int64_t>(cost[p]), [&] { return entry("items", i, at[i]) + " has a cost outside [0, 2^63)"; });
      add_checked(sum, static_cast<std::int64_t>(cost[p]), "costs of items", i);
      out.costs.push_back(static_cast<std::int64_t>(cost[p]));
    }
    if (o.capacity == 0) continue;
    out.bins.sizes.push_back(static_cast<std::int64_t>(size(item)));
    add_checked(sizes, out.bins.sizes.back(), "sizes of items", i);
  }
  return out;
}

/// The sum over phases of the lower bounds of each, or the bound on the sums of all phases if it is larger.
template <class = when_called>
[[nodiscard]] inline std::int64_t phase_bound(std::vector<std::int64_t> const& costs, std::size_t phases, std::uint64_t sets) {
  auto const n = costs.size() / phases;
  std::vector<std::int64_t> one(n), all(n, 0);
  std::int64_t sum = 0;
  for (std::size_t p = 0; p < phases; ++p) {
    for (std::size_t i = 0; i < n; ++i) all[i] += one[i] = costs[i * phases + p];
    std::sort(one.begin(), one.end(), std::greater<>{});
    sum += balance_lower_bound(one, sets).load;
  }
  std::sort(all.begin(), all.end(), std::greater<>{});
  return (std::max)(sum, balance_lower_bound(all, sets).load);
}

/// The dealer of the best start that has room for all items, or of none.
template <index_type Index>
[[nodiscard]] std::optional<phase_dealer<Index>> deal_phases(phase_items const& items, std::size_t k) {
  auto const n = items.costs.size() / items.phases;
  std::vector<std::int64_t> total(n, 0);
  for (std::size_t i = 0; i < items.costs.size(); ++i) total[i / items.phases] += items.costs[i];
  std::vector<Index> order(n), all(n);
  std::iota(order.begin(), order.end(), Index{0});
  all = order;
  phase_dealer<Index> const none(items.costs, items.phases, k, items.bins);
  std::optional<phase_dealer<Index>> best;
  auto const keep = [&](phase_dealer<Index> const& other) {
    if (!best || other.value() < best->value()) best.emplace(other);
  };
  auto const greedy = [&](auto const& key) {
    std::sort(order.begin(), order.end(), [&](Index a, Index b) { return key(a) != key(b) ? key(a) > key(b) : a < b; });
    auto dealer = none;
    if (dealer.deal(order)) keep(dealer);
  };
  greedy([&](Index i) { return total[i]; });
  if (items.bins.each == 1) {
    auto const by_sum = longest_processing_time<Index>(
        all, balance_options{.sets = k, .capacity = items.bins.capacity},
        [&](std::int64_t i) { return total[static_cast<std::size_t>(i)]; },
        [&](std::int64_t i) { return items.bins.size(static_cast<std::size_t>(i)); });
    auto dealer = none;
    for (std::size_t s = 0; s < by_sum.sets.size(); ++s)
      for (auto const i : by_sum.sets[s]) dealer.put(i, s, s);
    if (by_sum.status == status::feasible) keep(dealer);
  }
  if (!best) greedy([&](Index i) { return items.bins.size(i); });
  return best;
}

/// Refines dealt items, and writes their sets.
template <index_type Index>
[[nodiscard]] phase_sets<Index> refined(phase_dealer<Index>& dealer, phase_items const& items, phase_options const& o) {
  phase_sets<Index> out;
  out.phases = items.phases;
  out.time.lower_bound = phase_bound(items.costs, items.phases, o.sets);
  dealer.refine(o.refine, out.time.lower_bound);
  out.time.value = dealer.value();
  out.loads = dealer.loads();
  for (auto const& bin : dealer.bins()) out.sets.push_back(bin);
  return out;
}

}  // namespace detail

/// @brief Deals items to sets so that the sum over phases of the largest load is small.
///
/// Use it where all ranks wait for each other between the phases of a step, as the encoders and the language model of a multimodal model
/// do: then each phase lasts as long as its slowest rank. Balancing the sum of the costs leaves single phases uneven.
///
/// The better of two starts is refined by moves and swaps: items by falling total cost, each where the objective grows least; and longest
/// processing time first on the total costs. With a capacity, an item goes to the bin of a set with the most room. If neither start has
/// room for all items, they are dealt by falling size.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Costs  a `phase_cost_model`
/// @tparam Size   a `cost_model`
/// @param items    the items, one integer each; may be empty
/// @param options  number of sets, bins and their capacity, limits of the refinement
/// @param costs    costs of an item in each phase, in one unit of time; equally many for every item, not negative
/// @param size     size of an item, not negative; read if there is a capacity
/// @return the sets, their loads, and the objective with a lower bound: the sum over phases of the bounds of `balance_lower_bound`.
/// `infeasible` if an item or the sum of all exceeds the capacities, `unknown` if no start has room for all items
/// @post the objective is at most that of `longest_processing_time` on the sum of the costs, with one bin for each set
/// @throws invalid_input for a bad option, different numbers of costs, or a cost, a size or the sum of all outside [0, 2^63)
/// @par Complexity
/// O(n log n + n k (P + b)) for n items, k sets of b bins and P phases; O((k + p) P) for each round with p partners.
/// @par Determinism
/// A pure function of the costs, the sizes and the options.
template <index_type Index = std::uint32_t, length_range R, phase_cost_model Costs, cost_model Size = token_cost>
[[nodiscard]] phase_sets<Index> balance_phases(R const& items, phase_options const& options, Costs const& costs, Size const& size = {}) {
  auto const weighed = detail::weigh_phases<Index>(items, options, costs, size);
  auto const k = static_cast<std::size_t>(options.sets);
  phase_sets<Index> out;
  out.phases = weighed.phases;
  if (weighed.phases == 0) {
    out.sets.offsets.assign(k * weighed.bins.each + 1, 0);
    return out;
  }
  auto const& sizes = weighed.bins.sizes;
  auto const none = [&](status why) {
    out.status = why;
    return out;
  };
  if (!sizes.empty()) {
    auto const all = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    if (*std::max_element(sizes.begin(), sizes.end()) > options.capacity ||
        static_cast<std::uint64_t>(divide_up(all, options.capacity)) > options.sets * options.bins)
      return none(status::infeasible);
  }
  auto dealer = detail::deal_phases<Index>(weighed, k);
  if (!dealer) return none(status::unknown);
  return detail::refined(*dealer, weighed, options);
}

/// @brief Improves sets that exist already by moves and swaps, as `balance_phases` does after its start.
///
/// Use it where the capacity leaves little room, so that items cannot be dealt anew.
///
/// @tparam Index  type of the item indices
/// @tparam R      range of integers
/// @tparam Costs  a `phase_cost_model`
/// @tparam Size   a `cost_model`
/// @param sets     item indices of each bin, set after set: `options.sets * options.bins` groups that hold each item once
/// @param items    as `balance_phases`
/// @param options  as `balance_phases`
/// @param costs    as `balance_phases`
/// @param size     as `balance_phases`
/// @return as `balance_phases`, always feasible
/// @post the objective is at most that of the given sets. With a capacity, the same bins are empty as before
/// @throws invalid_input as `balance_phases`, or for sets that are not as above or exceed the capacity
/// @par Complexity
/// O(n log n) for n items; each round as in `balance_phases`.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index, length_range R, phase_cost_model Costs, cost_model Size = token_cost>
[[nodiscard]] phase_sets<Index> refine_phases(groups<Index> const& sets, R const& items, phase_options const& options, Costs const& costs,
                                              Size const& size = {}) {
  auto const weighed = detail::weigh_phases<Index>(items, options, costs, size);
  auto const n = static_cast<std::size_t>(std::ranges::size(items));
  auto const bins = options.sets * options.bins;
  require(sets.size() == bins, [&] { return sentence("there are ", sets.size(), " bins, not ", bins); });
  if (n == 0) return balance_phases<Index>(items, options, costs, size);
  std::vector<bool> seen(n);
  detail::phase_dealer<Index> dealer(weighed.costs, weighed.phases, static_cast<std::size_t>(options.sets), weighed.bins);
  for (std::size_t b = 0; b < sets.size(); ++b)
    for (auto const i : sets[b]) {
      require(i < n && !seen[i], [&] { return sentence("bin ", b, " names item ", i, ", which is none or used"); });
      seen[i] = true;
      dealer.put(i, b / weighed.bins.each, b);
    }
  require(sets.members.size() == n, [&] { return sentence("in no bin: ", n - sets.members.size(), " items"); });
  require(weighed.bins.sizes.empty() || dealer.fits(), [&] { return sentence("a bin exceeds capacity = ", options.capacity); });
  return detail::refined(dealer, weighed, options);
}

}  // namespace ballast::inline v0_2
