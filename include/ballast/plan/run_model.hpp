// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/memory.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/plan/cluster.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief The layers of a model as a whole run sees them: work, bytes and their choices as functions of the micro-batch.

namespace ballast::inline v0_2 {

/// @brief A way to treat what a layer keeps from its forward to its backward pass.
struct run_option {
  recompute_level level = recompute_level::none;  ///< what is computed again
  batch_cost bytes{};                             ///< bytes held for one micro-batch, in the model's unit
  batch_cost work{};                              ///< work added to the backward pass
  friend constexpr bool operator==(run_option const&, run_option const&) = default;
};

/// @brief One layer on one device of its stage.
struct run_layer {
  std::string name;                 ///< as in "layer 12"
  batch_cost forward{};             ///< work of the forward pass
  batch_cost backward{};            ///< work of the backward pass, nothing recomputed
  std::int64_t state = 0;           ///< bytes of parameters, gradients and optimiser states on the device
  std::vector<run_option> options;  ///< at least one
  batch_cost boundary{};            ///< bytes handed to the next layer, in the model's unit
  friend bool operator==(run_layer const&, run_layer const&) = default;
};

/// @brief A chain of layers with the rates that turn its work into time.
///
/// Work is FLOPs for a model by its shape, or time units for measured layers. Layers that were measured on one micro-batch of T tokens
/// scale by tokens: `per_token` is the time and the bytes of that micro-batch, `work_per_ms` T times the time units of a millisecond, and
/// `units_per_byte` T.
struct run_model {
  std::vector<run_layer> layers;       ///< first to last
  std::int64_t work_per_ms = 1;        ///< work that a device does in a millisecond, at least 1
  std::int64_t units_per_byte = 1;     ///< units of `bytes` and `boundary` in a byte, at least 1
  std::int64_t link_bytes_per_ms = 0;  ///< bytes that a link between stages moves in a millisecond, one way; 0: transfers take no time
  friend bool operator==(run_model const&, run_model const&) = default;
};

/// @brief The layers of a cost model on a cluster, in FLOPs: kept, recomputed in part, or recomputed in full.
///
/// A way that is no smaller than the one before it is left out. Links move half of the device's `link_bandwidth`, as that counts both
/// directions. Exchange inside a tensor-parallel group takes no time of its own: it is part of the utilisation.
///
/// @param layers  as `layers_of` makes them
/// @param on      the devices
/// @param spread  degrees, for the bytes of states
/// @param state   bytes of a parameter in each role
/// @return the model
/// @throws invalid_input as `state_bytes`, or if the device has no peak rate or the utilisation is not in (0, 1]
/// @par Complexity
/// O(layers).
/// @par Determinism
/// A pure function of its arguments; the rate is rounded once to FLOPs per millisecond.
[[nodiscard]] inline run_model run_model_of(std::span<layer_cost const> layers, cluster const& on = {}, parallelism const& spread = {},
                                            training_state const& state = {}) {
  (void)modelled_ms(0, on.device, on.mfu);  // refuses what is no rate
  auto const rate = static_cast<double>(on.device.bf16_flops) * on.mfu / 1000;
  run_model out{.layers = {},
                .work_per_ms = (std::max)(static_cast<std::int64_t>(rate), std::int64_t{1}),
                .units_per_byte = 1,
                .link_bytes_per_ms = on.device.link_bandwidth / 2000};
  for (auto const& layer : layers) {
    run_layer made{layer.name, layer.forward, layer.backward, state_bytes(layer.parameters, spread, state), {}, layer.boundary};
    for (auto const level : std::array{recompute_level::none, recompute_level::selective, recompute_level::full}) {
      auto const& bytes = layer.memory(level);
      auto const saves = [&](batch_cost const& other) {
        return bytes.per_token < other.per_token || bytes.per_square < other.per_square || bytes.per_tile < other.per_tile;
      };
      if (made.options.empty() || saves(made.options.back().bytes)) made.options.push_back({level, bytes, layer.recomputed(level)});
    }
    out.layers.push_back(std::move(made));
  }
  return out;
}

/// @brief The same for a language model by its shape.
/// @param model   the shape
/// @param on      the devices
/// @param spread  degrees
/// @param state   bytes of a parameter in each role
/// @return the model
/// @throws invalid_input as the other overload and `layers_of`
[[nodiscard]] inline run_model run_model_of(transformer const& model, cluster const& on = {}, parallelism const& spread = {},
                                            training_state const& state = {}) {
  return run_model_of(layers_of(model, spread), on, spread, state);
}

/// @brief The packs of a data plan in numbers: tokens and squared lengths.
///
/// @tparam Index  index type of the packs
/// @param packs   sample indices
/// @param tokens  of each sample
/// @return one entry a pack, without tiles
/// @throws invalid_input if a pack has an index beyond `tokens`, or sums that reach 2^63
/// @par Complexity
/// O(samples).
template <index_type Index>
[[nodiscard]] std::vector<batch_shape> shapes_of(groups<Index> const& packs, std::span<std::int64_t const> tokens) {
  std::vector<batch_shape> out;
  out.reserve(packs.size());
  for (auto const pack : packs) {
    batch_shape shape;
    for (auto const i : pack) {
      require(i < tokens.size(), [&] {
        return "packs[" + std::to_string(out.size()) + "] has index " + std::to_string(i) + ", but there are " +
               std::to_string(tokens.size()) + " samples";
      });
      auto const length = tokens[static_cast<std::size_t>(i)];
      batch_cost const sums{.per_token = 1, .per_square = length};
      batch_shape const more{.tokens = shape.squares, .squares = length, .tiles = 0};
      require(length >= 0 && sums.fits(more), [&] {
        return "tokens[" + std::to_string(i) + "] = " + std::to_string(length) + " is negative, or brings a sum of squares to 2^63";
      });
      shape.tokens += length;  // no more than the squares
      shape.squares = sums(more);
    }
    out.push_back(shape);
  }
  return out;
}

}  // namespace ballast::inline v0_2
