// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_options.hpp>
#include <ballast/batching/detail/arrange.hpp>
#include <ballast/batching/detail/deal_packs.hpp>
#include <ballast/batching/detail/fill_places.hpp>
#include <ballast/batching/detail/redeal.hpp>
#include <ballast/batching/detail/windows.hpp>

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// `dealing::sorted`: neighbours in cost share a step, inside windows of a random order of all packs.
template <index_type Index>
[[nodiscard]] batching<Index> sort_into_steps(groups<Index> packs, weighed_samples const& items, batching_options const& o,
                                              deal_options const& deal) {
  batching<Index> b;
  auto order = take_shuffled(b, std::move(packs), items, o);
  auto const sums = pack_sums(b.packs, [&](Index i) { return items.cost[i]; }, o.cost_per_micro_batch);

  auto const places = static_cast<std::size_t>(o.ranks * o.micro_batches);
  splitmix64 draw(~epoch_seed(o));
  std::vector<Index> emitted;
  emitted.reserve(order.size());
  for_sorted_windows(order, sums, places, deal.window, [&](std::size_t first, std::size_t last) {
    auto const whole = (last - first) / places;
    for (auto s : emit<Index>(whole, deal.emission, draw))
      for (std::size_t k = 0; k < places; ++k) emitted.push_back(order[first + s * places + k]);
    emitted.insert(emitted.end(), order.begin() + static_cast<std::ptrdiff_t>(first + whole * places),
                   order.begin() + static_cast<std::ptrdiff_t>(last));
  });
  arrange_steps(b, std::span<Index const>(emitted), sums, o);
  if (deal.redeal) redeal_steps(b, items, o);
  if (fill_places(b, items, o, mixing::never) || deal.redeal)
    certify(b, items, o);
  else
    certify(b, items, o, sums);
  return b;
}

}  // namespace ballast::inline v0_2::detail
