// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/plan/detail/counted_stages.hpp>
#include <ballast/plan/detail/stage_layers.hpp>
#include <ballast/plan/training_plan.hpp>
#include <ballast/plan/training_setting.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// @brief `memory_of`: what each stage of a training holds, part by part, and the moment at which it holds most.

namespace ballast::inline v0_2 {

/// @brief A moment of a step at which a device may hold most.
enum class memory_moment : std::uint8_t {
  head,            ///< logits and loss exist; no layer is at work
  layer_backward,  ///< a layer's backward pass runs: recomputed tensors, and the gradients of its largest block; the logits are gone
  overlap,         ///< the forward pass of a micro-batch runs beside the backward pass of another (`kernel_setting::expert_overlap`)
  step,            ///< the optimiser updates parameters
};

/// @brief The name of a moment. @param moment the moment @return as in "layer backward"
[[nodiscard]] constexpr std::string_view to_string(memory_moment moment) noexcept {
  constexpr std::array<std::string_view, 4> names{"head", "layer backward", "overlap", "step"};
  return names[static_cast<std::size_t>(moment)];
}

/// @brief Bytes on one device of a stage.
struct memory_parts {
  std::int64_t states = 0;              ///< parameters, gradients and optimiser states
  std::int64_t workspace = 0;           ///< what libraries and the framework hold all the time (`workspace_bytes`)
  std::int64_t kept = 0;                ///< activations of all layers for all micro-batches in flight, recomputation and offloading applied
  std::int64_t inputs = 0;              ///< ids, labels and masks of a micro-batch; masks of the embedding's dropout
  std::int64_t gathered = 0;            ///< parameters that stay gathered under ZeRO-3
  std::array<std::int64_t, 4> extra{};  ///< in addition at each `memory_moment`
  memory_moment moment{};               ///< the moment with most; the first of them
  friend constexpr bool operator==(memory_parts const&, memory_parts const&) = default;

  /// @brief What is held at a moment. @param at the moment @return bytes
  [[nodiscard]] constexpr std::int64_t at(memory_moment at) const noexcept {
    return states + workspace + kept + inputs + gathered + extra[static_cast<std::size_t>(at)];
  }
  /// @brief The peak. @return bytes, those of `moment`
  [[nodiscard]] constexpr std::int64_t peak() const noexcept { return at(moment); }
  /// @brief What is held between steps. @return bytes of states and workspace
  [[nodiscard]] constexpr std::int64_t between_steps() const noexcept { return states + workspace; }
};

namespace detail {
/// The parts of each stage; `whole` is the model of which `model` is the language model, or null. Each layer of the chain recomputes what
/// `choices` says, if they are given.
template <class = when_called>
[[nodiscard]] inline std::vector<memory_parts> parts_of(transformer const& model, vision_language_model const* whole,
                                                        training_setting const& by, std::span<std::uint32_t const> cuts,
                                                        batch_shape const& batch, bool hopper, std::span<layer_choice const> choices = {}) {
  require_within("batch.tokens", batch.tokens, 0, std::int64_t{1} << 40);
  require_within("batch.squares", batch.squares, 0, std::int64_t{1} << 62);
  if (whole) require_within("batch.tiles", batch.tiles, 0, std::int64_t{1} << 40);
  stage_counter<> count(model, by, batch, hopper, whole);
  std::vector<memory_parts> out(static_cast<std::size_t>(by.pipeline.stages));
  for (std::size_t s = 0; s < out.size(); ++s) {
    auto& to = out[s];
    auto const found = count(s, cuts, choices);
    to.states = found.states.value;
    to.workspace = found.workspace.value;
    to.kept = found.kept.value;
    to.inputs = found.inputs.value;
    to.gathered = found.gathered.value;
    for (std::size_t m = 0; m < to.extra.size(); ++m) {
      require((found.held() + found.extra[m]).fits(), [&] { return "the bytes of stage " + std::to_string(s) + " reach 2^63"; });
      to.extra[m] = found.extra[m].value;
    }
    to.moment = static_cast<memory_moment>(std::max_element(to.extra.begin(), to.extra.end()) - to.extra.begin());
  }
  return out;
}
}  // namespace detail

/// @brief What each stage of a training holds for micro-batches of one size, part by part.
///
/// A peak is that of a moment, not a sum over moments: while the head runs no layer is at work, and when a layer's backward pass runs the
/// logits are gone. The allocator's rounding, the context of the process and buffers of communication are not counted.
///
/// @param model   the shape; its vocabulary as it is padded
/// @param by      the setting; memory in `pipeline.memory` is not read
/// @param batch   a micro-batch on the devices of a context-parallel group: `tokens` and `squares`
/// @param hopper  whether the devices are Hopper or later, see `workspace_bytes`
/// @return one entry for each stage
/// @throws invalid_input as `require_valid` of the setting, or if the bytes of a stage reach 2^63
/// @post no moment of a stage holds more than its `peak()`
/// @par Complexity
/// O(layers + stages * chunks), with a small constant: equal layers are counted once. 64 layers take about 1 microsecond.
/// @par Determinism
/// A pure function of its arguments, in integers; nothing is fitted for `tensor_count::megatron`.
/// @par Source
/// This library (docs/memory-model.md), from the sources of NVIDIA/Megatron-LM and Transformer Engine.
template <class = when_called>
[[nodiscard]] inline std::vector<memory_parts> memory_of(transformer const& model, training_setting const& by, batch_shape const& batch,
                                                         bool hopper = true) {
  return detail::parts_of<>(model, nullptr, by, boundaries_of(by, model), batch, hopper);
}

/// @brief What each stage of a training of a vision-language model holds, part by part, for micro-batches of one size.
///
/// Tower and projector are layers in front of the language model's: on the first stage, or where the boundaries put them. Their tensors are
/// counted as those of the language model, for the tiles; a frozen tower runs without a graph and keeps nothing, nor does a projector that
/// nothing behind it or in it trains through. Its backward pass is the last of a micro-batch: what the language layers of the same chunk
/// kept is gone by then. `inputs` has float32 pixels. Where all layers are recomputed (`uniform`), those of the tower are, each by itself,
/// but not under Megatron-Core, which also runs a tower without dropout, sequence and context parallelism (`vision_setting`).
///
/// @param model   the shape; the vocabulary as it is padded
/// @param by      the setting; boundaries are those of the chain of `layers_of(model)`
/// @param batch   a micro-batch on the devices of a context-parallel group: `tokens` and `squares` of the language model, and `tiles`
/// @param hopper  as the first overload
/// @return one entry for each stage
/// @throws invalid_input as `boundaries_of`, or if the bytes of a stage reach 2^63
/// @post without tiles, it differs from that of the language model by states, gathered parameters and workspace alone
/// @par Complexity
/// As the first overload, for the layers of both parts.
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// As the first overload; eager towers were counted on a CPU (tests/python/kept_bytes.py).
template <class = when_called>
[[nodiscard]] inline std::vector<memory_parts> memory_of(vision_language_model const& model, training_setting const& by,
                                                         batch_shape const& batch, bool hopper = true) {
  return detail::parts_of<>(model.language, &model, by, boundaries_of(by, model), batch, hopper);
}

/// @brief What each stage of a training holds, part by part, with micro-batches of full sequences.
/// @param model   the shape; its vocabulary as it is padded
/// @param by      the setting
/// @param hopper  whether the devices are Hopper or later
/// @return as the other overload
/// @throws invalid_input as the other overload
/// @par Complexity
/// As the other overload.
template <class = when_called>
[[nodiscard]] inline std::vector<memory_parts> memory_of(transformer const& model, training_setting const& by, bool hopper = true) {
  require_valid(by, model);
  auto const tokens = by.micro_batch * by.sequence;
  return memory_of(model, by, {.tokens = tokens, .squares = tokens * by.sequence, .tiles = 0}, hopper);
}

/// @brief What each stage of a planned training holds, part by part, with the cut of the plan and what each of its layers recomputes.
///
/// Where tensors are counted, this is what planners keep within memory; `training_plan::memory` has the same bytes.
///
/// @param plan    a feasible plan of the layers `layers_of(model, by.model)`, for its largest micro-batch
/// @param model   the shape; its vocabulary as it is padded
/// @param by      what the training was planned with; its own cut and recomputation are not read
/// @param hopper  as for the other overload
/// @return as the other overload
/// @throws invalid_input if the plan is not feasible or has another number of layers than the model, and as the other overload
/// @par Complexity
/// As the other overload.
template <class = when_called>
[[nodiscard]] inline std::vector<memory_parts> memory_of(training_plan const& plan, transformer const& model, training_setting by,
                                                         bool hopper = true) {
  auto const layers = layers_of(model, by.model);
  require(plan.status == status::feasible && plan.stages.option.size() == layers.size(), [&] {
    return sentence("the plan must be feasible and have the ", layers.size(), " layers of the model, not ", plan.stages.option.size());
  });
  by.boundaries = plan.stages.partition.boundaries;
  by.recompute = {};
  return detail::parts_of<>(model, nullptr, by, boundaries_of(by, model), plan.largest, hopper,
                            detail::choices_of<>(layers, plan.stages.option));
}

/// @brief The stage that holds most. @param stages as `memory_of` returned them, at least one @return the first of them
[[nodiscard]] inline memory_parts const& largest_of(std::vector<memory_parts> const& stages) {
  return *std::max_element(stages.begin(), stages.end(), [](auto const& a, auto const& b) { return a.peak() < b.peak(); });
}

}  // namespace ballast::inline v0_2
