// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/unequal_options.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

// Lower bounds on the time of items in sets of unequal speed. Private.

namespace ballast::inline v0_2::detail {

/// Items by cost and size, in any order, and the sets that they go to.
template <class = when_called>
class unequal_sets_bound {
 public:
  unequal_sets_bound(std::span<std::int64_t const> cost, std::span<std::int64_t const> size, unequal_options const& options)
      : options_(options), descending_(cost.begin(), cost.end()), by_speed_(options.unit_time) {
    std::sort(descending_.begin(), descending_.end(), std::greater<>{});
    std::sort(by_speed_.begin(), by_speed_.end());
    if (options.capacity.empty() && options.largest.empty()) return;
    for (std::size_t i = 0; i < cost.size(); ++i) {  // what has no size counts towards no capacity
      if (size[i] == 0 && cost[i] > 0) dense_ = false;
      if (size[i] != 0 && compare_products(cost[i], most_.size, most_.cost, size[i]) > 0) most_ = {cost[i], size[i]};
    }
    add_sizes(cost, size);
  }
  /// The least time that none of the arguments forbids: any time below is impossible.
  [[nodiscard]] std::int64_t least() const {
    if (descending_.empty()) return 0;
    auto const high = std::accumulate(descending_.begin(), descending_.end(), std::int64_t{0}) * by_speed_.back();
    if (!possible(high)) return high + 1;
    return first_where(std::int64_t{0}, high, [&](std::int64_t time) { return possible(time); });
  }

 private:
  struct density {
    std::int64_t cost = 0, size = 1;
  };
  struct large_items {
    std::int64_t above, cost;  ///< items of a size above this one have this cost together
  };

  void add_sizes(std::span<std::int64_t const> cost, std::span<std::int64_t const> size) {
    std::vector<std::int64_t> limits(options_.largest);
    std::sort(limits.begin(), limits.end());
    limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
    for (auto const above : limits) {
      std::int64_t total = 0;
      for (std::size_t i = 0; i < cost.size(); ++i) total += size[i] > above ? cost[i] : 0;
      if (total > 0) large_.push_back({above, total});
    }
  }
  /// The most cost that set s completes in a time: by its speed, and by the cost of what its capacity can hold.
  [[nodiscard]] std::int64_t within(std::size_t s, std::int64_t time) const {
    auto const by_speed = time / options_.unit_time[s];
    if (options_.capacity.empty() || !dense_) return by_speed;
    auto const capacity = options_.capacity[s];
    if (compare_products(capacity, most_.cost, by_speed, most_.size) >= 0) return by_speed;
    return static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(capacity), static_cast<std::uint64_t>(most_.cost),
                                                        static_cast<std::uint64_t>(most_.size)));
  }
  [[nodiscard]] bool holds(std::int64_t cost, std::int64_t time, std::int64_t above) const {
    for (std::size_t s = 0; s < options_.unit_time.size() && cost > 0; ++s)
      if (above < 0 || options_.largest[s] > above) cost -= (std::min)(cost, within(s, time));
    return cost == 0;
  }
  [[nodiscard]] bool possible(std::int64_t time) const {
    auto const n = descending_.size(), sets = by_speed_.size();
    std::int64_t total = 0, room = 0;
    for (std::size_t k = 0; k < n && k < sets; ++k) {  // the k + 1 most expensive items are in k + 1 sets at most
      total += descending_[k];
      room += (std::min)(time / by_speed_[k], (std::int64_t{1} << 62) - room);
      if (room < total) return false;
    }
    for (std::size_t m = sets + 1; m <= n && m <= 8 * sets + 1;
         m += sets) {  // each of the m most expensive items costs at least that of the last
      std::int64_t fit = 0;
      if (descending_[m - 1] == 0) break;
      for (std::size_t s = 0; s < sets && fit < static_cast<std::int64_t>(m); ++s)
        fit += (std::min)(static_cast<std::int64_t>(m), time / by_speed_[s] / descending_[m - 1]);
      if (fit < static_cast<std::int64_t>(m)) return false;
    }
    if (!holds(std::accumulate(descending_.begin(), descending_.end(), std::int64_t{0}), time, -1)) return false;
    return std::all_of(large_.begin(), large_.end(), [&](large_items const& l) { return holds(l.cost, time, l.above); });
  }

  unequal_options const& options_;
  std::vector<std::int64_t> descending_, by_speed_;
  bool dense_ = true;  ///< whether every item has a size, so that a capacity limits the cost of a set
  density most_{};     ///< the item with most cost per size
  std::vector<large_items> large_{};
};

}  // namespace ballast::inline v0_2::detail
