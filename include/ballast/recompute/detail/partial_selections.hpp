// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

// Partial selections of the exact search, and which of them no other is better than.

namespace ballast::inline v0_2::detail {

/// A partial selection: what it adds to the favoured choices, and where it came from.
struct partial {
  std::int64_t memory, time, transfer, regret;
  std::uint32_t parent, alternative;
};
[[nodiscard]] inline bool before(partial const& a, partial const& b) noexcept {
  return std::tie(a.memory, a.time, a.transfer) < std::tie(b.memory, b.time, b.transfer);
}

/// Removes what another has at no more memory, time and unhidden time.
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
  std::map<std::int64_t, std::int64_t> stairs_;  // from time, rising, to time + transfer, falling
};

}  // namespace ballast::inline v0_2::detail
