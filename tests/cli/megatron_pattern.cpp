// SPDX-License-Identifier: Apache-2.0
#include "readers/megatron_pattern.hpp"
#include "readers/framework_setting.hpp"
#include "readers/model_config.hpp"

#include <ballast/cost/transformer.hpp>

#include "settings.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

// Hybrid models in flags of Megatron-LM.

namespace test_cli_megatron_pattern {

namespace {

using namespace ballast_cli;
using ballast_test::has_note;

std::string const common =
    "torchrun --nproc_per_node 8 pretrain_mamba.py --bf16 --untie-embeddings-and-output-weights --disable-bias-linear "
    "--normalization RMSNorm --position-embedding-type none --group-query-attention --micro-batch-size 1 --global-batch-size 8 "
    "--seq-length 4096 --make-vocab-size-divisible-by 1 --spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec ";
std::string const eight = common + "--hidden-size 4096 --num-attention-heads 32 --num-query-groups 8 --vocab-size 256000 ";
std::string const tiny =
    common + "--hidden-size 64 --num-attention-heads 4 --num-query-groups 2 --vocab-size 1000 --mamba-head-dim 16 --mamba-num-groups 2 ";

imported_setting read(std::string const& flags) { return read_framework_setting(flags, "train.sh", {}); }
std::string refused(std::string const& flags) { return ballast_test::refused_setting(flags, "train.sh", {}); }
std::string letters(ballast::transformer const& m) {
  std::string out;
  for (std::int64_t l = 0; l < m.layers; ++l)
    out += m.space.layers.contains(l)                              ? 'M'
           : m.linear.layers.contains(l)                           ? 'G'
           : m.attention_layers.contains(l)                        ? '*'
           : m.experts > 0 && m.expert_layers.contains(l)          ? 'E'
           : m.ffn_layers.contains(l) && m.ffn > 0 && m.norms == 1 ? '-'
                                                                   : '?';
  return out;
}

}  // namespace

TEST_CASE("megatron_pattern: parameters are those of the models that were trained by these flags", "[published]") {
  // Waleffe et al., arXiv 2406.07887, Table 6: 8.24B without attention; 8.7B as a hybrid, whose pattern comes of its ratios
  auto const pattern = std::string("M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-");
  auto const hybrid = read(eight + "--hybrid-override-pattern " + pattern).model;
  CHECK(letters(hybrid) == pattern);
  CHECK(parameters(hybrid) == 8'654'517'248);
  CHECK(parameters(read(eight + "--num-layers 56").model) == 8'236'999'680);
  // Nemotron-H 8B (arXiv 2504.03624): 8.1B; its config.json is the same model
  auto const nemotron = read(eight +
                             "--ffn-hidden-size 21504 --mamba-num-heads 128 --vocab-size 131072 --squared-relu "
                             "--hybrid-layer-pattern M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-")
                            .model;
  CHECK(parameters(nemotron) == 8'100'852'736);
  auto const file = read_model_config(
      R"({"model_type": "nemotron_h", "hidden_size": 4096, "intermediate_size": 21504, "num_attention_heads": 32, "num_key_value_heads": 8,
          "head_dim": 128, "vocab_size": 131072, "ssm_state_size": 128, "conv_kernel": 4, "n_groups": 8, "mamba_num_heads": 128,
          "mamba_head_dim": 64, "hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"})",
      "config.json");
  CHECK(nemotron == file.language);
}

TEST_CASE("megatron_pattern: experts, linear attention and state spaces of flags") {
  auto const nano = read(eight +
                         "--hidden-size 2688 --ffn-hidden-size 1856 --num-query-groups 2 --kv-channels 128 --mamba-num-heads 64 "
                         "--mamba-head-dim 64 --vocab-size 131072 --squared-relu --num-experts 128 --moe-router-topk 6 "
                         "--moe-shared-expert-intermediate-size 3712 --moe-router-enable-expert-bias "
                         "--hybrid-layer-pattern MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME");
  CHECK(parameters(nano.model) == 31'577'940'288);  // Nemotron 3 Nano 30B-A3B
  CHECK(nano.model.ffn == 0);
  auto const m = read(tiny +
                      "--hybrid-layer-pattern MG-*E --num-experts 4 --mamba-state-dim 32 --linear-num-value-heads 4 "
                      "--linear-num-key-heads 2 --linear-key-head-dim 8 --linear-value-head-dim 16 --linear-conv-kernel-dim 3")
                     .model;
  CHECK(letters(m) == "MG-*E");
  CHECK((m.space.heads == 8 && m.space.head_width == 16 && m.space.state == 32 && m.space.groups == 2 && m.space.chunk == 128));
  CHECK((m.linear.value_heads == 4 && m.linear.key_heads == 2 && m.linear.key_width == 8 && m.linear.value_width == 16));
  CHECK((m.linear.kernel == 3 && m.ffn == 256 && m.experts == 4 && m.norms == 1));
  CHECK(read(tiny + "--hybrid-layer-pattern M*- --num-experts 4").model.experts == 0);
}

TEST_CASE("megatron_pattern: the program, or a key of NeMo, says that a model has state spaces") {
  auto const flags = std::string(
      "--num-layers 4 --hidden-size 64 --num-attention-heads 4 --micro-batch-size 1 --seq-length 128 "
      "--vocab-size 1000 --mamba-head-dim 16 --bf16");
  for (auto const* const program : {"pretrain_mamba.py", "pretrain_hybrid.py"})
    CHECK(letters(read("torchrun --nproc_per_node 1 " + std::string(program) + " " + flags).model) == "MMMM");
  CHECK(read("torchrun --nproc_per_node 1 pretrain_gpt.py " + flags).model.space.layers == ballast::layer_set());
  auto const nemo = read_framework_setting(
      "name: megatron_mamba\ntrainer:\n  devices: 8\n  num_nodes: 1\n  precision: bf16\nmodel:\n  micro_batch_size: 1\n"
      "  global_batch_size: 8\n  tensor_model_parallel_size: 1\n  hybrid_override_pattern: null\n  vocab_size: 256000\n"
      "  encoder_seq_length: 4096\n  position_embedding_type: none\n  num_layers: 56\n  add_bias_linear: false\n"
      "  mamba_ssm_ngroups: 4\n  hidden_size: 4096\n  num_attention_heads: 32\n",
      "mamba.yaml", {});
  CHECK((letters(nemo.model) == std::string(56, 'M') && nemo.model.space.groups == 4));
}

TEST_CASE("megatron_pattern: linear attention without a pattern is that of Qwen3-Next", "[published]") {
  auto const next =
      "--hidden-size 2048 --num-layers 48 --num-attention-heads 16 --num-query-groups 2 --kv-channels 256 --vocab-size 151936 --swiglu "
      "--attention-output-gate --qk-layernorm --num-experts 512 --moe-router-topk 10 --moe-ffn-hidden-size 512 "
      "--moe-shared-expert-intermediate-size 512 --moe-shared-expert-gate --experimental-attention-variant gated_delta_net "
      "--linear-num-key-heads 16 --linear-num-value-heads 32 --linear-key-head-dim 128 --linear-value-head-dim 128 --seq-length 4096 "
      "--linear-conv-kernel-dim 4 --micro-batch-size 1 --untie-embeddings-and-output-weights --disable-bias-linear --bf16 "
      "--normalization RMSNorm --group-query-attention --position-embedding-type rope --make-vocab-size-divisible-by 1 ";
  auto const run = std::string("torchrun --nproc_per_node 8 pretrain_gpt.py ") + next;
  auto const model = read(run + "--linear-attention-freq 4").model;
  CHECK(parameters(model) == 79'674'391'296);
  for (std::int64_t l = 0; l < 48; ++l) CHECK(model.linear.layers.contains(l) == (l % 4 != 3));
  CHECK(read(run + "--linear-attention-freq ([1]*3+[0]*1)*12").model == model);
  CHECK(refused(run).find("experimental_attention_variant = gated_delta_net needs linear_attention_freq") != std::string::npos);
}

TEST_CASE("megatron_pattern: ratios spread layers evenly") {
  auto const of = [](std::int64_t layers, std::string const& attention, std::string const& ffn) {
    return letters(
        read(tiny + "--num-layers " + std::to_string(layers) + " --hybrid-attention-ratio " + attention + " --hybrid-mlp-ratio " + ffn)
            .model);
  };
  CHECK(of(10, "0.2", "0") == "MMM*MM*MMM");
  CHECK(of(8, "0.125", "0.5") == "M-M-*-M-");
  CHECK(of(56, "0.07", "0.5") == "M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-");  // the hybrid of 8.7B
  for (std::int64_t layers = 1; layers < 40; ++layers)
    for (auto const share : {0.0, 0.1, 0.25, 0.5}) {
      auto const is = of(layers, std::to_string(share), std::to_string(share));
      auto const count = [&](char c) {
        std::int64_t n = 0;
        for (auto const l : is) n += l == c ? 1 : 0;
        return n;
      };
      CAPTURE(layers, share, is);
      CHECK(count('*') == static_cast<std::int64_t>(std::nearbyint(static_cast<double>(layers) * share)));
      CHECK(count('-') <= static_cast<std::int64_t>(std::nearbyint(static_cast<double>(layers) * share)));
    }
}

TEST_CASE("megatron_pattern: bars part the stages, and slashes the layers for multi-token prediction") {
  auto const cut = read(tiny + "--hybrid-layer-pattern 'M-|M*-M|-M|*-' --pipeline-model-parallel-size 2");
  CHECK(cut.setting.boundaries == std::vector<std::uint32_t>{0, 3, 7, 9, 12});  // the embedding and the head are layers there
  auto const* const interleaved = std::get_if<ballast::interleaved_schedule>(&cut.setting.pipeline.schedule);
  REQUIRE(interleaved != nullptr);
  CHECK(interleaved->chunks == 2);
  auto const mtp = read(tiny + "--hybrid-layer-pattern M*M-/*-/*-");
  CHECK((letters(mtp.model) == "M*M-" && mtp.model.mtp_layers == 2));
  CHECK(has_note(mtp, "a layer for multi-token prediction has the blocks *-, and is counted as one like the last layer"));
  CHECK_FALSE(has_note(read(tiny + "--hybrid-layer-pattern M*M-/-"), "multi-token"));
}

TEST_CASE("megatron_pattern: a pattern that beats num_layers says so, and what cannot be read is refused") {
  CHECK(has_note(read(tiny + "--num-layers 3 --hybrid-layer-pattern M*M-"),
                 "hybrid_layer_pattern has 4 layers, and num_layers = 3 is not read; versions before 2026 end there"));
  CHECK_FALSE(has_note(read(tiny + "--num-layers 4 --hybrid-layer-pattern M*M-"), "num_layers"));
  struct {
    char const* flags;
    char const* why;
  } const bad[]{
      {"--hybrid-layer-pattern M+M", "has layers of +, whose latent attention is not modelled beside state spaces"},
      {"--hybrid-layer-pattern MxM", "has the letter x, which is none of M, G, *, -, E and |"},
      {"--hybrid-layer-pattern ME", "has layers with experts (E), and num_experts is missing"},
      {"--hybrid-layer-pattern M* --hybrid-override-pattern M*", "is the older name of hybrid_layer_pattern"},
      {"--num-layers 8 --hybrid-attention-ratio 0.6 --hybrid-mlp-ratio 0.6", "are above 1 together"},
      {"--hybrid-layer-pattern 'M|*|M' --pipeline-model-parallel-size 2", "has 3 parts, which are no multiple of the 2 stages"},
      {"--hybrid-layer-pattern 'M|*' --pipeline-model-parallel-size 2 --num-layers-per-virtual-pipeline-stage 1", "has bars"},
      {"--mamba-num-heads 8", "num_layers or hybrid_layer_pattern is missing"},
      {"--hybrid-layer-pattern M* --mamba-num-heads 7", "space.groups = 2 must divide space.heads = 7"},
  };
  for (auto const& b : bad) {
    CAPTURE(b.flags);
    CHECK(refused(tiny + b.flags).find(b.why) != std::string::npos);
  }
}

}  // namespace test_cli_megatron_pattern
