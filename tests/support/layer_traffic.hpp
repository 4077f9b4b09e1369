// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/communication.hpp>
#include <ballast/cost/transformer.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ballast_test {

/// Bytes that one rank sends for one purpose in one phase, where every rank is a node of its own.
inline std::int64_t traffic_of(std::vector<ballast::layer_exchange> const& all, ballast::traffic what, ballast::exchange_phase when) {
  std::int64_t sum = 0;
  for (auto const& e : all)
    if (e.what == what && e.when == when) sum += e.calls * ballast::bytes_sent(e.how, e.bytes, e.over, 1).between;
  return sum;
}

/// The same from the formulas of the papers, in doubles and without rounding.
inline double published_traffic(ballast::transformer const& m, std::int64_t layer, ballast::exchange_setting const& by, std::int64_t tokens,
                                ballast::traffic what, ballast::exchange_phase when) {
  using ballast::traffic;
  auto const& s = by.spread;
  auto const forward = when == ballast::exchange_phase::forward, backward = when == ballast::exchange_phase::backward;
  auto const t = static_cast<double>(s.tensor), c = static_cast<double>(s.context), e = static_cast<double>(by.expert);
  auto const x = by.expert > 1 ? static_cast<double>(by.expert_tensor) : 1.0;
  auto const d = static_cast<double>(s.data), h = static_cast<double>(m.hidden), width = static_cast<double>(by.element_bytes);
  auto const rows = static_cast<double>(tokens) / c;
  auto const moe = m.experts > 0 && m.expert_layers.contains(layer) && m.ffn_layers.contains(layer), spread_out = moe && by.expert > 1;
  auto const passes = forward ? 1.0 : by.recomputed == ballast::recomputation::full ? 2.0 : 1.0;  // how often forward exchanges occur

  if (what == traffic::tensor || what == traffic::kept_input) {
    if (!forward && !backward) return 0;
    auto const mixes = m.attention_layers.contains(layer) || m.space.layers.contains(layer), feeds = m.ffn_layers.contains(layer);
    auto const sums = feeds && (!spread_out || m.shared_ffn > 0);  // experts elsewhere are not summed over the group
    auto const blocks = m.parallel ? 1.0 : (mixes ? 1.0 : 0.0) + (sums ? 1.0 : 0.0);
    auto const one_way = blocks * rows * h * width * (t - 1) / t;
    return what == traffic::tensor ? 2 * passes * one_way : backward && s.sequence_parallel ? one_way : 0;
  }
  if (what == traffic::context) {
    if (!forward && !backward) return 0;
    auto recurrent = 0.0;  // the gate, x, B, C and a step of each head; and the output back
    if (m.space.layers.contains(layer)) {
      auto const heads = static_cast<double>(m.space.heads), inner = heads * static_cast<double>(m.space.head_width);
      recurrent = passes * rows * (3 * inner + 2 * static_cast<double>(m.space.groups * m.space.state) + heads) / t * width * (c - 1) / c;
    }
    if (!m.attention_layers.contains(layer)) return recurrent;
    if (m.linear.layers.contains(layer)) {  // queries, keys, values, two numbers of each value head; and its output back
      auto const heads = static_cast<double>(m.linear.value_heads), outputs = heads * static_cast<double>(m.linear.value_width);
      auto const inputs = 2 * static_cast<double>(m.linear.key_heads * m.linear.key_width) + outputs + 2 * heads;
      return recurrent + passes * rows * (inputs + outputs) / t * width * (c - 1) / c;
    }
    auto const k_and_v = static_cast<double>(m.head_width + (m.v_width > 0 ? m.v_width : m.head_width));
    auto const queries = static_cast<double>(m.query_heads) / t;
    auto const keys = m.kv_rank > 0 ? queries : (std::max)(1.0, static_cast<double>(m.kv_heads) / t);
    if (by.method == ballast::context_method::ring) {
      auto const block = rows * keys * k_and_v * width;
      return recurrent + (c - 1) * block * (forward ? 1 : passes + 1);
    }
    return recurrent + passes * rows * (queries + (std::min)(queries, (std::max)(keys, c))) * k_and_v * width * (c - 1) / c;
  }
  if (what == traffic::expert) {
    if ((!forward && !backward) || !spread_out) return 0;
    auto routed = rows / (s.sequence_parallel ? t : 1) * static_cast<double>(m.active_experts);
    if (by.capacity > 0) {  // whole rows for each expert
      std::int64_t each = 0;
      while (static_cast<double>(each) * static_cast<double>(m.experts) * 1000 < routed * static_cast<double>(by.capacity)) ++each;
      routed = static_cast<double>(each * m.experts);
    }
    return 2 * passes * routed * h * width * ((e - 1) / e + x - 1);  // each device sends its rows to all others that share its experts
  }
  // Parameters of experts that are distributed, and all others, each over its own group.
  auto const matrices = static_cast<double>(m.gated ? 3 : 2);
  auto const f = static_cast<double>(m.expert_ffn);
  auto const biases = m.ffn_bias ? static_cast<double>(m.gated ? 2 : 1) * f + h : 0.0;
  auto const in_experts = spread_out ? static_cast<double>(m.experts) * (matrices * h * f + biases) : 0.0;
  auto const others = static_cast<double>(ballast::layer_parameters(m, layer)) - in_experts;
  // Every device of a tensor-parallel group has norms, the router, the compression of latent attention and the biases of summed outputs.
  auto const routes = moe;
  auto const linear = m.linear.layers.contains(layer) && m.attention_layers.contains(layer);
  auto const in_attention = linear                               ? static_cast<double>(m.linear.value_width)
                            : m.attention_layers.contains(layer) ? static_cast<double>(m.kv_rank) * (h + 1)
                                                                 : 0.0;
  auto const copies = static_cast<double>(m.norms) * h + in_attention + (routes ? h * static_cast<double>(m.experts) : 0.0) +
                      (m.ffn_bias && m.ffn_layers.contains(layer) && (!routes || m.shared_ffn > 0) ? h : 0.0);
  auto const sent = [&](double bytes) {  // one gather or scatter of all parameters
    auto const group = t * d / (e * x);
    auto const split = (static_cast<std::int64_t>(others - copies) + s.tensor - 1) / s.tensor;
    auto const rest = (static_cast<double>(split) + copies) * (d - 1) / d;
    return bytes * (rest + (spread_out ? in_experts / (e * x) * (group - 1) / group : 0));
  };
  if (what == traffic::gradient) {
    auto const once = sent(static_cast<double>(by.state.gradient));
    return s.zero >= 2 ? (backward ? once : 0) : forward || backward ? 0 : s.zero == 0 ? 2 * once : once;
  }
  auto const once = sent(static_cast<double>(by.state.parameter));
  return s.zero == 3 ? (forward || backward ? once : 0) : s.zero == 0 || forward || backward ? 0 : once;
}

}  // namespace ballast_test
