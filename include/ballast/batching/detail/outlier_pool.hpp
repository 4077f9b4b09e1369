// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/stream_limits.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Samples of high cost, which wait until a step can have one of similar cost for every rank.
template <index_type Index>
class outlier_pool {
 public:
  outlier_pool(weighed_samples const& items, batching_options const& o, stream_options const& s, stream_limits const& limits)
      : items_(items), o_(o), s_(s), limits_(limits), ranks_(limits.ranks) {}

  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return pool_.size() - taken_; }
  void add(Index i, std::uint64_t step) {
    auto const entry = entry_of(i, step);
    pool_.insert(std::lower_bound(pool_.begin(), pool_.end(), entry), entry);
  }
  /// Takes the outliers out of an order of all samples; if there are more than places, only the most expensive.
  void gather(std::vector<Index>& order) {
    for (auto i : order)
      if (limits_.is_outlier(i)) pool_.push_back(entry_of(i, 0));
    std::sort(pool_.begin(), pool_.end(), [&](waiting const& a, waiting const& b) {  // of a linear cost, all are filled alike
      auto const x = items_.cost[a.sample], y = items_.cost[b.sample];
      return a.filled == b.filled && x != y ? x > y : a < b;
    });
    auto const steps = static_cast<std::size_t>(divide_up(items_.all_tokens, limits_.target));
    pool_.resize((std::min)(pool_.size(), steps * ranks_ * static_cast<std::size_t>(o_.micro_batches)));
    next_.resize(pool_.size() + 1);
    std::iota(next_.begin(), next_.end(), Index{0});
    std::vector<char> waits(items_.size(), 0);
    for (auto const& entry : pool_) waits[entry.sample] = 1;
    order.erase(std::remove_if(order.begin(), order.end(), [&](Index i) { return waits[i] != 0; }), order.end());
  }
  /// Gives the most expensive samples to a step, a given number for each rank.
  template <class Take>
  void flush(std::size_t each, Take const& take) {
    auto const count = (std::min)(each * ranks_, size());
    if (next_.empty()) return give(0, count, take);
    for (std::size_t given = 0, k = 0; given < count; ++given) {
      k = waiting_from(k);
      take_one(k, take);
    }
  }
  /// Gives the best `ranks` neighbours in cost to a step, if they are similar, one of them waits too long, or the pool is full.
  template <class Take>
  void release(std::uint64_t step, Take const& take) {
    if (pool_.size() < ranks_) return;
    auto const oldest = static_cast<std::size_t>(
        std::min_element(pool_.begin(), pool_.end(), [](auto const& a, auto const& b) { return a.since < b.since; }) - pool_.begin());
    auto const forced = s_.oldest != 0 && step - pool_[oldest].since > s_.oldest;
    std::size_t best = 0;
    std::int64_t sum = 0, best_sum = 0;
    for (std::size_t k = 0; k < pool_.size(); ++k) {
      sum += pool_[k].filled;
      if (k + 1 < ranks_) continue;
      auto const first = k + 1 - ranks_;
      if ((!forced || (first <= oldest && oldest <= k)) &&
          (best_sum == 0 || compare_products(pool_[first].filled, best_sum, pool_[best].filled, sum) < 0)) {
        best = first;
        best_sum = sum;
      }
      sum -= pool_[first].filled;
    }
    auto const mean = best_sum / static_cast<std::int64_t>(ranks_);
    auto const alike = pool_[best].filled - mean <= mean / 50;
    if (forced || alike || pool_.size() > std::size_t{s_.pool} * ranks_) give(best, ranks_, take);
  }
  /// Gives a further outlier, the most expensive that fits, to each rank whose outlier leaves room in tokens and in time compared with the
  /// most expensive outlier of the step. Otherwise these ranks would wait. `samples` are the outliers of the step, to which `take` appends.
  template <class Wants, class Take>
  void give_second(std::vector<Index> const& samples, Wants const& wants_more, Take const& take) {
    if (samples.empty() || samples.size() > ranks_) return;
    std::int64_t most = 0;
    for (auto i : samples) most = (std::max)(most, items_.cost[i]);
    for (auto k = samples.size(); k-- > 0 && wants_more();) {
      auto const room = limits_.rank_room - items_.tokens[samples[k]], open = most - items_.cost[samples[k]];
      auto const first_of = [&](auto const& exceeds) {  // behind the samples that take too much: these come first, as they cost more
        return static_cast<std::size_t>(std::partition_point(pool_.begin(), pool_.end(), exceeds) - pool_.begin());
      };
      auto at = waiting_from((std::max)(first_of([&](auto const& w) { return items_.tokens[w.sample] > room; }),
                                        first_of([&](auto const& w) { return items_.cost[w.sample] > open; })));
      while (at < pool_.size() && (items_.tokens[pool_[at].sample] > room || items_.cost[pool_[at].sample] > open))
        at = waiting_from(at + 1);  // where a longer sample costs less
      if (at < pool_.size()) take_one(at, take);
    }
  }

 private:
  struct waiting {
    std::int64_t filled = 0;  ///< cost of its rank once that is filled with ordinary samples
    Index sample = 0;
    std::uint64_t since = 0;  ///< step in which the sample was drawn
    friend constexpr bool operator<(waiting const& a, waiting const& b) noexcept {
      return a.filled != b.filled ? a.filled > b.filled : a.sample < b.sample;
    }
  };
  [[nodiscard]] waiting entry_of(Index i, std::uint64_t step) const {
    auto const open = scale(limits_.rank_room, limits_.fill, 1000) - items_.tokens[i];
    return {items_.cost[i] + (open > 0 ? scale(open, limits_.light_cost, limits_.light_tokens) : 0), i, step};
  }
  /// The first sample from place k on that was not taken, of a pool of the whole epoch; `pool_.size()` if there is none.
  [[nodiscard]] std::size_t waiting_from(std::size_t k) {
    while (next_[k] != k) k = next_[k] = next_[next_[k]];
    return k;
  }
  template <class Take>
  void take_one(std::size_t k, Take const& take) {
    take(pool_[k].sample);
    next_[k] = static_cast<Index>(k + 1);
    ++taken_;
  }
  template <class Take>
  void give(std::size_t first, std::size_t count, Take const& take) {
    for (auto k = first; k < first + count; ++k) take(pool_[k].sample);
    pool_.erase(pool_.begin() + static_cast<std::ptrdiff_t>(first), pool_.begin() + static_cast<std::ptrdiff_t>(first + count));
  }

  weighed_samples const& items_;
  batching_options const& o_;
  stream_options const& s_;
  stream_limits const& limits_;
  std::size_t ranks_;
  std::vector<waiting> pool_;  ///< sorted by cost, most expensive first
  std::vector<Index> next_;    ///< for a pool of the whole epoch, from which nothing is erased: a place at or before the next that waits
  std::size_t taken_ = 0;      ///< samples that were taken from such a pool
};

}  // namespace ballast::inline v0_2::detail
