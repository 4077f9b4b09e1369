// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/footprint/activations.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/trainable.hpp>

#include <array>
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
  std::int64_t activations = 1000;  ///< bytes of activations, in thousandths of those of fused kernels, in [1, 10^5]
  bool separate_logits = false;     ///< whether logits cannot take the memory that layers worked with, so that both are held at once
  friend constexpr bool operator==(framework const&, framework const&) = default;
};

/// @brief Known frameworks. `fused` keeps what `activation_bytes_per_token` counts. The other two factors are fitted: `megatron` to
/// ChunkFlow's slope of memory over length, `eager` (Hugging Face without compilation) to the tables of HBP (docs/footprint.md).
inline constexpr std::array frameworks{
    framework{},
    framework{.name = "megatron", .activations = 2000},
    framework{.name = "eager", .activations = 4150, .separate_logits = true},
};

/// @brief Finds a framework by name.
/// @param name  fused, megatron or eager
/// @return how large its activations are
/// @throws invalid_input, with a list of the names, if the name is unknown
[[nodiscard]] constexpr framework const& framework_named(std::string_view name) { return find_named(frameworks, name, "framework"); }

/// @brief How the loss is computed from the last layer's output: which logits exist at a time.
struct head_loss {
  /// @brief The way.
  enum class kind : std::uint8_t {
    plain,    ///< all logits: in 16 bits, in float32 for the loss, and the gradients of both: 12 bytes per token and vocabulary entry
    fused,    ///< no logits: a kernel computes the loss and its gradient tile by tile
    chunked,  ///< those of one chunk of the tokens, which the backward pass computes again
  };
  kind how = kind::plain;   ///< the way
  std::int64_t chunks = 1;  ///< number of chunks of a micro-batch, with `chunked`; at least 1
  friend constexpr bool operator==(head_loss const&, head_loss const&) = default;
};

/// @brief How a model is trained. Defaults: one device, Adam with 18 bytes per parameter, everything trained, fused kernels, plain loss.
///
/// Experts are distributed over `expert` devices and not split by tensor parallelism, unless `expert` is 1.
struct model_setting {
  parallelism spread{};                          ///< degrees within a pipeline stage; `data` must be a multiple of `context`
  std::int64_t expert = 1;                       ///< expert-parallel degree: a divisor of the experts, and of `tensor * data`
  context_method method = context_method::ring;  ///< how a context-parallel group shares attention
  /// Tokens that each expert takes, in thousandths of an even share; 0: as many as come (dropless). It counts for the exchange of tokens
  /// alone: FLOPs and activations are those of an even share.
  std::int64_t expert_capacity = 0;
  ballast::optimizer optimizer = optimizer_named("adam");  ///< what the optimiser keeps, see `optimizers`
  offload moved = offload::none;                           ///< which states are in host memory
  ballast::framework framework{};                          ///< how large activations are: `framework_named("eager")` and others
  head_loss loss{};                                        ///< how the loss is computed
  attention_kernel attention = attention_kernel::fused;    ///< whether scores are stored
  bool fp8_experts = false;                                ///< whether routed experts keep what they keep in 8 bits
  module_set recompute_modules = feed_forward_modules;     ///< modules that a plan may recompute where it does not recompute a whole layer
  trainable language{};   ///< which parameters of the language model are trained; with adapters, embedding and head are frozen
  trainable vision{};     ///< which parameters of the vision transformer are trained
  trainable projector{};  ///< which parameters of the projector are trained; adapters are not supported

  /// @brief How routed experts are distributed: over `expert` devices, or as all matrices if it is 1.
  [[nodiscard]] constexpr expert_parallelism experts() const noexcept {
    return {.expert = expert, .expert_tensor = expert == 1 ? spread.tensor : 1};
  }
  /// @brief The setting of exchanges of activations.
  [[nodiscard]] constexpr exchange_setting exchanges() const noexcept {
    return {.spread = spread, .method = method, .expert = expert, .capacity = expert_capacity, .state = optimizer.state};
  }
  friend constexpr bool operator==(model_setting const&, model_setting const&) = default;
};

/// @brief Throws unless a setting is in range.
/// @param by  the setting
/// @throws invalid_input naming the field
constexpr void require_valid(model_setting const& by) {
  require_valid(by.experts(), by.spread);
  detail::require_within("framework.activations", by.framework.activations, 1, 100'000);
  detail::require_within("loss.chunks", by.loss.chunks, 1, std::int64_t{1} << 40);
  require(by.projector.what != trained::low_rank, [] { return std::string("projector = low_rank: train it, or freeze it"); });
}

/// @brief Bytes of logits and their gradients per token on one device.
struct logit_bytes {
  std::int64_t kept = 0;     ///< held from the forward to the backward pass of the head
  std::int64_t working = 0;  ///< in addition while the head's backward pass runs
  friend constexpr bool operator==(logit_bytes const&, logit_bytes const&) = default;
};

/// @brief Bytes of logits and their gradients per token on one device, of a tensor-parallel group that shares the vocabulary.
///
/// A plain loss keeps the float32 logits (4 bytes) from the forward to the backward pass, and then has 8 bytes more: their gradients, and
/// logits and gradients in 16 bits. A chunked loss has all 12 bytes, of one chunk.
///
/// @param vocabulary  rows of the head
/// @param loss        how the loss is computed
/// @param tensor      tensor-parallel degree
/// @return bytes per token, rounded up
[[nodiscard]] constexpr logit_bytes logits_of(std::int64_t vocabulary, head_loss const& loss, std::int64_t tensor) noexcept {
  switch (loss.how) {
    case head_loss::kind::plain: return {divide_up(4 * vocabulary, tensor), divide_up(8 * vocabulary, tensor)};
    case head_loss::kind::fused: return {};
    case head_loss::kind::chunked: return {0, divide_up(divide_up(12 * vocabulary, tensor), loss.chunks)};
  }
  return {};
}

}  // namespace ballast::inline v0_2
