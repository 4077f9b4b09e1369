// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Units of a row: loads of copies are exact for up to 16 copies, and for other divisors of it.
inline constexpr std::int64_t replica_units = 720'720;  // the least common multiple of 1 ... 16

/// Experts that may be on any of some ranks.
struct replica_problem {
  std::vector<std::int64_t> weights;  ///< rows of each expert
  std::size_t ranks = 1, each = 1;    ///< number of ranks, slots of each
  bool may_share = false;             ///< whether copies of one expert may be on the same rank

  [[nodiscard]] std::size_t slots() const noexcept { return ranks * each; }
  [[nodiscard]] std::int64_t share(std::size_t expert, std::int64_t copies) const noexcept {
    return divide_up(replica_units * weights[expert], copies);
  }
  [[nodiscard]] std::int64_t most_copies() const noexcept {
    return static_cast<std::int64_t>((std::min)(slots() - weights.size() + 1, may_share ? slots() : ranks));
  }
};

/// A plan of a problem.
struct replica_layout {
  std::vector<std::int64_t> copies;  ///< of each expert
  std::vector<std::uint32_t> held;   ///< expert of each slot, rank after rank
  std::vector<std::int64_t> loads;   ///< of each rank
  std::int64_t value = 0;            ///< the largest of them
};

/// Gives each further copy to the expert whose copies are the largest: no other numbers of copies have a smaller largest copy. `limits` are
/// the most copies of each expert; the result is empty if they do not fill the slots.
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> fewest_rows_per_copy(replica_problem const& of, std::vector<std::int64_t> const& limits) {
  auto const n = of.weights.size();
  std::vector<std::int64_t> copies(n, 1);
  auto const smaller = [&](std::size_t a, std::size_t b) {  // loads below 2^42, copies below 2^21
    auto const x = of.weights[a] * copies[b], y = of.weights[b] * copies[a];
    return x != y ? x < y : a > b;
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(smaller)> queue(smaller);
  for (std::size_t e = 0; e < n; ++e) queue.push(e);
  for (auto left = of.slots() - n; left > 0;) {
    if (queue.empty()) return {};
    auto const e = queue.top();
    queue.pop();
    if (copies[e] >= limits[e]) continue;
    ++copies[e];
    --left;
    queue.push(e);
  }
  return copies;
}

/// The same, without limits but those of the problem.
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> fewest_rows_per_copy(replica_problem const& of) {
  return fewest_rows_per_copy(of, std::vector<std::int64_t>(of.weights.size(), of.most_copies()));
}

/// A lower bound on the largest load: the mean; the largest copy, with the smallest ones that may fill its rank.
template <class = when_called>
[[nodiscard]] std::int64_t replica_bound(replica_problem const& of, std::vector<std::int64_t> const& fewest) {
  std::int64_t all = 0, copy = 0;
  std::vector<std::int64_t> least;
  for (std::size_t e = 0; e < fewest.size(); ++e) {
    all += of.weights[e];
    copy = (std::max)(copy, of.share(e, fewest[e]));
    least.push_back(of.share(e, of.most_copies()));
  }
  std::sort(least.begin(), least.end());
  if (of.may_share) std::fill(least.begin(), least.end(), least.front());
  for (std::size_t i = 0; i + 1 < of.each; ++i) copy += least[(std::min)(i, least.size() - 1)];
  return (std::max)(copy, divide_up(replica_units * all, static_cast<std::int64_t>(of.ranks)));
}

}  // namespace ballast::inline v0_2::detail
