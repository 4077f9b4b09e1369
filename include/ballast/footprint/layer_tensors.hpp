// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/parallelism.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/trainable.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// @brief `layer_tensors_of`: what a transformer layer keeps from its forward to its backward pass, tensor by tensor.

namespace ballast::inline v0_2 {

/// @brief Bytes of activations of a layer by what divides them. Context parallelism divides the tokens of a device, and so all of them.
struct tensor_bytes {
  std::int64_t whole = 0;     ///< per token; only sequence parallelism divides them, by the tensor-parallel degree
  std::int64_t split = 0;     ///< per token; tensor parallelism divides them
  std::int64_t gathered = 0;  ///< per token; nothing divides them
  std::int64_t rows = 0;      ///< per token, as `whole`, but each device that shares an expert holds the rows of all of them
  std::int64_t scores = 0;    ///< per squared token; tensor parallelism divides them

  /// @brief Adds part by part. @param other bytes of another tensor
  constexpr tensor_bytes& operator+=(tensor_bytes const& other) noexcept {
    whole += other.whole;
    split += other.split;
    gathered += other.gathered;
    rows += other.rows;
    scores += other.scores;
    return *this;
  }
  /// @brief Bytes on one device, before context parallelism divides its tokens.
  /// @param spread         degrees
  /// @param expert_tensor  devices that share an expert
  /// @return per token and squared token, each rounded up
  [[nodiscard]] constexpr batch_cost on(parallelism const& spread, std::int64_t expert_tensor = 1) const noexcept {
    auto const t = spread.tensor, parts = whole + rows * expert_tensor;
    return {(spread.sequence_parallel ? divide_up(parts + split, t) : parts + divide_up(split, t)) + gathered, divide_up(scores, t), 0};
  }
  friend constexpr bool operator==(tensor_bytes const&, tensor_bytes const&) = default;
};

/// @brief The block of a layer whose gradients exist together while its backward pass runs.
enum class gradient_block : std::uint8_t {
  none,          ///< the tensor has no gradient of its own at that time
  attention,     ///< queries, keys, values, scores, and the output of attention
  feed_forward,  ///< inner activations of the feed-forward block
};

/// @brief A tensor that a layer keeps, and what takes it away.
struct layer_tensor {
  std::string_view name{};      ///< what it is, as in "q, k, v"
  tensor_bytes bytes{};         ///< its size
  module_set recomputed{};      ///< recomputing any of these modules drops it
  module_set instead{};         ///< if not empty: it is kept only if one of these modules is recomputed
  offload_set moved{};          ///< offloading any of these modules moves it to host memory
  gradient_block block{};       ///< where its gradient exists beside others
  bool eight_bits = false;      ///< whether `split` is halved, because experts keep 8 bits (`fp8_experts`)
  std::int64_t flops = 0;       ///< per token: what is repeated if it is dropped
  std::int64_t pair_flops = 0;  ///< per squared token, as `flops`
};

/// @brief All that the tensors of a layer depend on beside its shape and the degrees.
struct activation_setting {
  tensor_count count = tensor_count::table;              ///< which tensors are counted
  attention_kernel attention = attention_kernel::fused;  ///< whether scores are stored
  kernel_setting kernels{};                              ///< what the framework is told about its kernels
  bool fp8_experts = false;                              ///< whether routed experts keep what they keep in 8 bits
  bool several = false;                                  ///< whether a micro-batch has several samples beside each other
  trainable is{};                                        ///< what of the layer is trained; read by `eager` and `compiled`

  /// @brief Whether attention stores its scores.
  [[nodiscard]] constexpr bool stores_scores() const noexcept {
    return attention == attention_kernel::stored_scores || (count == tensor_count::megatron && !kernels.engine);
  }
  friend constexpr bool operator==(activation_setting const&, activation_setting const&) = default;
};

/// @brief The tensors of a layer, at most 32.
class layer_tensors {
 public:
  /// @brief Appends a tensor that has bytes or work. @param tensor the tensor
  constexpr void add(layer_tensor const& tensor) noexcept {
    if (tensor.bytes != tensor_bytes{} || tensor.flops != 0 || tensor.pair_flops != 0) all_[size_++] = tensor;
  }
  /// @brief Makes tensors of 16 bits larger. @param times how many times as large they become
  constexpr void widen(std::int64_t times) noexcept {
    constexpr std::string_view others[]{"statistics", "mask", "log-sum-exp", "router", "float32"};  // have a type of their own
    for (std::size_t i = 0; i < size_; ++i) {
      auto own = false;
      for (auto const name : others) own = own || all_[i].name.starts_with(name);
      if (own) continue;
      auto& b = all_[i].bytes;
      b = {times * b.whole, times * b.split, times * b.gathered, times * b.rows, times * b.scores};
    }
  }
  /// @brief The first tensor.
  [[nodiscard]] constexpr layer_tensor const* begin() const noexcept { return all_.data(); }
  /// @brief Behind the last tensor.
  [[nodiscard]] constexpr layer_tensor const* end() const noexcept { return all_.data() + size_; }
  /// @brief Number of tensors.
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }

  /// @brief What is kept if some modules are recomputed and others are moved to host memory.
  /// @param modules  what is recomputed
  /// @param moved    what is moved
  /// @return the sum of the tensors that stay
  [[nodiscard]] constexpr tensor_bytes kept(module_set modules, offload_set moved = {}) const noexcept {
    tensor_bytes sum;
    for (auto const& t : *this) {
      if ((t.recomputed.bits & modules.bits) != 0 || (t.moved.bits & moved.bits) != 0) continue;
      if (!t.instead.empty() && (t.instead.bits & modules.bits) == 0) continue;
      sum += t.bytes;
      if (t.eight_bits) sum.split -= t.bytes.split / 2;
    }
    return sum;
  }
  /// @brief Gradients that exist at once while a layer's backward pass runs: those of one block.
  /// @param block  the block
  /// @return the sum of its tensors that have a gradient
  [[nodiscard]] constexpr tensor_bytes gradients(gradient_block block) const noexcept {
    tensor_bytes sum;
    for (auto const& t : *this)
      if (t.block == block) sum += t.bytes;
    return sum;
  }

 private:
  std::array<layer_tensor, 32> all_{};
  std::size_t size_ = 0;
};

namespace detail {

/// FLOPs of the pairs. Fused kernels compute what the mask shows, a causal half as (tokens^2 + tokens) / 2; other kernels compute all
/// pairs.
constexpr void count_pairs(layer_tensor& to, transformer const& model, std::int64_t layer, bool stored) {
  auto const flops = layer_flops(model, layer);
  if (stored) {
    to.pair_flops = flops.per_pair + flops.per_windowed_pair;
  } else {
    to.pair_flops = flops.causal ? flops.per_pair / 2 : flops.per_pair;
    to.flops = flops.per_windowed_pair * flops.windowed_keys() + (flops.causal ? flops.per_pair - to.pair_flops : 0);
  }
}

/// FLOPs that lead from latent vectors to queries, keys and values.
[[nodiscard]] constexpr std::int64_t up_projection_flops(transformer const& m) noexcept {
  return 2 * ((m.q_rank > 0 ? m.q_rank : m.hidden) * m.query_heads * m.head_width +
              m.kv_rank * m.query_heads * (m.head_width - m.rope_width + value_width(m)));
}

/// What a layer has in place of attention, or beside it.
[[nodiscard]] constexpr std::string_view recurrent_name(transformer const& m, std::int64_t layer) noexcept {
  return is_space(m, layer) ? "state space" : "short convolution";
}

/// The count of Korthikanti et al.: the sum of the tensors is `activation_bytes_per_token`.
[[nodiscard]] constexpr layer_tensors table_tensors(transformer const& m, std::int64_t layer, activation_setting const& by) {
  using enum recompute_module;
  layer_tensors out;
  auto const h = m.hidden, queries = m.query_heads * m.head_width, values = m.query_heads * value_width(m);
  auto const linear = is_linear(m, layer), scored = is_scored(m, layer), latent = m.kv_rank > 0 && scored;
  auto const outputs = 2 * (m.norms < 2 ? m.norms : 2) * h;
  out.add({.name = "inputs of norms and blocks", .bytes = {.whole = 2 * residual_values(m, layer) - outputs}});
  out.add({.name = "outputs of norms", .bytes = {.whole = outputs}, .recomputed = {layernorm}});
  if (linear) {
    auto const& l = m.linear;  // the convolution's input and output, decay and step, the gate, the norm's input and output
    out.add({.name = "linear attention", .bytes = {.split = 2 * (2 * (l.convolved() + l.value_heads) + 3 * linear_values(m))}});
  } else if (latent) {
    out.add({.name = "latent vectors", .bytes = {.whole = 4 * latent_values(m, layer)}});
    out.add({.name = "q, k, v",
             .bytes = {.split = 2 * (2 * queries + values)},
             .recomputed = {mla_up_projection},
             .flops = up_projection_flops(m)});
    // the part of a key that carries the position is computed before queries, keys and values
    out.add({.name = "position of the keys", .bytes = {.whole = 2 * m.rope_width}, .instead = {mla_up_projection}});
  } else if (scored) {
    out.add({.name = "q, k, v", .bytes = {.split = 2 * (queries + m.kv_heads * (m.head_width + value_width(m)))}});
  }
  if (is_indexed(m, layer)) out.add({.name = "index", .bytes = {.whole = index_kept(m)}});
  out.add({.name = recurrent_name(m, layer), .bytes = {.split = 2 * recurrent_kept(m, layer)}});
  if (scored) {
    layer_tensor scores{.name = "scores", .recomputed = {core_attention}};
    if (by.stores_scores()) scores.bytes.scores = 5 * m.query_heads;  // result 2, mask 1, output of dropout 2
    count_pairs(scores, m, layer, by.stores_scores());
    out.add(scores);
    out.add({.name = "context", .bytes = {.split = 2 * values * (m.output_gate ? 3 : 1)}});  // with a gate: it, and the output behind it
  }
  auto const in = m.gated ? 2 : 1;  // inner values before the activation function, per unit of width
  auto const inner = [&](std::string_view name, module_set modules, std::int64_t width) {
    out.add({.name = name, .bytes = {.split = 2 * (in + 1) * width}, .recomputed = modules, .flops = 2 * in * h * width});
  };
  if (!has_experts(m, layer)) {
    inner("inner activations", {mlp}, dense_ffn(m, layer));
    return out;
  }
  auto const routed = m.active_experts * m.expert_ffn;
  out.add({.name = "experts' activations",
           .bytes = {.split = 2 * routed},
           .recomputed = {moe_activation, experts, moe},
           .eight_bits = by.fp8_experts});
  out.add({.name = "experts' first products",
           .bytes = {.split = 2 * in * routed},
           .recomputed = {experts, moe},
           .eight_bits = by.fp8_experts,
           .flops = 2 * in * h * routed});
  out.add({.name = "experts' inputs",  // and the FLOPs of the router
           .bytes = {.split = 2 * m.active_experts * h},
           .recomputed = {moe},
           .eight_bits = by.fp8_experts,
           .flops = 2 * h * m.experts});
  inner("inner activations of shared experts", {shared_experts, moe}, m.shared_ffn);
  return out;
}

/// Scores of attention, their dropout, or the log-sum-exp that fused kernels keep in their place.
constexpr void add_megatron_scores(layer_tensors& out, transformer const& m, std::int64_t layer, activation_setting const& by) {
  using enum recompute_module;
  auto const& k = by.kernels;
  auto const heads = m.query_heads;
  layer_tensor scores{.name = "scores", .recomputed = {core_attention}, .moved = {offload_module::core_attn}};
  count_pairs(scores, m, layer, by.stores_scores());
  if (by.stores_scores()) {
    scores.bytes.scores = 2 * heads;
    scores.block = gradient_block::attention;
    out.add(scores);
    layer_tensor more{.name = "scores behind dropout", .recomputed = {core_attention}, .moved = {offload_module::core_attn}};
    if (k.attention_dropout) {
      more.bytes.scores = 2 * heads;
      more.block = gradient_block::attention;
      out.add(more);
      more.block = gradient_block::none;
      more.name = "mask of the scores' dropout";
      more.bytes.scores = heads;
      out.add(more);
    }
    if (!k.engine && k.float_softmax) {
      more.name = "float32 scores";
      more.block = gradient_block::none;
      more.bytes.scores = 2 * heads;
      out.add(more);
    }
  } else {
    out.add(scores);  // FLOPs alone
    out.add({.name = "log-sum-exp of the scores", .bytes = {.split = 4 * heads}, .moved = {offload_module::core_attn}});
  }
}

/// Attention behind its norm.
constexpr void add_megatron_attention(layer_tensors& out, transformer const& m, std::int64_t layer, activation_setting const& by) {
  using enum recompute_module;
  auto const& k = by.kernels;
  auto const heads = m.query_heads, v = value_width(m);
  std::int64_t const input = k.fp8 ? 1 : 2, statistics = m.norm_bias ? 8 : 4;
  if (is_linear(m, layer)) {
    auto const& l = m.linear;
    out.add({.name = "linear attention",
             .bytes = {.split = 2 * (2 * (l.convolved() + l.value_heads) + 3 * linear_values(m))},
             .block = gradient_block::attention});
  }
  out.add({.name = recurrent_name(m, layer), .bytes = {.split = 2 * recurrent_kept(m, layer)}, .block = gradient_block::attention});
  if (!is_scored(m, layer)) return;
  if (is_indexed(m, layer)) out.add({.name = "index", .bytes = {.whole = index_kept(m)}});
  if (m.kv_rank > 0) {
    out.add({.name = "latent vectors",
             .bytes = {.whole = 2 * (m.q_rank + m.kv_rank + m.rope_width), .gathered = 2 * m.rope_width},
             .moved = {offload_module::qkv_linear}});
    out.add({.name = "normalised latent vectors",
             .bytes = {.whole = input * (m.q_rank + m.kv_rank)},
             .recomputed = {mla_up_projection},
             .moved = {offload_module::qkv_linear}});
    out.add({.name = "q, k, v",
             .bytes = {.split = 2 * heads * (2 * m.head_width + v)},
             .recomputed = {mla_up_projection},
             .moved = {offload_module::core_attn},
             .block = gradient_block::attention,
             .flops = up_projection_flops(m)});
  } else {
    out.add({.name = "q, k, v",
             .bytes = {.split = 2 * (heads * m.head_width + m.kv_heads * (m.head_width + v))},
             .moved = {offload_module::core_attn},
             .block = gradient_block::attention});
    if (m.qk_norm > 0) out.add({.name = "normalised q and k", .bytes = {.split = (heads + m.kv_heads) * (2 * m.head_width + statistics)}});
  }
  add_megatron_scores(out, m, layer, by);
  if (m.output_gate) out.add({.name = "gate of the output, and the output behind it", .bytes = {.split = 4 * heads * v}});
  out.add({.name = "context", .bytes = {.split = 2 * heads * v}, .moved = {offload_module::attn_proj}, .block = gradient_block::attention});
  if (k.fp8) out.add({.name = "context in 8 bits", .bytes = {.split = heads * v}});
  if (k.flash && by.several && !by.stores_scores())
    out.add({.name = "context in the layout of the samples", .bytes = {.split = 2 * heads * v}});
}

/// Router, routed experts, and those that every token visits.
constexpr void add_megatron_experts(layer_tensors& out, transformer const& m, activation_setting const& by) {
  using enum recompute_module;
  auto const& k = by.kernels;
  auto const h = m.hidden, in = m.gated ? std::int64_t{2} : std::int64_t{1};
  std::int64_t const input = k.fp8 ? 1 : 2;
  auto const active = m.active_experts, width = active * m.expert_ffn;
  out.add({.name = "router", .bytes = {.whole = 12 * m.experts}, .recomputed = {moe}, .flops = 2 * h * m.experts});
  out.add({.name = "experts' inputs", .bytes = {.rows = input * active * h}, .recomputed = {moe}, .moved = {offload_module::expert_fc1}});
  out.add({.name = "experts' first products",
           .bytes = {.whole = 2 * in * width},
           .recomputed = {experts, moe},
           .moved = {offload_module::moe_act},
           .block = gradient_block::feed_forward,
           .flops = 2 * in * h * width});
  if (!k.fused_activation)
    out.add({.name = "experts' activations before the probabilities",
             .bytes = {.whole = 2 * in * width},
             .recomputed = {moe_activation, experts, moe}});
  out.add({.name = "experts' activations",
           .bytes = {.whole = (by.fp8_experts ? 1 : input) * width},
           .recomputed = {moe_activation, experts, moe},
           .block = gradient_block::feed_forward});
  out.add({.name = "shared experts' first product",
           .bytes = {.split = 2 * in * m.shared_ffn},
           .recomputed = {shared_experts, moe},
           .flops = 2 * in * h * m.shared_ffn});
  out.add({.name = "shared experts' activation", .bytes = {.split = input * m.shared_ffn}, .recomputed = {shared_experts, moe}});
}

/// What Megatron-Core keeps.
[[nodiscard]] constexpr layer_tensors megatron_tensors(transformer const& m, std::int64_t layer, activation_setting const& by) {
  using enum recompute_module;
  auto const& k = by.kernels;
  layer_tensors out;
  auto const h = m.hidden, in = m.gated ? std::int64_t{2} : std::int64_t{1};
  std::int64_t const input = k.fp8 ? 1 : 2, statistics = m.norm_bias ? 8 : 4;  // of a matrix product, per value; of a norm, per row
  auto const mask = [&](std::string_view name) {
    if (k.hidden_dropout) out.add({.name = name, .bytes = {.whole = h}});
  };
  out.add({.name = "input of norm 1", .bytes = {.whole = 2 * h}, .moved = {offload_module::attn_norm}});
  out.add({.name = "statistics of norm 1", .bytes = {.whole = statistics}});
  out.add({.name = "output of norm 1", .bytes = {.whole = input * h}, .recomputed = {layernorm}, .moved = {offload_module::qkv_linear}});
  add_megatron_attention(out, m, layer, by);
  mask("mask of dropout 1");
  auto const routed = has_experts(m, layer);
  if (!m.parallel && has_mixer(m, layer) && has_ffn(m, layer)) {
    out.add({.name = "input of norm 2", .bytes = {.whole = 2 * h}, .moved = {offload_module::mlp_norm}});
    out.add({.name = "statistics of norm 2", .bytes = {.whole = statistics}});
    out.add({.name = "output of norm 2",
             .bytes = {.whole = (routed ? 2 : input) * h},
             .recomputed = routed ? module_set{layernorm} : module_set{layernorm, mlp}});
  }
  mask("mask of dropout 2");
  if (m.layer_scale) out.add({.name = "outputs of both blocks in front of their scales", .bytes = {.whole = 4 * h}});
  if (m.norms > 2) out.add({.name = "inputs of further norms", .bytes = {.whole = (m.norms - 2) * (2 * h + statistics)}});
  if (auto const ffn = dense_ffn(m, layer); !routed) {
    out.add({.name = "first product",
             .bytes = {.split = 2 * in * ffn},
             .recomputed = {mlp},
             .block = gradient_block::feed_forward,
             .flops = 2 * in * h * ffn});
    out.add({.name = "activation", .bytes = {.split = input * ffn}, .recomputed = {mlp}, .block = gradient_block::feed_forward});
    return out;
  }
  add_megatron_experts(out, m, by);
  return out;
}

/// What PyTorch's autograd keeps of a layer of transformers or torchtune. A matrix that is trained keeps its input; a frozen one does not.
struct eager_counter {
  transformer const& m;
  activation_setting const& by;
  layer_tensors out{};
  std::int64_t h = m.hidden, heads = m.query_heads, d = m.head_width, v = value_width(m), e = by.kernels.value;
  bool all = by.is.what == trained::all, compiled = by.count == tensor_count::compiled;

  /// A norm of one row, and its output, which is the input of matrices: with sequence parallelism, PyTorch keeps it as it is gathered.
  constexpr void norm(std::string_view in, std::string_view made, std::string_view statistics) {
    norm(in, made, statistics, h, 1, m.norm_bias, e * h);
  }
  /// A norm of some values in rows: LayerNorm if it has a bias, else RMSNorm. `read` bytes of its output are kept as the input of matrices.
  constexpr void norm(std::string_view in, std::string_view made, std::string_view statistics, std::int64_t values, std::int64_t rows,
                      bool bias, std::int64_t read) {
    if (compiled) {
      out.add({.name = in, .bytes = {.whole = e * values}});
    } else if (bias) {
      out.add({.name = in, .bytes = {.whole = e * values}});
      if (all) out.add({.name = made, .bytes = {.gathered = read}});
      out.add({.name = statistics, .bytes = {.whole = 8 * rows}});
    } else {  // in float32: the input, and then the normalised values in 16 bits, which the weight is multiplied with
      out.add({.name = in, .bytes = {.whole = 4 * values}});
      if (all) out.add({.name = made, .bytes = {.whole = (by.kernels.float_norms ? 4 : e) * values, .gathered = read}});
      out.add({.name = statistics, .bytes = {.whole = 4 * rows}});
    }
  }
  /// Adapters of `count` matrices of one input of a width, which `kept` says is kept anyway. `first`: those of queries and values are
  /// among them.
  constexpr void adapters(std::string_view input, std::string_view between, std::int64_t width, std::int64_t count, bool kept,
                          bool first = false) {
    if (by.is.what != trained::low_rank || (!first && by.is.matrices != adapted_matrices::every_matrix)) return;
    auto const& k = by.kernels;
    auto const x = k.adapter_value;
    out.add({.name = between, .bytes = {.split = count * x * by.is.rank}});
    if (k.adapter_dropout)
      out.add({.name = input, .bytes = {.split = count * (x + 1) * width}});
    else if (x != e)
      out.add({.name = input, .bytes = {.split = count * x * width}});
    else if (!kept)
      out.add({.name = input, .bytes = {.split = x * width}});
  }

  /// Attention behind its norm.
  constexpr void attention(std::int64_t layer) {
    using enum recompute_module;
    auto const repeated = by.kernels.repeated_keys || by.stores_scores();
    if (is_linear(m, layer)) {
      auto const& l = m.linear;
      out.add({.name = "linear attention", .bytes = {.split = e * (2 * (l.convolved() + l.value_heads) + 3 * linear_values(m))}});
    }
    if (auto const& s = m.space; is_space(m, layer) && s.step_rank == 0) {  // one kernel, the last matrix included
      out.add({.name = "state space", .bytes = {.split = e * (space_inputs(s) + s.inner())}, .block = gradient_block::attention});
      if (s.norm) out.add({.name = "statistics of the gated norm", .bytes = {.split = 4 * s.groups}});
    } else {
      out.add({.name = recurrent_name(m, layer), .bytes = {.split = e * recurrent_kept(m, layer)}, .block = gradient_block::attention});
    }
    if (!is_scored(m, layer)) return;
    if (is_indexed(m, layer)) out.add({.name = "index", .bytes = {.whole = index_kept(m)}});
    auto const three = m.kv_rank == 0 && by.is.matrices == adapted_matrices::every_matrix;
    adapters("inputs of the adapters of q, k, v", "inner values of the adapters of q, k, v", h,
             by.kernels.fused_queries ? 1
             : three                  ? 3
                                      : 2,
             false, true);
    auto const kv = m.kv_rank > 0 || repeated ? heads : m.kv_heads;
    if (m.kv_rank > 0) out.add({.name = "latent vectors", .bytes = {.whole = (4 + 2 * e) * (m.q_rank + m.kv_rank)}});
    if (m.qk_norm > 0)
      out.add({.name = "norms of q and k", .bytes = {.split = (heads + m.kv_heads) * ((all && !compiled ? 4 + e : 4) * d + 4)}});
    out.add({.name = "q, k, v", .bytes = {.split = e * (heads * d + kv * (d + v))}, .block = gradient_block::attention});
    layer_tensor scores{.name = "scores", .recomputed = {core_attention}};
    count_pairs(scores, m, layer, by.stores_scores());
    if (by.stores_scores()) {
      // the softmax in float32, and a copy in 16 bits
      scores.bytes.scores = (by.kernels.short_softmax ? e : e == 2 ? 6 : 4) * heads;
      scores.block = gradient_block::attention;
    } else {
      scores.bytes.split = 4 * heads;  // their log-sum-exp
    }
    out.add(scores);
    if (m.output_gate) out.add({.name = "gate of the output, and the output behind it", .bytes = {.split = 2 * e * heads * v}});
    // kernels keep their output, and so does the projection if it is trained
    if (all || !by.stores_scores()) out.add({.name = "context", .bytes = {.split = e * heads * v}, .block = gradient_block::attention});
    if (compiled) out.add({.name = "context in the layout of the projection", .bytes = {.split = e * heads * v}});
    adapters("input of the projection's adapter", "inner values of the projection's adapter", heads * v, 1, !by.stores_scores());
  }

  /// The inner activations of a feed-forward block, or of `copies` experts of a token.
  constexpr void inner(std::string_view gate_name, std::string_view name, std::string_view product, module_set modules, std::int64_t width,
                       std::int64_t copies, bool rows) {
    auto const in = m.gated ? std::int64_t{2} : std::int64_t{1};
    auto const of = [&](std::int64_t tensors) {
      auto const bytes = e * tensors * width * copies;
      return rows ? tensor_bytes{.whole = bytes} : tensor_bytes{.split = bytes};
    };
    // Gate, silu and up, of which a compiler recomputes silu; or the input of an activation function, and what is inside it. The backward
    // pass has three gradients at once; if the last matrix is trained, its input is gone by then, which leaves two.
    auto const gate = m.gated && !compiled;
    auto const before = m.gated ? 2 : by.kernels.composed_activation && !compiled ? 4 : 1;
    if (gate)
      out.add(
          {.name = gate_name, .bytes = of(1), .recomputed = modules, .block = all ? gradient_block::none : gradient_block::feed_forward});
    out.add({.name = name,
             .bytes = of(before),
             .recomputed = modules,
             .block = gradient_block::feed_forward,
             .flops = 2 * in * h * width * copies});
    if (!all) return;
    auto const block = gate ? gradient_block::none : gradient_block::feed_forward;
    out.add({.name = product, .bytes = of(1), .recomputed = modules, .block = block});
  }

  /// The feed-forward block behind its norm.
  constexpr void feed_forward(std::int64_t layer) {
    using enum recompute_module;
    auto const in = m.gated ? std::int64_t{2} : std::int64_t{1};
    if (!has_experts(m, layer)) {
      if (!has_ffn(m, layer)) return;
      adapters("inputs of the adapters of the first matrices", "inner values of the adapters of the first matrices", h, in, false);
      inner("gate", "inner activations", "input of the last matrix", {mlp}, m.ffn, 1, false);
      adapters("input of the last adapter", "inner values of the last adapter", m.ffn, 1, false);
      return;
    }
    auto const active = m.active_experts;
    out.add({.name = "router", .bytes = {.whole = 4 * m.experts + 12 * active + 4}, .recomputed = {moe}, .flops = 2 * h * m.experts});
    // rows of the experts: inputs, outputs (for the gradients of the weights), weights, and three permutations
    out.add({.name = "experts' rows", .bytes = {.rows = active * (e * h * (all ? 2 : 1) + e + 24)}, .recomputed = {moe}});
    inner("gates of the experts", "inner activations of the experts", "inputs of the experts' last matrices", {experts, moe}, m.expert_ffn,
          active, true);
    if (m.shared_ffn > 0)
      inner("gate of shared experts", "inner activations of shared experts", "input of the shared experts' last matrix",
            {shared_experts, moe}, m.shared_ffn, 1, false);
  }
};
[[nodiscard]] constexpr layer_tensors eager_tensors(transformer const& m, std::int64_t layer, activation_setting const& by) {
  eager_counter count{.m = m, .by = by};
  count.norm("input of norm 1", "normalised values and output of norm 1", "statistics of norm 1");
  count.attention(layer);
  if (has_mixer(m, layer) && has_ffn(m, layer))
    count.norm("input of norm 2", "normalised values and output of norm 2", "statistics of norm 2");
  count.feed_forward(layer);
  if (m.layer_scale && count.all)
    count.out.add({.name = "outputs of both blocks in front of their scales", .bytes = {.whole = 2 * count.e * m.hidden}});
  return count.out;
}

}  // namespace detail

/// @brief What a transformer layer keeps from its forward to its backward pass, tensor by tensor, in a 16-bit format unless `kernels.value`
/// is 4.
///
/// `tensor_count::table` is the count of Korthikanti et al.: no dropout masks of the residual stream, no statistics of norms and softmax.
/// `tensor_count::megatron` has every tensor that Megatron-Core keeps, as the kernels are set: a GPT with dropout has their 34 bytes per
/// token and channel, and its statistics. `tensor_count::eager` has what PyTorch's saved-tensor hooks count in layers of transformers, and
/// `tensor_count::compiled` what a compiler leaves of it. Routing is even: a token sends one row to each of its experts.
///
/// @param model  the shape
/// @param layer  0 … layers - 1
/// @param by     which tensors, and how kernels compute
/// @return the tensors, in the order in which the forward pass makes them
/// @throws invalid_input as `require_valid`, or if `layer` is out of range
/// @par Complexity
/// O(1): at most 32 tensors.
/// @par Source
/// Korthikanti et al., arXiv 2205.05198, section 4. NVIDIA/Megatron-LM and Transformer Engine, read at commit d98e8a64dd of the former;
/// docs/memory-model.md has the table. State-space layers: the fused kernels of state-spaces/mamba, `ops/triton/ssd_combined.py` and
/// `ops/selective_scan_interface.py`, read at commit e9594ce1. Eager PyTorch was counted on a CPU (torch 2.15, transformers 5.24), tensor
/// by tensor.
[[nodiscard]] constexpr layer_tensors layer_tensors_of(transformer const& model, std::int64_t layer, activation_setting const& by = {}) {
  detail::require_layer(model, layer);
  switch (by.count) {
    case tensor_count::table: return detail::table_tensors(model, layer, by);
    case tensor_count::megatron: {
      auto out = detail::megatron_tensors(model, layer, by);
      if (by.kernels.value > 2) out.widen(by.kernels.value / 2);
      return out;
    }
    case tensor_count::eager:
    case tensor_count::compiled: break;
  }
  return detail::eager_tensors(model, layer, by);
}

}  // namespace ballast::inline v0_2
