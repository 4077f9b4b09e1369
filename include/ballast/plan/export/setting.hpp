// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/cost/transformer_shape.hpp>
#include <ballast/footprint/kernel_setting.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/plan/memory_of.hpp>
#include <ballast/plan/training_plan.hpp>
#include <ballast/plan/training_setting.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/options.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// @file
/// @brief Exports plans of stages to Megatron-LM: its layout string, and the recompute flags that come closest to a plan; `setting_of`, the
/// setting of a planned training.
///
/// Complete settings are written by plan/export/flags.hpp and plan/export/deepspeed.hpp, which has stages for DeepSpeed, too.

namespace ballast::inline v0_2 {

/// @brief The kind of a layer in Megatron-LM's layout string.
enum class layer_kind : std::uint8_t {
  tower,       ///< no letter: a layer of a vision tower or its projector, in front of all others
  embedding,   ///< letter E: the embedding, first
  decoder,     ///< letter t: a transformer layer
  prediction,  ///< letter m: a layer of multi-token prediction, after all decoder layers
  loss,        ///< letter L: head and loss, last
};

/// @brief Returns the value of `--pipeline-model-parallel-layout`, such as `Et*5|t*5|t*3mL`.
///
/// Megatron-LM always has an embedding and a loss. If the chain lacks one, the string gets it in the first or last stage, as required. It
/// runs towers, and then the embedding, in the first stage.
///
/// @tparam Index  type of the boundaries
/// @param boundaries  stages + 1 entries from 0 to the number of layers, never decreasing; interleaved chunks in the order of the model
/// @param kinds       kind of each layer
/// @return the string, or nothing if Megatron-LM has no such layout: kinds in another order, two embeddings or losses, prediction layers in
///         more than one stage, or towers of which, with the embedding behind them, not all are in the first stage
/// @throws invalid_input if the boundaries do not rise from 0 to the number of kinds
/// @par Complexity
/// O(layers + stages).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Megatron-LM, megatron/core/transformer/pipeline_parallel_layer_layout.py.
template <index_type Index>
[[nodiscard]] std::optional<std::string> megatron_layout(std::span<Index const> boundaries, std::span<layer_kind const> kinds) {
  require(boundaries.size() >= 2 && boundaries.front() == 0 && boundaries.back() == kinds.size() &&
              std::is_sorted(boundaries.begin(), boundaries.end()),
          [&] { return sentence("boundaries must rise from 0 to the number of layers, ", kinds.size()); });
  auto const count = [&](layer_kind kind) { return std::count(kinds.begin(), kinds.end(), kind); };
  if (!std::is_sorted(kinds.begin(), kinds.end()) || count(layer_kind::embedding) > 1 || count(layer_kind::loss) > 1) return std::nullopt;
  auto const towers = static_cast<std::size_t>(count(layer_kind::tower));
  if (towers > 0 && boundaries[1] < towers + static_cast<std::size_t>(count(layer_kind::embedding))) return std::nullopt;
  std::string out = count(layer_kind::embedding) == 0 ? "E" : "";
  auto predicts = false;
  for (std::size_t s = 0; s + 1 < boundaries.size(); ++s) {
    if (s > 0) out += '|';
    for (auto i = s == 0 ? towers : static_cast<std::size_t>(boundaries[s]), end = static_cast<std::size_t>(boundaries[s + 1]); i < end;) {
      auto const kind = kinds[i];
      auto const first = i;
      if (kind == layer_kind::prediction && std::exchange(predicts, true)) return std::nullopt;
      while (i < end && kinds[i] == kind) ++i;
      out += std::string(" EtmL")[static_cast<std::size_t>(kind)];
      if (i - first > 1) out += "*" + std::to_string(i - first);
    }
  }
  return count(layer_kind::loss) == 0 ? out + "L" : out;
}

/// @brief Joins arguments to a command line, quoted for a shell.
/// @param words  flags and values
/// @return the words with blanks between them, and quotes where a shell needs them
/// @par Complexity
/// O(characters).
template <class = when_called>
[[nodiscard]] inline std::string in_shell(std::span<std::string const> words) {
  std::string out;
  for (auto const& word : words) {
    auto const quote = word.empty() || word.find_first_of("|*() ") != word.npos;
    out += (out.empty() ? "" : " ") + (quote ? "\"" + word + "\"" : word);
  }
  return out;
}

/// @brief The recompute flags of Megatron-LM for a setting.
///
/// They always name the modules, because without a list Megatron-LM recomputes attention scores alone.
///
/// @param by  what is recomputed
/// @return flags and values, one after the other; nothing if Megatron-LM has no such setting: `alternate`, `products`, or the module
///         `experts`
template <class = when_called>
[[nodiscard]] inline std::optional<std::vector<std::string>> megatron_recompute_flags(recompute_setting const& by) {
  using enum recompute_setting::kind;
  std::vector<std::string> out;
  if (by.what == none) return out;
  if (by.what == modules && !by.modules.contains(recompute_module::experts)) {
    out = {"--recompute-granularity", "selective", "--recompute-modules"};
    for (auto const& m : recompute_modules)
      if (by.modules.contains(m.module)) out.emplace_back(m.name);
    return out;
  }
  if (by.what != block && by.what != uniform) return std::nullopt;
  return std::vector<std::string>{"--recompute-granularity", "full",
                                  "--recompute-method",      by.what == block ? "block" : "uniform",
                                  "--recompute-num-layers",  std::to_string(by.layers)};
}

/// @brief Which of a layer's options correspond to Megatron-LM's recompute settings. Layers with fewer options take their last one.
struct megatron_options {
  std::uint32_t keep = 0;                     ///< index of the option without recomputation
  std::optional<std::uint32_t> selective;     ///< index of the option for `selective`, which applies to all decoder layers
  std::optional<std::uint32_t> full;          ///< index of the option for `full`, which applies to a stage's first decoder layers (`block`)
  module_set modules{recompute_module::mlp};  ///< what the option for `selective` recomputes; Megatron-LM has no `experts`, but `moe`
};

/// @brief The recompute setting of Megatron-LM that comes closest to a plan.
struct megatron_recompute {
  ballast::status status = ballast::status::infeasible;  ///< infeasible: with these boundaries, no setting fits in memory
  recompute_setting setting;                             ///< the setting; `megatron_recompute_flags` writes it
  certificate bottleneck;  ///< time of the slowest stage with this setting, and in the plan; `gap()` is the loss
};

/// @brief Finds the recompute flags of Megatron-LM that fit in memory and make the slowest stage fastest.
///
/// Megatron-LM has one setting for all stages: nothing, `selective` with a list of modules, or `full` for the first n decoder layers of
/// every stage. All are tried.
///
/// @tparam Index  type of the boundaries
/// @param layers   the layers of the chain
/// @param kinds    kind of each layer; only decoder layers are recomputed
/// @param plan     a feasible plan of these layers
/// @param options  the options that it was planned with
/// @param means    which options of a layer correspond to the settings
/// @return the setting, and the slowest stage with it and in the plan
/// @throws invalid_input if the sizes do not match, `options` are not valid, or there is an option for `selective` and `means.modules` is
///         empty or has a module that Megatron-LM does not know
/// @par Complexity
/// O(layers * decoder layers of the longest stage).
/// @par Determinism
/// A pure function of its arguments; among equally fast settings, the one that recomputes less.
template <index_type Index>
[[nodiscard]] megatron_recompute nearest_megatron_recompute(std::span<stage_layer const> layers, std::span<layer_kind const> kinds,
                                                            joint_stages<Index> const& plan, staging_options const& options,
                                                            megatron_options const& means) {
  require_valid(options);
  auto const& cuts = plan.partition.boundaries;
  require(kinds.size() == layers.size() && cuts.size() == options.stages + 1 && cuts.back() == layers.size(), [&] {
    return sentence("layers = ", layers.size(), ", kinds = ", kinds.size(), " and ", cuts.size(), " boundaries of ", options.stages,
                    " stages do not match");
  });
  require(!means.selective || !(means.modules.empty() || means.modules.contains(recompute_module::experts)),
          [&] { return "modules = \"" + to_string(means.modules) + "\" must name modules that Megatron-LM recomputes"; });
  megatron_recompute out;
  auto const consider = [&](std::uint32_t others, std::uint32_t firsts, std::size_t first_layers, recompute_setting const& setting) {
    std::int64_t bottleneck = 0;
    for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
      std::int64_t time = 0, state = 0, working = 0, activations = 0;
      std::size_t decoders = 0;
      for (auto i = static_cast<std::size_t>(cuts[s]); i < cuts[s + 1]; ++i) {
        auto const& layer = layers[i];
        auto const way = kinds[i] != layer_kind::decoder ? means.keep : decoders++ < first_layers ? firsts : others;
        auto const& o = layer.options[(std::min)(std::size_t{way}, layer.options.size() - 1)];
        time += layer.time + o.time + o.transfer;
        state += layer.state;
        working = (std::max)(working, layer.working);
        activations += o.memory;
      }
      auto const room = options.capacity[s] - state - working;
      if (room < 0 || activations > room / static_cast<std::int64_t>(options.in_flight[s])) return;
      bottleneck = (std::max)(bottleneck, time);
    }
    if (out.status == status::feasible && bottleneck >= out.bottleneck.value) return;
    out = {.status = status::feasible, .setting = setting, .bottleneck = {bottleneck, plan.partition.bottleneck.value}};
  };
  using enum recompute_setting::kind;
  consider(means.keep, means.keep, 0, {});
  if (means.selective) consider(*means.selective, *means.selective, 0, {.what = modules, .modules = means.modules});
  std::size_t longest = 0;
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s)
    longest = (std::max)(
        longest, static_cast<std::size_t>(std::count(kinds.begin() + static_cast<std::ptrdiff_t>(cuts[s]),
                                                     kinds.begin() + static_cast<std::ptrdiff_t>(cuts[s + 1]), layer_kind::decoder)));
  for (std::size_t n = 1; means.full && n <= longest; ++n)
    consider(means.keep, *means.full, n, {.what = block, .layers = static_cast<std::int64_t>(n)});
  return out;
}

/// @brief The kinds of the layers that `layers_of` makes of a language model.
/// @param model  the shape
/// @return an embedding and a loss if the model has a vocabulary, with the decoder layers and then the prediction layers between them
template <class = when_called>
[[nodiscard]] inline std::vector<layer_kind> layer_kinds_of(transformer const& model) {
  std::vector<layer_kind> out;
  if (model.vocabulary > 0) out.push_back(layer_kind::embedding);
  out.insert(out.end(), static_cast<std::size_t>(model.layers), layer_kind::decoder);
  out.insert(out.end(), static_cast<std::size_t>(model.mtp_layers), layer_kind::prediction);
  if (model.vocabulary > 0) out.push_back(layer_kind::loss);
  return out;
}

namespace detail {
template <class = when_called>
inline void require_planned(training_plan const& plan, std::span<layer const> layers, std::span<layer_kind const> kinds) {
  require(plan.status == status::feasible, [&] {
    auto const& [stage, needed, budget] = plan.shortage;
    return needed == 0 ? std::string("plan.status must be feasible")
                       : sentence("plan.status must be feasible: stage ", stage, " needs ", needed, " bytes, and has ", budget);
  });
  require(layers.size() == plan.layers.size() && kinds.size() == layers.size(), [&] {
    return sentence("layers = ", layers.size(), " and kinds = ", kinds.size(), " must be those of the plan, ", plan.layers.size());
  });
}
/// What the options of decoder layers mean to Megatron-LM.
template <class = when_called>
[[nodiscard]] inline megatron_options options_of(std::span<layer const> layers, std::span<layer_kind const> kinds) {
  megatron_options means;
  module_set partly;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (kinds[i] != layer_kind::decoder) continue;
    auto const& options = layers[i].options;
    for (std::uint32_t k = 0; k < options.size(); ++k) {
      if (options[k].recomputed == recomputation::full) means.full = k;
      if (options[k].recomputed != recomputation::selective) continue;
      means.selective = k;
      for (auto const& m : recompute_modules)  // Megatron-LM recomputes experts as a whole block
        if (options[k].modules.contains(m.module))
          partly = partly.with(m.module == recompute_module::experts ? recompute_module::moe : m.module);
    }
  }
  if (!partly.empty()) means.modules = partly;
  return means;
}
}  // namespace detail

/// @brief Finds the recompute setting of Megatron-LM that comes closest to the plan of a training.
/// @param plan    a feasible plan of these layers
/// @param layers  the layers, whose options say what each of them recomputes
/// @param kinds   kind of each layer
/// @return as the overload for stages; infeasible if a stage has several chunks, which Megatron-LM's setting does not tell apart
/// @throws invalid_input if the plan is not feasible, or the sizes do not match
/// @par Complexity
/// O(layers * (options + decoder layers of the longest stage)).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline megatron_recompute nearest_megatron_recompute(training_plan const& plan, std::span<layer const> layers,
                                                                   std::span<layer_kind const> kinds) {
  detail::require_planned<>(plan, layers, kinds);
  auto const stages = plan.memory.size();
  if (plan.stages.partition.boundaries.size() != stages + 1) return {};
  auto const means = detail::options_of<>(layers, kinds);
  return nearest_megatron_recompute<std::uint32_t>(plan.layers, kinds, plan.stages,
                                                   {.stages = stages, .capacity = plan.capacity, .in_flight = plan.in_flight}, means);
}

/// @brief Finds the recompute setting of Megatron-LM that comes closest to the plan of a language model.
///
/// Where the tensors of a framework are counted, a setting fits if `memory_of` says so. Then stages may have several chunks, and all layers
/// are recomputed (`uniform`) if nothing else fits.
///
/// @param plan    a feasible plan of the layers `layers_of(model, by.model)`
/// @param model   the shape
/// @param by      what the training was planned with
/// @param hopper  as for `memory_of`
/// @return as the overload for layers
/// @throws invalid_input as the overload for layers, and as `memory_of`
/// @par Complexity
/// As the overload for layers, and `memory_of` for each decoder layer of the longest chunk.
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline megatron_recompute nearest_megatron_recompute(training_plan const& plan, transformer const& model, training_setting by,
                                                                   bool hopper = true) {
  auto const layers = layers_of(model, by.model);
  auto const kinds = layer_kinds_of(model);
  if (by.model.framework.count == tensor_count::table) return nearest_megatron_recompute(plan, layers, kinds);
  detail::require_planned<>(plan, layers, kinds);
  auto const means = detail::options_of<>(layers, kinds);
  auto const& cuts = by.boundaries = plan.stages.partition.boundaries;
  megatron_recompute out;
  std::size_t longest = 0;
  auto const consider = [&](std::uint32_t others, std::uint32_t firsts, std::size_t first_layers, recompute_setting const& setting) {
    std::vector<std::int64_t> time(plan.memory.size());
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      auto& of = time[std::visit([&](auto const& s) { return s.stage_of(c, time.size()); }, by.pipeline.schedule)];
      std::size_t decoders = 0;
      for (auto i = static_cast<std::size_t>(cuts[c]); i < cuts[c + 1]; ++i) {
        auto const& options = plan.layers[i].options;
        auto const way = kinds[i] != layer_kind::decoder ? means.keep : decoders++ < first_layers ? firsts : others;
        of += plan.layers[i].time + options[(std::min)(std::size_t{way}, options.size() - 1)].time;
      }
      longest = (std::max)(longest, decoders);
    }
    auto const bottleneck = *std::max_element(time.begin(), time.end());
    if (out.status == status::feasible && bottleneck >= out.bottleneck.value) return;
    by.recompute = setting;
    auto const parts = memory_of(model, by, plan.largest, hopper);
    for (std::size_t s = 0; s < parts.size(); ++s)
      if (parts[s].peak() > plan.memory[s].budget) return;
    out = {.status = status::feasible, .setting = setting, .bottleneck = {bottleneck, plan.stages.partition.bottleneck.value}};
  };
  using enum recompute_setting::kind;
  consider(means.keep, means.keep, 0, {});
  if (means.selective) consider(*means.selective, *means.selective, 0, {.what = modules, .modules = means.modules});
  for (std::size_t n = 1; means.full && n <= longest; ++n)
    consider(means.keep, *means.full, n, {.what = block, .layers = static_cast<std::int64_t>(n)});
  if (means.full && out.status != status::feasible) consider(*means.full, *means.full, 0, {.what = uniform});
  return out;
}

/// @brief The setting of a training as it was planned: what `megatron_flags` and the other exports write.
///
/// @param plan   a feasible plan of the layers `layers_of(model, by.model)`
/// @param model  the shape
/// @param by     what the training was planned with: how the model is trained, the options of `plan_training`, and the sizes of batches
/// @param hopper  as for `memory_of`
/// @return `by` with the boundaries of the plan, and with the recompute setting of Megatron-LM that comes closest to it: nothing is
///         recomputed if none fits (`nearest_megatron_recompute` says so) or, where no tensors are counted, if a stage has several chunks
/// @throws invalid_input if the plan is not feasible, or has another number of layers than the model
/// @par Complexity
/// O(layers * (options + decoder layers of the longest stage)).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline training_setting setting_of(training_plan const& plan, transformer const& model, training_setting by,
                                                 bool hopper = true) {
  by.recompute = nearest_megatron_recompute(plan, model, by, hopper).setting;
  by.boundaries = plan.stages.partition.boundaries;
  return by;
}

}  // namespace ballast::inline v0_2
