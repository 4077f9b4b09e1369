// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/plan/training_options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

/// @file
/// @brief `training_setting`: all that the plan of a training depends on and that a framework can be told: degrees, stages, schedule, cut,
/// recomputation and batch sizes.

namespace ballast::inline v0_2 {

/// @brief What all stages of a training recompute, in the forms that frameworks have settings for.
struct recompute_setting {
  /// @brief The form.
  enum class kind : std::uint8_t {
    none,       ///< nothing
    modules,    ///< some modules of every layer (Megatron-LM's `selective`)
    block,      ///< the first `layers` transformer layers of each chunk of a stage, in full
    uniform,    ///< all transformer layers, in units of `layers` that keep one input together
    alternate,  ///< every `layers`-th transformer layer in full (torchtitan's `selective` with a number)
    products,   ///< what is not an output of every second matrix product or of attention (torchtitan's `selective` by operators)
  };
  kind what = kind::none;   ///< the form
  std::int64_t layers = 1;  ///< number of layers, for the forms that have one; at least 1
  module_set modules{};     ///< what `modules` recomputes; not empty then

  friend constexpr bool operator==(recompute_setting const&, recompute_setting const&) = default;
};

/// @brief All that the plan of a training depends on and that a framework can be told.
///
/// Exports write it (plan/export/flags.hpp), `judge_setting` computes memory and time for it. It says nothing of the model, the data and
/// the devices.
struct training_setting {
  model_setting model{};                    ///< how the model is trained; `model.spread.data` counts the ranks of a stage times the
                                            ///< context-parallel degree
  training_options pipeline{.stages = 1};   ///< stages, schedule with its chunks, and memory, which no framework is told
  std::vector<std::uint32_t> boundaries{};  ///< cut of the chain of `layers_of` into chunks: one number more than chunks; empty: as evenly
                                            ///< as the framework cuts
  recompute_setting recompute{};            ///< what is recomputed
  std::int64_t sequence = 4096;             ///< tokens of a sequence, at least 1
  std::int64_t micro_batch = 1;             ///< number of sequences of a micro-batch, at least 1
  std::int64_t micro_batches = 1;           ///< number of micro-batches of a rank in a step, at least 1

  /// @brief Number of data-parallel ranks. @return `data` over the context-parallel degree
  [[nodiscard]] constexpr std::int64_t ranks() const noexcept { return model.spread.data / model.spread.context; }
  /// @brief Number of devices. @return stages times the devices of a stage
  [[nodiscard]] constexpr std::int64_t gpus() const noexcept {
    return static_cast<std::int64_t>(pipeline.stages) * model.spread.tensor * model.spread.data;
  }
  /// @brief Number of sequences of a step. @return those of all ranks
  [[nodiscard]] constexpr std::int64_t global_batch() const noexcept { return micro_batch * micro_batches * ranks(); }
  /// @brief Number of chunks of a stage. @return 1 unless the schedule has several
  [[nodiscard]] constexpr std::uint64_t chunks() const {
    return std::visit([](auto const& s) { return s.chunks_per_stage(); }, pipeline.schedule);
  }
  friend bool operator==(training_setting const&, training_setting const&) = default;
};

/// @brief Throws unless a setting is in range and suits a model.
/// @param by     the setting
/// @param model  the shape
/// @throws invalid_input naming the field
template <class = when_called>
inline void require_valid(training_setting const& by, transformer const& model) {
  require_valid(by.model);
  require_valid(model, by.model.exchanges());
  auto const within = [](char const* field, std::int64_t value, std::int64_t most) { detail::require_within(field, value, 1, most); };
  constexpr std::int64_t stages = 1 << 20, tokens = std::int64_t{1} << 31, batches = 1 << 24;
  detail::require_within("stages", static_cast<std::int64_t>((std::min)(by.pipeline.stages, std::uint64_t{1} << 62)), 1, stages);
  within("sequence", by.sequence, tokens);
  within("micro_batch", by.micro_batch, tokens / by.sequence);  // so that squares stay below 2^62
  within("micro_batches", by.micro_batches, batches);
  within("recompute.layers", by.recompute.layers, model.layers);
  require((by.recompute.what == recompute_setting::kind::modules) == !by.recompute.modules.empty(),
          [&] { return "recompute.modules = \"" + to_string(by.recompute.modules) + "\" must be empty unless modules are recomputed"; });
  auto const layers = static_cast<std::uint64_t>(model.layers + model.mtp_layers + (model.vocabulary > 0 ? 2 : 0));
  require(by.chunks() >= 1 && by.chunks() <= layers, [&] {
    return "chunks = " + std::to_string(by.chunks()) + " must be in [1, " + std::to_string(layers) + "], the number of layers";
  });
  auto const chunks = by.pipeline.stages * by.chunks();
  require(chunks <= layers, [&] {
    return "stages = " + std::to_string(by.pipeline.stages) + " of " + std::to_string(by.chunks()) + " chunks are more than the " +
           std::to_string(layers) + " layers";
  });
  auto const& cuts = by.boundaries;
  auto const rises = [&] {  // the embedding is in the first chunk, whatever the others have
    return cuts.size() == chunks + 1 && cuts[0] == 0 && cuts[1] > 0 && cuts.back() == layers && std::is_sorted(cuts.begin(), cuts.end());
  };
  require(cuts.empty() || rises(), [&] {
    return "boundaries must be " + std::to_string(chunks + 1) + " numbers that rise from 0 to the number of layers, " +
           std::to_string(layers);
  });
}

/// @brief A cut of the chain of a language model into chunks with equal numbers of transformer layers.
///
/// The embedding is in the first chunk; the head and the layers for multi-token prediction are in the last.
///
/// @param model   the shape
/// @param layers  number of transformer layers of each chunk
/// @return boundaries of the chain of `layers_of(model)`
/// @throws invalid_input unless the numbers add up to the layers of the model
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint32_t> cut_by_layers(transformer const& model, std::span<std::int64_t const> layers) {
  auto const ends = model.vocabulary > 0 ? 1 : 0;
  std::vector<std::uint32_t> cuts{0};
  std::int64_t sum = 0;
  for (auto const n : layers) {
    require(n >= 0 && n <= model.layers - sum, [&] {
      return "layers of chunk " + std::to_string(cuts.size() - 1) + " = " + std::to_string(n) + " are negative, or more than are left of " +
             std::to_string(model.layers);
    });
    sum += n;
    cuts.push_back(static_cast<std::uint32_t>(sum + ends));
  }
  require(sum == model.layers && !layers.empty(),
          [&] { return "the chunks have " + std::to_string(sum) + " layers, the model has " + std::to_string(model.layers); });
  cuts.back() += static_cast<std::uint32_t>(model.mtp_layers + ends);
  return cuts;
}

/// @brief The cut of a setting: its boundaries or, if it has none, chunks whose numbers of transformer layers differ by at most one.
/// @param by     the setting
/// @param model  the shape
/// @return boundaries; of unequal chunks, the first ones have a layer more
/// @throws invalid_input as `require_valid`
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint32_t> boundaries_of(training_setting const& by, transformer const& model) {
  require_valid(by, model);
  if (!by.boundaries.empty()) return by.boundaries;
  auto const chunks = static_cast<std::int64_t>(by.pipeline.stages * by.chunks());
  std::vector<std::int64_t> layers;
  layers.reserve(static_cast<std::size_t>(chunks));
  for (std::int64_t c = 0; c < chunks; ++c) layers.push_back(model.layers / chunks + (c < model.layers % chunks ? 1 : 0));
  return cut_by_layers(model, layers);
}

/// @brief The cut of a setting for a vision-language model, with the tower and the projector in the first chunk unless it says otherwise.
/// @param by     the setting; its boundaries, if it has any, are those of the chain of `layers_of` with the tower
/// @param model  the shape
/// @return boundaries of the chain of `layers_of(model)`
/// @throws invalid_input as `require_valid`, or if the boundaries do not rise from 0 to the number of layers of the chain
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint32_t> boundaries_of(training_setting const& by, vision_language_model const& model) {
  require_valid(model);
  auto even = by;
  even.boundaries.clear();
  auto cuts = boundaries_of(even, model.language);
  for (std::size_t c = 1; c < cuts.size(); ++c) cuts[c] += static_cast<std::uint32_t>(model.vision.computed_layers()) + 2;
  if (by.boundaries.empty()) return cuts;
  auto const& own = by.boundaries;
  require(own.size() == cuts.size() && own[0] == 0 && own[1] > 0 && own.back() == cuts.back() && std::is_sorted(own.begin(), own.end()),
          [&] {
            return "boundaries must be " + std::to_string(cuts.size()) +
                   " numbers that rise from 0 to the number of layers with the tower, " + std::to_string(cuts.back());
          });
  return own;
}

}  // namespace ballast::inline v0_2
