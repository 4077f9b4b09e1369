// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/staging/detail/chunk_oracle.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// The local search over the cuts of stages with several chunks. Private.

namespace ballast::inline v0_2::detail {

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
    for (bool moved = true; moved && !oracle_.exhausted();) {
      moved = false;
      for (std::size_t k = 1; k + 1 < cuts_.size() && !oracle_.exhausted(); ++k) moved = even_out(k) || moved;
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
    auto const enough = [&] { return best_.lacks == 0 && (best_.time <= bound || oracle_.spent() >= table_.options().work / 2); };
    while (inner > 0 && !enough() && !oracle_.exhausted()) {
      auto cuts = best_cuts_;
      for (int kicks = 0; kicks < 3; ++kicks) {
        auto const k = 1 + static_cast<std::size_t>(uniform_below(inner, draw));
        auto const low = cuts[k - 1] + min_, high = cuts[k + 1] - min_;
        cuts[k] = low + static_cast<std::size_t>(uniform_below(high - low + 1, draw));
      }
      oracle_.spend(100);
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

}  // namespace ballast::inline v0_2::detail
