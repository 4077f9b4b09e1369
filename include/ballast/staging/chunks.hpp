// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/status.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/staging/chunk_options.hpp>
#include <ballast/staging/detail/chunk_oracle.hpp>
#include <ballast/staging/detail/chunk_prices.hpp>
#include <ballast/staging/detail/chunk_table.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `plan_chunks`: a chain cut into the chunks of interleaved schedules and ZB-V, and what each stage recomputes, within memory.

namespace ballast::inline v0_2 {

namespace detail {

// The local search over the cuts of stages with several chunks.

/// Moves cuts such that the worst stage gets better: first one that does not fit, then the slowest.
template <class = when_called>
class chunk_cuts {
 public:
  chunk_cuts(chunk_table<> const& table, chunk_oracle<>& oracle)
      : table_(table), oracle_(oracle), min_(static_cast<std::size_t>(table.options().min_layers)), cost_(table.stages()) {}

  /// Starts from given cuts, and moves single cuts until no move improves the plan.
  void descend(std::vector<std::size_t> cuts) {
    cuts_ = std::move(cuts);
    for (std::size_t s = 0; s < cost_.size(); ++s) cost_[s] = oracle_.cost(s, cuts_);
    for (bool moved = true; moved && oracle_.budget().allows();) {
      moved = false;
      for (std::size_t k = 1; k + 1 < cuts_.size() && oracle_.budget().allows(); ++k) moved = even_out(k) || moved;
    }
    auto const worst = *std::max_element(cost_.begin(), cost_.end());
    if (!best_cuts_.empty() && !(worst < best_)) return;
    best_ = worst;
    best_cuts_ = cuts_;
  }
  /// Moves a few cuts of the best plan at random and descends again, until half of the work is spent, or all if no plan fits, or `bound` is
  /// met.
  void kick(std::int64_t bound) {
    splitmix64 draw(table_.options().seed);
    auto const inner = best_cuts_.size() - 2;
    auto const enough = [&] {
      return best_.lacks == 0 && (best_.time <= bound || oracle_.budget().spent() >= oracle_.budget().limit() / 2);
    };
    while (inner > 0 && !enough() && oracle_.budget().allows()) {
      auto cuts = best_cuts_;
      for (int kicks = 0; kicks < 3; ++kicks) {
        auto const k = 1 + static_cast<std::size_t>(uniform_below(inner, draw));
        auto const low = cuts[k - 1] + min_, high = cuts[k + 1] - min_;
        cuts[k] = low + static_cast<std::size_t>(uniform_below(high - low + 1, draw));
      }
      oracle_.budget().spend(100);
      descend(std::move(cuts));
    }
  }
  [[nodiscard]] chunk_cost best() const { return best_; }
  [[nodiscard]] std::vector<std::size_t> const& cuts() const { return best_cuts_; }

 private:
  /// Moves a cut to where the worse of its two stages is best; returns whether that improves the plan.
  bool even_out(std::size_t k) {
    auto const left = table_.stage_of(k - 1), right = table_.stage_of(k);
    auto const before = cuts_[k];
    auto const worse = [&](std::size_t to) {
      cuts_[k] = to;
      return (std::max)(oracle_.cost(left, cuts_), oracle_.cost(right, cuts_));
    };
    auto low = cuts_[k - 1] + min_, high = cuts_[k + 1] - min_;
    auto best = (std::max)(cost_[left], cost_[right]);
    auto at = before;
    auto const consider = [&](std::size_t to) {
      auto const value = worse(to);
      if (!(value < best)) return false;
      best = value;
      at = to;
      return true;
    };
    if (left == right) {  // both chunks are of one stage: the cut decides only how much of it is held longer
      while (at < high && consider(at + 1)) {
      }
      while (at > low && consider(at - 1)) {
      }
    } else {
      auto const first = low;
      low = first_where(first, high, [&](std::size_t to) {  // where the left stage costs as much as the right one
        cuts_[k] = to;
        return oracle_.cost(left, cuts_) >= oracle_.cost(right, cuts_);
      });
      consider(low);
      if (low > first) consider(low - 1);
    }
    cuts_[k] = at;
    if (at == before) return false;
    cost_[left] = oracle_.cost(left, cuts_);
    cost_[right] = oracle_.cost(right, cuts_);
    return true;
  }

  chunk_table<> const& table_;
  chunk_oracle<>& oracle_;
  std::size_t min_;
  std::vector<chunk_cost> cost_;  // of each stage
  std::vector<std::size_t> cuts_, best_cuts_;
  chunk_cost best_;
};

}  // namespace detail

/// @brief Cuts a chain into the virtual stages of a pipeline and chooses what each stage recomputes or sends to the host, such that all
/// stages fit in memory and the slowest is fast, by local search, with a lower bound.
///
/// A stage runs several chunks that are not neighbours in the chain, and no fast exact method is known to us. The search starts from chunks
/// that are balanced in time and from cuts that are cheapest at prices of memory. It moves single cuts to where their two stages are best,
/// each with its own selection of options, until no move improves the plan. Then it moves a few cuts of the best plan at random, and
/// repeats. Prices also prove the lower bound: the least of a weighted mean of the stages and of the bytes that they lack, over all cuts
/// whose chunks could be part of a faster plan.
///
/// With `move_cuts = false`, chunks are as equal in time as they can be, and stay so. That takes a hundredth of the time; the bound is the
/// mean of the stages, and the status is `unknown` where these chunks do not fit.
///
/// @tparam Index  type of the boundaries
/// @param layers   the layers, first to last
/// @param held     the virtual stages, and what the stages hold at once (`held_by_chunk`)
/// @param options  memory, and how the search begins
/// @param limits   when the search stops
/// @return the plan. `partition` has virtual stages + 1 boundaries. `figures` has one entry per stage; its `activations` are those of one
/// micro-batch in all chunks, and its `memory` is the most that the stage holds. Infeasible if there are too few layers, or if it is proven
/// that no plan fits; unknown if neither a plan nor a proof was found
/// @post no stage exceeds its capacity, whatever it holds at once according to `held`; no plan is faster than the lower bound
/// @throws invalid_input as `require_valid` of the chain and of the options, or if the bytes of all micro-batches held may exceed 2^56
/// @par Complexity
/// O(virtual stages * layers) for each of some hundred shortest paths, and `limits.work`, plus a few greedy selections for each stage.
/// @par Determinism
/// A pure function of its arguments, unless a stop or the clock ends the search; all arithmetic is in integers.
/// @par Source
/// This library (docs/staging.md). The bound: Everett, Operations Research 11 (1963). The chunks of a stage: Narayanan et al., arXiv
/// 2104.04473, section 2.2; Qi et al., arXiv 2405.15362.
template <index_type Index = std::uint32_t>
[[nodiscard]] joint_stages<Index> plan_chunks(std::span<stage_layer const> layers, chunks_in_flight const& held,
                                              chunk_options const& options, search_limits const& limits = {.work = chunks_work}) {
  detail::chunk_table<> const table(layers, held, options);
  detail::chunk_oracle<> oracle(table, limits);
  joint_stages<Index> out;
  auto const n = layers.size(), q = table.virtual_stages();
  std::vector<std::int64_t> time;
  for (auto const& layer : layers) time.push_back(layer.time);
  auto const even = min_max_partition<Index>(time, {.stages = q, .min_layers = options.min_layers});
  if (even.status != status::feasible) {
    out.partition = even;
    return out;
  }
  auto const counted = [&] {
    out.work = oracle.budget().spent();
    out.complete = !oracle.budget().interrupted();
    return std::move(out);
  };
  auto const finish = [&](std::vector<std::size_t> const& cuts, auto const& bound) {
    for (bool again = true; again;) {  // solve exactly what is slowest
      std::size_t slowest = 0;
      for (std::size_t s = 1; s < table.stages(); ++s)
        if (oracle.cost(slowest, cuts) < oracle.cost(s, cuts)) slowest = s;
      if (oracle.cost(slowest, cuts).lacks > 0) return false;
      again = oracle.solve(slowest, cuts);
    }
    out.partition.status = status::feasible;
    out.partition.boundaries.assign(cuts.begin(), cuts.end());
    out.partition.bound = partition_bound::mean;
    out.figures.resize(table.stages());
    out.option.resize(n);
    std::int64_t value = 0;
    for (std::size_t s = 0; s < table.stages(); ++s) {
      oracle.fill(s, cuts, out.figures[s], out.option);
      value = (std::max)(value, out.figures[s].time + out.figures[s].added);
    }
    out.partition.bottleneck = {value, bound(value)};
    return true;
  };
  if (!options.move_cuts) {
    auto const sum = std::accumulate(time.begin(), time.end(), std::int64_t{0});
    std::vector<std::size_t> const cuts(even.boundaries.begin(), even.boundaries.end());
    auto fits = true;
    for (std::size_t s = 0; fits && s < table.stages(); ++s) fits = !oracle.lacks(s, cuts);
    if (!fits || !finish(cuts, [&](std::int64_t) { return divide_up(sum, static_cast<std::int64_t>(table.stages())); }))
      out.partition.status = status::unknown;
    return counted();
  }
  detail::chunk_cuts<> search(table, oracle);
  search.descend({even.boundaries.begin(), even.boundaries.end()});
  detail::chunk_prices<> prices(table);
  constexpr auto never = (std::numeric_limits<std::int64_t>::max)();
  auto const visit = [&](std::vector<std::size_t> const& cuts) { search.descend(cuts); };
  std::vector<std::size_t> shares;  // as many layers in every virtual stage
  for (std::size_t k = 0; k <= q; ++k) shares.push_back(k * (n / q) + (std::min)(k, n % q));
  search.descend(shares);
  search.kick(prices.raise(search.best().lacks > 0 ? never : search.best().time, 40, visit));
  if (search.best().lacks > 0) {
    out.partition.status = prices.hopeless(100) ? status::infeasible : status::unknown;
    return counted();
  }
  (void)finish(search.cuts(), [&](std::int64_t value) { return prices.raise(value, 100, [](auto const&) {}); });
  return counted();
}

BALLAST_INSTANTIATE(joint_stages<std::uint32_t> plan_chunks(std::span<stage_layer const>, chunks_in_flight const&, chunk_options const&,
                                                            search_limits const&))

}  // namespace ballast::inline v0_2
