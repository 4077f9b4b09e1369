// SPDX-License-Identifier: Apache-2.0
#include "readers/recipe_words.hpp"

namespace ballast_cli {

// Facts of src/megatron/bridge/recipes of NVIDIA-NeMo/Megatron-Bridge at 067f987df (2026-08-22): what each of its recipes for language
// models sets that memory or time depends on, after the precision and the overlap that it names are applied. Not said are one device a
// degree, a micro-batch of 1, a loss that Megatron-Core fuses, gradients that are summed in 32 bits, a distributed Adam with float32
// states, and tokens sent by an all-to-all. recipe_words.cpp has the words.
constinit std::string_view const bridge_recipes = R"(
= deepseek-ai/DeepSeek-V2-Lite
deepseek_v2_lite_pretrain(_8gpu_h100_bf16) ep=8 seq=4096 gbs=512 full te overlap words=32001
= deepseek-ai/DeepSeek-V2
deepseek_v2_pretrain(_128gpu_h100_bf16) pp=4 ep=32 seq=4096 gbs=512 full te overlap words=32001
= deepseek-ai/DeepSeek-V3 tp=2 etp=1 sp seq=4096 gbs=4096 te short aware sums=bf16 moments=bf16 flex mtp=1 overlap words=32001
deepseek_v3_pretrain(_1024gpu_h100_bf16) pp=16 ep=64 layout=Etttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tmL
deepseek_v3_pretrain_256gpu_h100_bf16_32nodes pp=8 ep=32 layout=Etttttttt|tttttttt|tttttttt|tttttttt|tttttttt|tttttttt|tttttttt|tttttmL full
= deepseek-ai/DeepSeek-V4-Flash ep=8 etp=1 seq=4096 te
deepseek_v4_flash_no_mtp_sft(_32gpu_h100_bf16) pp=4 gbs=128 again=moe_act,mhc overlap
deepseek_v4_flash_pretrain(_32gpu_h100_bf16) pp=4 gbs=128 again=moe_act,mhc mtp=1 overlap
deepseek_v4_flash_pretrain(_32gpu_h100_bf16)_muon pp=4 gbs=128 again=moe_act,mhc muon whole mtp=1 reduce
deepseek_v4_flash_pretrain_32gpu_h100_fp8mx as=deepseek_v4_flash_pretrain_mxfp8 pp=4 gbs=128 again=moe_act,mhc aware moments=bf16 mtp=1 fp8 overlap
deepseek_v4_flash_pretrain_64gpu_gb200_bf16 as=deepseek_v4_flash_pretrain_gb200 pp=8 gbs=256 again=moe_act,mhc,mla_up_proj flex mtp=1 overlap
deepseek_v4_flash_pretrain_64gpu_gb200_bf16_muon as=deepseek_v4_flash_pretrain_muon_gb200 pp=8 gbs=256 again=moe_act,mhc,mla_up_proj muon whole flex mtp=1 reduce
deepseek_v4_flash_pretrain_64gpu_gb200_fp8mx as=deepseek_v4_flash_pretrain_mxfp8_gb200 pp=8 gbs=256 again=mla_up_proj aware moments=bf16 flex mtp=1 fp8 overlap
deepseek_v4_flash_sft(_32gpu_h100_bf16) pp=4 gbs=128 again=moe_act,mhc mtp=1 overlap
deepseek_v4_flash_sft_openmath_thinking_packed pp=4 gbs=128 again=moe_act,mhc mtp=1 overlap
= deepseek-ai/DeepSeek-V4-Pro pp=4 ep=8 etp=1 seq=4096 gbs=128 again=moe_act,mhc te mtp=1 overlap
deepseek_v4_pro_pretrain(_32gpu_gb300_bf16)
deepseek_v4_pro_pretrain_32gpu_gb300_fp8mx as=deepseek_v4_pro_pretrain_mxfp8 aware moments=bf16 fp8
= LGAI-EXAONE/EXAONE-4.5-33B tp=4 seq=4096 gbs=32
exaone45_vl_33b_peft(_4gpu_h100_bf16) lora=32
exaone45_vl_33b_sft(_16gpu_h100_bf16) pp=4
= LGAI-EXAONE/EXAONE-4.0-1.2B te overlap
exaone4_1p2b_peft(_1gpu_h100_bf16) seq=2048 gbs=128 lora=32
exaone4_1p2b_pretrain(_1gpu_h100_bf16) seq=4096 mbs=2 gbs=32
exaone4_1p2b_sft(_1gpu_h100_bf16) seq=2048 gbs=128
= LGAI-EXAONE/K-EXAONE-236B-A23B tp=4 etp=1 sp gbs=32 te flex mtp=1 overlap
exaone_moe_236b_a23b_peft(_16gpu_h100_bf16) pp=4 ep=4 seq=2048 lora=8 attention
exaone_moe_236b_a23b_pretrain(_64gpu_h100_bf16) pp=8 ep=8 seq=4096 full
exaone_moe_236b_a23b_sft(_64gpu_h100_bf16) pp=8 ep=8 seq=2048
= LGAI-EXAONE/K-EXAONE-2.0-750B-A37B tp=4 etp=1 sp gbs=32 te flex mtp=4 overlap
exaone_moe_2_0_750b_a37_peft(_128gpu_h100_bf16) as=exaone_moe_peft pp=8 ep=16 seq=2048 layout=Ettttttttttt|tttttttttt|tttttttttt|tttttttttt|tttttttttt|tttttttttt|tttttttttt|tttttttmmmmL again=core_attn,moe,shared_experts lora=8 attention
exaone_moe_2_0_750b_a37_pretrain(_512gpu_h100_bf16) as=exaone_moe_pretrain pp=16 ep=32 seq=4096 layout=Etttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttmmmmL full
exaone_moe_2_0_750b_a37_sft(_512gpu_h100_bf16) as=exaone_moe_sft pp=16 ep=32 seq=2048 layout=Etttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttmmmmL full
= google/gemma-2-27b
gemma2_27b_peft(_4gpu_h100_bf16) tp=4 seq=2048 gbs=128 whole lora=32
gemma2_27b_pretrain(_16gpu_h100_bf16) tp=8 pp=2 seq=4096 mbs=2 gbs=32
gemma2_27b_sft(_16gpu_h100_bf16) tp=8 pp=2 seq=2048 gbs=128 overlap
= google/gemma-2-2b
gemma2_2b_peft(_1gpu_h100_bf16) seq=2048 gbs=128 whole lora=32
gemma2_2b_pretrain(_2gpu_h100_bf16) tp=2 seq=4096 mbs=2 gbs=32
gemma2_2b_sft(_1gpu_h100_bf16) seq=2048 gbs=128 overlap
= google/gemma-2-9b
gemma2_9b_peft(_1gpu_h100_bf16) seq=2048 gbs=128 whole lora=32
gemma2_9b_pretrain(_8gpu_h100_bf16) tp=8 seq=4096 mbs=2 gbs=32
gemma2_9b_sft(_4gpu_h100_bf16) tp=4 seq=2048 gbs=128 overlap
= google/gemma-3-1b-pt overlap
gemma3_1b_peft(_1gpu_h100_bf16) seq=4096 gbs=32 unfused lora=8
gemma3_1b_pretrain(_1gpu_h100_bf16) seq=32768 gbs=512 words=32001
gemma3_1b_sft(_1gpu_h100_bf16) seq=4096 gbs=32
= google/gemma-3-12b-it seq=4096 mbs=2 gbs=32
gemma3_vl_12b_peft(_1gpu_h100_bf16) lora=32
gemma3_vl_12b_sft(_4gpu_h100_bf16) tp=4
= google/gemma-3-27b-it seq=4096 mbs=2 gbs=32
gemma3_vl_27b_peft(_4gpu_h100_bf16) tp=4 lora=32
gemma3_vl_27b_sft(_16gpu_h100_bf16) tp=8 pp=2
= google/gemma-3-4b-it seq=4096 mbs=2 gbs=32
gemma3_vl_4b_peft(_1gpu_h100_bf16) lora=32
gemma3_vl_4b_sft(_1gpu_h100_bf16)
= google/gemma-4-E4B-it
gemma4_e4b_pretrain(_2gpu_h100_bf16) tp=2 seq=4096 gbs=8 overlap local
= google/gemma-4-26B-A4B-it etp=1 sp seq=4096 gbs=32 flash
gemma4_vl_26b_peft(_4gpu_h100_bf16) tp=2 ep=4 lora=32
gemma4_vl_26b_sft(_8gpu_h100_bf16) tp=4 ep=8 full
= zai-org/GLM-4.5 tp=2 mtp=1
glm45_355b_peft(_16gpu_h100_bf16) pp=4 ep=4 seq=2048 gbs=128 lora=32
glm45_355b_pretrain(_128gpu_h100_bf16) pp=8 ep=16 etp=1 sp seq=4096 gbs=2048 first=10 last=10 again=core_attn overlap words=32001
glm45_355b_sft(_128gpu_h100_bf16) pp=8 ep=16 seq=2048 gbs=128 first=10 last=10
= zai-org/GLM-4.5-Air mtp=1
glm45_air_106b_peft(_8gpu_h100_bf16) pp=2 ep=4 seq=2048 gbs=128 lora=32
glm45_air_106b_pretrain(_32gpu_h100_bf16) pp=4 ep=8 etp=1 sp seq=4096 gbs=2048 first=11 last=11 again=core_attn overlap words=32001
glm45_air_106b_sft(_32gpu_h100_bf16) pp=4 ep=8 seq=2048 gbs=128 first=11 last=11
= zai-org/GLM-5.2 etp=1 full unfused mtp=1
glm52_peft_192gpu_gb200_bf16 pp=6 ep=32 seq=2048 gbs=32 first=14 last=16 lora=8 attention
glm52_peft_208gpu_h100_bf16 pp=13 ep=16 seq=2048 gbs=32 layout=Etttttt|tttt|tttttttt|tttttttt|tttttttt|tttttttt|tttttttt|tttttttt|tttt|tttt|tttt|tttt|ttttmL flex lora=8 attention
glm52_pretrain_192gpu_gb200_bf16 pp=6 ep=32 seq=4096 gbs=1024 first=14 last=16 short aware
glm52_pretrain_416gpu_h100_bf16 pp=13 ep=32 seq=4096 gbs=1024 layout=Et|t||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|ttttmL short aware flex
glm52_sft_192gpu_gb200_bf16_128k pp=6 cp=32 ep=32 seq=131072 gbs=56 layout=Etttttttttttttt|tttttttttttttttt|tttttttttttt|tttttttttttt|tttttttttttt|ttttttttttttmL flex
glm52_sft_192gpu_gb200_bf16 pp=6 cp=4 ep=32 seq=8192 gbs=8 first=14 last=16 flex
glm52_sft_416gpu_h100_bf16 pp=13 cp=16 ep=32 seq=2048 gbs=32 layout=Et|t||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|ttttmL flex
glm52_sft_608gpu_h100_bf16_200k pp=19 cp=32 ep=32 seq=200000 gbs=13 layout=Etttttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|ttttmL flex
= zai-org/GLM-4.5V pp=8 seq=8192
glm_45v_peft(_32gpu_h100_bf16) ep=4 gbs=32 layout=Ettttt|tttttt|tttttt|tttttt|tttttt|tttttt|tttttt|tttttL lora=32
glm_45v_sft(_128gpu_h100_bf16) ep=16 gbs=64 layout=Et|ttttttt|ttttttt|ttttttt|ttttttt|ttttttt|ttttttt|tttL
= gpt3-175b num_layers=96 hidden_size=12288 ffn_hidden_size=49152 num_attention_heads=96 max_position_embeddings=2048
gpt3_175b_pretrain(_32gpu_h100_bf16) tp=4 pp=8 vpp=6 sp seq=2048 mbs=2 gbs=2048 short overlap tpcomm words=32001
= openai/gpt-oss-120b
gpt_oss_120b_peft(_8gpu_h100_bf16) ep=8 seq=2048 gbs=128 lora=32
gpt_oss_120b_pretrain(_64gpu_h100_bf16) tp=2 pp=4 ep=16 etp=1 sp seq=4096 gbs=512 overlap words=32001
gpt_oss_120b_sft(_32gpu_h100_bf16) pp=4 ep=8 seq=2048 gbs=128
gpt_oss_120b_sft(_48gpu_h100_bf16)_32k tp=2 pp=6 cp=4 ep=4 sp seq=32768 gbs=4 again=moe_act unfused
= openai/gpt-oss-20b
gpt_oss_20b_peft(_1gpu_h100_bf16) seq=2048 gbs=128 lora=32
gpt_oss_20b_peft_1gpu_h100_fp8cs as=gpt_oss_20b_peft_fp8_current_scaling seq=2048 gbs=128 lora=32 fp8 gather8
gpt_oss_20b_peft_1gpu_h100_fp8mx as=gpt_oss_20b_peft_mxfp8 seq=2048 gbs=128 lora=32 fp8 gather8
gpt_oss_20b_pretrain(_16gpu_h100_bf16) tp=2 pp=4 ep=4 etp=1 sp seq=4096 gbs=512 overlap words=32001
gpt_oss_20b_pretrain_16gpu_h100_fp8cs as=gpt_oss_20b_pretrain_fp8_current_scaling tp=2 pp=4 ep=4 etp=1 sp seq=4096 gbs=512 fp8 gather8 overlap words=32001
gpt_oss_20b_pretrain_16gpu_h100_fp8mx as=gpt_oss_20b_pretrain_mxfp8 tp=2 pp=4 ep=4 etp=1 sp seq=4096 gbs=512 fp8 gather8 overlap words=32001
gpt_oss_20b_sft(_8gpu_h100_bf16)_32k ep=8 seq=32768 gbs=32
gpt_oss_20b_sft(_8gpu_h100_bf16) ep=8 seq=2048 gbs=128
gpt_oss_20b_sft(_8gpu_h100_bf16)_openmathinstruct2_thinking_packed ep=8 seq=4096 gbs=128
gpt_oss_20b_sft_8gpu_h100_fp8cs as=gpt_oss_20b_sft_fp8_current_scaling ep=8 seq=2048 gbs=128 fp8 gather8
gpt_oss_20b_sft_8gpu_h100_fp8mx as=gpt_oss_20b_sft_mxfp8 ep=8 seq=2048 gbs=128 fp8
= moonshotai/Kimi-K2.5
kimi_k25_vl_sft(_512gpu_h100_bf16) tp=2 pp=16 ep=32 etp=1 sp seq=4096 gbs=4096 layout=Etttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tL full te dist_muon whole flex reduce
= moonshotai/Kimi-K2-Instruct
kimi_k2_pretrain(_512gpu_h100_bf16) tp=2 pp=16 ep=32 etp=1 sp seq=4096 gbs=4096 layout=Etttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tL again=core_attn te dist_muon whole reduce
= meta-llama/Llama-2-7b-hf
llama2_7b_pretrain(_2gpu_h100_bf16) tp=2 seq=4096 gbs=512 overlap words=32001
= meta-llama/Meta-Llama-3.1-405B sp embedding loss
llama31_405b_peft(_32gpu_h100_bf16) tp=4 pp=8 vpp=8 seq=2048 gbs=32 unfused short whole lora=16 attention
llama31_405b_pretrain(_256gpu_h100_bf16) tp=8 pp=8 vpp=2 cp=4 seq=131072 gbs=512 te overlap tpcomm words=32001
llama31_405b_pretrain(_256gpu_h100_bf16)_deterministic tp=8 pp=8 vpp=2 cp=4 seq=131072 gbs=512 unfused overlap workspace words=32001
llama31_405b_sft(_128gpu_h100_bf16) tp=8 pp=16 seq=2048 gbs=16 short overlap tpcomm
= meta-llama/Meta-Llama-3.1-70B
llama31_70b_peft(_8gpu_h100_bf16) tp=8 seq=4096 gbs=8 unfused whole lora=16
llama31_70b_pretrain(_32gpu_h100_bf16) tp=4 pp=4 vpp=5 cp=2 sp seq=131072 gbs=512 te overlap tpcomm words=32001
llama31_70b_sft(_32gpu_h100_bf16) tp=8 pp=4 seq=4096 gbs=8
= meta-llama/Meta-Llama-3.1-8B
llama31_8b_peft(_1gpu_h100_bf16) seq=4096 gbs=8 unfused whole lora=8
llama31_8b_pretrain(_2gpu_h100_bf16) cp=2 seq=8192 gbs=512 te overlap words=32001
llama31_8b_sft(_2gpu_h100_bf16) tp=2 seq=4096 gbs=8
= meta-llama/Llama-3.2-1B
llama32_1b_peft(_1gpu_h100_bf16) seq=4096 gbs=8 unfused whole lora=32
llama32_1b_pretrain(_1gpu_h100_bf16) seq=8192 gbs=512 te overlap words=32001
llama32_1b_sft(_1gpu_h100_bf16) seq=4096 gbs=8
= meta-llama/Llama-3.2-3B
llama32_3b_peft(_1gpu_h100_bf16) seq=4096 gbs=8 unfused whole lora=32
llama32_3b_pretrain(_1gpu_h100_bf16) seq=8192 gbs=512 te overlap words=32001
llama32_3b_sft(_1gpu_h100_bf16) seq=4096 gbs=8
= meta-llama/Meta-Llama-3-70B
llama3_70b_peft(_8gpu_h100_bf16) tp=8 seq=4096 gbs=8 unfused whole lora=16
llama3_70b_pretrain_256gpu_h100_bf16_64k as=llama3_70b_64k_pretrain tp=8 pp=4 cp=8 sp seq=65536 gbs=512 te overlap tpcomm words=32001
llama3_70b_pretrain_32gpu_h100_bf16_16k as=llama3_70b_16k_pretrain tp=8 pp=2 cp=2 sp seq=16384 gbs=512 te overlap tpcomm words=32001
llama3_70b_pretrain(_32gpu_h100_bf16) tp=4 pp=4 vpp=5 cp=2 sp seq=8192 gbs=512 te overlap tpcomm words=32001
llama3_70b_pretrain(_32gpu_h100_bf16)_deterministic tp=4 pp=4 vpp=5 cp=2 sp seq=8192 gbs=512 unfused overlap workspace words=32001
llama3_70b_sft(_32gpu_h100_bf16) tp=8 pp=4 seq=4096 gbs=8
= meta-llama/Meta-Llama-3-8B
llama3_8b_peft(_1gpu_h100_bf16) seq=4096 gbs=8 unfused whole lora=8
llama3_8b_pretrain_16gpu_h100_bf16_16k as=llama3_8b_16k_pretrain tp=4 pp=2 cp=2 sp seq=16384 gbs=512 te overlap words=32001
llama3_8b_pretrain(_2gpu_h100_bf16) cp=2 seq=8192 gbs=512 te overlap words=32001
llama3_8b_pretrain_2gpu_h100_fp8cs as=llama3_8b_low_precision_pretrain cp=2 seq=8192 gbs=768 te fp8 gather8 overlap words=32001
llama3_8b_pretrain_2gpu_h100_fp8mx cp=2 seq=8192 gbs=768 te fp8 gather8 overlap words=32001
llama3_8b_pretrain_2gpu_h100_nvfp4 cp=2 seq=8192 gbs=768 te fp4 overlap words=32001
llama3_8b_pretrain_32gpu_h100_bf16_64k as=llama3_8b_64k_pretrain tp=4 pp=2 cp=4 sp seq=65536 gbs=512 te overlap words=32001
llama3_8b_pretrain_64gpu_h100_bf16_128k as=llama3_8b_128k_pretrain tp=4 pp=2 cp=8 sp seq=131072 gbs=512 te overlap words=32001
llama3_8b_sft(_2gpu_h100_bf16) tp=2 seq=4096 gbs=8
= MiniMaxAI/MiniMax-M3 tp=2 pp=4 ep=32 etp=1 sp seq=4096 again=moe_act te flex overlap
minimax_m3_pretrain(_256gpu_h100_bf16) gbs=2048 short aware moments=bf16 words=32001
minimax_m3_sft(_128gpu_h100_bf16) gbs=128
= mistralai/Ministral-3-14B-Instruct-2512 seq=4096 gbs=32 flash
ministral3_14b_peft(_2gpu_h100_bf16) tp=2 lora=32
ministral3_14b_sft(_4gpu_h100_bf16) tp=4
= mistralai/Ministral-3-3B-Instruct-2512 seq=4096 gbs=32 flash
ministral3_3b_peft(_1gpu_h100_bf16) lora=32
ministral3_3b_sft(_1gpu_h100_bf16)
= mistralai/Ministral-3-8B-Instruct-2512 seq=4096 gbs=32 flash
ministral3_8b_peft(_1gpu_h100_bf16) lora=32
ministral3_8b_sft(_2gpu_h100_bf16) tp=2
= moonshotai/Moonlight-16B-A3B etp=1 overlap
moonlight_16b_peft_2gpu_h100_bf16 ep=2 seq=4096 gbs=128 again=core_attn te short aware sums=bf16 moments=bf16 lora=32
moonlight_16b_peft(_4gpu_h100_bf16) ep=4 seq=2048 gbs=32 te lora=8 attention
moonlight_16b_pretrain(_16gpu_h100_bf16) ep=8 seq=4096 mbs=2 gbs=1024 te short aware sums=bf16 moments=bf16 flex epcomm
moonlight_16b_pretrain_8gpu_h100_bf16 tp=2 ep=8 sp seq=4096 gbs=2048 again=core_attn te short aware sums=bf16 moments=bf16
moonlight_16b_sft(_8gpu_h100_bf16)_8k tp=2 cp=2 ep=8 sp seq=8192 gbs=128 again=core_attn unfused short aware sums=bf16 moments=bf16
moonlight_16b_sft_8gpu_h100_bf16 tp=4 pp=2 ep=4 sp seq=2048 gbs=32 layout=Etttttttttttttt|tttttttttttttL again=core_attn te
moonlight_16b_sft_8gpu_h100_bf16_tp1 as=moonlight_16b_sft ep=8 seq=8192 gbs=8 te short aware sums=bf16 moments=bf16 flex epcomm
= nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 ep=8 etp=1 flex
nemotron_3_5_lightning_peft seq=2048 gbs=128 lora=32 mtp=2 repeated overlap
nemotron_3_5_lightning_pretrain_8k seq=8192 mbs=2 gbs=512 te short mtp=2 repeated overlap
nemotron_3_5_lightning_pretrain_8k_fsdp seq=8192 mbs=2 gbs=512 te short fsdp mtp=2 repeated overlap
nemotron_3_5_lightning_pretrain cp=2 seq=8192 gbs=512 again=moe,layernorm,core_attn short mtp=2 repeated overlap graphs=mamba
nemotron_3_5_lightning_sft seq=2048 gbs=128 mtp=2 repeated overlap
nemotron_3_5_lightning_sft_openmathinstruct2_packed tp=2 sp seq=4096 gbs=128 again=moe,layernorm,core_attn,mlp short mtp=2 repeated reduce
nemotron_3_5_lightning_sft_openmathinstruct2_packed_tp1 seq=4096 gbs=128 short mtp=2 repeated overlap
nemotron_3_nano_peft(_8gpu_h100_bf16) seq=2048 gbs=128 lora=32 overlap
nemotron_3_nano_pretrain_8gpu_gb200_bf16 as=nemotron_3_nano_gb200_pretrain seq=4096 mbs=2 gbs=512 short overlap graphs=attn,mamba,moe_router,moe_preprocess
nemotron_3_nano_pretrain(_8gpu_h100_bf16) seq=8192 gbs=1024 again=moe,layernorm short overlap graphs=attn,mamba
nemotron_3_nano_sft(_8gpu_h100_bf16) seq=2048 gbs=128 overlap
= nvidia/NVIDIA-Nemotron-3-Nano-4B-BF16
nemotron_3_nano_4b_peft(_8gpu_h100_bf16) seq=2048 gbs=32 lora=8 attention
nemotron_3_nano_4b_pretrain(_8gpu_h100_bf16) seq=4096 gbs=1024 short aware overlap
nemotron_3_nano_4b_sft(_8gpu_h100_bf16)_32k cp=2 seq=32768 gbs=8 unfused
nemotron_3_nano_4b_sft(_8gpu_h100_bf16) seq=2048 gbs=32
= nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16 etp=1 mtp=2 repeated
nemotron_3_super_peft_16gpu_h100_bf16 tp=8 ep=16 sp seq=2048 gbs=16 lora=32
nemotron_3_super_peft(_1gpu_h100_bf16) sp seq=2048 gbs=128 lora=32 overlap
nemotron_3_super_pretrain_16gpu_h100_bf16 tp=8 ep=16 sp seq=8192 gbs=1024 te short aware moments=bf16 masters=fp16 graphs=attn,mamba,moe_router,moe_preprocess
nemotron_3_super_pretrain_64gpu_gb200_bf16 tp=2 ep=64 sp seq=8192 gbs=512 te short flex overlap graphs=attn,mamba,moe_router,moe_preprocess
nemotron_3_super_pretrain pp=2 ep=32 seq=4096 gbs=1280 again=layernorm,moe_act,moe,core_attn te short aware sums=bf16 moments=bf16 masters=fp16 flex capacity=1.1
nemotron_3_super_sft_16gpu_h100_bf16_32k pp=8 cp=2 ep=2 sp seq=32768 gbs=2 last=4 unfused short aware moments=bf16 masters=fp16 overlap
nemotron_3_super_sft(_16gpu_h100_bf16) tp=8 ep=16 sp seq=2048 gbs=32 short aware moments=bf16 masters=fp16
= nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16 etp=1 sp flex mtp=2 repeated overlap
nemotron_3_ultra_peft(_32gpu_h100_bf16)_openmathinstruct2_packed tp=2 pp=4 ep=8 seq=4096 gbs=128 again=moe,layernorm,core_attn,moe_act,mlp,shared_experts lora=32
nemotron_3_ultra_pretrain(_24gpu_h100_bf16) pp=3 ep=8 seq=8192 gbs=3072 te
nemotron_3_ultra_sft(_192gpu_h100_bf16)_openmathinstruct2_packed tp=2 pp=6 ep=32 seq=4096 gbs=128 again=moe,layernorm,core_attn,moe_act
= nvidia/NVIDIA-Nemotron-Nano-12B-v2 reduce
nemotron_nano_12b_v2_peft(_1gpu_h100_bf16) seq=2048 gbs=128 lora=32
nemotron_nano_12b_v2_pretrain(_4gpu_h100_bf16) tp=4 sp seq=8192 gbs=768 fp8 gather8 words=32001
nemotron_nano_12b_v2_sft(_4gpu_h100_bf16) tp=4 sp seq=2048 gbs=128
= nvidia/NVIDIA-Nemotron-Nano-9B-v2
nemotron_nano_9b_v2_peft(_1gpu_h100_bf16) seq=2048 gbs=128 lora=32 reduce
nemotron_nano_9b_v2_pretrain(_2gpu_h100_bf16) tp=2 sp seq=8192 gbs=768 overlap tpcomm words=32001
nemotron_nano_9b_v2_sft(_2gpu_h100_bf16) tp=2 sp seq=2048 gbs=128 reduce
= nvidia/NVIDIA-Nemotron-Nano-12B-v2-VL-BF16 seq=4096 gbs=32 flash
nemotron_nano_v2_vl_12b_peft(_2gpu_h100_bf16) tp=2 lora=16
nemotron_nano_v2_vl_12b_sft(_4gpu_h100_bf16) tp=4
= nvidia/Nemotron-3-Nano-Omni-30B-A3B-Reasoning-BF16 tp=4 sp gbs=64 flash
nemotron_omni_cord_v2_long_context_sft_8gpu_h100_bf16 cp=2 seq=8192 mbs=2 short aware sums=bf16 moments=bf16 masters=fp16
nemotron_omni_cord_v2_peft(_4gpu_h100_bf16) seq=4096 lora=16
nemotron_omni_cord_v2_sft(_4gpu_h100_bf16) seq=4096
nemotron_omni_valor32k_peft(_4gpu_h100_bf16) seq=4096 lora=16
nemotron_omni_valor32k_sft(_4gpu_h100_bf16) seq=4096
= nvidia/Nemotron-H-47B-Base-8K seq=8192
nemotronh_47b_peft(_4gpu_h100_bf16) tp=4 gbs=128 lora=32 reduce
nemotronh_47b_pretrain(_8gpu_h100_bf16) tp=8 sp gbs=768 fp8 gather8 overlap tpcomm words=32001
nemotronh_47b_sft(_16gpu_h100_bf16) tp=8 pp=2 sp gbs=128 reduce
= nvidia/Nemotron-H-4B-Base-8K seq=8192
nemotronh_4b_peft(_1gpu_h100_bf16) gbs=128 lora=32 reduce
nemotronh_4b_pretrain(_1gpu_h100_bf16) gbs=768 overlap words=32001
nemotronh_4b_sft(_1gpu_h100_bf16) gbs=128 reduce
= nvidia/Nemotron-H-56B-Base-8K seq=8192
nemotronh_56b_peft(_4gpu_h100_bf16) tp=4 gbs=128 lora=32 reduce
nemotronh_56b_pretrain(_8gpu_h100_bf16) tp=8 sp gbs=768 fp8 gather8 overlap tpcomm words=32001
nemotronh_56b_sft(_8gpu_h100_bf16) tp=8 sp gbs=128 reduce
= nvidia/Nemotron-H-8B-Base-8K seq=8192
nemotronh_8b_peft(_1gpu_h100_bf16) gbs=128 lora=32 reduce
nemotronh_8b_pretrain(_2gpu_h100_bf16) tp=2 sp gbs=768 overlap tpcomm words=32001
nemotronh_8b_sft(_2gpu_h100_bf16) tp=2 sp gbs=128 reduce
= allenai/OLMoE-1B-7B-0125 seq=4096 again=core_attn short aware sums=bf16 moments=bf16 overlap
olmoe_7b_peft(_1gpu_h100_bf16) gbs=128 lora=32
olmoe_7b_pretrain(_8gpu_h100_bf16) ep=8 gbs=2048
olmoe_7b_sft(_8gpu_h100_bf16) ep=8 gbs=128
= Qwen/Qwen2.5-14B
qwen25_14b_peft(_1gpu_h100_bf16) seq=2048 gbs=128 lora=32
qwen25_14b_pretrain(_4gpu_h100_bf16) tp=4 seq=4096 mbs=2 gbs=32 words=32001
qwen25_14b_sft(_4gpu_h100_bf16) tp=4 seq=2048 gbs=128 overlap
= Qwen/Qwen2.5-1.5B
qwen25_1p5b_peft(_1gpu_h100_bf16) seq=2048 gbs=128 lora=32
qwen25_1p5b_pretrain(_1gpu_h100_bf16) seq=4096 mbs=2 gbs=32 words=32001
qwen25_1p5b_sft(_1gpu_h100_bf16) seq=2048 gbs=128 overlap
= Qwen/Qwen2.5-32B tp=8
qwen25_32b_peft(_8gpu_h100_bf16) seq=2048 gbs=128 lora=32
qwen25_32b_pretrain(_16gpu_h100_bf16) pp=2 seq=4096 mbs=2 gbs=32 words=32001
qwen25_32b_sft(_16gpu_h100_bf16) pp=2 seq=2048 gbs=128 overlap
= Qwen/Qwen2.5-0.5B
qwen25_500m_peft(_1gpu_h100_bf16) seq=2048 gbs=128 lora=32
qwen25_500m_pretrain(_1gpu_h100_bf16) seq=4096 mbs=2 gbs=32 words=32001
qwen25_500m_sft(_1gpu_h100_bf16) seq=2048 gbs=128 overlap
= Qwen/Qwen2.5-72B tp=8
qwen25_72b_peft(_8gpu_h100_bf16) seq=2048 gbs=128 lora=32
qwen25_72b_pretrain(_32gpu_h100_bf16) pp=4 seq=4096 mbs=2 gbs=32 words=32001
qwen25_72b_sft(_32gpu_h100_bf16) pp=4 seq=2048 gbs=128 overlap
= Qwen/Qwen2.5-7B
qwen25_7b_peft(_1gpu_h100_bf16) seq=2048 gbs=128 lora=32
qwen25_7b_pretrain(_2gpu_h100_bf16) tp=2 seq=4096 mbs=2 gbs=32 words=32001
qwen25_7b_sft(_2gpu_h100_bf16) tp=2 seq=2048 gbs=128 overlap
= Qwen/Qwen2.5-VL-32B-Instruct seq=4096 mbs=2 gbs=32
qwen25_vl_32b_peft(_1gpu_h100_bf16) lora=32
qwen25_vl_32b_sft(_16gpu_h100_bf16) tp=8 pp=2
= Qwen/Qwen2.5-VL-3B-Instruct seq=4096 mbs=2 gbs=32
qwen25_vl_3b_peft(_1gpu_h100_bf16) lora=32
qwen25_vl_3b_sft(_1gpu_h100_bf16)
= Qwen/Qwen2.5-VL-72B-Instruct seq=4096 mbs=2 gbs=32
qwen25_vl_72b_peft(_1gpu_h100_bf16) lora=32
qwen25_vl_72b_sft(_32gpu_h100_bf16) tp=8 pp=4
= Qwen/Qwen2.5-VL-7B-Instruct seq=4096 mbs=2 gbs=32
qwen25_vl_7b_peft(_1gpu_h100_bf16) lora=32
qwen25_vl_7b_sft(_2gpu_h100_bf16) tp=2
= Qwen/Qwen2-1.5B
qwen2_1p5b_peft(_1gpu_h100_bf16) seq=2048 gbs=128 lora=32
qwen2_1p5b_pretrain(_1gpu_h100_bf16) seq=4096 mbs=2 gbs=32 words=32001
qwen2_1p5b_sft(_1gpu_h100_bf16) seq=2048 gbs=128 overlap
= Qwen/Qwen2-0.5B
qwen2_500m_peft(_1gpu_h100_bf16) seq=2048 gbs=128 lora=32
qwen2_500m_pretrain(_1gpu_h100_bf16) seq=4096 mbs=2 gbs=32 words=32001
qwen2_500m_sft(_1gpu_h100_bf16) seq=2048 gbs=128 overlap
= Qwen/Qwen2-72B tp=8
qwen2_72b_peft(_8gpu_h100_bf16) seq=2048 gbs=128 lora=32
qwen2_72b_pretrain(_32gpu_h100_bf16) pp=4 seq=4096 mbs=2 gbs=32 words=32001
qwen2_72b_sft(_32gpu_h100_bf16) pp=4 seq=2048 gbs=128 overlap
= Qwen/Qwen2-7B
qwen2_7b_peft(_1gpu_h100_bf16) seq=2048 gbs=128 lora=32
qwen2_7b_pretrain(_2gpu_h100_bf16) tp=2 seq=4096 mbs=2 gbs=32 words=32001
qwen2_7b_sft(_2gpu_h100_bf16) tp=2 seq=2048 gbs=128 overlap
= Qwen/Qwen2-Audio-7B-Instruct seq=4096 gbs=32
qwen2_audio_7b_peft(_1gpu_h100_bf16) lora=32
qwen2_audio_7b_sft(_1gpu_h100_bf16)
= Qwen/Qwen3.5-35B-A3B
qwen35_text_35b_a3b_pretrain(_8gpu_gb200_bf16) ep=8 etp=1 seq=4096 gbs=512 flex graphs=attn,moe_router,moe_preprocess
qwen35_vl_35b_a3b_peft_16gpu_h100_bf16 pp=2 ep=8 etp=1 seq=4096 gbs=32 first=17 last=23 flex lora=32 mtp=1 graphs=attn,moe_router,moe_preprocess
qwen35_vl_35b_a3b_peft(_4gpu_h100_bf16) tp=2 ep=4 etp=1 sp seq=4096 gbs=32 full lora=32 mtp=1
qwen35_vl_35b_a3b_peft_8gpu_gb200_bf16_functional ep=8 etp=1 seq=4096 gbs=32 short flex lora=32 mtp=1
qwen35_vl_35b_a3b_pretrain_16gpu_h100_bf16_functional pp=2 ep=8 etp=1 seq=4096 gbs=512 first=16 last=24 again=core_attn,gdn_norm_out,moe_act te short aware moments=bf16 flex mtp=1 graphs=attn,moe_router,moe_preprocess
qwen35_vl_35b_a3b_pretrain(_8gpu_h100_bf16)_mock tp=4 pp=2 ep=4 sp seq=4096 mbs=2 gbs=32 frozen mtp=1
qwen35_vl_35b_a3b_sft(_16gpu_h100_bf16) pp=2 ep=8 etp=1 seq=4096 gbs=32 first=17 last=23 full te flex mtp=1
qwen35_vl_35b_a3b_sft_2gpu_h100_bf16_fsdp as=qwen35_vl_35b_a3b_fsdp_sft ep=2 etp=1 seq=4096 mbs=4 gbs=32 full te fsdp mtp=1 overlap
qwen35_vl_35b_a3b_sft_8gpu_gb200_bf16_functional ep=8 etp=1 seq=4096 gbs=32 first=17 last=23 te flex mtp=1
qwen35_vl_35b_a3b_sft_long_context_32gpu_h100_bf16 pp=4 cp=2 ep=8 etp=1 seq=8192 mbs=2 gbs=512 full mtp=1
= Qwen/Qwen3.5-9B seq=4096
qwen35_text_9b_pretrain(_8gpu_gb200_bf16) etp=1 mbs=2 gbs=128 short overlap graphs=attn,mlp
qwen35_vl_9b_peft(_1gpu_h100_bf16) mbs=4 gbs=32 lora=32 mtp=1
qwen35_vl_9b_pretrain(_4gpu_h100_bf16)_mock tp=4 mbs=2 gbs=32 frozen mtp=1
qwen35_vl_9b_sft(_4gpu_h100_bf16) tp=4 mbs=4 gbs=32 mtp=1
= Qwen/Qwen3.5-122B-A10B ep=8 sp seq=4096 mtp=1
qwen35_vl_122b_a10b_peft(_8gpu_h100_bf16) tp=2 etp=1 mbs=4 gbs=36 lora=32
qwen35_vl_122b_a10b_pretrain(_128gpu_h100_bf16)_mock tp=4 pp=8 cp=2 mbs=2 gbs=32 frozen
qwen35_vl_122b_a10b_sft(_48gpu_h100_bf16) tp=2 pp=6 etp=1 mbs=4 gbs=36 full
= Qwen/Qwen3.5-27B seq=4096 gbs=32 mtp=1
qwen35_vl_27b_peft(_2gpu_h100_bf16) tp=2 mbs=4 lora=32
qwen35_vl_27b_pretrain_16gpu_gb200_bf16_mock tp=2 mbs=2 short
qwen35_vl_27b_pretrain(_16gpu_h100_bf16)_mock tp=4 pp=4 mbs=2
qwen35_vl_27b_sft(_16gpu_h100_bf16) tp=4 pp=4 mbs=4
= Qwen/Qwen3.5-2B seq=4096 mbs=4 gbs=32 mtp=1
qwen35_vl_2b_peft(_1gpu_h100_bf16) lora=32
qwen35_vl_2b_sft(_1gpu_h100_bf16)
= Qwen/Qwen3.5-397B-A17B sp seq=4096 gbs=32 mtp=1
qwen35_vl_397b_a17b_peft(_32gpu_h100_bf16) tp=2 ep=32 etp=1 mbs=4 lora=32
qwen35_vl_397b_a17b_pretrain(_512gpu_h100_bf16)_mock tp=4 pp=16 cp=2 ep=16 mbs=2 frozen
qwen35_vl_397b_a17b_sft(_128gpu_h100_bf16) tp=2 pp=4 ep=32 etp=1 mbs=4 full
= Qwen/Qwen3.5-4B seq=4096 mbs=4 gbs=32 mtp=1
qwen35_vl_4b_peft(_1gpu_h100_bf16) lora=32
qwen35_vl_4b_sft(_2gpu_h100_bf16) tp=2
= Qwen/Qwen3.5-0.8B seq=4096 mbs=4 gbs=32 mtp=1
qwen35_vl_800m_peft(_1gpu_h100_bf16) lora=32
qwen35_vl_800m_sft(_1gpu_h100_bf16)
= Qwen/Qwen3-14B
qwen3_14b_peft(_1gpu_h100_bf16) seq=2048 gbs=8 lora=32
qwen3_14b_pretrain(_8gpu_h100_bf16) tp=8 seq=4096 mbs=2 gbs=32 te overlap
qwen3_14b_sft(_8gpu_h100_bf16) tp=8 seq=2048 gbs=8
= Qwen/Qwen3-1.7B
qwen3_1p7b_peft(_1gpu_h100_bf16) seq=2048 gbs=8 lora=32
qwen3_1p7b_pretrain(_1gpu_h100_bf16) seq=4096 mbs=2 gbs=32 te overlap
qwen3_1p7b_sft(_1gpu_h100_bf16) seq=2048 gbs=8
= Qwen/Qwen3-235B-A22B tp=4 etp=1 sp gbs=32 embedding loss te flex overlap
qwen3_235b_a22b_peft(_16gpu_h100_bf16) pp=4 ep=4 seq=2048 lora=8 attention
qwen3_235b_a22b_pretrain(_256gpu_h100_bf16) pp=16 cp=2 ep=8 seq=4096
qwen3_235b_a22b_sft(_64gpu_h100_bf16) pp=16 ep=4 seq=2048
= Qwen/Qwen3-30B-A3B etp=1 te overlap
qwen3_30b_a3b_peft(_4gpu_h100_bf16) tp=4 ep=4 sp seq=2048 gbs=32 flex lora=8 attention
qwen3_30b_a3b_pretrain(_16gpu_h100_bf16) ep=16 seq=4096 gbs=1024 short aware flex graphs=moe_router,moe_preprocess
qwen3_30b_a3b_pretrain_8gpu_gb200_fp8mx_functional ep=8 seq=4096 mbs=4 gbs=512 short flex fp8 gather8 epcomm graphs=moe_router,moe_preprocess
qwen3_30b_a3b_pretrain_8gpu_h100_bf16 tp=4 pp=2 ep=4 sp seq=4096 mbs=2 gbs=32 full flex
qwen3_30b_a3b_sft(_16gpu_h100_bf16) ep=16 seq=2048 gbs=32
qwen3_30b_a3b_sft_8gpu_h100_bf16 tp=4 pp=2 ep=4 sp seq=2048 gbs=32 flex
= Qwen/Qwen3-32B full
qwen3_32b_peft(_1gpu_h100_bf16) seq=2048 gbs=8 lora=32
qwen3_32b_pretrain(_16gpu_h100_bf16) tp=8 pp=2 seq=4096 mbs=2 gbs=32 te overlap
qwen3_32b_sft(_16gpu_h100_bf16) tp=8 pp=2 seq=2048 gbs=8
= Qwen/Qwen3-4B
qwen3_4b_peft(_1gpu_h100_bf16) seq=2048 gbs=8 lora=32
qwen3_4b_pretrain(_2gpu_h100_bf16) tp=2 seq=4096 mbs=2 gbs=32 te overlap
qwen3_4b_sft(_2gpu_h100_bf16) tp=2 seq=2048 gbs=8
= Qwen/Qwen3-0.6B
qwen3_600m_peft(_1gpu_h100_bf16) seq=2048 gbs=8 lora=32
qwen3_600m_pretrain(_1gpu_h100_bf16) seq=4096 mbs=2 gbs=32 te overlap
qwen3_600m_sft(_1gpu_h100_bf16) seq=2048 gbs=8
qwen3_600m_sft(_8gpu_h100_bf16)_128k cp=8 seq=131072 gbs=2 unfused whole
qwen3_600m_sft(_8gpu_h100_bf16)_yarn_128k cp=8 seq=131072 gbs=8 unfused whole
= Qwen/Qwen3-8B
qwen3_8b_peft(_1gpu_h100_bf16) seq=2048 gbs=32 lora=8 attention
qwen3_8b_pretrain(_16gpu_h100_bf16) seq=4096 gbs=1024 te short aware overlap
qwen3_8b_pretrain_4gpu_h100_bf16 tp=4 seq=4096 mbs=2 gbs=32 te overlap
qwen3_8b_sft(_4gpu_h100_bf16) tp=4 seq=2048 gbs=32
qwen3_8b_sft(_8gpu_h100_bf16)_32k tp=4 cp=2 sp seq=32768 gbs=8 unfused
= Qwen/Qwen3-Next-80B-A3B-Instruct ep=8 etp=1 again=layernorm,moe,moe_act flex overlap
qwen3_next_80b_a3b_pretrain(_32gpu_h100_bf16) pp=4 seq=4096 mbs=2 gbs=32 mtp=1
qwen3_next_80b_a3b_sft(_16gpu_h100_bf16) pp=2 seq=2048 gbs=64
= Qwen/Qwen3-Omni-30B-A3B-Instruct ep=8 etp=1 seq=4096 gbs=32
qwen3_omni_30b_a3b_sft(_8gpu_h100_bf16)
qwen3_omni_30b_a3b_sft(_8gpu_h100_bf16)_hf_json
= Qwen/Qwen3-VL-235B-A22B-Instruct seq=4096 mbs=2 gbs=32
qwen3_vl_235b_a22b_peft(_16gpu_h100_bf16) ep=16 lora=32
qwen3_vl_235b_a22b_pretrain(_256gpu_h100_bf16)_mock tp=4 pp=16 cp=2 ep=8 sp frozen
qwen3_vl_235b_a22b_sft(_32gpu_h100_bf16) tp=4 ep=32
= Qwen/Qwen3-VL-30B-A3B-Instruct seq=4096 mbs=2 gbs=32
qwen3_vl_30b_a3b_peft(_4gpu_h100_bf16) ep=4 lora=32
qwen3_vl_30b_a3b_pretrain(_8gpu_h100_bf16)_mock tp=4 pp=2 ep=4 sp frozen
qwen3_vl_30b_a3b_sft(_8gpu_h100_bf16) ep=8
= Qwen/Qwen3-VL-8B-Instruct seq=4096 mbs=2 gbs=32
qwen3_vl_8b_peft(_1gpu_h100_bf16) lora=32
qwen3_vl_8b_peft(_1gpu_h100_bf16)_energon lora=32
qwen3_vl_8b_pretrain(_4gpu_h100_bf16)_mock tp=4 frozen
qwen3_vl_8b_sft(_2gpu_h100_bf16) tp=2
= stepfun-ai/Step-3.5-Flash
step35_196b_a11b_pretrain(_512gpu_h100_bf16) pp=8 cp=8 ep=8 etp=1 sp seq=4096 mbs=2 gbs=32 full te flex mtp=3 overlap
= stepfun-ai/Step-3.7-Flash seq=2048
step37_sft(_4gpu_h100_bf16)_flickr8k_smoke pp=4 etp=1 gbs=16 first=12 last=9 full frozen
step37_sft(_64gpu_h100_bf16)_flickr8k pp=8 ep=8 sp gbs=32
= vanilla-gpt
vanilla_gpt_pretrain(_1gpu_h100_bf16) seq=1024 mbs=2 gbs=32
)";

}  // namespace ballast_cli
