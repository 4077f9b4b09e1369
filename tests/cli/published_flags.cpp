// SPDX-License-Identifier: Apache-2.0
#include "readers/framework_setting.hpp"

#include <ballast/plan/memory_of.hpp>

#include "support/catch.hpp"
#include "support/published_peaks.hpp"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

// The runs of published_peaks.hpp as the flags that they were started with: what is read from flags needs the measured memory, and is the
// same to the byte as the setting that was written by hand.

namespace test_cli_published_flags {

namespace {

std::string const gpt =
    "--num-layers 12 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 "
    "--tokenizer-type GPT2BPETokenizer --bf16 --no-gradient-accumulation-fusion ";
std::string const small = gpt + "--micro-batch-size 4 --global-batch-size 32 ";
std::string const unfused = small + "--attention-backend unfused ";
std::string const local = small + "--transformer-impl local --apply-query-key-layer-scaling ";
std::string const tp2 = "--tensor-model-parallel-size 2 ", tp4 = "--tensor-model-parallel-size 4 ",
                  pp2 = "--pipeline-model-parallel-size 2 ", pp4 = "--pipeline-model-parallel-size 4 ",
                  distributed = "--use-distributed-optimizer ", untied = "--untie-embeddings-and-output-weights ",
                  dry = "--attention-dropout 0.0 --hidden-dropout 0.0 ";
std::string const experts = "--disable-bias-linear --no-bias-gelu-fusion --moe-router-load-balancing-type sinkhorn --moe-router-topk 1 ";
std::string const experts8 = "--num-experts 8 ", experts4 = "--num-experts 4 ", ep2 = "--expert-model-parallel-size 2 ",
                  grouped = "--moe-grouped-gemm ", sequence = "--sequence-parallel ";

/// The latent attention of DeepSeek-V3's blocks.
std::string const latent =
    "--kv-channels 128 --multi-latent-attention --qk-layernorm --qk-head-dim 128 --qk-pos-emb-head-dim 64 "
    "--v-head-dim 128 --position-embedding-type rope --normalization RMSNorm --swiglu --disable-bias-linear --moe-ffn-hidden-size 1024 "
    "--moe-shared-expert-intermediate-size 1024 --moe-router-topk 4 --moe-grouped-gemm --moe-permute-fusion "
    "--moe-router-enable-expert-bias --moe-token-dispatcher-type alltoall --vocab-size 50257 --bf16 --attention-backend unfused " +
    untied + dry;
std::string const deepseek =
    latent + tp2 + pp2 + sequence + distributed +
    "--num-attention-heads 32 --expert-model-parallel-size 4 --expert-tensor-parallel-size 1 --hidden-size 1024 --ffn-hidden-size 4096 "
    "--num-experts 32 "
    "--q-lora-rank 1536 --kv-lora-rank 512 --seq-length 4096 --max-position-embeddings 4096 --make-vocab-size-divisible-by 3232 "
    "--recompute-granularity selective --recompute-modules [layernorm mla_up_proj mlp moe_act] ";
std::string const fifteen =
    deepseek +
    "--num-layers 15 --moe-layer-freq ([0]*3+[1]*12) --micro-batch-size 1 --global-batch-size 8 --fine-grained-activation-offloading "
    "--offload-modules [expert_fc1 moe_act attn_norm mlp_norm qkv_linear core_attn attn_proj] ";
std::string const overlap = "--overlap-moe-expert-parallel-comm ", mtp = "--mtp-num-layers 1 ";
std::string const flash = small + tp2 + pp2 + "--context-parallel-size 2 --sequence-parallel --attention-backend flash ";

/// The flags of each row, in the order of the rows.
std::vector<std::string> const flags{
    "--num-layers 32 --hidden-size 4096 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --micro-batch-size 2 "
    "--global-batch-size 8 --seq-length 8192 --max-position-embeddings 8192 --tokenizer-type NullTokenizer --vocab-size 131073 --bf16 "
    "--no-gradient-accumulation-fusion " +
        untied + tp4 + distributed,
    deepseek +
        "--num-layers 16 --moe-layer-freq ([0]*3+[1]*13) --pipeline-model-parallel-layout Et*3|(tt|)*6tmL --micro-batch-size 4 "
        "--global-batch-size 32 --cross-entropy-loss-fusion --cross-entropy-fusion-impl native " +
        overlap + mtp,
    fifteen + "--pipeline-model-parallel-layout Et*3|(tt|)*6mL " + overlap + mtp,
    fifteen + "--pipeline-model-parallel-layout Et*3|(tt|)*6L ",
    unfused + distributed,
    unfused + tp2 + sequence + experts8 + grouped + overlap +
        "--expert-model-parallel-size 4 --expert-tensor-parallel-size 1 --disable-bias-linear --no-bias-gelu-fusion --moe-router-topk 2 ",
    unfused + pp4 + distributed + "--num-layers-per-virtual-pipeline-stage 1 ",
    local + pp2,
    unfused + tp2 + sequence + experts + experts8 + ep2 + grouped + distributed,
    unfused + tp2 + sequence + experts + experts8 + ep2 + distributed,
    "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 --global-batch-size 32 "
    "--tokenizer-type GPT2BPETokenizer --bf16 --micro-batch-size 4 --no-gradient-accumulation-fusion --swiglu "
    "--use-transformer-engine-op-fuser " +
        experts + experts4 + grouped,
    local + pp4,
    unfused + pp4 + sequence,
    unfused + pp4 + untied,
    unfused + pp4 + "--disable-bias-linear ",
    unfused + tp2 + distributed + "--num-distributed-optimizer-instances 2 ",
    unfused + "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1 ",
    unfused + pp4 + untied + "--decoder-first-pipeline-num-layers 2 --decoder-last-pipeline-num-layers 2 ",
    latent + ep2 + overlap +
        "--num-attention-heads 8 --expert-tensor-parallel-size 1 --num-layers 2 --hidden-size 512 --ffn-hidden-size 2048 --num-experts 8 "
        "--q-lora-rank 256 "
        "--kv-lora-rank 128 --seq-length 1024 --max-position-embeddings 1024 --make-vocab-size-divisible-by 64 --micro-batch-size 4 "
        "--global-batch-size 32 --moe-layer-freq ([0]*1+[1]*1) --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params "
        "--no-gradient-accumulation-fusion ",
    local + tp2 + pp2 + sequence + experts + experts4 + ep2,
    small + pp2 + experts + experts4 + ep2 + dry + "--context-parallel-size 2 --attention-backend flash ",
    unfused + tp2 + pp2,
    unfused + tp2 + pp2 + "--no-create-attention-mask-in-dataloader ",
    unfused + tp4 + "--qk-layernorm ",
    unfused + tp4 + distributed,
    "--num-layers 13 --hidden-size 512 --num-attention-heads 8 --seq-length 1024 --max-position-embeddings 1024 --global-batch-size 32 "
    "--vocab-size 50257 --bf16 --micro-batch-size 2 --no-gradient-accumulation-fusion --position-embedding-type rope "
    "--expert-model-parallel-size 2 --expert-tensor-parallel-size 2 --moe-ffn-hidden-size 1024 --moe-router-topk 2 "
    "--moe-shared-expert-intermediate-size 512 --moe-layer-freq ([0]*4+[1]*9) --mtp-num-layers 1 --fp8-format hybrid "
    "--pipeline-model-parallel-layout Et|(tt|)*6mL --recompute-granularity selective --recompute-modules [moe_act] --disable-bias-linear "
    "--no-bias-gelu-fusion " +
        tp4 + pp2 + sequence + distributed + untied + dry + experts8 + grouped,
    flash + experts + experts4 + ep2,
    flash + dry,
    flash + dry + "--calculate-per-token-loss ",
    flash + dry,
    gpt + "--micro-batch-size 2 --global-batch-size 128 --normalization RMSNorm --fp8-format hybrid --tp-comm-overlap " + tp2 + pp2 +
        sequence + distributed,
};

/// Flags as the YAML of a functional test.
std::string as_test(std::string const& of) {
  auto text = std::string("ENV_VARS:\n  CUBLAS_WORKSPACE_CONFIG: :4096:8\nMODEL_ARGS:\n");
  for (auto at = of.find("--"); at != of.npos;) {
    auto const next = of.find(" --", at), end = next == of.npos ? of.size() : next;
    auto flag = of.substr(at, end - at);
    while (flag.ends_with(' ')) flag.pop_back();
    auto const blank = flag.find(' ');
    text += "  " + flag.substr(0, blank) + ": " + (blank == flag.npos ? "true" : flag.substr(blank + 1)) + "\n";
    at = next == of.npos ? next : next + 1;
  }
  return text;
}

}  // namespace

TEST_CASE("published_flags: flags of Megatron-LM's own tests need the memory that these measured") {
  auto const rows = ballast_test::megatron_peaks();
  REQUIRE(rows.size() == flags.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const& row = rows[i];
    CAPTURE(row.name, flags[i]);
    auto const read = ballast_cli::read_framework_setting(as_test(flags[i]), "model_config.yaml", {.gpus = 8});
    auto const parts = memory_of(read.model, read.setting, row.hopper).back();
    CHECK(parts == memory_of(row.model, row.by, row.hopper).back());
    auto const error = static_cast<double>(parts.peak()) / static_cast<double>(row.peak) - 1;
    CHECK(std::abs(error) <= row.window);
    if (row.below) CHECK(error <= 0);
    CHECK(std::abs(static_cast<double>(parts.between_steps()) / static_cast<double>(row.between_steps) - 1) <= row.window_between);
  }
}

}  // namespace test_cli_published_flags
