// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/stream_limits.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Samples split over several ranks of a step: decides over how many ranks, and which.
template <index_type Index>
class share_placer {
 public:
  share_placer(weighed_samples const& items, batching_options const& o, stream_options const& s, stream_limits const& limits)
      : items_(items), o_(o), s_(s), limits_(limits), ranks_(limits.ranks), degree_(items.size(), 1) {}

  /// The cost of a sample for each of its ranks.
  [[nodiscard]] std::int64_t charge(Index i) const noexcept {
    auto const k = static_cast<std::int64_t>(degree_[i]);
    return k == 1 ? items_.cost[i] : scale(items_.cost[i], 1000 + std::int64_t{s_.share_overhead}, 1000 * k);
  }
  /// Costs and tokens of each rank from the samples placed for this step; empty if there are none.
  [[nodiscard]] std::span<std::pair<std::int64_t, std::int64_t> const> base() const noexcept { return base_; }
  [[nodiscard]] std::uint32_t degree(Index i) const noexcept { return degree_[i]; }
  [[nodiscard]] std::size_t first_rank(std::size_t j) const noexcept { return first_rank_[j]; }

  /// Places each sample, most expensive first, on the aligned ranks with room for it whose largest load is smallest; samples without room
  /// are moved to `carry`.
  void place(std::vector<Index>& samples, std::vector<Index>& carry) {
    base_.clear();
    first_rank_.clear();
    if (samples.empty()) return;
    base_.assign(ranks_, {0, 0});
    std::sort(samples.begin(), samples.end(),
              [&](Index a, Index b) { return items_.cost[a] != items_.cost[b] ? items_.cost[a] > items_.cost[b] : a < b; });
    std::size_t kept = 0;
    auto const most = s_.most_ranks_shared == 0 ? ranks_ : (std::min)(ranks_, static_cast<std::size_t>(s_.most_ranks_shared));
    for (auto i : samples) {
      degree_[i] = 2;
      while (2 * std::size_t{degree_[i]} <= most && charge(i) > limits_.shared) degree_[i] *= 2;
      auto const first = ranks_for(i);
      if (first == ranks_) {
        degree_[i] = 1;
        carry.push_back(i);
        continue;
      }
      for (auto r = first; r < first + degree_[i]; ++r) {
        base_[r].first += tokens_of(i);
        base_[r].second += charge(i);
      }
      samples[kept++] = i;
      first_rank_.push_back(first);
    }
    samples.resize(kept);
  }

 private:
  [[nodiscard]] std::int64_t tokens_of(Index i) const noexcept { return divide_up(items_.tokens[i], std::int64_t{degree_[i]}); }
  [[nodiscard]] std::size_t ranks_for(Index i) const {
    auto const k = std::size_t{degree_[i]};
    auto best = ranks_;
    std::int64_t best_load = 0;
    for (std::size_t first = 0; first + k <= ranks_; first += k) {
      std::int64_t load = 0, full = 0;
      for (auto r = first; r < first + k; ++r) {
        full = (std::max)(full, base_[r].first);
        load = (std::max)(load, base_[r].second);
      }
      if (full + tokens_of(i) > o_.capacity || (best != ranks_ && load >= best_load)) continue;
      best = first;
      best_load = load;
    }
    return best;
  }

  weighed_samples const& items_;
  batching_options const& o_;
  stream_options const& s_;
  stream_limits const& limits_;
  std::size_t ranks_;
  std::vector<std::uint32_t> degree_;  ///< for each sample: number of ranks that share it
  std::vector<std::pair<std::int64_t, std::int64_t>> base_;
  std::vector<std::size_t> first_rank_;  ///< for each placed sample: the first of its ranks
};

}  // namespace ballast::inline v0_2::detail
