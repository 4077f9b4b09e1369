// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

// Parts that the planners of steps share: the value and lower bound of a finished plan, windows of sorted packs and the order of steps.

namespace ballast::inline v0_2::detail {

inline constexpr auto any_time = (std::numeric_limits<std::int64_t>::max)();  ///< the largest time of a plan, where any will do

/// The sum of a value over some samples.
template <index_type Index>
[[nodiscard]] std::int64_t sum_of(std::vector<std::int64_t> const& value, std::span<Index const> samples) {
  std::int64_t sum = 0;
  for (auto i : samples) sum += value[i];
  return sum;
}
/// Some of the samples, in the given order.
template <index_type Index>
[[nodiscard]] weighed_samples some_of(weighed_samples const& items, std::span<Index const> chosen) {
  auto const of = [&](std::vector<std::int64_t> const& list) {  // one list after the other: more of their reads are under way at a time
    auto const some = chosen | std::views::transform([&](Index i) -> std::int64_t const& { return list[i]; });
    return std::vector<std::int64_t>(some.begin(), some.end());
  };
  weighed_samples out{.tokens = of(items.tokens), .cost = of(items.cost)};
  for (auto const t : out.tokens) {
    out.all_tokens += t;
    out.all_squares += t * t;
    out.longest = (std::max)(out.longest, t);
  }
  for (auto const c : out.cost) {
    out.all_cost += c;
    out.most_expensive = (std::max)(out.most_expensive, c);
  }
  return out;
}

/// Whether all samples have one length: their packs and steps are then known in advance.
[[nodiscard]] inline bool all_equal(weighed_samples const& items) noexcept {
  return items.longest * static_cast<std::int64_t>(items.size()) == items.all_tokens;
}
/// The tokens that one place can hold: its capacity, or the largest multiple of the length if all samples have one length.
[[nodiscard]] inline std::int64_t room_of_place(weighed_samples const& items, batching_options const& o) noexcept {
  return items.size() != 0 && items.longest <= o.capacity && all_equal(items) ? o.capacity / items.longest * items.longest : o.capacity;
}

/// Throws if repetitions would bring the cost of the plan, or the squared lengths of a step, to 2^63 or more.
class repeat_budget {
 public:
  repeat_budget(weighed_samples const& items, batching_options const& o)
      : items_(items),
        squares_((std::int64_t{1} << 62) - items.all_squares),
        cost_((several() ? (std::numeric_limits<std::int64_t>::max)() : most_cost(items.size(), o)) - items.all_cost) {}
  /// Adds one more occurrence of a sample.
  void take(std::size_t i) {
    cost_ -= items_.cost[i];
    if (!several()) squares_ -= items_.tokens[i] * items_.tokens[i];
    require(cost_ >= 0 && squares_ >= 0, [&] {
      return sentence("the last step repeats sample ", i, " of cost ", items_.cost[i],
                      " until the plan exceeds what 63 bits hold: ask for another left_over than repeat");
    });
  }

 private:
  /// Whether the samples have several measures, whose squares are not used; see `weighed_vectors`.
  [[nodiscard]] bool several() const noexcept { return items_.longest == 0; }
  weighed_samples const& items_;
  std::int64_t squares_, cost_;
};

/// `critical_ratios::square <= 1` and `critical_ratios::cost <= thousandths / 1000`, in integers. `room` is that of a rank in a step.
[[nodiscard]] inline bool squares_fit(weighed_samples const& items, std::int64_t room) noexcept {
  return compare_products(items.longest * items.longest, items.all_tokens, room, items.all_squares) <= 0;
}
[[nodiscard]] inline bool costs_fit(weighed_samples const& items, std::int64_t room, std::uint64_t thousandths) noexcept {
  if (items.size() == 0) return true;
  auto const mean = multiply_divide_up(static_cast<std::uint64_t>(room), static_cast<std::uint64_t>(items.all_cost),
                                       static_cast<std::uint64_t>(items.all_tokens));
  return static_cast<std::uint64_t>(items.most_expensive) <= multiply_divide_up(mean, thousandths, 1000);
}

[[nodiscard]] inline critical_ratios ratios(weighed_samples const& items, batching_options const& o) noexcept {
  if (items.size() == 0) return {};
  auto const room = static_cast<double>(o.capacity) * static_cast<double>(o.micro_batches);
  auto const tokens = static_cast<double>(items.all_tokens), longest = static_cast<double>(items.longest);
  return {static_cast<double>(items.most_expensive) * tokens / (room * static_cast<double>(items.all_cost)),
          longest * longest * tokens / (room * static_cast<double>(items.all_squares))};
}

/// The value and lower bound of one step, from the costs c(r, m) of its places (0 for an empty place) and the cost of its most expensive
/// sample alone in a micro-batch. Another distribution of the step may have fewer micro-batches, unless all places are taken.
template <class = when_called>
[[nodiscard]] inline certificate step_time(std::span<std::int64_t const> cost, std::int64_t most_expensive, std::uint64_t ranks,
                                           std::uint64_t micro_batches, batching_options const& o) noexcept {
  auto const each = static_cast<std::size_t>(micro_batches), count = static_cast<std::size_t>(ranks);
  auto const up = [](std::int64_t sum, std::uint64_t parts) {
    return (sum + static_cast<std::int64_t>(parts) - 1) / static_cast<std::int64_t>(parts);
  };
  std::int64_t sum = 0, slowest = 0, by_rows = 0;
  std::size_t taken = 0, busy = 0;
  auto const warm_up = static_cast<std::int64_t>(o.synchronisation == synchronisation::pipeline ? o.stages - 1 : 0);
  for (std::size_t r = 0; r < count; ++r) {
    std::int64_t mine = 0, largest = 0;
    for (std::size_t m = 0; m < each; ++m) {
      mine += cost[r * each + m];
      if (cost[r * each + m] != 0) ++taken;
      largest = (std::max)(largest, cost[r * each + m]);
    }
    sum += mine;
    if (mine != 0) ++busy;
    slowest = (std::max)(slowest, mine + warm_up * largest);
  }
  auto const needed = taken == count * each ? taken : busy == count ? count : (std::min)(busy, std::size_t{1});
  auto const mean = up(sum - o.cost_per_micro_batch * static_cast<std::int64_t>(taken - needed), ranks);
  if (o.synchronisation == synchronisation::per_micro_batch) {
    for (std::size_t m = 0; m < each; ++m) {
      std::int64_t row = 0;
      for (std::size_t r = 0; r < count; ++r) row = (std::max)(row, cost[r * each + m]);
      by_rows += row;
    }
    slowest = by_rows;
  }
  return {slowest + o.cost_per_step,
          (std::max)(mean + warm_up * up(mean, micro_batches), most_expensive + warm_up * most_expensive) + o.cost_per_step};
}

/// The cost of a pack, and its cost with only its most expensive member; `each` is the fixed cost of a micro-batch.
struct pack_sum {
  std::int64_t cost = 0, most_expensive = 0;
};
template <index_type Index, class Charge>
[[nodiscard]] std::vector<pack_sum> pack_sums(groups<Index> const& packs, Charge const& charge, std::int64_t each = 0) {
  std::vector<pack_sum> sums(packs.size());
  for (std::size_t p = 0; p < sums.size(); ++p) {
    sums[p].cost = each;
    for (auto i : packs[p]) {
      auto const c = std::int64_t{charge(i)};
      sums[p].cost += c;
      sums[p].most_expensive = (std::max)(sums[p].most_expensive, c + each);
    }
  }
  return sums;
}

/// Computes the members that follow from packs, table and lists; every sample must be in the table or in `dropped`.
template <index_type Index>
void certify(batching<Index>& b, weighed_samples const& items, batching_options const& o, std::vector<pack_sum> const& sums) {
  b.critical = ratios(items, o);
  b.slowest = {};
  b.cost = 0;
  b.tokens = items.all_tokens;
  for (auto i : b.dropped) b.tokens -= items.tokens[i];
  for (auto i : b.repeated) b.tokens += items.tokens[i];
  for (auto const& s : b.shared) {
    auto const k = static_cast<std::int64_t>(s.ranks);
    b.tokens += (items.tokens[s.sample] + k - 1) / k * k - items.tokens[s.sample];
  }
  auto const places = static_cast<std::size_t>(b.ranks * b.micro_batches);
  std::vector<std::int64_t> cost(places);
  for (std::size_t s = 0; s < b.steps(); ++s) {
    std::int64_t most_expensive = 0;
    auto const step = b.step(s);
    for (std::size_t p = 0; p < places; ++p) {
      auto const sum = step[p] == b.none ? pack_sum{} : sums[step[p]];
      cost[p] = sum.cost;
      most_expensive = (std::max)(most_expensive, sum.most_expensive);
      b.cost += sum.cost;
    }
    auto const time = step_time(cost, most_expensive, b.ranks, b.micro_batches, o);
    b.slowest.value += time.value;
    b.slowest.lower_bound += time.lower_bound;
    b.cost += o.cost_per_step * static_cast<std::int64_t>(b.ranks);
  }
}
template <index_type Index>
void certify(batching<Index>& b, weighed_samples const& items, batching_options const& o) {
  certify(b, items, o, pack_sums(b.packs, [&](Index i) { return items.cost[i]; }, o.cost_per_micro_batch));
}

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

/// The packs of an order, most expensive first.
template <index_type Index>
[[nodiscard]] std::vector<Index> packs_by_cost(std::span<Index const> order, std::span<pack_sum const> sums) {
  std::vector<char> used(sums.size(), 0);
  for (auto const p : order) used[p] = 1;
  std::vector<keyed_item<Index>> packs, scratch;
  packs.reserve(order.size());
  for (std::size_t p = 0; p < used.size(); ++p)
    if (used[p] != 0) packs.push_back({sums[p].cost, static_cast<Index>(p)});
  sort_largest_first(packs, scratch);
  std::vector<Index> out(packs.size());
  std::ranges::transform(packs, out.begin(), &keyed_item<Index>::item);
  return out;
}

/// Sorts windows of `steps` steps of an order of packs, most expensive first, and calls `use(begin, end)` for each; 0 steps = all.
/// `by_cost` is what `packs_by_cost` returns for the order: its packs are dealt to their windows.
template <index_type Index, class Use>
void for_sorted_windows(std::vector<Index>& order, std::span<Index const> by_cost, std::size_t places, std::uint64_t steps,
                        Use const& use) {
  auto const most = order.size() / places + 1;
  auto const width = (steps == 0 || steps > most ? most : static_cast<std::size_t>(steps)) * places;
  std::vector<std::size_t> next;  // of each window: the position of its next pack
  for (std::size_t first = 0; first < order.size(); first += width) next.push_back(first);
  std::vector<Index> window(order.empty() ? 0 : std::size_t{*std::ranges::max_element(order)} + 1);
  for (std::size_t k = 0; k < order.size(); ++k) window[order[k]] = static_cast<Index>(k / width);
  for (auto const p : by_cost) order[next[window[p]]++] = p;
  for (std::size_t first = 0; first < order.size(); first += width) use(first, (std::min)(first + width, order.size()));
}

}  // namespace ballast::inline v0_2::detail
