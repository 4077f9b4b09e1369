// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

// Samples with the same `together` key are planned as one unit.

namespace ballast::inline v0_2::detail {

inline void require_keys(std::span<std::uint64_t const> keys, std::size_t samples, char const* name) {
  require(keys.empty() || keys.size() == samples, [&] { return sentence(name, " has ", keys.size(), " keys for ", samples, " samples"); });
}

/// The samples of each key as one unit; units come in the order of their first samples.
template <index_type Index>
[[nodiscard]] groups<Index> units_of(std::size_t samples, std::span<std::uint64_t const> key) {
  std::vector<Index> order(samples);
  std::iota(order.begin(), order.end(), Index{0});
  sort_by(order, [&](Index a, Index b) { return key[a] != key[b] ? key[a] < key[b] : a < b; });
  std::vector<Index> first;  // for each key: the begin of its samples
  for (std::size_t k = 0; k < samples; ++k)
    if (k == 0 || key[order[k]] != key[order[k - 1]]) first.push_back(static_cast<Index>(k));
  sort_by(first, [&](Index a, Index b) { return order[a] < order[b]; });
  groups<Index> units;
  for (auto const f : first) {
    auto const begin = std::size_t{f};
    auto end = begin + 1;
    while (end < samples && key[order[end]] == key[order[begin]]) ++end;
    units.push_back(std::span<Index const>(order).subspan(begin, end - begin));
  }
  return units;
}

/// The units as items.
template <index_type Index>
[[nodiscard]] weighed_samples fold(weighed_samples const& samples, groups<Index> const& units, batching_options const& o) {
  weighed_samples items;
  items.all_tokens = samples.all_tokens;
  items.all_cost = samples.all_cost;
  for (auto const unit : units) {
    auto const tokens = sum_of(samples.tokens, unit), cost = sum_of(samples.cost, unit);
    require(tokens <= o.capacity, [&] {
      return sentence("the samples together with sample ", unit[0], " hold ", tokens, " tokens, more than capacity ", o.capacity);
    });
    items.tokens.push_back(tokens);
    items.cost.push_back(cost);
    items.all_squares += tokens * tokens;
    items.longest = (std::max)(items.longest, tokens);
    items.most_expensive = (std::max)(items.most_expensive, cost);
  }
  return items;
}

/// The `apart` key of each unit, which all its samples share; empty if there are no keys.
template <index_type Index>
[[nodiscard]] std::vector<std::uint64_t> key_of_units(groups<Index> const& units, std::span<std::uint64_t const> apart) {
  std::vector<std::uint64_t> out;
  if (apart.empty()) return out;
  for (auto const unit : units) {
    for (auto i : unit)
      require(apart[i] == apart[unit[0]], [&] { return sentence("samples ", unit[0], " and ", i, " belong together and must be apart"); });
    out.push_back(apart[unit[0]]);
  }
  return out;
}

/// Turns packs of units into packs of samples.
template <index_type Index>
[[nodiscard]] groups<Index> spell_out(groups<Index> const& units, groups<Index> const& packs) {
  groups<Index> out;
  std::vector<Index> members;
  for (auto const pack : packs) {
    members.clear();
    for (auto u : pack) members.insert(members.end(), units[u].begin(), units[u].end());
    out.push_back(members);
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
