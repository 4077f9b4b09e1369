// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/fill_places.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>
#include <ballast/packing/raise_pack_count.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// Makes full steps of existing packs: settles left-over packs, then cuts an order of packs into steps.

namespace ballast::inline v0_2::detail {

/// The samples in no pack. Throws unless packs hold each sample at most once and meet the capacity.
template <index_type Index>
[[nodiscard]] std::vector<Index> samples_outside(groups<Index> const& packs, weighed_samples const& items, batching_options const& o) {
  std::vector<char> seen(items.size(), 0);
  for (std::size_t p = 0; p < packs.size(); ++p) {
    auto const entry = [&] { return sentence("packs[", p, "]"); };
    std::int64_t tokens = 0;
    require(!packs[p].empty(), [&] { return entry() + " is empty"; });
    for (auto i : packs[p]) {
      require(i < items.size(), [&] { return sentence(entry(), " has member ", i, " of ", items.size(), " samples"); });
      require(!std::exchange(seen[i], char{1}), [&] { return sentence(entry(), " has sample ", i, ", which is in a pack already"); });
      tokens += items.tokens[i];
    }
    require(tokens <= o.capacity, [&] { return sentence(entry(), " holds ", tokens, " tokens, more than capacity ", o.capacity); });
  }
  std::vector<Index> outside;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!seen[i]) outside.push_back(static_cast<Index>(i));
  return outside;
}

/// Raises the number of packs to a multiple of `unit`, if there are enough samples; returns whether it is one now. The last packs give up
/// samples, if they can: a few steps of packs are enough.
template <index_type Index>
bool split_to_multiple(groups<Index>& packs, std::size_t unit, weighed_samples const& items, batching_options const& o) {
  auto const places = static_cast<std::size_t>(o.ranks * o.micro_batches), given = packs.size();
  auto const missing = (unit - given % unit) % unit;
  if (missing == 0) return true;
  auto const tokens = [&](Index i) { return items.tokens[i]; };
  groups<Index> last;
  auto const first = given - (std::min)(given, 4 * places);
  for (auto p = first; first != 0 && p < given; ++p) last.push_back(packs[p]);
  if (first == 0 || !raise_pack_count(last, last.size() + missing, tokens)) return raise_pack_count(packs, given + missing, tokens);
  packs.offsets.resize(first + 1);
  packs.members.resize(static_cast<std::size_t>(packs.offsets.back()));
  for (auto const pack : last) packs.push_back(pack);
  return true;
}

/// Applies the policies that act on an order of packs: the incomplete last step is dropped, or filled with copies of the first packs.
template <index_type Index>
void settle_left_over(batching<Index>& b, std::vector<Index>& order, weighed_samples const& items, batching_options const& o) {
  auto const places = static_cast<std::size_t>(o.ranks * o.micro_batches);
  auto const whole = order.size() / places * places;
  if (o.left_over == left_over::drop) {
    for (auto k = whole; k < order.size(); ++k) b.dropped.insert(b.dropped.end(), b.packs[order[k]].begin(), b.packs[order[k]].end());
    order.resize(whole);
    std::sort(b.dropped.begin(), b.dropped.end());
  } else if (o.left_over == left_over::repeat && whole != order.size()) {
    auto const given = order.size();
    require(whole + places < batching<Index>::none, [] { return "repeated packs need a 64-bit index: call with <std::uint64_t>"; });
    repeat_budget budget(items, o);
    for (auto k = given; k < whole + places; ++k) {
      auto const pack = b.packs[order[k - given]];  // after the first round these are copies of copies
      std::vector<Index> const copy(pack.begin(), pack.end());
      for (auto i : copy) budget.take(i);
      order.push_back(static_cast<Index>(b.packs.size()));
      b.packs.push_back(copy);
      b.repeated.insert(b.repeated.end(), copy.begin(), copy.end());
    }
    std::sort(b.repeated.begin(), b.repeated.end());
  }
}

/// Takes packs, and the samples in none of them; settles left-overs and returns the pack numbers, in the random order of the epoch or as
/// they are.
template <index_type Index>
[[nodiscard]] std::vector<Index> take_order(batching<Index>& b, groups<Index> packs, std::vector<Index> outside,
                                            weighed_samples const& items, batching_options const& o, bool shuffle = true) {
  b.ranks = o.ranks;
  b.micro_batches = o.micro_batches;
  b.packs = std::move(packs);
  b.dropped = std::move(outside);
  if (o.left_over == left_over::split) (void)split_to_multiple(b.packs, static_cast<std::size_t>(o.ranks * o.micro_batches), items, o);
  std::vector<Index> order(b.packs.size());
  std::iota(order.begin(), order.end(), Index{0});
  if (shuffle) order = random_permutation<Index>(b.packs.size(), epoch_seed(o));
  settle_left_over(b, order, items, o);
  return order;
}

/// Cuts an order of packs into steps: the k-th pack of a step goes to micro-batch k / ranks of rank k % ranks.
template <index_type Index>
void cut_into_steps(batching<Index>& b, std::span<Index const> order) {
  auto const ranks = static_cast<std::size_t>(b.ranks), each = static_cast<std::size_t>(b.micro_batches);
  b.table.assign((order.size() + ranks * each - 1) / (ranks * each) * ranks * each, b.none);
  for (std::size_t k = 0; k < order.size(); ++k) {
    auto const step = k / (ranks * each), place = k % (ranks * each);
    b.table[(step * ranks + place % ranks) * each + place / ranks] = order[k];
  }
}

/// `dealing::in_order` and `dealing::random`: the packs in the given order, or shuffled.
template <index_type Index>
[[nodiscard]] batching<Index> deal_as_they_come(groups<Index> packs, std::vector<Index> outside, weighed_samples const& items,
                                                batching_options const& o, bool shuffle) {
  batching<Index> b;
  auto const order = take_order(b, std::move(packs), std::move(outside), items, o, shuffle);
  cut_into_steps(b, std::span<Index const>(order));
  fill_places(b, items, o, mixing::never);
  certify(b, items, o);
  return b;
}

}  // namespace ballast::inline v0_2::detail
