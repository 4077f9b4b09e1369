// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// Windows of a random order of packs, sorted by cost, and the order of the steps within a window.

namespace ballast::inline v0_2::detail {

/// The order in which `count` steps, sorted by cost, are emitted.
template <index_type Index, class Generator>
[[nodiscard]] std::vector<Index> emit(std::size_t count, emission how, Generator& draw) {
  std::vector<Index> order(count);
  std::iota(order.begin(), order.end(), Index{0});
  auto const shuffle = [&](std::size_t first, std::size_t last) {
    for (auto i = first + 1; i < last; ++i)
      std::swap(order[i], order[first + static_cast<std::size_t>(uniform_below(i - first + 1, draw))]);
  };
  if (how == emission::decreasing) return order;
  if (how == emission::shuffled) {
    shuffle(0, count);
    return order;
  }
  constexpr std::size_t strata = 8;
  constexpr std::array<std::size_t, strata> turn{0, 4, 2, 6, 1, 5, 3, 7};
  std::vector<Index> out;
  out.reserve(count);
  for (std::size_t s = 0; s < strata; ++s) shuffle(s * count / strata, (s + 1) * count / strata);
  for (std::size_t round = 0; round <= count / strata; ++round)
    for (auto s : turn)
      if (auto const at = s * count / strata + round; at < (s + 1) * count / strata) out.push_back(order[at]);
  return out;
}

/// Sorts windows of `steps` steps of an order of packs, most expensive first, and calls `use(begin, end)` for each; 0 steps = all.
template <index_type Index, class Use>
void for_sorted_windows(std::vector<Index>& order, std::span<pack_sum const> sums, std::size_t places, std::uint64_t steps,
                        Use const& use) {
  auto const most = order.size() / places + 1;
  auto const width = (steps == 0 || steps > most ? most : static_cast<std::size_t>(steps)) * places;
  for (std::size_t first = 0; first < order.size(); first += width) {
    auto const last = (std::min)(first + width, order.size());
    sort_by(std::span(order).subspan(first, last - first),
            [&](Index x, Index y) { return sums[x].cost != sums[y].cost ? sums[x].cost > sums[y].cost : x < y; });
    use(first, last);
  }
}

}  // namespace ballast::inline v0_2::detail
