// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/wide.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/link_time.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

// Stages of a plan as sums of their layers, and their exchanges as tables over the size of a micro-batch. Private.

namespace ballast::inline v0_2::detail {

/// The time of exchanges over the size of a micro-batch, as straight lines between equally distant sizes: exact for links with one latency
/// and one bandwidth. Exchanges depend on the tokens or on the tiles.
template <class = when_called>
class exchange_times {
 public:
  exchange_times(layer_evaluator const& evaluate, layer const& of, batch_shape const& largest) {
    if (of.exchanges.empty()) return;
    auto const at = [&](batch_shape const& batch) {
      auto const waits = evaluate.waits(of, batch);
      return std::pair{waits.forward, waits.backward};
    };
    auto const none = at({});
    auto const table = [&](std::int64_t most, auto const& shape) {
      std::array<std::vector<link_point>, 2> points;
      constexpr std::int64_t pieces = 32;
      for (std::int64_t k = 0, last = -1; k <= pieces; ++k) {
        auto const size = static_cast<std::int64_t>(
            multiply_divide_up(static_cast<std::uint64_t>(most), static_cast<std::uint64_t>(k), static_cast<std::uint64_t>(pieces)));
        if (size == std::exchange(last, size)) continue;
        auto const [forward, backward] = at(shape(size));
        points[0].push_back({size, forward - none.first});
        points[1].push_back({size, backward - none.second});
      }
      return std::array{link_time(points[0]), link_time(points[1])};
    };
    constant_ = {none.first, none.second};
    if (at({.tokens = largest.tokens}) != none) by_token_ = table(largest.tokens, [](std::int64_t n) { return batch_shape{.tokens = n}; });
    if (at({.tiles = largest.tiles}) != none) by_tile_ = table(largest.tiles, [](std::int64_t n) { return batch_shape{.tiles = n}; });
  }
  [[nodiscard]] std::int64_t forward(batch_shape const& batch) const { return of(0, batch); }
  [[nodiscard]] std::int64_t backward(batch_shape const& batch) const { return of(1, batch); }

 private:
  [[nodiscard]] std::int64_t of(std::size_t pass, batch_shape const& batch) const {
    return constant_[pass] + (by_token_ ? (*by_token_)[pass](batch.tokens) : 0) + (by_tile_ ? (*by_tile_)[pass](batch.tiles) : 0);
  }
  std::array<std::int64_t, 2> constant_{};
  std::optional<std::array<link_time, 2>> by_token_, by_tile_;
};

/// A stage of a plan, or a chunk of one, as one layer with one option: the sum of its layers, under the options that they take.
struct joined_stage {
  layer sum;
  std::vector<layer> working;  // layers of which each may have the largest working set; nothing else of them is set
  struct paced_layers {
    layer of;                            // work and pace alone
    std::int64_t number = 0, again = 0;  // how many there are, and of them those that run their forward pass again
  };
  std::vector<paced_layers> paced{};

  /// The waits of all layers that have a pace.
  [[nodiscard]] layer_waits waits(layer_evaluator const& evaluate, batch_shape const& batch) const {
    layer_waits out;
    for (auto const& p : paced) {
      auto const one = evaluate.waits(p.of, batch);
      out.forward += p.number * one.forward;
      out.backward += p.number * one.backward + p.again * one.again;
    }
    return out;
  }
};

template <class = when_called>
[[nodiscard]] inline std::vector<joined_stage> joined_stages(std::span<layer const> layers, joint_stages<> const& plan) {
  std::vector<joined_stage> out;
  auto const& cuts = plan.partition.boundaries;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    joined_stage stage{.sum = {.name = {}, .options = {{}}}, .working = {}, .paced = {}};
    auto& sum = stage.sum;
    auto& taken = sum.options.front();
    auto const exchange = [&](layer_traffic const& more) {
      for (auto& e : sum.exchanges) {
        auto const calls = e.calls;
        e.calls = more.calls;
        auto const same = e == more;
        e.calls = same ? calls + more.calls : calls;
        if (same) return;
      }
      sum.exchanges.push_back(more);
    };
    for (std::size_t i = cuts[s]; i < cuts[s + 1]; ++i) {
      auto const& of = layers[i];
      auto const& option = of.options[plan.option[i]];
      sum.forward = sum.forward + of.forward;
      sum.backward = sum.backward + of.backward;
      sum.updated += of.updated;
      taken.work = taken.work + option.work;
      taken.bytes = taken.bytes + option.bytes;
      sum.pace.step += of.pace.step;
      if (of.pace != layer_pace{.step = of.pace.step}) {
        auto at = std::find_if(stage.paced.begin(), stage.paced.end(), [&](auto const& p) {
          return p.of.pace == of.pace && p.of.forward == of.forward && p.of.backward == of.backward;
        });
        if (at == stage.paced.end())
          at = stage.paced.insert(at, {.of = {.name = {}, .forward = of.forward, .backward = of.backward, .pace = of.pace}});
        ++at->number;
        at->again += option.recomputed == recomputation::full ? 1 : 0;
      }
      for (auto e : of.exchanges) {
        exchange(e);
        if (option.recomputed != recomputation::full || e.when != exchange_phase::forward || e.what == traffic::parameter) continue;
        e.when = exchange_phase::backward;
        exchange(e);
      }
      auto const larger = [&](layer const& w) { return w.working.covers(of.working) && w.buffers >= of.buffers; };
      if (std::none_of(stage.working.begin(), stage.working.end(), larger))
        stage.working.push_back({.name = {}, .options = {}, .working = of.working, .buffers = of.buffers});
    }
    if (cuts[s + 1] < layers.size()) sum.boundary = layers[cuts[s + 1] - 1].boundary;
    out.push_back(std::move(stage));
  }
  return out;
}

}  // namespace ballast::inline v0_2::detail
