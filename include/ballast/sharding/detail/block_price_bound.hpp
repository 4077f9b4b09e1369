// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/sharding/detail/degree_times.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// A lower bound on a batch in lockstep on groups of any size, from prices that samples pay in rank-time. Of R ranks, at most
// k = floor(R / g) blocks of g ranks are beside each other, and the ranks that are left hold few tokens, however long a micro-batch lasts.
// Let p be the price of a token, C the capacity and F = p C. A group of d ranks, and so of q = floor(d / g) blocks, may pay, in a
// micro-batch that lasts T beside its fixed time,
//   - d T where T is at most F;
//   - d F + (T - F) q R / k where it is more.
// All groups together pay at most R T then, since the sum of q is at most k. So if all samples pay S, all micro-batches together last S / R
// at least. A sample of l tokens that takes t on d ranks pays the least of what it may pay in these places:
//   - in a micro-batch of at most F, d t;
//   - in a longer one on fewer than g ranks, p l: the group has room for C d tokens;
//   - on ranks of which q R / k is at most d, t q R / k + p l (1 - q R / (k d)): all of the group pay (T - F) q R / k + F d at most;
//   - on others, d min(t, F) + max(t - F, 0) q R / k: for a unit of t this is no more than the group may pay for a unit of any T >= t.
// The third is between d t and p l, and the fourth is at least d t. So a sample that takes at most F where its rank-time is least pays that
// or p l, whichever is less. None pays less on more ranks where it takes no less time.

namespace ballast::inline v0_2::detail {

class block_price_bound {
 public:
  /// Adds the sample at the next position. @param times  on `narrowest` ranks and more, -1 where fewer are as quick
  void add(std::int64_t narrowest, std::vector<std::int64_t> const& times) {
    for (std::size_t k = 0; k < times.size(); ++k)
      if (times[k] >= 0) choices_.push_back({narrowest + static_cast<std::int64_t>(k), times[k]});
    end_.push_back(choices_.size());
  }

  /// The best bound over some sizes of blocks and prices. @param best  of each position, the least rank-time and the time where it is that
  template <class AreaAndTime>
  [[nodiscard]] std::int64_t run(degree_times const& t, std::vector<AreaAndTime> const& best, std::int64_t batches) const {
    auto const ranks = static_cast<std::int64_t>(t.options.ranks), capacity = t.options.capacity;
    std::int64_t longest = 0, density = degree_times::most, most = 0;
    for (std::size_t i = 0; i < best.size(); ++i) {
      longest = (std::max)(longest, best[i].time);
      density = (std::min)(density, best[i].area / t.length[i]);
    }
    if (longest > degree_times::most / ranks) return 0;
    auto const try_size = [&](std::int64_t size) {
      if (ranks % size == 0) return;
      auto const second = (std::max)(density, longest / capacity / 16);  // the first is that tokens are free
      for (std::int64_t price = 0; price <= longest / capacity; price = (std::max)(price + price / 4 + 1, second))
        most = (std::max)(most, paid(t, best, size, price));
    };
    for (std::int64_t size = 2; size <= ranks / 2; size *= 2) try_size(size);
    try_size(ranks / 2 + 1);
    return divide_up(most, ranks) + batches * t.options.cost_per_pass;
  }

  /// What all samples pay at least, with blocks of `size` ranks. Below 2^63: a sample pays at most twice a rank-time that it may take.
  template <class AreaAndTime>
  [[nodiscard]] std::int64_t paid(degree_times const& t, std::vector<AreaAndTime> const& best, std::int64_t size,
                                  std::int64_t price) const {
    auto const ranks = static_cast<std::int64_t>(t.options.ranks), first = price * t.options.capacity;
    auto const blocks = ranks / size, spare = ranks % size;
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < best.size(); ++i) {
      auto const tokens = price * t.length[i];
      if (best[i].time <= first) {
        sum += (std::min)(best[i].area, tokens);
        continue;
      }
      auto pays = t.length[i] <= (size - 1) * t.options.capacity ? tokens : degree_times::most;
      for (auto k = i == 0 ? 0 : end_[i - 1]; k < end_[i]; ++k) {
        auto const [d, time] = choices_[k];
        auto const q = d / size;
        auto const of_blocks = [&](std::int64_t part) { return q * size * part + q * spare * part / blocks; };  // q R / k of each unit
        if (time <= first) pays = (std::min)(pays, d * time);
        if (q == 0) continue;
        pays =
            (std::min)(pays, q * ranks <= blocks * d ? of_blocks(time) + tokens / (blocks * d) * (blocks * d - q * ranks)
                                                     : d * (std::min)(time, first) + of_blocks((std::max)(time - first, std::int64_t{0})));
      }
      sum += pays;
    }
    return sum;
  }

 private:
  struct choice {
    std::int64_t ranks, time;
  };

  std::vector<choice> choices_;   // the samples behind each other: numbers of ranks, ascending, on each of which it takes less time
  std::vector<std::size_t> end_;  // of each sample in `choices_`
};

}  // namespace ballast::inline v0_2::detail
