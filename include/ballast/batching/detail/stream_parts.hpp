// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// Parts of `stream_steps`: its limits, the pool of outliers, and the places of samples that ranks share.

namespace ballast::inline v0_2::detail {

/// The product over the divisor, rounded up; 0 if the divisor is 0.
[[nodiscard]] inline std::int64_t scale(std::int64_t value, std::int64_t by, std::int64_t over) noexcept {
  return over == 0 ? 0
                   : static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(by),
                                                                  static_cast<std::uint64_t>(over)));
}

/// The shares of `stream_options` in tokens and costs of these samples, and which samples wait or are split.
class stream_limits {
  weighed_samples const& items_;
  std::int64_t capacity_;

 public:
  std::size_t ranks;
  std::uint32_t fill;                             ///< share of a step's capacity that is drawn, in thousandths
  std::int64_t rank_room;                         ///< tokens of a rank in a step
  std::int64_t target;                            ///< tokens that are drawn for a step
  std::int64_t outlier;                           ///< samples that cost more wait for samples of similar cost
  std::int64_t shared;                            ///< samples that cost more are split over ranks
  std::int64_t light_cost = 0, light_tokens = 0;  ///< sums over all samples that are not outliers
  bool pools, shares;                             ///< whether there are outliers; whether there are samples to split

  stream_limits(weighed_samples const& items, batching_options const& o, stream_options const& s)
      : items_(items),
        capacity_(o.capacity),
        ranks(static_cast<std::size_t>(o.ranks)),
        fill(s.tuning.fill == 0 || all_equal(items) ? 1000 : s.tuning.fill),
        rank_room(room_of_place(items, o) * static_cast<std::int64_t>(o.micro_batches)),
        target(scale(rank_room * static_cast<std::int64_t>(o.ranks), fill, 1000)),
        pools(s.tuning.threshold != 0),
        shares((s.tuning.share != 0 || items.longest > o.capacity) && o.ranks > 1) {
    auto const mean = scale(scale(rank_room, fill, 1000), items.all_cost, items.all_tokens);  // mean cost of a rank in a step
    outlier = s.tuning.threshold == 0 ? items.most_expensive : scale(mean, s.tuning.threshold, 1000);
    shared = s.tuning.share == 0 ? items.most_expensive : scale(mean, s.tuning.share, 1000);
    for (std::size_t i = 0; i < items.size(); ++i)
      if (items.cost[i] <= outlier) {
        light_cost += items.cost[i];
        light_tokens += items.tokens[i];
      }
  }
  [[nodiscard]] bool is_shared(std::size_t i) const noexcept { return shares && (items_.cost[i] > shared || items_.tokens[i] > capacity_); }
  [[nodiscard]] bool is_outlier(std::size_t i) const noexcept { return pools && items_.cost[i] > outlier && !is_shared(i); }
};

/// Samples of high cost, gathered from the whole epoch: a step gets neighbours in cost, one or more for every rank.
template <index_type Index>
class outlier_pool {
 public:
  /// Takes the outliers; if there are more than places, only the most expensive. `order` gets the rest.
  outlier_pool(weighed_samples const& items, batching_options const& o, stream_limits const& limits, falling_values<Index>& costs,
               std::vector<Index>& order)
      : items_(items), limits_(limits) {
    std::iota(order.begin(), order.end(), Index{0});
    if (!limits.pools) return;
    std::ranges::copy_if(costs.above(limits.outlier), std::back_inserter(pool_), [&](Index i) { return limits.is_outlier(i); });
    auto last = (std::numeric_limits<std::int64_t>::max)();
    auto const rises = [&](Index i) {
      auto const before = std::exchange(last, filled(i));
      return before < last;
    };
    if (std::ranges::any_of(pool_, rises)) costs.sort_stable(pool_, [&](Index i) { return filled(i); });  // seldom
    auto const steps = static_cast<std::size_t>(divide_up(items.all_tokens, limits.target));
    pool_.resize((std::min)(pool_.size(), steps * limits.ranks * static_cast<std::size_t>(o.micro_batches)));
    next_.resize(pool_.size() + 1);
    std::iota(next_.begin(), next_.end(), Index{0});
    std::vector<char> waits(items.size(), 0);
    for (auto const i : pool_) waits[i] = 1;
    std::erase_if(order, [&](Index i) { return waits[i] != 0; });
  }
  [[nodiscard]] std::vector<Index> const& samples() const noexcept { return pool_; }
  [[nodiscard]] std::size_t size() const noexcept { return pool_.size() - taken_; }
  /// Gives the most expensive samples to a step, a given number for each rank.
  template <class Take>
  void flush(std::size_t each, Take const& take) {
    auto const count = (std::min)(each * limits_.ranks, size());
    for (std::size_t given = 0, k = 0; given < count; ++given) {
      k = waiting_from(k);
      take_one(k, take);
    }
  }
  /// Gives a further outlier, the most expensive that fits, to each rank whose outlier leaves room in tokens and in time compared with the
  /// most expensive outlier of the step. Otherwise these ranks would wait. `samples` are the outliers of the step, to which `take` appends.
  template <class Wants, class Take>
  void give_second(std::vector<Index> const& samples, Wants const& wants_more, Take const& take) {
    if (samples.empty() || samples.size() > limits_.ranks) return;
    std::int64_t most = 0;
    for (auto i : samples) most = (std::max)(most, items_.cost[i]);
    for (auto k = samples.size(); k-- > 0 && wants_more();) {
      auto const room = limits_.rank_room - items_.tokens[samples[k]], open = most - items_.cost[samples[k]];
      auto const first_of = [&](auto const& exceeds) {  // behind the samples that take too much: these come first, as they cost more
        return static_cast<std::size_t>(std::partition_point(pool_.begin(), pool_.end(), exceeds) - pool_.begin());
      };
      auto at = waiting_from(
          (std::max)(first_of([&](Index i) { return items_.tokens[i] > room; }), first_of([&](Index i) { return items_.cost[i] > open; })));
      while (at < pool_.size() && (items_.tokens[pool_[at]] > room || items_.cost[pool_[at]] > open))
        at = waiting_from(at + 1);  // where a longer sample costs less
      if (at < pool_.size()) take_one(at, take);
    }
  }

 private:
  /// The cost of a sample's rank once that is filled with ordinary samples.
  [[nodiscard]] std::int64_t filled(Index i) const {
    auto const open = scale(limits_.rank_room, limits_.fill, 1000) - items_.tokens[i];
    return items_.cost[i] + (open > 0 ? scale(open, limits_.light_cost, limits_.light_tokens) : 0);
  }
  /// The first sample from place k on that was not taken; `pool_.size()` if there is none.
  [[nodiscard]] std::size_t waiting_from(std::size_t k) {
    while (next_[k] != k) k = next_[k] = next_[next_[k]];
    return k;
  }
  template <class Take>
  void take_one(std::size_t k, Take const& take) {
    take(pool_[k]);
    next_[k] = static_cast<Index>(k + 1);
    ++taken_;
  }

  weighed_samples const& items_;
  stream_limits const& limits_;
  std::vector<Index> pool_;  ///< by the cost of the filled rank, most expensive first
  std::vector<Index> next_;  ///< for each place: a place at or before the next that waits
  std::size_t taken_ = 0;
};

/// Samples split over several ranks of a step: decides over how many ranks, which, and in which micro-batch.
template <index_type Index>
class share_placer {
 public:
  share_placer(weighed_samples const& items, batching_options const& o, stream_options const& s, stream_limits const& limits,
               std::span<Index const> name)
      : items_(items),
        o_(o),
        s_(s),
        limits_(limits),
        name_(name),
        ranks_(limits.ranks),
        each_(static_cast<std::size_t>(o.micro_batches)),
        degree_(limits.shares ? items.size() : 0, 1) {}

  /// The cost of a sample for each of its ranks. @param cost what it costs one rank
  [[nodiscard]] std::int64_t charge(Index i, std::int64_t cost) const noexcept {
    auto const k = std::int64_t{degree(i)};
    return k == 1 ? cost : scale(cost, 1000 + std::int64_t{s_.share_overhead}, 1000 * k);
  }
  /// Tokens and costs of each place from the samples placed for this step, rank after rank; empty if there are none.
  [[nodiscard]] std::span<std::pair<std::int64_t, std::int64_t> const> base() const noexcept { return base_; }
  [[nodiscard]] std::uint32_t degree(Index i) const noexcept { return degree_.empty() ? 1 : degree_[i]; }
  [[nodiscard]] std::size_t first_rank(std::size_t j) const noexcept { return first_place_[j] / each_; }
  [[nodiscard]] std::size_t micro_batch(std::size_t j) const noexcept { return first_place_[j] % each_; }

  /// From now on, samples have the numbers that `name` gives them.
  void name_samples() {
    auto const degree = degree_;
    for (std::size_t k = 0; k < degree.size(); ++k) degree_[name_[k]] = degree[k];
  }

  /// Places each sample, most expensive first, on the aligned ranks with room for it whose largest load is smallest: in their first
  /// micro-batch or, if a sample of the plan is longer than the capacity, in the first with room. Others are moved to `carry`.
  void place(std::vector<Index>& samples, std::vector<Index>& carry) {
    base_.clear();
    first_place_.clear();
    if (samples.empty()) return;
    base_.assign(ranks_ * each_, {0, 0});
    load_.assign(ranks_, 0);
    sort_by(samples,
            [&](Index a, Index b) { return items_.cost[a] != items_.cost[b] ? items_.cost[a] > items_.cost[b] : name_[a] < name_[b]; });
    std::size_t kept = 0;
    auto const most = ranks_to_share(s_.most_ranks_shared, o_);
    for (auto i : samples) {
      auto const least = static_cast<std::uint32_t>(divide_up(items_.tokens[i], o_.capacity));
      degree_[i] = (std::max)(std::bit_ceil(least), 2U);
      while (2 * std::uint64_t{degree_[i]} <= most && charge(i, items_.cost[i]) > limits_.shared) degree_[i] *= 2;
      auto const first = place_for(i);
      if (first == base_.size()) {
        degree_[i] = 1;
        carry.push_back(i);
        continue;
      }
      for (std::size_t k = 0; k < degree_[i]; ++k) {
        auto& [tokens, cost] = base_[first + k * each_];
        tokens += tokens_of(i);
        cost += charge(i, items_.cost[i]);
        load_[first / each_ + k] += charge(i, items_.cost[i]);
      }
      samples[kept++] = i;
      first_place_.push_back(first);
    }
    samples.resize(kept);
  }

 private:
  [[nodiscard]] std::int64_t tokens_of(Index i) const noexcept { return divide_up(items_.tokens[i], std::int64_t{degree_[i]}); }
  /// The place of the first rank, or the number of places.
  [[nodiscard]] std::size_t place_for(Index i) const {
    auto const k = std::size_t{degree_[i]}, none = base_.size();
    auto const room = o_.capacity - tokens_of(i);
    auto const micro_batches = items_.longest > o_.capacity ? each_ : 1;
    auto const open = [&](std::size_t place) {
      for (std::size_t r = 0; r < k; ++r)
        if (base_[place + r * each_].first > room) return false;
      return true;
    };
    auto best = none;
    std::int64_t best_load = 0;
    for (std::size_t first = 0; first + k <= ranks_; first += k) {
      auto const load =
          *std::max_element(load_.begin() + static_cast<std::ptrdiff_t>(first), load_.begin() + static_cast<std::ptrdiff_t>(first + k));
      if (best != none && load >= best_load) continue;
      std::size_t m = 0;
      while (m < micro_batches && !open(first * each_ + m)) ++m;
      if (m == micro_batches) continue;
      best = first * each_ + m;
      best_load = load;
    }
    return best;
  }

  weighed_samples const& items_;
  batching_options const& o_;
  stream_options const& s_;
  stream_limits const& limits_;
  std::span<Index const> name_;
  std::size_t ranks_, each_;
  std::vector<std::uint32_t> degree_;  ///< for each sample: number of ranks that share it; empty if none is shared
  std::vector<std::pair<std::int64_t, std::int64_t>> base_;
  std::vector<std::int64_t> load_;        ///< cost of each rank from the samples placed
  std::vector<std::size_t> first_place_;  ///< for each placed sample: its place on the first of its ranks
};

}  // namespace ballast::inline v0_2::detail
