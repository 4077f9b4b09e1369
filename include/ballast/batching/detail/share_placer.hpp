// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/stream_limits.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Samples split over several ranks of a step: decides over how many ranks, which, and in which micro-batch.
template <index_type Index>
class share_placer {
 public:
  share_placer(weighed_samples const& items, batching_options const& o, stream_options const& s, stream_limits const& limits)
      : items_(items),
        o_(o),
        s_(s),
        limits_(limits),
        ranks_(limits.ranks),
        each_(static_cast<std::size_t>(o.micro_batches)),
        degree_(limits.shares ? items.size() : 0, 1) {}

  /// The cost of a sample for each of its ranks.
  [[nodiscard]] std::int64_t charge(Index i) const noexcept {
    auto const k = std::int64_t{degree(i)};
    return k == 1 ? items_.cost[i] : scale(items_.cost[i], 1000 + std::int64_t{s_.share_overhead}, 1000 * k);
  }
  /// Tokens and costs of each place from the samples placed for this step, rank after rank; empty if there are none.
  [[nodiscard]] std::span<std::pair<std::int64_t, std::int64_t> const> base() const noexcept { return base_; }
  [[nodiscard]] std::uint32_t degree(Index i) const noexcept { return degree_.empty() ? 1 : degree_[i]; }
  [[nodiscard]] std::size_t first_rank(std::size_t j) const noexcept { return first_place_[j] / each_; }
  [[nodiscard]] std::size_t micro_batch(std::size_t j) const noexcept { return first_place_[j] % each_; }

  /// Places each sample, most expensive first, on the aligned ranks with room for it whose largest load is smallest: in their first
  /// micro-batch or, if a sample of the plan is longer than the capacity, in the first with room. Samples without room are moved to
  /// `carry`.
  void place(std::vector<Index>& samples, std::vector<Index>& carry) {
    base_.clear();
    first_place_.clear();
    if (samples.empty()) return;
    base_.assign(ranks_ * each_, {0, 0});
    load_.assign(ranks_, 0);
    sort_by(samples, [&](Index a, Index b) { return items_.cost[a] != items_.cost[b] ? items_.cost[a] > items_.cost[b] : a < b; });
    std::size_t kept = 0;
    auto const most = ranks_to_share(s_.most_ranks_shared, o_);
    for (auto i : samples) {
      auto const least = static_cast<std::uint32_t>(divide_up(items_.tokens[i], o_.capacity));
      degree_[i] = (std::max)(std::bit_ceil(least), 2U);
      while (2 * std::uint64_t{degree_[i]} <= most && charge(i) > limits_.shared) degree_[i] *= 2;
      auto const first = place_for(i);
      if (first == base_.size()) {
        degree_[i] = 1;
        carry.push_back(i);
        continue;
      }
      for (std::size_t k = 0; k < degree_[i]; ++k) {
        auto& [tokens, cost] = base_[first + k * each_];
        tokens += tokens_of(i);
        cost += charge(i);
        load_[first / each_ + k] += charge(i);
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
  std::size_t ranks_, each_;
  std::vector<std::uint32_t> degree_;  ///< for each sample: number of ranks that share it; empty if none is shared
  std::vector<std::pair<std::int64_t, std::int64_t>> base_;
  std::vector<std::int64_t> load_;        ///< cost of each rank from the samples placed
  std::vector<std::size_t> first_place_;  ///< for each placed sample: its place on the first of its ranks
};

}  // namespace ballast::inline v0_2::detail
