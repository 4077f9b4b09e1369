// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/math.hpp>
#include <ballast/cost/layer_set.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/training_setting.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

// Peaks of published runs, byte by byte. Those that Megatron-LM's functional tests record (`tests/functional_tests`, commit d98e8a64dd) are
// bytes on the last rank of 8 GPUs. The log has two counters of PyTorch's allocator: its peak, and what is allocated at the end of a step,
// of which the largest behind the first step is taken here.

namespace ballast_test {

/// A run, what it measured, and how far the model may be from it.
struct peak_row {
  std::string_view name;
  ballast::transformer model;
  ballast::training_setting by;
  bool hopper;
  std::int64_t peak, between_steps;  ///< measured
  double window = 0.05;              ///< most relative error of the peak
  bool below = false;                ///< whether the peak may not be above the measured one
  double window_between = 0.03;      ///< most relative error of states and workspace
  std::int64_t fixed = 0;            ///< bytes of the process that no tensor has, if the total of a process was measured
};

/// Flags that decide memory, with the values of most of the tests.
struct run_flags {
  std::int64_t tensor = 1, stages = 1, context = 1, expert = 1, expert_tensor = 0;
  bool sequence_parallel = false, distributed = false, unfused = true;
  std::int64_t micro_batch = 4, global_batch = 32, sequence = 1024, gpus = 8;
  std::vector<std::int64_t> layers{};  ///< of each chunk, if they are not equal
  std::int64_t chunks = 1;             ///< of a stage
  ballast::kernel_setting kernels{};
  ballast::head_loss loss{};
  ballast::recompute_setting recompute{};
  ballast::optimizer optimizer = ballast::optimizer_named("adam");
};

/// The setting of flags for a model, which says how many layers there are.
[[nodiscard]] inline ballast::training_setting setting_of_run(run_flags f, ballast::transformer const& model) {
  using namespace ballast;
  auto const ranks = f.gpus / (f.tensor * f.stages * f.context);
  training_setting out;
  out.model = {.spread = {.tensor = f.tensor,
                          .context = f.context,
                          .data = ranks * f.context,
                          .sequence_parallel = f.sequence_parallel && f.tensor > 1,
                          .zero = f.distributed ? 1 : 0},
               .expert = f.expert,
               .expert_tensor = f.expert_tensor,
               .optimizer = f.optimizer,
               .framework = framework_named("megatron"),
               .loss = f.loss,
               .attention = f.unfused ? attention_kernel::stored_scores : attention_kernel::fused,
               .kernels = f.kernels};
  out.pipeline.stages = static_cast<std::uint64_t>(f.stages);
  if (f.chunks > 1) out.pipeline.schedule = interleaved_schedule{.chunks = static_cast<std::uint64_t>(f.chunks)};
  if (!f.layers.empty()) out.boundaries = cut_by_layers(model, f.layers);
  out.recompute = f.recompute;
  out.sequence = f.sequence;
  out.micro_batch = f.micro_batch;
  out.micro_batches = f.global_batch / (f.micro_batch * ranks);
  return out;
}

/// The vocabulary as Megatron-LM pads it: to a multiple of 128 rows for each tensor-parallel device.
[[nodiscard]] constexpr std::int64_t padded(std::int64_t vocabulary, std::int64_t tensor, std::int64_t multiple = 128) {
  return ballast::round_up(vocabulary, multiple * tensor);
}

/// The GPT of most tests: 12 layers, learned positions, a tied head.
[[nodiscard]] inline ballast::transformer small_gpt(std::int64_t tensor, bool biases = true) {
  return {.layers = 12,
          .hidden = 512,
          .query_heads = 8,
          .kv_heads = 8,
          .head_width = 64,
          .ffn = 2048,
          .gated = false,
          .vocabulary = padded(50257, tensor),
          .tied = true,
          .positions = 1024,
          .qkv_bias = biases,
          .output_bias = biases,
          .ffn_bias = biases,
          .norm_bias = true};
}
/// The same with experts in all layers, and without biases.
[[nodiscard]] inline ballast::transformer small_experts(std::int64_t tensor, std::int64_t experts, std::int64_t active) {
  auto out = small_gpt(tensor, false);
  out.experts = experts;
  out.active_experts = active;
  out.expert_ffn = out.ffn;
  return out;
}
/// The latent attention of the tests with DeepSeek-V3's blocks: 32 heads and 32 experts, of which the first three layers have none.
[[nodiscard]] inline ballast::transformer small_deepseek(std::int64_t layers, std::int64_t mtp) {
  return {.layers = layers,
          .hidden = 1024,
          .query_heads = 32,
          .kv_heads = 32,
          .head_width = 192,
          .ffn = 4096,
          .vocabulary = padded(50257, 2, 3232),
          .kv_rank = 512,
          .q_rank = 1536,
          .rope_width = 64,
          .v_width = 128,
          .experts = 32,
          .active_experts = 4,
          .expert_ffn = 1024,
          .shared_ffn = 1024,
          .expert_layers = ballast::layer_set::from(3),
          .mtp_layers = mtp,
          .router_bias = true};
}

/// The 31 rows that the model was built with.
[[nodiscard]] inline std::vector<peak_row> megatron_peaks() {
  using namespace ballast;
  using enum recompute_module;
  using enum head_loss::kind;
  auto const dropout = kernel_setting{.hidden_dropout = true, .attention_dropout = true, .loader_mask = true, .large_cublas = true};
  auto const without_dropout = kernel_setting{.loader_mask = true, .large_cublas = true};
  auto const with = [](kernel_setting kernels, auto const& change) {
    change(kernels);
    return kernels;
  };
  std::vector<peak_row> out;
  // `window` 0.02 is for dense models, which may not be above what was measured
  auto const add = [&](char const* name, transformer const& model, run_flags const& flags, bool hopper, std::int64_t peak,
                       std::int64_t between, double window = 0.02, double window_between = 0.03) {
    out.push_back({.name = name,
                   .model = model,
                   .by = setting_of_run(flags, model),
                   .hopper = hopper,
                   .peak = peak,
                   .between_steps = between,
                   .window = window,
                   .below = window < 0.05,
                   .window_between = window_between});
  };
  constexpr bool h100 = true, a100 = false;
  constexpr double mixture = 0.05, loose = 0.12;

  transformer const seven{.layers = 32,
                          .hidden = 4096,
                          .query_heads = 32,
                          .kv_heads = 8,
                          .head_width = 128,
                          .ffn = 16384,
                          .gated = false,
                          .vocabulary = padded(131074, 4),
                          .positions = 8192,
                          .qkv_bias = true,
                          .output_bias = true,
                          .ffn_bias = true,
                          .norm_bias = true};
  add("7B, TP 4", seven,
      {.tensor = 4, .distributed = true, .unfused = false, .micro_batch = 2, .global_batch = 8, .sequence = 8192, .kernels = dropout}, h100,
      57143791616, 20663519232);

  recompute_setting const latent{.what = recompute_setting::kind::modules, .modules = {layernorm, mla_up_projection, mlp, moe_activation}};
  auto const deepseek = with(without_dropout, [](kernel_setting& k) { k.grouped_gemm = k.dummy_gradients = true; });
  auto const overlapped = with(deepseek, [](kernel_setting& k) { k.expert_overlap = true; });
  auto const moved = [&](kernel_setting kernels) {
    kernels.moved = offload_set_named("expert_fc1,moe_act,attn_norm,mlp_norm,qkv_linear,core_attn,attn_proj");
    return kernels;
  };
  run_flags two{.tensor = 2,
                .stages = 2,
                .expert = 4,
                .expert_tensor = 1,
                .sequence_parallel = true,
                .distributed = true,
                .sequence = 4096,
                .layers = {3, 2, 2, 2, 2, 2, 2, 1},
                .chunks = 4,
                .kernels = overlapped,
                .loss = {.how = native},
                .recompute = latent};
  add("latent attention, 16 layers, TP 2, PP 2, EP 4, MTP, overlap", small_deepseek(16, 1), two, h100, 49211260928, 6025470464, mixture,
      loose);
  two.micro_batch = 1;
  two.global_batch = 8;
  two.layers.back() = 0;
  two.loss = {};
  two.kernels = moved(overlapped);
  add("the same, 15 layers, offloading", small_deepseek(15, 1), two, h100, 8320577024, 5290499584, mixture);
  two.kernels = moved(deepseek);
  add("the same, without MTP and overlap", small_deepseek(15, 0), two, h100, 7156871168, 4313448448, mixture);

  add("12 layers", small_gpt(1), {.distributed = true, .kernels = dropout}, h100, 4702430720, 581489664);
  auto const unfused_experts = with(dropout, [](kernel_setting& k) { k.fused_activation = false; });
  auto const grouped = with(unfused_experts, [](kernel_setting& k) { k.grouped_gemm = true; });
  add("8 experts, top 2, TP 2, EP 4, ETP 1, overlap", small_experts(2, 8, 2),
      {.tensor = 2,
       .expert = 4,
       .expert_tensor = 1,
       .sequence_parallel = true,
       .kernels = with(grouped, [](kernel_setting& k) { k.expert_overlap = true; })},
      h100, 4065854464, 1564133888, mixture);
  add("12 layers, PP 4, 3 chunks", small_gpt(1), {.stages = 4, .distributed = true, .chunks = 3, .kernels = dropout}, a100, 3912607232,
      522845696, 0.02, loose);
  auto const local = with(dropout, [](kernel_setting& k) { k.engine = false; });
  add("12 layers, local kernels, PP 2", small_gpt(1), {.stages = 2, .kernels = local}, h100, 3633177600, 948653056);
  add("8 experts, top 1, TP 2, EP 2, grouped", small_experts(2, 8, 1),
      {.tensor = 2, .expert = 2, .sequence_parallel = true, .distributed = true, .kernels = grouped}, h100, 3300554752, 1027094016,
      mixture);
  add("8 experts, top 1, TP 2, EP 2", small_experts(2, 8, 1),
      {.tensor = 2, .expert = 2, .sequence_parallel = true, .distributed = true, .kernels = unfused_experts}, a100, 3099980800, 865128960,
      mixture);
  auto gated = small_experts(1, 4, 1);
  gated.layers = 4;
  gated.gated = true;
  gated.ffn = gated.expert_ffn = 1344;
  add("4 layers, 4 gated experts", gated,  // the flag against fusion is for GELU alone
      {.unfused = false, .kernels = with(dropout, [](kernel_setting& k) { k.grouped_gemm = true; })}, h100, 2956330496, 1384147968,
      mixture);
  add("12 layers, local kernels, PP 4", small_gpt(1), {.stages = 4, .kernels = local}, h100, 2746575872, 778948608);
  add("12 layers, PP 4", small_gpt(1), {.stages = 4, .sequence_parallel = true, .kernels = dropout}, a100, 2685758976, 719180288);
  auto untied = small_gpt(1);
  untied.tied = false;
  add("12 layers, untied, PP 4", untied, {.stages = 4, .kernels = dropout}, a100, 2685758976, 719180288);
  add("12 layers, no biases, PP 4", small_gpt(1, false), {.stages = 4, .kernels = dropout}, a100, 2685510144, 718931456);
  add("12 layers, TP 2, two groups of the optimiser", small_gpt(2),
      {.tensor = 2, .distributed = true, .kernels = with(dropout, [](kernel_setting& k) { k.instances = 2; })}, a100, 2658182656,
      462388736);
  add("12 layers, all recomputed", small_gpt(1), {.kernels = dropout, .recompute = {.what = recompute_setting::kind::uniform}}, a100,
      2534070272, 1232487936);
  add("12 layers, untied, PP 4, 2 layers on the last stage", untied, {.stages = 4, .layers = {2, 4, 4, 2}, .kernels = dropout}, h100,
      2415566336, 688128512);

  transformer const sharded{.layers = 2,
                            .hidden = 512,
                            .query_heads = 8,
                            .kv_heads = 8,
                            .head_width = 192,
                            .ffn = 2048,
                            .vocabulary = padded(50257, 1, 64),
                            .kv_rank = 128,
                            .q_rank = 256,
                            .rope_width = 64,
                            .v_width = 128,
                            .experts = 8,
                            .active_experts = 4,
                            .expert_ffn = 1024,
                            .shared_ffn = 1024,
                            .expert_layers = layer_set::from(1),
                            .router_bias = true};
  add("latent attention, Megatron-FSDP, EP 2, overlap", sharded,
      {.expert = 2,
       .expert_tensor = 1,
       .kernels = with(without_dropout, [](kernel_setting& k) { k.grouped_gemm = k.expert_overlap = true; })},
      h100, 2219356672, 512979456, mixture, loose);
  out.back().by.model.spread.zero = 3;

  auto const local_experts = with(unfused_experts, [](kernel_setting& k) { k.engine = false; });
  add("4 experts, local kernels, TP 2, PP 2, EP 2", small_experts(2, 4, 1),
      {.tensor = 2, .stages = 2, .expert = 2, .sequence_parallel = true, .kernels = local_experts}, h100, 2110856192, 659277824, mixture,
      loose);
  auto const flash_experts = with(without_dropout, [](kernel_setting& k) { k.fused_activation = false, k.flash = true; });
  add("4 experts, CP 2, PP 2, EP 2", small_experts(1, 4, 1),
      {.stages = 2, .context = 2, .expert = 2, .unfused = false, .kernels = flash_experts}, h100, 2051724288, 1144116224, mixture);
  add("12 layers, TP 2, PP 2", small_gpt(2), {.tensor = 2, .stages = 2, .kernels = dropout}, a100, 1900158464, 487096832);
  add("12 layers, TP 2, PP 2, no mask from the loader", small_gpt(2),
      {.tensor = 2, .stages = 2, .kernels = with(dropout, [](kernel_setting& k) { k.loader_mask = false; })}, a100, 1898061312, 488145408);
  auto normalised = small_gpt(4);
  normalised.qk_norm = 256;
  add("12 layers, norms of q and k, TP 4", normalised, {.tensor = 4, .kernels = dropout}, a100, 1643008512, 368387584);
  add("12 layers, TP 4", small_gpt(4), {.tensor = 4, .distributed = true, .kernels = dropout}, h100, 1543416320, 299728384);

  auto eight_bits = small_experts(4, 8, 2);
  eight_bits.layers = 13;
  eight_bits.tied = false;
  eight_bits.positions = 0;
  eight_bits.expert_ffn = 1024;
  eight_bits.shared_ffn = 512;
  eight_bits.expert_layers = layer_set::from(4);
  eight_bits.mtp_layers = 1;
  add("13 layers, 8 experts, FP8, MTP, TP 4, PP 2, EP 2, ETP 2, CUDA graphs", eight_bits,
      {.tensor = 4,
       .stages = 2,
       .expert = 2,
       .expert_tensor = 2,
       .sequence_parallel = true,
       .distributed = true,
       .unfused = false,
       .micro_batch = 2,
       .layers = {1, 2, 2, 2, 2, 2, 2, 0},
       .chunks = 4,
       .kernels = with(without_dropout, [](kernel_setting& k) { k.fused_activation = false, k.grouped_gemm = k.fp8 = true; }),
       .recompute = {.what = recompute_setting::kind::modules, .modules = {moe_activation}}},
      h100, 1150597632, 808786944, mixture, loose);
  add("4 experts, TP 2, CP 2, PP 2, EP 2", small_experts(2, 4, 1),
      {.tensor = 2,
       .stages = 2,
       .context = 2,
       .expert = 2,
       .sequence_parallel = true,
       .unfused = false,
       .kernels = with(flash_experts, [](kernel_setting& k) { k.hidden_dropout = k.attention_dropout = true; })},
      h100, 1114442240, 627720192, mixture);
  run_flags const three{.tensor = 2,
                        .stages = 2,
                        .context = 2,
                        .sequence_parallel = true,
                        .unfused = false,
                        .kernels = with(without_dropout, [](kernel_setting& k) { k.flash = true; })};
  add("12 layers, TP 2, PP 2, CP 2", small_gpt(2), three, h100, 937350656, 512786944);
  add("the same, loss by token, nondeterministic", small_gpt(2), three, h100, 935777792, 511214080);
  add("the same, nondeterministic", small_gpt(2), three, h100, 935777792, 511214080);
  auto rms = small_gpt(2);
  rms.norm_bias = false;
  add("12 layers, FP8, TP 2, PP 2, overlap of TP", rms,
      {.tensor = 2,
       .stages = 2,
       .sequence_parallel = true,
       .distributed = true,
       .unfused = false,
       .micro_batch = 2,
       .global_batch = 128,
       .kernels = with(dropout, [](kernel_setting& k) { k.fp8 = k.tensor_overlap = true; })},
      h100, 883747328, 476258816);
  return out;
}

/// Large runs of Megatron-Bridge, on H100: the largest peak of all stages, in bytes of the rounded GiB. Windows are 1.5 times the error
/// that the model was published with, and at least 3 %.
[[nodiscard]] inline std::vector<peak_row> bridge_peaks() {
  using namespace ballast;
  using enum recompute_module;
  using enum recompute_setting::kind;
  std::vector<peak_row> out;
  auto const add = [&](char const* name, transformer const& model, run_flags const& flags, std::int64_t peak, double window) {
    out.push_back({.name = name,
                   .model = model,
                   .by = setting_of_run(flags, model),
                   .hopper = true,
                   .peak = peak,
                   .between_steps = 0,
                   .window = window});
  };
  auto adam = optimizer_named("adam-bf16-gradients");
  transformer const qwen{.layers = 48,
                         .hidden = 2048,
                         .query_heads = 32,
                         .kv_heads = 4,
                         .head_width = 128,
                         .ffn = 6144,
                         .vocabulary = padded(151936, 1),
                         .experts = 128,
                         .active_experts = 8,
                         .expert_ffn = 768,
                         .qk_norm = 256};
  kernel_setting const grouped{.grouped_gemm = true, .dummy_gradients = true};
  add("Qwen3-30B-A3B, EP 16", qwen,
      {.expert = 16,
       .expert_tensor = 1,
       .distributed = true,
       .unfused = false,
       .micro_batch = 1,
       .global_batch = 1024,
       .sequence = 4096,
       .gpus = 16,
       .kernels = grouped,
       .loss = {.how = head_loss::kind::in_place},
       .optimizer = adam},
      61'350'000'000, 0.03);

  transformer const moonlight{.layers = 27,
                              .hidden = 2048,
                              .query_heads = 16,
                              .kv_heads = 16,
                              .head_width = 192,
                              .ffn = 11264,
                              .vocabulary = padded(163840, 2),
                              .kv_rank = 512,
                              .rope_width = 64,
                              .v_width = 128,
                              .experts = 64,
                              .active_experts = 6,
                              .expert_ffn = 1408,
                              .shared_ffn = 2816,
                              .expert_layers = layer_set::from(1),
                              .router_bias = true};
  adam.state.optimizer = 8;  // float32 parameters, moments in 16 bits
  run_flags eight{.tensor = 2,
                  .expert = 8,
                  .expert_tensor = 1,
                  .sequence_parallel = true,
                  .distributed = true,
                  .unfused = false,
                  .micro_batch = 1,
                  .global_batch = 4,
                  .sequence = 4096,
                  .kernels = grouped,
                  .loss = {.how = head_loss::kind::in_place},
                  .optimizer = adam};
  add("Moonlight-16B, TP 2, EP 8", moonlight, eight, 36'618'000'000, 0.078);
  auto const recomputing = [&](char const* name, module_set set, std::int64_t peak, double window) {
    eight.recompute = {.what = modules, .modules = set};
    add(name, moonlight, eight, peak, window);
  };
  recomputing("the same, mla_up_proj", {mla_up_projection}, 35'902'000'000, 0.09);
  recomputing("the same, mla_up_proj and mlp", {mla_up_projection, mlp}, 35'917'000'000, 0.098);
  recomputing("the same, moe_act", {moe_activation}, 35'941'000'000, 0.09);
  recomputing("the same, moe_act and layernorm", {moe_activation, layernorm}, 35'949'000'000, 0.11);

  transformer const deepseek{.layers = 14,
                             .hidden = 7168,
                             .query_heads = 128,
                             .kv_heads = 128,
                             .head_width = 192,
                             .ffn = 18432,
                             .vocabulary = padded(129280, 1),
                             .kv_rank = 512,
                             .q_rank = 1536,
                             .rope_width = 64,
                             .v_width = 128,
                             .experts = 256,
                             .active_experts = 8,
                             .expert_ffn = 2048,
                             .shared_ffn = 2048,
                             .expert_layers = layer_set::from(3),
                             .mtp_layers = 1};
  run_flags fourteen{.stages = 4,
                     .expert = 16,
                     .expert_tensor = 1,
                     .distributed = true,
                     .unfused = false,
                     .micro_batch = 1,
                     .global_batch = 256,
                     .sequence = 2048,
                     .gpus = 64,
                     .layers = {2, 2, 2, 2, 2, 2, 2, 0},
                     .chunks = 2,
                     .kernels = grouped};
  add("DeepSeek-V3 of 14 layers, PP 4, EP 16", deepseek, fourteen, 68'704'000'000, 0.056);
  fourteen.recompute = {.what = uniform};
  add("the same, all recomputed", deepseek, fourteen, 60'154'000'000, 0.03);

  transformer const llama{
      .layers = 80, .hidden = 8192, .query_heads = 64, .kv_heads = 8, .head_width = 128, .ffn = 28672, .vocabulary = padded(128256, 4)};
  auto const seventy = [&](char const* name, std::int64_t tensor, std::int64_t stages, std::int64_t chunks, std::int64_t peak,
                           double window) {
    add(name, llama,
        {.tensor = tensor,
         .stages = stages,
         .sequence_parallel = true,
         .distributed = true,
         .unfused = false,
         .micro_batch = 1,
         .global_batch = 32,
         .sequence = 4096,
         .gpus = 32,
         .chunks = chunks,
         .kernels = {.fp8 = true, .dummy_gradients = true},
         .loss = {.how = head_loss::kind::in_place},
         .optimizer = optimizer_named("adam-bf16-gradients")},
        peak, window);
  };
  seventy("Llama-3-70B, fine-tuned in FP8, TP 4, PP 4, 5 chunks", 4, 4, 5, 58'800'000'000, 0.25);
  seventy("the same, 10 chunks", 4, 4, 10, 60'200'000'000, 0.175);
  seventy("the same, PP 8, 5 chunks", 4, 8, 5, 53'200'000'000, 0.25);
  seventy("the same, TP 8, PP 4, 5 chunks", 8, 4, 5, 50'200'000'000, 0.065);
  return out;
}

/// A row's window is 1.5 times the error that the model was published with, and at least 3 %.
///
/// torchtune's recipes on one GPU, Llama-3.2-3B and Llama-3.1-8B, bf16 with AdamW in bf16, packed: allocated bytes.
[[nodiscard]] inline std::vector<peak_row> torchtune_peaks() {
  using namespace ballast;
  std::vector<peak_row> out;
  auto const from_gib = [](double of) { return static_cast<std::int64_t>(of * 1024 * 1024 * 1024); };
  transformer const three{
      .layers = 28, .hidden = 3072, .query_heads = 24, .kv_heads = 8, .head_width = 128, .ffn = 8192, .vocabulary = 128256, .tied = true};
  auto const& eight = transformer_preset("llama-3.1-8b");
  optimizer const adam{.name = "adam in 16 bits", .state = {.parameter = 2, .gradient = 2, .optimizer = 4}};
  training_setting by;
  by.model = {.optimizer = adam, .framework = framework_named("eager"), .kernels = {.repeated_keys = true}};
  by.micro_batch = 2;
  by.sequence = 4096;
  auto const add = [&](char const* name, transformer const& model, double measured, double window) {
    out.push_back(
        {.name = name, .model = model, .by = by, .hopper = true, .peak = from_gib(measured), .between_steps = 0, .window = window});
  };
  add("3B, 2 x 4,096, eager", three, 60.0, 0.03);
  by.model.framework = framework_named("compiled");
  add("the same, compiled", three, 51.0, 0.048);
  by.model.loss = {.how = head_loss::kind::chunked, .chunks = 8};
  add("the same, and a loss of 8 chunks", three, 42.9, 0.099);
  by.recompute = {.what = recompute_setting::kind::uniform};
  add("the same, and all recomputed", three, 24.9, 0.03);
  by.model.kernels.step_in_backward = true;
  add("the same, and the optimiser in the backward pass", three, 23.1, 0.042);
  by.model.kernels.offload_all = true;
  add("the same, and activations on the host", three, 21.8, 0.047);
  by.model.kernels.step_in_backward = false;
  by.model.language = {.what = trained::low_rank, .rank = 8};
  add("LoRA, compiled, chunks, recomputed, on the host", three, 8.5, 0.03);
  by.model.language.quantised = true;
  add("QLoRA, the same", three, 4.6, 0.03);
  by.sequence = 2048;
  by.model.kernels.offload_all = false;
  add("8B, QLoRA, 2 x 2,048, the same", eight, 7.4, 0.048);
  by.model.language.quantised = false;
  add("8B, LoRA, 2 x 2,048, the same", eight, 16.2, 0.1);

  // fsdp_qlora: Llama-2-7B on two GPUs under FSDP, allocated bytes
  transformer const seven{
      .layers = 32, .hidden = 4096, .query_heads = 32, .kv_heads = 32, .head_width = 128, .ffn = 11008, .vocabulary = 32000};
  by = {};
  by.model = {.spread = {.data = 2, .zero = 3},
              .optimizer = adam,
              .framework = framework_named("eager"),
              .language = {.what = trained::low_rank, .rank = 64}};
  by.recompute = {.what = recompute_setting::kind::uniform};
  by.sequence = 512;
  add("Llama-2-7B, LoRA 64, FSDP 2, 512", seven, 8.28, 0.03);
  by.sequence = 2048;
  add("Llama-2-7B, LoRA 64, FSDP 2, 2,048", seven, 9.16, 0.06);
  return out;
}

/// litgpt's configurations on one A10G, bf16 with AdamW in bf16, samples of up to 512 tokens (config_hub/finetune): allocated bytes, in
/// units of 10^9. Adapters have rank 32 and dropout; the loss is one of 16 bits, in chunks of 128 tokens of each sample. The head's adapter
/// of the last row, 2 MB, is not counted.
[[nodiscard]] inline std::vector<peak_row> litgpt_peaks() {
  using namespace ballast;
  std::vector<peak_row> out;
  auto const add = [&](char const* name, transformer const& model, trainable const& language, std::int64_t samples, std::int64_t batches,
                       double measured, double window) {
    training_setting by;
    by.model = {.optimizer = optimizer_named("adam-bf16"),
                .framework = framework_named("eager"),
                .loss = {.how = head_loss::kind::sixteen_bits, .chunks = 4},
                .kernels = {.repeated_keys = true, .float_norms = true, .fused_queries = true, .adapter_dropout = true},
                .language = language};
    by.micro_batch = samples;
    by.micro_batches = batches;
    by.sequence = 512;
    out.push_back({.name = name,
                   .model = model,
                   .by = by,
                   .hopper = false,
                   .peak = static_cast<std::int64_t>(measured * 1e9),
                   .between_steps = 0,
                   .window = window});
  };
  transformer const mistral{
      .layers = 32, .hidden = 4096, .query_heads = 32, .kv_heads = 8, .head_width = 128, .ffn = 14336, .vocabulary = 32000};
  transformer const seven{
      .layers = 32, .hidden = 4096, .query_heads = 32, .kv_heads = 32, .head_width = 128, .ffn = 11008, .vocabulary = 32000};
  transformer const tiny{
      .layers = 22, .hidden = 2048, .query_heads = 32, .kv_heads = 4, .head_width = 64, .ffn = 5632, .vocabulary = 32000};
  trainable const few{.what = trained::low_rank, .rank = 32, .matrices = adapted_matrices::queries_and_values};
  add("Llama-3-8B, LoRA 32 of q and v, 1 x 512", transformer_preset("llama-3.1-8b"), few, 1, 8, 19.73, 0.07);
  add("Mistral-7B, LoRA 32 of q and v, 2 x 512", mistral, few, 2, 4, 20.66, 0.07);
  add("Llama-2-7B, LoRA 32 of q and v, 2 x 512", seven, few, 2, 4, 19.77, 0.07);
  add("TinyLlama-1.1B, all trained, 4 x 512", tiny, {}, 4, 8, 14.10, 0.07);
  add("TinyLlama-1.1B, LoRA 32, 8 x 512", tiny, {.what = trained::low_rank, .rank = 32}, 8, 1, 13.50, 0.07);
  return out;
}

/// Totals of a process on one GPU: Qwen's tables of LoRA and Q-LoRA with its own trainer. 4 GiB are those of the process, as in the table
/// of docs/footprint.md; they are not part of the model.
[[nodiscard]] inline std::vector<peak_row> qwen_totals() {
  using namespace ballast;
  std::vector<peak_row> out;
  auto const from_gib = [](double of) { return static_cast<std::int64_t>(of * 1024 * 1024 * 1024); };
  auto const& seven = transformer_preset("qwen-7b-chat");
  auto fourteen = seven;
  fourteen.layers = 40;
  fourteen.hidden = 5120;
  fourteen.query_heads = fourteen.kv_heads = 40;
  fourteen.ffn = 13696;
  fourteen.vocabulary = 152064;
  auto const add = [&](char const* name, transformer const& model, bool quantised, std::int64_t tokens, double measured, double window) {
    training_setting by;
    by.model = {.optimizer = {.name = "adam in 16 bits", .state = {.parameter = 2, .gradient = 2, .optimizer = 4}},
                .framework = framework_named("eager"),
                .loss = {.how = quantised ? head_loss::kind::sixteen_bits : head_loss::kind::returned},
                .language = {.what = trained::low_rank, .rank = 64, .quantised = quantised}};
    by.recompute = {.what = recompute_setting::kind::uniform};
    by.sequence = tokens;
    out.push_back({.name = name,
                   .model = model,
                   .by = by,
                   .hopper = true,
                   .peak = from_gib(measured),
                   .between_steps = 0,
                   .window = window,
                   .fixed = std::int64_t{4} << 30});
  };
  add("Qwen-7B, LoRA, 256", seven, false, 256, 20.1, 0.03);
  add("Qwen-7B, LoRA, 8,192", seven, false, 8192, 36.6, 0.051);
  add("Qwen-14B, LoRA, 256", fourteen, false, 256, 34.6, 0.078);
  add("Qwen-14B, LoRA, 8,192", fourteen, false, 8192, 55.2, 0.099);
  add("Qwen-7B, Q-LoRA, 256", seven, true, 256, 11.5, 0.072);
  add("Qwen-7B, Q-LoRA, 8,192", seven, true, 8192, 23.5, 0.104);
  return out;
}

/// torchtitan on H100 with 96 GB, Llama-3.1, FSDP2: reserved bytes, the largest of all GPUs.
[[nodiscard]] inline std::vector<peak_row> torchtitan_peaks() {
  using namespace ballast;
  using enum recompute_setting::kind;
  std::vector<peak_row> out;
  auto const from_gib = [](double of) { return static_cast<std::int64_t>(of * 1024 * 1024 * 1024); };
  auto const& adam = optimizer_named("adam-fp32");
  auto const add = [&](char const* name, char const* model, training_setting const& by, double measured, double window) {
    out.push_back({.name = name,
                   .model = transformer_preset(model),
                   .by = by,
                   .hopper = true,
                   .peak = from_gib(measured),
                   .between_steps = 0,
                   .window = window});
  };
  auto const fsdp = [&](std::int64_t data, std::int64_t tensor, std::int64_t context, recompute_setting recompute, std::int64_t samples,
                        std::int64_t tokens) {
    training_setting by;
    by.model = {.spread = {.tensor = tensor, .context = context, .data = data, .sequence_parallel = tensor > 1, .zero = 3},
                .optimizer = adam,
                .framework = framework_named("eager"),
                .loss = {.how = tensor > 1 ? head_loss::kind::parallel : head_loss::kind::plain},
                .kernels = {.stream_pools = true}};
    by.recompute = recompute;
    by.sequence = tokens;
    by.micro_batch = samples;
    return by;
  };
  add("8B, FSDP 8, 2 x 8,192, by operators", "llama-3.1-8b", fsdp(8, 1, 1, {.what = products}, 2, 8192), 82.4, 0.053);
  add("the same, compiled", "llama-3.1-8b", fsdp(8, 1, 1, {.what = products}, 2, 8192), 77.0, 0.05);
  add("8B, FSDP 128, 2 x 8,192, by operators", "llama-3.1-8b", fsdp(128, 1, 1, {.what = products}, 2, 8192), 67.0, 0.033);
  add("the same, compiled", "llama-3.1-8b", fsdp(128, 1, 1, {.what = products}, 2, 8192), 62.0, 0.086);
  add("8B, FSDP 8, 32,768, full", "llama-3.1-8b", fsdp(8, 1, 1, {.what = uniform}, 1, 32768), 83.9, 0.074);
  add("8B, CP 2, 65,536, full", "llama-3.1-8b", fsdp(8, 1, 2, {.what = uniform}, 1, 65536), 84.2, 0.078);
  add("8B, CP 4, 131,072, full", "llama-3.1-8b", fsdp(8, 1, 4, {.what = uniform}, 1, 131072), 84.0, 0.075);
  add("8B, CP 8, 262,144, full", "llama-3.1-8b", fsdp(8, 1, 8, {.what = uniform}, 1, 262144), 84.5, 0.084);
  add("70B, FSDP 32, TP 8, 16 x 8,192, full", "llama-3.1-70b", fsdp(32, 8, 1, {.what = uniform}, 16, 8192), 71.9, 0.24);
  add("the same, asynchronous TP", "llama-3.1-70b", fsdp(32, 8, 1, {.what = uniform}, 16, 8192), 67.6, 0.16);
  auto by = fsdp(8, 8, 1, {.what = uniform}, 4, 8192);
  by.pipeline.stages = 8;
  by.micro_batches = 8;
  add("405B, FSDP 8, TP 8, PP 8, 32 x 8,192, full", "llama-3.1-405b", by, 82.5, 0.105);
  auto interleaved = by;
  interleaved.pipeline.schedule = interleaved_schedule{.chunks = 2};
  interleaved.micro_batches = 16;
  interleaved.micro_batch = 2;
  add("the same, interleaved", "llama-3.1-405b", interleaved, 72.7, 0.05);
  by.micro_batch = 1;
  auto const context = [&](char const* name, std::int64_t degree, double measured, double window) {
    by.sequence = 32768 * degree;
    by.model.spread.context = degree;
    add(name, "llama-3.1-405b", by, measured, window);
  };
  context("405B, TP 8, PP 8, 8 x 32,768, full", 1, 75.3, 0.03);
  context("the same, CP 2", 2, 75.9, 0.03);
  context("the same, CP 4", 4, 77.1, 0.03);
  context("the same, CP 8", 8, 84.9, 0.146);
  return out;
}

}  // namespace ballast_test
