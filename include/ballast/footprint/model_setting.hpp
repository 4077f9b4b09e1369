// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/footprint/activations.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/layer_tensors.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/trainable.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// @file
/// @brief `model_setting`: how a model is trained, as far as the time and memory of its layers depend on it: degrees, optimiser, what is
/// trained, how large a framework's activations are, and how the loss is computed.

namespace ballast::inline v0_2 {

/// @brief How large the activations of a framework are.
struct framework {
  std::string_view name = "fused";  ///< name in lower case
  std::int64_t activations = 1000;  ///< bytes of activations, in thousandths of those that `count` gives, in [1, 10^5]
  bool separate_logits = false;     ///< whether logits cannot take the memory that layers worked with, so that both are held at once
  tensor_count count = tensor_count::table;  ///< which tensors are counted
  friend constexpr bool operator==(framework const&, framework const&) = default;
};

/// @brief Known frameworks. `fused` keeps what `activation_bytes_per_token` counts, and `megatron` what Megatron-Core keeps, tensor by
/// tensor; `eager` and `compiled` have the tensors of PyTorch (docs/memory-model.md). Two factors are fitted: `chunkflow` to the slope of
/// memory over length that ChunkFlow measured with its Megatron-LM, `hbp` (Hugging Face without compilation) to the tables of HBP
/// (docs/footprint.md).
inline constexpr std::array frameworks{
    framework{},
    framework{.name = "megatron", .count = tensor_count::megatron},
    framework{.name = "eager", .count = tensor_count::eager},
    framework{.name = "compiled", .count = tensor_count::compiled},
    framework{.name = "chunkflow", .activations = 2000},
    framework{.name = "hbp", .activations = 4150, .separate_logits = true},
};

/// @brief Finds a framework by name.
/// @param name  one of `frameworks`, as in "fused"
/// @return how large its activations are
/// @throws invalid_input, with a list of the names, if the name is unknown
[[nodiscard]] constexpr framework const& framework_named(std::string_view name) { return find_named(frameworks, name, "framework"); }

/// @brief How the loss is computed from the last layer's output: which logits exist at a time.
struct head_loss {
  /// @brief The way. `logits_of` has the bytes of each.
  enum class kind : std::uint8_t {
    plain,         ///< all logits, in the framework's own way
    fused,         ///< no logits: a kernel computes the loss and its gradient tile by tile
    chunked,       ///< those of one chunk of the tokens, which the backward pass computes again
    native,        ///< Megatron-LM's `--cross-entropy-loss-fusion`: compiled, not in place
    in_place,      ///< Transformer Engine's loss (`--cross-entropy-fusion-impl te`): the gradient takes the place of the logits
    sixteen_bits,  ///< PyTorch's loss on 16-bit logits, as under DeepSpeed without autocast
    returned,      ///< transformers since 4.45: the model returns its logits in 16 bits, and the loss has a float32 copy
    copied,        ///< transformers up to 4.44: the model returns float32 logits, and the loss has a shifted copy
    parallel,      ///< PyTorch's loss over a vocabulary that DTensor shards
  };
  kind how = kind::plain;  ///< the way
  /// Number of chunks of a micro-batch, at least 1, with `chunked` and `sixteen_bits`. With `plain` and `parallel`, several chunks run
  /// head, loss and their backward pass one after the other, so logits of one exist at a time.
  std::int64_t chunks = 1;
  std::int64_t share = 1000;  ///< tokens that have logits, in thousandths of all, in [1, 1000]: those of the answers alone
  friend constexpr bool operator==(head_loss const&, head_loss const&) = default;
};

/// @brief A way to compute the loss, with its name.
struct named_loss {
  std::string_view name;  ///< name in lower case, as in "in-place"
  head_loss::kind how;    ///< the way
};

/// @brief All ways with their names, in the order of `head_loss::kind`.
inline constexpr std::array head_losses{
    named_loss{"plain", head_loss::kind::plain},       named_loss{"fused", head_loss::kind::fused},
    named_loss{"chunked", head_loss::kind::chunked},   named_loss{"native", head_loss::kind::native},
    named_loss{"in-place", head_loss::kind::in_place}, named_loss{"16-bits", head_loss::kind::sixteen_bits},
    named_loss{"returned", head_loss::kind::returned}, named_loss{"copied", head_loss::kind::copied},
    named_loss{"parallel", head_loss::kind::parallel},
};

/// @brief The name of a loss. @param loss how it is computed @return as in "plain", or "chunked:8" for 8 chunks
[[nodiscard]] inline std::string to_string(head_loss const& loss) {
  auto const name = std::string(head_losses[static_cast<std::size_t>(loss.how)].name);
  return loss.how == head_loss::kind::chunked || loss.chunks > 1 ? name + ":" + std::to_string(loss.chunks) : name;
}

/// @brief How a model is trained. Defaults: one device, Adam with 18 bytes per parameter, everything trained, fused kernels, plain loss.
///
/// Experts are distributed over `expert` devices. `expert_tensor` says over how many devices an expert is split.
struct model_setting {
  parallelism spread{};     ///< degrees within a pipeline stage; `data` must be a multiple of `context`
  std::int64_t expert = 1;  ///< expert-parallel degree: a divisor of the experts, and of `tensor * data`
  /// Expert-tensor-parallel degree: devices that share an expert. 0 is the framework's default: `spread.tensor` under Megatron-Core; under
  /// all others 1, and `spread.tensor` if `expert` is 1.
  std::int64_t expert_tensor = 0;
  context_method method = context_method::ring;  ///< how a context-parallel group shares attention
  /// Tokens that each expert takes, in thousandths of an even share; 0: as many as come (dropless). It counts for the exchange of tokens
  /// alone: FLOPs and activations are those of an even share.
  std::int64_t expert_capacity = 0;
  ballast::optimizer optimizer = optimizer_named("adam");  ///< what the optimiser keeps, see `optimizers`
  offload moved = offload::none;                           ///< which states are in host memory
  ballast::framework framework{};                          ///< how large activations are: `framework_named("hbp")` and others
  head_loss loss{};                                        ///< how the loss is computed
  attention_kernel attention = attention_kernel::fused;    ///< whether scores are stored
  kernel_setting kernels{};                                ///< what the framework is told about its kernels, see `tensor_count`
  /// Tensor-parallel degree of the vision tower and the projector, a divisor of `spread.tensor`: the devices of a tensor-parallel group
  /// share out the tiles of a micro-batch, and `vision_tensor` of them compute a tile. 0: as the language model, whose group computes each
  /// tile.
  std::int64_t vision_tensor = 0;
  bool fp8_experts = false;                             ///< whether routed experts keep what they keep in 8 bits
  module_set recompute_modules = feed_forward_modules;  ///< modules that a plan may recompute where it does not recompute a whole layer
  trainable language{};   ///< which parameters of the language model are trained; with adapters, embedding and head are frozen
  trainable vision{};     ///< which parameters of the vision transformer are trained
  trainable projector{};  ///< which parameters of the projector are trained; adapters are not supported

  /// @brief How routed experts are distributed.
  [[nodiscard]] constexpr expert_parallelism experts() const noexcept {
    auto const as_tensor = expert == 1 || framework.count == tensor_count::megatron;
    return {.expert = expert, .expert_tensor = expert_tensor > 0 ? expert_tensor : as_tensor ? spread.tensor : 1};
  }
  /// @brief Into how many parts a tensor-parallel group shares out tiles. @return `spread.tensor` over the degree of the tower
  [[nodiscard]] constexpr std::int64_t tile_shares() const noexcept { return vision_tensor > 0 ? spread.tensor / vision_tensor : 1; }
  /// @brief All that the tensors of a layer depend on.
  /// @param is       what of the layer is trained
  /// @param several  whether a micro-batch has several samples beside each other
  [[nodiscard]] constexpr activation_setting activations(trainable const& is = {}, bool several = false) const noexcept {
    return {.count = framework.count, .attention = attention, .kernels = kernels, .fp8_experts = fp8_experts, .several = several, .is = is};
  }
  /// @brief The setting of exchanges of activations.
  [[nodiscard]] constexpr exchange_setting exchanges() const noexcept {
    return {.spread = spread,
            .method = method,
            .expert = expert,
            .expert_tensor = experts().expert_tensor,
            .capacity = expert_capacity,
            .state = optimizer.state};
  }
  friend constexpr bool operator==(model_setting const&, model_setting const&) = default;
};

/// @brief Throws unless a setting is in range.
/// @param by  the setting
/// @throws invalid_input naming the field
constexpr void require_valid(model_setting const& by) {
  require_valid(by.experts(), by.spread);
  detail::require_within("framework.activations", by.framework.activations, 1, 100'000);
  detail::require_within("expert_tensor", by.expert_tensor, 0, 1 << 16);
  detail::require_within("vision_tensor", by.vision_tensor, 0, by.spread.tensor);
  require(by.vision_tensor == 0 || by.spread.tensor % by.vision_tensor == 0, [&] {
    return "vision_tensor = " + std::to_string(by.vision_tensor) + " must divide tensor = " + std::to_string(by.spread.tensor);
  });
  detail::require_within("kernels.deferred", by.kernels.deferred, 0, 1 << 24);
  detail::require_within("kernels.instances", by.kernels.instances, 1, by.spread.data);
  require(by.spread.data % by.kernels.instances == 0, [&] {
    return "kernels.instances = " + std::to_string(by.kernels.instances) + " must divide data = " + std::to_string(by.spread.data);
  });
  detail::require_within("kernels.value", by.kernels.value, 1, 8);
  detail::require_within("kernels.adapter_value", by.kernels.adapter_value, 1, 8);
  detail::require_within("kernels.local_gradient", by.kernels.local_gradient, 0, 8);
  detail::require_within("loss.share", by.loss.share, 1, 1000);
  detail::require_within("loss.chunks", by.loss.chunks, 1, std::int64_t{1} << 40);
  require(by.projector.what != trained::low_rank, [] { return std::string("projector = low_rank: train it, or freeze it"); });
}

/// @brief Bytes of logits and their gradients per token on one device.
struct logit_bytes {
  std::int64_t kept = 0;     ///< held from the forward to the backward pass of the head
  std::int64_t working = 0;  ///< in addition while the head's backward pass runs
  friend constexpr bool operator==(logit_bytes const&, logit_bytes const&) = default;
};

/// @brief Bytes for each logit: `kept` from forward to backward, `working` in addition in the backward pass, and those of a chunk.
struct bytes_of_logit {
  std::int64_t kept = 0;        ///< of all tokens, held from the forward to the backward pass of the head
  std::int64_t working = 0;     ///< of all tokens, in addition at the worst moment
  std::int64_t of_a_chunk = 0;  ///< of one chunk, in addition at the worst moment
  friend constexpr bool operator==(bytes_of_logit const&, bytes_of_logit const&) = default;
};

/// @brief Bytes for each logit, by the way a framework computes the loss.
///
/// | loss | kept | in addition | why |
/// |---|---|---|---|
/// | plain, as a table counts | 4 | 8 | float32 logits; their gradients, and both in 16 bits |
/// | plain, Megatron-Core | 4 | 2 | one float32 copy, all in place; logits in 16 bits, and then their gradient |
/// | `native` | 4 | 6 | the same, not in place |
/// | `fused` | 0 | 0 | a kernel computes the loss tile by tile |
/// | `chunked`, as a table counts and Megatron-Core | 0 | 12 of a chunk | those of `plain` |
/// | `chunked`, eager | 6 | 8 of a chunk | logits in 16 bits and log-softmax of all tokens |
/// | `chunked`, compiled | 2 | 4 of a chunk | logits in 16 bits of all tokens; the compiler recomputes the rest |
/// | `in_place` | 2 | 0 | the gradient takes the place of the logits |
/// | `sixteen_bits` | 4 | 4 of a chunk | logits and their log-softmax; two gradients, all in 16 bits |
/// | `returned` | 6 | 8 | logits in 16 bits, float32 log-softmax; two float32 gradients |
/// | `copied` | 8 | 8 | float32 logits and log-softmax; two float32 gradients |
/// | `parallel` | 4 | 12 | log-softmax; its one-hot gradient, its exponential, and their sum |
/// | `plain` and `parallel` in chunks | 0 | 14, 18 of a chunk | the same, and logits in 16 bits beside them |
///
/// @param loss   how the loss is computed
/// @param count  whose tensors are counted
/// @param value  bytes of a value, 2 or 4: in float32 what the table has in 16 bits has 4 bytes, and Megatron-Core makes no copy
/// @return bytes
/// @par Source
/// NVIDIA/Megatron-LM, `core/tensor_parallel/cross_entropy.py`; the others were measured with PyTorch's allocator (docs/memory-model.md).
[[nodiscard]] constexpr bytes_of_logit bytes_per_logit(head_loss const& loss, tensor_count count = tensor_count::table,
                                                       std::int64_t value = 2) noexcept {
  auto const more = count == tensor_count::table ? 0 : value - 2;
  if (loss.chunks > 1 && loss.how == head_loss::kind::plain) return {0, 0, 14 + more};
  if (loss.chunks > 1 && loss.how == head_loss::kind::parallel) return {0, 0, 18 + more};
  switch (loss.how) {
    case head_loss::kind::plain:
      if (count == tensor_count::megatron) return {4, more > 0 ? 0 : 2, 0};
      return {4, 8, 0};
    case head_loss::kind::fused: return {};
    case head_loss::kind::chunked:
      if (count == tensor_count::eager) return {6 + more, 0, 8};     // 16-bit logits and log-softmax of all chunks
      if (count == tensor_count::compiled) return {2 + more, 0, 4};  // the compiler recomputes the log-softmax
      return {0, 0, 12};
    case head_loss::kind::native: return {4, 6, 0};
    case head_loss::kind::in_place: return {2 + more, 0, 0};
    case head_loss::kind::sixteen_bits: return {4 + 2 * more, 0, 4 + 2 * more};
    case head_loss::kind::returned: return {6 + more, 8, 0};
    case head_loss::kind::copied: return {8, 8, 0};
    case head_loss::kind::parallel: return {4, 12, 0};
  }
  return {};
}

/// @brief Bytes of logits and their gradients per token on one device, of a tensor-parallel group that shares the vocabulary.
///
/// @param vocabulary  rows of the head (`head_rows`)
/// @param loss        how the loss is computed
/// @param tensor      tensor-parallel degree
/// @param count       whose tensors are counted, see `bytes_per_logit`
/// @param value       bytes of a value, 2 or 4
/// @return bytes per token that has logits, rounded up
[[nodiscard]] constexpr logit_bytes logits_of(std::int64_t vocabulary, head_loss const& loss, std::int64_t tensor,
                                              tensor_count count = tensor_count::table, std::int64_t value = 2) noexcept {
  auto const each = bytes_per_logit(loss, count, value);
  return {divide_up(each.kept * vocabulary, tensor),
          divide_up(each.working * vocabulary, tensor) + divide_up(divide_up(each.of_a_chunk * vocabulary, tensor), loss.chunks)};
}

/// @brief What the norm behind the last layer keeps, beside its output.
/// @param model  the shape; without a final norm, nothing is kept
/// @param by     how the model is trained
/// @param is     what of this model is trained
/// @return bytes, where tensors are counted one by one or a table counts two bytes a value
[[nodiscard]] constexpr tensor_bytes final_norm_inputs(transformer const& model, model_setting const& by, trainable const& is) noexcept {
  if (!model.final_norm) return {};
  auto const h = model.hidden, e = by.kernels.value;
  auto const count = by.framework.count;
  if (count == tensor_count::table || count == tensor_count::megatron) return {.whole = (count == tensor_count::table ? 2 : e) * h};
  if (count == tensor_count::compiled && !model.norm_bias) return {.whole = e * h};
  return {.whole = model.norm_bias ? e * h + 8 : 4 * h + 4 + (is.what == trained::all ? e * h : 0)};
}

/// @brief What the final norm and the head keep from forward to backward, beside logits.
/// @param model  the shape
/// @param by     how the model is trained; adapters leave the head frozen
/// @return bytes
[[nodiscard]] constexpr tensor_bytes head_inputs(transformer const& model, model_setting const& by) noexcept {
  auto const h = model.hidden, e = by.kernels.value;
  auto const count = by.framework.count;
  auto out = final_norm_inputs(model, by, by.language);
  if (count == tensor_count::table || count == tensor_count::megatron)
    out.whole += (count == tensor_count::table ? 2 : e) * h;
  else if (by.language.what == trained::all)
    out.gathered = e * h;
  return out;
}

/// @brief What a layer for multi-token prediction keeps beside a transformer layer: the inputs of the merging matrix and of the head. Where
/// tensors are counted one by one, the inputs of its norms too.
/// @param model  the shape
/// @param by     how the model is trained
/// @return bytes, without logits
[[nodiscard]] constexpr tensor_bytes merging_inputs(transformer const& model, model_setting const& by) noexcept {
  return {.whole = (by.framework.count == tensor_count::table ? 4 : 8) * model.hidden};
}

}  // namespace ballast::inline v0_2
