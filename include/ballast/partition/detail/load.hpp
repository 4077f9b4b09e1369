// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/chain_runs.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/partition/bounds.hpp>
#include <ballast/partition/detail/chain.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Validation: turns a caller's layers or runs, cost and options into sums that cannot overflow, and finds limits that need no search.

namespace ballast::inline v0_2::detail {

inline void require_stages(partition_options const& o) {
  require(o.stages >= 1 && o.stages <= std::uint64_t{1} << 31, [&] { return sentence("stages = ", o.stages, " must be in 1 ... 2^31"); });
}

/// Validates the options that apply to any chain.
template <class = when_called>
inline void load_options(partition_options const& o, chain_data& d) {
  require_stages(o);
  d.stages = d.used = static_cast<std::size_t>(o.stages);
  d.min_layers = static_cast<std::size_t>(o.min_layers);
  d.min_weighted = static_cast<std::size_t>(o.min_weighted);
  d.capacity = o.capacity;
}

/// Writes the prefix sums of entries, from 0; throws if an entry is negative or a sum reaches 2^63.
template <class = when_called>
inline void add_up(std::span<std::int64_t const> entries, char const* name, std::vector<std::int64_t>& sums) {
  sums.resize(entries.size() + 1);
  sums[0] = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    sums[i + 1] = sums[i];
    add_checked(sums[i + 1], entries[i], name, i);
  }
}

template <class Cost>
[[nodiscard]] double scale_of(Cost const& cost) {
  if constexpr (requires { double{cost.units_per_1}; })
    return cost.units_per_1;
  else
    return 1;
}

/// Validates unit times and transfers; `total` is the cost of all layers.
template <class = when_called>
inline void load_speeds(partition_options const& o, std::int64_t total, chain_data& d) {
  d.unit_time = o.unit_time;
  require(o.unit_time.empty() || o.unit_time.size() == o.stages,
          [&] { return sentence("unit_time has ", o.unit_time.size(), " entries for ", o.stages, " stages"); });
  auto room = unaffordable - 1 - total;
  for (std::size_t s = 0; s < o.unit_time.size(); ++s) {
    auto const here = [&] { return entry("unit_time", s, o.unit_time[s]); };
    require(o.unit_time[s] > 0, [&] { return here() + " must be positive"; });
    require(total == 0 || o.unit_time[s] <= (unaffordable - 1) / total,
            [&] { return here() + " brings the cost of all layers to 2^63 or more"; });
    room = (std::min)(room, unaffordable - 1 - o.unit_time[s] * total);
  }
  d.transfer.clear();
  if (o.transfer.empty()) return;
  auto const cuts = d.layers == 0 ? 0 : d.layers - 1;
  require(o.transfer.size() == cuts, [&] { return sentence("transfer has ", o.transfer.size(), " entries for ", cuts, " inner cuts"); });
  d.transfer.assign(d.layers + 1, 0);
  for (std::size_t i = 0; i < cuts; ++i) {
    auto const here = [&] { return entry("transfer", i, o.transfer[i]); };
    require(o.transfer[i] >= 0, [&] { return here() + " must not be negative"; });
    require(o.transfer[i] <= room / 2, [&] { return here() + " brings the sum of costs to 2^63 or more"; });
    room -= 2 * o.transfer[i];
    d.transfer[i + 1] = o.transfer[i];
  }
}

template <length_range R, cost_model Cost>
void load_chain(R const& layers, partition_options const& o, Cost const& cost, chain_data& d) {
  load_options(o, d);
  auto const n = static_cast<std::size_t>(std::ranges::size(layers));
  auto const at = read_by_position(layers);
  d.layers = n;
  d.work.resize(n + 1);
  d.work[0] = 0;
  d.largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const here = [&] { return entry("layers", i, at[i]); };
    auto const value = checked_cost(at[i], cost, "cost", here);
    require(value <= unaffordable - d.work[i], [&] { return here() + " brings the sum of costs to 2^63 or more"; });
    d.work[i + 1] = d.work[i] + value;
    d.largest = (std::max)(d.largest, value);
  }
  d.units_per_1 = scale_of(cost);
  load_speeds(o, d.total(), d);

  require(o.size.empty() == o.capacity.empty() || (n == 0 && o.size.empty()),
          [] { return std::string("size and capacity must be given together"); });
  if (!o.capacity.empty()) {
    require(o.size.size() == n, [&] { return sentence("size has ", o.size.size(), " entries for ", n, " layers"); });
    add_up(o.size, "size", d.size);
    require(o.capacity.size() == o.stages,
            [&] { return sentence("capacity has ", o.capacity.size(), " entries for ", o.stages, " stages"); });
    for (std::size_t s = 0; s < o.capacity.size(); ++s)
      require(o.capacity[s] >= 0, [&] { return entry("capacity", s, o.capacity[s]) + " must not be negative"; });
  }

  d.rank.clear();
  d.weighted.clear();
  if (o.min_weighted == 0) return;
  d.rank.resize(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    d.rank[i] = d.weighted.size();
    if (d.work[i + 1] != d.work[i]) d.weighted.push_back(i);
  }
  d.rank[n] = d.weighted.size();
}

/// A reason why there is no plan, found without a search: the bound, with what is available and what is needed.
template <class = when_called>
[[nodiscard]] inline std::pair<partition_bound, certificate> impossible(chain_data const& d, std::size_t weighted) {
  auto const lacks = [&](std::size_t there, std::size_t each) { return each != 0 && d.stages > there / each; };
  auto const numbers = [&](std::size_t there, std::size_t each) {
    auto const most = static_cast<std::size_t>(unaffordable);
    return certificate{static_cast<std::int64_t>(there), static_cast<std::int64_t>(each > most / d.stages ? most : each * d.stages)};
  };
  if (lacks(d.layers, d.min_layers)) return {partition_bound::min_layers, numbers(d.layers, d.min_layers)};
  if (lacks(weighted, d.min_weighted)) return {partition_bound::min_weighted, numbers(weighted, d.min_weighted)};
  if (d.capacity.empty()) return {};
  auto const room = *std::max_element(d.capacity.begin(), d.capacity.end());
  std::int64_t largest = 0, all = 0;
  for (std::size_t i = 0; i < d.layers; ++i) largest = (std::max)(largest, d.size[i + 1] - d.size[i]);
  if (largest > room) return {partition_bound::layer_size, {room, largest}};
  for (auto const c : d.capacity) all += (std::min)(c, unaffordable - all);
  if (d.size[d.layers] > all) return {partition_bound::capacity, {all, d.size[d.layers]}};
  return {};
}

/// The lower bound for stages that may be unequal: the mean, or the most expensive layer on the fastest stage.
template <class = when_called>
[[nodiscard]] inline bottleneck_bound unequal_bound(std::int64_t total, std::int64_t largest, std::span<std::int64_t const> unit_time,
                                                    std::uint64_t stages) {
  auto const p = static_cast<std::int64_t>(stages);
  auto best = unit_time.empty() ? bottleneck_bound{divide_up(total, p), partition_bound::mean} : unequal_lower_bound(total, unit_time);
  if (!unit_time.empty()) largest *= *std::min_element(unit_time.begin(), unit_time.end());
  if (largest > best.cost) best = {largest, partition_bound::largest_layer};
  return best;
}

}  // namespace ballast::inline v0_2::detail
