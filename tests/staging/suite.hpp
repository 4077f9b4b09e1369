// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>

#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// Chains under memory, and what all plans of them are, by trying every one.

namespace ballast_test {

struct staging_case {
  std::vector<ballast::stage_layer> layers;
  std::vector<std::int64_t> capacity;
  std::vector<std::uint64_t> in_flight;
  std::uint64_t min_layers = 1;
  std::int64_t hidden_percent = 0;

  [[nodiscard]] ballast::staging_options options() const {
    return {.stages = capacity.size(),
            .capacity = capacity,
            .in_flight = in_flight,
            .min_layers = min_layers,
            .hidden_percent = hidden_percent};
  }
};

/// Layers of few kinds or of many, with one to three options, in half of the cases with a working set, under memory from hopeless to ample.
inline staging_case random_staging_case(std::uint64_t seed, std::int64_t most_layers, std::int64_t most_stages) {
  ballast::splitmix64 draw(seed);
  staging_case c;
  auto const n = between(0, most_layers, draw), p = between(1, most_stages, draw), kinds = between(1, 4, draw);
  auto const link = between(0, 2, draw) == 0;
  std::vector<ballast::stage_layer> kind;
  for (std::int64_t k = 0; k < kinds; ++k) {
    ballast::stage_layer layer;
    layer.time = between(0, 30, draw);
    layer.state = between(0, 6, draw);
    auto const ways = between(1, 3, draw);
    for (std::int64_t j = 0; j < ways; ++j) {
      ballast::memory_option way;
      way.memory = between(0, 9, draw);
      way.time = j == 0 && between(0, 3, draw) > 0 ? 0 : between(0, 12, draw);
      if (j == 0 && way.time == 0) way.memory += 5;
      if (link && j == 2) way.transfer = between(1, 25, draw);
      layer.options.push_back(way);
    }
    kind.push_back(layer);
  }
  ballast::splitmix64 apart(~seed);
  if (between(0, 1, apart) == 0)
    for (auto& layer : kind) layer.working = between(0, 2, apart) == 0 ? 0 : between(1, 12, apart);
  for (std::int64_t i = 0; i < n; ++i) c.layers.push_back(kind[static_cast<std::size_t>(between(0, kinds - 1, draw))]);
  if (between(0, 1, draw) == 0)  // in runs, as models are
    std::sort(c.layers.begin(), c.layers.end(), [](auto const& a, auto const& b) { return a.time < b.time; });
  auto const schedule = between(0, 2, draw);
  for (std::int64_t s = 0; s < p; ++s) {
    auto const held = schedule == 0 ? p - s : schedule == 1 ? p : between(1, 5, draw);
    c.in_flight.push_back(static_cast<std::uint64_t>(held));
    c.capacity.push_back((n / p + 1) * (3 + held * between(2, 11, draw)));
  }
  c.min_layers = static_cast<std::uint64_t>(between(0, 5, draw) == 0 ? 0 : between(0, 5, draw) == 0 ? 2 : 1);
  if (link) c.hidden_percent = between(0, 4, draw) * 25;
  return c;
}

/// Layers of 0 to 8 units of time whose options differ by 1 to 40 bytes and units: the prices that bound one stage are often far off, and
/// close for the stage that is one layer longer.
inline staging_case light_staging_case(std::uint64_t seed, std::int64_t most_layers, std::int64_t most_stages) {
  ballast::splitmix64 draw(seed);
  staging_case c;
  auto const n = between(1, most_layers, draw), p = between(1, (std::min)(n, most_stages), draw), kinds = between(1, n, draw);
  auto const link = between(0, 3, draw) == 0;
  std::vector<ballast::stage_layer> kind;
  for (std::int64_t k = 0; k < kinds; ++k) {
    ballast::stage_layer layer;
    layer.time = between(0, 8, draw);
    layer.state = between(0, 2, draw);
    auto const ways = between(1, 4, draw);
    for (std::int64_t j = 0; j < ways; ++j) {
      ballast::memory_option way;
      way.memory = between(j == 0 ? 20 : 1, 40, draw);
      if (j > 0) way.time = between(1, 40, draw);
      if (link && j == 2) way.transfer = between(1, 40, draw);
      layer.options.push_back(way);
    }
    kind.push_back(layer);
  }
  for (std::int64_t i = 0; i < n; ++i) c.layers.push_back(kind[static_cast<std::size_t>(between(0, kinds - 1, draw))]);
  auto const room = between(4, 30, draw);
  for (auto held = p; held > 0; --held) {
    c.in_flight.push_back(static_cast<std::uint64_t>(held));
    c.capacity.push_back((n / p + 1) * (2 + held * room));
  }
  if (link) c.hidden_percent = between(0, 4, draw) * 25;
  return c;
}

/// Time of the cheapest way to run layers `from` … `end - 1` within `room`, by trying all.
inline std::optional<std::int64_t> try_options(staging_case const& c, std::size_t from, std::size_t end, std::int64_t room,
                                               std::int64_t time, std::int64_t added, std::int64_t transfer) {
  if (room < 0) return std::nullopt;
  if (from == end) {
    auto const shown = transfer - time * c.hidden_percent / 100;
    return time + added + (shown > 0 ? shown : 0);
  }
  std::optional<std::int64_t> best;
  for (auto const& o : c.layers[from].options) {
    auto const got = try_options(c, from + 1, end, room - o.memory, time + c.layers[from].time, added + o.time, transfer + o.transfer);
    if (got && (!best || *got < *best)) best = got;
  }
  return best;
}

/// The least bottleneck of all plans, by trying every cut and every option of every layer.
inline std::optional<std::int64_t> try_all(staging_case const& c, std::size_t begin = 0, std::size_t stage = 0) {
  auto const n = c.layers.size();
  if (stage == c.capacity.size()) return begin == n ? std::optional<std::int64_t>(0) : std::nullopt;
  std::optional<std::int64_t> best;
  for (auto end = begin + static_cast<std::size_t>(c.min_layers); end <= n; ++end) {
    auto const rest = try_all(c, end, stage + 1);
    if (!rest) continue;
    std::int64_t state = 0, working = 0;
    for (auto i = begin; i < end; ++i) {
      state += c.layers[i].state;
      working = (std::max)(working, c.layers[i].working);
    }
    auto const left = c.capacity[stage] - state - working;
    if (begin != end && left < 0) continue;
    auto const own = try_options(c, begin, end, begin == end ? 0 : left / static_cast<std::int64_t>(c.in_flight[stage]), 0, 0, 0);
    if (own && (!best || (std::max)(*own, *rest) < *best)) best = (std::max)(*own, *rest);
  }
  return best;
}

}  // namespace ballast_test
