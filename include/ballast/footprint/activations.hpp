// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/attention.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/layer_tensors.hpp>
#include <ballast/footprint/memory.hpp>

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

/// @brief What recomputing one module of a layer saves and costs on one device.
struct module_cost {
  batch_cost saved{};  ///< bytes that are dropped, per token and per squared token
  batch_cost work{};   ///< forward FLOPs that are repeated, per token and per squared token

  friend constexpr bool operator==(module_cost const&, module_cost const&) = default;
};

namespace detail {

/// What recomputing some modules drops, and what it costs.
struct dropped_tensors {
  tensor_bytes bytes{};         ///< what is dropped, less what is kept instead
  std::int64_t flops = 0;       ///< per token
  std::int64_t pair_flops = 0;  ///< per squared token
};

[[nodiscard]] constexpr dropped_tensors dropped_by(layer_tensors const& tensors, module_set modules) noexcept {
  dropped_tensors sum;
  for (auto const& t : tensors) {
    if ((t.instead.bits & modules.bits) != 0) {
      auto const& more = t.bytes;
      sum.bytes += {-more.whole, -more.split, -more.gathered, -more.rows, -more.scores};
    }
    if ((t.recomputed.bits & modules.bits) == 0) continue;
    sum.bytes += t.bytes;
    sum.flops += t.flops;
    sum.pair_flops += t.pair_flops;
  }
  return sum;
}

[[nodiscard]] constexpr batch_cost split_work(dropped_tensors const& sum, parallelism const& spread) noexcept {
  return {divide_up(sum.flops, spread.tensor), divide_up(sum.pair_flops, spread.tensor), 0};
}

}  // namespace detail

/// @brief Bytes that one layer keeps on one device from forward to backward if some modules are recomputed and others moved.
///
/// @param model    the shape
/// @param layer    0 … layers - 1
/// @param spread   degrees; context parallelism divides the tokens and pairs of a device, not the bytes for each
/// @param modules  what is recomputed
/// @param by       which tensors are counted, how kernels compute, and what is moved to host memory
/// @param expert_tensor  devices that share an expert: each holds the rows that are sent to it; read by `tensor_count::megatron`
/// @return bytes per token, and per pair of tokens for stored scores (`per_square`), each rounded up
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
[[nodiscard]] constexpr batch_cost kept_bytes(transformer const& model, std::int64_t layer, parallelism const& spread, module_set modules,
                                              activation_setting const& by, std::int64_t expert_tensor = 1) {
  require_valid(spread);
  return layer_tensors_of(model, layer, by).kept(modules, by.kernels.moved).on(spread, expert_tensor);
}

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
  return kept_bytes(model, layer, spread, modules, {.attention = kernel, .fp8_experts = fp8_experts});
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
  return detail::split_work(detail::dropped_by(layer_tensors_of(model, layer, {.attention = kernel}), modules), spread);
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
/// @param allowed  modules that may be recomputed
/// @param by       which tensors are counted, and how kernels compute
/// @param expert_tensor  as for `kept_bytes`
/// @return at least one choice; each keeps fewer bytes than the one before, and costs as much work or more
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
/// @par Complexity
/// O(1): at most eight sets, each found among eight modules.
template <class = when_called>
[[nodiscard]] std::vector<recompute_option> recompute_options(transformer const& model, std::int64_t layer, parallelism const& spread,
                                                              module_set allowed, activation_setting const& by,
                                                              std::int64_t expert_tensor = 1) {
  require_valid(spread);
  auto const tensors = layer_tensors_of(model, layer, by);
  module_set present;  // modules that the layer has
  for (auto const& t : tensors) present.bits = static_cast<std::uint8_t>(present.bits | t.recomputed.bits);
  auto const kept = [&](module_set modules) { return tensors.kept(modules, by.kernels.moved).on(spread, expert_tensor); };
  std::vector<recompute_option> out{{.bytes = kept({})}};
  auto const add = [&](recompute_option const& option) {
    auto const& last = out.back().bytes;
    if (option.bytes.per_token < last.per_token || option.bytes.per_square < last.per_square) out.push_back(option);
  };
  for (module_set chosen, next; next = chosen, true; chosen = next) {
    auto const before = detail::dropped_by(tensors, chosen);
    std::int64_t most = 0, least = 1;  // the best ratio is most / least
    for (auto const& m : recompute_modules) {
      if (!allowed.contains(m.module) || !present.contains(m.module) || chosen.contains(m.module)) continue;
      auto const after = detail::dropped_by(tensors, chosen.with(m.module));
      // what saves memory acts either per token or per squared token, so both can be summed
      auto const scale = [&](tensor_bytes const& b) {
        return (b.whole + b.rows * expert_tensor) * (spread.sequence_parallel ? 1 : spread.tensor) + b.gathered * spread.tensor + b.split +
               b.scores;
      };
      auto const saved = scale(after.bytes) - scale(before.bytes);
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
    add({.modules = next, .bytes = kept(next), .work = detail::split_work(detail::dropped_by(tensors, next), spread)});
  }
  auto all = detail::dropped_by(tensors, {recompute_module::core_attention});
  all.flops += layer_flops(model, layer).per_token;
  auto const value = by.count == tensor_count::table ? 2 : by.kernels.value;
  add({.full = true, .bytes = tensor_bytes{.whole = value * model.hidden}.on(spread), .work = detail::split_work(all, spread)});
  return out;
}

/// @brief The useful choices of what a layer recomputes, in the count of Korthikanti et al.
/// @param model    the shape
/// @param layer    0 … layers - 1
/// @param spread   degrees
/// @param allowed  modules that may be recomputed; the default gives the three choices of `recomputation`
/// @param kernel   how attention is computed
/// @param fp8_experts  as for `kept_bytes`
/// @return as the other overload
/// @throws invalid_input as the other overload
/// @par Complexity
/// As the other overload.
template <class = when_called>
[[nodiscard]] std::vector<recompute_option> recompute_options(transformer const& model, std::int64_t layer, parallelism const& spread = {},
                                                              module_set allowed = feed_forward_modules,
                                                              attention_kernel kernel = attention_kernel::fused, bool fp8_experts = false) {
  return recompute_options(model, layer, spread, allowed, activation_setting{.attention = kernel, .fp8_experts = fp8_experts});
}

}  // namespace ballast::inline v0_2
