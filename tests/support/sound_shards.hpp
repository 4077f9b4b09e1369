// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>
#include <ballast/sharding/time_shards.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_test {

/// Whether every token is in one piece, no pass exceeds the capacity, and the shards take the time that they claim, which is not below
/// their bound.
template <class Cost>
bool sound_shards(ballast::shards<> const& plan, std::vector<std::int64_t> const& lengths, ballast::sharding_options const& o,
                  Cost const& cost) {
  if (plan.ranks() != o.ranks || plan.status != ballast::status::feasible) return false;
  std::vector<std::int64_t> tokens(lengths.size(), 0);
  std::vector<std::vector<std::int64_t>> starts(lengths.size());
  for (std::size_t p = 0; p < plan.passes(); ++p) {
    std::int64_t held = 0;
    for (auto const& piece : plan.of_pass(p)) {
      if (piece.begin < 0 || piece.begin >= piece.end || piece.end > lengths[piece.sample]) return false;
      held += piece.end - piece.begin;
      tokens[piece.sample] += piece.end - piece.begin;
      starts[piece.sample].push_back(piece.begin);
    }
    if (held > o.capacity) return false;
  }
  for (auto& s : starts) {
    std::sort(s.begin(), s.end());
    if (std::adjacent_find(s.begin(), s.end()) != s.end()) return false;
  }
  for (std::size_t r = 1; r < plan.ranks() && plan.execution == ballast::execution::lockstep; ++r)
    if (plan.passes(r) != plan.passes(0)) return false;
  return tokens == lengths && time_shards(plan, cost, o.cost_per_pass).makespan == plan.time.value &&
         plan.time.lower_bound <= plan.time.value;
}

}  // namespace ballast_test
