// SPDX-License-Identifier: Apache-2.0
#include "readers/recipe_words.hpp"

namespace ballast_cli {

// Facts of nemo/collections/llm/recipes of NVIDIA/NeMo at 8cfedd7203 (2025-09-20), as bridge_recipes.cpp has those of Megatron-Bridge: a
// factory's pretraining, its finetuning with adapters, and that of all weights (`_full`, with peft_scheme none), on 8 devices a node.
constinit std::string_view const nemo_recipes = R"(
= baichuan-inc/Baichuan2-7B-Base
baichuan2_7b_finetune seq=2048 gbs=128 lora=32
baichuan2_7b_finetune_full tp=2 seq=2048 gbs=128
baichuan2_7b_pretrain cp=2 seq=8192 gbs=512 overlap words=50257
= THUDM/chatglm3-6b
chatglm3_6b_finetune seq=2048 gbs=128 lora=32
chatglm3_6b_finetune_full tp=2 seq=2048 gbs=128
chatglm3_6b_pretrain cp=2 seq=8192 gbs=512 overlap words=50257
= deepseek-ai/DeepSeek-V2
deepseek_v2_finetune nodes=2 ep=16 seq=2048 gbs=128 unfused whole lora=32 attention
deepseek_v2_finetune_full nodes=2 pp=4 ep=32 seq=2048 gbs=128 te
deepseek_v2_pretrain nodes=16 pp=4 ep=32 sp seq=4096 gbs=512 full te flex overlap words=50257
= deepseek-ai/DeepSeek-V2-Lite
deepseek_v2_lite_finetune seq=2048 gbs=128 unfused whole lora=32 attention
deepseek_v2_lite_finetune_full tp=4 sp seq=2048 gbs=128 te
deepseek_v2_lite_pretrain ep=8 sp seq=4096 gbs=512 te flex overlap words=50257
= deepseek-ai/DeepSeek-V3
deepseek_v3_finetune nodes=5 tp=8 pp=5 sp seq=2048 gbs=128 first=13 last=12 unfused whole lora=32 attention
deepseek_v3_finetune_full nodes=5 pp=8 ep=64 seq=2048 gbs=128 first=6 last=7 te
deepseek_v3_pretrain nodes=128 tp=2 pp=16 ep=64 etp=1 sp seq=4096 gbs=4096 first=3 last=2 again=mla_up_proj,layernorm te aware sums=bf16 moments=bf16 flex overlap mtp=1 words=50257
= google/gemma-2-27b
gemma2_27b_finetune tp=4 seq=2048 gbs=128 lora=32
gemma2_27b_finetune_full tp=8 pp=2 seq=2048 gbs=128
gemma2_27b_pretrain nodes=2 tp=8 pp=2 seq=4096 mbs=2 gbs=32 overlap
= google/gemma-2-2b
gemma2_2b_finetune seq=2048 gbs=128 lora=32
gemma2_2b_finetune_full seq=2048 gbs=128
gemma2_2b_pretrain tp=2 seq=4096 mbs=2 gbs=32 overlap
= google/gemma-2-9b
gemma2_9b_finetune seq=2048 gbs=128 lora=32
gemma2_9b_finetune_full tp=4 seq=2048 gbs=128
gemma2_9b_pretrain tp=8 seq=4096 mbs=2 gbs=32 overlap
= google/gemma-3-1b-pt
gemma3_1b_finetune seq=2048 gbs=128 unfused whole lora=8
gemma3_1b_finetune_full seq=2048 gbs=128
gemma3_1b_pretrain seq=8192 gbs=512 overlap
= google/gemma-2b
gemma_2b_finetune seq=2048 gbs=128 lora=32
gemma_2b_finetune_full cp=2 seq=2048 gbs=128
gemma_2b_pretrain cp=2 seq=8192 gbs=512 overlap
= google/gemma-7b
gemma_7b_finetune seq=2048 gbs=128 lora=32
gemma_7b_finetune_full tp=2 seq=2048 gbs=128
gemma_7b_pretrain tp=2 cp=2 seq=8192 gbs=512 overlap
= gpt3-175b num_layers=96 hidden_size=12288 ffn_hidden_size=49152 num_attention_heads=96 max_position_embeddings=2048
gpt3_175b_pretrain tp=4 pp=8 vpp=6 sp seq=2048 mbs=2 gbs=2048 overlap words=50257
= openai/gpt-oss-120b ep=8 etp=1 seq=2048 gbs=128
gpt_oss_120b_finetune lora=32 attention
gpt_oss_120b_finetune_full pp=4
= openai/gpt-oss-20b etp=1 seq=2048 gbs=128
gpt_oss_20b_finetune mbs=2 lora=32 attention
gpt_oss_20b_finetune_full pp=2 ep=4
= meta-llama/Llama-2-7b-hf
llama2_7b_finetune seq=2048 gbs=128 unfused whole lora=8
llama2_7b_finetune_full tp=2 seq=2048 gbs=128
llama2_7b_pretrain tp=2 seq=4096 gbs=512 overlap words=50257
= meta-llama/Llama-3.1-405B embedding loss
llama31_405b_finetune nodes=3 tp=4 pp=6 vpp=7 seq=2048 gbs=6 unfused whole lora=16
llama31_405b_finetune_full nodes=3 tp=8 pp=14 seq=2048 gbs=6
llama31_405b_pretrain tp=8 pp=8 vpp=2 cp=4 sp seq=8192 gbs=512 overlap words=50257
= meta-llama/Llama-3.1-70B
llama31_70b_finetune tp=8 seq=2048 gbs=128 unfused whole lora=16
llama31_70b_finetune_full nodes=4 tp=8 pp=4 seq=2048 gbs=128
llama31_70b_pretrain tp=4 pp=4 vpp=5 cp=2 sp seq=8192 gbs=512 overlap words=50257
= meta-llama/Llama-3.1-8B
llama31_8b_finetune seq=2048 gbs=128 unfused whole lora=8
llama31_8b_finetune_full tp=2 seq=2048 gbs=128
llama31_8b_pretrain cp=2 seq=8192 gbs=512 overlap words=50257
= nvidia/Llama-3.1-Nemotron-70B-Instruct-HF
llama31_nemotron_70b_finetune tp=8 seq=2048 gbs=128 unfused whole lora=16
llama31_nemotron_70b_finetune_full nodes=4 tp=8 pp=4 seq=2048 gbs=128
llama31_nemotron_70b_pretrain tp=4 pp=4 vpp=5 cp=2 sp seq=8192 gbs=512 overlap words=50257
= nvidia/Llama-3.1-Nemotron-Nano-8B-v1
llama31_nemotron_nano_8b_finetune seq=2048 gbs=128 unfused whole lora=8
llama31_nemotron_nano_8b_finetune_full tp=2 seq=2048 gbs=128
llama31_nemotron_nano_8b_pretrain cp=2 seq=8192 gbs=512 overlap words=50257
= nvidia/Llama-3_1-Nemotron-Ultra-253B-v1 nodes=2 tp=8 seq=2048 gbs=128
llama31_nemotron_ultra_253b_finetune pp=2 unfused whole lora=8
llama31_nemotron_ultra_253b_finetune_full pp=9
= meta-llama/Llama-3.2-1B
llama32_1b_finetune seq=2048 gbs=128 unfused whole lora=8
llama32_1b_finetune_full seq=2048 gbs=128
llama32_1b_pretrain seq=8192 gbs=512 overlap words=50257
= meta-llama/Llama-3.2-3B
llama32_3b_finetune seq=2048 gbs=128 unfused whole lora=8
llama32_3b_finetune_full seq=2048 gbs=128
llama32_3b_pretrain seq=8192 gbs=512 overlap words=50257
= nvidia/Llama-3_3-Nemotron-Super-49B-v1 seq=2048 gbs=128
llama33_nemotron_super_49b_finetune tp=4 unfused whole lora=8
llama33_nemotron_super_49b_finetune_full tp=8 pp=2
= meta-llama/Meta-Llama-3-70B
llama3_70b_finetune tp=8 seq=2048 gbs=128 unfused whole lora=16
llama3_70b_finetune_full nodes=4 tp=8 pp=4 seq=2048 gbs=128
llama3_70b_pretrain tp=4 pp=4 vpp=5 cp=2 sp seq=8192 gbs=512 overlap words=50257
llama3_70b_16k_pretrain nodes=4 tp=8 pp=2 cp=2 sp seq=16384 gbs=512 overlap words=50257
llama3_70b_64k_pretrain nodes=32 tp=8 pp=4 cp=8 sp seq=65536 gbs=512 overlap words=50257
= meta-llama/Meta-Llama-3-8B
llama3_8b_finetune seq=2048 gbs=128 unfused whole lora=8
llama3_8b_finetune_full tp=2 seq=2048 gbs=128
llama3_8b_pretrain cp=2 seq=8192 gbs=512 overlap words=50257
llama3_8b_128k_pretrain nodes=8 tp=4 pp=2 cp=8 sp seq=131072 gbs=512 overlap words=50257
llama3_8b_16k_pretrain nodes=2 tp=4 pp=2 cp=2 sp seq=16384 gbs=512 overlap words=50257
llama3_8b_64k_pretrain nodes=4 tp=4 pp=2 cp=4 sp seq=65536 gbs=512 overlap words=50257
= meta-llama/Llama-4-Maverick-17B-128E
llama4_e128_finetune tp=8 pp=4 sp seq=2048 gbs=128 unfused whole lora=8
llama4_e128_finetune_full tp=4 ep=32 seq=2048 gbs=128
llama4_e128_pretrain nodes=64 tp=4 ep=128 etp=4 sp seq=8192 gbs=512 overlap
= meta-llama/Llama-4-Scout-17B-16E sp
llama4_e16_finetune tp=8 seq=2048 gbs=128 unfused whole lora=8
llama4_e16_finetune_full tp=8 pp=4 seq=2048 gbs=128
llama4_e16_pretrain tp=4 ep=16 etp=4 seq=8192 gbs=512 overlap
= state-spaces/mamba2-130m seq=4096 gbs=8
mamba2_130m_finetune
mamba2_130m_finetune_full
mamba2_130m_pretrain overlap
= state-spaces/mamba2-1.3b devices=1 seq=4096 gbs=8
mamba2_1_3b_finetune
mamba2_1_3b_finetune_full
mamba2_1_3b_pretrain overlap
= state-spaces/mamba2-2.7b seq=4096 gbs=8
mamba2_2_7b_finetune
mamba2_2_7b_finetune_full
mamba2_2_7b_pretrain overlap
= state-spaces/mamba2-370m seq=4096 gbs=8
mamba2_370m_finetune
mamba2_370m_finetune_full
mamba2_370m_pretrain overlap
= state-spaces/mamba2-780m seq=4096 gbs=8
mamba2_780m_finetune
mamba2_780m_finetune_full
mamba2_780m_pretrain overlap
= nvidia/mamba2-8b-3t-4k
mamba2_8b_pretrain tp=8 seq=4096 gbs=8 overlap
= nvidia/mamba2-hybrid-8b-3t-4k
mamba2_hybrid_8b_pretrain tp=8 seq=4096 gbs=8 overlap
= mistralai/Mistral-7B-v0.1
mistral_7b_finetune seq=2048 gbs=128 lora=32
mistral_7b_finetune_full tp=2 seq=2048 gbs=128
mistral_7b_pretrain cp=2 seq=4096 gbs=512 overlap words=50257
= mistralai/Mistral-Nemo-Base-2407
mistral_nemo_12b_finetune seq=2048 gbs=128 lora=32 attention
mistral_nemo_12b_finetune_full seq=2048 gbs=128
mistral_nemo_12b_pretrain tp=2 cp=2 sp seq=8192 gbs=512 overlap words=50257
= mistralai/Mixtral-8x22B-v0.1 ep=8
mixtral_8x22b_finetune nodes=8 tp=8 seq=2048 gbs=128 lora=32 attention
mixtral_8x22b_finetune_full nodes=8 tp=8 pp=4 vpp=14 seq=2048 gbs=128
mixtral_8x22b_pretrain nodes=16 tp=2 pp=4 vpp=14 cp=2 sp seq=4096 gbs=512 overlap words=50257
mixtral_8x22b_64k_pretrain nodes=16 tp=2 pp=4 vpp=14 cp=2 sp seq=65536 gbs=512 overlap words=50257
= mistralai/Mixtral-8x7B-v0.1
mixtral_8x7b_finetune ep=8 seq=2048 gbs=128 lora=32 attention
mixtral_8x7b_finetune_full pp=4 vpp=8 ep=8 seq=2048 gbs=128
mixtral_8x7b_pretrain nodes=8 pp=4 vpp=8 ep=8 seq=4096 gbs=512 overlap words=50257
mixtral_8x7b_16k_pretrain nodes=4 tp=4 pp=2 cp=4 sp seq=16384 gbs=512 overlap words=50257
mixtral_8x7b_64k_pretrain nodes=16 tp=8 pp=4 cp=4 sp seq=65536 gbs=512 overlap words=50257
= nvidia/nemotron3-22b num_layers=40 hidden_size=6144 ffn_hidden_size=24576 num_attention_heads=48 position_embedding_type=rope untie_embeddings_and_output_weights=true add_bias_linear=false
nemotron3_22b_finetune seq=2048 gbs=128 unfused lora=32 words=256000
nemotron3_22b_finetune_full tp=8 seq=2048 gbs=128 unfused words=256000
nemotron3_22b_pretrain tp=2 pp=4 vpp=10 seq=4096 gbs=32 overlap words=50257
nemotron3_22b_16k_pretrain tp=4 cp=2 sp seq=16384 gbs=32 overlap words=50257
nemotron3_22b_64k_pretrain nodes=4 tp=4 pp=2 cp=4 sp seq=65536 gbs=32 overlap words=50257
= nvidia/nemotron3-4b num_layers=32 hidden_size=3072 ffn_hidden_size=9216 num_attention_heads=24 group_query_attention=true num_query_groups=8 kv_channels=128 position_embedding_type=rope untie_embeddings_and_output_weights=true add_bias_linear=false
nemotron3_4b_finetune seq=2048 gbs=128 unfused lora=32 words=256000
nemotron3_4b_finetune_full seq=2048 gbs=128 unfused words=256000
nemotron3_4b_pretrain tp=2 seq=4096 mbs=2 gbs=32 overlap words=50257
= nvidia/nemotron3-8b num_layers=32 hidden_size=4096 ffn_hidden_size=16384 num_attention_heads=32 position_embedding_type=rope untie_embeddings_and_output_weights=true add_bias_linear=false
nemotron3_8b_finetune seq=2048 gbs=128 unfused lora=32 words=256000
nemotron3_8b_finetune_full tp=2 seq=2048 gbs=128 unfused words=256000
nemotron3_8b_pretrain tp=2 seq=4096 mbs=2 gbs=32 overlap words=50257
= nvidia/nemotron4-15b num_layers=32 hidden_size=6144 ffn_hidden_size=24576 num_attention_heads=48 group_query_attention=true num_query_groups=8 position_embedding_type=rope untie_embeddings_and_output_weights=true add_bias_linear=false
nemotron4_15b_finetune seq=2048 gbs=128 unfused lora=32 words=256000
nemotron4_15b_finetune_full tp=4 seq=2048 gbs=128 unfused words=256000
nemotron4_15b_pretrain tp=4 sp seq=4096 mbs=2 gbs=32 overlap words=50257
nemotron4_15b_16k_pretrain tp=2 pp=2 cp=2 sp seq=16384 mbs=2 gbs=32 overlap words=50257
nemotron4_15b_64k_pretrain nodes=4 tp=4 pp=2 cp=4 sp seq=65536 mbs=2 gbs=32 overlap words=50257
= nvidia/nemotron4-340b num_layers=96 hidden_size=18432 ffn_hidden_size=73728 num_attention_heads=96 group_query_attention=true num_query_groups=8 position_embedding_type=rope untie_embeddings_and_output_weights=true add_bias_linear=false tp=8
nemotron4_340b_finetune nodes=4 pp=4 seq=2048 gbs=128 unfused lora=32 words=256000
nemotron4_340b_pretrain nodes=768 pp=12 vpp=8 cp=2 sp seq=4096 gbs=2304 overlap words=50257
= nvidia/NVIDIA-Nemotron-Nano-12B-v2 nodes=8 tp=4 sp seq=8192 gbs=768 reduce fp8 gather8
nemotron_nano_12b_v2_finetune
nemotron_nano_12b_v2_finetune_full
nemotron_nano_12b_v2_pretrain
= nvidia/NVIDIA-Nemotron-Nano-9B-v2 nodes=8 tp=2 sp seq=8192 gbs=768 overlap tpcomm
nemotron_nano_9b_v2_finetune
nemotron_nano_9b_v2_finetune_full
nemotron_nano_9b_v2_pretrain
= nvidia/Nemotron-H-47B-Base-8K nodes=32 tp=8 sp seq=8192 gbs=768 reduce fp8 gather8
nemotronh_47b_finetune
nemotronh_47b_finetune_full
nemotronh_47b_pretrain
= nvidia/Nemotron-H-4B-Base-8K nodes=8 seq=8192 gbs=768 overlap
nemotronh_4b_finetune
nemotronh_4b_finetune_full
nemotronh_4b_pretrain
= nvidia/Nemotron-H-56B-Base-8K nodes=32 tp=8 sp seq=8192 gbs=768 reduce fp8 gather8
nemotronh_56b_finetune
nemotronh_56b_finetune_full
nemotronh_56b_pretrain
= nvidia/Nemotron-H-8B-Base-8K nodes=8 sp seq=8192 gbs=768 overlap tpcomm
nemotronh_8b_finetune tp=8
nemotronh_8b_finetune_full tp=8
nemotronh_8b_pretrain tp=2
= microsoft/Phi-3-mini-4k-instruct devices=1
phi3_mini_4k_instruct_finetune seq=2048 gbs=128 unfused whole lora=8
phi3_mini_4k_instruct_finetune_full seq=2048 gbs=128
phi3_mini_4k_instruct_pretrain seq=4096 gbs=512 overlap words=50257
= Qwen/Qwen2.5-14B
qwen25_14b_finetune seq=2048 gbs=128 lora=32
qwen25_14b_finetune_full tp=4 seq=2048 gbs=128
qwen25_14b_pretrain tp=4 seq=4096 mbs=2 gbs=32
= Qwen/Qwen2.5-1.5B
qwen25_1p5b_finetune seq=2048 gbs=128 lora=32
qwen25_1p5b_finetune_full seq=2048 gbs=128
qwen25_1p5b_pretrain seq=4096 mbs=2 gbs=32
= Qwen/Qwen2.5-32B tp=8
qwen25_32b_finetune seq=2048 gbs=128 lora=32
qwen25_32b_finetune_full seq=2048 gbs=128
qwen25_32b_pretrain nodes=2 pp=2 seq=4096 mbs=2 gbs=32
= Qwen/Qwen2.5-0.5B
qwen25_500m_finetune seq=2048 gbs=128 lora=32
qwen25_500m_finetune_full seq=2048 gbs=128
qwen25_500m_pretrain seq=4096 mbs=2 gbs=32
= Qwen/Qwen2.5-72B tp=8
qwen25_72b_finetune seq=2048 gbs=128 lora=32
qwen25_72b_pretrain nodes=4 pp=4 seq=4096 mbs=2 gbs=32
= Qwen/Qwen2.5-7B
qwen25_7b_finetune seq=2048 gbs=128 lora=32
qwen25_7b_finetune_full tp=2 seq=2048 gbs=128
qwen25_7b_pretrain tp=2 seq=4096 mbs=2 gbs=32
= Qwen/Qwen2-1.5B
qwen2_1p5b_finetune seq=2048 gbs=128 lora=32
qwen2_1p5b_finetune_full seq=2048 gbs=128
qwen2_1p5b_pretrain seq=4096 mbs=2 gbs=32
= Qwen/Qwen2-0.5B
qwen2_500m_finetune seq=2048 gbs=128 lora=32
qwen2_500m_finetune_full seq=2048 gbs=128
qwen2_500m_pretrain seq=4096 mbs=2 gbs=32
= Qwen/Qwen2-72B tp=8
qwen2_72b_finetune seq=2048 gbs=128 lora=32
qwen2_72b_pretrain nodes=4 pp=4 seq=4096 mbs=2 gbs=32
= Qwen/Qwen2-7B
qwen2_7b_finetune seq=2048 gbs=128 lora=32
qwen2_7b_finetune_full tp=2 seq=2048 gbs=128
qwen2_7b_pretrain tp=2 seq=4096 mbs=2 gbs=32
= Qwen/Qwen3-14B
qwen3_14b_finetune seq=2048 gbs=128 lora=32
qwen3_14b_finetune_full tp=8 seq=2048 gbs=128
qwen3_14b_pretrain tp=8 etp=1 seq=4096 mbs=2 gbs=32 overlap
= Qwen/Qwen3-1.7B
qwen3_1p7b_finetune seq=2048 gbs=128 lora=32
qwen3_1p7b_finetune_full seq=2048 gbs=128
qwen3_1p7b_pretrain etp=1 seq=4096 mbs=2 gbs=32 overlap
= Qwen/Qwen3-235B-A22B tp=4 etp=1 sp embedding loss
qwen3_235b_a22b_finetune nodes=8 pp=4 ep=4 seq=2048 gbs=128 lora=32 attention
qwen3_235b_a22b_finetune_full nodes=8 pp=16 ep=4 seq=2048 gbs=128
qwen3_235b_a22b_pretrain nodes=16 pp=16 cp=2 ep=8 seq=4096 gbs=32 overlap
= Qwen/Qwen3-30B-A3B tp=4 ep=4 etp=1 sp
qwen3_30b_a3b_finetune seq=2048 gbs=128 lora=32 attention
qwen3_30b_a3b_finetune_full pp=2 seq=2048 gbs=128
qwen3_30b_a3b_pretrain pp=2 seq=4096 mbs=2 gbs=32 full overlap
= Qwen/Qwen3-32B nodes=2 tp=8
qwen3_32b_finetune seq=2048 gbs=128 lora=32
qwen3_32b_finetune_full pp=2 seq=2048 gbs=128
qwen3_32b_pretrain pp=2 etp=1 seq=4096 mbs=2 gbs=32 full overlap
= Qwen/Qwen3-4B
qwen3_4b_finetune seq=2048 gbs=128 lora=32
qwen3_4b_finetune_full tp=2 seq=2048 gbs=128
qwen3_4b_pretrain tp=2 etp=1 seq=4096 mbs=2 gbs=32 overlap
= Qwen/Qwen3-0.6B
qwen3_600m_finetune seq=2048 gbs=128 lora=32
qwen3_600m_finetune_full seq=2048 gbs=128
qwen3_600m_pretrain etp=1 seq=4096 mbs=2 gbs=32 overlap
= Qwen/Qwen3-8B
qwen3_8b_finetune seq=2048 gbs=128 lora=32
qwen3_8b_finetune_full tp=4 seq=2048 gbs=128
qwen3_8b_pretrain tp=4 etp=1 seq=4096 mbs=2 gbs=32 overlap
= bigcode/starcoder2-15b
starcoder2_15b_finetune seq=2048 gbs=128 lora=32
starcoder2_15b_finetune_full tp=4 seq=2048 gbs=128
starcoder2_15b_pretrain tp=4 pp=2 seq=4096 mbs=2 gbs=32
= bigcode/starcoder2-3b
starcoder2_3b_finetune seq=2048 gbs=128 lora=32
starcoder2_3b_finetune_full tp=2 seq=2048 gbs=128
starcoder2_3b_pretrain tp=2 seq=4096 mbs=2 gbs=32
= bigcode/starcoder2-7b
starcoder2_7b_finetune seq=2048 gbs=128 lora=32
starcoder2_7b_finetune_full tp=2 seq=2048 gbs=128
starcoder2_7b_pretrain tp=2 seq=4096 mbs=2 gbs=32
= bigcode/starcoder
starcoder_15b_finetune seq=2048 gbs=128 lora=32
starcoder_15b_finetune_full pp=8 seq=2048 gbs=128
starcoder_15b_pretrain pp=8 seq=4096 mbs=2 gbs=32
)";

}  // namespace ballast_cli
