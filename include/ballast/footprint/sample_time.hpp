// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/chain_cost.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/timed_layers.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// @file
/// @brief `sample_time`: what a sample of a model takes on a device by the times of its kernels.

namespace ballast::inline v0_2 {

/// @brief For what the time of samples is wanted.
struct sample_time_options {
  std::int64_t capacity = 16384;        ///< tokens of a full micro-batch, at least 1: times are nearest from a half to twice of it
  std::int64_t tiles = 0;               ///< image tiles of a full micro-batch; 0: as many as its tokens can be of
  std::uint32_t recomputed_layers = 0;  ///< number of layers of a language model, the first ones, that run their forward pass again
  std::int64_t picoseconds = 1;         ///< picoseconds of a unit of the result, 1 … 10^6
};

/// @brief The time of a model's samples and micro-batches on a device, forward and backward, by what its kernels reach.
///
/// It is `chain_cost_of` the layers of `time_layers`, embedding and head included, as if one device held them all. Unlike `sample_cost`,
/// which counts FLOPs, attention is slow in short samples, operators that move bytes count, and so does what a micro-batch takes beside
/// its samples: weights are read, and gradients added, once. In dense models, attention takes a larger part of a long
/// sample than by FLOPs.
///
/// Of a model without windows, the time is within 2.3 % of that of its layers one by one (`parts_of_layer`) in samples of 128 to 131,072
/// tokens. A layer with a window counts by tokens alone, as in samples of 4,096 tokens: within 4 % for windows of 128 (gpt-oss) and 1,024
/// keys (Gemma 3), within 7 % for chunks of 8,192 (Llama 4). For windows of 4,096 (Mistral 7B) the time is up to 11 % too long for samples
/// that are shorter than the window, and up to 9 % too short for longer ones.
///
/// @tparam Model  `transformer` or `vision_language_model`
/// @param model  the shape, such as `transformer_preset("llama-3.1-8b")`
/// @param on     the accelerator, such as `device_named("h100")`
/// @param with   what kernels reach on it, such as `{.rates = kernels_for(on)}`
/// @param by     how the model is trained: degrees divide the work of a device, and add its exchanges; what is frozen takes less
/// @param o      micro-batches, recomputation and the unit
/// @return the cost: give `tokens` to a planner, and `per_micro_batch` as the fixed cost of a micro-batch
/// @throws invalid_input as `time_layers` and `chain_cost_of`; if the capacity is not positive, or there are fewer layers
/// @par Complexity
/// As `time_layers`.
/// @par Determinism
/// All arithmetic is in integers.
template <class Model>
[[nodiscard]] chain_cost sample_time(Model const& model, device const& on, time_setting const& with, model_setting const& by = {},
                                     sample_time_options const& o = {}) {
  require(o.capacity > 0, [&] { return sentence("capacity = ", o.capacity, " must be positive"); });
  auto layers = layers_of(model, by);
  auto const full = (std::min)(o.capacity, std::int64_t{1} << 22);  // beyond, times grow as squares and tokens
  batch_shape typical{.tokens = full, .squares = full * (std::min)(full, std::int64_t{4096}), .tiles = o.tiles};
  if constexpr (std::same_as<Model, vision_language_model>)
    if (o.tiles == 0) typical.tiles = divide_up(full, model.projector.tokens);
  time_layers(layers, model, by, on, with, typical);
  std::vector<std::uint32_t> option(layers.size());
  auto again = o.recomputed_layers;
  for (std::size_t i = 0; i < layers.size() && again > 0; ++i)
    if (layers[i].options.back().recomputed == recomputation::full) {
      option[i] = static_cast<std::uint32_t>(layers[i].options.size() - 1);
      --again;
    }
  require(again == 0,
          [&] { return sentence("recomputed_layers = ", o.recomputed_layers, " of ", o.recomputed_layers - again, " layers"); });
  return chain_cost_of(layers, typical, {.work_per_ms = time_units(by) * 1'000'000'000}, o.picoseconds, option);
}

}  // namespace ballast::inline v0_2
