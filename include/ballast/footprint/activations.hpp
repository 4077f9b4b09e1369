// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/memory.hpp>

#include <array>
#include <cstdint>
#include <vector>

/// @file
/// @brief What a transformer layer keeps from forward to backward, module by module, and what it costs to compute a module again.
///
/// A layer keeps a residual part (the inputs of the norms and of the output projection, latent vectors) and the activations of its modules.
/// Recomputing a module drops its activations, and repeats its matrix products up to the last activation that the backward pass needs. The
/// matrix product out of a feed-forward block is therefore not repeated; a framework that checkpoints a block as one function, as
/// Megatron-Core does, repeats it as well. Norms and activation functions have no FLOPs, as in every count of this library.

namespace ballast::inline v0_2 {

/// @brief How attention is computed, as far as memory depends on it.
enum class attention_kernel : std::uint8_t {
  fused,          ///< scores are never stored, and pairs that the mask hides are not computed (FlashAttention)
  stored_scores,  ///< each head keeps 5 bytes per pair (softmax 2, dropout's mask 1 and output 2), for all pairs, hidden ones too
};

/// @brief What recomputing one module of a layer saves and costs on one device.
struct module_cost {
  batch_cost saved{};  ///< bytes that are dropped, per token and per squared token
  batch_cost work{};   ///< forward FLOPs that are repeated, per token and per squared token

  friend constexpr bool operator==(module_cost const&, module_cost const&) = default;
};

namespace detail {

/// Activations that are dropped together, and what computes them again.
struct activation_part {
  module_set modules;           ///< each of these modules drops the part
  std::int64_t whole = 0;       ///< bytes per token that tensor parallelism does not split
  std::int64_t split = 0;       ///< bytes per token that it splits
  std::int64_t scores = 0;      ///< bytes per squared token, split
  std::int64_t flops = 0;       ///< per token
  std::int64_t pair_flops = 0;  ///< per squared token

  friend constexpr activation_part operator+(activation_part const& a, activation_part const& b) noexcept {
    return {{}, a.whole + b.whole, a.split + b.split, a.scores + b.scores, a.flops + b.flops, a.pair_flops + b.pair_flops};
  }
};

/// Scores: fused kernels compute what the mask shows, a causal half as (tokens^2 + tokens) / 2; other kernels compute all pairs.
[[nodiscard]] constexpr activation_part score_part(transformer const& model, std::int64_t layer, attention_kernel kernel) {
  activation_part out{.modules = {recompute_module::core_attention}};
  auto const flops = layer_flops(model, layer);
  if (is_linear(model, layer)) return out;  // no scores
  if (kernel == attention_kernel::stored_scores) {
    out.scores = 5 * model.query_heads;
    out.pair_flops = flops.per_pair + flops.per_windowed_pair;
  } else {
    out.pair_flops = flops.causal ? flops.per_pair / 2 : flops.per_pair;
    out.flops = flops.per_windowed_pair * flops.windowed_keys() + (flops.causal ? flops.per_pair - out.pair_flops : 0);
  }
  return out;
}

/// The parts of a layer that recomputation can drop.
[[nodiscard]] constexpr std::array<activation_part, 8> activation_parts(transformer const& model, std::int64_t layer,
                                                                        attention_kernel kernel) {
  using enum recompute_module;
  std::array<activation_part, 8> out{};
  auto const h = model.hidden, queries = model.query_heads * model.head_width, values = model.query_heads * value_width(model);
  auto const in = model.gated ? 2 : 1;  // inner values before the activation function, per unit of width
  auto const inner = [&](module_set modules, std::int64_t width) {
    return activation_part{.modules = modules, .split = 2 * (in + 1) * width, .flops = 2 * in * h * width};
  };
  out[0] = score_part(model, layer, kernel);
  out[1] = {.modules = {layernorm}, .whole = 2 * (model.norms < 2 ? model.norms : 2) * h};
  if (model.kv_rank > 0 &&
      !is_linear(model, layer))  // the part of the key that carries the position is computed before, so it must be kept instead
    out[2] = {.modules = {mla_up_projection},
              .whole = -2 * model.rope_width,
              .split = 2 * (2 * queries + values),
              .flops = 2 * ((model.q_rank > 0 ? model.q_rank : h) * queries +
                            model.kv_rank * model.query_heads * (model.head_width - model.rope_width + value_width(model)))};
  if (!has_experts(model, layer)) {
    out[3] = inner({mlp}, model.ffn);
    return out;
  }
  auto const routed = model.active_experts * model.expert_ffn;
  out[4] = {.modules = {moe_activation, experts, moe}, .split = 2 * routed};
  out[5] = {.modules = {experts, moe}, .split = 2 * in * routed, .flops = 2 * in * h * routed};
  out[6] = {.modules = {moe}, .split = 2 * model.active_experts * h, .flops = 2 * h * model.experts};  // dispatch, and the router
  out[7] = inner({shared_experts, moe}, model.shared_ffn);
  return out;
}

/// The sum of the parts that a set of modules drops.
[[nodiscard]] constexpr activation_part dropped_part(std::array<activation_part, 8> const& parts, module_set modules) noexcept {
  activation_part sum;
  for (auto const& p : parts)
    if ((p.modules.bits & modules.bits) != 0) sum = sum + p;
  return sum;
}

[[nodiscard]] constexpr batch_cost split_work(activation_part const& sum, parallelism const& spread) noexcept {
  return {divide_up(sum.flops, spread.tensor), divide_up(sum.pair_flops, spread.tensor), 0};
}

[[nodiscard]] constexpr batch_cost kept_without(transformer const& model, std::int64_t layer, parallelism const& spread,
                                                std::array<activation_part, 8> const& parts, module_set modules, bool fp8_experts) {
  auto dropped = dropped_part(parts, modules);
  for (auto const& p : parts)  // of the routed experts, half of what is not dropped
    if (fp8_experts && p.modules.contains(recompute_module::moe) && !p.modules.contains(recompute_module::shared_experts) &&
        (p.modules.bits & modules.bits) == 0)
      dropped.split += p.split / 2;
  auto const residual = 2 * residual_values(model) + 4 * latent_values(model, layer);
  auto const whole = residual - dropped.whole, split = activation_bytes_per_token(model, layer) - residual - dropped.split;
  auto const t = spread.tensor;
  return {spread.sequence_parallel ? divide_up(whole + split, t) : whole + divide_up(split, t),
          divide_up(parts[0].scores - dropped.scores, t), 0};
}

}  // namespace detail

/// @brief Bytes that one layer keeps on one device from forward to backward if some modules are recomputed.
///
/// Modules may overlap: `moe` contains `experts` and `shared_experts`, and `experts` contains `moe_activation`. A module that the layer
/// does not have changes nothing.
///
/// @param model    the shape
/// @param layer    0 … layers - 1
/// @param spread   degrees; context parallelism divides the tokens and pairs of a device, not the bytes for each
/// @param modules  what is recomputed
/// @param kernel   how attention is computed
/// @param fp8_experts  whether routed experts keep their inputs and inner activations in 8 bits
/// @return bytes per token, and per pair of tokens for stored scores (`per_square`), each rounded up
/// @post without modules, `per_token` is `activation_bytes_per_token(model, layer, spread, recomputation::none)`; with
/// `feed_forward_modules`, it is the same of `recomputation::selective`
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
/// @par Source
/// Korthikanti et al., arXiv 2205.05198, section 4 (the bytes of a layer, the scores). Modules as in Megatron-Core.
[[nodiscard]] constexpr batch_cost kept_bytes(transformer const& model, std::int64_t layer, parallelism const& spread, module_set modules,
                                              attention_kernel kernel = attention_kernel::fused, bool fp8_experts = false) {
  require_valid(spread);
  detail::require_layer(model, layer);
  return detail::kept_without(model, layer, spread, detail::activation_parts(model, layer, kernel), modules, fp8_experts);
}

/// @brief Forward FLOPs that one device repeats in the backward pass of one layer if some modules are recomputed.
///
/// Work that two modules share is counted once. The exchange of tokens between experts, which `moe` repeats, is not counted here.
///
/// @param model    the shape
/// @param layer    0 … layers - 1
/// @param spread   degrees
/// @param modules  what is recomputed
/// @param kernel   how attention is computed; layers with a window count `window` pairs per token under `fused`, an upper bound
/// @return FLOPs per token and per squared token, each rounded up
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
[[nodiscard]] constexpr batch_cost repeated_flops(transformer const& model, std::int64_t layer, parallelism const& spread,
                                                  module_set modules, attention_kernel kernel = attention_kernel::fused) {
  require_valid(spread);
  detail::require_layer(model, layer);
  return detail::split_work(detail::dropped_part(detail::activation_parts(model, layer, kernel), modules), spread);
}

/// @brief What recomputing one module of a layer saves and costs on one device.
/// @param model   the shape
/// @param layer   0 … layers - 1
/// @param spread  degrees
/// @param module  the module
/// @param kernel  how attention is computed
/// @return the bytes and FLOPs; zeros if the layer has no such module
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
[[nodiscard]] constexpr module_cost module_activations(transformer const& model, std::int64_t layer, parallelism const& spread,
                                                       recompute_module module, attention_kernel kernel = attention_kernel::fused) {
  auto const all = kept_bytes(model, layer, spread, {}, kernel), rest = kept_bytes(model, layer, spread, {module}, kernel);
  return {.saved = {all.per_token - rest.per_token, all.per_square - rest.per_square, 0},
          .work = repeated_flops(model, layer, spread, {module}, kernel)};
}

/// @brief One useful choice of what a layer recomputes.
struct recompute_option {
  module_set modules{};  ///< what is recomputed, if `full` is false
  bool full = false;     ///< whether the layer is recomputed from its input
  batch_cost bytes{};    ///< memory held on one device, per token and per squared token
  batch_cost work{};     ///< FLOPs added to the backward pass on one device, per token and per squared token

  friend constexpr bool operator==(recompute_option const&, recompute_option const&) = default;
};

/// @brief The useful choices of what a layer recomputes: nothing, then a growing set of modules, and at last the layer.
///
/// The next set adds the module that saves most bytes for each repeated FLOP; modules of equal ratio are added together. Modules without
/// FLOPs (norms, activation functions) come first.
///
/// @param model    the shape
/// @param layer    0 … layers - 1
/// @param spread   degrees
/// @param allowed  modules that may be recomputed; the default gives the three choices of `recomputation`
/// @param kernel   how attention is computed
/// @param fp8_experts  as for `kept_bytes`
/// @return at least one choice; each keeps fewer bytes than the one before, and costs as much work or more
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
/// @par Complexity
/// O(1): at most eight sets, each found among eight modules.
template <class = when_called>
[[nodiscard]] std::vector<recompute_option> recompute_options(transformer const& model, std::int64_t layer, parallelism const& spread = {},
                                                              module_set allowed = feed_forward_modules,
                                                              attention_kernel kernel = attention_kernel::fused, bool fp8_experts = false) {
  std::vector<recompute_option> out{{.bytes = kept_bytes(model, layer, spread, {}, kernel, fp8_experts)}};
  auto const parts = detail::activation_parts(model, layer, kernel);
  auto const add = [&](recompute_option const& option) {
    auto const& last = out.back().bytes;
    if (option.bytes.per_token < last.per_token || option.bytes.per_square < last.per_square) out.push_back(option);
  };
  for (module_set chosen, next; next = chosen, true; chosen = next) {
    auto const before = detail::dropped_part(parts, chosen);
    std::int64_t most = 0, least = 1;  // the best ratio is most / least
    for (auto const& m : recompute_modules) {
      if (!allowed.contains(m.module) || chosen.contains(m.module)) continue;
      auto const after = detail::dropped_part(parts, chosen.with(m.module));
      // what saves memory acts either per token or per squared token, so both can be summed
      auto const whole = (after.whole - before.whole) * (spread.sequence_parallel ? 1 : spread.tensor);
      auto const saved = whole + after.split - before.split + after.scores - before.scores;
      auto const work = after.flops - before.flops + after.pair_flops - before.pair_flops;
      if (saved <= 0) continue;
      auto const better = compare_products(saved, least, most, work);
      if (better < 0) continue;
      next = (better > 0 ? chosen : next).with(m.module);
      if (better > 0) most = saved, least = work;
    }
    using enum recompute_module;  // a module inside another is not named beside it
    if (next.contains(moe)) next = next.without({moe_activation, experts, shared_experts});
    if (next.contains(experts)) next = next.without({moe_activation});
    if (next == chosen) break;
    add({.modules = next,
         .bytes = detail::kept_without(model, layer, spread, parts, next, fp8_experts),
         .work = detail::split_work(detail::dropped_part(parts, next), spread)});
  }
  detail::activation_part const all{{}, 0, 0, 0, layer_flops(model, layer).per_token + parts[0].flops, parts[0].pair_flops};
  add({.full = true,
       .bytes = {.per_token = activation_bytes_per_token(model, layer, spread, recomputation::full)},
       .work = detail::split_work(all, spread)});
  return out;
}

}  // namespace ballast::inline v0_2
