// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/chain_runs.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/recompute/memory_option.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `stage_layer`: what a plan of stages and memory needs to know of a layer; and folded chains of such layers.

namespace ballast::inline v0_2 {

/// @brief A layer in numbers, as `stage_layers_of` makes it: its time, the bytes of its states, and options for its activations.
///
/// While the backward of a layer runs, there are bytes in addition to those that are kept: activations that are computed again, gradients
/// of activations, logits, gathered parameters, buffers of communication. This is the working set of the layer. It does not depend on the
/// option, because a layer that recomputes everything makes about as many activations again as another has gradients of activations.
struct stage_layer {
  std::int64_t time = 0;               ///< forward and backward of one micro-batch, without recomputation; not negative, any unit
  std::int64_t state = 0;              ///< bytes of parameters, gradients and optimiser states, not negative
  std::int64_t working = 0;            ///< bytes of the working set, which exist only while the layer's backward runs, in [0, 2^58]
  std::vector<memory_option> options;  ///< options for one micro-batch: bytes held, time added, link time; at least one
  friend bool operator==(stage_layer const&, stage_layer const&) = default;
};

/// @brief A folded chain of layers: distinct layers, and runs of them.
struct layer_chain {
  std::vector<stage_layer> classes;  ///< distinct layers
  chain_runs runs;                   ///< the chain in order; the value of a run is an index of `classes`
  friend bool operator==(layer_chain const&, layer_chain const&) = default;
};

namespace detail {

/// Sums over layers, or over all layers before a position.
struct stage_sums {
  std::int64_t time = 0, state = 0;
  std::int64_t least = 0;    // bytes if each layer holds as little as it can
  std::int64_t free = 0;     // bytes if each layer takes the smallest option that costs nothing
  std::int64_t bound = 0;    // layers without such an option
  std::int64_t working = 0;  // largest of a range of layers; no sum

  stage_sums() = default;
  explicit stage_sums(stage_layer const& layer) : time(layer.time), state(layer.state), least(layer.options[0].memory), bound(1) {
    for (auto const& o : layer.options) {
      least = (std::min)(least, o.memory);
      if (o.time != 0 || o.transfer != 0) continue;
      free = bound == 1 ? o.memory : (std::min)(free, o.memory);
      bound = 0;
    }
  }
  void add(stage_sums const& o, std::int64_t times) {
    time += times * o.time;
    state += times * o.state;
    least += times * o.least;
    free += times * o.free;
    bound += times * o.bound;
  }
  /// The link time that computation hides; no product could overflow.
  [[nodiscard]] std::int64_t hidden(std::int64_t percent) const { return time / 100 * percent + time % 100 * percent / 100; }
};

}  // namespace detail

/// @brief Throws unless a chain is valid and its sums, and the working set of each layer, are at most 2^58.
/// @param chain  the chain
/// @throws invalid_input naming the first entry that breaks a rule
inline void require_valid(layer_chain const& chain) {
  require_valid(chain.runs);
  constexpr auto most = std::int64_t{1} << 58;
  std::vector<std::uint64_t> items(chain.classes.size());
  for (std::size_t r = 0; r < chain.runs.size(); ++r) {
    auto const k = chain.runs.values[r];
    require(k >= 0 && static_cast<std::uint64_t>(k) < chain.classes.size(),
            [&] { return sentence(entry("runs.values", r, k), " must be in [0, ", chain.classes.size(), "), the classes"); });
    items[static_cast<std::size_t>(k)] += chain.runs.counts[r];
  }
  option_classes all;
  std::int64_t time_left = most, state_left = most;
  for (std::size_t k = 0; k < chain.classes.size(); ++k) {
    auto const& layer = chain.classes[k];
    auto const count = items[k] == 0 ? 1 : items[k];
    auto const take = [&](std::int64_t& left, std::int64_t value, char const* field) {
      require(value >= 0 && (value == 0 || count <= static_cast<std::uint64_t>(left / value)),
              [&] { return sentence("classes[", k, "].", field, " = ", value, " is negative, or brings the sum above 2^58"); });
      if (value > 0) left -= static_cast<std::int64_t>(count) * value;
    };
    take(time_left, layer.time, "time");
    take(state_left, layer.state, "state");
    require(layer.working >= 0 && layer.working <= most,
            [&] { return sentence("classes[", k, "].working = ", layer.working, " must be in [0, 2^58]"); });
    all.add(layer.options, count);
  }
  require_valid(all);
}

/// @brief Folds layers: equal layers become one class, wherever they are, and equal neighbours one run.
/// @param layers  the chain, first to last; may be empty
/// @return classes in order of first appearance
/// @par Complexity
/// O(layers + runs * classes).
/// @par Determinism
/// A pure function of its argument.
template <class = when_called>
[[nodiscard]] inline layer_chain fold_layers(std::span<stage_layer const> layers) {
  layer_chain out;
  out.runs = fold_runs(std::uint64_t{layers.size()}, [&](std::uint64_t a, std::uint64_t b) {
    return layers[static_cast<std::size_t>(a)] == layers[static_cast<std::size_t>(b)];
  });
  for (auto& value : out.runs.values) {
    auto const& layer = layers[static_cast<std::size_t>(value)];
    std::size_t k = 0;
    while (k < out.classes.size() && out.classes[k] != layer) ++k;
    if (k == out.classes.size()) out.classes.push_back(layer);
    value = static_cast<std::int64_t>(k);
  }
  return out;
}

/// @brief Evaluates layers for plans of stages: times for the mean micro-batch, which is balanced, and bytes for the largest, which must
/// fit.
///
/// @param layers   layers of a model (`layers_of`), or measured ones
/// @param mean     the micro-batch whose time is balanced
/// @param largest  the micro-batch whose bytes must fit: the largest of each number over all micro-batches
/// @param rates    rates of the devices (`rates_of` a cluster), or of the measurement
/// @param stages   stages that the chain is cut into; with several, the first and the last layer are on different devices, and a tied head
///                 has a copy of the embedding (`layer::apart`)
/// @return one entry per layer, with its options in their order; nanoseconds, exchanges included, and bytes
/// @throws invalid_input as `layer_evaluator` and its `require_fits`
/// @par Complexity
/// O(layers).
/// @par Determinism
/// A pure function of its arguments; all arithmetic is in integers.
template <class = when_called>
[[nodiscard]] std::vector<stage_layer> stage_layers_of(std::span<layer const> layers, batch_shape const& mean, batch_shape const& largest,
                                                       layer_rates const& rates = {}, std::uint64_t stages = 1) {
  layer_evaluator const evaluate(rates);
  evaluate.require_fits(layers, {.tokens = (std::max)(mean.tokens, largest.tokens),
                                 .squares = (std::max)(mean.squares, largest.squares),
                                 .tiles = (std::max)(mean.tiles, largest.tiles)});
  std::vector<stage_layer> out;
  out.reserve(layers.size());
  for (auto const& l : layers) {
    if (!out.empty() && l.costs_as(layers[out.size() - 1])) {
      out.push_back(out.back());
      continue;
    }
    auto const waits = evaluate.waits(l, mean);
    stage_layer made{.time = 0, .state = l.state + (stages > 1 ? l.apart : 0), .options = {}};
    for (auto const& o : l.options) {
      auto const figures = evaluate(l, o, mean), at_most = evaluate(l, o, largest);
      made.time = figures.time + waits.forward + waits.backward;
      made.working = at_most.working;
      made.options.push_back(
          {.memory = at_most.bytes, .time = figures.recompute + (o.recomputed == recomputation::full ? waits.again : 0)});
    }
    out.push_back(std::move(made));
  }
  return out;
}

BALLAST_INSTANTIATE(std::vector<stage_layer> stage_layers_of(std::span<layer const>, batch_shape const&, batch_shape const&,
                                                             layer_rates const&, std::uint64_t))

}  // namespace ballast::inline v0_2
