// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// Parts of the samples of an epoch, on which methods are tried before the best is used for all.

namespace ballast::inline v0_2::detail {

/// Some of the samples, in the given order.
template <index_type Index>
[[nodiscard]] weighed_samples some_of(weighed_samples const& items, std::span<Index const> chosen) {
  weighed_samples out;
  out.tokens.resize(chosen.size());
  out.cost.resize(chosen.size());
  for (std::size_t k = 0; k < chosen.size(); ++k) {
    auto const t = out.tokens[k] = items.tokens[chosen[k]], c = out.cost[k] = items.cost[chosen[k]];
    out.all_tokens += t;
    out.all_cost += c;
    out.all_squares += t * t;
    out.longest = (std::max)(out.longest, t);
    out.most_expensive = (std::max)(out.most_expensive, c);
  }
  return out;
}

/// About `part` of `whole` samples, each chosen at random.
template <index_type Index>
[[nodiscard]] weighed_samples random_part(weighed_samples const& items, std::size_t part, std::size_t whole, std::uint64_t seed) {
  std::vector<Index> chosen;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (multiply(splitmix64(seed + i)(), whole).high < part) chosen.push_back(static_cast<Index>(i));
  return some_of<Index>(items, std::span<Index const>(chosen));
}

/// Packs, and the samples in them.
template <index_type Index>
struct packed_part {
  weighed_samples items;
  groups<Index> packs;
};

/// That many packs, chosen at random. A part of the packs is as full as all of them, which packs of a part of the samples are not.
template <index_type Index>
[[nodiscard]] packed_part<Index> random_packs(groups<Index> const& packs, weighed_samples const& items, std::size_t count,
                                              std::uint64_t seed) {
  auto const order = random_permutation<Index>(packs.size(), seed);
  std::vector<Index> chosen, pack;
  packed_part<Index> out;
  for (auto const p : std::span(order).first(count)) {
    pack.clear();
    for (auto const i : packs[p]) {
      pack.push_back(static_cast<Index>(chosen.size()));
      chosen.push_back(i);
    }
    out.packs.push_back(pack);
  }
  out.items = some_of<Index>(items, std::span<Index const>(chosen));
  return out;
}

}  // namespace ballast::inline v0_2::detail
