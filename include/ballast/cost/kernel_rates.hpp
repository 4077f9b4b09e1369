// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/device.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// @file
/// @brief `kernel_rates`: what kernels of a framework reach on a device, kind by kind, and what the host and the links cost.
///
/// Shares are in thousandths of what a datasheet prints, times in picoseconds. Each constant says where it comes from: [published] was
/// measured and printed by others, [fitted] was fitted to 276 published throughputs around a published value, [assumed] has no source.

namespace ballast::inline v0_2 {

/// @brief Whose kernels a framework runs.
enum class kernel_family : std::uint8_t {
  engine,    ///< Transformer Engine under Megatron-Core: fused operators, gradients added to float32 buffers inside matrix products
  compiled,  ///< `torch.compile`: operators fused by the compiler
  eager,     ///< PyTorch without compilation: one kernel for each operator
};

/// @brief The kernel that computes attention, where scores are not stored.
enum class attention_library : std::uint8_t {
  flash1,  ///< FlashAttention 1, as llm-foundry had it
  flash2,  ///< FlashAttention 2: `--attention-backend flash` before Hopper; PyTorch's `scaled_dot_product_attention`
  cudnn,   ///< cuDNN: `--attention-backend fused`, Transformer Engine's choice on Hopper and later
  flash3,  ///< FlashAttention 3
};

/// @brief The rate of attention: E l / (l + l0) FLOP/s at samples of l tokens. A sample takes c (l^2 + l0 l): a quadratic cost, exactly.
struct attention_curve {
  std::int64_t flops = 0;        ///< E: FLOP/s of endless samples, counted under the mask; positive
  std::int64_t half_length = 0;  ///< l0: tokens of a sample at half of E; not negative
  friend constexpr bool operator==(attention_curve const&, attention_curve const&) = default;
};

/// @brief The rates of one attention kernel.
struct attention_rates {
  attention_curve forward{};          ///< heads wider than 64
  attention_curve backward{};         ///< heads wider than 64
  attention_curve narrow_forward{};   ///< heads of at most 64
  attention_curve narrow_backward{};  ///< heads of at most 64
  friend constexpr bool operator==(attention_rates const&, attention_rates const&) = default;
};

/// @brief Bytes that operators read and write for each value; `backward` is that of the backward pass.
struct operator_bytes {
  std::int64_t norm = 4;                    ///< per value of the hidden state. Fused: one read and one write in 16 bits
  std::int64_t norm_backward = 6;           ///< the same backward: two reads
  std::int64_t residual = 12;               ///< per value of the hidden state and pass, both additions of a layer together
  std::int64_t rotary = 4;                  ///< per value of queries and keys, each pass
  std::int64_t head_norm = 4;               ///< per value of queries and keys, if they have norms
  std::int64_t head_norm_backward = 6;      ///< the same backward
  std::int64_t gated = 6;                   ///< activation function with a gate, per inner value
  std::int64_t gated_backward = 10;         ///< the same backward
  std::int64_t plain = 4;                   ///< activation function without a gate, per inner value
  std::int64_t plain_backward = 8;          ///< the same backward
  std::int64_t expert_gated = 6;            ///< activation function of experts, per inner value of a row
  std::int64_t expert_gated_backward = 10;  ///< the same backward
  std::int64_t loss = 10;                   ///< per logit, each pass
  std::int64_t fused_loss = 5;              ///< per logit, each pass, if one kernel computes the loss
  std::int64_t permutation = 18;            ///< per value of a routed row, each pass: permute, buffers, sort, unpermute
  std::int64_t router = 32;                 ///< per token and expert, each pass
  std::int64_t all = 1000;                  ///< thousandths of these bytes that unfused kernels and casts take
  friend constexpr bool operator==(operator_bytes const&, operator_bytes const&) = default;
};

/// @brief What kernels of a framework reach on a device. `kernels_for` and `kernels_named` make it.
struct kernel_rates {
  kernel_family family = kernel_family::engine;  ///< whose kernels run
  bool fp8 = false;                              ///< whether matrix products of layers are in 8 bits; attention and head never are
  std::string_view nearest{};                    ///< generation whose shares an unknown device takes; empty: the device is known

  std::int64_t gemm = 0;  ///< share of the 16-bit peak that large matrix products reach. Prior [published]: stas00/ml-engineering (MAMF);
                          ///< [fitted]: A100 845, Hopper 718, Blackwell 800; at 500 W 776 thousandths of Hopper's
  std::int64_t gemm_fp8 = 0;  ///< share of the 8-bit peak. Prior [published]: MAMF; [fitted]: Hopper 690, Blackwell 632
  std::int64_t expert_gemm =
      1000;                     ///< thousandths of `gemm` that grouped products of experts reach [assumed: equal, which the fit prefers]
  std::int64_t head = 1000;     ///< thousandths of `gemm` that the head reaches [assumed: equal]
  std::int64_t depth = 300;     ///< k0: a tile is filled and drained in the time of that many products of its depth, twice that in 8
                                ///< bits [fitted at a round value]
  std::int64_t cast_bytes = 5;  ///< 8 bits: bytes per value cast, transposed and scaled, each pass [fitted at a round value]
  std::int64_t cast_weight_bytes = 3;          ///< 8 bits: bytes per weight, in the forward pass [assumed]
  std::int64_t memory = 791;                   ///< share of the memory's bandwidth [fitted]; prior 850 [assumed]
  std::array<attention_rates, 4> attention{};  ///< by `attention_library`
  std::int64_t stored_scores = 600;            ///< thousandths of `gemm` that products with stored scores reach [assumed]
  std::int64_t score_passes = 6;               ///< passes over 16-bit scores [assumed]
  std::int64_t score_passes_backward = 7;      ///< the same backward [assumed]
  operator_bytes bytes{};                      ///< of operators; counts of reads and writes [assumed], the factor of eager kernels [fitted]

  std::int64_t host = 1'200'000'000;           ///< ps in which the host launches a dense layer, both passes [assumed]; eager 1.5 ms
  std::int64_t host_experts = 10'875'000'000;  ///< ps in which the host launches a layer with experts, both passes [fitted]; prior 8 ms
  std::int64_t host_latent = 1400;             ///< thousandths of `host_experts` with latent attention [assumed]
  std::int64_t host_forward = 400;             ///< thousandths of the host's time that the forward pass takes [assumed]
  std::int64_t sync_experts = 3'812'500'000;   ///< ps in which a device waits for the host, which reads the tokens of experts, both passes
                                               ///< [fitted]; prior 2.5 ms
  std::int64_t graphs_of_parts = 400;          ///< thousandths of host and sync if parts of a layer are CUDA graphs [assumed]
  std::int64_t graphs_of_layers = 100;         ///< the same if whole layers are [assumed]

  std::int64_t link = 810;                  ///< share of NVLink, one way. All-gather 361 of 450 GB/s [published: stas00/ml-engineering]
  std::int64_t link_to_all = 780;           ///< share of NVLink in an all-to-all. DeepEP: 153 to 158 of 200 GB/s on H800 [published]
  std::int64_t network = 900;               ///< share of the network. 46 to 48 of 50 GB/s [published: nccl-tests, issue 290]
  std::int64_t network_to_all = 741;        ///< share of the network in an all-to-all [fitted]; prior 750 [assumed]
  std::int64_t call = 4'000'000;            ///< ps of a collective for each doubling of its ranks [assumed]
  std::int64_t call_hop = 1'500'000;        ///< ps of a ring for each node [assumed]
  std::int64_t call_to_all = 30'000'000;    ///< ps of an all-to-all [assumed]
  std::int64_t call_dispatch = 20'000'000;  ///< ps of a DeepEP kernel [assumed]
  std::int64_t pass = 10'000'000;           ///< ps of a pass of a layer and rank of a context-parallel group, one included [assumed]
  std::int64_t send = 50'000'000;           ///< ps of a transfer between stages, beside its bytes [assumed]
  std::int64_t stolen = 334;                ///< thousandths of a hidden exchange by which computation becomes slower [fitted]; prior 120:
                                            ///< Calculon has 150 [published]
  std::int64_t tensor_hidden = 950;         ///< thousandths that `--tp-comm-overlap` hides, times 1 - 1/t [assumed]
  std::int64_t expert_hidden = 708;         ///< thousandths that `--overlap-moe-expert-parallel-comm` hides [fitted]; prior 500
  std::int64_t gradient_hidden = 700;       ///< thousandths of a micro-batch in which gradients travel unseen [assumed]
  std::int64_t gradient_least = 100;        ///< thousandths of their exchange that stay visible [assumed]
  std::int64_t gathered_context = 727;      ///< thousandths of attention's rate in PyTorch's context parallelism beyond 2 ranks [fitted]
  std::int64_t kept_input = 300;            ///< thousandths of the gather of kept inputs that stay visible [assumed]
  std::int64_t shard_copy = 16;             ///< bytes per parameter and micro-batch that FSDP copies [assumed]

  std::int64_t step = 52'266'000'000;  ///< ps of a step beside all kernels [fitted] for Megatron; 20 ms for PyTorch [assumed]
  std::int64_t optimizer = 36;         ///< bytes that the optimiser moves for each parameter that it holds; eager 100 [assumed]
  std::int64_t jitter = 3;             ///< thousandths of a step that devices wait for each doubling of the nodes [assumed]

  friend constexpr bool operator==(kernel_rates const&, kernel_rates const&) = default;
};

namespace detail {
[[nodiscard]] constexpr attention_curve curve(std::int64_t tflops, std::int64_t half) noexcept {
  return {tflops * 1'000'000'000'000, half};
}

/// FlashAttention 1 (E x 0.875 [fitted]), 2, cuDNN and 3. H100: charts of Shah et al., arXiv 2407.08608, forward causal and backward not;
/// A100 and Blackwell [assumed]. What a generation lacks is what frameworks run instead of it.
[[nodiscard]] constexpr std::array<attention_rates, 4> attention_of(std::string_view generation) noexcept {
  if (generation == "a100") {
    attention_curve const f = curve(205, 250), b = curve(175, 250);
    attention_rates const one{curve(130, 300), curve(100, 400), curve(130, 300), curve(100, 400)};
    attention_rates const two{f, b, curve(190, 250), curve(150, 250)};
    return {one, two, two, two};
  }
  if (generation == "h100") {
    attention_rates const one{curve(240, 400), curve(185, 500), curve(220, 400), curve(175, 500)};
    attention_rates const two{curve(345, 350), curve(300, 500), curve(310, 330), curve(270, 450)};
    attention_rates const cudnn{curve(550, 350), curve(490, 600), curve(390, 350), curve(410, 550)};
    attention_rates const three{curve(637, 518), curve(530, 650), cudnn.narrow_forward, cudnn.narrow_backward};
    return {one, two, cudnn, three};
  }
  attention_rates const all{curve(1200, 800), curve(950, 800), curve(800, 800), curve(700, 800)};
  return {all, all, all, all};
}
}  // namespace detail

/// @brief What kernels reach on a device.
///
/// A device that has no measurements takes its datasheet and the shares of the nearest generation, which `nearest` names; its attention is
/// faster or slower as its peak is. The generations are that of the A100 without 8-bit products, of Hopper below 1.5 PFLOP/s in 16 bits,
/// and of Blackwell above.
///
/// @param on      the device
/// @param family  whose kernels run
/// @param fp8     whether matrix products are in 8 bits
/// @return the rates
/// @throws invalid_input if 8 bits are asked of a device without them, or if the device lacks its peak, bandwidth or multiprocessors
/// @par Source
/// This library (docs/time-model.md).
[[nodiscard]] constexpr kernel_rates kernels_for(device const& on, kernel_family family = kernel_family::engine, bool fp8 = false) {
  require(on.bf16_flops > 0 && on.memory_bandwidth > 0 && on.multiprocessors > 0, [&] {
    return "the device \"" + std::string(on.name) +
           "\" needs bf16_flops, memory_bandwidth and multiprocessors, which turn kernels into time";
  });
  require(!fp8 || on.fp8_flops > 0,
          [&] { return "the device \"" + std::string(on.name) + "\" has no 8-bit matrix products: choose bf16"; });
  auto const among = [&](auto... names) { return ((on.name == names) || ...); };
  std::string_view const generation = on.fp8_flops == 0 ? "a100" : on.bf16_flops < 1'500'000'000'000'000 ? "h100" : "b200";
  kernel_rates out{.family = family, .fp8 = fp8};
  if (!among("a100", "a100-40gb", "h100", "h100-500w", "h200", "h800", "b200", "b300", "gb200", "gb300")) out.nearest = generation;
  out.gemm = generation == "a100" ? 845 : generation == "h100" ? 718 : 800;
  out.gemm_fp8 = generation == "a100" ? 0 : generation == "h100" ? 690 : 632;
  out.attention = detail::attention_of(generation);
  auto const scale = [](std::int64_t& what, std::int64_t by) { what = what / 1000 * by + what % 1000 * by / 1000; };
  auto const scale_attention = [&](attention_rates& a, std::int64_t by) {
    for (auto* const c : {&a.forward, &a.backward, &a.narrow_forward, &a.narrow_backward}) scale(c->flops, by);
  };
  if (generation != "b200") scale_attention(out.attention[0], 875);
  auto const of_peak = on.name == "h100-500w" ? 776 : among("b300", "gb300") ? 1150 : 1000;  // power [fitted]; B300 [assumed]
  scale(out.gemm, of_peak);
  scale(out.gemm_fp8, of_peak);
  auto const reference = generation == "a100" ? 312 : generation == "h100" ? 989 : 2250;  // TFLOP/s of that generation
  auto const attention = out.nearest.empty() ? of_peak : on.bf16_flops / 1'000'000'000 / reference;
  for (auto& a : out.attention) scale_attention(a, attention);
  if (family != kernel_family::engine) {
    out.step = 20'000'000'000;
    out.bytes.loss = 7;
  }
  if (family == kernel_family::eager) {
    out.bytes.norm = 16;  // an RMSNorm of several kernels
    out.bytes.norm_backward = 18;
    out.bytes.rotary = 20;
    out.bytes.gated = 10;
    out.bytes.gated_backward = 14;
    out.bytes.loss = 15;
    out.bytes.all = 1906;
    out.host = 1'500'000'000;
    out.optimizer = 100;
  }
  return out;
}

/// @brief Finds rates by name.
/// @param name  a device, "te", "compile" or "eager", and "bf16" or "fp8", as in "h100-te-bf16"
/// @return the rates
/// @throws invalid_input if there is no such name, or as `kernels_for`
[[nodiscard]] constexpr kernel_rates kernels_named(std::string_view name) {
  constexpr std::array<std::string_view, 3> families{"te", "compile", "eager"};
  for (auto const fp8 : {false, true})
    for (std::size_t f = 0; f < families.size(); ++f)
      for (auto const& d : devices) {
        auto rest = name;
        auto const take = [&](std::string_view part) {
          auto const ok = rest.starts_with(part);
          if (ok) rest.remove_prefix(part.size());
          return ok;
        };
        if (take(d.name) && take("-") && take(families[f]) && take(fp8 ? "-fp8" : "-bf16") && rest.empty())
          return kernels_for(d, static_cast<kernel_family>(f), fp8);
      }
  throw invalid_input("no kernels \"" + std::string(name) +
                      "\": write a device, te, compile or eager, and bf16 or fp8, as in \"h100-te-bf16\"");
}

}  // namespace ballast::inline v0_2
