// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/arrange.hpp>
#include <ballast/batching/detail/deal_packs.hpp>
#include <ballast/batching/detail/fill_places.hpp>
#include <ballast/batching/detail/step_dealer.hpp>
#include <ballast/batching/in_order.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief Packs of like cost in one step: by sorting the whole set, or windows of it.

namespace ballast::inline v0_2 {

/// @brief In which order steps of unequal cost are trained.
enum class emission : std::uint8_t {
  cyclic,      ///< eight strata of cost in turn, shuffled inside: neighbouring steps average out
  shuffled,    ///< at random
  decreasing,  ///< dearest first
};

/// @brief How packs are sorted into steps.
struct sorting_options {
  std::uint64_t window = 0;  ///< steps of packs that are sorted together, in a random order of all packs; 0 = the whole set
  ballast::emission emission = ballast::emission::cyclic;  ///< order of the steps inside a window
  bool redeal = false;  ///< whether the samples of each step are dealt to its places anew, where that lowers its cost
};

namespace detail {

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

/// Deals the samples of a step to its places anew, or exchanges some where not all fit; keeps the old places unless the step becomes
/// cheaper.
template <index_type Index>
void redeal_steps(batching<Index>& b, step_items const& items, batching_options const& o) {
  // Where ranks wait at every micro-batch, each row of places is a step of its own.
  auto const rows = o.synchronisation == synchronisation::per_micro_batch ? b.micro_batches : 1;
  auto const each = static_cast<std::size_t>(b.micro_batches / rows), ranks = static_cast<std::size_t>(b.ranks);
  step_dealer<Index> deal(items, b.ranks, each, o.capacity);
  constexpr std::array rules{deal_rule::rate_cap, deal_rule::longest_first};
  std::vector<Index> samples;
  std::vector<std::uint32_t> rank_of;
  std::vector<std::vector<Index>> contents(b.packs.size());
  for (std::size_t p = 0; p < contents.size(); ++p) contents[p].assign(b.packs[p].begin(), b.packs[p].end());
  for (std::size_t s = 0; s < b.steps(); ++s)
    for (std::size_t row = 0; row < rows; ++row) {
      samples.clear();
      rank_of.clear();
      std::int64_t slowest = 0;
      bool whole = true;
      auto const place = [&](std::size_t r, std::size_t m) { return b.at(s, r, rows == 1 ? m : row); };
      for (std::size_t r = 0; r < ranks; ++r) {
        std::int64_t mine = 0;
        for (std::size_t m = 0; m < each; ++m) {
          auto const p = place(r, m);
          whole = whole && p != b.none;
          if (p == b.none) continue;
          for (auto i : contents[p]) mine += items.cost[i];
          samples.insert(samples.end(), contents[p].begin(), contents[p].end());
          rank_of.insert(rank_of.end(), contents[p].size(), static_cast<std::uint32_t>(r));
        }
        slowest = (std::max)(slowest, mine);
      }
      if (!whole) continue;
      deal(samples, rules);
      if (!deal.left().empty() || deal.slowest() >= slowest) deal.improve(samples, rank_of);  // full packs leave a new deal no room
      if (!deal.left().empty() || deal.slowest() >= slowest) continue;
      for (std::size_t r = 0; r < ranks; ++r)
        for (std::size_t m = 0; m < each; ++m) {
          auto const got = deal.place(r, m);
          whole = whole && !got.empty();
        }
      if (!whole) continue;
      for (std::size_t r = 0; r < ranks; ++r)
        for (std::size_t m = 0; m < each; ++m) {
          auto const got = deal.place(r, m);
          contents[place(r, m)].assign(got.begin(), got.end());
        }
    }
  b.packs.clear();
  for (auto const& c : contents) b.packs.push_back(c);
}

template <index_type Index>
[[nodiscard]] batching<Index> sort_into_steps(groups<Index> packs, step_items const& items, batching_options const& o,
                                              sorting_options const& sorting) {
  batching<Index> b;
  auto order = take_shuffled(b, std::move(packs), items, o);
  auto const sums = pack_sums(b.packs, [&](Index i) { return items.cost[i]; }, o.cost_per_micro_batch);

  auto const places = static_cast<std::size_t>(o.ranks * o.micro_batches);
  auto const most = order.size() / places + 1;
  auto const window = sorting.window == 0 || sorting.window > most ? most : static_cast<std::size_t>(sorting.window);
  splitmix64 draw(~epoch_seed(o));
  std::vector<Index> emitted;
  emitted.reserve(order.size());
  for (std::size_t first = 0; first < order.size(); first += window * places) {
    auto const last = (std::min)(first + window * places, order.size());
    std::sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(last),
              [&](Index x, Index y) { return sums[x].cost != sums[y].cost ? sums[x].cost > sums[y].cost : x < y; });
    auto const whole = (last - first) / places;
    for (auto s : emit<Index>(whole, sorting.emission, draw))
      for (std::size_t k = 0; k < places; ++k) emitted.push_back(order[first + s * places + k]);
    emitted.insert(emitted.end(), order.begin() + static_cast<std::ptrdiff_t>(first + whole * places),
                   order.begin() + static_cast<std::ptrdiff_t>(last));
  }
  arrange_steps(b, std::span<Index const>(emitted), sums, o);
  if (sorting.redeal) redeal_steps(b, items, o);
  if (fill_places(b, items, o, mixing::never) || sorting.redeal)
    certify(b, items, o);
  else
    certify(b, items, o, sums);
  return b;
}
}  // namespace detail

/// @brief Makes steps of packs of like cost: packs are sorted by cost, in windows of a random order or all together, and neighbours
/// share a step.
///
/// Ranks hardly wait, at full packs. The price is that a step is no random draw: its samples have like lengths (cyclic emission makes
/// up for most of that over eight steps). Packs from best fit in a random order mix far better here than those of best-fit decreasing.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param packs    which samples share a micro-batch; samples in none of them are listed as dropped
/// @param lengths  tokens of each sample
/// @param options  shape of a step, what to do with an incomplete one, where ranks wait, and seed
/// @param cost     what a sample costs
/// @param sorting  windows, emission and redealing
/// @return the plan, its cost and the bound; an incomplete last step holds the cheapest packs of the last window and comes last
/// @throws invalid_input as `steps_in_order`
/// @par Complexity
/// O(samples + packs log packs); redealing adds O(samples log ranks) and a bounded number of exchanges per step.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Sorting: Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680. Cyclic emission is our own.
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> sorted_steps(groups<Index> packs, R const& lengths, batching_options const& options, Cost const& cost,
                                           sorting_options const& sorting = {}) {
  return detail::sort_into_steps(std::move(packs), detail::weigh<Index>(lengths, options, cost), options, sorting);
}

}  // namespace ballast::inline v0_2
