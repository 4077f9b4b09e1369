// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/transformer.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// @file
/// @brief FLOPs of a training step per token, and the utilisation of a device (MFU, HFU), in the two conventions of published figures.
///
/// The same measurement has two values of MFU. LLaMA-3.1-8B at 8,192 tokens has 5.147e10 FLOPs a token if attention is counted under the
/// causal mask, and 5.791e10 if all pairs are counted. Print the convention beside every MFU, and compare figures of one convention only.

namespace ballast::inline v0_2 {

/// @brief Which query-key pairs a count of FLOPs includes.
enum class counted_pairs : std::uint8_t {
  masked,  ///< those that the mask lets through, about half of all if it is causal: Megatron-LM, and every other count of this library
  all,     ///< all, as if every token saw every other one in every layer: Korthikanti et al., Narayanan et al., torchtitan
};

/// @brief The convention in words, to print beside a utilisation.
/// @param which  the convention
/// @return "attention under its mask" or "attention without a mask"
[[nodiscard]] constexpr std::string_view to_string(counted_pairs which) noexcept {
  return which == counted_pairs::masked ? "attention under its mask" : "attention without a mask";
}

/// @brief Forward FLOPs of attention's two products, scores and weighted values, in all layers. It has no weights.
///
/// Hardware FLOPs are `model_flops` and what is computed again: with recomputed attention scores, add this number. With full recomputation
/// of all layers, add `model_flops / 3` without the head.
///
/// @param model     the shape
/// @param sequence  tokens of a sample, positive
/// @param which     which pairs are counted
/// @return FLOPs of one sample
/// @throws invalid_input as `require_valid`, or if `sequence` is not positive or the FLOPs reach 2^63
[[nodiscard]] constexpr std::int64_t attention_flops(transformer const& model, std::int64_t sequence,
                                                     counted_pairs which = counted_pairs::masked) {
  auto pairs = forward_flops(model);
  pairs.per_token = 0;
  if (which == counted_pairs::all) pairs = {.per_pair = pairs.per_pair + pairs.per_windowed_pair, .causal = false};
  require(sequence > 0 && pairs.fits(sequence),
          [&] { return "sequence = " + std::to_string(sequence) + " must be positive, with less than 2^63 FLOPs"; });
  return pairs(sequence);
}

/// @brief Model FLOPs of a training step for one sample: forward and backward pass, without recomputation.
/// @param model     the shape
/// @param sequence  tokens of the sample, positive
/// @param which     which pairs are counted
/// @return FLOPs of the sample; divide by `sequence` for the FLOPs of a token
/// @throws invalid_input as `require_valid`, or if `sequence` is not positive or the FLOPs reach 2^63
/// @par Source
/// Korthikanti et al., arXiv 2205.05198, equation 7; NVIDIA, Megatron-LM, `training/training.py`.
[[nodiscard]] constexpr std::int64_t model_flops(transformer const& model, std::int64_t sequence,
                                                 counted_pairs which = counted_pairs::masked) {
  auto const pairs = checked(attention_flops(model, sequence, which));
  auto const sum = checked(training_factor) * (checked(forward_flops(model).per_token) * checked(sequence) + pairs);
  require(sum.fits(), [&] { return "sequence = " + std::to_string(sequence) + " must be positive, with less than 2^63 FLOPs"; });
  return sum.value;
}

/// @brief Share of a device's peak rate that a number of FLOPs in a time is: MFU of model FLOPs, HFU of hardware FLOPs.
/// @param flops    FLOPs of one device, not negative
/// @param seconds  the time that they took, positive
/// @param on       the device, for its dense bfloat16 rate; for a computation in FP8, set the field to the rate of FP8
/// @return the share, as a `double` for reports; above 1 if the count or the device is wrong
/// @throws invalid_input if an argument is out of range
[[nodiscard]] constexpr double utilisation(double flops, double seconds, device const& on) {
  require(flops >= 0, [&] { return "flops = " + std::to_string(flops) + " must not be negative"; });
  require(seconds > 0, [&] { return "seconds = " + std::to_string(seconds) + " must be positive"; });
  require(on.bf16_flops > 0, [&] { return "the device \"" + std::string(on.name) + "\" has no peak rate"; });
  return flops / seconds / static_cast<double>(on.bf16_flops);
}

/// @brief Model FLOPs utilisation (MFU) of a throughput.
/// @param model              the shape
/// @param sequence           tokens of each sample, positive
/// @param tokens_per_second  tokens that one device trains in a second, not negative
/// @param on                 the device
/// @param which              which pairs are counted; print it beside the result
/// @return the share of the dense bfloat16 peak, as a `double` for reports
/// @throws invalid_input as `model_flops`, or if another argument is out of range
[[nodiscard]] constexpr double model_flops_utilisation(transformer const& model, std::int64_t sequence, double tokens_per_second,
                                                       device const& on, counted_pairs which = counted_pairs::masked) {
  auto const a_token = static_cast<double>(model_flops(model, sequence, which)) / static_cast<double>(sequence);
  return utilisation(a_token * tokens_per_second, 1, on);
}

}  // namespace ballast::inline v0_2
