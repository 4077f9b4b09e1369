// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/detail/open_packs.hpp>
#include <ballast/packing/vector/detail/relative_size.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

/// @file
/// @brief Best-fit decreasing for samples of several measures, computed on their classes.

namespace ballast::inline v0_2 {

namespace detail {

/// Best fit in bulk: the classes in the given order, all samples of a class at once.
template <class = when_called>
[[nodiscard]] inline pack_patterns best_fit_in_order(measure_classes const& classes, std::span<std::int64_t const> capacity,
                                                     std::span<std::uint32_t const> order, room_score const& score) {
  auto const k = classes.measures;
  constexpr auto most_copies = std::uint64_t{(std::numeric_limits<std::uint32_t>::max)()};
  open_packs<> open(k);
  pack_patterns out;
  // least[m] at position p: what every later sample needs at least of measure m. A pack with less room is closed.
  std::vector<std::int64_t> least((order.size() + 1) * k, (std::numeric_limits<std::int64_t>::max)());
  for (auto p = order.size(); p-- > 0;)
    for (std::size_t m = 0; m < k; ++m) least[p * k + m] = (std::min)(least[(p + 1) * k + m], classes[order[p]][m]);

  std::vector<std::int64_t> room(k), before(k);
  for (std::size_t p = 0; p < order.size(); ++p) {
    auto const c = order[p];
    auto const sample = classes[c];
    auto left = classes.counts[c];
    auto const copies_in = [&](std::span<std::int64_t const> r) {
      auto copies = (std::min)(left, most_copies);
      for (std::size_t m = 0; m < k; ++m)
        if (sample[m] > 0) copies = (std::min)(copies, static_cast<std::uint64_t>(r[m] / sample[m]));
      return copies;
    };
    auto const put = [&](std::uint64_t copies, std::uint64_t packs, std::uint32_t chain, std::span<std::int64_t const> r) {
      bool closed = copies == most_copies;  // a pattern cannot hold more copies of a class
      for (std::size_t m = 0; m < k; ++m) {
        room[m] = r[m] - static_cast<std::int64_t>(copies) * sample[m];
        closed = closed || room[m] < least[(p + 1) * k + m];
      }
      left -= copies * packs;
      pattern_item const item{c, static_cast<std::uint32_t>(copies)};
      if (closed)
        open.emit(item, chain, packs, out);
      else
        open.insert(score(room), packs, item, chain, room);
    };
    while (left > 0) {
      auto const at = open.find(sample);
      if (open.is_end(at)) {
        auto const copies = copies_in(capacity);
        put(copies, left / copies, open_packs<>::nothing, capacity);
        continue;
      }
      auto const e = open[at];
      before.assign(open.room(e).begin(), open.room(e).end());
      auto const copies = copies_in(before);
      auto const packs = (std::min)(left / copies, e.count);
      if (packs == e.count)
        open.erase(at);
      else
        open[at].count -= packs;
      put(copies, packs, e.chain, before);
    }
  }
  open.emit_all(out);
  return out;
}

}  // namespace detail

/// @brief Packs classes by best-fit decreasing: each sample, largest first, goes into the fullest pack that has room for it.
///
/// The size of a sample is a weighted sum of its relative measures (shares of the capacities), and the fullest pack has the least weighted
/// room. No weights are best for all data, so several are tried and the plan of fewest packs is returned. Sizes are weighed by the total
/// demand of each measure, equally, or by the largest measure only; for each of these, fullness is mainly that of the measure in highest
/// demand, or in lowest demand. Samples of a class go into equal packs in one step.
///
/// @param classes   the classes to pack, ascending, with positive counts; a measure may be 0
/// @param capacity  capacity of one pack in each measure, not below any value of the classes
/// @return packs of all samples, as patterns of classes; with one measure the packs of `best_fit_decreasing`
/// @throws invalid_input unless the classes and the capacities are valid
/// @par Complexity
/// O(D log D + S (O / 32 + 64) K) time for D classes, S bulk steps (1 to 2 D on real data), K measures and at most O kinds of open packs;
/// independent of the number of samples.
/// @par Determinism
/// A pure function of its arguments, decided in integers.
/// @par Source
/// Panigrahy, Talwar, Uyeda, Wieder, "Heuristics for vector bin packing", Microsoft Research (2011): the weights by total demand.
template <class = when_called>
[[nodiscard]] pack_patterns plan_vector_best_fit(measure_classes const& classes, std::span<std::int64_t const> capacity) {
  require_valid(classes, capacity);
  auto const k = classes.measures;
  auto const sizes = detail::relative_sizes(classes, capacity);
  auto const demand = detail::relative_demand(classes, capacity);
  auto const [least, most] = std::minmax_element(demand.begin(), demand.end());
  auto const emphasis = [&](std::size_t m) {
    std::vector<std::int64_t> weights(k, 1);
    weights[m] = 1024;
    return detail::room_score(capacity, weights);
  };
  detail::room_score const scores[] = {emphasis(static_cast<std::size_t>(most - demand.begin())),
                                       emphasis(static_cast<std::size_t>(least - demand.begin()))};
  auto const enough = static_cast<std::uint64_t>(detail::volume_packs(classes, capacity));

  pack_patterns best;
  std::vector<std::int64_t> key(classes.size());
  std::vector<std::uint32_t> order(classes.size());
  for (int way = 0; way < 3; ++way) {
    for (std::size_t c = 0; c < classes.size(); ++c) {
      auto const size = std::span(sizes).subspan(c * k, k);
      key[c] = way == 0   ? std::inner_product(size.begin(), size.end(), demand.begin(), std::int64_t{0})
               : way == 1 ? std::accumulate(size.begin(), size.end(), std::int64_t{0})
                          : *std::max_element(size.begin(), size.end());
    }
    std::iota(order.begin(), order.end(), 0U);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return key[a] != key[b] ? key[a] > key[b] : a > b; });
    for (auto const& score : scores) {
      auto found = detail::best_fit_in_order(classes, capacity, order, score);
      if (best.size() == 0 || found.packs() < best.packs()) best = std::move(found);
      if (k == 1 || best.packs() == enough || classes.size() > detail::many_classes) return best;
    }
  }
  return best;
}

/// @brief Packs samples of several measures by best-fit decreasing; see `plan_vector_best_fit`.
///
/// @tparam Index  type of the sample indices
/// @param samples  measures of each sample; may be empty
/// @param options  capacities and limits
/// @return packs of sample indices with their certificate; the samples of a class are taken in ascending order
/// @throws invalid_input for a bad option, a negative measure, a sample whose measures are all 0, or a sample above a capacity under
/// `oversize::reject`
/// @par Complexity
/// O(n) to classify and expand if the measures' ranges are moderate (see `classify`), plus the time of the plan.
/// @par Determinism
/// A pure function of samples and options.
template <index_type Index = std::uint32_t>
[[nodiscard]] vector_packing<Index> vector_best_fit(sample_measures const& samples, vector_packing_options const& options) {
  return detail::drive<Index>(samples, options, vector_packer::best_fit, [](auto const& items, auto& out) {
    detail::expand_all(plan_vector_best_fit(items.classes, items.capacity), items, out.packs);
  });
}

BALLAST_INSTANTIATE(pack_patterns plan_vector_best_fit(measure_classes const&, std::span<std::int64_t const>))

}  // namespace ballast::inline v0_2
