// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/deal_packs.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/detail/vector_parts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

// Makes full steps of packs of samples with several measures, and computes their loads.

namespace ballast::inline v0_2::detail {

/// The totals of packs: each measure, and the cost.
struct pack_loads {
  load_table measures;
  std::vector<pack_sum> sums;
};

/// Sums the packs from number `from` on; the sums of earlier packs are known. `each` is the fixed cost of a micro-batch.
template <index_type Index>
void sum_up(groups<Index> const& packs, weighed_vectors const& of, std::int64_t each, std::size_t from, pack_loads& out) {
  auto const k = of.samples.measures(), count = packs.size(), slack = count / 64 + 4096;  // room for the few packs that are added
  out.measures.columns = k;
  out.measures.loads.reserve((from == 0 ? count + slack : count) * k);
  out.measures.loads.resize(count * k);
  for (std::size_t m = 0; m < k; ++m) {
    auto const column = of.samples.column(m);
    for (auto p = from; p < count; ++p) {
      std::int64_t sum = 0;
      for (auto i : packs[p]) sum += column[i];
      out.measures.loads[p * k + m] = sum;
    }
  }
  out.sums.reserve(from == 0 ? count + slack : count);
  out.sums.resize(count);
  for (auto p = from; p < count; ++p) {
    pack_sum sum{.cost = each};
    for (auto i : packs[p]) {
      auto const cost = of.items.cost[i];
      sum.cost += cost;
      sum.most_expensive = (std::max)(sum.most_expensive, cost + each);
    }
    out.sums[p] = sum;
  }
}

/// Throws if a pack exceeds a capacity, has too many samples or mixes samples that are kept apart.
template <index_type Index>
void require_legal(groups<Index> const& packs, load_table const& loads, weighed_vectors const& of, vector_batching_options const& o) {
  for (std::size_t p = 0; p < packs.size(); ++p) {
    auto const pack = packs[p];
    auto const entry = [&] { return sentence("packs[", p, "]"); };
    require(o.max_samples == 0 || pack.size() <= o.max_samples,
            [&] { return sentence(entry(), " holds ", pack.size(), " samples, more than max_samples = ", o.max_samples); });
    for (std::size_t m = 0; m < loads.columns; ++m)
      require(loads[p][m] <= of.capacity[m] || (pack.size() == 1 && o.oversize == oversize::alone), [&] {
        return sentence(entry(), " holds ", loads[p][m], " of measure ", m, ", more than capacity[", m, "] = ", of.capacity[m]);
      });
    if (o.separate)
      for (auto i : pack)
        require(of.kind(o.separate, i) == of.kind(o.separate, pack[0]),
                [&] { return sentence(entry(), " mixes samples ", pack[0], " and ", i, ", which measure ", *o.separate, " separates"); });
  }
}

/// Deals the samples of the last `take` packs to `count` packs: each sample, most expensive first, goes to the cheapest pack with room.
/// Returns whether all samples found room and no pack is empty; otherwise nothing has changed.
template <index_type Index>
[[nodiscard]] bool redeal_last(groups<Index>& packs, std::size_t take, std::size_t count, weighed_vectors const& of,
                               vector_batching_options const& o) {
  auto const k = of.samples.measures(), first = packs.size() - take;
  std::vector<Index> samples(packs.members.begin() + static_cast<std::ptrdiff_t>(packs.offsets[first]), packs.members.end());
  std::sort(samples.begin(), samples.end(), falling([&](Index i) { return of.items.cost[i]; }));
  std::vector<std::vector<Index>> dealt(count);
  std::vector<std::int64_t> load(count * k);
  std::set<std::pair<std::int64_t, std::size_t>> by_cost;
  for (std::size_t p = 0; p < count; ++p) by_cost.emplace(0, p);
  for (auto i : samples) {
    auto const fits = [&](auto const& entry) {
      auto const p = entry.second;
      if (o.max_samples != 0 && dealt[p].size() >= o.max_samples) return false;
      for (std::size_t m = 0; m < k; ++m)
        if (load[p * k + m] + of.samples.column(m)[i] > of.capacity[m] && !dealt[p].empty()) return false;
      return true;
    };
    auto const at = std::find_if(by_cost.begin(), by_cost.end(), fits);
    if (at == by_cost.end()) return false;
    auto const [cost, p] = *at;
    by_cost.erase(at);
    by_cost.emplace(cost + of.items.cost[i], p);
    dealt[p].push_back(i);
    for (std::size_t m = 0; m < k; ++m) load[p * k + m] += of.samples.column(m)[i];
  }
  if (std::any_of(dealt.begin(), dealt.end(), [](auto const& p) { return p.empty(); })) return false;
  packs.offsets.resize(first + 1);
  packs.members.resize(static_cast<std::size_t>(packs.offsets.back()));
  for (auto const& p : dealt) packs.push_back(p);
  return true;
}

/// If packs must be split to fill the last step, deals the samples of the last packs again, so that these are balanced. If that is not
/// possible, or only the ranks must have equal numbers of packs, single samples are split off. Returns the first pack that has changed; the
/// packs from there on belong in the same steps.
template <index_type Index>
[[nodiscard]] std::size_t split_alike(groups<Index>& packs, weighed_vectors const& of, vector_batching_options const& o) {
  auto const places = static_cast<std::size_t>(o.steps.ranks * o.steps.micro_batches), given = packs.size();
  auto const shape = shape_of(o);
  if (o.steps.left_over == left_over::repeat || o.steps.left_over == left_over::drop || given % places == 0) return given;
  constexpr std::size_t most_steps = 8;
  for (std::size_t steps = 1; o.steps.left_over == left_over::split && steps <= most_steps && steps * places <= given + places; ++steps) {
    auto const take = given % places + (steps - 1) * places;
    auto const first = given - take;
    if (packs.members.size() - packs.offsets[first] >= 2 * steps * places && redeal_last(packs, take, steps * places, of, o)) return first;
  }
  auto const filled = o.steps.left_over == left_over::split && split_to_multiple(packs, places, of.items, shape);
  if (!filled && o.steps.equal_micro_batches) (void)split_to_multiple(packs, static_cast<std::size_t>(o.steps.ranks), of.items, shape);
  return o.steps.left_over == left_over::split || packs.size() != given ? 0 : given;
}

/// Settles left-overs, puts the packs of each kind of samples in a random order, and sums their loads.
template <index_type Index>
[[nodiscard]] std::array<std::vector<Index>, 2> take_kinds(batching<Index>& b, groups<Index> packs, weighed_vectors const& of,
                                                           vector_batching_options const& o, pack_loads& loads) {
  auto shape = shape_of(o);
  shape.capacity = (std::numeric_limits<std::int64_t>::max)();
  b.ranks = shape.ranks;
  b.micro_batches = shape.micro_batches;
  b.dropped = samples_outside(packs, of.items, shape);
  b.packs = std::move(packs);
  sum_up(b.packs, of, o.steps.cost_per_micro_batch, 0, loads);
  require_legal(b.packs, loads.measures, of, o);
  std::array<groups<Index>, 2> part;
  if (o.separate)
    for (auto const pack : b.packs) part[of.kind(o.separate, pack[0])].push_back(pack);
  else
    part[0] = std::move(b.packs);
  b.packs.clear();
  std::array<std::vector<Index>, 2> order;
  std::size_t same = 0;  // packs that keep their place
  for (std::size_t kind = 0; kind < 2; ++kind) {
    auto const split = split_alike(part[kind], of, o), offset = b.packs.size();
    if (!o.separate && kind == 0) same = split;
    auto const mixed = split == 0 ? part[kind].size() : split;
    order[kind] = random_permutation<Index>(mixed, epoch_seed(shape) + kind);
    for (auto p = mixed; p < part[kind].size(); ++p) order[kind].push_back(static_cast<Index>(p));
    for (auto& p : order[kind]) p += static_cast<Index>(offset);
    if (kind == 0)
      b.packs = std::move(part[0]);
    else
      for (auto const pack : part[1]) b.packs.push_back(pack);
  }
  for (auto& of_kind : order) settle_left_over(b, of_kind, of.items, shape);
  sum_up(b.packs, of, o.steps.cost_per_micro_batch, same, loads);
  return order;
}

/// The columns to balance, weighted: each measure with a weight, and the cost if it is not their sum.
template <class = when_called>
[[nodiscard]] inline load_table balanced_columns(pack_loads const& packs, weighed_vectors const& of, std::size_t window_rows) {
  auto const& [measures, sums] = packs;
  std::vector<std::size_t> counted;
  for (std::size_t m = 0; m < measures.columns; ++m)
    if (of.weight[m] != 0) counted.push_back(m);
  load_table out{counted.size() + (of.cost_differs ? 1 : 0), {}};
  out.loads.reserve(out.columns * sums.size());
  std::int64_t weighted = 0, most = 1;
  for (auto m : counted)
    for (auto v : of.samples.column(m)) weighted += of.weight[m] * v;
  // A cost in other units gets the mean weight of a measure.
  auto const target =
      static_cast<std::uint64_t>(counted.empty() ? of.items.all_cost : weighted / static_cast<std::int64_t>(counted.size()));
  auto const unit = static_cast<std::uint64_t>((std::max)(of.items.all_cost, std::int64_t{1}));
  for (std::size_t p = 0; p < sums.size(); ++p) {
    for (auto m : counted) out.loads.push_back(of.weight[m] * measures[p][m]);
    if (of.cost_differs)
      out.loads.push_back(static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(sums[p].cost), target, unit)));
  }
  for (auto v : out.loads) most = (std::max)(most, v);
  // The largest sum: the largest load of a column times the rows of a window, over all columns.
  auto const limit = (std::int64_t{1} << 62) / static_cast<std::int64_t>((std::max)(out.columns, std::size_t{1}) * window_rows);
  int shift = 0;
  while (most >> shift > limit) ++shift;
  if (shift != 0)
    for (auto& v : out.loads) v >>= shift;
  return out;
}

}  // namespace ballast::inline v0_2::detail
