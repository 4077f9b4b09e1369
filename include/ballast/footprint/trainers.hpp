// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/model_setting.hpp>

#include <array>
#include <string_view>

/// @file
/// @brief `trainers`: programs that train, as far as the memory of a device depends on them.

namespace ballast::inline v0_2 {

/// @brief A program that trains, with what it does unless it is told otherwise.
struct trainer {
  std::string_view name;                ///< its name in small letters
  std::string_view framework;           ///< whose tensors are counted, in `frameworks`
  head_loss loss{};                     ///< how it computes the loss
  std::string_view optimizer = "adam";  ///< what its optimiser keeps, in `optimizers`
  int zero = 0;                         ///< ZeRO stage over the ranks
  kernel_setting kernels{};             ///< its kernels, without dropout
};

/// @brief The trainers whose defaults are known.
/// @par Source
/// Their sources and recipes; docs/memory-model.md.
inline constexpr std::array trainers{
    trainer{.name = "megatron", .framework = "megatron", .zero = 1, .kernels = {.dummy_gradients = true}},
    trainer{.name = "torchtitan", .framework = "eager", .optimizer = "adam-fp32", .zero = 3, .kernels = {.stream_pools = true}},
    trainer{.name = "torchtune",
            .framework = "eager",
            .loss = {.how = head_loss::kind::chunked, .chunks = 8},
            .optimizer = "adam-bf16",
            .zero = 3,
            .kernels = {.repeated_keys = true}},
    trainer{.name = "transformers", .framework = "eager", .optimizer = "adam-bf16", .kernels = {.adapter_value = 4}},
    trainer{.name = "axolotl", .framework = "eager", .optimizer = "adam-bf16", .kernels = {.adapter_value = 4}},
    trainer{.name = "deepspeed", .framework = "eager", .optimizer = "adam-bf16-gradients", .zero = 2, .kernels = {.adapter_value = 4}},
};

/// @brief Finds a trainer by name.
/// @param name  one of `trainers`, as in "torchtune"
/// @return its defaults
/// @throws invalid_input, with a list of the names, if the name is unknown
[[nodiscard]] constexpr trainer const& trainer_named(std::string_view name) { return find_named(trainers, name, "trainer"); }

/// @brief The kernels that a trainer runs for a model.
/// @param of     the trainer
/// @param model  the shape
/// @return its kernels; experts run as grouped matrix products under Megatron-Core
[[nodiscard]] constexpr kernel_setting kernels_of(trainer const& of, transformer const& model) {
  auto out = of.kernels;
  out.grouped_gemm = model.experts > 0 && framework_named(of.framework).count == tensor_count::megatron;
  return out;
}

}  // namespace ballast::inline v0_2
