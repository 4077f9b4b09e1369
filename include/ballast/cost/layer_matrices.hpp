// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/detail/transformer_counts.hpp>
#include <ballast/cost/transformer_shape.hpp>

#include <concepts>
#include <cstdint>

/// @file
/// @brief `for_each_matrix`: the weight matrices of a transformer layer, one by one, for counts that depend on rows and columns.

namespace ballast::inline v0_2 {

/// @brief One weight matrix of a layer, or several of the same shape.
struct weight_matrix {
  std::int64_t in = 1;          ///< width of the input; a vector (a norm, a bias) is a matrix whose `in` or `out` is 1
  std::int64_t out = 1;         ///< width of the output
  std::int64_t copies = 1;      ///< how many matrices of this shape there are, as with experts
  std::int64_t visited = 1;     ///< how many of the copies a token passes through
  bool router = false;          ///< whether the matrix chooses experts
  bool replicated = false;      ///< whether each device of a tensor-parallel group has all of it (`parameter_groups`)
  bool expert = false;          ///< whether the copies are routed experts
  bool query_or_value = false;  ///< whether the matrix makes the queries or values of attention, which most trainers adapt by default

  friend constexpr bool operator==(weight_matrix const&, weight_matrix const&) = default;
};

/// @brief Visits the weight matrices of a layer, attention first.
///
/// Queries, keys and values are three matrices, and gate and up are two, as Hugging Face stores them. Frameworks that fuse them (Megatron)
/// have fewer and larger matrices with as many parameters. Biases, norms and convolutions are not visited.
///
/// @tparam Visit  a callable of a `weight_matrix const&`
/// @param model  the shape
/// @param layer  0 … layers - 1
/// @param visit  called once for each shape and role
/// @post the sum of `in * out * copies` is the number of parameters of the layer without biases, norms, scales and convolutions
/// @throws invalid_input as `require_valid`, or if `layer` is out of range; and whatever `visit` throws
/// @par Complexity
/// At most twenty calls of `visit`.
template <std::invocable<weight_matrix const&> Visit>
constexpr void for_each_matrix(transformer const& model, std::int64_t layer, Visit&& visit) {
  detail::require_layer(model, layer);
  auto const h = model.hidden, v = detail::value_width(model);
  auto const one = [&](std::int64_t in, std::int64_t out, bool query_or_value = false) {
    visit(weight_matrix{.in = in, .out = out, .query_or_value = query_or_value});
  };
  auto const queries = model.query_heads * model.head_width * (model.output_gate ? 2 : 1);
  auto const compress = [&](std::int64_t out) { visit(weight_matrix{.in = h, .out = out, .replicated = true}); };
  if (detail::is_linear(model, layer)) {
    one(h, detail::linear_inputs(model));
    one(h, 2 * model.linear.value_heads);
    one(detail::linear_values(model), h);
  } else if (detail::is_scored(model, layer)) {
    if (model.q_rank > 0) compress(model.q_rank);
    one(model.q_rank > 0 ? model.q_rank : h, queries, true);
    if (model.kv_rank > 0) {
      compress(model.kv_rank + model.rope_width);
      one(model.kv_rank, model.query_heads * (model.head_width - model.rope_width + v), true);
    } else {
      one(h, model.kv_heads * model.head_width);
      one(h, model.kv_heads * v, true);
    }
    one(model.query_heads * v, h);
  }
  if (detail::is_indexed(model, layer)) {
    visit(weight_matrix{.in = model.q_rank, .out = model.index.heads * model.index.width, .replicated = true});
    compress(model.index.width);
    compress(model.index.heads);
  }
  if (detail::is_space(model, layer)) {
    auto const& s = model.space;
    one(h, detail::space_inputs(s));
    if (s.step_rank > 0) {
      one(s.inner(), detail::space_compressed(s));
      one(s.step_rank, s.inner());
    }
    one(s.inner(), h);
  }
  if (detail::is_conv(model, layer)) {
    one(h, 3 * h);
    one(h, h);
  }

  auto const block = [&](std::int64_t width, std::int64_t copies, std::int64_t visited, bool expert) {
    if (width == 0 || copies == 0) return;
    weight_matrix const into{.in = h, .out = width, .copies = copies, .visited = visited, .expert = expert};
    visit(into);
    if (model.gated) visit(into);
    visit(weight_matrix{.in = width, .out = h, .copies = copies, .visited = visited, .expert = expert});
  };
  if (!detail::has_experts(model, layer)) return block(detail::dense_ffn(model, layer), 1, 1, false);
  visit(weight_matrix{.in = h, .out = model.experts, .router = true, .replicated = true});
  if (model.shared_gate) visit(weight_matrix{.in = h, .out = 1, .replicated = true});
  block(model.expert_ffn, model.experts, model.active_experts, true);
  block(model.shared_ffn, 1, 1, false);
}

}  // namespace ballast::inline v0_2
