// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

/// @file
/// @brief `kernel_setting`: what a framework is told about its kernels, as far as the memory of a device depends on it.

namespace ballast::inline v0_2 {

/// @brief How attention is computed, as far as memory depends on it.
enum class attention_kernel : std::uint8_t {
  fused,          ///< scores are never stored, and pairs that the mask hides are not computed (FlashAttention)
  stored_scores,  ///< each head stores its scores, for all pairs, hidden ones too: 2 bytes a pair, or 5 with dropout
};

/// @brief Which tensors of a layer are counted.
enum class tensor_count : std::uint8_t {
  table,     ///< those of Korthikanti et al.: no statistics, no dropout masks; stored scores have dropout
  megatron,  ///< those of Megatron-Core, one by one, as `kernel_setting` says
  eager,     ///< those that PyTorch's autograd keeps of a model of transformers or torchtune, one by one
  compiled,  ///< those that remain where the compiler recomputes what is cheap
};

/// @brief A part of a layer whose activations can be moved to host memory, by Megatron-Core's name of it.
enum class offload_module : std::uint8_t {
  attn_norm,   ///< the input of the norm in front of attention
  qkv_linear,  ///< the input of the matrices of queries, keys and values; latent vectors
  core_attn,   ///< queries, keys, values and scores
  attn_proj,   ///< the output of attention, which is the input of the output matrix
  mlp_norm,    ///< the input of the norm in front of the feed-forward block
  expert_fc1,  ///< the rows that are sent to the experts
  moe_act,     ///< the input of the experts' activation function
};

/// @brief An `offload_module` with its name.
struct named_offload {
  std::string_view name;  ///< Megatron-Core's name
  offload_module module;  ///< the module
};

/// @brief All parts that can be moved, in the order of `offload_module`: the values of Megatron-Core's `--offload-modules`.
inline constexpr std::array offload_modules{
    named_offload{"attn_norm", offload_module::attn_norm}, named_offload{"qkv_linear", offload_module::qkv_linear},
    named_offload{"core_attn", offload_module::core_attn}, named_offload{"attn_proj", offload_module::attn_proj},
    named_offload{"mlp_norm", offload_module::mlp_norm},   named_offload{"expert_fc1", offload_module::expert_fc1},
    named_offload{"moe_act", offload_module::moe_act},
};

/// @brief A set of parts whose activations are moved to host memory.
struct offload_set {
  std::uint8_t bits = 0;  ///< bit i is set if the set contains the module whose number is i

  /// @brief The empty set.
  constexpr offload_set() noexcept = default;
  /// @brief The set of some modules. @param modules the modules, in any order
  constexpr offload_set(std::initializer_list<offload_module> modules) noexcept {
    for (auto const m : modules) bits = static_cast<std::uint8_t>(bits | 1U << static_cast<unsigned>(m));
  }
  /// @brief Whether a module is in the set. @param module the module
  [[nodiscard]] constexpr bool contains(offload_module module) const noexcept { return (bits >> static_cast<unsigned>(module) & 1U) != 0; }
  /// @brief Whether the set has no module.
  [[nodiscard]] constexpr bool empty() const noexcept { return bits == 0; }
  friend constexpr bool operator==(offload_set const&, offload_set const&) = default;
};

/// @brief Reads a set from the names of its modules.
/// @param names  names separated by commas, in any order, as in "core_attn,moe_act"; empty for the empty set
/// @return the set
/// @throws invalid_input, with a list of the names, if there is no such module
[[nodiscard]] constexpr offload_set offload_set_named(std::string_view names) {
  offload_set out;
  while (!names.empty()) {
    auto const comma = names.find(',');
    auto const module = find_named(offload_modules, names.substr(0, comma), "offload module").module;
    out.bits = static_cast<std::uint8_t>(out.bits | 1U << static_cast<unsigned>(module));
    if (comma == names.npos) break;
    names.remove_prefix(comma + 1);
    require(!names.empty(), [] { return "the list of modules ends with a comma"; });
  }
  return out;
}

/// @brief What a framework is told about its kernels. `tensor_count::table` reads none of these fields.
///
/// Fields are those of Megatron-Core, unless it is said.
/// The defaults are those of a modern training without dropout; `megatron_kernels` has the defaults of Megatron-LM's flags.
struct kernel_setting {
  bool engine = true;              ///< kernels of Transformer Engine; false: `--transformer-impl local`, which always stores scores
  bool flash = false;              ///< `--attention-backend flash`: attention keeps its output in a layout of its own for several samples
  bool hidden_dropout = false;     ///< the outputs of both blocks, and the embedding, pass through dropout: one byte per value
  bool attention_dropout = false;  ///< stored scores pass through dropout: 5 bytes a pair instead of 2
  bool float_softmax = false;      ///< stored scores of `local` kernels: the float32 result of an unfused softmax is kept (2 bytes more)
  bool fused_activation = true;    ///< experts: the activation function is fused with the product by the router's probabilities
  bool fp8 = false;                ///< inputs of matrix products are kept in 8 bits
  bool grouped_gemm = false;       ///< experts run as grouped matrix products, on four streams
  bool tensor_overlap = false;     ///< `--tp-comm-overlap`
  bool expert_overlap = false;   ///< `--overlap-moe-expert-parallel-comm`: the forward pass of a micro-batch runs beside another's backward
  bool dummy_gradients = false;  ///< gradients are accumulated inside matrix products, which leaves a dummy gradient of each weight shape
  bool loader_mask = false;      ///< the data loader makes an attention mask of one byte for each pair
  bool large_cublas = false;     ///< `CUBLAS_WORKSPACE_CONFIG=:4096:8` on a device before Hopper, which has such workspaces anyway
  std::int64_t deferred = 0;     ///< `--defer-embedding-wgrad-compute`: micro-batches whose gradients of the head wait; 0: none
  std::int64_t instances = 1;    ///< `--num-distributed-optimizer-instances`: a divisor of the data-parallel degree
  std::int64_t value = 2;        ///< bytes of a value that is computed, of PyTorch too: 2, or 4 in float32
  // of eager and compiled PyTorch alone
  bool repeated_keys = false;        ///< keys and values are repeated to all query heads in front of attention, as torchtune does
  bool short_softmax = false;        ///< stored scores: the softmax is in the model's type, as GPT-2's, not in float32 and copied
  bool float_norms = false;          ///< RMSNorm multiplies with its weights in float32: trained norms keep 4 bytes a value instead of 2
  bool fused_queries = false;        ///< one matrix makes queries, keys and values, and has one adapter (GPT-2's `c_attn`, litgpt)
  bool composed_activation = false;  ///< the activation function is made of elementary operations, as GPT-2's `gelu_new`
  std::int64_t adapter_value = 2;    ///< bytes of a value of adapters: peft casts them, and their inputs, to float32 (4) by default
  bool adapter_dropout = false;      ///< inputs of adapters pass through dropout
  bool offload_all = false;          ///< what layers keep is in host memory between both passes (torchtune's activation offloading)
  bool step_in_backward = false;     ///< the optimiser updates each parameter in the backward pass, and its gradient goes
  /// A copy of all parameters, `value` bytes each, is held beside the states: FSDP without resharding, whose parameters are sharded under
  /// ZeRO 2 too; or autocast, which casts float32 parameters.
  bool kept_copies = false;
  /// Bytes for each trained parameter of gradients that are not sharded: under ZeRO 0 and 1 the buckets of DistributedDataParallel, beside
  /// the gradients; above, what micro-batches accumulate without an exchange, in place of the shards.
  std::int64_t local_gradient = 0;
  bool stream_pools = false;  ///< reserved bytes are asked for, not allocated ones: pools of FSDP2's streams count
  offload_set moved{};        ///< `--fine-grained-activation-offloading`: what is moved to host memory between forward and backward

  friend constexpr bool operator==(kernel_setting const&, kernel_setting const&) = default;
};

/// @brief What Megatron-LM does if no flag says otherwise: dropout of 0.1, a mask from the data loader, accumulation inside matrix
/// products.
/// @par Source
/// NVIDIA/Megatron-LM, `megatron/training/arguments.py`.
inline constexpr kernel_setting megatron_kernels{
    .hidden_dropout = true, .attention_dropout = true, .dummy_gradients = true, .loader_mask = true};

}  // namespace ballast::inline v0_2
