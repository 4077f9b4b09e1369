// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/normaliser.hpp>

#include <array>
#include <string_view>

/// @file
/// @brief Presets by name: what each framework minimises, and what it does to the gradients.
///
/// Some frameworks take means over micro-batches that all have the same number of sequences (TRL's `grpo` and `dr_grpo`). That equals the
/// mean over the step, so the preset uses the step: the result stays the same when packs hold different numbers of sequences. If the
/// framework's result does depend on micro-batches (`megatron`, `trl-bnpo`, `hf-2024-09`), the preset keeps its mean of means; use
/// `token_mean()` instead to correct it.

namespace ballast::inline v0_2 {

/// @brief A normaliser and a gradient path. Fill in `path.ranks`, `path.context`, `path.micro_batches` and, if used,
/// `normaliser.length`.
struct loss_preset {
  std::string_view name;       ///< name of the preset, as in "trl-dapo"
  loss_normaliser normaliser;  ///< what is minimised
  gradient_path path;          ///< what happens to gradients; its numbers of ranks and micro-batches are 1
  friend constexpr bool operator==(loss_preset const&, loss_preset const&) = default;
};

namespace detail {
inline constexpr gradient_path accumulating{};  // averaged over all ranks, added over micro-batches
inline constexpr gradient_path averaging{.across_micro_batches = gradient_reduction::average};
inline constexpr gradient_path summed{.across_ranks = gradient_reduction::sum, .across_context = gradient_reduction::sum};
inline constexpr gradient_path summed_per_token{
    .across_ranks = gradient_reduction::sum, .across_context = gradient_reduction::sum, .divides_by_tokens = true};
// The loss is multiplied by the context degree before the average over all ranks, and divided by the number of micro-batches.
inline constexpr gradient_path megatron_path{.across_context = gradient_reduction::sum,
                                             .across_micro_batches = gradient_reduction::average};
// The loss is gathered over the sequence-parallel ranks, which scales its gradient by their number before the average.
inline constexpr gradient_path verl_path{.across_context = gradient_reduction::sum};
}  // namespace detail

/// @brief All presets.
///
/// Source: huggingface/transformers (PR 34373, PR 39395), NVIDIA/Megatron-LM `schedules.py` and `finalize_model_grads.py`,
/// pytorch/torchtune, volcengine/verl `agg_loss`, huggingface/trl `grpo_trainer.py`, OpenGVLab/InternVL `len2weight`; Yao et al., HBP,
/// arXiv 2503.07680.
inline constexpr std::array loss_presets{
    loss_preset{"hf", loss_normaliser::token_mean(), detail::accumulating},                              // since 7/2025
    loss_preset{"hf-2024-10", loss_normaliser::token_mean(loss_scope::rank), detail::accumulating},      // 10/2024 to 7/2025
    loss_preset{"hf-2024-09", loss_normaliser::token_mean(loss_scope::micro_batch), detail::averaging},  // before
    loss_preset{"megatron", loss_normaliser::token_mean(loss_scope::micro_batch), detail::megatron_path},
    loss_preset{"megatron-per-token", loss_normaliser::token_mean(), detail::summed_per_token},
    loss_preset{"torchtune", loss_normaliser::token_mean(), detail::summed_per_token},
    loss_preset{"verl-token-mean", loss_normaliser::token_mean(), detail::verl_path},
    loss_preset{"verl-seq-mean-token-mean", loss_normaliser::sample_mean(), detail::verl_path},
    loss_preset{"verl-seq-mean-token-sum", loss_normaliser::sequence_mean(), detail::verl_path},
    // divided by the loss scale only, and averaged over ranks; later versions also divide by the sequences, which is fixed_length()
    loss_preset{"verl-seq-mean-token-sum-norm", {.divisor = loss_divisor::length, .scope = loss_scope::rank}, detail::verl_path},
    loss_preset{"trl-grpo", {.power = 1, .divisor = loss_divisor::sequences, .count_empty = true}, detail::averaging},
    loss_preset{"trl-dr_grpo", {.divisor = loss_divisor::sequence_length, .count_empty = true}, detail::averaging},
    loss_preset{"trl-bnpo", loss_normaliser::token_mean(loss_scope::micro_batch), detail::averaging},
    loss_preset{"trl-dapo", loss_normaliser::token_mean(), detail::accumulating},
    loss_preset{"internvl-token", loss_normaliser::token_mean(), detail::averaging},
    loss_preset{"internvl-sample", loss_normaliser::sample_mean(), detail::averaging},
    loss_preset{"internvl-square", loss_normaliser::square_root(), detail::averaging},
    loss_preset{"hbp-sum", loss_normaliser::sum(), detail::summed},
    loss_preset{"hbp-token-mean", loss_normaliser::token_mean(loss_scope::rank), detail::accumulating},
    loss_preset{"hbp-sample-mean", loss_normaliser::sample_mean(loss_scope::rank), detail::accumulating},
    loss_preset{"hbp-ave-token", loss_normaliser::ave_token(), detail::accumulating},
};

/// @brief Finds a preset by name.
/// @param name  one of `loss_presets`, as in "verl-token-mean"
/// @return a copy, in which the caller fills in the numbers of ranks
/// @throws invalid_input, with a list of the names, if there is no such preset
[[nodiscard]] constexpr loss_preset loss_preset_named(std::string_view name) { return find_named(loss_presets, name, "loss preset"); }

}  // namespace ballast::inline v0_2
