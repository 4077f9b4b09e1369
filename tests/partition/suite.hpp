// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/partition/check.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/result.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// Chains with every constraint, and what all cuts of them are, by trying every one.

namespace ballast_test {

using ballast::partition_bound;
using ballast::partition_options;
using ballast::status;
using numbers = std::vector<std::int64_t>;
using cut = std::vector<std::uint32_t>;

/// What a case has beside its layers; kinds add up.
enum constraint : unsigned {
  nothing = 0,
  empty_stages = 1,
  several_layers = 2,
  weighted_layers = 4,
  speeds = 8,
  capacities = 16,
  transfers = 32,
};

struct chain_case {
  numbers layers, unit_time, size, capacity, transfer, volume;
  std::uint64_t stages = 1, min_layers = 1, min_weighted = 0;
  std::int64_t limit = 0;
  [[nodiscard]] partition_options options() const { return {stages, min_layers, min_weighted, unit_time, size, capacity, transfer, limit}; }
};

inline numbers draw_numbers(std::size_t count, std::int64_t low, std::int64_t high, ballast::splitmix64& draw) {
  numbers out(count);
  for (auto& x : out) x = between(low, high, draw);
  return out;
}

inline chain_case random_chain_case(std::uint64_t seed, unsigned kinds, std::size_t most_layers = 9, std::uint64_t most_stages = 4) {
  ballast::splitmix64 draw(seed);
  chain_case c;
  auto const n = static_cast<std::size_t>(ballast::uniform_below(most_layers + 1, draw));
  auto const few = ballast::uniform_below(2, draw) == 0;
  c.layers = draw_numbers(n, ballast::uniform_below(3, draw) == 0 ? 0 : 1, few ? 3 : 40, draw);
  if (ballast::uniform_below(3, draw) == 0)
    for (auto& x : c.layers) x = x % 2 == 0 ? 0 : x;
  c.stages = 1 + ballast::uniform_below(most_stages, draw);
  auto const p = static_cast<std::size_t>(c.stages);
  auto const cuts = n == 0 ? 0 : n - 1;
  c.volume = draw_numbers(cuts, 0, few ? 3 : 50, draw);
  if ((kinds & empty_stages) != 0) c.min_layers = 0;
  if ((kinds & several_layers) != 0) c.min_layers = 1 + ballast::uniform_below(3, draw);
  if ((kinds & weighted_layers) != 0) c.min_weighted = 1 + ballast::uniform_below(2, draw);
  if ((kinds & speeds) != 0) c.unit_time = draw_numbers(p, 1, 4, draw);
  if ((kinds & transfers) != 0) c.transfer = draw_numbers(cuts, 0, few ? 2 : 20, draw);
  if ((kinds & capacities) != 0 && n > 0) {
    c.size = draw_numbers(n, 0, 9, draw);
    auto const mean = std::accumulate(c.size.begin(), c.size.end(), std::int64_t{0}) / static_cast<std::int64_t>(p);
    c.capacity = draw_numbers(p, mean / 2, mean + 14, draw);
  }
  return c;
}

/// A legal cut and what it is worth.
struct worth {
  std::int64_t bottleneck = 0, volume = 0;
  std::uint64_t squares = 0;
  cut boundaries;
};

/// The worth of a cut; nothing where it breaks a rule.
inline std::optional<worth> worth_of(chain_case const& c, cut const& boundaries) {
  worth w{0, 0, 0, boundaries};
  auto const n = c.layers.size();
  for (std::size_t s = 0; s + 1 < boundaries.size(); ++s) {
    std::int64_t load = 0, held = 0;
    std::uint64_t weighted = 0;
    for (std::size_t i = boundaries[s]; i < boundaries[s + 1]; ++i) {
      load += c.layers[i] * (c.unit_time.empty() ? 1 : c.unit_time[s]);
      held += c.size.empty() ? 0 : c.size[i];
      weighted += c.layers[i] > 0 ? 1U : 0U;
    }
    for (auto const at : {boundaries[s], boundaries[s + 1]})
      if (!c.transfer.empty() && at > 0 && at < n) load += c.transfer[at - 1];
    if (boundaries[s + 1] - boundaries[s] < c.min_layers || weighted < c.min_weighted) return {};
    if (!c.capacity.empty() && held > c.capacity[s]) return {};
    w.bottleneck = (std::max)(w.bottleneck, load);
    w.squares += static_cast<std::uint64_t>(load * load);
    if (auto const at = boundaries[s + 1]; at > 0 && at < n) w.volume += c.volume[at - 1];
  }
  return w;
}

/// Every legal cut, in the order of merit of the k best.
inline std::vector<worth> every_cut(chain_case const& c) {
  std::vector<worth> out;
  auto const n = static_cast<std::uint32_t>(c.layers.size());
  cut at(static_cast<std::size_t>(c.stages) + 1, 0);
  at.back() = n;
  for (;;) {
    if (auto const w = worth_of(c, at)) out.push_back(*w);
    std::size_t s = at.size() - 2;
    while (s > 0 && at[s] == n) --s;
    if (s == 0) break;
    auto const next = at[s] + 1;
    std::fill(at.begin() + static_cast<std::ptrdiff_t>(s), at.end() - 1, next);
  }
  std::sort(out.begin(), out.end(), [](worth const& a, worth const& b) {
    if (std::tie(a.bottleneck, a.squares) != std::tie(b.bottleneck, b.squares))
      return std::tie(a.bottleneck, a.squares) < std::tie(b.bottleneck, b.squares);
    return std::lexicographical_compare(a.boundaries.rbegin(), a.boundaries.rend(), b.boundaries.rbegin(), b.boundaries.rend());
  });
  return out;
}

inline void require_valid(ballast::verdict const& v) {
  INFO(describe(v));
  REQUIRE(v.valid());
}

}  // namespace ballast_test
