// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/partition/stage_cost.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <set>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Padded micro-batches of a batch, cut from its sorted samples: as the sampler of Hugging Face transformers does, and optimally.

namespace ballast::inline v0_2::batch_rebalance {

/// @brief The time of a row as transformers weighs it, in thousandths: `1000 L + L^2`. @return the cost
[[nodiscard]] constexpr quadratic_cost workload() noexcept { return {.linear = 1000, .quadratic = 1}; }

/// @brief A run. Only `ranks` has no default.
struct options {
  std::uint64_t ranks = 0;          ///< data-parallel ranks
  std::uint64_t micro_batches = 1;  ///< micro-batches of each rank: steps of gradient accumulation
  std::int64_t capacity = 0;        ///< most tokens of a micro-batch with padding, for `optimal`; 0 = no limit
};

/// @brief Micro-batches whose rows are padded to the longest one.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct plan {
  ballast::status status = status::infeasible;  ///< whether there are micro-batches
  /// Samples of each, longest first; entry `m * ranks + r` is micro-batch m of rank r. Micro-batches of an m are next to each other by
  /// cost, the most expensive first.
  groups<Index> micro_batches;
  certificate most;  ///< cost of the most expensive micro-batch, and a lower bound for every division of the samples into that many
};

namespace detail {

/// The samples longest first, and the cost of a row of each.
template <index_type Index>
struct rows {
  std::vector<keyed_item<Index>> samples;
  std::vector<std::int64_t> cost;
  std::uint64_t parts = 0;
};
template <index_type Index, length_range R, class Cost>
[[nodiscard]] rows<Index> sorted_rows(R const& lengths, options const& o, Cost const& cost) {
  for (auto const& [name, value] : {std::pair{"ranks", o.ranks}, {"micro_batches", o.micro_batches}})
    require(value > 0 && value < std::uint64_t{1} << 15, [&] { return sentence(name, " = ", value, " must be in 1 ... 2^15 - 1"); });
  require(o.capacity >= 0, [&] { return sentence("capacity = ", o.capacity, " must not be negative"); });
  (void)extent_of(lengths);
  auto const at = read_by_position(lengths);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  rows<Index> out;
  out.parts = o.ranks * o.micro_batches;
  for (std::size_t i = 0; i < n; ++i) {
    auto const length = static_cast<std::int64_t>(at[i]);
    auto const one = static_cast<std::int64_t>(cost(at[i]));
    require(one >= 0 && one <= (std::numeric_limits<std::int64_t>::max)() / 2 / static_cast<std::int64_t>(n), [&] {
      return sentence("the cost of ", entry("lengths", i, length), ", which is ", one,
                      ", must be in [0, 2^62) for as many rows as samples");
    });
    out.samples.push_back({length, static_cast<Index>(i)});
  }
  std::vector<keyed_item<Index>> scratch;
  sort_largest_first(out.samples, scratch);
  for (auto const& s : out.samples) out.cost.push_back(static_cast<std::int64_t>(cost(at[static_cast<std::size_t>(s.item)])));
  return out;
}

/// The cut with the least cost of a micro-batch; samples that none has room for are not possible.
template <index_type Index>
[[nodiscard]] staged<Index> best_cut(rows<Index> const& of, std::int64_t capacity, std::uint64_t fewest) {
  return min_max_partition<Index>(of.samples.size(), {.stages = of.parts, .min_layers = fewest},
                                  [&](std::uint64_t begin, std::uint64_t end, std::uint64_t) {
                                    auto const count = static_cast<std::int64_t>(end - begin);
                                    auto const b = static_cast<std::size_t>(begin);
                                    if (capacity > 0 && of.samples[b].key > capacity / count) return unaffordable;
                                    return count * of.cost[b];
                                  });
}

/// Deals the parts by cost to one micro-batch after the other. `begin` has the first sample of each, and the number of samples.
template <index_type Index>
void deal(rows<Index> const& of, std::vector<std::size_t> const& begin, plan<Index>& out) {
  auto const cost = [&](std::size_t k) {
    return begin[k] == begin[k + 1] ? 0 : static_cast<std::int64_t>(begin[k + 1] - begin[k]) * of.cost[begin[k]];
  };
  std::vector<Index> mine;
  for (auto const k : order_by<std::size_t>(begin.size() - 1, [&](std::size_t i) { return -cost(i); })) {
    mine.clear();
    for (auto i = begin[k]; i < begin[k + 1]; ++i) mine.push_back(of.samples[i].item);
    out.micro_batches.push_back(mine);
    out.most.value = (std::max)(out.most.value, cost(k));
  }
}

/// The search of transformers for the numbers of samples of neighbouring parts.
template <index_type Index>
class count_search {
 public:
  count_search(rows<Index> const& of, options const& o)
      : of_(of), ranks_(static_cast<std::size_t>(o.ranks)), parts_(static_cast<std::size_t>(of.parts)), frozen_(parts_, false) {}

  std::vector<std::size_t> run() {
    auto const n = of_.samples.size();
    for (std::size_t k = 0; k < parts_; ++k) counts_.push_back(n / parts_ + (k < n % parts_ ? 1 : 0));
    auto best = counts_;
    auto narrowest = (std::numeric_limits<std::int64_t>::max)();
    std::set<std::vector<std::size_t>> seen;  // stops a circle
    for (auto moves = (std::max)(30 * parts_, n); moves > 0 && seen.insert(counts_).second; --moves) {
      price();
      std::size_t high = parts_, low = parts_;
      std::size_t active = 0;
      for (std::size_t k = 0; k < parts_; ++k) {
        if (frozen_[k]) continue;
        ++active;
        if (high == parts_ || costs_[k] > costs_[high]) high = k;
        if (low == parts_ || costs_[k] < costs_[low]) low = k;
      }
      if (active <= 1) break;
      if (auto const spread = costs_[high] - costs_[low]; spread < narrowest) {
        narrowest = spread;
        best = counts_;
      }
      if (costs_[high] == costs_[low]) break;
      if (counts_[high] > 1) {
        --counts_[high];
        ++counts_[low];
      } else {
        freeze(high);
      }
    }
    return best;
  }

 private:
  void price() {
    costs_.clear();
    std::size_t first = 0;
    for (auto const count : counts_) {
      costs_.push_back(count == 0 ? 0 : static_cast<std::int64_t>(count) * of_.cost[first]);
      first += count;
    }
  }
  /// The part cannot give samples away: the parts of its micro-batch are filled up to its cost, and stay as they are.
  void freeze(std::size_t high) {
    auto const ranking = order_by<std::size_t>(parts_, [&](std::size_t k) { return -costs_[k]; });
    auto const place = static_cast<std::size_t>(std::find(ranking.begin(), ranking.end(), high) - ranking.begin()) / ranks_ * ranks_;
    std::vector<std::size_t> together(ranking.begin() + static_cast<std::ptrdiff_t>(place),
                                      ranking.begin() + static_cast<std::ptrdiff_t>((std::min)(place + ranks_, parts_)));
    std::sort(together.begin(), together.end());
    auto const most = costs_[high];
    for (auto const k : together)
      while (!frozen_[k] && k != high) {
        price();
        std::size_t first = 0;
        for (std::size_t i = 0; i < k; ++i) first += counts_[i];
        if (static_cast<std::int64_t>(counts_[k] + 1) * of_.cost[first] > most) break;
        auto donor = parts_;
        for (std::size_t i = 0; i < parts_; ++i)
          if (!frozen_[i] && counts_[i] > 1 && !std::binary_search(together.begin(), together.end(), i) &&
              (donor == parts_ || costs_[i] < costs_[donor]))
            donor = i;
        if (donor == parts_) break;
        ++counts_[k];
        --counts_[donor];
      }
    for (auto const k : together) frozen_[k] = true;
  }

  rows<Index> const& of_;
  std::size_t ranks_, parts_;
  std::vector<bool> frozen_;
  std::vector<std::size_t> counts_;
  std::vector<std::int64_t> costs_;
};

}  // namespace detail

/// @brief Divides a batch into padded micro-batches as the `BatchRebalanceSampler` of transformers does.
///
/// Samples are sorted, longest first, and cut into neighbouring parts of equal numbers. The most expensive part gives a sample to the
/// cheapest, all cuts between them move, and so on; the numbers with the least difference of costs are kept. A part of one sample cannot
/// give it away: the micro-batch that it would be dealt to is filled up to its cost, and kept as it is. Parts are dealt by cost, most
/// expensive first: as many as there are ranks to each micro-batch.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param lengths  tokens of each sample
/// @param o        the run; `capacity` is not read, as the sampler has none
/// @param cost     time of a row, not negative, which longer rows do not have less of
/// @return the micro-batches, `infeasible` with fewer samples than micro-batches. `most.lower_bound` is what `optimal` has
/// @throws invalid_input if an option or length is out of its range, or the cost of a row times the number of samples reaches 2^62
/// @par Complexity
/// O(n log n + (n + 30 k) k log n) for k micro-batches of all ranks.
/// @par Determinism
/// A pure function of its arguments, in integers; equal lengths keep their order. Parts that are filled up together are filled in the order
/// of their samples, where the published code takes the order of a hash table.
/// @par Source
/// `BatchRebalanceSampler` in trainer_pt_utils.py of huggingface/transformers 5.24 (2026).
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = quadratic_cost>
[[nodiscard]] plan<Index> as_published(R const& lengths, options const& o, Cost const& cost = workload()) {
  auto const of = detail::sorted_rows<Index>(lengths, o, cost);
  plan<Index> out;
  if (of.samples.size() < of.parts) return out;
  std::vector<std::size_t> begin{0};
  for (auto const count : detail::count_search<Index>(of, o).run()) begin.push_back(begin.back() + count);
  detail::deal(of, begin, out);
  out.status = status::feasible;
  out.most.lower_bound = detail::best_cut(of, 0, 1).bottleneck.value;
  return out;
}

/// @brief Divides a batch into padded micro-batches such that the most expensive one costs least.
///
/// It cuts the sorted samples where `min_max_partition` does. No division of the samples into that many micro-batches, neighbours in length
/// or not, has a cheaper most expensive one: give the parts of any division, the longest first, the sorted samples in turn, as many as they
/// had. A part and those behind it held all the samples that are shorter than its longest, so its longest is no longer than before.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `cost_model`
/// @param lengths  tokens of each sample
/// @param o        the run; with fewer samples than micro-batches, some are empty
/// @param cost     time of a row, not negative, which longer rows do not have less of
/// @return the micro-batches, proven optimal; `infeasible` if no division into that many keeps the capacity
/// @throws invalid_input as `as_published`
/// @par Complexity
/// O(n log n + k log n log(cost)) for k micro-batches of all ranks.
/// @par Determinism
/// A pure function of its arguments, in integers; equal lengths keep their order.
template <index_type Index = std::uint32_t, length_range R, cost_model Cost = quadratic_cost>
[[nodiscard]] plan<Index> optimal(R const& lengths, options const& o, Cost const& cost = workload()) {
  auto const of = detail::sorted_rows<Index>(lengths, o, cost);
  auto const cut = detail::best_cut(of, o.capacity, of.samples.size() < of.parts ? 0 : 1);
  plan<Index> out;
  if (cut.status != status::feasible) return out;
  detail::deal(of, std::vector<std::size_t>(cut.boundaries.begin(), cut.boundaries.end()), out);
  out.status = status::feasible;
  out.most.lower_bound = cut.bottleneck.lower_bound;
  return out;
}

}  // namespace ballast::inline v0_2::batch_rebalance
