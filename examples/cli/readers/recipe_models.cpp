// SPDX-License-Identifier: Apache-2.0
#include "readers/recipe_models.hpp"

#include "readers/model_config.hpp"

#include <string>

namespace ballast_cli {

namespace {

/// A model that is no preset, by the fields of its config.json on which its shape depends.
struct configured_model {
  std::string_view name, fields;
};
constexpr std::string_view nemotron_fields = R"("model_type": "nemotron_h", "head_dim": 128, "vocab_size": 131072, )";
/// Of Nemotron-H: fields beside those that all have, and the pattern of its layers (M is Mamba-2, * attention, - a dense block, E experts).
constexpr configured_model nemotrons[]{
    {"nvidia/Nemotron-H-4B-Base-8K",
     R"("hidden_size": 3072, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12288, "mamba_num_heads": 112,
        "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-")"},
    {"nvidia/Nemotron-H-8B-Base-8K",
     R"("hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 21504, "mamba_num_heads": 128,
        "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-")"},
    {"nvidia/Nemotron-H-47B-Base-8K",
     R"("hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 30720, "mamba_num_heads": 256,
        "ssm_state_size": 256, "hybrid_override_pattern":
        "M-M-M-M-M-M-M-M-M*-M-M-M-M-M-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-M-M---MM---M-M*-M-M-M-M-M-")"},
    {"nvidia/Nemotron-H-56B-Base-8K",
     R"("hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 32768, "mamba_num_heads": 256,
        "ssm_state_size": 256, "hybrid_override_pattern":
        "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-")"},
    {"nvidia/NVIDIA-Nemotron-Nano-9B-v2",
     R"("hidden_size": 4480, "num_attention_heads": 40, "num_key_value_heads": 8, "intermediate_size": 15680, "mamba_num_heads": 128,
        "mamba_head_dim": 80, "hybrid_override_pattern": "M-M-M-MM-M-M-M*-M-M-M*-M-M-M-M*-M-M-M-M*-M-MM-M-M-M-M-M-")"},
    {"nvidia/NVIDIA-Nemotron-Nano-12B-v2",
     R"("hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 8, "intermediate_size": 20480, "mamba_num_heads": 128,
        "mamba_head_dim": 80, "hybrid_override_pattern": "M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M*-M-M-M-M-")"},
    {"nvidia/NVIDIA-Nemotron-3-Nano-4B-BF16",
     R"("hidden_size": 3136, "num_attention_heads": 40, "num_key_value_heads": 8, "intermediate_size": 12544, "mamba_num_heads": 96,
        "mamba_head_dim": 80, "hybrid_override_pattern": "M-M-M-MM-M-M*-M-M*-M-M-M*-M-M-MM*-MMM-M-M-")"},
    {"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
     R"("hidden_size": 2688, "num_attention_heads": 32, "num_key_value_heads": 2, "intermediate_size": 1856, "mamba_num_heads": 64,
        "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712,
        "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME")"}};
constexpr configured_model other_configurations[]{
    {"Qwen/Qwen3-Next-80B-A3B-Instruct",
     R"("model_type": "qwen3_next", "full_attention_interval": 4, "head_dim": 256, "linear_num_key_heads": 16, "linear_num_value_heads": 32,
        "num_hidden_layers": 48, "shared_expert_intermediate_size": 512)"},
    {"Qwen/Qwen3.5-9B",
     R"("model_type": "qwen3_5_text", "full_attention_interval": 4, "linear_num_value_heads": 32, "attn_output_gate": true)"},
    {"Qwen/Qwen3.5-27B",
     R"("model_type": "qwen3_5_text", "hidden_size": 5120, "intermediate_size": 17408, "linear_num_value_heads": 48,
        "num_attention_heads": 24, "num_hidden_layers": 64)"},
    {"Qwen/Qwen3.5-35B-A3B", R"("model_type": "qwen3_5_moe_text", "num_experts": 256, "num_experts_per_tok": 8)"},
    {"LGAI-EXAONE/EXAONE-4.0-1.2B",
     R"("model_type": "exaone4", "num_hidden_layers": 30, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 4096, "vocab_size": 102400, "head_dim": 64, "sliding_window": null, "tie_word_embeddings": true)"},
    {"LGAI-EXAONE/K-EXAONE-236B-A23B",
     R"("model_type": "exaone_moe", "num_hidden_layers": 48, "hidden_size": 6144, "num_attention_heads": 64, "num_key_value_heads": 8,
        "intermediate_size": 18432, "vocab_size": 153600, "head_dim": 128, "sliding_window": 128, "sliding_window_pattern": "LLLG",
        "moe_intermediate_size": 2048, "num_experts": 128, "num_experts_per_tok": 8, "num_shared_experts": 1, "first_k_dense_replace": 1)"},
    {"allenai/OLMoE-1B-7B-0125",
     R"("model_type": "olmoe", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16,
        "intermediate_size": 1024, "vocab_size": 50304, "num_experts": 64, "num_experts_per_tok": 8)"},
    {"google/gemma-2b",
     R"("model_type": "gemma", "num_hidden_layers": 18, "hidden_size": 2048, "num_attention_heads": 8, "num_key_value_heads": 1,
        "intermediate_size": 16384, "vocab_size": 256000, "head_dim": 256)"},
    {"google/gemma-7b",
     R"("model_type": "gemma", "num_hidden_layers": 28, "hidden_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 16,
        "intermediate_size": 24576, "vocab_size": 256000, "head_dim": 256)"},
    {"baichuan-inc/Baichuan2-7B-Base",
     R"("model_type": "baichuan", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "intermediate_size": 11008,
        "vocab_size": 125696)"},
    {"bigcode/starcoder2-3b",
     R"("model_type": "starcoder2", "num_hidden_layers": 30, "hidden_size": 3072, "num_attention_heads": 24, "num_key_value_heads": 2,
        "intermediate_size": 12288, "vocab_size": 49152, "sliding_window": 4096, "use_bias": true)"},
    {"bigcode/starcoder2-7b",
     R"("model_type": "starcoder2", "num_hidden_layers": 32, "hidden_size": 4608, "num_attention_heads": 36, "num_key_value_heads": 4,
        "intermediate_size": 18432, "vocab_size": 49152, "sliding_window": 4096, "use_bias": true)"},
    {"bigcode/starcoder2-15b",
     R"("model_type": "starcoder2", "num_hidden_layers": 40, "hidden_size": 6144, "num_attention_heads": 48, "num_key_value_heads": 4,
        "intermediate_size": 24576, "vocab_size": 49152, "sliding_window": 4096, "use_bias": true, "tie_word_embeddings": false)"},
    {"state-spaces/mamba2-2.7b",
     R"("model_type": "mamba2", "expand": 2, "head_dim": 64, "hidden_size": 2560, "n_groups": 1, "num_heads": 80, "num_hidden_layers": 64,
        "state_size": 128, "tie_word_embeddings": true, "use_bias": false, "use_conv_bias": true, "vocab_size": 50288)"}};

}  // namespace

std::optional<ballast::transformer> recipe_model(std::string_view name) {
  auto const read = [&](std::string const& fields) { return read_model_config("{" + fields + "}", std::string(name)).language; };
  for (auto const& model : nemotrons)
    if (model.name == name) return read(std::string(nemotron_fields) + std::string(model.fields));
  for (auto const& model : other_configurations)
    if (model.name == name) return read(std::string(model.fields));
  return std::nullopt;
}

}  // namespace ballast_cli
