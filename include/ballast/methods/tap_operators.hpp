// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/weights/layout_model.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `tap::operators_of`: a transformer as a chain of operators with weights, for `tap::shard`.

namespace ballast::inline v0_2::tap {

namespace detail {

// Writes the operators of a transformer, from the embedding to the loss.
template <class = when_called>
class operator_writer {
 public:
  operator_writer(transformer const& model, std::int64_t length) : m_(model), length_(length) {
    auto const absent = [](char const* field, bool used) {
      require(!used, [&] { return std::string("tap: models with ") + field + " are not supported"; });
    };
    absent("kv_rank (latent attention)", m_.kv_rank > 0);
    absent("linear attention", !(m_.linear.layers == layer_set()));
    absent("state-space layers", !(m_.space.layers == layer_set()));
    absent("layers of one block", !(m_.attention_layers == layer_set::all() && m_.ffn_layers == layer_set::all()));
    absent("mtp_layers", m_.mtp_layers > 0);
    absent("parallel blocks", m_.parallel);
    absent("output_gate", m_.output_gate);
    absent("shared_ffn", m_.shared_ffn > 0);
    absent("no vocabulary", m_.vocabulary == 0);
  }

  [[nodiscard]] std::vector<layout_operator> write() {
    auto const h = m_.hidden, v = m_.vocabulary;
    out_.push_back({.name = "embedding",
                    .weights = {{.name = "embedding", .kind = weight_kind::embedding, .in = v, .out = h}},
                    .width = 0,
                    .makes = h});
    if (m_.positions > 0) add_norm("positions", m_.positions * h, 0);
    for (std::int64_t l = 0; l < m_.layers; ++l) add_layer(l);
    add_norm("norm", last_norm(), h);
    out_.push_back({.name = "head",
                    .weights = {{.name = "head", .kind = weight_kind::head, .in = h, .out = v, .matrices = m_.tied ? 0 : 1}},
                    .width = h,
                    .makes = v,
                    .kept = h});
    out_.push_back({.name = "loss", .rule = layout_rule::any, .width = v, .makes = 0, .kept = v});
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::int64_t last_norm() const { return head_parameter_groups(m_).total() - (m_.tied ? 0 : m_.vocabulary * m_.hidden); }

  layout_operator& add_norm(std::string name, std::int64_t parameters, std::int64_t kept) {
    out_.push_back({.name = std::move(name),
                    .rule = layout_rule::tokens,
                    .weights = {{.name = "norm", .kind = weight_kind::vector, .in = 1, .out = parameters}},
                    .width = m_.hidden,
                    .makes = m_.hidden,
                    .kept = kept});
    return out_.back();
  }
  void add_layer(std::int64_t l) {
    auto const h = m_.hidden, v = m_.v_width > 0 ? m_.v_width : m_.head_width;
    auto const at = "layers." + std::to_string(l) + ".";
    auto const q = m_.query_heads * m_.head_width, k = m_.kv_heads * m_.head_width, values = m_.kv_heads * v, o = m_.query_heads * v;
    auto const experts = m_.experts > 0 && m_.expert_layers.contains(l);
    auto const each = m_.gated ? 3 : 2;
    auto const ffn = experts ? m_.expert_ffn : m_.ffn;
    auto const matrices = h * (q + k + values) + o * h + each * h * ffn * (experts ? m_.experts : 1) + (experts ? h * m_.experts : 0);
    auto const vectors = layer_parameters(m_, l) - matrices;  // norms and biases: all but one norm are counted with the first norm
    auto const second = (std::min)(vectors, last_norm());
    auto const flops = layer_flops(m_, l);
    add_norm(at + "attention_norm", vectors - second, h).opens = true;
    out_.push_back({.name = at + "qkv",
                    .weights = {{.name = "q", .in = h, .out = q, .column_units = m_.query_heads},
                                {.name = "k", .in = h, .out = k, .column_units = m_.kv_heads},
                                {.name = "v", .in = h, .out = values, .column_units = m_.kv_heads}},
                    .width = h,
                    .makes = q + k + values,
                    .kept = h});
    out_.push_back({.name = at + "attention",
                    .rule = layout_rule::sequences,
                    .width = q + k + values,
                    .makes = o,
                    .kept = q + k + values,
                    .units = m_.kv_heads,  // whole heads of keys and values
                    .flops = (flops(length_) - flops.per_token * length_) / length_});
    out_.push_back({.name = at + "proj",
                    .weights = {{.name = "proj", .in = o, .out = h, .row_units = m_.query_heads}},
                    .width = o,
                    .makes = h,
                    .kept = o,
                    .closes = true});
    add_norm(at + "ffn_norm", second, h).opens = true;
    if (experts) {
      out_.push_back({.name = at + "experts",
                      .weights = {{.name = "experts",
                                   .kind = weight_kind::experts,
                                   .in = h,
                                   .out = ffn,
                                   .matrices = m_.experts * each,
                                   .visited = m_.active_experts * each,
                                   .sent = m_.active_experts,
                                   .row_units = m_.experts,
                                   .router = h * m_.experts}},
                      .width = h,
                      .makes = h,
                      .kept = m_.active_experts * (h + each * ffn)});
    } else {
      out_.push_back({.name = at + "up", .weights = {}, .width = h, .makes = (each - 1) * ffn, .kept = h});
      if (m_.gated) out_.back().weights.push_back({.name = "gate", .in = h, .out = ffn});
      out_.back().weights.push_back({.name = "up", .in = h, .out = ffn});
      auto kept = each * ffn;
      if (m_.gated) {  // the product of two sums of terms is no sum of products of terms
        out_.push_back(
            {.name = at + "activation", .rule = layout_rule::any, .width = 2 * ffn, .makes = ffn, .kept = 2 * ffn, .units = ffn});
        kept = ffn;
      }
      out_.push_back({.name = at + "down", .weights = {{.name = "down", .in = ffn, .out = h}}, .width = ffn, .makes = h, .kept = kept});
    }
    out_.back().closes = true;
  }

  transformer const& m_;
  std::int64_t length_;
  std::vector<layout_operator> out_;
};

}  // namespace detail

/// @brief Writes a transformer as a chain of operators: the embedding, for each layer norm, queries with keys and values, attention,
/// projection, norm and feed-forward block (with the product of gate and up, if it has a gate) or experts, then the last norm, the head and
/// the loss.
///
/// What is kept for the backward pass: the inputs of norms, matrices and attention, gate and up before their product, and the logits.
/// A tied head works and holds nothing: its matrix is the embedding's, whose layout it may not share. Biases count with the first norm of a
/// layer.
///
/// @param model   the shape: dense or with experts, with ordinary or grouped attention
/// @param length  tokens of a sequence, for the FLOPs of attention
/// @return the operators; those of layer 3 have names such as "layers.3.qkv"
/// @post their weights have `parameters(model)` parameters
/// @throws invalid_input as `require_valid`, or naming what of a model is not supported
/// @par Complexity
/// O(layers).
template <class = when_called>
[[nodiscard]] std::vector<layout_operator> operators_of(transformer const& model, std::int64_t length) {
  require_valid(model);
  require(length >= 1 && length <= 1 << 28, [&] { return sentence("length = ", length, " must be in [1, 2^28]"); });
  return detail::operator_writer<>(model, length).write();
}

}  // namespace ballast::inline v0_2::tap
