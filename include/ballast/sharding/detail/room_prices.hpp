// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/sharding/detail/degree_times.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// What samples pay at least where room for tokens has a price: p for a token, so that a pass of d ranks with C tokens of room each, which
// lasts T beside its fixed time, may be paid d (T + p C). A sample of l tokens that takes t on d ranks pays at most p l + d t there. If it
// has more than half of the room, no second such sample is in the pass: what it leaves, d C - l tokens, is empty, which costs p for a
// token, or holds shorter samples that could be elsewhere for less. Let x_j be what sample j pays less here than p l_j + d t_j. Then the
// sample pays (d C - l) min(p, least x_j / l_j) more, over the samples of at most d C - l tokens. It pays the least of all numbers of
// ranks. So the samples of no pass pay more than d (T + p C):
//   - if none has more than half of the room, each pays p l + d t at most; all l are at most d C, and all t are at most T;
//   - the one that has pays more by at most p for each token of room that is empty, and x_j for each sample j beside it.

namespace ballast::inline v0_2::detail {

/// What each position pays, for a price of a token. Zero where it has room on no level. @pre each fits a group
[[nodiscard]] inline std::vector<std::int64_t> room_prices(degree_times const& t, std::int64_t price) {
  auto const n = t.length.size();
  std::vector<std::int64_t> out(n);
  std::vector<std::int64_t> saved((n + 1) * t.levels, price);  // least x_j / l_j of the positions from each on, and p
  for (auto i = n; i-- > 0;) {
    auto const length = t.length[i];
    auto least = degree_times::most;
    for (std::size_t l = 0; l < t.levels; ++l) {
      auto const left = t.room(l) - length;
      if (left < 0) continue;
      auto pays = price * length + t.area(i, l);
      if (left < length) {
        auto const beside = first_where(i + 1, n, [&](std::size_t j) { return t.length[j] <= left; });
        pays += left * saved[beside * t.levels + l];
      }
      least = (std::min)(least, pays);
    }
    out[i] = least;
    for (std::size_t l = 0; l < t.levels; ++l) {
      auto& of = saved[i * t.levels + l];
      of = saved[(i + 1) * t.levels + l];
      if (length <= t.room(l)) of = (std::min)(of, (std::max)(price * length + t.area(i, l) - least, std::int64_t{0}) / length);
    }
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
