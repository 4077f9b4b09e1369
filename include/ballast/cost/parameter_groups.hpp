// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/detail/transformer_counts.hpp>
#include <ballast/cost/parallelism.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief Parameters of a transformer by the devices that hold them: split by tensor parallelism, replicated, or in experts. From these,
/// the bytes of model states on one device under tensor, expert and data parallelism.
///
/// As in Megatron-LM, tensor parallelism splits the matrices of attention, of dense feed-forward blocks and of shared experts, their
/// biases if each device computes a part of the outputs, the embedding and the head. Every device of a tensor-parallel group has the rest:
/// norms, routers, gates of shared experts, position embeddings, scales, biases that are added to a sum over devices, the matrices that
/// compress the inputs of latent attention, and the indexer of sparse attention. State-space layers are split by heads, short convolutions
/// by channels.

namespace ballast::inline v0_2 {

/// @brief Numbers of parameters, by the devices that hold them.
struct parameter_groups {
  std::int64_t sharded = 0;     ///< each device of a tensor-parallel group has a part
  std::int64_t replicated = 0;  ///< each device of a tensor-parallel group has all
  std::int64_t experts = 0;     ///< routed experts: expert and expert-tensor parallelism divide them

  /// @brief The number of all parameters.
  [[nodiscard]] constexpr std::int64_t total() const noexcept { return sharded + replicated + experts; }
  /// @brief Adds group by group. @param a groups, such as those of a layer @param b groups, such as those of another layer
  friend constexpr parameter_groups operator+(parameter_groups const& a, parameter_groups const& b) noexcept {
    return {a.sharded + b.sharded, a.replicated + b.replicated, a.experts + b.experts};
  }
  friend constexpr bool operator==(parameter_groups const&, parameter_groups const&) = default;
};

/// @brief How routed experts are distributed. They are exchanged and sharded by `tensor * data / (expert * expert_tensor)` devices, where
/// `tensor` and `data` are those of `parallelism`.
struct expert_parallelism {
  std::int64_t expert = 1;         ///< expert-parallel degree (EP): groups of devices with different experts
  std::int64_t expert_tensor = 1;  ///< expert-tensor-parallel degree (ETP): devices that share an expert; Megatron-LM: by default, `tensor`

  friend constexpr bool operator==(expert_parallelism const&, expert_parallelism const&) = default;
};

/// @brief Parameters of one layer, by group.
/// @param model  the shape
/// @param layer  0 … layers - 1
/// @return the groups
/// @post their sum is `layer_parameters(model, layer)`
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
/// @par Source
/// NVIDIA, Megatron-LM: `training/theoretical_memory_usage.py`, and `core/transformer/multi_latent_attention.py` for the matrices that
/// compress (the former divides them too, the latter makes them `duplicated`).
[[nodiscard]] constexpr parameter_groups layer_parameter_groups(transformer const& model, std::int64_t layer) {
  auto const all = layer_parameters(model, layer);
  auto const& m = model;
  auto const routed = detail::has_experts(m, layer);
  auto const count = [&](std::int64_t visited) {
    return detail::layer_ffn_matrices(m, layer, visited) + detail::layer_vectors(m, layer, visited);
  };
  parameter_groups groups{.experts = routed ? count(m.experts) - count(0) : 0};
  groups.replicated = m.norms * detail::norm_vectors(m) + (m.layer_scale ? 2 * m.hidden : 0) + detail::attention_norms(m, layer);
  if (m.kv_rank > 0 && detail::is_scored(m, layer)) groups.replicated += m.hidden * (m.q_rank + m.kv_rank + m.rope_width);
  if (detail::is_indexed(m, layer)) groups.replicated += detail::index_matrices(m);
  if (m.ffn_bias && (routed ? m.shared_ffn : detail::dense_ffn(m, layer)) > 0) groups.replicated += m.hidden;
  if (routed) groups.replicated += m.experts * (m.hidden + (m.router_bias ? 1 : 0)) + (m.shared_gate ? m.hidden : 0);
  groups.sharded = all - groups.replicated - groups.experts;
  return groups;
}

/// @brief Parameters in front of the first layer: the embedding and learned positions, and `other_weights`.
/// @param model  the shape
/// @return the groups
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr parameter_groups embedding_parameter_groups(transformer const& model) {
  require_valid(model);
  return {.sharded = model.vocabulary * model.hidden, .replicated = model.positions * model.hidden + model.other_weights};
}

/// @brief Parameters behind the last layer: the final norm and, if it is not tied, the head.
/// @param model  the shape
/// @return the groups; a tied head is counted with the embedding
/// @throws invalid_input as `require_valid`
[[nodiscard]] constexpr parameter_groups head_parameter_groups(transformer const& model) {
  require_valid(model);
  return {.sharded = head_rows(model) * ((shares_head(model) ? 0 : model.hidden) + (model.head_bias ? 1 : 0)),
          .replicated = model.final_norm ? detail::norm_vectors(model) : 0};
}

/// @brief Parameters of a model, by group.
/// @param model  the shape
/// @return the groups: those of embedding, layers and head
/// @post their sum is `parameters(model)`
/// @throws invalid_input as `require_valid`
/// @par Complexity
/// O(layers).
[[nodiscard]] constexpr parameter_groups model_parameter_groups(transformer const& model) {
  auto sum = embedding_parameter_groups(model) + head_parameter_groups(model);
  for (std::int64_t l = 0; l < model.layers; ++l) sum = sum + layer_parameter_groups(model, l);
  return sum;
}

/// @brief Throws unless expert degrees are in range and suit the other degrees.
/// @param by      how experts are distributed
/// @param spread  the other degrees
/// @throws invalid_input naming the field
constexpr void require_valid(expert_parallelism const& by, parallelism const& spread) {
  require_valid(spread);
  detail::require_within("expert", by.expert, 1, 1 << 24);
  detail::require_within("expert_tensor", by.expert_tensor, 1, 1 << 16);
  require(spread.tensor * spread.data % (by.expert * by.expert_tensor) == 0, [&] {
    return "expert * expert_tensor = " + std::to_string(by.expert * by.expert_tensor) +
           " must divide tensor * data = " + std::to_string(spread.tensor * spread.data);
  });
}

}  // namespace ballast::inline v0_2
