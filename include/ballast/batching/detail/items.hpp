// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

// What planners of steps share: samples with their costs, and the value and bound of a finished plan.

namespace ballast::inline v0_2::detail {

/// The samples as planners see them.
struct step_items {
  std::vector<std::int64_t> tokens;
  std::vector<std::int64_t> cost;
  std::int64_t all_tokens = 0, all_cost = 0, all_squares = 0;
  std::int64_t longest = 0, dearest = 0;
  std::int64_t spare_cost = 0;  ///< what repeated samples may cost
  [[nodiscard]] std::size_t size() const noexcept { return tokens.size(); }
};

/// What a run may cost: a step's squared lengths and a pipeline's P * max are summed too.
[[nodiscard]] constexpr std::int64_t most_cost(batching_options const& o) noexcept {
  return (std::numeric_limits<std::int64_t>::max)() / static_cast<std::int64_t>(4 * o.stages);
}

/// Validates and weighs. No sum that a planner forms of these costs can reach 2^63.
template <index_type Index, length_range R, cost_model Cost>
[[nodiscard]] step_items weigh(R const& lengths, batching_options const& o, Cost const& cost) {
  require_valid(o);
  step_items items;
  auto const whole = extent_of(lengths);
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require(n < batching<Index>::none, [&] { return std::to_string(n) + " samples need a 64-bit index: call with <std::uint64_t>"; });
  items.all_tokens = whole.tokens;
  items.longest = whole.longest;
  items.tokens.resize(n);
  items.cost.resize(n);
  auto const at = read_by_position(lengths);
  auto const entry = [&](std::size_t i) { return "lengths[" + std::to_string(i) + "] = " + std::to_string(at[i]); };
  auto most = most_cost(o);
  // No place of a step but the last is empty, so places, and ranks of all steps, exceed the samples by those of one step at most.
  auto const turns = static_cast<std::int64_t>(n + o.ranks);
  auto const count = static_cast<std::int64_t>(o.left_over == left_over::repeat ? n + o.ranks * o.micro_batches : n);
  require(n == 0 || (o.cost_per_micro_batch <= most / 2 / count && o.cost_per_step <= most / 2 / turns), [&] {
    return "cost_per_micro_batch = " + std::to_string(o.cost_per_micro_batch) + " and cost_per_step = " + std::to_string(o.cost_per_step) +
           " bring the cost of " + std::to_string(n) + " samples too near to 2^63";
  });
  most -= n == 0 ? 0 : o.cost_per_micro_batch * count + o.cost_per_step * turns;
  require(whole.longest <= (std::int64_t{1} << 31) && (n == 0 || whole.tokens <= (std::int64_t{1} << 62) / whole.longest), [&] {
    return "the longest length, " + std::to_string(whole.longest) + ", exceeds 2^31 or brings the sum of squared lengths too near to 2^63";
  });
  for (std::size_t i = 0; i < n; ++i) {
    auto const l = static_cast<std::int64_t>(at[i]);
    items.tokens[i] = l;
    require(l <= o.capacity, [&] { return entry(i) + " exceeds capacity " + std::to_string(o.capacity); });
    if constexpr (bounded_cost_model<Cost>)
      require(cost.fits(l), [&] { return entry(i) + " has a cost that is negative, not a number or too large for 63 bits"; });
    auto const value = cost(l);
    require(std::cmp_greater(value, 0) && std::cmp_less_equal(value, most - items.all_cost), [&] {
      return entry(i) + " has cost " + std::to_string(value) + ", which is not positive or brings the sum of costs too near to 2^63";
    });
    auto const c = static_cast<std::int64_t>(value);
    items.cost[i] = c;
    items.all_cost += c;
    items.all_squares += l * l;
    items.dearest = (std::max)(items.dearest, c);
  }
  items.spare_cost = most - items.all_cost;
  return items;
}

/// Samples of one length: their packs and steps are known in advance.
[[nodiscard]] inline bool all_equal(step_items const& items) noexcept {
  return items.longest * static_cast<std::int64_t>(items.size()) == items.all_tokens;
}
/// Tokens that planners count on in one place: its capacity, or what samples of one length leave of it.
[[nodiscard]] inline std::int64_t room_of_place(step_items const& items, batching_options const& o) noexcept {
  return items.size() != 0 && all_equal(items) ? o.capacity / items.longest * items.longest : o.capacity;
}

/// Refuses to repeat so much that the run, or the squared lengths of a step, would no longer be sums below 2^63.
class repeat_budget {
 public:
  explicit repeat_budget(step_items const& items)
      : items_(items), squares_((std::int64_t{1} << 62) - items.all_squares), cost_(items.spare_cost) {}
  /// A sample stands in a step once more.
  void take(std::size_t i) {
    cost_ -= items_.cost[i];
    if (items_.longest != 0) squares_ -= items_.tokens[i] * items_.tokens[i];  // 0 where no planner squares the lengths
    require(cost_ >= 0 && squares_ >= 0, [&] {
      return "the last step repeats sample " + std::to_string(i) + " of cost " + std::to_string(items_.cost[i]) +
             " until the run exceeds what 63 bits hold: ask for another left_over than repeat";
    });
  }

 private:
  step_items const& items_;
  std::int64_t squares_, cost_;
};

/// `critical_ratios::square <= 1` and `critical_ratios::cost <= thousandths / 1000`, decided in integers. `room` is that of a rank in a
/// step.
[[nodiscard]] inline bool squares_fit(step_items const& items, std::int64_t room) noexcept {
  return compare_products(items.longest * items.longest, items.all_tokens, room, items.all_squares) <= 0;
}
[[nodiscard]] inline bool costs_fit(step_items const& items, std::int64_t room, std::uint64_t thousandths) noexcept {
  if (items.size() == 0) return true;
  auto const mean = multiply_divide_up(static_cast<std::uint64_t>(room), static_cast<std::uint64_t>(items.all_cost),
                                       static_cast<std::uint64_t>(items.all_tokens));
  return static_cast<std::uint64_t>(items.dearest) <= multiply_divide_up(mean, thousandths, 1000);
}

[[nodiscard]] inline critical_ratios ratios(step_items const& items, batching_options const& o) noexcept {
  if (items.size() == 0) return {};
  auto const room = static_cast<double>(o.capacity) * static_cast<double>(o.micro_batches);
  auto const tokens = static_cast<double>(items.all_tokens), longest = static_cast<double>(items.longest);
  return {static_cast<double>(items.dearest) * tokens / (room * static_cast<double>(items.all_cost)),
          longest * longest * tokens / (room * static_cast<double>(items.all_squares))};
}

/// Value and bound of one step, from the costs c(r, m) of its places, 0 where one is empty, and of its dearest possible micro-batch of a
/// single sample. Another deal of the step may have fewer micro-batches, unless all places are taken.
[[nodiscard]] inline certificate step_time(std::span<std::int64_t const> cost, std::int64_t dearest, std::uint64_t ranks,
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
  return {slowest + o.cost_per_step, (std::max)(mean + warm_up * up(mean, micro_batches), dearest + warm_up * dearest) + o.cost_per_step};
}

/// What a pack costs, and what it would with the dearest of its members alone; `each` is what a micro-batch costs beside its samples.
struct pack_sum {
  std::int64_t cost = 0, dearest = 0;
};
template <index_type Index, class Charge>
[[nodiscard]] std::vector<pack_sum> pack_sums(groups<Index> const& packs, Charge const& charge, std::int64_t each = 0) {
  std::vector<pack_sum> sums(packs.size());
  for (std::size_t p = 0; p < sums.size(); ++p) {
    sums[p].cost = each;
    for (auto i : packs[p]) {
      auto const c = std::int64_t{charge(i)};
      sums[p].cost += c;
      sums[p].dearest = (std::max)(sums[p].dearest, c + each);
    }
  }
  return sums;
}

/// Fills in what follows from packs, table and lists; every sample stands in the table or is listed as dropped.
template <index_type Index>
void certify(batching<Index>& b, step_items const& items, batching_options const& o, std::vector<pack_sum> const& sums) {
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
    std::int64_t dearest = 0;
    auto const step = b.step(s);
    for (std::size_t p = 0; p < places; ++p) {
      auto const sum = step[p] == b.none ? pack_sum{} : sums[step[p]];
      cost[p] = sum.cost;
      dearest = (std::max)(dearest, sum.dearest);
      b.cost += sum.cost;
    }
    auto const time = step_time(cost, dearest, b.ranks, b.micro_batches, o);
    b.slowest.value += time.value;
    b.slowest.lower_bound += time.lower_bound;
    b.cost += o.cost_per_step * static_cast<std::int64_t>(b.ranks);
  }
}
template <index_type Index>
void certify(batching<Index>& b, step_items const& items, batching_options const& o) {
  certify(b, items, o, pack_sums(b.packs, [&](Index i) { return items.cost[i]; }, o.cost_per_micro_batch));
}

}  // namespace ballast::inline v0_2::detail
