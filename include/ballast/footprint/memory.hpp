// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/parallelism.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief Bytes on one device: parameters, gradients and optimiser states under ZeRO, and activations under tensor, sequence and context
/// parallelism without, with selective or with full recomputation.

namespace ballast::inline v0_2 {

/// @brief Bytes of parameters, gradients and optimiser states on one device.
/// @param parameters  parameters on all devices of one tensor-parallel group, below 2^52
/// @param spread      degrees; states are divided by `tensor`, and then sharded as the ZeRO stage says
/// @param state       bytes per parameter for each kind of state, at most 256
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

/// @brief Bytes of parameters, gradients and optimiser states on one device, with experts on devices of their own.
///
/// A device has 1 / tensor of the sharded parameters, all replicated ones and 1 / (expert expert_tensor) of the experts. ZeRO shards the
/// states of the former two over `data` devices, and those of the experts over `tensor * data / (expert * expert_tensor)`.
///
/// @param parameters  parameters of one pipeline stage, by group, each below 2^52
/// @param spread      degrees within the stage
/// @param by          how experts are distributed
/// @param state       bytes per parameter for each kind of state, at most 256
/// @return bytes, each share rounded up
/// @throws invalid_input if an argument is out of range or the degrees do not divide
/// @par Source
/// NVIDIA, Megatron-LM: `training/theoretical_memory_usage.py`; Rajbhandari et al., "ZeRO", arXiv 1910.02054, figure 1.
[[nodiscard]] constexpr std::int64_t state_bytes(parameter_groups const& parameters, parallelism const& spread,
                                                 expert_parallelism const& by, training_state const& state = {}) {
  require_valid(by, spread);
  constexpr auto most = std::int64_t{1} << 52;
  detail::require_within("sharded", parameters.sharded, 0, most);
  detail::require_within("replicated", parameters.replicated, 0, most);
  detail::require_within("experts", parameters.experts, 0, most);
  auto const parts = by.expert * by.expert_tensor;
  auto rest = spread, of_experts = spread;
  rest.tensor = of_experts.tensor = 1;
  of_experts.data = spread.tensor * spread.data / parts;
  // checked here, because `state_bytes` of one group would name this degree `data`
  require(of_experts.data <= 1 << 24,
          [&] { return "tensor * data / (expert * expert_tensor) = " + std::to_string(of_experts.data) + " must be at most 2^24"; });
  return state_bytes(divide_up(parameters.sharded, spread.tensor) + parameters.replicated, rest, state) +
         state_bytes(divide_up(parameters.experts, parts), of_experts, state);
}

/// @brief A layer as Megatron's table counts it: plain attention with stored scores, dropout, and two feed-forward matrices.
struct megatron_layer {
  std::int64_t sequence = 1;  ///< s: tokens of a sample
  std::int64_t batch = 1;     ///< b: samples of a micro-batch
  std::int64_t hidden = 1;    ///< h
  std::int64_t heads = 1;     ///< a
  std::int64_t ffn = 4;       ///< f: inner width of the feed-forward block, usually 4 h
};

/// @brief Bytes of activations that one layer keeps on one device from forward to backward, by Megatron's table 2.
///
/// With feed-forward width f, the bytes are s b (10 h + (8 h + 4 f) / t) + 5 a s^2 b / t, and s b (18 h + 4 f) / t + 5 a s^2 b / t with
/// sequence parallelism. The quadratic part is absent if it is recomputed. With full recomputation 2 s b h bytes remain, divided by t with
/// sequence parallelism, because each device then holds only its part of the layer's input. With context parallelism each device has
/// s / context tokens, which attend to all s tokens.
///
/// @param layer       sizes of the layer
/// @param spread      degrees; ZeRO and data parallelism do not matter here
/// @param recomputed  what is recomputed
/// @return bytes, rounded up
/// @throws invalid_input if a size is not positive or the bytes reach 2^63
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

/// @brief Bytes of activations that one layer of a model keeps per token on one device, in a 16-bit format, with fused attention.
///
/// This is `activation_bytes_per_token` (transformer.hpp) under tensor parallelism, which does not split the inputs of norms, the inputs of
/// the attention and feed-forward blocks, and latent vectors. Selective recomputation drops the inner activations of the feed-forward
/// block.
///
/// @param model       the shape
/// @param layer       0 … layers - 1
/// @param spread      degrees; context parallelism divides the tokens, not the bytes per token
/// @param recomputed  what is recomputed
/// @return bytes per token, rounded up
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
[[nodiscard]] constexpr std::int64_t activation_bytes_per_token(transformer const& model, std::int64_t layer, parallelism const& spread,
                                                                recomputation recomputed) {
  require_valid(spread);
  auto const all = activation_bytes_per_token(model, layer);
  auto const ffn = [&](std::int64_t width) { return (model.gated ? 3 : 2) * width; };
  auto const experts = detail::has_experts(model, layer);
  auto const inner =
      2 * (experts ? model.active_experts * ffn(model.expert_ffn) + ffn(model.shared_ffn) : ffn(detail::dense_ffn(model, layer)));
  auto const residual = 2 * detail::residual_values(model, layer) + 4 * detail::latent_values(model, layer);
  auto const kept = recomputed == recomputation::full ? 2 * model.hidden : recomputed == recomputation::selective ? all - inner : all;
  auto const whole = recomputed == recomputation::full ? kept : residual;
  return spread.sequence_parallel ? divide_up(kept, spread.tensor) : whole + divide_up(kept - whole, spread.tensor);
}

/// @brief Forward FLOPs per token that recomputation adds to the backward pass on one device, without attention's pairs.
/// @param model       the shape
/// @param layer       0 … layers - 1
/// @param spread      degrees
/// @param recomputed  what is recomputed; `selective` repeats the matrices into the feed-forward block, not the one out of it
/// @return FLOPs per token; with `full`, the FLOPs of attention's pairs come on top (`layer_flops`)
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
[[nodiscard]] constexpr std::int64_t recomputed_flops_per_token(transformer const& model, std::int64_t layer, parallelism const& spread,
                                                                recomputation recomputed) {
  require_valid(spread);
  auto const flops = layer_flops(model, layer).per_token;
  auto const experts = detail::has_experts(model, layer);
  auto const width = experts ? model.active_experts * model.expert_ffn + model.shared_ffn : detail::dense_ffn(model, layer);
  auto const into = 2 * (model.gated ? 2 : 1) * model.hidden * width;
  auto const added = recomputed == recomputation::full ? flops : recomputed == recomputation::selective ? into : 0;
  return divide_up(added, spread.tensor);
}

}  // namespace ballast::inline v0_2
