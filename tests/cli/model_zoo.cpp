// SPDX-License-Identifier: Apache-2.0
#include "errors.hpp"
#include "model_table.hpp"
#include "program.hpp"
#include "readers/language_config.hpp"
#include "readers/model_config.hpp"
#include "readers/omni_config.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

// Configurations of models whose families are rows of a table (readers/language_table.cpp), and of quantised ones.

namespace test_cli_model_zoo {

namespace {

using ballast_cli::read_model_config;

/// The fields of a published file on which the shape depends, and the number of its weights: the total of its safetensors on the Hub, that
/// of its model card or of its paper.
struct counted {
  char const* name;
  std::int64_t parameters;
  char const* fields;
  std::int64_t mtp = 0;  ///< layers for multi-token prediction among them
};

constexpr counted exact[]{
    {"SmolLM3 3B", 3'075'098'624,
     R"("model_type": "smollm3", "num_hidden_layers": 36, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 4,
        "intermediate_size": 11008, "vocab_size": 128256, "no_rope_layer_interval": 4, "use_sliding_window": false,
        "sliding_window": null, "max_window_layers": 28)"},
    {"Seed-OSS 36B", 36'151'104'512,
     R"("model_type": "seed_oss", "num_hidden_layers": 64, "hidden_size": 5120, "num_attention_heads": 80, "num_key_value_heads": 8,
        "intermediate_size": 27648, "vocab_size": 155136, "head_dim": 128, "attention_bias": true, "attention_out_bias": false)"},
    {"Granite 3.3 8B", 8'170'864'640,
     R"("model_type": "granite", "num_hidden_layers": 40, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 12800, "vocab_size": 49159, "tie_word_embeddings": true)"},
    {"Granite 3.3 2B", 2'533'539'840,
     R"("model_type": "granite", "num_hidden_layers": 40, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 8192, "vocab_size": 49159, "tie_word_embeddings": true)"},
    {"Granite 3.1 1B-A400M", 1'334'628'352,
     R"("model_type": "granitemoe", "num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
        "num_key_value_heads": 8, "intermediate_size": 512, "vocab_size": 49155, "num_local_experts": 32, "num_experts_per_tok": 8,
        "tie_word_embeddings": true)"},
    {"Granite 3.1 3B-A800M", 3'298'793'472,
     R"("model_type": "granitemoe", "num_hidden_layers": 32, "hidden_size": 1536, "num_attention_heads": 24,
        "num_key_value_heads": 8, "intermediate_size": 512, "vocab_size": 49155, "num_local_experts": 40, "num_experts_per_tok": 8,
        "tie_word_embeddings": true)"},
    {"EXAONE 3.5 2.4B", 2'405'327'360,
     R"("model_type": "exaone", "num_layers": 30, "hidden_size": 2560, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 7168, "vocab_size": 102400, "head_dim": 80, "tie_word_embeddings": true)"},
    {"EXAONE 3.5 7.8B", 7'818'448'896,
     R"("model_type": "exaone", "num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "vocab_size": 102400)"},
    {"EXAONE 4.0 1.2B", 1'279'391'488,
     R"("model_type": "exaone4", "num_hidden_layers": 30, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 4096, "vocab_size": 102400, "head_dim": 64, "sliding_window": null, "tie_word_embeddings": true)"},
    {"Command R 35B", 34'980'831'232,
     R"("model_type": "cohere", "num_hidden_layers": 40, "hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 64,
        "intermediate_size": 22528, "vocab_size": 256000)"},
    {"Command R+ 104B", 103'810'674'688,
     R"("model_type": "cohere", "num_hidden_layers": 64, "hidden_size": 12288, "num_attention_heads": 96, "num_key_value_heads": 8,
        "intermediate_size": 33792, "vocab_size": 256000, "use_qk_norm": true)"},
    {"Command R7B", 8'028'033'024,
     R"("model_type": "cohere2", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "vocab_size": 256000, "sliding_window": 4096, "sliding_window_pattern": 4)"},
    {"Command A 111B", 111'057'580'032,
     R"("model_type": "cohere2", "num_hidden_layers": 64, "hidden_size": 12288, "num_attention_heads": 96, "num_key_value_heads": 8,
        "intermediate_size": 36864, "vocab_size": 256000, "sliding_window": 4096, "sliding_window_pattern": 4)"},
    {"Aya Expanse 8B", 8'028'033'024,
     R"("model_type": "cohere", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "vocab_size": 256000)"},
    {"MiniMax-M2", 228'689'764'864,
     R"("model_type": "minimax_m2", "num_hidden_layers": 62, "hidden_size": 3072, "num_attention_heads": 48,
        "num_key_value_heads": 8, "intermediate_size": 1536, "vocab_size": 200064, "head_dim": 128, "num_local_experts": 256,
        "num_experts_per_tok": 8, "use_qk_norm": true, "use_routing_bias": true)"},
    {"ERNIE 4.5 0.3B", 360'748'032,
     R"("model_type": "ernie4_5", "num_hidden_layers": 18, "hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 2,
        "intermediate_size": 3072, "vocab_size": 103424, "head_dim": 128, "use_bias": false, "tie_word_embeddings": true)"},
    {"ERNIE 4.5 21B-A3B", 21'825'437'888,
     R"("model_type": "ernie4_5_moe", "num_hidden_layers": 28, "hidden_size": 2560, "num_attention_heads": 20,
        "num_key_value_heads": 4, "intermediate_size": 12288, "vocab_size": 103424, "moe_intermediate_size": 1536, "moe_k": 6,
        "moe_num_experts": 64, "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_end_index": 27,
        "moe_layer_interval": 1, "use_bias": false, "tie_word_embeddings": true)"},
    {"Hunyuan A13B", 80'393'183'232,
     R"("model_type": "hunyuan_v1_moe", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 3072, "vocab_size": 128167, "head_dim": 128, "num_experts": 64, "moe_topk": 8,
        "num_shared_expert": 1, "moe_intermediate_size": 3072, "use_qk_norm": true, "use_cla": false, "tie_word_embeddings": true)"},
    {"OLMoE 1B-7B", 6'919'161'856,
     R"("model_type": "olmoe", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16,
        "intermediate_size": 1024, "vocab_size": 50304, "num_experts": 64, "num_experts_per_tok": 8)"},
    {"StableLM 2 1.6B", 1'644'515'328,
     R"("model_type": "stablelm", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 5632, "vocab_size": 100352, "use_qkv_bias": true)"},
    {"StableLM 3B-4E1T", 2'795'443'200,
     R"("model_type": "stablelm", "num_hidden_layers": 32, "hidden_size": 2560, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 6912, "vocab_size": 50304, "use_qkv_bias": false)"},
    {"Yi 6B", 6'061'035'520,
     R"("model_type": "Yi", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 4,
        "intermediate_size": 11008, "vocab_size": 64000)"},
    {"Yi 34B", 34'388'917'248,
     R"("model_type": "Yi", "num_hidden_layers": 60, "hidden_size": 7168, "num_attention_heads": 56, "num_key_value_heads": 8,
        "intermediate_size": 20480, "vocab_size": 64000)"},
    {"Yi 1.5 9B", 8'829'407'232,
     R"("model_type": "llama", "num_hidden_layers": 48, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 4,
        "intermediate_size": 11008, "vocab_size": 64000)"},
    {"Baichuan 7B", 7'000'559'616,
     R"("model_type": "baichuan", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
        "intermediate_size": 11008, "vocab_size": 64000)"},
    {"Baichuan 13B", 13'264'901'120,
     R"("model_type": "baichuan", "num_hidden_layers": 40, "hidden_size": 5120, "num_attention_heads": 40,
        "intermediate_size": 13696, "vocab_size": 64000)"},
    {"Baichuan 2 7B", 7'505'973'248,
     R"("model_type": "baichuan", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
        "intermediate_size": 11008, "vocab_size": 125696)"},
    {"Baichuan 2 13B", 13'896'668'160,
     R"("model_type": "baichuan", "num_hidden_layers": 40, "hidden_size": 5120, "num_attention_heads": 40,
        "intermediate_size": 13696, "vocab_size": 125696)"},
    {"InternLM 2.5 7B", 7'737'708'544,
     R"("model_type": "internlm2", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 14336, "vocab_size": 92544, "bias": false)"},
    {"InternLM 2 1.8B", 1'889'110'016,
     R"("model_type": "internlm2", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 8,
        "intermediate_size": 8192, "vocab_size": 92544, "bias": false)"},
    {"InternLM 3 8B", 8'804'241'408,
     R"("model_type": "internlm3", "num_hidden_layers": 48, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 2,
        "intermediate_size": 10240, "vocab_size": 128512, "head_dim": 128, "bias": false, "qkv_bias": false)"},
    {"Qwen 1.8B", 1'836'828'672,
     R"("model_type": "qwen", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 16, "intermediate_size": 11008,
        "vocab_size": 151936, "kv_channels": 128, "no_bias": true)"},
    {"Qwen 7B", 7'721'324'544,
     R"("model_type": "qwen", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "intermediate_size": 22016,
        "vocab_size": 151936, "kv_channels": 128)"},
    {"Qwen 14B", 14'167'290'880,
     R"("model_type": "qwen", "num_hidden_layers": 40, "hidden_size": 5120, "num_attention_heads": 40, "intermediate_size": 27392,
        "vocab_size": 152064, "kv_channels": 128)"},
    {"Qwen 72B", 72'287'920'128,
     R"("model_type": "qwen", "num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64, "intermediate_size": 49152,
        "vocab_size": 152064, "kv_channels": 128)"},
    {"MiniCPM 2B", 2'724'880'896,
     R"("model_type": "minicpm", "num_hidden_layers": 40, "hidden_size": 2304, "num_attention_heads": 36, "num_key_value_heads": 36,
        "intermediate_size": 5760, "vocab_size": 122753)"},
    {"Gemma 2B", 2'506'172'416,
     R"("model_type": "gemma", "num_hidden_layers": 18, "hidden_size": 2048, "num_attention_heads": 8, "num_key_value_heads": 1,
        "intermediate_size": 16384, "vocab_size": 256000, "head_dim": 256)"},
    {"Gemma 7B", 8'537'680'896,
     R"("model_type": "gemma", "num_hidden_layers": 28, "hidden_size": 3072, "num_attention_heads": 16, "num_key_value_heads": 16,
        "intermediate_size": 24576, "vocab_size": 256000, "head_dim": 256)"},
    {"phi-1.5", 1'418'270'720,
     R"("model_type": "phi", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 8192, "vocab_size": 51200)"},
    {"phi-2", 2'779'683'840,
     R"("model_type": "phi", "num_hidden_layers": 32, "hidden_size": 2560, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 10240, "vocab_size": 51200)"},
    {"Pythia 160M", 162'322'944,
     R"("model_type": "gpt_neox", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072,
        "vocab_size": 50304, "use_parallel_residual": true)"},
    {"Pythia 410M", 405'334'016,
     R"("model_type": "gpt_neox", "num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096,
        "vocab_size": 50304, "use_parallel_residual": true)"},
    {"Pythia 1B", 1'011'781'632,
     R"("model_type": "gpt_neox", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 8, "intermediate_size": 8192,
        "vocab_size": 50304, "use_parallel_residual": true)"},
    {"Pythia 1.4B", 1'414'647'808,
     R"("model_type": "gpt_neox", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 16, "intermediate_size": 8192,
        "vocab_size": 50304, "use_parallel_residual": true)"},
    {"Pythia 2.8B", 2'775'208'960,
     R"("model_type": "gpt_neox", "num_hidden_layers": 32, "hidden_size": 2560, "num_attention_heads": 32,
        "intermediate_size": 10240, "vocab_size": 50304, "use_parallel_residual": true)"},
    {"Pythia 6.9B", 6'857'302'016,
     R"("model_type": "gpt_neox", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
        "intermediate_size": 16384, "vocab_size": 50432, "use_parallel_residual": true)"},
    {"Pythia 12B", 11'846'072'320,
     R"("model_type": "gpt_neox", "num_hidden_layers": 36, "hidden_size": 5120, "num_attention_heads": 40,
        "intermediate_size": 20480, "vocab_size": 50688, "use_parallel_residual": true)"},
    {"GPT-NeoX 20B", 20'554'567'680,
     R"("model_type": "gpt_neox", "num_hidden_layers": 44, "hidden_size": 6144, "num_attention_heads": 64,
        "intermediate_size": 24576, "vocab_size": 50432)"},
    {"GPT-J 6B", 6'050'882'784,
     R"("model_type": "gptj", "n_layer": 28, "n_embd": 4096, "n_head": 16, "vocab_size": 50400, "n_positions": 2048)"},
    {"GPT-Neo 1.3B", 1'315'575'808,
     R"("model_type": "gpt_neo", "num_layers": 24, "hidden_size": 2048, "num_heads": 16, "vocab_size": 50257,
        "max_position_embeddings": 2048, "window_size": 256)"},
    {"GPT-Neo 2.7B", 2'651'307'520,
     R"("model_type": "gpt_neo", "num_layers": 32, "hidden_size": 2560, "num_heads": 20, "vocab_size": 50257,
        "max_position_embeddings": 2048, "window_size": 256)"},
    {"StarCoder 15B", 15'517'456'384,
     R"("model_type": "gpt_bigcode", "n_layer": 40, "n_embd": 6144, "n_head": 48, "n_inner": 24576, "vocab_size": 49152,
        "n_positions": 8192, "multi_query": true)"},
    {"StarCoderBase 1B", 1'137'207'296,
     R"("model_type": "gpt_bigcode", "n_layer": 24, "n_embd": 2048, "n_head": 16, "n_inner": 8192, "vocab_size": 49152,
        "n_positions": 8192, "multi_query": true)"},
    {"StarCoder2 3B", 3'030'371'328,
     R"("model_type": "starcoder2", "num_hidden_layers": 30, "hidden_size": 3072, "num_attention_heads": 24,
        "num_key_value_heads": 2, "intermediate_size": 12288, "vocab_size": 49152, "sliding_window": 4096, "use_bias": true)"},
    {"StarCoder2 7B", 7'173'923'840,
     R"("model_type": "starcoder2", "num_hidden_layers": 32, "hidden_size": 4608, "num_attention_heads": 36,
        "num_key_value_heads": 4, "intermediate_size": 18432, "vocab_size": 49152, "sliding_window": 4096, "use_bias": true)"},
    {"StarCoder2 15B", 15'957'889'024,
     R"("model_type": "starcoder2", "num_hidden_layers": 40, "hidden_size": 6144, "num_attention_heads": 48,
        "num_key_value_heads": 4, "intermediate_size": 24576, "vocab_size": 49152, "sliding_window": 4096, "use_bias": true,
        "tie_word_embeddings": false)"},
    {"MPT 7B", 6'649'286'656,
     R"("model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32, "vocab_size": 50432, "expansion_ratio": 4,
        "attn_config": {"alibi": true, "qk_ln": false}, "no_bias": true)"},
    {"DBRX 132B", 131'596'523'520,
     R"("model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40, "vocab_size": 100352, "attn_config": {"kv_n_heads": 8},
        "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4})"},
    {"OPT 125M", 125'239'296,
     R"("model_type": "opt", "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12, "ffn_dim": 3072,
        "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 768)"},
    {"OPT 1.3B", 1'315'758'080,
     R"("model_type": "opt", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 32, "ffn_dim": 8192,
        "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 2048)"},
    {"OPT 6.7B", 6'658'473'984,
     R"("model_type": "opt", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "ffn_dim": 16384,
        "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 4096)"},
    {"OPT 13B", 12'853'473'280,
     R"("model_type": "opt", "num_hidden_layers": 40, "hidden_size": 5120, "num_attention_heads": 40, "ffn_dim": 20480,
        "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 5120)"},
    {"OPT 30B", 29'974'540'288,
     R"("model_type": "opt", "num_hidden_layers": 48, "hidden_size": 7168, "num_attention_heads": 56, "ffn_dim": 28672,
        "vocab_size": 50272, "max_position_embeddings": 2048, "word_embed_proj_dim": 7168)"},
    {"BLOOM 560M", 559'214'592, R"("model_type": "bloom", "n_layer": 24, "hidden_size": 1024, "n_head": 16, "vocab_size": 250880)"},
    {"BLOOM 1B7", 1'722'408'960, R"("model_type": "bloom", "n_layer": 24, "hidden_size": 2048, "n_head": 16, "vocab_size": 250880)"},
    {"BLOOM 3B", 3'002'557'440, R"("model_type": "bloom", "n_layer": 30, "hidden_size": 2560, "n_head": 32, "vocab_size": 250880)"},
    {"BLOOM 7B1", 7'069'016'064, R"("model_type": "bloom", "n_layer": 30, "hidden_size": 4096, "n_head": 32, "vocab_size": 250880)"},
    {"BLOOM 176B", 176'247'271'424, R"("model_type": "bloom", "n_layer": 70, "hidden_size": 14336, "n_head": 112, "vocab_size": 250880)"},
    {"DeepSeek-MoE 16B", 16'375'728'128,
     R"("model_type": "deepseek", "num_hidden_layers": 28, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16,
        "intermediate_size": 10944, "vocab_size": 102400, "moe_intermediate_size": 1408, "n_routed_experts": 64,
        "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "moe_layer_freq": 1)"},
    {"DeepSeek LLM 7B", 6'910'365'696,
     R"("model_type": "llama", "num_hidden_layers": 30, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 11008, "vocab_size": 102400)"},
    {"Ling-lite 1.5", 16'801'974'272,
     R"("model_type": "bailing_moe", "num_hidden_layers": 28, "hidden_size": 2048, "num_attention_heads": 16,
        "num_key_value_heads": 4, "intermediate_size": 1408, "vocab_size": 126464, "moe_intermediate_size": 1408, "num_experts": 64,
        "num_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 0, "use_bias": false, "use_qkv_bias": false)"},
    {"Ling-mini 2.0", 16'255'643'392,
     R"("model_type": "bailing_moe", "num_hidden_layers": 20, "hidden_size": 2048, "num_attention_heads": 16,
        "num_key_value_heads": 4, "intermediate_size": 5120, "vocab_size": 157184, "moe_intermediate_size": 512,
        "moe_shared_expert_intermediate_size": 512, "num_experts": 256, "num_shared_experts": 1, "num_experts_per_tok": 8,
        "first_k_dense_replace": 1, "head_dim": 128, "use_bias": false, "use_qkv_bias": false, "use_qk_norm": true,
        "moe_router_enable_expert_bias": true, "num_nextn_predict_layers": 0)"},
    {"Ling-flash 2.0", 102'889'705'216,
     R"("model_type": "bailing_moe", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
        "num_key_value_heads": 4, "intermediate_size": 9216, "vocab_size": 157184, "moe_intermediate_size": 1024,
        "moe_shared_expert_intermediate_size": 1024, "num_experts": 256, "num_shared_experts": 1, "num_experts_per_tok": 8,
        "first_k_dense_replace": 1, "head_dim": 128, "use_bias": false, "use_qkv_bias": false, "use_qk_norm": true,
        "moe_router_enable_expert_bias": true, "num_nextn_predict_layers": 0)"},
    {"dots.llm1", 142'774'381'696,
     R"("model_type": "dots1", "num_hidden_layers": 62, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 10944, "vocab_size": 152064, "moe_intermediate_size": 1408, "n_routed_experts": 128,
        "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1, "moe_layer_freq": 1, "sliding_window": null,
        "max_window_layers": 62, "attention_bias": false)"},
    {"Apertus 8B", 8'053'338'176,
     R"("model_type": "apertus", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 21504, "vocab_size": 131072, "qk_norm": true)"},
    {"MiMo 7B", 7'833'409'536,
     R"("model_type": "mimo", "num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 11008, "vocab_size": 151680, "head_dim": 128, "attention_bias": true, "num_nextn_predict_layers": 1)",
     1},
    {"SmolLM2 135M", 134'515'008,
     R"("model_type": "llama", "num_hidden_layers": 30, "hidden_size": 576, "num_attention_heads": 9, "num_key_value_heads": 3,
        "intermediate_size": 1536, "vocab_size": 49152, "tie_word_embeddings": true)"},
    {"SmolLM2 360M", 361'821'120,
     R"("model_type": "llama", "num_hidden_layers": 32, "hidden_size": 960, "num_attention_heads": 15, "num_key_value_heads": 5,
        "intermediate_size": 2560, "vocab_size": 49152, "tie_word_embeddings": true)"},
    {"SmolLM2 1.7B", 1'711'376'384,
     R"("model_type": "llama", "num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 8192, "vocab_size": 49152, "tie_word_embeddings": true)"},
    {"TinyLlama 1.1B", 1'100'048'384,
     R"("model_type": "llama", "num_hidden_layers": 22, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 4,
        "intermediate_size": 5632, "vocab_size": 32000)"},
    {"Falcon3 7B", 7'455'550'464,
     R"("model_type": "llama", "num_hidden_layers": 28, "hidden_size": 3072, "num_attention_heads": 12, "num_key_value_heads": 4,
        "intermediate_size": 23040, "vocab_size": 131072, "head_dim": 256)"},
    {"Codestral 22B", 22'247'282'688,
     R"("model_type": "mistral", "num_hidden_layers": 56, "hidden_size": 6144, "num_attention_heads": 48, "num_key_value_heads": 8,
        "intermediate_size": 16384, "vocab_size": 32768, "sliding_window": null)"},
    {"Mistral Large 2", 122'610'069'504,
     R"("model_type": "mistral", "num_hidden_layers": 88, "hidden_size": 12288, "num_attention_heads": 96, "num_key_value_heads": 8,
        "intermediate_size": 28672, "vocab_size": 32768, "head_dim": 128, "sliding_window": null)"},
    {"GLM-4.6", 352'797'829'024,
     R"("model_type": "glm4_moe", "num_hidden_layers": 92, "hidden_size": 5120, "num_attention_heads": 96, "num_key_value_heads": 8,
        "intermediate_size": 12288, "vocab_size": 151552, "head_dim": 128, "attention_bias": true, "moe_intermediate_size": 1536,
        "n_routed_experts": 160, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3, "use_qk_norm": true,
        "num_nextn_predict_layers": 1)"},
    {"Hy3", 298'786'155'776,
     R"("model_type": "hy_v3", "num_hidden_layers": 80, "hidden_size": 4096, "num_attention_heads": 64, "num_key_value_heads": 8,
        "intermediate_size": 13312, "vocab_size": 120832, "head_dim": 128, "num_experts": 192, "qk_norm": true, "num_experts_per_tok": 8,
        "num_shared_experts": 1, "moe_intermediate_size": 1536, "num_nextn_predict_layers": 1)",
     1},
    {"Ling-1T", 999'705'328'640,
     R"("model_type": "bailing_moe", "num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64,
        "num_key_value_heads": 8, "intermediate_size": 18432, "vocab_size": 157184, "head_dim": 128, "moe_intermediate_size": 2048,
        "num_experts": 256, "num_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 4, "use_bias": false,
        "use_qkv_bias": false, "use_qk_norm": true, "moe_router_enable_expert_bias": true, "num_nextn_predict_layers": 0)"},
    {"Trinity Large", 398'635'286'016,
     R"("model_type": "afmoe", "num_hidden_layers": 60, "hidden_size": 3072, "num_attention_heads": 48, "num_key_value_heads": 8,
        "intermediate_size": 12288, "vocab_size": 200192, "head_dim": 128, "moe_intermediate_size": 3072, "num_experts": 256,
        "num_shared_experts": 1, "num_experts_per_tok": 4, "num_dense_layers": 6, "sliding_window": 4096,
        "global_attn_every_n_layers": 4)"},
    {"Qwen3-Coder 480B-A35B", 480'154'875'392,
     R"("model_type": "qwen3_moe", "num_hidden_layers": 62, "hidden_size": 6144, "num_attention_heads": 96, "num_key_value_heads": 8,
        "intermediate_size": 8192, "vocab_size": 151936, "head_dim": 128, "moe_intermediate_size": 2560, "num_experts": 160,
        "num_experts_per_tok": 8)"},
    {"OLMo 7B", 6'888'095'744,
     R"("model_type": "olmo", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 32,
        "intermediate_size": 11008, "vocab_size": 50304)"},
    {"OLMo 1B", 1'176'764'416,
     R"("model_type": "olmo", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16,
        "intermediate_size": 8192, "vocab_size": 50304, "tie_word_embeddings": true)"},
    {"Llama 3.3 70B", 70'553'706'496,
     R"("model_type": "llama", "num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 8,
        "intermediate_size": 28672, "vocab_size": 128256)"},
    {"Ministral 8B", 8'019'808'256,
     R"("model_type": "mistral", "num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 12288, "vocab_size": 131072, "head_dim": 128, "sliding_window": 32768)"},
    {"Sarvam-1", 2'525'087'744,
     R"("model_type": "llama", "num_hidden_layers": 28, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 8,
        "intermediate_size": 11008, "vocab_size": 68096)"},
    {"DeepSeek-V3.1", 671'026'419'200,
     R"("model_type": "deepseek_v3", "first_k_dense_replace": 3, "hidden_size": 7168, "n_routed_experts": 256,
        "num_nextn_predict_layers": 1, "topk_method": "noaux_tc", "quantization_config": {"quant_method": "fp8", "fmt": "e4m3",
        "weight_block_size": [128, 128], "activation_scheme": "dynamic"})"},
    {"gpt-oss 120b", 116'829'156'672,
     R"("model_type": "gpt_oss", "num_hidden_layers": 36, "num_local_experts": 128, "quantization_config": {"quant_method": "mxfp4",
        "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]})"},
    {"Kimi K2 Thinking", 1'026'408'232'448,
     R"("model_type": "kimi_k2", "first_k_dense_replace": 1, "n_routed_experts": 384, "num_attention_heads": 64,
        "num_key_value_heads": 64, "vocab_size": 163840, "num_nextn_predict_layers": 0,
        "quantization_config": {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4,
        "group_size": 32, "type": "int"}}}, "ignore": ["lm_head", "re:.*self_attn.*", "re:.*shared_experts.*"]})"},
    {"Qwen2.5 7B AWQ", 7'615'616'512,
     R"("model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4,
        "intermediate_size": 18944, "vocab_size": 152064, "quantization_config": {"quant_method": "awq", "bits": 4,
        "group_size": 128, "zero_point": true})"},
    {"Qwen2.5 7B GPTQ", 7'615'616'512,
     R"("model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4,
        "intermediate_size": 18944, "vocab_size": 152064, "quantization_config": {"quant_method": "gptq", "bits": 8,
        "group_size": -1})"},
};

/// The same where what is published is rounded: the count differs by less than one of the last digit. `parameters` follows from the fields.
struct rounded_count {
  char const* name;
  char const* published;
  std::int64_t parameters;
  char const* fields;
};

constexpr rounded_count rounded[]{
    {"EXAONE 4.0 32B", "32B", 32'003'216'384,
     R"("model_type": "exaone4", "num_hidden_layers": 64, "hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 8,
        "intermediate_size": 27392, "vocab_size": 102400, "head_dim": 128, "sliding_window": 4096, "sliding_window_pattern": "LLLG")"},
    {"K-EXAONE 236B-A23B", "236B", 236'571'156'352,
     R"("model_type": "exaone_moe", "num_hidden_layers": 48, "hidden_size": 6144, "num_attention_heads": 64,
        "num_key_value_heads": 8, "intermediate_size": 18432, "vocab_size": 153600, "head_dim": 128, "sliding_window": 128,
        "sliding_window_pattern": "LLLG", "moe_intermediate_size": 2048, "num_experts": 128, "num_experts_per_tok": 8,
        "num_shared_experts": 1, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1)"},
    {"ERNIE 4.5 300B-A47B", "300B", 299'484'163'264,
     R"("model_type": "ernie4_5_moe", "num_hidden_layers": 54, "hidden_size": 8192, "num_attention_heads": 64,
        "num_key_value_heads": 8, "intermediate_size": 28672, "vocab_size": 103424, "moe_intermediate_size": 3584, "moe_k": 8,
        "moe_num_experts": 64, "moe_num_shared_experts": 0, "moe_layer_start_index": 3, "moe_layer_end_index": 53,
        "moe_layer_interval": 1, "use_bias": false, "tie_word_embeddings": false)"},
    {"Hunyuan 7B", "7B", 7'504'568'320,
     R"("model_type": "hunyuan_v1_dense", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128167, "head_dim": 128, "use_qk_norm": true,
        "use_cla": false, "tie_word_embeddings": true)"},
    {"FlexOlmo 7x7B", "33B", 33'270'665'216,
     R"("model_type": "flex_olmo", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
        "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100352, "num_experts": 7, "num_experts_per_tok": 7)"},
    {"StableLM 2 12B", "12.1B", 12'143'185'920,
     R"("model_type": "stablelm", "num_hidden_layers": 40, "hidden_size": 5120, "num_attention_heads": 32, "num_key_value_heads": 8,
        "intermediate_size": 13824, "vocab_size": 100352, "use_qkv_bias": false, "qk_layernorm": true, "use_parallel_residual": true)"},
    {"InternLM 7B", "7B", 7'321'948'160,
     R"("model_type": "internlm", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
        "intermediate_size": 11008, "vocab_size": 103168, "bias": true)"},
    {"MiniCPM4 8B", "8B", 8'185'253'888,
     R"("model_type": "minicpm", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 2,
        "intermediate_size": 16384, "vocab_size": 73448, "tie_word_embeddings": false)"},
    {"MiniCPM3 4B", "4B", 4'073'875'968,
     R"("model_type": "minicpm3", "num_hidden_layers": 62, "hidden_size": 2560, "num_attention_heads": 40, "num_key_value_heads": 40,
        "intermediate_size": 6400, "vocab_size": 73448, "q_lora_rank": 768, "kv_lora_rank": 256, "qk_nope_head_dim": 64,
        "qk_rope_head_dim": 32)"},
    {"MPT 30B", "30B", 29'957'200'896,
     R"("model_type": "mpt", "d_model": 7168, "n_heads": 64, "n_layers": 48, "vocab_size": 50432, "expansion_ratio": 4,
        "attn_config": {"alibi": true, "qk_ln": false}, "no_bias": true)"},
    {"DeepSeek LLM 67B", "67B", 67'425'001'472,
     R"("model_type": "llama", "num_hidden_layers": 95, "hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 8,
        "intermediate_size": 22016, "vocab_size": 102400)"},
    {"Solar Open 100B", "102B", 102'651'799'552,
     R"("model_type": "solar_open", "num_hidden_layers": 48, "hidden_size": 4096, "num_attention_heads": 64,
        "num_key_value_heads": 8, "intermediate_size": 10240, "vocab_size": 196608, "head_dim": 128, "moe_intermediate_size": 1280,
        "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 0)"},
    {"Trinity Mini", "26B", 26'123'974'400,
     R"("model_type": "afmoe", "num_hidden_layers": 32, "hidden_size": 2048, "num_attention_heads": 32, "num_key_value_heads": 4,
        "intermediate_size": 6144, "vocab_size": 200192, "head_dim": 128, "moe_intermediate_size": 1024, "num_experts": 128,
        "num_shared_experts": 1, "num_experts_per_tok": 8, "num_dense_layers": 2, "sliding_window": 2048,
        "global_attn_every_n_layers": 4)"},
    {"Trinity Nano", "6B", 6'120'003'328,
     R"("model_type": "afmoe", "num_hidden_layers": 56, "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 2,
        "intermediate_size": 3072, "vocab_size": 200192, "head_dim": 128, "moe_intermediate_size": 256, "num_experts": 128,
        "num_shared_experts": 1, "num_experts_per_tok": 8, "num_dense_layers": 2, "sliding_window": 2048,
        "global_attn_every_n_layers": 4)"},
    {"AFM 4.5B", "5B", 4'619'184'640,
     R"("model_type": "arcee", "num_hidden_layers": 36, "hidden_size": 2560, "num_attention_heads": 20, "num_key_value_heads": 4,
        "intermediate_size": 18432, "vocab_size": 128004, "head_dim": 128)"},
    {"Apertus 70B", "70B", 70'599'864'480,
     R"("model_type": "apertus", "num_hidden_layers": 80, "hidden_size": 8192, "num_attention_heads": 64, "num_key_value_heads": 8,
        "intermediate_size": 43008, "vocab_size": 131072)"},
    {"Minitron 4B", "4B", 4'190'509'056,
     R"("model_type": "nemotron", "num_hidden_layers": 32, "hidden_size": 3072, "num_attention_heads": 24, "num_key_value_heads": 8,
        "intermediate_size": 9216, "vocab_size": 256000, "head_dim": 128)"},
    {"Minitron 8B", "8B", 8'271'699'968,
     R"("model_type": "nemotron", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 48, "num_key_value_heads": 8,
        "intermediate_size": 16384, "vocab_size": 256000, "head_dim": 128)"},
    {"Nemotron-4 340B", "341.0B", 341'029'195'776,
     R"("model_type": "nemotron", "num_hidden_layers": 96, "hidden_size": 18432, "num_attention_heads": 96, "num_key_value_heads": 8,
        "intermediate_size": 73728, "vocab_size": 256000)"},
    {"Ministral 3 8B, text", "8.4B", 8'489'553'920,
     R"("model_type": "ministral3", "num_hidden_layers": 34, "hidden_size": 4096, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 131072, "head_dim": 128, "sliding_window": null)"},
    {"CWM 32B", "32B", 32'581'097'472,
     R"("model_type": "cwm", "num_hidden_layers": 64, "hidden_size": 6144, "num_attention_heads": 48, "num_key_value_heads": 8,
        "intermediate_size": 21504, "vocab_size": 128256, "head_dim": 128, "sliding_window": 8192)"},
    {"Helium 2B", "2B", 2'172'643'840,
     R"("model_type": "helium", "num_hidden_layers": 24, "hidden_size": 2560, "num_attention_heads": 20, "num_key_value_heads": 20,
        "intermediate_size": 7040, "vocab_size": 48000, "head_dim": 128)"},
    {"GLM-4.7 Flash", "30B", 29'943'393'920,
     R"("model_type": "glm4_moe_lite", "num_hidden_layers": 47, "hidden_size": 2048, "num_attention_heads": 20,
        "num_key_value_heads": 20, "intermediate_size": 10240, "vocab_size": 154880, "kv_lora_rank": 512, "q_lora_rank": 768,
        "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "moe_intermediate_size": 1536, "n_routed_experts": 64,
        "n_shared_experts": 1, "num_experts_per_tok": 4, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1)"},
    {"Granite 20B code", "20B", 20'066'993'152,
     R"("model_type": "gpt_bigcode", "n_layer": 52, "n_embd": 6144, "n_head": 48, "n_inner": 24576, "vocab_size": 49152,
        "n_positions": 8192, "multi_query": true)"},
};

ballast_cli::model_shape read(char const* fields) { return read_model_config("{" + std::string(fields) + "}", "config.json"); }

ballast::transformer model_of(std::string_view name) {
  for (auto const& m : exact)
    if (name == m.name) return read(m.fields).language;
  for (auto const& m : rounded)
    if (name == m.name) return read(m.fields).language;
  FAIL(name);
  return {};
}

}  // namespace

TEST_CASE("model_zoo: the parameters of each configuration are the published ones", "[published]") {
  CHECK(std::size(exact) + std::size(rounded) >= 120);  // docs/cli-models.md says so
  for (auto const& m : exact) {
    CAPTURE(m.name);
    auto shape = read(m.fields);
    shape.language.mtp_layers = m.mtp;
    CHECK(parameters(shape.language) + mtp_parameters(shape.language) == m.parameters);
  }
  for (auto const& m : rounded) {
    CAPTURE(m.name);
    auto const is = parameters(read(m.fields).language);
    CHECK(is == m.parameters);
    auto const unit = std::string_view(m.published).find('.') == std::string_view::npos ? 1e9 : 1e8;
    CHECK(std::abs(static_cast<double>(is) - 1e9 * std::strtod(m.published, nullptr)) < unit);
  }
}

TEST_CASE("model_zoo: FLOPs are those of the equations of each family, counted by hand", "[published]") {
  auto const head = [](std::int64_t vocabulary, std::int64_t hidden) { return vocabulary * hidden; };
  struct {
    char const* name;
    std::int64_t weights;  ///< of matrices that a token passes through
    std::int64_t pairs;    ///< widths of queries and values, over all heads of layers that see all
    std::int64_t windowed = 0;
  } const counts[]{
      // queries, keys and values, output; gate, up and down
      {"SmolLM3 3B", head(128256, 2048) + 36LL * (2048 * (2048 + 2 * 512) + 2048 * 2048 + 3 * 2048 * 11008), 36 * 2 * 2048},
      {"Seed-OSS 36B", head(155136, 5120) + 64LL * (5120 * (10240 + 2 * 1024) + 10240 * 5120 + 3 * 5120 * 27648), 64 * 2 * 10240},
      {"Command R7B", head(256000, 4096) + 32LL * (4096 * (4096 + 2 * 1024) + 4096 * 4096 + 3 * 4096 * 14336), 8 * 2 * 4096, 24 * 2 * 4096},
      {"EXAONE 4.0 32B", head(102400, 5120) + 64LL * (5120 * (5120 + 2 * 1024) + 5120 * 5120 + 3 * 5120 * 27392), 16 * 2 * 5120,
       48 * 2 * 5120},
      // without a gate: up and down
      {"GPT-NeoX 20B", head(50432, 6144) + 44LL * (4 * 6144 * 6144 + 2 * 6144 * 24576), 44 * 2 * 6144},
      {"phi-2", head(51200, 2560) + 32LL * (4 * 2560 * 2560 + 2 * 2560 * 10240), 32 * 2 * 2560},
      {"BLOOM 7B1", head(250880, 4096) + 30LL * (4 * 4096 * 4096 + 2 * 4096 * 16384), 30 * 2 * 4096},
      {"OPT 6.7B", head(50272, 4096) + 32LL * (4 * 4096 * 4096 + 2 * 4096 * 16384), 32 * 2 * 4096},
      {"MPT 7B", head(50432, 4096) + 32LL * (4 * 4096 * 4096 + 2 * 4096 * 16384), 32 * 2 * 4096},
      {"GPT-Neo 1.3B", head(50257, 2048) + 24LL * (4 * 2048 * 2048 + 2 * 2048 * 8192), 12 * 2 * 2048, 12 * 2 * 2048},
      {"StarCoder 15B", head(49152, 6144) + 40LL * (6144 * (6144 + 2 * 128) + 6144 * 6144 + 2 * 6144 * 24576), 40 * 2 * 6144},
      {"Minitron 4B", head(256000, 3072) + 32LL * (3072 * (3072 + 2 * 1024) + 3072 * 3072 + 2 * 3072 * 9216), 32 * 2 * 3072},
      // a router, and the experts that a token visits, with the shared ones
      {"MiniMax-M2", head(200064, 3072) + 62LL * (3072 * (6144 + 2 * 1024) + 6144 * 3072 + 3072 * 256 + 8 * 3 * 3072 * 1536),
       62 * 2 * 6144},
      {"OLMoE 1B-7B", head(50304, 2048) + 16LL * (4 * 2048 * 2048 + 2048 * 64 + 8 * 3 * 2048 * 1024), 16 * 2 * 2048},
      {"DBRX 132B", head(100352, 6144) + 40LL * (6144 * (6144 + 2 * 1024) + 6144 * 6144 + 6144 * 16 + 4 * 3 * 6144 * 10752), 40 * 2 * 6144},
      {"Hunyuan A13B", head(128167, 4096) + 32LL * (4096 * (4096 + 2 * 1024) + 4096 * 4096 + 4096 * 64 + (8 + 1) * 3 * 4096 * 3072),
       32 * 2 * 4096},
      {"ERNIE 4.5 21B-A3B",
       head(103424, 2560) + 28LL * (2560 * (2560 + 2 * 512) + 2560 * 2560) + 3 * 2560 * 12288 +
           27LL * (2560 * 64 + (6 + 2) * 3 * 2560 * 1536),
       28 * 2 * 2560},
      {"Ling-mini 2.0",
       head(157184, 2048) + 20LL * (2048 * (2048 + 2 * 512) + 2048 * 2048) + 3 * 2048 * 5120 +
           19LL * (2048 * 256 + (8 + 1) * 3 * 2048 * 512),
       20 * 2 * 2048},
      {"DeepSeek-MoE 16B", head(102400, 2048) + 28 * 4 * 2048 * 2048 + 3 * 2048 * 10944 + 27LL * (2048 * 64 + (6 + 2) * 3 * 2048 * 1408),
       28 * 2 * 2048},
      // queries with a gate as wide
      {"Trinity Mini",
       head(200192, 2048) + 32LL * (2048 * (2 * 4096 + 2 * 512) + 4096 * 2048) + 2 * 3 * 2048 * 6144 +
           30LL * (2048 * 128 + (8 + 1) * 3 * 2048 * 1024),
       8 * 2 * 4096, 24 * 2 * 4096},
      // latent attention: queries down and up, keys and values down with the shared part, and up, output
      {"GLM-4.7 Flash",
       head(154880, 2048) + 47LL * (2048 * 768 + 768 * 20 * 256 + 2048LL * (512 + 64) + 512 * 20 * (192 + 256) + 20 * 256 * 2048) +
           3 * 2048 * 10240 + 46LL * (2048 * 64 + (4 + 1) * 3 * 2048 * 1536),
       47 * 20 * (256 + 256)},
      {"MiniCPM3 4B",
       head(73448, 2560) +
           62LL * (2560 * 768 + 768 * 40 * 96 + 2560LL * (256 + 32) + 256 * 40 * (64 + 64) + 40 * 64 * 2560 + 3 * 2560 * 6400),
       62 * 40 * (96 + 64)},
  };
  for (auto const& c : counts) {
    CAPTURE(c.name);
    auto const flops = forward_flops(model_of(c.name));
    CHECK(flops.per_token == 2 * c.weights);
    CHECK(flops.per_pair == 2 * c.pairs);
    CHECK(flops.per_windowed_pair == 2 * c.windowed);
  }
}

TEST_CASE("model_zoo: quantised files are read as 16 bits, and say what is stored", "[published]") {
  struct {
    char const* name;
    std::int64_t bits;  ///< of a stored weight, in thousandths
    bool experts_only;
    char const* note;
  } const files[]{
      {"DeepSeek-V3.1", 8001, false, "fp8 (quantization_config); each counts as 16 bits, with --stored as 8.001 bits."},
      {"gpt-oss 120b", 4250, true, "mxfp4 (quantization_config); each counts as 16 bits, with --stored as 4.25 bits."},
      {"Kimi K2 Thinking", 4500, true, "compressed-tensors (quantization_config); each counts as 16 bits, with --stored as 4.5 bits."},
      {"Qwen2.5 7B AWQ", 4156, false, "awq (quantization_config); each counts as 16 bits, with --stored as 4.156 bits."},
      {"Qwen2.5 7B GPTQ", 8000, false, "gptq (quantization_config); each counts as 16 bits, with --stored as 8 bits."},
  };
  for (auto const& f : files) {
    CAPTURE(f.name);
    ballast_cli::model_shape shape;
    for (auto const& m : exact)
      if (std::string_view(f.name) == m.name) shape = read(m.fields);
    REQUIRE(shape.stored);
    CHECK(shape.stored->weights == ballast::stored_weights{.bits = f.bits, .experts_only = f.experts_only});
    auto said = false;
    for (auto const& n : shape.notes) said = said || n == "Its file stores weights by " + std::string(f.note);
    CHECK(said);
  }
  auto const other = read(R"("model_type": "llama", "quantization_config": {"quant_method": "aqlm"})");
  CHECK((other.stored && !other.stored->weights));
  CHECK(other.notes.back() == "Its file stores weights by aqlm (quantization_config); each counts as 16 bits.");
}

TEST_CASE("model_zoo: the defaults of every class are a model, and `ballast models` lists it") {
  auto const names = ballast_cli::language_families();
  ballast_test::scratch const in;
  auto const listed = in.ballast("models").out;
  CHECK(listed.find(names) != std::string::npos);
  for (std::size_t from = 0; from < names.size();) {
    auto const to = (std::min)(names.find(", ", from), names.size());
    auto const name = names.substr(from, to - from);
    CAPTURE(name);
    auto const needs = name == "deepseek" || name == "deepseek_v2" || name == "dots1";  // classes without this default
    auto const more = needs                  ? ", \"num_experts_per_tok\": 2"
                      : name == "nemotron_h" ? ", \"hybrid_override_pattern\": \"M-M*\", \"num_hidden_layers\": 4"
                                             : "";
    auto const shape = read(("\"model_type\": \"" + name + "\"" + more).c_str());
    CHECK(parameters(shape.language) > 0);
    from = to + 2;
  }
  for (auto const family : ballast_cli::unread_families()) CHECK_FALSE(ballast_cli::is_language_family(family));
}

TEST_CASE("model_zoo: what cannot be modelled is refused by name", "[published]") {
  struct {
    char const* type;
    char const* why;
  } const models[]{
      {"minimax_m1", "its lightning attention has a fixed decay for each head"},
      {"minimax_text_01", "its lightning attention has a fixed decay for each head"},
      {"longcat_flash", "a layer has two attentions beside its experts"},
      {"jetmoe", "its attention is a mixture of experts"},
      {"openelm", "its layers differ in heads and widths"},
      {"deci", "its layers differ in heads and widths"},
      {"mimo_v2_flash", "its layers with a window have other heads"},
      {"gemma4_text", "its layers with a window have other heads"},
      {"step3_text", "its queries are products of two matrices"},
      {"arctic", "a layer has a dense block beside its experts"},
      {"phi3small", "its attention is sparse in blocks"},
      {"zamba2", "its layers share blocks of attention, with adapters of their own"},
      {"gemma3n", "its layers have several residual streams (AltUp)"},
      {"bitnet", "its weights have three values"},
  };
  for (auto const& m : models) {
    std::string said = "accepted";
    try {
      (void)read(("\"model_type\": \"" + std::string(m.type) + "\"").c_str());
    } catch (ballast_cli::bad_input const& e) {
      said = e.what();
    }
    CHECK(said.starts_with("config.json: the model_type " + std::string(m.type) + " cannot be modelled: " + m.why));
  }
}

}  // namespace test_cli_model_zoo

std::vector<ballast_test::listed_model> ballast_test::models_of_zoo() {
  std::vector<listed_model> all;
  for (auto const& m : test_cli_model_zoo::exact) all.push_back({.name = m.name, .fields = m.fields});
  for (auto const& m : test_cli_model_zoo::rounded) all.push_back({.name = m.name, .fields = m.fields, .exact = false});
  return all;
}
