// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/layer_set.hpp>

#include <cstdint>

/// @file
/// @brief `transformer`: the shape of a transformer, from which transformer.hpp counts parameters, FLOPs and bytes.

namespace ballast::inline v0_2 {

/// @brief Linear attention (gated delta rule): each value head has a state of `key_width` x `value_width`, which every token updates and
/// reads. The cost of a token does not depend on the length of the sequence.
///
/// A layer has a matrix that makes queries, keys, values and an output gate, one that makes two numbers for each value head (decay and
/// step), a causal convolution over queries, keys and values, a norm of each value head's output, and the output matrix. It has no biases.
/// Source: Yang et al., "Gated delta networks", arXiv 2412.06464; Hugging Face transformers, `models/qwen3_next`.
struct linear_attention {
  layer_set layers{};            ///< layers that have linear attention instead of the attention with scores
  std::int64_t key_heads = 0;    ///< number of query and of key heads
  std::int64_t key_width = 0;    ///< width of a query and key head
  std::int64_t value_heads = 0;  ///< number of value heads
  std::int64_t value_width = 0;  ///< width of a value head
  std::int64_t kernel = 4;       ///< number of tokens that the convolution sees

  /// @brief Width of the convolution: all queries, keys and values.
  [[nodiscard]] constexpr std::int64_t convolved() const noexcept { return 2 * key_heads * key_width + value_heads * value_width; }
  friend constexpr bool operator==(linear_attention const&, linear_attention const&) = default;
};

/// @brief State-space layers (Mamba): each head has a state of `head_width` x `state`, which decays, takes up a token, and is read. The
/// cost of a token does not depend on the length of the sequence.
///
/// Mamba-2: one matrix makes a gate, x, B and C and a step for each head; a causal convolution over x, B and C; the scan in chunks; a gated
/// norm; the output matrix. Mamba-1 (`step_rank` > 0): every channel is a head of width 1 with decays of its own; B, C and the compressed
/// steps are made of the convolved x.
/// Source: Dao, Gu, "Transformers are SSMs", arXiv 2405.21060; Gu, Dao, "Mamba", arXiv 2312.00752; state-spaces/mamba.
struct state_space {
  layer_set layers{};           ///< layers that have it, beside attention if `attention_layers` contains them, too
  std::int64_t heads = 0;       ///< number of heads; with Mamba-1, of channels
  std::int64_t head_width = 1;  ///< width of a head; with Mamba-1, 1
  std::int64_t state = 0;       ///< width of B and C: numbers of the state for each channel
  std::int64_t groups = 1;      ///< number of B and of C, a divisor of `heads`; with Mamba-1, 1
  std::int64_t kernel = 4;      ///< number of tokens that the convolution sees
  std::int64_t chunk = 256;     ///< tokens of a chunk of the scan
  std::int64_t step_rank = 0;   ///< Mamba-1: width of the compressed steps; 0: Mamba-2
  bool norm = true;             ///< whether Mamba-2 has its gated norm; with Mamba-1, whether steps, B and C are normed
  bool conv_bias = true;        ///< whether the convolution has a bias
  bool bias = false;            ///< whether the first and the last matrix have biases

  /// @brief Width of x, of the gate and of the output.
  [[nodiscard]] constexpr std::int64_t inner() const noexcept { return heads * head_width; }
  /// @brief Width of the convolution: x and, with Mamba-2, B and C.
  [[nodiscard]] constexpr std::int64_t convolved() const noexcept { return inner() + (step_rank > 0 ? 0 : 2 * groups * state); }
  friend constexpr bool operator==(state_space const&, state_space const&) = default;
};

/// @brief Layers with a short convolution: a matrix makes two gates and x, each as wide as the residual stream; a causal convolution over
/// the gated x; the output matrix.
/// Source: Liquid AI, LFM2; Hugging Face transformers, `models/lfm2`.
struct short_convolution {
  layer_set layers{};       ///< layers that have it
  std::int64_t kernel = 3;  ///< number of tokens that it sees
  bool bias = false;        ///< whether convolution and matrices have biases
  friend constexpr bool operator==(short_convolution const&, short_convolution const&) = default;
};

/// @brief The lightning indexer of sparse attention: for each token it scores all tokens before, and attention sees the `window` best.
///
/// Heads share one key; a token weighs its heads. Queries are made of the compressed queries of latent attention. Every layer of `windowed`
/// has one.
/// Source: DeepSeek-AI, "DeepSeek-V3.2", arXiv 2512.02556; Hugging Face transformers, `models/deepseek_v32`.
struct attention_index {
  std::int64_t heads = 0;  ///< number of heads; 0: windows are those of positions
  std::int64_t width = 0;  ///< width of a head
  friend constexpr bool operator==(attention_index const&, attention_index const&) = default;
};

/// @brief The shape of a transformer: decoder or encoder, dense or mixture of experts, with grouped, latent or linear attention, or a
/// hybrid with state-space layers or convolutions.
///
/// It is a plain struct: fill it by hand, from a preset (presets.hpp) or from a `config.json` (the command line does). All sizes are counts
/// or widths; 0 or false means that the model has none. `require_valid` throws unless the shape is valid.
struct transformer {
  std::int64_t layers = 1;                ///< number of transformer layers
  std::int64_t hidden = 1;                ///< width of the residual stream
  std::int64_t query_heads = 1;           ///< number of query heads
  std::int64_t kv_heads = 1;              ///< number of key and value heads, a divisor of `query_heads`
  std::int64_t head_width = 1;            ///< width of a query and key head; with latent attention, `rope_width` included
  std::int64_t ffn = 0;                   ///< inner width of a dense feed-forward block
  bool gated = true;                      ///< whether feed-forward blocks have a gate (three matrices instead of two)
  std::int64_t vocabulary = 0;            ///< rows of the embedding; 0: neither embedding nor head
  bool tied = false;                      ///< whether the head uses the embedding's matrix
  std::int64_t outputs = 0;               ///< rows of a head of its own, as that of a reward model or critic; 0: those of the vocabulary
  std::int64_t positions = 0;             ///< rows of a learned position embedding
  std::int64_t other_weights = 0;         ///< weights beside embedding, layers and head, which all devices have: the pooler of an encoder
  bool causal = true;                     ///< whether a token sees only itself and the tokens before it
  std::int64_t window = 0;                ///< number of keys that a token sees in layers with a window; 0: no layer has one
  layer_set windowed = layer_set::all();  ///< if there is a window: the layers that have it
  bool chunked = false;  ///< whether windows are chunks of the sequence that do not overlap; if not, they slide, but not without `causal`

  std::int64_t kv_rank = 0;     ///< latent attention: width of the compressed keys and values; 0: ordinary attention
  std::int64_t q_rank = 0;      ///< latent attention: width of the compressed queries; 0: not compressed
  std::int64_t rope_width = 0;  ///< latent attention: part of a key that carries the position and is shared by all heads
  std::int64_t v_width = 0;     ///< width of a value head; 0: `head_width`

  linear_attention linear{};                      ///< linear attention, and the layers that have it
  state_space space{};                            ///< state-space layers
  short_convolution conv{};                       ///< layers with a short convolution
  attention_index index{};                        ///< sparse attention: what chooses the keys of a window
  layer_set attention_layers = layer_set::all();  ///< layers with attention, linear attention included; the others have none
  layer_set ffn_layers = layer_set::all();        ///< layers with a feed-forward block, dense or of experts; the others have none

  std::int64_t experts = 0;                    ///< number of experts of a mixture-of-experts layer; 0: every layer is dense
  std::int64_t active_experts = 0;             ///< number of experts that a token is sent to
  std::int64_t expert_ffn = 0;                 ///< inner width of an expert
  std::int64_t shared_ffn = 0;                 ///< inner width of all experts together that every token visits
  layer_set expert_layers = layer_set::all();  ///< if there are experts: the layers that have them; the others are dense

  std::int64_t mtp_layers = 0;  ///< number of layers behind the last one that predict further tokens in training; not in `layers`

  bool parallel = false;     ///< whether attention and feed-forward block read the same input, and their outputs are added
  bool output_gate = false;  ///< whether the queries' matrix also makes a gate, as wide as the queries, of the attention's output
  bool sinks = false;        ///< whether each query head has a learned score beside those of the keys
  bool shared_gate = false;  ///< whether a gate, one row of weights, scales the output of the shared experts
  bool router_bias = false;  ///< whether each expert has a bias in the router (auxiliary-loss-free balancing)
  bool qkv_bias = false;     ///< whether query, key and value projections have biases
  bool output_bias = false;  ///< whether the attention's output projection has a bias
  bool ffn_bias = false;     ///< whether the feed-forward matrices have biases
  bool head_bias = false;    ///< whether the head has a bias
  bool norm_bias = false;    ///< whether norms have a bias (LayerNorm) beside the weight (RMSNorm)
  bool norm_weights = true;  ///< whether norms have weights at all
  std::int64_t norms = 2;    ///< number of norms in a layer
  bool final_norm = true;    ///< whether a norm follows the last layer
  std::int64_t qk_norm = 0;  ///< number of weights of the norms of queries and keys in a layer
  bool layer_scale = false;  ///< whether both blocks of a layer have a learned scale per channel

  friend constexpr bool operator==(transformer const&, transformer const&) = default;
};

/// @brief Rows of the head. @param model the shape @return its outputs, or the vocabulary; 0 without a head
[[nodiscard]] constexpr std::int64_t head_rows(transformer const& model) noexcept {
  return model.outputs > 0 && model.vocabulary > 0 ? model.outputs : model.vocabulary;
}
/// @brief Whether head and embedding are one matrix. @param model the shape @return whether `tied` is set, and the head has no own
/// `outputs`
[[nodiscard]] constexpr bool shares_head(transformer const& model) noexcept { return model.tied && model.outputs == 0; }

namespace detail {
/// The sentence is made apart, so that compilers inline the comparison, which planners repeat for every layer.
[[noreturn]] inline void throw_outside(char const* field, std::int64_t value, std::int64_t least, std::int64_t most) {
  throw invalid_input(sentence(field, " = ", value, " must be in [", least, ", ", most, "]"));
}
constexpr void require_within(char const* field, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most) [[unlikely]]
    throw_outside(field, value, least, most);
}
}  // namespace detail

/// @brief Throws unless a shape is valid and its counts stay below 2^63.
/// @param model  the shape
/// @throws invalid_input naming the field
constexpr void require_valid(transformer const& model) {
  constexpr auto within = detail::require_within;
  constexpr std::int64_t widest = 1 << 19;  // 3 matrices x hidden x widest x 2 FLOPs x experts x layers stays below 2^61
  within("layers", model.layers, 1, 1024);
  within("hidden", model.hidden, 1, widest / 2);
  within("query_heads", model.query_heads, 1, 8192);
  within("kv_heads", model.kv_heads, 1, model.query_heads);
  require(model.query_heads % model.kv_heads == 0,
          [&] { return sentence("kv_heads = ", model.kv_heads, " must divide query_heads = ", model.query_heads); });
  within("head_width", model.head_width, 1, widest / model.query_heads);
  within("v_width", model.v_width, 0, widest / model.query_heads);
  within("ffn", model.ffn, 0, widest);
  within("vocabulary", model.vocabulary, 0, 1 << 24);
  within("outputs", model.outputs, 0, 1 << 24);
  within("positions", model.positions, 0, 1 << 24);
  within("other_weights", model.other_weights, 0, std::int64_t{1} << 40);
  within("window", model.window, 0, 1 << 28);
  within("kv_rank", model.kv_rank, 0, widest);
  within("q_rank", model.q_rank, 0, model.kv_rank > 0 ? widest : 0);
  within("rope_width", model.rope_width, 0, model.kv_rank > 0 ? model.head_width : 0);
  within("experts", model.experts, 0, 2048);
  within("active_experts", model.active_experts, model.experts > 0 ? 1 : 0, model.experts);
  within("expert_ffn", model.expert_ffn, 0, widest);
  within("shared_ffn", model.shared_ffn, 0, widest);
  require(model.linear.layers == layer_set() || model.linear.value_heads > 0,
          [] { return "linear.value_heads = 0, but there are layers with linear attention"; });
  within("linear.key_heads", model.linear.key_heads, 0, 8192);
  within("linear.key_width", model.linear.key_width, 0, 8192);
  within("linear.value_heads", model.linear.value_heads, 0, 8192);
  within("linear.value_width", model.linear.value_width, 0, 8192);
  within("linear.kernel", model.linear.kernel, 0, 8192);
  within("the width of linear attention", model.linear.convolved(), 0, widest);
  auto const& space = model.space;
  require(space.layers == layer_set() || (space.heads > 0 && space.state > 0),
          [] { return "space.heads or space.state is 0, but there are state-space layers"; });
  within("space.heads", space.heads, 0, widest);
  within("space.head_width", space.head_width, 1, space.step_rank > 0 ? 1 : 8192);
  within("space.state", space.state, 0, 8192);
  within("space.groups", space.groups, 1, space.step_rank > 0 ? 1 : 8192);
  require(space.heads % space.groups == 0,
          [&] { return sentence("space.groups = ", space.groups, " must divide space.heads = ", space.heads); });
  within("space.kernel", space.kernel, 0, 8192);
  within("space.chunk", space.chunk, 1, 8192);
  within("space.step_rank", space.step_rank, 0, widest);
  within("the width of state-space layers", space.convolved(), 0, widest);
  within("conv.kernel", model.conv.kernel, 0, 8192);
  require(model.index.heads == 0 || (model.q_rank > 0 && model.window > 0 && model.causal && !model.chunked),
          [] { return "index.heads needs latent attention with compressed queries, and a window, which is the number of chosen keys"; });
  within("index.heads", model.index.heads, 0, 8192);
  within("index.width", model.index.width, 0, 8192);
  within("mtp_layers", model.mtp_layers, 0, 16);
  within("norms", model.norms, 0, 16);
  within("qk_norm", model.qk_norm, 0, 2 * widest);
}

}  // namespace ballast::inline v0_2
