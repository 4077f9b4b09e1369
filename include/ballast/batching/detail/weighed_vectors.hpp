// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/vector_options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// Samples of several measures for the planners of steps: validated and weighed.

namespace ballast::inline v0_2::detail {

/// Samples with their costs; `tokens` holds the last measure.
struct weighed_vectors {
  sample_measures const& samples;
  weighed_samples items;
  std::vector<std::int64_t> capacity;  ///< of each measure
  std::vector<std::int64_t> weight;    ///< weight of each measure
  bool cost_differs = false;           ///< whether the cost differs from the weighted sum, so that it is balanced separately

  /// 1 for samples that are kept apart from the others, else 0.
  [[nodiscard]] std::size_t kind(std::optional<std::size_t> separate, std::size_t i) const noexcept {
    return separate && samples.column(*separate)[i] == 0 ? 1 : 0;
  }
};

/// The options for planners of one measure, without the capacity, which differs between measures.
[[nodiscard]] inline batching_options shape_of(vector_batching_options const& o) {
  auto shape = o.steps;
  shape.capacity = 1;
  return shape;
}

/// The given weights, or weights under which the sums of all measures are equal. Products of weights and sums stay below 2^61.
template <class = when_called>
[[nodiscard]] inline std::vector<std::int64_t> weights_of(sample_measures const& samples, vector_batching_options const& o) {
  auto const k = samples.measures();
  require(o.weights.empty() || o.weights.size() == k,
          [&] { return sentence("weights has ", o.weights.size(), " entries for ", k, " measures"); });
  std::vector<std::int64_t> total(k), weight(o.weights);
  for (std::size_t m = 0; m < k; ++m)
    for (auto v : samples.column(m)) total[m] += v;
  auto const most = (std::int64_t{1} << 61) / static_cast<std::int64_t>(k), largest = *std::max_element(total.begin(), total.end());
  if (weight.empty()) {
    auto const unit = static_cast<std::uint64_t>(largest <= most / 512 ? 256 : 1);
    for (auto t : total)
      weight.push_back(static_cast<std::int64_t>(
          t == 0 ? 1 : multiply_divide_up(static_cast<std::uint64_t>(largest), unit, static_cast<std::uint64_t>(t))));
  }
  for (std::size_t m = 0; m < k; ++m) {
    auto const entry = [&] { return ballast::entry("weights", m, weight[m]); };
    require(weight[m] >= 0, [&] { return entry() + " must not be negative"; });
    require(total[m] == 0 || weight[m] <= most / total[m],
            [&] { return sentence(entry(), " brings the weighted sum of its measure, which is ", total[m], ", too near to 2^63"); });
  }
  return weight;
}

/// Validates and weighs. No sum that a planner forms of these costs can reach 2^63.
template <index_type Index, row_cost Cost>
[[nodiscard]] weighed_vectors weigh_measures(sample_measures const& samples, vector_batching_options const& o, Cost const& cost) {
  require(o.others.size() + 1 == samples.measures(), [&] {
    return sentence("others has ", o.others.size(), " capacities for ", samples.measures(), " measures: one less is needed");
  });
  auto const capacity = capacities_of(o);
  require_valid(samples, vector_packing_options{.capacity = capacity, .oversize = o.oversize});
  require_valid(shape_of(o));
  require_valid(samples);
  auto const n = samples.size(), k = samples.measures();
  require(n < batching<Index>::none, [&] { return sentence(n, " samples need a 64-bit index: call with <std::uint64_t>"); });
  require(!o.separate || *o.separate < k, [&] { return sentence("separate = ", *o.separate, " is no measure: there are ", k); });
  require(!std::same_as<Cost, weighted_sum> || o.weights.empty() ||
              std::any_of(o.weights.begin(), o.weights.end(), [](auto w) { return w != 0; }),
          [] { return "no measure has a positive weight"; });
  weighed_vectors out{samples, {}, capacity, weights_of(samples, o), !std::same_as<Cost, weighted_sum>};
  auto& items = out.items;
  auto const most = (std::min)(most_cost(n, shape_of(o)), (std::int64_t{1} << 61) - 1) + 1;
  items.tokens.assign(samples.column(k - 1).begin(), samples.column(k - 1).end());
  items.cost.assign(n, 0);
  if constexpr (std::same_as<Cost, weighted_sum>) {
    for (std::size_t m = 0; m < k; ++m)
      for (std::size_t i = 0; i < n; ++i) items.cost[i] += out.weight[m] * samples.column(m)[i];
  } else {
    std::vector<std::int64_t> row(k);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t m = 0; m < k; ++m) row[m] = samples.column(m)[i];
      auto const value = cost(std::span<std::int64_t const>(row));
      require(std::cmp_greater_equal(value, 0) && std::cmp_less_equal(value, most - sum), [&] {
        return sentence("sample ", i, " has cost ", value, ", which is negative or brings the sum of costs too near to 2^63");
      });
      sum += items.cost[i] = static_cast<std::int64_t>(value);
    }
  }
  items.all_tokens = std::accumulate(items.tokens.begin(), items.tokens.end(), std::int64_t{0});
  items.all_cost = std::accumulate(items.cost.begin(), items.cost.end(), std::int64_t{0});
  require(items.all_cost <= most, [&] {
    return sentence("the weighted sum of all measures, ", items.all_cost, ", is too near to 2^63 for ", o.steps.stages,
                    " stages and the fixed costs");
  });
  return out;
}

}  // namespace ballast::inline v0_2::detail
