// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/transformer_shape.hpp>

namespace ballast_test {

/// How Megatron-LM distributes a model, as far as its estimate of parameter memory depends on it.
struct megatron_degrees {
  int world = 1, pipeline = 1, tensor = 1, expert = 1, expert_tensor = 1, data = 1;
  bool distributed_optimizer = false;
};

/// Bytes of parameters, gradients and Adam's states on the most loaded device, as Megatron-LM's training/theoretical_memory_usage.py
/// estimates them, restated in doubles. The estimate has no biases and no learned positions, and divides all of attention by the
/// tensor-parallel degree, the norms of latent vectors included.
inline double megatron_state_bytes(ballast::transformer const& m, megatron_degrees const& by) {
  auto const real = [](auto v) { return static_cast<double>(v); };
  auto const h = real(m.hidden), heads = real(m.query_heads), norm = m.norm_bias ? 2.0 : 1.0;
  auto const values = real(m.v_width > 0 ? m.v_width : m.head_width);
  auto const glu = m.gated ? 1.5 : 1.0;
  double attention = 0;
  if (m.kv_rank > 0) {
    auto const plain = real(m.head_width - m.rope_width), rope = real(m.rope_width);
    attention += m.q_rank > 0 ? real(m.q_rank) * (h + heads * (plain + rope) + norm) : h * heads * (plain + rope);
    attention += real(m.kv_rank) * (h + heads * (plain + values) + norm) + h * rope + heads * values * h;
  } else {
    attention = 2 * h * h * (1 + real(m.kv_heads) / heads) * (real(m.head_width) * heads / h);
  }
  auto const mlp = 2 * h * real(m.ffn) * glu, shared = 2 * h * real(m.shared_ffn) * glu;
  auto const routed = 2 * h * real(m.expert_ffn) * real(m.experts) * glu;
  auto const layers = real(m.layers), sparse = m.experts > 0 ? real(m.expert_layers.count(m.layers)) : 0.0, dense = layers - sparse;
  auto const embedding = h * real(m.vocabulary);

  auto const p = real(by.pipeline), t = real(by.tensor);
  auto split = (((attention + mlp) * dense + (attention + shared) * sparse) / p + embedding) / t;
  if (!m.tied && by.pipeline == 1) split += embedding / t;
  auto const whole = (2 * h * norm * layers + h * real(m.experts) * sparse + norm * h) / p;
  auto const experts = routed * sparse / p / real(by.expert_tensor * by.expert);
  auto const bytes = [&](int data) { return by.distributed_optimizer ? 6 + 12 / real(data) : 18.0; };
  return (split + whole) * bytes(by.data) + experts * bytes(by.world / (by.expert_tensor * by.expert * by.pipeline));
}

}  // namespace ballast_test
