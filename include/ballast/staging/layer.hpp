// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/runs.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/memory.hpp>
#include <ballast/recompute/option.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief What the joint plan of stages and memory knows of a layer, and chains of such layers with equal ones folded.

namespace ballast::inline v0_2 {

/// @brief A layer: its time, the bytes that are there whatever is recomputed, and the ways to treat what it keeps for its backward pass.
struct stage_layer {
  std::int64_t time = 0;               ///< forward and backward of one micro-batch, nothing recomputed; not negative, any unit
  std::int64_t state = 0;              ///< bytes of parameters, gradients and optimiser states, not negative
  std::vector<memory_option> options;  ///< for one micro-batch: bytes held, time added, link time; at least one
  friend bool operator==(stage_layer const&, stage_layer const&) = default;
};

/// @brief A chain of layers as distinct layers and runs of them.
struct layer_chain {
  std::vector<stage_layer> classes;  ///< distinct layers
  chain_runs runs;                   ///< the chain in order; the value of a run is an index of `classes`
  friend bool operator==(layer_chain const&, layer_chain const&) = default;
};

/// @brief Refuses a chain that makes no sense, or whose sums could pass 2^58.
/// @param chain  the chain, perhaps built by hand
/// @throws invalid_input naming the first entry that breaks a rule
inline void require_valid(layer_chain const& chain) {
  require_valid(chain.runs);
  constexpr auto most = std::int64_t{1} << 58;
  std::vector<std::uint64_t> items(chain.classes.size());
  for (std::size_t r = 0; r < chain.runs.size(); ++r) {
    auto const k = chain.runs.values[r];
    require(k >= 0 && static_cast<std::uint64_t>(k) < chain.classes.size(), [&] {
      return "runs.values[" + std::to_string(r) + "] = " + std::to_string(k) + " is none of " + std::to_string(chain.classes.size()) +
             " classes";
    });
    items[static_cast<std::size_t>(k)] += chain.runs.counts[r];
  }
  option_classes all;
  std::int64_t time_left = most, state_left = most;
  for (std::size_t k = 0; k < chain.classes.size(); ++k) {
    auto const& layer = chain.classes[k];
    auto const count = items[k] == 0 ? 1 : items[k];
    auto const take = [&](std::int64_t& left, std::int64_t value, char const* field) {
      require(value >= 0 && (value == 0 || count <= static_cast<std::uint64_t>(left / value)), [&] {
        return "classes[" + std::to_string(k) + "]." + field + " = " + std::to_string(value) + " is negative, or brings the sum above 2^58";
      });
      if (value > 0) left -= static_cast<std::int64_t>(count) * value;
    };
    take(time_left, layer.time, "time");
    take(state_left, layer.state, "state");
    all.add(layer.options, count);
  }
  require_valid(all);
}

/// @brief Folds layers: equal ones become one class, wherever they stand; equal neighbours one run.
/// @param layers  the chain, first to last; may be empty
/// @return classes in order of first appearance
/// @par Complexity
/// O(layers + runs * classes).
/// @par Determinism
/// A pure function of its argument.
[[nodiscard]] inline layer_chain fold_layers(std::span<stage_layer const> layers) {
  layer_chain out;
  out.runs = fold_runs(std::uint64_t{layers.size()}, [&](std::uint64_t a, std::uint64_t b) {
    return layers[static_cast<std::size_t>(a)] == layers[static_cast<std::size_t>(b)];
  });
  for (auto& value : out.runs.values) {
    auto const& layer = layers[static_cast<std::size_t>(value)];
    std::size_t k = 0;
    while (k < out.classes.size() && out.classes[k] != layer) ++k;
    if (k == out.classes.size()) out.classes.push_back(layer);
    value = static_cast<std::int64_t>(k);
  }
  return out;
}

/// @brief Layers of a cost model for one micro-batch: time in FLOPs; kept, recomputed in part or recomputed in full.
///
/// A way that is no smaller than the one before it is left out.
///
/// @param layers  as `layers_of` makes them
/// @param batch   the micro-batch
/// @param spread  degrees, for the bytes of states
/// @param state   bytes of a parameter in each role
/// @return one entry a layer; `options[0]` keeps everything
/// @throws invalid_input if a cost of the batch reaches 2^58, or as `state_bytes`
/// @par Complexity
/// O(layers).
[[nodiscard]] inline std::vector<stage_layer> stage_layers_of(std::span<layer_cost const> layers, batch_shape const& batch,
                                                              parallelism const& spread = {}, training_state const& state = {}) {
  std::vector<stage_layer> out;
  out.reserve(layers.size());
  for (auto const& layer : layers) {
    auto const of = [&](batch_cost const& cost) {
      require(cost.fits(batch) && cost(batch) < (std::int64_t{1} << 58),
              [&] { return "layer \"" + layer.name + "\": a cost of the batch reaches 2^58"; });
      return cost(batch);
    };
    stage_layer made{of(layer.forward) + of(layer.backward), state_bytes(layer.parameters, spread, state), {}};
    for (auto const level : std::array{recompute_level::none, recompute_level::selective, recompute_level::full}) {
      memory_option const option{.memory = of(layer.memory(level)), .time = of(layer.recomputed(level))};
      if (made.options.empty() || option.memory < made.options.back().memory) made.options.push_back(option);
    }
    out.push_back(std::move(made));
  }
  return out;
}

}  // namespace ballast::inline v0_2
