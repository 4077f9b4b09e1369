// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "omnibal_surrogate.hpp"

#include <ballast/batching/result.hpp>
#include <ballast/batching/vector_steps.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/cluster.hpp>
#include <ballast/methods/omnibal_training.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/plan/batch_shapes.hpp>
#include <ballast/plan/plan_training.hpp>
#include <ballast/plan/time_stages.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

// OmniBal's ablation (its table 2) on modelled devices: what its data, model and memory balance each save, one after the other.

namespace ablation {

using namespace ballast;

/// `count` samples of a data set, at random.
inline surrogate::samples some_of(surrogate::samples const& all, std::size_t count) {
  surrogate::samples out;
  for (auto const i : random_permutation(all.tiles.size(), 7))
    if (out.tiles.size() < count) out.push_back(all.tiles[i], all.tokens[i]);
  return out;
}

/// Steps, the size of each pack, and the number of samples in steps.
struct loaded_steps {
  batching<> steps;
  std::vector<batch_shape> packs;
  std::size_t samples = 0;
};

/// The micro-batches of a trainer that does not pack: four random samples each, padded to the longest.
inline loaded_steps random_batches(surrogate::samples const& data, std::uint64_t ranks, std::uint64_t micro_batches) {
  loaded_steps out;
  out.steps.ranks = ranks;
  out.steps.micro_batches = micro_batches;
  auto const places = static_cast<std::size_t>(ranks * micro_batches);
  auto const order = random_permutation(data.tiles.size(), 3);
  for (std::size_t at = 0; at + 4 * places <= order.size(); at += 4 * places)
    for (std::size_t place = 0; place < places; ++place) {
      std::span const four(order.data() + at + 4 * place, 4);
      std::int64_t longest = 0, tiles = 0;
      for (auto const i : four) {
        longest = (std::max)(longest, data.tokens[i]);
        tiles += data.tiles[i];
      }
      out.steps.table.push_back(static_cast<std::uint32_t>(out.packs.size()));
      out.steps.packs.push_back(four);
      out.packs.push_back({.tokens = 4 * longest, .squares = 4 * longest * longest, .tiles = tiles});
    }
  out.samples = out.steps.packs.members.size();
  return out;
}
inline loaded_steps loaded(batching<> steps, surrogate::samples const& data) {
  auto packs = shapes_of(steps.packs, std::span<std::int64_t const>(data.tokens), data.tiles);
  auto const samples = steps.packs.members.size();
  return {std::move(steps), std::move(packs), samples};
}

/// A model, its devices and how it is trained.
struct trained_model {
  vision_language_model model;
  cluster on;
  model_setting by;
  std::uint64_t stages = 1, ranks = 1, micro_batches = 1;
  std::int64_t memory = 72'000'000'000;
  std::vector<layer> layers = layers_of(model, by);
  std::vector<omnibal::layer_kind> kinds = omnibal::layer_kinds(model);

  [[nodiscard]] layer_rates rates() const { return rates_of(on, by.spread.tensor * by.spread.data); }
  [[nodiscard]] std::int64_t devices() const { return by.spread.tensor * static_cast<std::int64_t>(stages * ranks); }
  /// A cut into stages of equal numbers of parameters.
  [[nodiscard]] std::vector<std::uint32_t> cut_by_parameters() const {
    std::vector<std::int64_t> parameters;
    for (auto const& l : layers) parameters.push_back(l.parameters);
    return min_max_partition(parameters, {.stages = stages}).boundaries;
  }
  /// The timeline of a cut if all layers are recomputed.
  [[nodiscard]] training_plan recomputed(loaded_steps const& data, std::span<std::uint32_t const> cut) const {
    std::vector<std::int64_t> const all(static_cast<std::size_t>(stages), static_cast<std::int64_t>(layers.size()));
    return time_stages<std::uint32_t>(data.steps, data.packs, omnibal::with_recomputation(layers, kinds, cut, all), cut,
                                      {.stages = stages, .memory = memory}, rates());
  }
  /// The library's own plan of stages and recomputation.
  [[nodiscard]] training_plan planned(loaded_steps const& data) const {
    return plan_training<std::uint32_t>(data.steps, data.packs, layers, {.stages = stages, .memory = memory}, rates());
  }
  [[nodiscard]] omnibal::training<> omnibal_plan(surrogate::samples const& data) const {
    return omnibal::plan_training(
        data.tiles, data.tokens, layers, kinds, rates(),
        {.data = {.ranks = ranks, .micro_batches = micro_batches}, .search = {.stages = stages}, .memory = memory});
  }
  [[nodiscard]] loaded_steps library_steps(surrogate::samples const& data) const {
    batching<> steps =
        plan_steps({data.tiles, data.tokens}, {.steps = {.capacity = 4096, .ranks = ranks, .micro_batches = micro_batches}, .others = {9}});
    return loaded(std::move(steps), data);
  }
};

/// The paper's setting with Megatron: 64 A100 at half of their peak, 4 stages of 4 tensor-parallel devices, 4 pipelines of 16
/// micro-batches.
inline trained_model with_megatron(vision_language_model const& model) {
  return {.model = model,
          .on = {.device = device_named("a100"), .mfu = 0.5},
          .by = {.spread = {.tensor = 4, .data = 4, .zero = 1}, .framework = framework_named("chunkflow")},
          .stages = 4,
          .ranks = 4,
          .micro_batches = 16};
}

/// The same if vision layers take `percent` of the time that their FLOPs say.
inline trained_model with_slower_vision(trained_model m, std::int64_t percent) {
  for (std::size_t i = 0; i < m.layers.size(); ++i) {
    if (m.kinds[i] != omnibal::layer_kind::vision) continue;
    auto const scale = [&](batch_cost& work) { work.per_tile = work.per_tile / 100 * percent; };
    scale(m.layers[i].forward);
    scale(m.layers[i].backward);
    for (auto& o : m.layers[i].options) scale(o.work);
  }
  return m;
}

/// A row of the ablation.
struct row {
  std::string name;
  training_plan plan;
  double seconds_per_sample = 0;  // of all devices together
  [[nodiscard]] double gpu_days(double samples) const { return seconds_per_sample * samples / 86400; }
};
inline row row_of(std::string name, training_plan plan, std::size_t samples, std::int64_t devices) {
  auto const seconds = static_cast<double>(plan.time.value) / 1e9 * static_cast<double>(devices) / static_cast<double>(samples);
  return {std::move(name), std::move(plan), seconds};
}

/// The rows of table 2, each with all that the rows before it have, and the library's own plan.
inline std::vector<row> rows_of(trained_model const& m, surrogate::samples const& data) {
  auto const by_parameters = m.cut_by_parameters();
  auto const random = random_batches(data, m.ranks, m.micro_batches);
  auto paper = m.omnibal_plan(data);
  auto const packed = loaded(paper.data.steps, data);
  auto const& balanced = paper.cuts.candidates[paper.chosen].boundaries;
  auto const own = m.library_steps(data);
  std::vector<row> out;
  out.push_back(row_of("baseline", m.recomputed(random, by_parameters), random.samples, m.devices()));
  out.push_back(row_of("+ data", m.recomputed(packed, by_parameters), packed.samples, m.devices()));
  out.push_back(row_of("+ model", m.recomputed(packed, balanced), packed.samples, m.devices()));
  out.push_back(row_of("+ memory", std::move(paper.plan), packed.samples, m.devices()));
  out.push_back(row_of("plan_steps and plan_training", m.planned(own), own.samples, m.devices()));
  return out;
}

}  // namespace ablation
