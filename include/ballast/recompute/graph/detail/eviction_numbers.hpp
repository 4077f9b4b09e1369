// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/recompute/graph/eviction_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

// An eviction plan in the numbers of one batch, with lower bounds. Private.

namespace ballast::inline v0_2::detail {

template <class = when_called>
class eviction_numbers {
 public:
  static constexpr auto too_long = std::int64_t{1} << 62;  // a time that stands for "not possible"

  eviction_plan const& plan;
  eviction_rows const& rows;
  std::vector<std::int64_t> bytes, move_time, workspace, time;  // move_time: to the host, or back
  std::vector<std::int64_t> subgraph_time;

  eviction_numbers(eviction_plan const& p, std::span<std::int64_t const> values, std::int64_t time_per_megabyte, bool recompute)
      : plan(p), rows(p.rows) {
    require(values.size() == p.dimensions.size(),
            [&] { return sentence(values.size(), " values for ", p.dimensions.size(), " dimensions"); });
    for (std::size_t d = 0; d < values.size(); ++d)
      require(values[d] >= p.dimensions[d].low && values[d] <= p.dimensions[d].high,
              [&] { return entry("values", d, values[d]) + " is outside the range of " + p.dimensions[d].name; });
    std::int64_t all_bytes = 0, all_time = 0;
    auto const evaluate = [&](std::vector<symbolic> const& from, std::vector<std::int64_t>& to, std::int64_t& sum, char const* what) {
      for (std::size_t i = 0; i < from.size(); ++i) {
        to.push_back(from[i](values));
        add_checked(sum, to.back(), what, i);
      }
      require(sum < too_long, [&] { return std::string(what) + " of the batch together reach 2^62"; });
    };
    evaluate(p.bytes, bytes, all_bytes, "bytes");
    evaluate(p.workspace, workspace, all_bytes, "bytes");
    evaluate(p.time, time, all_time, "times");
    for (auto const b : bytes) move_time.push_back(moving(b, time_per_megabyte));
    for (auto const& s : p.subgraphs) {
      std::int64_t sum = 0;
      for (auto const v : s.operators) sum += time[v];
      subgraph_time.push_back(recompute ? sum : too_long);
    }
    recompute_ = recompute;
  }
  /// The subgraphs of a memory for a reader.
  [[nodiscard]] std::pair<std::size_t, std::size_t> subgraphs_of(std::uint32_t memory, std::uint32_t next) const {
    auto const& all = plan.subgraphs;
    auto const before = [](recompute_subgraph const& s, std::pair<std::uint32_t, std::uint32_t> const& key) {
      return std::pair(s.memory, s.next) < key;
    };
    auto const at = std::lower_bound(all.begin(), all.end(), std::pair(memory, next), before);
    auto end = at;
    while (end != all.end() && end->memory == memory && end->next == next) ++end;
    return {static_cast<std::size_t>(at - all.begin()), static_cast<std::size_t>(end - all.begin())};
  }
  /// No run needs less memory: what is there before the first step, and what an operator reads and makes, its workspace, and what is never
  /// evicted and in use at that time.
  [[nodiscard]] std::int64_t least_memory() const {
    std::int64_t out = 0;
    for (std::uint32_t m = 0; m < rows.memories(); ++m) out += rows.at_start(m) ? bytes[m] : 0;
    auto const fixed = live_at(true);
    for (std::uint32_t i = 0; i < rows.order.size(); ++i) {
      auto const v = rows.order[i];
      auto sum = fixed[i] + workspace[v];
      for (auto const* const row : {&rows.reads, &rows.makes})
        for (auto const m : (*row)[v]) sum += rows.fixed[m] != 0 ? 0 : bytes[m];
      out = (std::max)(out, sum);
    }
    return out;
  }
  /// No run adds less time: at the step of the peak, what exceeds the limit was evicted and comes back later. That takes at least a move
  /// there and back, or a run of its maker, which makes all its outputs. A fraction of the last memory is enough for a bound,
  /// and times are integers.
  [[nodiscard]] std::int64_t least_time(std::int64_t limit) const {
    auto const live = live_at(false);
    std::uint32_t at = 0;
    std::int64_t most = 0;
    for (std::uint32_t i = 0; i < live.size(); ++i)
      if (auto const sum = live[i] + workspace[rows.order[i]]; sum > most) {
        most = sum;
        at = i;
      }
    auto excess = most - limit;
    if (excess <= 0) return 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> costs;  // time and bytes of what may have been evicted
    for (std::uint32_t m = 0; m < rows.memories(); ++m) {
      if (rows.fixed[m] != 0 || bytes[m] == 0 || !is_live(m, at)) continue;
      auto const uses = rows.uses[m];
      if (std::binary_search(uses.begin(), uses.end(), at) || begin_of(m) == at) continue;
      auto cost = (std::min)(too_long, 2 * move_time[m]);
      auto const by = rows.maker[m];
      if (recompute_ && by != graph_uses::none) cost = (std::min)(cost, time[by] / static_cast<std::int64_t>(rows.makes[by].size()));
      costs.emplace_back(cost, bytes[m]);
    }
    std::sort(costs.begin(), costs.end(), [](auto const& a, auto const& b) {
      auto const order = compare_products(a.first, b.second, b.first, a.second);
      return order != 0 ? order < 0 : a < b;
    });
    std::int64_t out = 0;
    for (auto const& [cost, size] : costs) {
      if (excess <= 0 || cost >= too_long - out) break;
      auto const part = (std::min)(excess, size);
      out += static_cast<std::int64_t>(
          multiply_divide_up(static_cast<std::uint64_t>(cost), static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(size)));
      excess -= part;
    }
    return out;
  }

 private:
  [[nodiscard]] static std::int64_t moving(std::int64_t size, std::int64_t time_per_megabyte) {
    constexpr std::uint64_t megabyte = 1'000'000;
    auto const a = static_cast<std::uint64_t>(size), b = static_cast<std::uint64_t>(time_per_megabyte);
    if (b == 0 || multiply(a, b).high >= megabyte / 16) return too_long / 2;  // the quotient reaches 2^60
    return static_cast<std::int64_t>(multiply_divide_up(a, b, megabyte));
  }
  [[nodiscard]] std::uint32_t begin_of(std::uint32_t m) const { return rows.maker[m] == graph_uses::none ? 0 : rows.step[rows.maker[m]]; }
  [[nodiscard]] std::uint32_t end_of(std::uint32_t m) const {  // the last step at which it is in use
    if (rows.kept[m] != 0) return static_cast<std::uint32_t>(rows.order.size());
    return rows.uses[m].empty() ? begin_of(m) : rows.uses[m].back();
  }
  [[nodiscard]] bool is_memory(std::uint32_t m) const { return rows.maker[m] != graph_uses::none || rows.at_start(m); }
  [[nodiscard]] bool is_live(std::uint32_t m, std::uint32_t at) const { return is_memory(m) && begin_of(m) <= at && at <= end_of(m); }
  // Bytes in use at each step if nothing is evicted: of all memories, or of those that are never evicted.
  [[nodiscard]] std::vector<std::int64_t> live_at(bool fixed_only) const {
    std::vector<std::int64_t> out(rows.order.size() + 2, 0);
    for (std::uint32_t m = 0; m < rows.memories(); ++m)
      if (is_memory(m) && (!fixed_only || rows.fixed[m] != 0)) {
        out[begin_of(m)] += bytes[m];
        out[end_of(m) + 1] -= bytes[m];
      }
    for (std::size_t i = 1; i < out.size(); ++i) out[i] += out[i - 1];
    out.resize(rows.order.size());
    return out;
  }
  bool recompute_ = true;
};

}  // namespace ballast::inline v0_2::detail
