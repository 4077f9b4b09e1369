// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/vector_options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// Samples of several measures, validated and weighed; and packs in an order in which neighbours are similar in several measures.

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
        return sentence("sample ", i, " has cost ", value,
                        ", which is negative or brings the sum of costs too near to 2^63; count costs in a larger unit");
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

/// Loads of packs, pack after pack, with `columns` integers each.
struct load_table {
  std::size_t columns = 0;
  std::vector<std::int64_t> loads;
  [[nodiscard]] std::int64_t const* operator[](std::size_t pack) const noexcept { return loads.data() + pack * columns; }
};

/// Orders packs such that the `ranks` packs of a row are similar in every column. The packs are divided along the column and at the place
/// that reduces the sum over rows and columns of the largest load most, and each part is divided again. A part has at least a quarter of
/// the rows, which bounds the depth; cuts at other places would not balance rows better.
template <index_type Index>
class like_rows {
 public:
  like_rows(load_table const& of, std::size_t ranks) : of_(of), ranks_(ranks), order_(of.columns) {}

  /// Orders the packs of full rows.
  void operator()(std::span<Index> packs) {
    auto const n = packs.size();
    load_.resize(n * of_.columns);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t c = 0; c < of_.columns; ++c) load_[c * n + i] = of_[packs[i]][c];
    for (std::size_t c = 0; c < of_.columns; ++c) {
      order_[c].resize(n);
      std::iota(order_[c].begin(), order_[c].end(), Index{0});
      sort_by(order_[c], [&](Index x, Index y) { return precedes(x, y, c); });
    }
    in_front_.assign(n, 0);
    split(0, n / ranks_);
    packs_.assign(packs.begin(), packs.end());
    for (std::size_t i = 0; i < n; ++i) packs[i] = packs_[order_[0][i]];
  }

 private:
  [[nodiscard]] std::int64_t const* column(std::size_t c) const noexcept { return load_.data() + c * in_window(); }
  [[nodiscard]] std::size_t in_window() const noexcept { return load_.size() / of_.columns; }

  /// Sorted by column c, then by the other columns, so that a cut among equal loads separates them by the other columns.
  [[nodiscard]] bool precedes(Index x, Index y, std::size_t c) const noexcept {
    if (column(c)[x] != column(c)[y]) return column(c)[x] > column(c)[y];
    for (std::size_t d = 0; d < of_.columns; ++d)
      if (column(d)[x] != column(d)[y]) return column(d)[x] > column(d)[y];
    return x < y;
  }

  /// Divides the rows [begin, begin + rows), where each of the orders holds the same packs, sorted by its column.
  void split(std::size_t begin, std::size_t rows) {
    if (rows < 2) return;
    auto const first = (std::max)(std::size_t{1}, rows / 4), from = begin * ranks_, n = rows * ranks_;
    auto least = (std::numeric_limits<std::int64_t>::max)();
    std::size_t cut = 0, along = 0;
    for (std::size_t c = 0; c < of_.columns; ++c) {
      auto const sorted = std::span<Index const>(order_[c]).subspan(from, n);
      if (column(c)[sorted.front()] == column(c)[sorted.back()]) continue;
      sum_up(sorted, rows, first);
      auto const best = std::min_element(sum_.begin(), sum_.end());
      if (*best >= least) continue;
      least = *best;
      cut = first + static_cast<std::size_t>(best - sum_.begin());
      along = c;
    }
    if (cut == 0) return;  // all packs are equal
    for (std::size_t k = 0; k < n; ++k) in_front_[order_[along][from + k]] = k < cut * ranks_;
    for (std::size_t c = 0; c < of_.columns; ++c) {
      if (c == along) continue;
      behind_.clear();
      auto front = from;
      for (auto k = from; k < from + n; ++k) {
        auto const i = order_[c][k];
        if (in_front_[i] != 0)
          order_[c][front++] = i;
        else
          behind_.push_back(i);
      }
      std::copy(behind_.begin(), behind_.end(), order_[c].begin() + static_cast<std::ptrdiff_t>(front));
    }
    split(begin, cut);
    split(begin + cut, rows - cut);
  }

  /// For each cut, the sum over both parts and all columns of rows times the largest load.
  void sum_up(std::span<Index const> sorted, std::size_t rows, std::size_t first) {
    auto const last = rows - first;
    sum_.assign(last - first + 1, 0);
    for (std::size_t c = 0; c < of_.columns; ++c) {
      auto const* const load = column(c);
      std::int64_t most = 0;
      std::size_t at = 0;
      for (auto cut = std::size_t{1}; cut <= last; ++cut) {
        for (; at < cut * ranks_; ++at) most = (std::max)(most, load[sorted[at]]);
        if (cut >= first) sum_[cut - first] += most * static_cast<std::int64_t>(cut);
      }
      most = 0;
      at = sorted.size();
      for (auto cut = rows - 1; cut >= first; --cut) {
        while (at > cut * ranks_) most = (std::max)(most, load[sorted[--at]]);
        if (cut <= last) sum_[cut - first] += most * static_cast<std::int64_t>(rows - cut);
      }
    }
  }

  load_table const& of_;
  std::size_t ranks_;
  std::vector<std::int64_t> load_;         // loads of the window, column after column
  std::vector<std::vector<Index>> order_;  // the packs of the window sorted by each column, largest load first
  std::vector<char> in_front_;
  std::vector<Index> behind_, packs_;
  std::vector<std::int64_t> sum_;
};

}  // namespace ballast::inline v0_2::detail
