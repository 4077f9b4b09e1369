// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/activations.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/plan/training_setting.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The layers of a model with one option each: what a setting recomputes. Private.

namespace ballast::inline v0_2::detail {

/// What a layer keeps and computes again if every second matrix product is recomputed, but not attention. It keeps its input, the products
/// with the query, value, gate and down matrices, and the output of attention.
template <class = when_called>
[[nodiscard]] inline layer_option kept_products(transformer const& m, std::int64_t layer, model_setting const& by) {
  auto const [tensor, context, data, sequence_parallel, zero] = by.spread;
  auto const experts = has_experts(m, layer);
  auto const width = experts ? m.active_experts * m.expert_ffn + m.shared_ffn : dense_ffn(m, layer);
  auto const queries = m.query_heads * m.head_width, keys = m.kv_heads * m.head_width, values = m.query_heads * value_width(m);
  auto const whole = 2 * (experts ? 1 + m.active_experts : 2) * m.hidden;  // the input, and the outputs of the block
  auto const split = 2 * (queries + m.kv_heads * value_width(m) + values + width);
  auto const products = sequence_parallel ? divide_up(whole + split, tensor) : whole + divide_up(split, tensor);
  // some layers, as those with linear attention, keep less if nothing is computed again
  auto const all = kept_bytes(m, layer, by.spread, {}, by.activations(by.language), by.experts().expert_tensor).per_token;
  auto const kept = (std::min)(products, all);
  auto const again = 2 * m.hidden * (keys + values + (m.gated ? width : 0));  // key, output and up
  return {.recomputed = recomputation::selective,
          .bytes = {.per_token = divide_up(divide_up(kept * by.framework.activations, std::int64_t{1000}), context)},
          .work = {.per_token = divide_up(again, tensor * context)},
          .modules = {}};
}

/// The chain of `layers_of`, cut into chunks; each layer has the one option that the setting says.
template <class = when_called>
[[nodiscard]] inline std::vector<layer> recomputed_layers(transformer const& model, training_setting const& by,
                                                          std::span<std::uint32_t const> cuts) {
  using enum recompute_setting::kind;
  auto const& again = by.recompute;
  auto setting = by.model;
  if (again.what == modules) setting.recompute_modules = again.modules;
  auto made = layers_of(model, setting);
  auto const first = std::size_t{model.vocabulary > 0 ? 1U : 0U}, last = first + static_cast<std::size_t>(model.layers);
  auto const unit = static_cast<std::size_t>(again.layers);
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    auto const end = (std::min)(std::size_t{cuts[c + 1]}, last);
    std::size_t n = 0;  // transformer layers of the chunk in front of this one
    for (std::size_t i = cuts[c]; i < cuts[c + 1]; ++i) {
      auto& l = made[i];
      auto taken = l.options.front();
      auto const take_last = [&](recomputation how) {
        for (auto const& o : l.options)
          if (o.recomputed == how) taken = o;
      };
      if (again.what == modules) {
        take_last(recomputation::selective);
        auto const run_again = taken.recomputed == recomputation::none && i >= first && i < last;  // though nothing less is kept
        if (run_again) taken = {.recomputed = recomputation::selective, .bytes = taken.bytes, .work = {}, .modules = again.modules};
      }
      if (again.what == uniform) take_last(recomputation::full);
      if (i >= first && i < last) {
        if ((again.what == block && n < unit) || (again.what == alternate && n % unit == unit - 1)) take_last(recomputation::full);
        if (again.what == uniform && n % unit != 0) taken.bytes = {};
        if (again.what == uniform && n % unit == 0) {
          l.working = static_cast<std::int64_t>((std::min)(unit, end - i)) * l.working;
        }
        if (again.what == products && taken.bytes != batch_cost{})
          taken = kept_products(model, static_cast<std::int64_t>(i - first), by.model);
        ++n;
      }
      l.options = {taken};
    }
  }
  return made;
}

}  // namespace ballast::inline v0_2::detail
