// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/degree_cost.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/sequence_parallel.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief `degree_cost_of`: the time of a sample on the ranks that share it, from a model, a device and its links. `tokens_that_fit`: the
/// tokens that a rank has memory for. Both results are modelled, not measured.

namespace ballast::inline v0_2 {

/// @brief How the ranks that share a sample exchange what attention needs.
enum class context_exchange : std::uint8_t {
  all_gather,  ///< keys and values are gathered in the forward and in the backward pass, and their gradients reduce-scattered
  ring,        ///< keys and values travel round a ring, in the backward pass with their gradients (`context_method::ring`)
  ulysses,     ///< all-to-alls exchange tokens for heads and back (`context_method::ulysses`)
};

/// @brief How a model is trained, as far as the time of a sample depends on it.
struct model_degree_options {
  context_exchange method = context_exchange::all_gather;  ///< how ranks share attention
  std::uint32_t utilisation = 400;                         ///< thousandths of the device's peak that matrix products reach, in [1, 1000]
  std::uint32_t recomputed_layers = 0;  ///< number of layers that run their forward pass again, with its exchanges: 4 passes instead of 3
  std::int64_t hidden = 0;              ///< thousandths of the exchanges that computation hides, in [0, 1000]
  std::int64_t ranks = 64;              ///< most ranks that share a sample, up to 2^20; with Ulysses a power of two
  std::int64_t tokens = 16384;          ///< tokens of a rank in a full pass, over which latencies are spread, in [1, 2^20]
};

namespace detail {

/// Picoseconds that each of `ranks` ranks waits for the exchanges of a pass with `o.tokens` tokens on each, forward and backward.
template <class = when_called>
[[nodiscard]] inline std::int64_t context_time(transformer const& model, fabric const& over, model_degree_options const& o,
                                               std::int64_t ranks) {
  using enum collective;
  exchange_setting const by{.spread = {.context = ranks, .data = ranks},
                            .method = o.method == context_exchange::ulysses ? context_method::ulysses : context_method::ring};
  std::vector<layer_exchange> all;
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    for (auto e : layer_exchanges(model, layer, by, o.tokens * ranks)) {
      if (e.what != traffic::context) continue;
      if (o.method == context_exchange::all_gather && e.how == send) {  // the ring's backward pass sends gradients beside keys and values
        auto const backward = e.when == exchange_phase::backward;
        e = {e.what, all_gather, e.over, e.when, e.bytes / (backward ? 2 : 1) * ranks};
        if (backward) all.push_back({e.what, reduce_scatter, e.over, e.when, e.bytes});
      }
      if (e.when == exchange_phase::forward && layer < std::int64_t{o.recomputed_layers}) all.push_back(e);
      all.push_back(e);
    }
  for (auto& e : all) e.when = exchange_phase::step;  // one checked sum of forward and backward pass
  return exposed_time(all, over, {.context = o.hidden}).step;
}

}  // namespace detail

/// @brief The time of a sample by its length and the number of ranks that share it: forward and backward pass of a model on a device.
///
/// The parts are those of `modelled_level_time` and `layer_exchanges`. `linear` and `square` are the FLOPs of a token and of half a squared
/// token (a causal sample of n tokens has n (n + 1) / 2 pairs), three times for forward and backward pass, four times in layers that are
/// recomputed, at a share of the peak. Layers with a window count as linear. `exchange` has an entry for 1, 2, 4, ... ranks, the last for
/// `o.ranks`: the time in which each rank exchanges what a full pass needs, latencies included, divided by all tokens of the pass. Where
/// `o.ranks` is no power of two, groups of up to 128 ranks each have an entry in `exchange_by_ranks`. All are picoseconds, rounded up.
///
/// A sample's share of gathered parameters is not in it: under ZeRO-3, take `modelled_level_time(...).per_pack / 1000` as
/// `sharding_options::cost_per_pass`. Nor are layers for multi-token prediction in `exchange`.
///
/// @param model  the shape, such as `transformer_preset("llama-3.1-8b")`
/// @param on     the accelerator, such as `device_named("h100")`
/// @param over   the links, such as `datasheet_fabric(on)`; neighbouring ranks are on adjacent devices
/// @param o      utilisation, exchanges and recomputation
/// @return a cost in nanoseconds; its last entry holds for larger groups than `o.ranks`, so set `sharding_options::most_ranks_shared`
/// @throws invalid_input naming what is out of range; with Ulysses if `o.ranks` does not divide the query heads
/// @par Complexity
/// O(layers (log ranks + min(ranks, 128))).
/// @par Determinism
/// All arithmetic is in integers.
/// @par Source
/// The form of the cost: FlexSP (arXiv 2412.01523, section 4). All-gather of keys and values: Llama Team, "The Llama 3 herd of models",
/// arXiv 2407.21783, section 3.3; Skrull, arXiv 2505.19609.
template <class = when_called>
[[nodiscard]] inline degree_cost degree_cost_of(transformer const& model, device const& on, fabric const& over,
                                                model_degree_options const& o = {}) {
  detail::require_within("utilisation", o.utilisation, 1, 1000);
  detail::require_within("hidden", o.hidden, 0, 1000);
  detail::require_within("tokens", o.tokens, 1, 1 << 20);
  detail::require_within("ranks", o.ranks, 1, 1 << 20);
  if (o.method == context_exchange::ulysses) {
    require(std::has_single_bit(static_cast<std::uint64_t>(o.ranks)),
            [&] { return "ranks = " + std::to_string(o.ranks) + " must be a power of two with Ulysses"; });
    require_valid(model, {.spread = {.context = o.ranks, .data = o.ranks}, .method = context_method::ulysses});
  }
  auto const compute = modelled_level_time({.model = model, .device = on, .devices = 1, .utilisation = o.utilisation},
                                           {.capacity = o.tokens, .recomputed_layers = o.recomputed_layers});
  degree_cost cost{.linear = compute.per_token, .square = compute.per_square};
  auto const exchange = [&](std::int64_t ranks) { return divide_up(detail::context_time(model, over, o, ranks), o.tokens * ranks); };
  for (std::int64_t ranks = 1; ranks < 2 * o.ranks; ranks *= 2) cost.exchange.push_back(exchange((std::min)(ranks, o.ranks)));
  constexpr std::int64_t most = 128;  // groups with a price of their own
  if (!std::has_single_bit(static_cast<std::uint64_t>(o.ranks)))
    for (std::int64_t ranks = 1; ranks <= (std::min)(o.ranks, most); ++ranks) cost.exchange_by_ranks.push_back(exchange(ranks));
  return cost;
}

/// @brief The tokens that a rank has memory for in one pass: `sharding_options::capacity`.
///
/// @param on                 model, devices and constants; states are sharded over all devices (ZeRO-3)
/// @param recomputed_layers  number of layers that are recomputed in full
/// @return the most tokens with which `remaining_memory` is not negative, below 2^31; 0 if there are none
/// @throws invalid_input if a constant is out of range, or there are fewer layers
/// @par Complexity
/// O(layers^2): 31 calls of `remaining_memory`.
template <class = when_called>
[[nodiscard]] inline std::int64_t tokens_that_fit(sequence_parallel_setup const& on, std::uint32_t recomputed_layers = 0) {
  std::int64_t fit = 0;
  for (auto step = std::int64_t{1} << 30; step > 0; step /= 2)
    if (remaining_memory(on, {.capacity = fit + step, .recomputed_layers = recomputed_layers}) >= 0) fit += step;
  return fit;
}

}  // namespace ballast::inline v0_2
