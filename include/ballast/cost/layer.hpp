// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/cost/parallelism.hpp>
#include <ballast/cost/recompute_modules.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

/// @file
/// @brief `layer`: what a layer computes, keeps in memory and sends to the next layer, as a function of the micro-batch.

namespace ballast::inline v0_2 {

/// @brief The size of a micro-batch: all that the cost of a layer depends on.
struct batch_shape {
  std::int64_t tokens = 0;   ///< tokens of the language model, image tokens included
  std::int64_t squares = 0;  ///< sum of the squared lengths of the micro-batch's samples
  std::int64_t tiles = 0;    ///< number of image tiles

  /// @brief Tokens, squares and tiles as values of the symbolic dimensions 0, 1, 2.
  [[nodiscard]] constexpr std::array<std::int64_t, 3> values() const noexcept { return {tokens, squares, tiles}; }
  friend constexpr bool operator==(batch_shape const&, batch_shape const&) = default;
};

/// @brief A cost of a micro-batch: linear in its tokens, squares and tiles, and a constant that each micro-batch pays once.
///
/// A micro-batch that is trained in chunks pays the constant in each of them, and ranks that share a micro-batch pay it on each of them.
struct batch_cost {
  std::int64_t per_token = 0;   ///< units per token, not negative
  std::int64_t per_square = 0;  ///< units per squared token, not negative
  std::int64_t per_tile = 0;    ///< units per tile, not negative
  std::int64_t per_batch = 0;   ///< units per micro-batch, whatever its size, not negative: weights read, their gradients added

  /// @brief The cost of a micro-batch. @param of the micro-batch, with `fits(of)`
  [[nodiscard]] constexpr std::int64_t operator()(batch_shape const& of) const noexcept { return over(of.tokens, of.squares, of.tiles); }
  /// @brief Whether the cost is below 2^63. @param of the micro-batch
  [[nodiscard]] constexpr bool fits(batch_shape const& of) const noexcept {
    return (checked(per_token) * checked(of.tokens) + checked(per_square) * checked(of.squares) + checked(per_tile) * checked(of.tiles) +
            checked(per_batch))
        .fits();
  }
  /// @brief The cost over numbers of any kind, as in `over(symbolic::of(0), symbolic::of(1), symbolic::of(2))`: no sum is checked.
  /// @tparam Number  what a 64-bit integer can be multiplied with and turned into
  /// @param tokens, squares, tiles  of the micro-batch
  template <class Number>
  [[nodiscard]] constexpr Number over(Number const& tokens, Number const& squares, Number const& tiles) const {
    return per_token * tokens + per_square * squares + per_tile * tiles + Number(per_batch);
  }
  /// @brief The cost of micro-batches that differ in their tiles alone, by tile. @param tile tokens and squares of a tile, with
  /// `fits(tile)`
  [[nodiscard]] constexpr batch_cost by_tile(batch_shape const& tile) const noexcept {
    return {.per_tile = (*this)(tile)-per_batch, .per_batch = per_batch};
  }
  /// @brief Whether no coefficient is less than that of another cost. @param other a cost
  [[nodiscard]] constexpr bool covers(batch_cost const& other) const noexcept {
    return per_token >= other.per_token && per_square >= other.per_square && per_tile >= other.per_tile && per_batch >= other.per_batch;
  }
  /// @brief The sum of two costs. @param a a cost @param b another; each sum of coefficients must be below 2^63
  friend constexpr batch_cost operator+(batch_cost const& a, batch_cost const& b) noexcept {
    return {a.per_token + b.per_token, a.per_square + b.per_square, a.per_tile + b.per_tile, a.per_batch + b.per_batch};
  }
  /// @brief A cost several times. @param times not negative @param of the cost; each product must be below 2^63
  friend constexpr batch_cost operator*(std::int64_t times, batch_cost const& of) noexcept {
    return {times * of.per_token, times * of.per_square, times * of.per_tile, times * of.per_batch};
  }
  /// @brief Of each coefficient the larger one: no micro-batch costs more by `a` or by `b`. @param a a cost @param b another
  friend constexpr batch_cost most_of(batch_cost const& a, batch_cost const& b) noexcept {
    return {(std::max)(a.per_token, b.per_token), (std::max)(a.per_square, b.per_square), (std::max)(a.per_tile, b.per_tile),
            (std::max)(a.per_batch, b.per_batch)};
  }
  friend constexpr bool operator==(batch_cost const&, batch_cost const&) = default;
};

/// @brief One way to treat the activations that a layer keeps from its forward to its backward pass.
struct layer_option {
  recomputation recomputed = recomputation::none;  ///< what is computed again in the backward pass
  batch_cost bytes{};                              ///< memory held for one micro-batch: bytes, or units of them (`layer_rates`)
  batch_cost work{};                               ///< work that recomputation adds to the backward pass
  module_set modules{};                            ///< the modules that `selective` recomputes, if they are known
  friend constexpr bool operator==(layer_option const&, layer_option const&) = default;
};

/// @brief An exchange of a layer, by the size of the micro-batch: `layer_exchange` before the micro-batch is known.
struct layer_traffic {
  traffic what{};               ///< what it is for
  collective how{};             ///< the collective
  rank_group over{};            ///< the ranks that take part
  exchange_phase when{};        ///< when it takes place
  std::int64_t bytes = 0;       ///< bytes of one call, whatever the micro-batch; not negative
  batch_cost bytes_of_batch{};  ///< bytes of one call in addition, for one micro-batch
  std::int64_t calls = 1;       ///< number of calls

  /// @brief The exchange for one micro-batch. @param of the micro-batch, with `bytes_of_batch.fits(of)`
  [[nodiscard]] constexpr layer_exchange operator()(batch_shape const& of) const noexcept {
    return {what, how, over, when, bytes + bytes_of_batch(of), calls};
  }
  friend constexpr bool operator==(layer_traffic const&, layer_traffic const&) = default;
};

/// @brief What the passes of a layer take beside its work, where kernels are timed (`time_layers`). All times are in units of work.
///
/// A pass takes its work and the exchanges of activations, but no less than its host needs. Sharded parameters travel beside it: it then
/// takes no less than they do, and is slower by a part of what it hides.
struct layer_pace {
  batch_cost forward{};              ///< exchanges of activations that the forward pass waits for
  batch_cost backward{};             ///< the same in the backward pass
  std::int64_t host_forward = 0;     ///< time in which the host launches the kernels of the forward pass
  std::int64_t host_backward = 0;    ///< the same of the backward pass
  std::int64_t copied_forward = 0;   ///< copies of sharded parameters in the forward pass
  std::int64_t copied_backward = 0;  ///< copies of sharded parameters and gradients in the backward pass
  std::int64_t shards_forward = 0;   ///< exchanges of sharded parameters beside the forward pass
  std::int64_t shards_backward = 0;  ///< exchanges of sharded parameters and gradients beside the backward pass
  std::int64_t stolen = 0;           ///< thousandths of hidden exchanges of shards by which a pass becomes slower
  std::int64_t step = 0;             ///< exchange of gradients and parameters at the end of a step
  friend constexpr bool operator==(layer_pace const&, layer_pace const&) = default;
};

/// @brief One layer on one device of its stage. `layers_of` makes layers from a model; write measured layers by hand.
///
/// Work is in FLOPs for layers made from a model, and in time for measured layers; `layer_rates` says how much work a millisecond takes.
struct layer {
  std::string name;             ///< name for messages and reports, as in "language 12"
  batch_cost forward{};         ///< work of the forward pass
  batch_cost backward{};        ///< work of the backward pass, without recomputation
  std::int64_t parameters = 0;  ///< parameters on all devices of one tensor-parallel group; 0 if only `state` is known
  std::int64_t state = 0;       ///< bytes of parameters, gradients and optimiser states on the device, not negative
  std::int64_t apart = 0;       ///< bytes of states in addition if the chain's first layer is on another device (an embedding's copy)
  std::int64_t updated = 0;     ///< bytes of states that the optimiser reads and writes on the device in a step
  std::vector<layer_option> options{};  ///< ways to treat activations, at least one; the first keeps most
  /// Memory in addition while the layer's backward runs, under any option: recomputed activations, or their gradients; bytes, or units of
  /// them (`layer_rates`).
  batch_cost working{};
  std::int64_t buffers = 0;  ///< bytes in addition to `working`, whatever the micro-batch: gathered parameters and their gradients
  batch_cost boundary{};     ///< data sent to the next layer: bytes, or units of them (`layer_rates`)
  std::vector<layer_traffic> exchanges{};  ///< what the layer exchanges with other devices of its stage, and of other ranks
  layer_pace pace{};                       ///< what its passes take beside the work; then `exchanges` is empty

  /// @brief Appends an option if it is the first, or keeps fewer bytes per token, square, tile or micro-batch than the last.
  /// @param option  an option that keeps less memory and costs more work than the last one
  void add(layer_option const& option) {
    if (options.empty() || !option.bytes.covers(options.back().bytes)) options.push_back(option);
  }
  /// @brief Whether a layer is the same but for its name. @param other a layer
  [[nodiscard]] bool costs_as(layer const& other) const {
    auto const costs = [](layer const& l) {
      return std::tie(l.forward, l.backward, l.parameters, l.state, l.apart, l.updated, l.options, l.working, l.buffers, l.boundary,
                      l.exchanges, l.pace);
    };
    return costs(*this) == costs(other);
  }
  friend bool operator==(layer const&, layer const&) = default;
};

}  // namespace ballast::inline v0_2
