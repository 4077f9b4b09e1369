// SPDX-License-Identifier: Apache-2.0
#include "readers/bridge_recipes.hpp"

#include <string>

namespace ballast_cli {

namespace {

// Facts of src/megatron/bridge/recipes of NVIDIA-NeMo/Megatron-Bridge at 067f987df (2026-08-22): its recipes for language models whose
// shape is on the hub. A line has the name, an older name or "-", the model on the hub, and what differs from one device a degree: full
// recomputation or modules to recompute (again), the layout or layers of the first and last stage, the loss of Transformer Engine (te) or
// of Megatron-Core (native), a precision-aware optimiser, gradients that are summed in 16 bits (short), a dispatcher of tokens (by), an
// optimiser that is not distributed (whole).
constexpr std::string_view recipes = R"(
deepseek_v3_pretrain_1024gpu_h100_bf16_config deepseek_v3_pretrain_config deepseek-ai/DeepSeek-V3 tp=2 pp=16 ep=64 etp=1 sp seq=4096 mbs=1 gbs=4096 layout=Etttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tmL te aware short by=alltoall
deepseek_v3_pretrain_256gpu_h100_bf16_32nodes_config - deepseek-ai/DeepSeek-V3 tp=2 pp=8 ep=32 etp=1 sp seq=4096 mbs=1 gbs=4096 full layout=Etttttttt|tttttttt|tttttttt|tttttttt|tttttttt|tttttttt|tttttttt|tttttmL te aware short by=alltoall
deepseek_v4_flash_no_mtp_sft_32gpu_h100_bf16_config deepseek_v4_flash_no_mtp_sft_config deepseek-ai/DeepSeek-V4-Flash tp=1 pp=4 ep=8 seq=4096 mbs=1 gbs=128 again=moe_act,mhc te by=alltoall
deepseek_v4_flash_pretrain_32gpu_h100_bf16_config deepseek_v4_flash_pretrain_config deepseek-ai/DeepSeek-V4-Flash tp=1 pp=4 ep=8 seq=4096 mbs=1 gbs=128 again=moe_act,mhc te by=alltoall
deepseek_v4_flash_pretrain_32gpu_h100_bf16_muon_config deepseek_v4_flash_pretrain_muon_config deepseek-ai/DeepSeek-V4-Flash tp=1 pp=4 ep=8 seq=4096 mbs=1 gbs=128 again=moe_act,mhc te by=alltoall whole
deepseek_v4_flash_pretrain_32gpu_h100_fp8mx_config deepseek_v4_flash_pretrain_mxfp8_config deepseek-ai/DeepSeek-V4-Flash tp=1 pp=4 ep=8 seq=4096 mbs=1 gbs=128 again=moe_act,mhc te aware by=alltoall fp8
deepseek_v4_flash_pretrain_64gpu_gb200_bf16_config deepseek_v4_flash_pretrain_gb200_config deepseek-ai/DeepSeek-V4-Flash tp=1 pp=8 ep=8 seq=4096 mbs=1 gbs=256 again=moe_act,mhc,mla_up_proj te by=flex
deepseek_v4_flash_pretrain_64gpu_gb200_bf16_muon_config deepseek_v4_flash_pretrain_muon_gb200_config deepseek-ai/DeepSeek-V4-Flash tp=1 pp=8 ep=8 seq=4096 mbs=1 gbs=256 again=moe_act,mhc,mla_up_proj te by=flex whole
deepseek_v4_flash_pretrain_64gpu_gb200_fp8mx_config deepseek_v4_flash_pretrain_mxfp8_gb200_config deepseek-ai/DeepSeek-V4-Flash tp=1 pp=8 ep=8 seq=4096 mbs=1 gbs=256 again=mla_up_proj te aware by=flex fp8
deepseek_v4_flash_sft_32gpu_h100_bf16_config deepseek_v4_flash_sft_config deepseek-ai/DeepSeek-V4-Flash tp=1 pp=4 ep=8 seq=4096 mbs=1 gbs=128 again=moe_act,mhc te by=alltoall
deepseek_v4_flash_sft_openmath_thinking_packed_config - deepseek-ai/DeepSeek-V4-Flash tp=1 pp=4 ep=8 seq=4096 mbs=1 gbs=128 again=moe_act,mhc te by=alltoall
deepseek_v4_pro_pretrain_32gpu_gb300_bf16_config deepseek_v4_pro_pretrain_config deepseek-ai/DeepSeek-V4-Pro tp=1 pp=4 ep=8 seq=4096 mbs=1 gbs=128 again=moe_act,mhc te by=alltoall
deepseek_v4_pro_pretrain_32gpu_gb300_fp8mx_config deepseek_v4_pro_pretrain_mxfp8_config deepseek-ai/DeepSeek-V4-Pro tp=1 pp=4 ep=8 seq=4096 mbs=1 gbs=128 again=moe_act,mhc te aware by=alltoall fp8
exaone45_vl_33b_peft_4gpu_h100_bf16_config exaone45_vl_33b_peft_config LGAI-EXAONE/EXAONE-4.5-33B tp=4 seq=4096 mbs=1 gbs=32 native lora
exaone45_vl_33b_sft_16gpu_h100_bf16_config exaone45_vl_33b_sft_config LGAI-EXAONE/EXAONE-4.5-33B tp=4 pp=4 seq=4096 mbs=1 gbs=32 native
exaone4_1p2b_peft_1gpu_h100_bf16_config exaone4_1p2b_peft_config LGAI-EXAONE/EXAONE-4.0-1.2B tp=1 seq=2048 mbs=1 gbs=128 te lora
exaone4_1p2b_pretrain_1gpu_h100_bf16_config exaone4_1p2b_pretrain_config LGAI-EXAONE/EXAONE-4.0-1.2B tp=1 seq=4096 mbs=2 gbs=32 te
exaone4_1p2b_sft_1gpu_h100_bf16_config exaone4_1p2b_sft_config LGAI-EXAONE/EXAONE-4.0-1.2B tp=1 seq=2048 mbs=1 gbs=128 te
exaone_moe_236b_a23b_peft_16gpu_h100_bf16_config exaone_moe_236b_a23b_peft_config LGAI-EXAONE/K-EXAONE-236B-A23B tp=4 pp=4 ep=4 etp=1 sp seq=2048 mbs=1 gbs=32 te by=flex lora
exaone_moe_236b_a23b_pretrain_64gpu_h100_bf16_config exaone_moe_236b_a23b_pretrain_config LGAI-EXAONE/K-EXAONE-236B-A23B tp=4 pp=8 ep=8 etp=1 sp seq=4096 mbs=1 gbs=32 full te by=flex
exaone_moe_236b_a23b_sft_64gpu_h100_bf16_config exaone_moe_236b_a23b_sft_config LGAI-EXAONE/K-EXAONE-236B-A23B tp=4 pp=8 ep=8 etp=1 sp seq=2048 mbs=1 gbs=32 te by=flex
exaone_moe_2_0_750b_a37_peft_128gpu_h100_bf16_config exaone_moe_2_0_750b_a37_peft_config LGAI-EXAONE/K-EXAONE-2.0-750B-A37B tp=4 pp=8 ep=16 etp=1 sp seq=2048 mbs=1 gbs=32 again=core_attn,moe,shared_experts layout=Ettttttttttt|tttttttttt|tttttttttt|tttttttttt|tttttttttt|tttttttttt|tttttttttt|tttttttmmmmL te by=flex lora
exaone_moe_2_0_750b_a37_pretrain_512gpu_h100_bf16_config exaone_moe_2_0_750b_a37_pretrain_config LGAI-EXAONE/K-EXAONE-2.0-750B-A37B tp=4 pp=16 ep=32 etp=1 sp seq=4096 mbs=1 gbs=32 full layout=Etttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttmmmmL te by=flex
exaone_moe_2_0_750b_a37_sft_512gpu_h100_bf16_config exaone_moe_2_0_750b_a37_sft_config LGAI-EXAONE/K-EXAONE-2.0-750B-A37B tp=4 pp=16 ep=32 etp=1 sp seq=2048 mbs=1 gbs=32 full layout=Etttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttttt|ttmmmmL te by=flex
gemma2_27b_peft_4gpu_h100_bf16_config gemma2_27b_peft_config google/gemma-2-27b tp=4 seq=2048 mbs=1 gbs=128 native lora
gemma2_27b_pretrain_16gpu_h100_bf16_config gemma2_27b_pretrain_config google/gemma-2-27b tp=8 pp=2 seq=4096 mbs=2 gbs=32 native
gemma2_27b_sft_16gpu_h100_bf16_config gemma2_27b_sft_config google/gemma-2-27b tp=8 pp=2 seq=2048 mbs=1 gbs=128 native
gemma2_2b_peft_1gpu_h100_bf16_config gemma2_2b_peft_config google/gemma-2-2b tp=1 seq=2048 mbs=1 gbs=128 native lora
gemma2_2b_pretrain_2gpu_h100_bf16_config gemma2_2b_pretrain_config google/gemma-2-2b tp=2 seq=4096 mbs=2 gbs=32 native
gemma2_2b_sft_1gpu_h100_bf16_config gemma2_2b_sft_config google/gemma-2-2b tp=1 seq=2048 mbs=1 gbs=128 native
gemma2_9b_peft_1gpu_h100_bf16_config gemma2_9b_peft_config google/gemma-2-9b tp=1 seq=2048 mbs=1 gbs=128 native lora
gemma2_9b_pretrain_8gpu_h100_bf16_config gemma2_9b_pretrain_config google/gemma-2-9b tp=8 seq=4096 mbs=2 gbs=32 native
gemma2_9b_sft_4gpu_h100_bf16_config gemma2_9b_sft_config google/gemma-2-9b tp=4 seq=2048 mbs=1 gbs=128 native
gemma3_1b_peft_1gpu_h100_bf16_config gemma3_1b_peft_config google/gemma-3-1b-pt tp=1 seq=4096 mbs=1 gbs=32 native lora
gemma3_1b_sft_1gpu_h100_bf16_config gemma3_1b_sft_config google/gemma-3-1b-pt tp=1 seq=4096 mbs=1 gbs=32 native
gemma4_e4b_pretrain_2gpu_h100_bf16_config gemma4_e4b_pretrain_config google/gemma-4-E4B-it tp=2 seq=4096 mbs=1 gbs=8 native
glm45_355b_peft_16gpu_h100_bf16_config glm45_355b_peft_config zai-org/GLM-4.5 tp=2 pp=4 ep=4 seq=2048 mbs=1 gbs=128 native by=alltoall lora
glm45_355b_pretrain_128gpu_h100_bf16_config glm45_355b_pretrain_config zai-org/GLM-4.5 tp=2 pp=8 ep=16 etp=1 sp seq=4096 mbs=1 gbs=2048 again=core_attn first=10 last=10 native by=alltoall
glm45_355b_sft_128gpu_h100_bf16_config glm45_355b_sft_config zai-org/GLM-4.5 tp=2 pp=8 ep=16 seq=2048 mbs=1 gbs=128 first=10 last=10 native short by=alltoall
glm45_air_106b_peft_8gpu_h100_bf16_config glm45_air_106b_peft_config zai-org/GLM-4.5-Air tp=1 pp=2 ep=4 seq=2048 mbs=1 gbs=128 native by=alltoall lora
glm45_air_106b_pretrain_32gpu_h100_bf16_config glm45_air_106b_pretrain_config zai-org/GLM-4.5-Air tp=1 pp=4 ep=8 sp seq=4096 mbs=1 gbs=2048 again=core_attn first=11 last=11 native by=alltoall
glm45_air_106b_sft_32gpu_h100_bf16_config glm45_air_106b_sft_config zai-org/GLM-4.5-Air tp=1 pp=4 ep=8 seq=2048 mbs=1 gbs=128 first=11 last=11 native short by=alltoall
glm52_peft_192gpu_gb200_bf16_config - zai-org/GLM-5.2 tp=1 pp=6 ep=32 seq=2048 mbs=1 gbs=32 full first=14 last=16 native by=alltoall lora
glm52_peft_208gpu_h100_bf16_config - zai-org/GLM-5.2 tp=1 pp=13 ep=16 seq=2048 mbs=1 gbs=32 full layout=Etttttt|tttt|tttttttt|tttttttt|tttttttt|tttttttt|tttttttt|tttttttt|tttt|tttt|tttt|tttt|ttttmL native by=flex lora
glm52_pretrain_192gpu_gb200_bf16_config - zai-org/GLM-5.2 tp=1 pp=6 ep=32 seq=4096 mbs=1 gbs=1024 full first=14 last=16 native aware short by=alltoall
glm52_pretrain_416gpu_h100_bf16_config - zai-org/GLM-5.2 tp=1 pp=13 ep=32 seq=4096 mbs=1 gbs=1024 full layout=Et|t||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|ttttmL native aware short by=flex
glm52_sft_192gpu_gb200_bf16_128k_config - zai-org/GLM-5.2 tp=1 pp=6 cp=32 ep=32 seq=131072 mbs=1 gbs=56 full layout=Etttttttttttttt|tttttttttttttttt|tttttttttttt|tttttttttttt|tttttttttttt|ttttttttttttmL native by=flex
glm52_sft_192gpu_gb200_bf16_config - zai-org/GLM-5.2 tp=1 pp=6 cp=4 ep=32 seq=8192 mbs=1 gbs=8 full first=14 last=16 native by=flex
glm52_sft_416gpu_h100_bf16_config - zai-org/GLM-5.2 tp=1 pp=13 cp=16 ep=32 seq=2048 mbs=1 gbs=32 full layout=Et|t||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|tttt|tttt||tttt|tttt|ttttmL native by=flex
glm52_sft_608gpu_h100_bf16_200k_config - zai-org/GLM-5.2 tp=1 pp=19 cp=32 ep=32 seq=200000 mbs=1 gbs=13 full layout=Etttttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|tttt|ttttmL native by=flex
gpt_oss_120b_peft_8gpu_h100_bf16_config gpt_oss_120b_peft_config openai/gpt-oss-120b tp=1 ep=8 seq=2048 mbs=1 gbs=128 native by=alltoall lora
gpt_oss_120b_pretrain_64gpu_h100_bf16_config gpt_oss_120b_pretrain_config openai/gpt-oss-120b tp=2 pp=4 ep=16 etp=1 sp seq=4096 mbs=1 gbs=512 native by=alltoall
gpt_oss_120b_sft_32gpu_h100_bf16_config gpt_oss_120b_sft_config openai/gpt-oss-120b tp=1 pp=4 ep=8 seq=2048 mbs=1 gbs=128 native by=alltoall
gpt_oss_120b_sft_48gpu_h100_bf16_32k_config gpt_oss_120b_sft_32k_config openai/gpt-oss-120b tp=2 pp=6 cp=4 ep=4 sp seq=32768 mbs=1 gbs=4 again=moe_act native short by=alltoall
gpt_oss_20b_peft_1gpu_h100_bf16_config gpt_oss_20b_peft_config openai/gpt-oss-20b tp=1 seq=2048 mbs=1 gbs=128 native lora
gpt_oss_20b_peft_1gpu_h100_fp8cs_config gpt_oss_20b_peft_fp8_current_scaling_config openai/gpt-oss-20b tp=1 seq=2048 mbs=1 gbs=128 native fp8 lora
gpt_oss_20b_peft_1gpu_h100_fp8mx_config gpt_oss_20b_peft_mxfp8_config openai/gpt-oss-20b tp=1 seq=2048 mbs=1 gbs=128 native fp8 lora
gpt_oss_20b_pretrain_16gpu_h100_bf16_config gpt_oss_20b_pretrain_config openai/gpt-oss-20b tp=2 pp=4 ep=4 etp=1 sp seq=4096 mbs=1 gbs=512 native by=alltoall
gpt_oss_20b_pretrain_16gpu_h100_fp8cs_config gpt_oss_20b_pretrain_fp8_current_scaling_config openai/gpt-oss-20b tp=2 pp=4 ep=4 etp=1 sp seq=4096 mbs=1 gbs=512 native by=alltoall fp8
gpt_oss_20b_pretrain_16gpu_h100_fp8mx_config gpt_oss_20b_pretrain_mxfp8_config openai/gpt-oss-20b tp=2 pp=4 ep=4 etp=1 sp seq=4096 mbs=1 gbs=512 native by=alltoall fp8
gpt_oss_20b_sft_8gpu_h100_bf16_32k_config gpt_oss_20b_sft_32k_config openai/gpt-oss-20b tp=1 ep=8 seq=32768 mbs=1 gbs=32 native by=alltoall
gpt_oss_20b_sft_8gpu_h100_bf16_config gpt_oss_20b_sft_config openai/gpt-oss-20b tp=1 ep=8 seq=2048 mbs=1 gbs=128 native by=alltoall
gpt_oss_20b_sft_8gpu_h100_bf16_openmathinstruct2_thinking_packed_config gpt_oss_20b_sft_openmathinstruct2_thinking_packed_config openai/gpt-oss-20b tp=1 ep=8 seq=4096 mbs=1 gbs=128 native by=alltoall
gpt_oss_20b_sft_8gpu_h100_fp8cs_config gpt_oss_20b_sft_fp8_current_scaling_config openai/gpt-oss-20b tp=1 ep=8 seq=2048 mbs=1 gbs=128 native by=alltoall fp8
gpt_oss_20b_sft_8gpu_h100_fp8mx_config gpt_oss_20b_sft_mxfp8_config openai/gpt-oss-20b tp=1 ep=8 seq=2048 mbs=1 gbs=128 native by=alltoall fp8
llama2_7b_pretrain_2gpu_h100_bf16_config llama2_7b_pretrain_config meta-llama/Llama-2-7b-hf tp=2 seq=4096 mbs=1 gbs=512 native
llama31_405b_peft_32gpu_h100_bf16_config llama31_405b_peft_config meta-llama/Meta-Llama-3.1-405B tp=4 pp=8 vpp=8 sp seq=2048 mbs=1 gbs=32 embedding loss native lora
llama31_405b_pretrain_256gpu_h100_bf16_config llama31_405b_pretrain_config meta-llama/Meta-Llama-3.1-405B tp=8 pp=8 vpp=2 cp=4 sp seq=131072 mbs=1 gbs=512 embedding loss te
llama31_405b_pretrain_256gpu_h100_bf16_deterministic_config llama31_405b_pretrain_deterministic_config meta-llama/Meta-Llama-3.1-405B tp=8 pp=8 vpp=2 cp=4 sp seq=131072 mbs=1 gbs=512 embedding loss te
llama31_405b_sft_128gpu_h100_bf16_config llama31_405b_sft_config meta-llama/Meta-Llama-3.1-405B tp=8 pp=16 sp seq=2048 mbs=1 gbs=16 embedding loss native
llama31_70b_peft_8gpu_h100_bf16_config llama31_70b_peft_config meta-llama/Meta-Llama-3.1-70B tp=8 seq=4096 mbs=1 gbs=8 native lora
llama31_70b_pretrain_32gpu_h100_bf16_config llama31_70b_pretrain_config meta-llama/Meta-Llama-3.1-70B tp=4 pp=4 vpp=5 cp=2 sp seq=131072 mbs=1 gbs=512 te
llama31_70b_sft_32gpu_h100_bf16_config llama31_70b_sft_config meta-llama/Meta-Llama-3.1-70B tp=8 pp=4 seq=4096 mbs=1 gbs=8 native
llama31_8b_peft_1gpu_h100_bf16_config llama31_8b_peft_config meta-llama/Meta-Llama-3.1-8B tp=1 seq=4096 mbs=1 gbs=8 native lora
llama31_8b_pretrain_2gpu_h100_bf16_config llama31_8b_pretrain_config meta-llama/Meta-Llama-3.1-8B tp=1 cp=2 seq=8192 mbs=1 gbs=512 te
llama31_8b_sft_2gpu_h100_bf16_config llama31_8b_sft_config meta-llama/Meta-Llama-3.1-8B tp=2 seq=4096 mbs=1 gbs=8 native
llama32_1b_peft_1gpu_h100_bf16_config llama32_1b_peft_config meta-llama/Llama-3.2-1B tp=1 seq=4096 mbs=1 gbs=8 native lora
llama32_1b_pretrain_1gpu_h100_bf16_config llama32_1b_pretrain_config meta-llama/Llama-3.2-1B tp=1 seq=8192 mbs=1 gbs=512 te
llama32_1b_sft_1gpu_h100_bf16_config llama32_1b_sft_config meta-llama/Llama-3.2-1B tp=1 seq=4096 mbs=1 gbs=8 native
llama32_3b_peft_1gpu_h100_bf16_config llama32_3b_peft_config meta-llama/Llama-3.2-3B tp=1 seq=4096 mbs=1 gbs=8 native lora
llama32_3b_pretrain_1gpu_h100_bf16_config llama32_3b_pretrain_config meta-llama/Llama-3.2-3B tp=1 seq=8192 mbs=1 gbs=512 te
llama32_3b_sft_1gpu_h100_bf16_config llama32_3b_sft_config meta-llama/Llama-3.2-3B tp=1 seq=4096 mbs=1 gbs=8 native
llama3_70b_peft_8gpu_h100_bf16_config llama3_70b_peft_config meta-llama/Meta-Llama-3-70B tp=8 seq=4096 mbs=1 gbs=8 native lora
llama3_70b_pretrain_256gpu_h100_bf16_64k_config llama3_70b_64k_pretrain_config meta-llama/Meta-Llama-3-70B tp=8 pp=4 cp=8 sp seq=65536 mbs=1 gbs=512 te
llama3_70b_pretrain_32gpu_h100_bf16_16k_config llama3_70b_16k_pretrain_config meta-llama/Meta-Llama-3-70B tp=8 pp=2 cp=2 sp seq=16384 mbs=1 gbs=512 te
llama3_70b_pretrain_32gpu_h100_bf16_config llama3_70b_pretrain_config meta-llama/Meta-Llama-3-70B tp=4 pp=4 vpp=5 cp=2 sp seq=8192 mbs=1 gbs=512 te
llama3_70b_pretrain_32gpu_h100_bf16_deterministic_config llama3_70b_pretrain_deterministic_config meta-llama/Meta-Llama-3-70B tp=4 pp=4 vpp=5 cp=2 sp seq=8192 mbs=1 gbs=512 te
llama3_70b_sft_32gpu_h100_bf16_config llama3_70b_sft_config meta-llama/Meta-Llama-3-70B tp=8 pp=4 seq=4096 mbs=1 gbs=8 native
llama3_8b_peft_1gpu_h100_bf16_config llama3_8b_peft_config meta-llama/Meta-Llama-3-8B tp=1 seq=4096 mbs=1 gbs=8 native lora
llama3_8b_pretrain_16gpu_h100_bf16_16k_config llama3_8b_16k_pretrain_config meta-llama/Meta-Llama-3-8B tp=4 pp=2 cp=2 sp seq=16384 mbs=1 gbs=512 te
llama3_8b_pretrain_2gpu_h100_bf16_config llama3_8b_pretrain_config meta-llama/Meta-Llama-3-8B tp=1 cp=2 seq=8192 mbs=1 gbs=512 te
llama3_8b_pretrain_2gpu_h100_fp8cs_config llama3_8b_low_precision_pretrain_config meta-llama/Meta-Llama-3-8B tp=1 cp=2 seq=8192 mbs=1 gbs=768 te fp8
llama3_8b_pretrain_2gpu_h100_fp8mx_config - meta-llama/Meta-Llama-3-8B tp=1 cp=2 seq=8192 mbs=1 gbs=768 te fp8
llama3_8b_pretrain_2gpu_h100_nvfp4_config - meta-llama/Meta-Llama-3-8B tp=1 cp=2 seq=8192 mbs=1 gbs=768 te fp8
llama3_8b_pretrain_32gpu_h100_bf16_64k_config llama3_8b_64k_pretrain_config meta-llama/Meta-Llama-3-8B tp=4 pp=2 cp=4 sp seq=65536 mbs=1 gbs=512 te
llama3_8b_pretrain_64gpu_h100_bf16_128k_config llama3_8b_128k_pretrain_config meta-llama/Meta-Llama-3-8B tp=4 pp=2 cp=8 sp seq=131072 mbs=1 gbs=512 te
llama3_8b_sft_2gpu_h100_bf16_config llama3_8b_sft_config meta-llama/Meta-Llama-3-8B tp=2 seq=4096 mbs=1 gbs=8 native
ministral3_14b_peft_2gpu_h100_bf16_config ministral3_14b_peft_config mistralai/Ministral-3-14B-Instruct-2512 tp=2 seq=4096 mbs=1 gbs=32 native lora
ministral3_14b_sft_4gpu_h100_bf16_config ministral3_14b_sft_config mistralai/Ministral-3-14B-Instruct-2512 tp=4 seq=4096 mbs=1 gbs=32 native
ministral3_3b_peft_1gpu_h100_bf16_config ministral3_3b_peft_config mistralai/Ministral-3-3B-Instruct-2512 tp=1 seq=4096 mbs=1 gbs=32 native lora
ministral3_3b_sft_1gpu_h100_bf16_config ministral3_3b_sft_config mistralai/Ministral-3-3B-Instruct-2512 tp=1 seq=4096 mbs=1 gbs=32 native
ministral3_8b_peft_1gpu_h100_bf16_config ministral3_8b_peft_config mistralai/Ministral-3-8B-Instruct-2512 tp=1 seq=4096 mbs=1 gbs=32 native lora
ministral3_8b_sft_2gpu_h100_bf16_config ministral3_8b_sft_config mistralai/Ministral-3-8B-Instruct-2512 tp=2 seq=4096 mbs=1 gbs=32 native
moonlight_16b_peft_2gpu_h100_bf16_config - moonshotai/Moonlight-16B-A3B tp=1 ep=2 seq=4096 mbs=1 gbs=128 again=core_attn te aware by=alltoall lora
moonlight_16b_peft_4gpu_h100_bf16_config moonlight_16b_peft_config moonshotai/Moonlight-16B-A3B tp=1 ep=4 seq=2048 mbs=1 gbs=32 te by=alltoall lora
moonlight_16b_pretrain_16gpu_h100_bf16_config moonlight_16b_pretrain_config moonshotai/Moonlight-16B-A3B tp=1 ep=8 seq=4096 mbs=2 gbs=1024 te aware short by=flex
moonlight_16b_pretrain_8gpu_h100_bf16_config - moonshotai/Moonlight-16B-A3B tp=2 ep=8 etp=1 sp seq=4096 mbs=1 gbs=2048 again=core_attn te aware short by=alltoall
moonlight_16b_sft_8gpu_h100_bf16_8k_config moonlight_16b_sft_8k_config moonshotai/Moonlight-16B-A3B tp=2 cp=2 ep=8 etp=1 sp seq=8192 mbs=1 gbs=128 again=core_attn te aware short by=alltoall
moonlight_16b_sft_8gpu_h100_bf16_config - moonshotai/Moonlight-16B-A3B tp=4 pp=2 ep=4 etp=1 sp seq=2048 mbs=1 gbs=32 again=core_attn layout=Etttttttttttttt|tttttttttttttL te by=alltoall
moonlight_16b_sft_8gpu_h100_bf16_tp1_config moonlight_16b_sft_config moonshotai/Moonlight-16B-A3B tp=1 ep=8 seq=8192 mbs=1 gbs=8 te aware short by=flex
nemotron_3_5_lightning_peft_config - nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 tp=1 ep=8 seq=2048 mbs=1 gbs=128 native by=flex lora
nemotron_3_5_lightning_sft_config - nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 tp=1 ep=8 seq=2048 mbs=1 gbs=128 native by=flex
nemotron_3_5_lightning_sft_openmathinstruct2_packed_config - nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 tp=2 ep=8 etp=1 sp seq=4096 mbs=1 gbs=128 again=moe,layernorm,core_attn,mlp native short by=flex
nemotron_3_5_lightning_sft_openmathinstruct2_packed_tp1_config - nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 tp=1 ep=8 seq=4096 mbs=1 gbs=128 native short by=flex
nemotron_3_nano_peft_8gpu_h100_bf16_config nemotron_3_nano_peft_config nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 tp=1 ep=8 seq=2048 mbs=1 gbs=128 native by=flex lora
nemotron_3_nano_pretrain_8gpu_gb200_bf16_config nemotron_3_nano_gb200_pretrain_config nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 tp=1 ep=8 seq=4096 mbs=2 gbs=512 native short by=flex
nemotron_3_nano_sft_8gpu_h100_bf16_config nemotron_3_nano_sft_config nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16 tp=1 ep=8 seq=2048 mbs=1 gbs=128 native by=flex
nemotron_3_super_peft_16gpu_h100_bf16_config - nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16 tp=8 ep=16 etp=1 sp seq=2048 mbs=1 gbs=16 by=alltoall lora
nemotron_3_super_peft_1gpu_h100_bf16_config nemotron_3_super_peft_config nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16 tp=1 sp seq=2048 mbs=1 gbs=128 lora
nemotron_3_super_pretrain_16gpu_h100_bf16_config - nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16 tp=8 ep=16 etp=1 sp seq=8192 mbs=1 gbs=1024 te aware short by=alltoall
nemotron_3_super_pretrain_64gpu_gb200_bf16_config - nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16 tp=2 ep=64 etp=1 sp seq=8192 mbs=1 gbs=512 te short by=flex
nemotron_3_super_pretrain_config - nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16 tp=1 pp=2 ep=32 seq=4096 mbs=1 gbs=1280 again=layernorm,moe_act,moe,core_attn te aware short by=flex
nemotron_3_super_sft_16gpu_h100_bf16_32k_config - nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16 tp=1 pp=8 cp=2 ep=2 sp seq=32768 mbs=1 gbs=2 last=4 aware short by=alltoall
nemotron_3_super_sft_16gpu_h100_bf16_config nemotron_3_super_sft_config nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16 tp=8 ep=16 etp=1 sp seq=2048 mbs=1 gbs=32 aware short by=alltoall
nemotron_3_ultra_peft_32gpu_h100_bf16_openmathinstruct2_packed_config nemotron_3_ultra_peft_openmathinstruct2_packed_config nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16 tp=2 pp=4 ep=8 etp=1 sp seq=4096 mbs=1 gbs=128 again=moe,layernorm,core_attn,moe_act,mlp,shared_experts by=flex lora
nemotron_3_ultra_pretrain_24gpu_h100_bf16_config nemotron_3_ultra_pretrain_config nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16 tp=1 pp=3 ep=8 sp seq=8192 mbs=1 gbs=3072 te by=flex
nemotron_3_ultra_sft_192gpu_h100_bf16_openmathinstruct2_packed_config nemotron_3_ultra_sft_openmathinstruct2_packed_config nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16 tp=2 pp=6 ep=32 etp=1 sp seq=4096 mbs=1 gbs=128 again=moe,layernorm,core_attn,moe_act by=flex
qwen25_14b_peft_1gpu_h100_bf16_config qwen25_14b_peft_config Qwen/Qwen2.5-14B tp=1 seq=2048 mbs=1 gbs=128 native lora
qwen25_14b_pretrain_4gpu_h100_bf16_config qwen25_14b_pretrain_config Qwen/Qwen2.5-14B tp=4 seq=4096 mbs=2 gbs=32 native
qwen25_14b_sft_4gpu_h100_bf16_config qwen25_14b_sft_config Qwen/Qwen2.5-14B tp=4 seq=2048 mbs=1 gbs=128 native
qwen25_1p5b_peft_1gpu_h100_bf16_config qwen25_1p5b_peft_config Qwen/Qwen2.5-1.5B tp=1 seq=2048 mbs=1 gbs=128 native lora
qwen25_1p5b_pretrain_1gpu_h100_bf16_config qwen25_1p5b_pretrain_config Qwen/Qwen2.5-1.5B tp=1 seq=4096 mbs=2 gbs=32 native
qwen25_1p5b_sft_1gpu_h100_bf16_config qwen25_1p5b_sft_config Qwen/Qwen2.5-1.5B tp=1 seq=2048 mbs=1 gbs=128 native
qwen25_32b_peft_8gpu_h100_bf16_config qwen25_32b_peft_config Qwen/Qwen2.5-32B tp=8 seq=2048 mbs=1 gbs=128 native lora
qwen25_32b_pretrain_16gpu_h100_bf16_config qwen25_32b_pretrain_config Qwen/Qwen2.5-32B tp=8 pp=2 seq=4096 mbs=2 gbs=32 native
qwen25_32b_sft_16gpu_h100_bf16_config qwen25_32b_sft_config Qwen/Qwen2.5-32B tp=8 pp=2 seq=2048 mbs=1 gbs=128 native
qwen25_500m_peft_1gpu_h100_bf16_config qwen25_500m_peft_config Qwen/Qwen2.5-0.5B tp=1 seq=2048 mbs=1 gbs=128 native lora
qwen25_500m_pretrain_1gpu_h100_bf16_config qwen25_500m_pretrain_config Qwen/Qwen2.5-0.5B tp=1 seq=4096 mbs=2 gbs=32 native
qwen25_500m_sft_1gpu_h100_bf16_config qwen25_500m_sft_config Qwen/Qwen2.5-0.5B tp=1 seq=2048 mbs=1 gbs=128 native
qwen25_72b_peft_8gpu_h100_bf16_config qwen25_72b_peft_config Qwen/Qwen2.5-72B tp=8 seq=2048 mbs=1 gbs=128 native lora
qwen25_72b_pretrain_32gpu_h100_bf16_config qwen25_72b_pretrain_config Qwen/Qwen2.5-72B tp=8 pp=4 seq=4096 mbs=2 gbs=32 native
qwen25_72b_sft_32gpu_h100_bf16_config qwen25_72b_sft_config Qwen/Qwen2.5-72B tp=8 pp=4 seq=2048 mbs=1 gbs=128 native
qwen25_7b_peft_1gpu_h100_bf16_config qwen25_7b_peft_config Qwen/Qwen2.5-7B tp=1 seq=2048 mbs=1 gbs=128 native lora
qwen25_7b_pretrain_2gpu_h100_bf16_config qwen25_7b_pretrain_config Qwen/Qwen2.5-7B tp=2 seq=4096 mbs=2 gbs=32 native
qwen25_7b_sft_2gpu_h100_bf16_config qwen25_7b_sft_config Qwen/Qwen2.5-7B tp=2 seq=2048 mbs=1 gbs=128 native
qwen2_1p5b_peft_1gpu_h100_bf16_config qwen2_1p5b_peft_config Qwen/Qwen2-1.5B tp=1 seq=2048 mbs=1 gbs=128 native lora
qwen2_1p5b_pretrain_1gpu_h100_bf16_config qwen2_1p5b_pretrain_config Qwen/Qwen2-1.5B tp=1 seq=4096 mbs=2 gbs=32 native
qwen2_1p5b_sft_1gpu_h100_bf16_config qwen2_1p5b_sft_config Qwen/Qwen2-1.5B tp=1 seq=2048 mbs=1 gbs=128 native
qwen2_500m_peft_1gpu_h100_bf16_config qwen2_500m_peft_config Qwen/Qwen2-0.5B tp=1 seq=2048 mbs=1 gbs=128 native lora
qwen2_500m_pretrain_1gpu_h100_bf16_config qwen2_500m_pretrain_config Qwen/Qwen2-0.5B tp=1 seq=4096 mbs=2 gbs=32 native
qwen2_500m_sft_1gpu_h100_bf16_config qwen2_500m_sft_config Qwen/Qwen2-0.5B tp=1 seq=2048 mbs=1 gbs=128 native
qwen2_72b_peft_8gpu_h100_bf16_config qwen2_72b_peft_config Qwen/Qwen2-72B tp=8 seq=2048 mbs=1 gbs=128 native lora
qwen2_72b_pretrain_32gpu_h100_bf16_config qwen2_72b_pretrain_config Qwen/Qwen2-72B tp=8 pp=4 seq=4096 mbs=2 gbs=32 native
qwen2_72b_sft_32gpu_h100_bf16_config qwen2_72b_sft_config Qwen/Qwen2-72B tp=8 pp=4 seq=2048 mbs=1 gbs=128 native
qwen2_7b_peft_1gpu_h100_bf16_config qwen2_7b_peft_config Qwen/Qwen2-7B tp=1 seq=2048 mbs=1 gbs=128 native lora
qwen2_7b_pretrain_2gpu_h100_bf16_config qwen2_7b_pretrain_config Qwen/Qwen2-7B tp=2 seq=4096 mbs=2 gbs=32 native
qwen2_7b_sft_2gpu_h100_bf16_config qwen2_7b_sft_config Qwen/Qwen2-7B tp=2 seq=2048 mbs=1 gbs=128 native
qwen3_14b_peft_1gpu_h100_bf16_config qwen3_14b_peft_config Qwen/Qwen3-14B tp=1 seq=2048 mbs=1 gbs=8 native lora
qwen3_14b_pretrain_8gpu_h100_bf16_config qwen3_14b_pretrain_config Qwen/Qwen3-14B tp=8 seq=4096 mbs=2 gbs=32 te
qwen3_14b_sft_8gpu_h100_bf16_config qwen3_14b_sft_config Qwen/Qwen3-14B tp=8 seq=2048 mbs=1 gbs=8 native
qwen3_1p7b_peft_1gpu_h100_bf16_config qwen3_1p7b_peft_config Qwen/Qwen3-1.7B tp=1 seq=2048 mbs=1 gbs=8 native lora
qwen3_1p7b_pretrain_1gpu_h100_bf16_config qwen3_1p7b_pretrain_config Qwen/Qwen3-1.7B tp=1 seq=4096 mbs=2 gbs=32 te
qwen3_1p7b_sft_1gpu_h100_bf16_config qwen3_1p7b_sft_config Qwen/Qwen3-1.7B tp=1 seq=2048 mbs=1 gbs=8 native
qwen3_235b_a22b_peft_16gpu_h100_bf16_config qwen3_235b_a22b_peft_config Qwen/Qwen3-235B-A22B tp=4 pp=4 ep=4 etp=1 sp seq=2048 mbs=1 gbs=32 embedding loss te by=alltoall lora
qwen3_235b_a22b_pretrain_256gpu_h100_bf16_config qwen3_235b_a22b_pretrain_config Qwen/Qwen3-235B-A22B tp=4 pp=16 cp=2 ep=8 etp=1 sp seq=4096 mbs=1 gbs=32 embedding loss te by=alltoall
qwen3_235b_a22b_sft_64gpu_h100_bf16_config qwen3_235b_a22b_sft_config Qwen/Qwen3-235B-A22B tp=4 pp=16 ep=4 etp=1 sp seq=2048 mbs=1 gbs=32 embedding loss te by=alltoall
qwen3_30b_a3b_peft_4gpu_h100_bf16_config qwen3_30b_a3b_peft_config Qwen/Qwen3-30B-A3B tp=4 ep=4 etp=1 sp seq=2048 mbs=1 gbs=32 te by=alltoall lora
qwen3_30b_a3b_pretrain_16gpu_h100_bf16_config qwen3_30b_a3b_pretrain_config Qwen/Qwen3-30B-A3B tp=1 ep=16 seq=4096 mbs=1 gbs=1024 te aware by=flex
qwen3_30b_a3b_pretrain_8gpu_gb200_fp8mx_functional_config - Qwen/Qwen3-30B-A3B tp=1 ep=8 seq=4096 mbs=4 gbs=512 te by=flex fp8
qwen3_30b_a3b_pretrain_8gpu_h100_bf16_config - Qwen/Qwen3-30B-A3B tp=4 pp=2 ep=4 etp=1 sp seq=4096 mbs=2 gbs=32 full te by=alltoall
qwen3_30b_a3b_sft_16gpu_h100_bf16_config qwen3_30b_a3b_sft_config Qwen/Qwen3-30B-A3B tp=1 ep=16 seq=2048 mbs=1 gbs=32 te by=alltoall
qwen3_30b_a3b_sft_8gpu_h100_bf16_config - Qwen/Qwen3-30B-A3B tp=4 pp=2 ep=4 etp=1 sp seq=2048 mbs=1 gbs=32 te by=alltoall
qwen3_32b_peft_1gpu_h100_bf16_config qwen3_32b_peft_config Qwen/Qwen3-32B tp=1 seq=2048 mbs=1 gbs=8 full native lora
qwen3_32b_pretrain_16gpu_h100_bf16_config qwen3_32b_pretrain_config Qwen/Qwen3-32B tp=8 pp=2 seq=4096 mbs=2 gbs=32 full te
qwen3_32b_sft_16gpu_h100_bf16_config qwen3_32b_sft_config Qwen/Qwen3-32B tp=8 pp=2 seq=2048 mbs=1 gbs=8 full native
qwen3_4b_peft_1gpu_h100_bf16_config qwen3_4b_peft_config Qwen/Qwen3-4B tp=1 seq=2048 mbs=1 gbs=8 native lora
qwen3_4b_pretrain_2gpu_h100_bf16_config qwen3_4b_pretrain_config Qwen/Qwen3-4B tp=2 seq=4096 mbs=2 gbs=32 te
qwen3_4b_sft_2gpu_h100_bf16_config qwen3_4b_sft_config Qwen/Qwen3-4B tp=2 seq=2048 mbs=1 gbs=8 native
qwen3_600m_peft_1gpu_h100_bf16_config qwen3_600m_peft_config Qwen/Qwen3-0.6B tp=1 seq=2048 mbs=1 gbs=8 native lora
qwen3_600m_pretrain_1gpu_h100_bf16_config qwen3_600m_pretrain_config Qwen/Qwen3-0.6B tp=1 seq=4096 mbs=2 gbs=32 te
qwen3_600m_sft_1gpu_h100_bf16_config qwen3_600m_sft_config Qwen/Qwen3-0.6B tp=1 seq=2048 mbs=1 gbs=8 native
qwen3_600m_sft_8gpu_h100_bf16_128k_config qwen3_600m_sft_128k_config Qwen/Qwen3-0.6B tp=1 cp=8 seq=131072 mbs=1 gbs=2 native
qwen3_8b_peft_1gpu_h100_bf16_config qwen3_8b_peft_config Qwen/Qwen3-8B tp=1 seq=2048 mbs=1 gbs=32 native lora
qwen3_8b_pretrain_16gpu_h100_bf16_config qwen3_8b_pretrain_config Qwen/Qwen3-8B tp=1 seq=4096 mbs=1 gbs=1024 te aware
qwen3_8b_pretrain_4gpu_h100_bf16_config - Qwen/Qwen3-8B tp=4 seq=4096 mbs=2 gbs=32 te
qwen3_8b_sft_4gpu_h100_bf16_config qwen3_8b_sft_config Qwen/Qwen3-8B tp=4 seq=2048 mbs=1 gbs=32 native
qwen3_8b_sft_8gpu_h100_bf16_32k_config qwen3_8b_sft_32k_config Qwen/Qwen3-8B tp=4 cp=2 sp seq=32768 mbs=1 gbs=8 native
qwen3_next_80b_a3b_pretrain_32gpu_h100_bf16_config qwen3_next_80b_a3b_pretrain_config Qwen/Qwen3-Next-80B-A3B-Instruct tp=1 pp=4 ep=8 seq=4096 mbs=2 gbs=32 again=layernorm,moe,moe_act native by=alltoall
qwen3_next_80b_a3b_sft_16gpu_h100_bf16_config qwen3_next_80b_a3b_sft_config Qwen/Qwen3-Next-80B-A3B-Instruct tp=1 pp=2 ep=8 seq=2048 mbs=1 gbs=64 again=layernorm,moe,moe_act native by=alltoall
step35_196b_a11b_pretrain_512gpu_h100_bf16_config step35_196b_a11b_pretrain_config stepfun-ai/Step-3.5-Flash tp=1 pp=8 cp=8 ep=8 sp seq=4096 mbs=2 gbs=32 full te by=alltoall
step37_sft_4gpu_h100_bf16_flickr8k_smoke_config step37_sft_flickr8k_smoke_config stepfun-ai/Step-3.7-Flash tp=1 pp=4 seq=2048 mbs=1 gbs=16 full first=12 last=9 native
step37_sft_64gpu_h100_bf16_flickr8k_config step37_sft_flickr8k_config stepfun-ai/Step-3.7-Flash tp=1 pp=8 ep=8 sp seq=2048 mbs=1 gbs=32 native by=alltoall
)";

/// The part of `text` up to `end`, which is taken away with it.
[[nodiscard]] std::string_view cut_off(std::string_view& text, char end) {
  auto const at = text.find(end);
  auto const out = text.substr(0, at);
  text = at == text.npos ? std::string_view() : text.substr(at + 1);
  return out;
}

}  // namespace

std::optional<bridge_recipe> bridge_recipe_named(std::string_view name) {
  for (auto rest = recipes; !rest.empty();) {
    auto line = cut_off(rest, '\n');
    auto const full = cut_off(line, ' '), older = cut_off(line, ' ');
    auto const is = [&](std::string_view known) { return known == name || (known.size() == name.size() + 7 && known.starts_with(name)); };
    if (full.empty() || !(is(full) || is(older))) continue;
    bridge_recipe out{.name = full, .model = cut_off(line, ' '), .words = {}};
    while (!line.empty()) out.words.push_back(cut_off(line, ' '));
    return out;
  }
  return std::nullopt;
}

}  // namespace ballast_cli
