// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/detail/training_tape.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// @file
/// @brief `training_graph`: one training step of a transformer as a graph of operators and tensors.

namespace ballast::inline v0_2 {

/// @brief What a training step of a transformer holds.
struct training_graph_options {
  training_state state{};             ///< bytes per parameter of weights, gradients and optimiser states
  std::int64_t activation_bytes = 2;  ///< bytes of a number of an activation or its gradient
  bool scores = false;                ///< whether attention writes its scores to memory; if not, it is a fused kernel (FlashAttention)

  friend constexpr bool operator==(training_graph_options const&, training_graph_options const&) = default;
};

namespace detail {

// Throws for a shape whose training step `transformer_step` cannot write.
constexpr void require_plain(transformer const& model) {
  require_valid(model);
  auto const absent = [](char const* field, bool used) {
    require(!used, [&] { return std::string("training_graph: models with ") + field + " are not supported"; });
  };
  absent("experts", model.experts > 0);
  absent("kv_rank (latent attention)", model.kv_rank > 0);
  absent("linear attention", !(model.linear.layers == layer_set()));
  absent("state-space layers", !(model.space.layers == layer_set()));
  absent("short convolutions", !(model.conv.layers == layer_set()));
  absent("an indexer", model.index.heads > 0);
  absent("layers of one block", !(model.attention_layers == layer_set::all() && model.ffn_layers == layer_set::all()));
  absent("mtp_layers", model.mtp_layers > 0);
  absent("parallel blocks", model.parallel);
  absent("output_gate", model.output_gate);
  absent("layer_scale", model.layer_scale);
  absent("norms other than 2", model.norms != 2);
}

// Writes the forward pass of a transformer to a tape. All sizes of activations are numbers of a token times tokens.
template <class Number>
class transformer_step {
 public:
  transformer_step(transformer const& model, Number const& batch, Number const& length, training_graph_options const& options)
      : m_(model), o_(options), tokens_(batch * length), length_(length), tape_(options.state) {}

  [[nodiscard]] basic_graph<Number> write() {
    std::uint32_t embedding = none;
    auto const h = m_.hidden;
    if (m_.vocabulary > 0) embedding = tape_.weight("embedding", m_.vocabulary * h);
    auto x = tape_.input("tokens", tokens_ * Number(m_.vocabulary > 0 ? 8 : h * o_.activation_bytes));
    if (m_.vocabulary > 0)
      x = tape_.apply({.name = "embedding", .kind = tape_kind::look_up, .reads = {x}, .weight = embedding}, wide(h), moved(h));
    if (m_.positions > 0)
      x = tape_.apply(
          {.name = "positions", .kind = tape_kind::add_weight, .reads = {x}, .weight = tape_.weight("positions", m_.positions * h)},
          wide(h), moved(h));
    for (std::int64_t i = 0; i < m_.layers; ++i) x = layer(x, "layer " + std::to_string(i) + " ");
    if (m_.final_norm) x = norm(x, "final norm", h);
    if (m_.vocabulary > 0) {
      auto const rows = head_rows(m_);
      auto const head = shares_head(m_) ? embedding : tape_.weight("head", rows * h + (m_.head_bias ? rows : 0));
      x = tape_.multiply("head", x, head, wide(rows), work(h, rows));
    }
    tape_.finish(x, "loss", moved(m_.vocabulary > 0 ? head_rows(m_) : h));
    return tape_.take();
  }

 private:
  static constexpr auto none = graph_tensor<Number>::own;

  [[nodiscard]] Number wide(std::int64_t width) const { return tokens_ * Number(width * o_.activation_bytes); }
  // Thousands of FLOPs of a matrix, and of what is bound by memory: three passes over the tensor, 128 FLOPs in the time of a byte.
  [[nodiscard]] Number work(std::int64_t in, std::int64_t out) const { return tokens_ * Number((in * out + 499) / 500); }
  [[nodiscard]] Number moved(std::int64_t width) const { return tokens_ * Number((384 * width * o_.activation_bytes + 999) / 1000); }

  std::uint32_t norm(std::uint32_t x, std::string name, std::int64_t width) {
    auto const w = tape_.weight(name, width * (m_.norm_bias ? 2 : 1));
    return tape_.apply({.name = name, .reads = {x}, .weight = w}, wide(m_.hidden), moved(m_.hidden));
  }
  std::uint32_t linear(std::uint32_t x, std::string const& name, std::int64_t in, std::int64_t out, bool bias) {
    return tape_.multiply(name, x, tape_.weight(name, in * out + (bias ? out : 0)), wide(out), work(in, out));
  }
  std::uint32_t attention(std::uint32_t q, std::uint32_t k, std::uint32_t v, std::string const& name, std::int64_t out) {
    auto const pairs = tokens_ * length_ * Number(m_.query_heads);  // of a query and a key, in all heads
    auto const multiplied = [&](std::int64_t width) { return pairs * Number((width + 499) / 500); };
    auto const sinks = m_.sinks ? tape_.weight(name + "sinks", m_.query_heads) : none;
    if (!o_.scores)
      return tape_.apply({.name = name + "attention", .reads = {q, k, v}, .weight = sinks, .save_output = true}, wide(out),
                         multiplied(2 * m_.head_width));
    auto const p = tape_.apply({.name = name + "scores", .reads = {q, k}, .weight = sinks, .save_output = true},
                               pairs * Number(o_.activation_bytes), multiplied(m_.head_width));
    return tape_.apply({.name = name + "context", .reads = {p, v}}, wide(out), multiplied(m_.head_width));
  }
  std::uint32_t layer(std::uint32_t x, std::string const& name) {
    auto const h = m_.hidden, queries = m_.query_heads * m_.head_width, keys = m_.kv_heads * m_.head_width;
    auto const width = m_.v_width > 0 ? m_.v_width : m_.head_width;
    auto const a = norm(x, name + "attention norm", h);
    auto q = linear(a, name + "query", h, queries, m_.qkv_bias), k = linear(a, name + "key", h, keys, m_.qkv_bias);
    auto const v = linear(a, name + "value", h, m_.kv_heads * width, m_.qkv_bias);
    if (m_.qk_norm > 0) {
      auto const normed = [&](std::uint32_t of, std::string const& which, std::int64_t weights, std::int64_t wide_by) {
        auto const w = tape_.weight(which, weights);
        return tape_.apply({.name = which, .reads = {of}, .weight = w}, wide(wide_by), moved(wide_by));
      };
      q = normed(q, name + "query norm", m_.qk_norm - m_.qk_norm / 2, queries);
      k = normed(k, name + "key norm", m_.qk_norm / 2, keys);
    }
    auto const values = m_.query_heads * width;
    auto const made = linear(attention(q, k, v, name, values), name + "output", values, h, m_.output_bias);
    x = tape_.apply({.name = name + "attention sum", .kind = tape_kind::sum, .reads = {x, made}}, wide(h), moved(h));
    return m_.ffn > 0 ? feed_forward(x, name) : x;
  }
  std::uint32_t feed_forward(std::uint32_t x, std::string const& name) {
    auto const h = m_.hidden, f = m_.ffn;
    auto const a = norm(x, name + "feed-forward norm", h);
    tape_step active{.name = name + "activation"};
    if (m_.gated) active.reads.push_back(linear(a, name + "gate", h, f, m_.ffn_bias));
    active.reads.push_back(linear(a, name + "up", h, f, m_.ffn_bias));
    auto const made = linear(tape_.apply(std::move(active), wide(f), moved(f)), name + "down", f, h, m_.ffn_bias);
    return tape_.apply({.name = name + "feed-forward sum", .kind = tape_kind::sum, .reads = {x, made}}, wide(h), moved(h));
  }

  transformer const& m_;
  training_graph_options const& o_;
  Number tokens_, length_;
  training_tape<Number> tape_;
};

}  // namespace detail

/// @brief Writes one training step of a transformer as a graph: forward, backward, and an update of each weight.
///
/// The program order is that of an eager framework: all forwards, then the backwards in reverse, then all updates. A matrix has two
/// backward operators, one for the gradient of its input and one for that of its weight; a gradient that arrives from several readers is
/// added up. An update changes the weight and the optimiser's state in place. Sums of the residual stream pass their gradient on. Weights,
/// states and the loss are kept. Windows of attention are not modelled: every token sees all others. Times are in thousands of FLOPs; where
/// memory bounds an operator, a byte counts as 128 FLOPs.
///
/// @tparam Number  `std::int64_t`, or `symbolic` for a batch that is not known yet
/// @param model    the shape: dense, with ordinary attention (`transformer_preset("gpt2-xl")`; the `body` of a vision transformer)
/// @param batch    number of sequences
/// @param length   tokens of a sequence
/// @param options  bytes of numbers, and whether attention scores are in memory
/// @return a valid graph with about 45 operators a layer
/// @throws invalid_input if the shape is not valid, or has experts, latent or linear attention, or another part that is not supported
/// @par Complexity
/// O(operators).
template <class Number>
[[nodiscard]] basic_graph<Number> training_graph(transformer const& model, Number const& batch, Number const& length,
                                                 training_graph_options const& options = {}) {
  detail::require_plain(model);
  return detail::transformer_step<Number>(model, batch, length, options).write();
}

BALLAST_INSTANTIATE(basic_graph<std::int64_t> training_graph(transformer const&, std::int64_t const&, std::int64_t const&,
                                                             training_graph_options const&))

}  // namespace ballast::inline v0_2
