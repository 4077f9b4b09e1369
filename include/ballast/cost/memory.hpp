// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief Bytes of one device: parameters, gradients and optimiser states under ZeRO, activations under tensor, sequence and context
/// parallelism with nothing, a part or everything recomputed.

namespace ballast::inline v0_2 {

/// @brief How a model is spread over devices, as far as memory sees it.
struct parallelism {
  std::int64_t tensor = 1;         ///< tensor-parallel degree (TP)
  std::int64_t context = 1;        ///< devices that share a sequence (CP, or Ulysses): each keeps its share of the tokens
  std::int64_t data = 1;           ///< devices that ZeRO shards states over (data-parallel, context-parallel ones among them)
  bool sequence_parallel = false;  ///< whether norms and dropout are split along the sequence over the tensor-parallel group too (SP)
  int zero = 0;                    ///< ZeRO stage: 1 shards optimiser states, 2 gradients too, 3 parameters too

  friend constexpr bool operator==(parallelism const&, parallelism const&) = default;
};

/// @brief What of a layer is computed again in the backward pass.
enum class recomputation : std::uint8_t {
  none,       ///< nothing
  selective,  ///< attention scores where they are stored, otherwise the inner activations of the feed-forward block
  full,       ///< everything: the layer's input alone is kept
};

/// @brief Bytes that one parameter takes in each of its roles. Default: mixed precision with Adam, gradients in float32: 18 in all.
struct training_state {
  std::int64_t parameter = 2;   ///< the copy that is computed with
  std::int64_t gradient = 4;    ///< the accumulated gradient
  std::int64_t optimizer = 12;  ///< float32 master copy and two moments

  friend constexpr bool operator==(training_state const&, training_state const&) = default;
};

/// @brief Throws for degrees that make no sense.
/// @param spread  the degrees
/// @throws invalid_input naming the field
constexpr void require_valid(parallelism const& spread) {
  detail::require_within("tensor", spread.tensor, 1, 1 << 16);
  detail::require_within("context", spread.context, 1, 1 << 20);
  detail::require_within("data", spread.data, 1, 1 << 24);
  detail::require_within("zero", spread.zero, 0, 3);
}

/// @brief Bytes of parameters, gradients and optimiser states on one device.
/// @param parameters  that one tensor-parallel group holds together, below 2^52
/// @param spread      the degrees; `tensor` divides first, then ZeRO what its stage says
/// @param state       bytes of a parameter in each role, at most 256
/// @return bytes, shares rounded up
/// @throws invalid_input if an argument is out of range
/// @par Source
/// Rajbhandari et al., "ZeRO", arXiv 1910.02054, figure 1.
[[nodiscard]] constexpr std::int64_t state_bytes(std::int64_t parameters, parallelism const& spread, training_state const& state = {}) {
  require_valid(spread);
  detail::require_within("parameters", parameters, 0, std::int64_t{1} << 52);
  detail::require_within("parameter", state.parameter, 0, 256);
  detail::require_within("gradient", state.gradient, 0, 256);
  detail::require_within("optimizer", state.optimizer, 0, 256);
  auto const mine = divide_up(parameters, spread.tensor);
  auto const shard = divide_up(mine, spread.data);
  return state.parameter * (spread.zero >= 3 ? shard : mine) + state.gradient * (spread.zero >= 2 ? shard : mine) +
         state.optimizer * (spread.zero >= 1 ? shard : mine);
}

/// @brief A layer as Megatron's table counts it: plain attention with stored scores, dropout, two feed-forward matrices.
struct megatron_layer {
  std::int64_t sequence = 1;  ///< s: tokens of a sample
  std::int64_t batch = 1;     ///< b: samples of a micro-batch
  std::int64_t hidden = 1;    ///< h
  std::int64_t heads = 1;     ///< a
  std::int64_t ffn = 4;       ///< f: inner width of the feed-forward block, usually 4 h
};

/// @brief Bytes that one layer keeps on one device from forward to backward, by Megatron's table 2.
///
/// With the feed-forward block's width f, s b (10 h + (8 h + 4 f) / t) + 5 a s^2 b / t; s b (18 h + 4 f) / t + 5 a s^2 b / t with
/// sequence parallelism; the quadratic part falls away where it is recomputed; 2 s b h with everything recomputed, a t-th of it with
/// sequence parallelism, where each device has but its part of the layer's input. Context parallelism leaves each device s / context
/// tokens, which attend to s.
///
/// @param layer       its sizes
/// @param spread      degrees; ZeRO and data parallelism do not matter here
/// @param recomputed  what is recomputed
/// @return bytes, rounded up
/// @throws invalid_input if a size is not positive or the bytes pass 2^63
/// @par Source
/// Korthikanti et al., "Reducing activation recomputation in large transformer models", arXiv 2205.05198, table 2.
[[nodiscard]] constexpr std::int64_t activation_bytes(megatron_layer const& layer, parallelism const& spread, recomputation recomputed) {
  require_valid(spread);
  constexpr std::int64_t most = std::int64_t{1} << 40;
  detail::require_within("sequence", layer.sequence, 1, most);
  detail::require_within("batch", layer.batch, 1, most);
  detail::require_within("hidden", layer.hidden, 1, most);
  detail::require_within("heads", layer.heads, 1, most);
  detail::require_within("ffn", layer.ffn, 0, most);

  auto const tokens = checked(divide_up(layer.sequence, spread.context)) * checked(layer.batch);
  auto const t = spread.tensor;
  auto const share = [&](checked bytes) { return bytes.fits() ? checked(divide_up(bytes.value, t)) : bytes; };
  auto const h = checked(layer.hidden);
  auto const whole = checked(recomputed == recomputation::full ? 2 : 10) * h * tokens;
  auto const split = recomputed == recomputation::full ? checked(0) : (checked(8) * h + checked(4) * checked(layer.ffn)) * tokens;
  auto const scores = recomputed == recomputation::none ? checked(5) * checked(layer.heads) * checked(layer.sequence) * tokens : checked(0);
  auto const bytes = spread.sequence_parallel ? share(whole + split + scores) : whole + share(split + scores);
  require(bytes.fits(), [&] { return "sequence = " + std::to_string(layer.sequence) + " brings the activations to 2^63 bytes or more"; });
  return bytes.value;
}

/// @brief Bytes that one layer of a model keeps of one token on one device, in a 16-bit format, with fused attention.
///
/// `activation_bytes_per_token` (transformer.hpp) with the parts that tensor parallelism does not split told apart: inputs of norms, of
/// the attention and feed-forward blocks, and latent vectors. Selective recomputation drops the feed-forward block's inner activations.
///
/// @param model       the shape
/// @param layer       0 … layers - 1
/// @param spread      degrees; context parallelism divides tokens, not bytes per token
/// @param recomputed  what is recomputed
/// @return bytes per token, rounded up
/// @throws invalid_input as `require_valid`, or if there is no such layer
[[nodiscard]] constexpr std::int64_t activation_bytes_per_token(transformer const& model, std::int64_t layer, parallelism const& spread,
                                                                recomputation recomputed) {
  require_valid(spread);
  auto const all = activation_bytes_per_token(model, layer);
  auto const ffn = [&](std::int64_t width) { return (model.gated ? 3 : 2) * width; };
  auto const experts = detail::has_experts(model, layer);
  auto const inner = 2 * (experts ? model.active_experts * ffn(model.expert_ffn) + ffn(model.shared_ffn) : ffn(model.ffn));
  auto const latent = model.kv_rank > 0 ? 4 * (model.q_rank + model.kv_rank) : 0;
  auto const residual = 2 * (2 + model.norms) * model.hidden + latent;
  auto const kept = recomputed == recomputation::full ? 2 * model.hidden : recomputed == recomputation::selective ? all - inner : all;
  auto const whole = recomputed == recomputation::full ? kept : residual;
  return spread.sequence_parallel ? divide_up(kept, spread.tensor) : whole + divide_up(kept - whole, spread.tensor);
}

/// @brief Forward FLOPs per token that recomputation adds to the backward pass: its linear part, on one device.
/// @param model       the shape
/// @param layer       0 … layers - 1
/// @param spread      degrees
/// @param recomputed  what is recomputed; `selective` runs the matrices into the feed-forward block once more, not the one out of it
/// @return FLOPs per token; with `full`, attention's pairs come on top (`layer_flops`)
/// @throws invalid_input as `require_valid`, or if there is no such layer
[[nodiscard]] constexpr std::int64_t recomputed_flops_per_token(transformer const& model, std::int64_t layer, parallelism const& spread,
                                                                recomputation recomputed) {
  require_valid(spread);
  auto const flops = layer_flops(model, layer).per_token;
  auto const experts = detail::has_experts(model, layer);
  auto const width = experts ? model.active_experts * model.expert_ffn + model.shared_ffn : model.ffn;
  auto const into = 2 * (model.gated ? 2 : 1) * model.hidden * width;
  auto const added = recomputed == recomputation::full ? flops : recomputed == recomputation::selective ? into : 0;
  return divide_up(added, spread.tensor);
}

}  // namespace ballast::inline v0_2
