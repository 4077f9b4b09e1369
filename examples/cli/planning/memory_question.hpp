// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/plan/cluster.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/training_setting.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Where the bytes of a training are, and what would save some.

namespace ballast_cli {

/// A trainer as far as the memory of a device depends on it.
struct trainer {
  std::string_view word;
  std::string_view framework;  ///< in `ballast::frameworks`
  ballast::head_loss loss{};
  std::string_view optimizer = "adam";  ///< in `ballast::optimizers`
  int zero = 0;
  ballast::kernel_setting kernels{};
};
/// The trainers that --framework takes.
inline constexpr trainer trainers[] = {
    {.word = "megatron", .framework = "megatron", .zero = 1, .kernels = {.dummy_gradients = true}},
    {.word = "torchtitan", .framework = "eager", .optimizer = "adam-fp32", .zero = 3, .kernels = {.stream_pools = true}},
    {.word = "torchtune",
     .framework = "eager",
     .loss = {.how = ballast::head_loss::kind::chunked, .chunks = 8},
     .optimizer = "adam-bf16",
     .zero = 3,
     .kernels = {.repeated_keys = true}},
    {.word = "transformers", .framework = "eager", .optimizer = "adam-bf16", .kernels = {.adapter_value = 4}},
    {.word = "axolotl", .framework = "eager", .optimizer = "adam-bf16", .kernels = {.adapter_value = 4}},
    {.word = "deepspeed", .framework = "eager", .optimizer = "adam-bf16-gradients", .zero = 2, .kernels = {.adapter_value = 4}},
};

/// Gives a setting the kernels that a trainer runs for a model.
void take_kernels(ballast::model_setting& by, trainer const& of, ballast::transformer const& model);

/// A change of the setting on the same devices.
struct memory_change {
  std::string what;        ///< in words: "recompute all layers"
  std::int64_t saved = 0;  ///< bytes of the fullest stage
  double slower = 0;       ///< share of the modelled step in addition; negative: it is faster
};

struct memory_answer {
  std::vector<ballast::memory_parts> stages;
  std::vector<memory_change> changes;  ///< those that save, most first
  std::int64_t longest = 0;            ///< tokens of the longest sequence that fits; 0: none does
};

/// Throws ballast::invalid_input where the setting does not suit the model.
[[nodiscard]] memory_answer answer_of(ballast::transformer const& model, ballast::training_setting const& by, ballast::cluster const& on);

}  // namespace ballast_cli
