// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/methods/omnibal.hpp>
#include <ballast/methods/omnibal_model.hpp>
#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/time_stages.hpp>
#include <ballast/plan/training_plan.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief OmniBal as a whole: data, model and memory are balanced one after the other, and the result is a modelled timeline.

namespace ballast::inline v0_2::omnibal {

/// @brief The kind of a layer in the chain of a vision-language model, as adaptive recomputation tells layers apart.
enum class layer_kind : std::uint8_t {
  other,     ///< an embedding, the projector or the head: it is not recomputed
  vision,    ///< a layer of the vision transformer
  language,  ///< a layer of the language model
};

/// @brief The kind of each layer of `layers_of(model)`.
/// @param model  the shape, without layers for multi-token prediction
/// @return one entry per layer
template <class = when_called>
[[nodiscard]] inline std::vector<layer_kind> layer_kinds(vision_language_model const& model) {
  auto const outside = std::size_t{model.language.vocabulary > 0 ? 1U : 0U};
  std::vector<layer_kind> out(1, layer_kind::other);  // the patches
  out.insert(out.end(), static_cast<std::size_t>(model.vision.body.layers), layer_kind::vision);
  out.insert(out.end(), 1 + outside, layer_kind::other);
  out.insert(out.end(), static_cast<std::size_t>(model.language.layers), layer_kind::language);
  out.insert(out.end(), outside, layer_kind::other);
  return out;
}

/// @brief The chain with one option for each layer: in each stage, the first so many transformer layers recompute everything, and all other
/// layers keep everything.
/// @param layers      the chain of `layers_of(model)`
/// @param kinds       the kind of each layer
/// @param boundaries  the cut: stages + 1 layers
/// @param recomputed  for each stage, the number of recomputed layers; all if it has fewer
/// @return the chain
/// @throws invalid_input if the sizes do not match
template <class = when_called>
[[nodiscard]] inline std::vector<layer> with_recomputation(std::vector<layer> layers, std::span<layer_kind const> kinds,
                                                           std::span<std::uint32_t const> boundaries,
                                                           std::span<std::int64_t const> recomputed) {
  require(kinds.size() == layers.size() && boundaries.size() == recomputed.size() + 1 && boundaries.back() <= layers.size(),
          [] { return "kinds, boundaries and recomputed do not match the layers"; });
  for (std::size_t s = 0; s < recomputed.size(); ++s) {
    auto left = recomputed[s];
    for (std::size_t i = boundaries[s]; i < boundaries[s + 1]; ++i) {
      auto& options = layers[i].options;
      auto const again = kinds[i] != layer_kind::other && left-- > 0 && options.back().recomputed == recomputation::full;
      options = {again ? options.back() : options.front()};
    }
  }
  return layers;
}

/// @brief Measures a cut by simulating the first steps of the plan, with all layers recomputed.
struct by_simulation {
  std::uint64_t steps = 20;  ///< number of steps that are simulated; the paper measures about 20
};

/// @brief Options of `plan_training`. `memory` has no default.
struct training_options {
  options data{};                          ///< limits of packs, ranks and micro-batches: each rank is a pipeline
  partition_search search{.stages = 4};    ///< stages, and the radius of the search for a cut
  std::int64_t memory = 0;                 ///< bytes of each device that the plan may use
  std::int64_t reserve = default_reserve;  ///< bytes of it that stay free when layers are released from recomputation
};

/// @brief The plan of a training by OmniBal.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct training {
  omnibal::data_plan<Index> data;        ///< packs and steps
  partition_candidates<> cuts;           ///< the anchor, and the candidates that were measured
  std::vector<std::int64_t> measured;    ///< the measured time of each candidate
  std::size_t chosen = 0;                ///< the fastest candidate, the first of equal ones
  std::vector<std::int64_t> recomputed;  ///< for each stage, how many transformer layers it recomputes, counted from its first
  training_plan plan;                    ///< stages, memory and the timeline of every step
};

/// @brief Plans a training as OmniBal does: packs, then a cut into stages, then recomputation.
///
/// 1. Data: `plan_data` makes packs and steps.
/// 2. Model: the forward times of layers for the mean micro-batch give a balanced cut, the anchor. Candidates around it are measured with
///    all layers recomputed, and the fastest is taken. Volumes are those of a full micro-batch.
/// 3. Memory: `recomputed_layers` releases layers of each stage from recomputation, as far as the memory that is free if all are recomputed
///    allows, less the reserve.
///
/// The published code measures the memory of a layer on the first and on the last stage, and uses both figures on all stages. Under 1F1B
/// an earlier stage holds more micro-batches, so a language layer there needs more memory than on the last stage. Here a layer counts as
/// many micro-batches as its stage holds.
///
/// `ballast::plan_training` chooses cut and recomputation together, and `plan_steps` makes fewer and better balanced packs.
///
/// @tparam Index    type of the sample indices
/// @tparam Measure  `by_simulation`, or a callable (boundaries) -> integer, the time of a cut
/// @param tiles    image tiles of each sample
/// @param tokens   text length of each sample, its tiles' tokens included
/// @param layers   the layers of the model, modelled or measured
/// @param kinds    the kind of each layer
/// @param rates    rates that turn work into time
/// @param o        limits, ranks, stages, memory
/// @param measure  measures a cut; called once for each candidate
/// @return packs, steps, cut, recomputation and timeline; `plan.status` is infeasible if there are too few layers, or too little memory
/// even if all layers are recomputed
/// @throws invalid_input as `plan_data`, `partition_around_anchor` and `time_stages`, or if layers and kinds differ in size
/// @par Complexity
/// That of `plan_data`, and O(stages * micro-batches) for the timeline.
/// @par Determinism
/// A pure function of its arguments if `measure` is one; all decisions are in integers.
/// @par Source
/// Yao et al., OmniBal, arXiv 2407.20761, and its code.
template <index_type Index = std::uint32_t, class Measure = by_simulation>
  requires std::same_as<Measure, by_simulation> || std::regular_invocable<Measure const&, std::span<std::uint32_t const>>
[[nodiscard]] training<Index> plan_training(std::span<std::int64_t const> tiles, std::span<std::int64_t const> tokens,
                                            std::vector<layer> const& layers, std::span<layer_kind const> kinds, layer_rates const& rates,
                                            training_options const& o, Measure const& measure = {}) {
  using cut = std::span<std::uint32_t const>;
  require(layers.size() == kinds.size(), [&] { return sentence("kinds has ", kinds.size(), " entries for ", layers.size(), " layers"); });
  training<Index> out;
  out.data = plan_data<Index>(tiles, tokens, o.data);
  auto const& steps = out.data.steps;
  auto const& limits = out.data.sets[0].limits;
  auto const packs = shapes_of(steps.packs, tokens, tiles);
  batch_shape mean;
  for (auto const& p : packs) mean = {mean.tokens + p.tokens, mean.squares + p.squares, mean.tiles + p.tiles};
  auto const count = (std::max)(static_cast<std::int64_t>(packs.size()), std::int64_t{1});
  mean = {mean.tokens / count, mean.squares / count, mean.tiles / count};

  layer_evaluator const evaluate(rates);
  std::vector<std::int64_t> profile, volume;
  for (auto const& l : layers) {
    profile.push_back(evaluate(l, l.options.front(), mean).forward + evaluate.waits(l, mean).forward);
    volume.push_back(l.boundary({.tokens = limits.tokens, .squares = 0, .tiles = limits.tiles}));
  }
  if (!volume.empty()) volume.pop_back();
  out.cuts = partition_around_anchor(profile, volume, o.search);
  if (out.cuts.candidates.empty()) return out;

  out.recomputed.assign(static_cast<std::size_t>(o.search.stages), static_cast<std::int64_t>(layers.size()));
  auto const timed = [&](batching<Index> const& of, cut boundaries) {
    return time_stages<Index>(of, packs, with_recomputation(layers, kinds, boundaries, out.recomputed), boundaries,
                              {.stages = o.search.stages, .memory = o.memory}, rates);
  };
  if constexpr (std::same_as<Measure, by_simulation>) {
    auto first = steps;
    auto const some = (std::min)(measure.steps, std::uint64_t{steps.steps()});
    first.table.resize(static_cast<std::size_t>(steps.ranks * steps.micro_batches * some));
    for (auto const& c : out.cuts.candidates) out.measured.push_back(timed(first, c.boundaries).time.value);
  } else {
    for (auto const& c : out.cuts.candidates) out.measured.push_back(measure(cut(c.boundaries)));
  }
  out.chosen = static_cast<std::size_t>(std::min_element(out.measured.begin(), out.measured.end()) - out.measured.begin());
  auto const& boundaries = out.cuts.candidates[out.chosen].boundaries;

  auto const all = timed(steps, boundaries);
  for (std::size_t s = 0; s < out.recomputed.size(); ++s) {
    std::int64_t vision = 0, language = 0;
    layer_bytes bytes;
    for (std::size_t i = boundaries[s]; i < boundaries[s + 1]; ++i) {
      if (kinds[i] == layer_kind::other) continue;
      auto const held = [&](layer_option const& option) { return evaluate(layers[i], option, all.largest).bytes; };
      auto const more = held(layers[i].options.front()) - held(layers[i].options.back());
      auto& of_kind = kinds[i] == layer_kind::vision ? bytes.vision : bytes.language;
      auto& number = kinds[i] == layer_kind::vision ? vision : language;
      auto const of_stage = (std::max)(static_cast<std::int64_t>(all.in_flight[s]) * more, std::int64_t{1});
      of_kind = number++ == 0 ? of_stage : (std::max)(of_kind, of_stage);
    }
    out.recomputed[s] = recomputed_layers(vision, language, o.memory - o.reserve - all.memory[s].bytes(), bytes);
  }
  out.plan = timed(steps, boundaries);
  return out;
}

/// @brief As above, for the shape of a vision-language model on a cluster.
///
/// @tparam Index    type of the sample indices
/// @tparam Measure  `by_simulation`, or a callable (boundaries) -> integer, the time of a cut
/// @param tiles    image tiles of each sample
/// @param tokens   text length of each sample, its tiles' tokens included
/// @param model    the shape, without layers for multi-token prediction
/// @param on       the devices
/// @param by       how the model is trained; `by.spread.data` is usually the number of ranks
/// @param o        limits, ranks, stages, memory
/// @param measure  measures a cut; called once for each candidate
/// @return packs, steps, cut, recomputation and timeline
/// @throws invalid_input as the overload above, `layers_of` and `rates_of`
/// @par Complexity
/// As above.
/// @par Determinism
/// As above.
template <index_type Index = std::uint32_t, class Measure = by_simulation>
[[nodiscard]] training<Index> plan_training(std::span<std::int64_t const> tiles, std::span<std::int64_t const> tokens,
                                            vision_language_model const& model, cluster const& on, model_setting const& by,
                                            training_options const& o, Measure const& measure = {}) {
  return plan_training<Index>(tiles, tokens, layers_of(model, by), layer_kinds(model), rates_of(on, by.spread.tensor * by.spread.data), o,
                              measure);
}

}  // namespace ballast::inline v0_2::omnibal
