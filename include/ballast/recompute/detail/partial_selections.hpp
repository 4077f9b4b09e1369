// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

// Partial selections of the exact search, and the removal of dominated ones.

namespace ballast::inline v0_2::detail {

/// A partial selection: its difference from the favoured choices, and its predecessor.
struct partial {
  std::int64_t memory, time, transfer, regret;
  std::uint32_t parent, alternative;
};
[[nodiscard]] inline bool before(partial const& a, partial const& b) noexcept {
  return std::tie(a.memory, a.time, a.transfer) < std::tie(b.memory, b.time, b.transfer);
}

/// Removes selections that another dominates in memory, time and time that is not hidden.
template <class = when_called>
class undominated_filter {
 public:
  /// `list` is sorted by `before`; `transfers` says whether time on the link counts.
  void operator()(std::vector<partial>& list, bool transfers) {
    auto end = list.begin();
    if (!transfers) {
      auto least = (std::numeric_limits<std::int64_t>::max)();
      for (auto const& n : list)
        if (n.time < least) {
          least = n.time;
          *end++ = n;
        }
    } else {
      stairs_.clear();
      for (auto const& n : list) {
        auto const sum = n.time + n.transfer;
        auto const above = stairs_.upper_bound(n.time);
        if (above != stairs_.begin() && std::prev(above)->second <= sum) continue;
        auto last = stairs_.lower_bound(n.time);
        while (last != stairs_.end() && last->second >= sum) last = stairs_.erase(last);
        stairs_.emplace_hint(last, n.time, sum);
        *end++ = n;
      }
    }
    list.erase(end, list.end());
  }

 private:
  std::map<std::int64_t, std::int64_t> stairs_;  // maps ascending time to descending time + transfer
};

}  // namespace ballast::inline v0_2::detail
