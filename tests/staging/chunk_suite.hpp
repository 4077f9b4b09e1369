// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/staging/chunk_options.hpp>
#include <ballast/staging/layer.hpp>

#include "suite.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// Chains for stages with several chunks, and the best of all plans by trying every one.

namespace ballast_test {

/// Work for a plan of a case.
inline constexpr std::uint64_t little_work = 1'000'000;

struct chunk_case {
  ballast::any_schedule schedule;
  std::uint64_t stages = 1, micro_batches = 1;
  std::vector<ballast::stage_layer> layers;
  ballast::chunks_in_flight held;
  std::vector<std::int64_t> capacity;
  std::uint64_t min_layers = 1;
  std::int64_t hidden_percent = 0;
  [[nodiscard]] ballast::chunk_options options() const {
    return {.capacity = capacity, .min_layers = min_layers, .hidden_percent = hidden_percent};
  }
};

/// At most four virtual stages if `small`, with layers as in `random_staging_case`.
inline chunk_case random_chunk_case(std::uint64_t seed, bool small, std::int64_t most_layers) {
  ballast::splitmix64 draw(seed);
  chunk_case c;
  auto const kind = between(0, 3, draw);
  auto const chunks = kind == 0 ? 1 : kind == 3 && !small ? 3 : 2;
  c.stages = static_cast<std::uint64_t>(between(1, small ? (chunks == 1 ? 3 : 2) : 5, draw));
  c.micro_batches = c.stages * static_cast<std::uint64_t>(between(1, 4, draw));
  if (kind == 0)
    c.schedule = ballast::one_f_one_b_schedule{};
  else if (kind == 1)
    c.schedule = ballast::zbv_schedule{};
  else
    c.schedule = ballast::interleaved_schedule{.chunks = static_cast<std::uint64_t>(chunks)};
  c.held = ballast::held_by_chunk(c.schedule, c.stages, c.micro_batches);
  auto const virtual_stages = static_cast<std::int64_t>(c.held.stage_of.size());
  do c.layers = random_staging_case(draw(), most_layers, 1).layers;
  while (static_cast<std::int64_t>(c.layers.size()) < virtual_stages);
  c.min_layers = static_cast<std::uint64_t>(between(0, 3, draw) == 0 ? 0 : 1);
  if (between(0, 2, draw) == 0) c.hidden_percent = 25 * between(1, 4, draw);
  auto const stages = static_cast<std::int64_t>(c.stages), n = static_cast<std::int64_t>(c.layers.size());
  for (auto const& rows : c.held.held) {
    auto const held = static_cast<std::int64_t>(*std::max_element(rows.begin(), rows.end()));
    c.capacity.push_back((n / stages + 1) * (3 + held * between(2, 11, draw)));
  }
  if (between(0, 2, draw) == 0)  // working sets that only some stages have room for
    for (auto& layer : c.layers) layer.working *= 6;
  return c;
}

/// Time of the cheapest way to run layers of a stage, by trying all: `chunk` has for each of its layers the number of its chunk.
class least_of_a_stage {
 public:
  least_of_a_stage(chunk_case const& c, std::vector<std::size_t> const& cuts, std::size_t stage) : case_(c), stage_(stage) {
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      if (c.held.stage_of[k] != stage) continue;
      bytes_.push_back(0);
      for (auto i = cuts[k]; i < cuts[k + 1]; ++i) {
        layers_.push_back({i, bytes_.size() - 1});
        time_ += c.layers[i].time;
        state_ += c.layers[i].state;
        working_ = (std::max)(working_, c.layers[i].working);
      }
    }
    go(0, 0, 0);
  }
  [[nodiscard]] std::optional<std::int64_t> value() const { return best_; }

 private:
  void go(std::size_t at, std::int64_t added, std::int64_t transfer) {
    if (at < layers_.size()) {
      auto const [layer, chunk] = layers_[at];
      for (auto const& o : case_.layers[layer].options) {
        bytes_[chunk] += o.memory;
        go(at + 1, added + o.time, transfer + o.transfer);
        bytes_[chunk] -= o.memory;
      }
      return;
    }
    auto const& rows = case_.held.held[stage_];
    for (std::size_t r = 0; r < rows.size(); r += bytes_.size()) {
      auto sum = state_ + working_;
      for (std::size_t c = 0; c < bytes_.size(); ++c) sum += static_cast<std::int64_t>(rows[r + c]) * bytes_[c];
      if (sum > case_.capacity[stage_]) return;
    }
    auto const shown = transfer - time_ * case_.hidden_percent / 100;
    auto const time = time_ + added + (shown > 0 ? shown : 0);
    if (!best_ || time < *best_) best_ = time;
  }

  chunk_case const& case_;
  std::size_t stage_;
  std::vector<std::pair<std::size_t, std::size_t>> layers_;  // number, and number of its chunk
  std::vector<std::int64_t> bytes_;                          // of each chunk
  std::int64_t time_ = 0, state_ = 0, working_ = 0;
  std::optional<std::int64_t> best_;
};

/// The least time of the slowest stage of all plans, by trying every cut and every option of every layer.
inline std::optional<std::int64_t> try_all_chunks(chunk_case const& c, std::vector<std::size_t> cuts = {0}) {
  auto const n = c.layers.size(), q = c.held.stage_of.size();
  std::optional<std::int64_t> best;
  if (cuts.size() == q) {
    if (n < cuts.back() + c.min_layers) return best;
    cuts.push_back(n);
    std::int64_t slowest = 0;
    for (std::size_t s = 0; s < c.stages; ++s) {
      auto const own = least_of_a_stage(c, cuts, s).value();
      if (!own) return best;
      slowest = (std::max)(slowest, *own);
    }
    return slowest;
  }
  cuts.push_back(0);
  for (auto at = cuts[cuts.size() - 2] + static_cast<std::size_t>(c.min_layers); at <= n; ++at) {
    cuts.back() = at;
    auto const found = try_all_chunks(c, cuts);
    if (found && (!best || *found < *best)) best = found;
  }
  return best;
}

}  // namespace ballast_test
