// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/token_means.hpp>
#include <ballast/batching/detail/deal_packs.hpp>
#include <ballast/batching/detail/fill_places.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/detail/step_dealer.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/least_of.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `deal_steps`: deals packs that exist already to steps and ranks.

namespace ballast::inline v0_2 {

namespace detail {

/// Distributes the samples of a step over its places again, or exchanges some if not all fit; keeps the old places unless the step becomes
/// cheaper, or if its slowest rank is within 1 in 8,192 of the step's lower bound. The most uneven steps come first: if any are too slow
/// together, these are.
/// @param drawn the members of all packs, as samples in that order, so that those of a pack are neighbours in memory
/// @param sums the costs of the packs, which change with them
/// @return whether the slowest ranks exceed the lower bounds of the steps by at most `above`; if not, `b` is as before
template <index_type Index>
bool redeal_steps(batching<Index>& b, weighed_samples const& drawn, batching_options const& o, std::vector<pack_sum>& sums,
                  std::int64_t above) {
  // If ranks wait at every micro-batch, each row of places counts as a step.
  auto const rows = o.synchronisation == synchronisation::per_micro_batch ? static_cast<std::size_t>(b.micro_batches) : 1;
  auto const each = static_cast<std::size_t>(b.micro_batches) / rows, ranks = static_cast<std::size_t>(b.ranks);
  std::vector<Index> samples, packs(ranks * each);
  std::int64_t slowest = 0, bound = 0;
  auto const read = [&](std::size_t turn) {  // the packs of a row, and what its slowest rank takes; whether all places are taken
    for (std::size_t k = 0; k < packs.size(); ++k) packs[k] = b.at(turn / rows, k / each, rows == 1 ? k % each : turn % rows);
    if (std::ranges::find(packs, b.none) != packs.end()) return false;
    std::int64_t mine = 0, all = 0, most = 0;
    slowest = 0;
    for (std::size_t k = 0; k < packs.size(); ++k) {
      auto const cost = sums[packs[k]].cost - o.cost_per_micro_batch;
      mine = k % each == 0 ? cost : mine + cost;
      all += cost;
      most = (std::max)(most, sums[packs[k]].most_expensive - o.cost_per_micro_batch);
      slowest = (std::max)(slowest, mine);
    }
    bound = (std::max)(all / static_cast<std::int64_t>(ranks), most);
    return true;
  };
  std::vector<keyed_item<Index>> uneven;
  for (std::size_t turn = 0; turn < b.steps() * rows; ++turn)
    if (read(turn) && slowest - bound > bound / 8192) uneven.push_back({slowest - bound, static_cast<Index>(turn)});
  std::sort(uneven.begin(), uneven.end());

  step_dealer<Index> deal(drawn, b.ranks, each, o.capacity);
  constexpr std::array rules{deal_rule::rate_cap, deal_rule::longest_first};
  std::vector<std::uint32_t> rank_of;
  std::size_t in_vain = 0;          // ranks of the last steps whose samples did not fit when they were distributed again
  auto& members = b.packs.members;  // new packs are appended
  std::vector<std::pair<std::size_t, std::size_t>> members_of(b.packs.size());  // of each pack: its first member, and their number
  std::vector<std::pair<std::size_t, std::size_t>> now(packs.size());           // those of the step
  for (std::size_t p = 0; p < members_of.size(); ++p) members_of[p] = {static_cast<std::size_t>(b.packs.offsets[p]), b.packs[p].size()};
  for (auto const& [excess, turn] : uneven) {
    (void)read(turn);
    samples.clear();
    rank_of.clear();
    std::ranges::transform(packs, now.begin(), [&](Index p) { return members_of[p]; });  // one list after the other, as in `some_of`
    for (std::size_t k = 0; k < packs.size(); ++k) {
      for (std::size_t m = 0; m < now[k].second; ++m) samples.push_back(static_cast<Index>(now[k].first + m));
      rank_of.resize(samples.size(), static_cast<std::uint32_t>(k / each));
    }
    deal.gather(samples);
    auto const cheaper = [&](bool placed) { return placed && deal.slowest() < slowest; };
    // With full packs there is no room to distribute samples again, but often to exchange some. Of several places, that shows late.
    auto const dealt = (each == 1 || in_vain < 1024) && deal.deal_all(rules);
    in_vain = dealt ? 0 : in_vain + ranks;
    auto takes = cheaper(dealt) || cheaper(deal.improve(rank_of));
    auto const got = [&](std::size_t k) { return deal.place(k / each, k % each); };
    for (std::size_t k = 0; k < packs.size() && takes; ++k) takes = !got(k).empty();
    above -= (takes ? deal.slowest() : slowest) - bound;
    if (above < 0) {
      members.resize(static_cast<std::size_t>(b.packs.offsets.back()));
      return false;
    }
    for (std::size_t k = 0; k < packs.size() && takes; ++k) {
      members_of[packs[k]] = {members.size(), got(k).size()};
      auto& sum = sums[packs[k]] = {.cost = o.cost_per_micro_batch};
      for (auto const i : got(k)) {
        members.push_back(members[i]);
        sum.cost += drawn.cost[i];
        sum.most_expensive = (std::max)(sum.most_expensive, drawn.cost[i] + o.cost_per_micro_batch);
      }
    }
  }
  groups<Index> packed;
  packed.members.reserve(static_cast<std::size_t>(b.packs.offsets.back()));
  packed.offsets.reserve(b.packs.offsets.size());
  for (auto const& [first, count] : members_of) packed.push_back(std::span(members).subspan(first, count));
  b.packs = std::move(packed);
  return true;
}

/// Cuts an order of packs into steps, and distributes the packs of each step over its ranks such that the slowest rank has little work. If
/// ranks wait at every micro-batch, neighbours in cost share a row; otherwise by longest processing time first, with at most
/// `micro_batches` packs to a rank.
template <index_type Index>
void arrange_steps(batching<Index>& b, std::span<Index const> order, std::span<pack_sum const> sums, batching_options const& o) {
  auto const ranks = static_cast<std::size_t>(b.ranks), each = static_cast<std::size_t>(b.micro_batches), places = ranks * each;
  b.table.assign((order.size() + places - 1) / places * places, b.none);
  std::vector<Index> step;
  std::vector<std::size_t> count(ranks);
  for (std::size_t first = 0; first < order.size(); first += places) {
    auto const last = (std::min)(first + places, order.size());
    step.assign(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(last));
    auto const before = falling([&](Index p) { return sums[p].cost; });
    if (!std::is_sorted(step.begin(), step.end(), before)) sort_by(step, before);
    if (each == 1) {
      std::ranges::copy(step, b.table.begin() + static_cast<std::ptrdiff_t>(first));
      continue;
    }
    if (o.synchronisation == synchronisation::per_micro_batch) {
      for (std::size_t k = 0; k < step.size(); ++k) {
        auto const row = k / ranks, column = k % ranks;
        b.table[first + (row % 2 == 0 ? column : ranks - 1 - column) * each + row] = step[k];
      }
      continue;
    }
    least_of<> load(ranks);
    std::fill(count.begin(), count.end(), std::size_t{0});
    for (auto p : step) {
      auto const r = load.first();
      b.table[first + r * each + count[r]] = p;
      load.set(r, ++count[r] == each ? load.none : load[r] + sums[p].cost);
    }
  }
}

/// The costs of packs whose members were drawn as samples in that order.
template <index_type Index>
[[nodiscard]] std::vector<pack_sum> drawn_sums(groups<Index> const& packs, weighed_samples const& drawn, batching_options const& o) {
  std::size_t next = 0;  // packs come in the order of their members
  return pack_sums(packs, [&](Index) { return drawn.cost[next++]; }, o.cost_per_micro_batch);
}

/// `dealing::sorted`: packs in the random order of the epoch, which can be sorted into steps in several ways.
template <index_type Index>
class pack_sorter {
 public:
  /// @param outside the samples in no pack
  pack_sorter(groups<Index> packs, weighed_samples const& items, batching_options const& o, std::vector<Index> outside = {})
      : items_(items),
        o_(o),
        order_(take_order(taken_, std::move(packs), std::move(outside), items, o)),
        drawn_(some_of<Index>(items, taken_.packs.members)),
        sums_(drawn_sums(taken_.packs, drawn_, o)),
        by_cost_(packs_by_cost<Index>(order_, sums_)) {}

  /// The sum of the lengths in each pack, and that of their squares.
  [[nodiscard]] std::vector<length_moments> lengths() const {
    std::vector<length_moments> sums(taken_.packs.size());
    auto next = drawn_.tokens.begin();
    for (std::size_t p = 0; p < sums.size(); ++p)
      for (auto k = taken_.packs[p].size(); k > 0; --k) sums[p].add(static_cast<std::uint64_t>(*next++));
    return sums;
  }
  /// Neighbours in cost share a step, within windows of the order. Places of the last step may be empty.
  [[nodiscard]] batching<Index> sort(deal_options const& deal) const {
    auto b = taken_;
    auto order = order_;
    auto const places = static_cast<std::size_t>(o_.ranks * o_.micro_batches);
    splitmix64 draw(~epoch_seed(o_));
    std::vector<Index> emitted;
    emitted.reserve(order.size());
    for_sorted_windows<Index>(order, by_cost_, places, deal.window, [&](std::size_t first, std::size_t last) {
      auto const whole = (last - first) / places;
      for (auto s : emit<Index>(whole, deal.emission, draw))
        for (std::size_t k = 0; k < places; ++k) emitted.push_back(order[first + s * places + k]);
      emitted.insert(emitted.end(), order.begin() + static_cast<std::ptrdiff_t>(first + whole * places),
                     order.begin() + static_cast<std::ptrdiff_t>(last));
    });
    arrange_steps(b, std::span<Index const>(emitted), sums_, o_);
    certify(b, items_, o_, sums_);
    return b;
  }
  /// Balances sorted steps by exchanges, if `redeal` is true, and fills empty places. Exchanges leave the samples of a full step in it, and
  /// so its lower bound. Ends early with the steps as they are if the exchanges will leave the slowest ranks above `most`.
  [[nodiscard]] batching<Index> finish(batching<Index> b, bool redeal, std::int64_t most = any_time) const {
    auto const rounded = static_cast<std::int64_t>(b.table.size());  // bounds are rounded, by less than 1 for each row
    auto sums = sums_;
    if (redeal) redeal = redeal_steps(b, drawn_, o_, sums, (std::min)(most - b.slowest.lower_bound, any_time - rounded) + rounded);
    if (fill_places(b, items_, o_, mixing::never))
      certify(b, items_, o_);
    else if (redeal)
      certify(b, items_, o_, sums);
    return b;
  }

 private:
  weighed_samples const& items_;
  batching_options const& o_;
  batching<Index> taken_;
  std::vector<Index> order_;
  weighed_samples drawn_;
  std::vector<pack_sum> sums_;
  std::vector<Index> by_cost_;
};

template <index_type Index>
[[nodiscard]] batching<Index> sort_into_steps(groups<Index> packs, weighed_samples const& items, batching_options const& o,
                                              deal_options const& deal, std::vector<Index> outside = {}) {
  pack_sorter<Index> const sorter(std::move(packs), items, o, std::move(outside));
  return sorter.finish(sorter.sort(deal), deal.redeal);
}

/// `dealing::rows`: rows of similar packs, one for each micro-batch, and rows of all costs in a step.
template <index_type Index>
[[nodiscard]] batching<Index> rows_into_steps(groups<Index> packs, weighed_samples const& items, batching_options const& o,
                                              deal_options const& deal, std::vector<Index> outside = {}) {
  batching<Index> b;
  auto order = take_order(b, std::move(packs), std::move(outside), items, o);
  auto const drawn = some_of<Index>(items, b.packs.members);
  auto sums = drawn_sums(b.packs, drawn, o);
  auto const by_cost = packs_by_cost<Index>(order, sums);

  auto const ranks = static_cast<std::size_t>(o.ranks), each = static_cast<std::size_t>(o.micro_batches), places = ranks * each;
  splitmix64 draw(~epoch_seed(o));
  b.table.assign((order.size() + places - 1) / places * places, b.none);
  std::vector<std::size_t> filled;
  std::vector<keyed_item<Index>> rows;
  for_sorted_windows<Index>(order, by_cost, places, deal.window, [&](std::size_t first, std::size_t last) {
    auto const put_row = [&](std::size_t from, std::size_t step, std::size_t row) {
      for (std::size_t k = from; k < (std::min)(from + ranks, last); ++k) {
        auto const rank = row % 2 == 0 ? k - from : ranks - 1 - (k - from);
        b.table[(step * ranks + rank) * each + row] = order[k];
      }
    };
    auto const steps = (last - first) / places;
    // Longest processing time first: each row, most expensive first, goes to the cheapest step; ties are broken at random.
    rows.clear();
    for (std::size_t k = 0; k < steps * each; ++k) {
      std::int64_t sum = 0;
      for (std::size_t j = 0; j < ranks; ++j) sum += sums[order[first + k * ranks + j]].cost;
      rows.push_back({sum, static_cast<Index>(first + k * ranks)});
    }
    std::sort(rows.begin(), rows.end());
    auto const turn = emit<Index>(steps, emission::shuffled, draw);
    least_of<> load(steps);
    filled.assign(steps, 0);
    for (auto const& [sum, from] : rows) {
      auto const s = load.first();
      put_row(from, first / places + turn[s], filled[s]);
      load.set(s, ++filled[s] == each ? load.none : load[s] + sum);
    }
    for (std::size_t from = first + steps * places, row = 0; from < last; from += ranks, ++row) put_row(from, last / places, row);
  });
  auto waiting_per_row = o;
  waiting_per_row.synchronisation = synchronisation::per_micro_batch;
  if (deal.redeal) redeal_steps(b, drawn, waiting_per_row, sums, any_time);
  fill_places(b, items, o, mixing::never);
  certify(b, items, o);
  return b;
}

}  // namespace detail

/// @brief Deals packs to the ranks of steps: in order, at random, or such that packs of similar cost share a step or a micro-batch.
///
/// With `dealing::sorted`, ranks hardly wait and packs stay full, but a step is not a random draw: its samples have similar lengths. Cyclic
/// emission evens that out over eight steps.
///
/// `dealing::rows` also sorts the packs of a window by cost. Each `ranks` neighbours make a row: one micro-batch across all ranks. The rows
/// of a window are dealt to its steps such that all steps cost about the same, so each step is a good mixture.
///
/// For both, packs from best fit in a random order (`best_fit_shuffled`) mix far better than packs from best-fit decreasing.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   how one length is weighed
/// @param packs    sample indices of each pack; samples in no pack are listed in `dropped`
/// @param lengths  tokens of each sample (`apply_oversize(…).tokens` if a packer cut some)
/// @param options  shape of a step, where ranks wait, what happens to an incomplete last step, and seed
/// @param cost     cost of a sample by its length
/// @param deal     how packs are dealt: `{.how = dealing::sorted, .window = 16}`
/// @return the plan, its cost and a lower bound; with `dealing::sorted`, an incomplete last step holds the cheapest packs of the last
/// window
/// @throws invalid_input for a bad option, length or cost, or packs that overlap, are empty or exceed the capacity
/// @par Complexity
/// O(samples) time, plus O(packs log packs) to sort; `redeal` adds O(samples log ranks) and a bounded number of exchanges per step or row.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Sorting: Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680. Cyclic emission and rows: this library.
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] batching<Index> deal_steps(groups<Index> packs, R const& lengths, batching_options const& options, Cost const& cost,
                                         deal_options const& deal = {}) {
  return deal_steps(std::move(packs), weigh(lengths, options, cost), options, deal);
}

/// @brief As above, for samples that were weighed before.
///
/// @tparam Index  type of the sample indices
/// @param packs    sample indices of each pack
/// @param samples  result of `weigh`
/// @param options  shape of a step, where ranks wait, what happens to an incomplete last step, and seed
/// @param deal     how packs are dealt
/// @return the plan, its cost and a lower bound
/// @throws invalid_input as the overload above, or if the samples were weighed for other options and do not fit these
template <index_type Index>
[[nodiscard]] batching<Index> deal_steps(groups<Index> packs, weighed_samples const& samples, batching_options const& options,
                                         deal_options const& deal = {}) {
  detail::require_fit<Index>(samples, options);
  auto outside = detail::samples_outside(packs, samples, options);
  switch (deal.how) {
    case dealing::sorted: return detail::sort_into_steps(std::move(packs), samples, options, deal, std::move(outside));
    case dealing::rows: return detail::rows_into_steps(std::move(packs), samples, options, deal, std::move(outside));
    case dealing::in_order:
    case dealing::random: break;
  }
  return detail::deal_as_they_come(std::move(packs), std::move(outside), samples, options, deal.how == dealing::random);
}

BALLAST_INSTANTIATE(batching<std::uint32_t> deal_steps(groups<std::uint32_t>, weighed_samples const&, batching_options const&,
                                                       deal_options const&))
BALLAST_INSTANTIATE(batching<std::uint64_t> deal_steps(groups<std::uint64_t>, weighed_samples const&, batching_options const&,
                                                       deal_options const&))

}  // namespace ballast::inline v0_2
