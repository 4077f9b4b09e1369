// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/communication.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/kernel_time.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/recompute_modules.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/vision.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/trainable.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `time_layers`: the chain of `layers_of` with the time of its kernels as work, in place of FLOPs.

namespace ballast::inline v0_2 {

/// @brief Units of a picosecond in which `time_layers` counts, so that pairs of tokens which many devices share are not rounded away.
/// @param by  degrees of tensor and context parallelism
/// @return a power of two in [16, 1024]: the more devices share a layer, the finer
[[nodiscard]] constexpr std::int64_t time_units(model_setting const& by) noexcept {
  auto const shared = std::bit_ceil(static_cast<std::uint64_t>(by.spread.tensor) * static_cast<std::uint64_t>(by.spread.context));
  return static_cast<std::int64_t>((std::min)(16 * shared, std::uint64_t{1024}));
}

namespace detail {

/// A cost in which each coefficient is divided as another cost was.
[[nodiscard]] constexpr batch_cost in_proportion(batch_cost const& of, batch_cost const& is, batch_cost const& whole) noexcept {
  auto const part = [](std::int64_t value, std::int64_t to, std::int64_t from) {
    return from == 0 ? 0
                     : static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(to),
                                                                    static_cast<std::uint64_t>(from)));
  };
  return {.per_token = part(of.per_token, is.per_token, whole.per_token),
          .per_square = part(of.per_square, is.per_square, whole.per_square),
          .per_tile = part(of.per_tile, is.per_tile, whole.per_tile),
          .per_batch =
              whole.per_tile > 0 ? part(of.per_batch, is.per_tile, whole.per_tile) : part(of.per_batch, is.per_token, whole.per_token)};
}

/// Times of kernels that do not depend on the data-parallel ranks: they are computed once for all micro-batches.
struct kernel_times {
  using range = std::pair<std::int64_t, std::int64_t>;  // the least tokens and the length of `batch_range::around`
  struct kind {
    std::vector<module_set> sets{};
    known_sizes sizes{};
    std::map<range, linear_layer> lines{};
  };
  std::map<std::size_t, kind> kinds{};  // few of many
  std::map<std::int64_t, head_parts> head_sizes{};
  std::map<std::int64_t, std::pair<batch_cost, batch_cost>> heads{};  // both passes, by the least tokens
  known_matrices* matrices = nullptr;                                 // of all times that are computed for one device
};

/// Puts times into the layers of a language model or a vision encoder.
template <class = when_called>
class layer_clock {
 public:
  /// A vision encoder has `tile` tokens in each tile, of which a device computes one of `shares`. Times are in `units` of a picosecond.
  layer_clock(transformer const& model, model_setting const& by, device const& on, time_setting const& with, batch_shape const& typical,
              bool piped, kernel_times& known, std::int64_t units, std::int64_t tile = 0, std::int64_t shares = 1)
      : model_(model),
        by_(by),
        on_(on),
        with_(with),
        within_(batch_range::around(typical)),
        units_(units),
        tile_(tile),
        shares_(shares),
        once_(by.spread.zero == 2 || piped),
        known_(known) {}

  /// Layer `which` of the model. `whole` is the same if all were trained; null if all is.
  void layer_of_model(layer& to, std::int64_t which, layer const* whole) {
    auto const& time = times(which, to.options);
    auto const of = [&](batch_cost const& c) {
      if (tile_ == 0) return c;
      auto out = c.by_tile({.tokens = tile_, .squares = tile_ * tile_, .tiles = 0});
      out.per_tile = divide_up(out.per_tile, shares_);
      return out;
    };
    auto const no_backward = to.backward == batch_cost{};
    put(to, of(time.forward), of(time.backward), whole);
    std::size_t set = 0;
    for (auto& o : to.options) {
      using enum recomputation;
      if (o.recomputed == full) o.work = to.forward;
      if (o.recomputed == selective) o.work = of(o.modules.empty() ? time.products : time.modules[set++]);
    }
    auto& pace = to.pace;
    pace.forward = of(time.forward_exchange);
    pace.backward = no_backward ? batch_cost{} : of(time.backward_exchange);
    pace.host_forward = time.least.forward;
    pace.host_backward = no_backward ? 0 : time.least.backward;
    to.exchanges.clear();
    add_shards(to, parameters_on_device(model_, which, by_), tile_ == 0 ? by_.language : by_.vision);
  }
  /// The head's products and loss, on a layer that may have work of its own.
  void add_head(layer& to, layer const* whole) {
    auto const& [forward, backward] = head();
    put(to, forward, backward, whole);
  }
  /// Products of the head once more, for multi-token prediction.
  void add_head(layer& to) {
    auto const& [forward, backward] = head();
    to.forward = to.forward + forward;
    to.backward = to.backward + backward;
  }
  /// Layers without products: what is exchanged of their parameters.
  void matrix(layer& to) {
    to.exchanges.clear();
    add_shards(to, {divide_up(model_.vocabulary * model_.hidden, by_.spread.tensor), 0}, by_.language);
  }
  /// Devices gather `bytes` of each tile, of which each computed one of the shares; and the gradients, if there is a backward pass.
  void gather_tiles(layer& to, std::int64_t bytes) const {
    if (shares_ == 1) return;
    auto const time = in_units(ring_time(divide_up(bytes, by_.spread.context), {shares_, by_.spread.tensor}, links_of(on_), with_.rates));
    to.pace.forward.per_tile = time;
    to.pace.backward.per_tile = to.backward == batch_cost{} ? 0 : time;
  }
  /// A layer of products that are counted in FLOPs alone.
  void products(layer& to) const {
    auto const rate = thousandths_of(on_.bf16_flops, with_.rates.gemm);
    auto const time = [&](batch_cost const& flops) {
      return batch_cost{.per_tile = in_units(ps_of(checked(flops.per_tile), rate, "a tile"))};
    };
    to.forward = time(to.forward);
    to.backward = time(to.backward);
    for (auto& o : to.options)
      if (o.recomputed == recomputation::full) o.work = to.forward;
    to.exchanges.clear();
  }

 private:
  [[nodiscard]] std::int64_t in_units(std::int64_t picoseconds) const {
    auto const out = checked(picoseconds) * checked(units_);
    require(out.fits(), [] { return std::string("a layer takes 2^63 units of time or more"); });
    return out.value;
  }
  static void put(layer& to, batch_cost const& forward, batch_cost const& backward, layer const* whole) {
    to.forward = whole ? in_proportion(forward, to.forward, whole->forward) : forward;
    to.backward = whole ? in_proportion(backward, to.backward, whole->backward) : backward;
  }
  [[nodiscard]] linear_layer const& times(std::int64_t which, std::vector<layer_option> const& options) {
    std::vector<module_set> sets;
    for (auto const& o : options)
      if (o.recomputed == recomputation::selective && !o.modules.empty()) sets.push_back(o.modules);
    auto& known = known_.kinds[kind_of(model_, which)];
    if (known.sets != sets) known = {.sets = sets};
    auto const [line, added] = known.lines.try_emplace({within_.least, within_.length});
    if (added) line->second = linear_layer_time(model_, which, by_, on_, with_, sets, within_, units_, known_.matrices, &known.sizes);
    return line->second;
  }
  [[nodiscard]] std::pair<batch_cost, batch_cost> const& head() {
    auto const [known, added] = known_.heads.try_emplace(within_.least);
    if (!added) return known->second;
    std::vector<std::int64_t> sizes;
    std::array<std::vector<std::int64_t>, 2> each;  // femtoseconds per token
    for (auto tokens = within_.least; tokens <= within_.most; tokens *= 2) {
      auto const [size, is_new] = known_.head_sizes.try_emplace(tokens);
      if (is_new) size->second = head_time(model_, by_, on_, with_, tokens);
      auto const time = size->second.gemm + size->second.memory;
      sizes.push_back(tokens);
      for (auto const k : {0, 1})
        each[static_cast<std::size_t>(k)].push_back(static_cast<std::int64_t>(multiply_divide_up(
            static_cast<std::uint64_t>(k == 0 ? time.forward : time.backward), 1000, static_cast<std::uint64_t>(tokens))));
    }
    chebyshev_line const line(sizes);
    auto const cost = [&](std::vector<std::int64_t> const& rest) {
      auto const [once, level] = line(rest);
      return batch_cost{.per_token = (level * units_ + 500) / 1000, .per_batch = once / 1000 * units_};
    };
    return known->second = {cost(each[0]), cost(each[1])};
  }
  /// What travels of a layer's parameters, beside its passes or at the end of a step.
  void add_shards(layer& to, device_parameters const& of, trainable const& is) const {
    auto const& spread = by_.spread;
    auto const links = links_of(on_);
    auto const all = is.what == trained::all;  // adapters have few gradients
    rank_group const data{spread.data, spread.tensor}, experts = expert_group(by_);
    auto const sent = [&](std::int64_t each, bool latency) {
      auto const over = [&](std::int64_t parameters, rank_group const& group) {
        if (parameters == 0) return std::int64_t{0};
        return ring_time(each * parameters, group, links, with_.rates) - (latency ? 0 : ring_time(0, group, links, with_.rates));
      };
      return over(of.plain, data) + over(of.experts, experts);
    };
    auto& pace = to.pace;
    if (spread.zero < 2) {
      if (all) pace.step = in_units(sent(4, false) + sent(2, false));
      return;
    }
    auto const gather = in_units(sent(2, true)), scatter = all ? in_units(sent(with_.float_reduction ? 4 : 2, true)) : 0;
    auto const copy = in_units(
        ps_of(checked(with_.rates.shard_copy) * checked(of.plain + of.experts), memory_rate(on_, with_.rates), "a copy of shards"));
    pace.stolen = with_.rates.stolen;
    pace.copied_forward = thousandths_of(copy, 300);
    pace.copied_backward = copy - pace.copied_forward;
    pace.shards_backward = scatter;
    if (once_) {
      pace.step = gather;
    } else {
      pace.shards_forward = gather;
      pace.shards_backward += gather;
    }
  }

  transformer const& model_;
  model_setting const& by_;
  device const& on_;
  time_setting const& with_;
  batch_range within_;
  std::int64_t units_, tile_, shares_;
  bool once_;  // whether shards of parameters are gathered once in a step
  kernel_times& known_;
};

/// Layer `at` of the chain of a language model; `whole` is the same if all was trained, and null if all is.
template <class = when_called>
inline void time_language_layer(layer& to, std::size_t at, layer const* whole, transformer const& model, layer_clock<>& clock) {
  auto const l = static_cast<std::int64_t>(at) - (model.vocabulary > 0 ? 1 : 0), last = model.layers + model.mtp_layers;
  if (l >= 0 && l < last) clock.layer_of_model(to, (std::min)(l, model.layers - 1), whole);
  if (model.vocabulary == 0 || (l >= 0 && l < model.layers)) return;
  if (l >= model.layers && l < last) return clock.add_head(to);
  if (l == last) clock.add_head(to, whole);
  clock.matrix(to);
}

/// The setting in which all is trained.
[[nodiscard]] inline model_setting all_trained(model_setting by) {
  by.language = by.vision = by.projector = {};
  return by;
}
template <class = when_called>
[[nodiscard]] inline bool trains_all(model_setting const& by) noexcept {
  return by.language.what == trained::all && by.vision.what == trained::all && by.projector.what == trained::all;
}

/// Times layers of the chain of a language model, of which `at` are the places, with the times of kernels that are known.
template <class = when_called>
inline void time_chain(std::span<layer> some, std::span<std::size_t const> at, transformer const& model, model_setting const& by,
                       device const& on, time_setting const& with, batch_shape const& typical, std::uint64_t stages, kernel_times& known) {
  auto const whole = trains_all(by) ? std::vector<layer>{} : layers_of(model, all_trained(by));
  layer_clock<> clock(model, by, on, with, typical, stages > 1, known, time_units(by));
  for (std::size_t i = 0; i < some.size(); ++i) time_language_layer(some[i], at[i], whole.empty() ? nullptr : &whole[at[i]], model, clock);
}

/// Times layers of the chain of a vision-language model: of the tower, and of the language model.
template <class = when_called>
inline void time_chain(std::span<layer> some, std::span<std::size_t const> at, vision_language_model const& model, model_setting const& by,
                       device const& on, time_setting const& with, batch_shape const& typical, std::uint64_t stages,
                       std::array<kernel_times, 2>& known) {
  auto const setting = vision_setting(by);
  auto const front = static_cast<std::size_t>(model.vision.computed_layers()) + 2;
  auto const whole = trains_all(by) ? std::vector<layer>{} : layers_of(model, all_trained(by));
  auto const n = model.vision.tokens(), shares = by.tile_shares(), units = time_units(by);
  auto const pixels = divide_up((std::max)(typical.tiles, std::int64_t{1}), shares) * n;
  batch_shape const tiles{.tokens = pixels, .squares = pixels * n, .tiles = 0};
  layer_clock<> tower(model.vision.body, setting, on, with, tiles, stages > 1, known[0], units, n, shares);
  layer_clock<> clock(model.language, by, on, with, typical, stages > 1, known[1], units);
  for (std::size_t i = 0; i < some.size(); ++i) {
    auto const place = at[i];
    auto const* const of_whole = whole.empty() ? nullptr : &whole[place];
    if (place >= front)
      time_language_layer(some[i], place - front, of_whole, model.language, clock);
    else if (place == 0 || place + 1 == front) {
      tower.products(some[i]);
      if (place != 0) tower.gather_tiles(some[i], 2 * model.projector.tokens * model.projector.output * model.projector.count());
    } else
      tower.layer_of_model(some[i], static_cast<std::int64_t>(place) - 1, of_whole);
  }
}

[[nodiscard]] inline std::size_t chain_size(transformer const& model) {
  return static_cast<std::size_t>(model.layers + model.mtp_layers + (model.vocabulary > 0 ? 2 : 0));
}
[[nodiscard]] inline std::size_t chain_size(vision_language_model const& model) {
  return static_cast<std::size_t>(model.vision.computed_layers()) + 2 + chain_size(model.language);
}

/// Times the chain of a model.
template <class Model, class Known>
void time_all(std::vector<layer>& chain, Model const& model, model_setting const& by, device const& on, time_setting const& with,
              batch_shape const& typical, std::uint64_t stages, Known& known) {
  require(chain.size() == chain_size(model),
          [&] { return sentence("the chain has ", chain.size(), " layers, that of the model has ", chain_size(model)); });
  std::vector<std::size_t> at(chain.size());
  std::iota(at.begin(), at.end(), std::size_t{0});
  time_chain(chain, at, model, by, on, with, typical, stages, known);
}

}  // namespace detail

/// @brief Turns the work of a language model's chain from FLOPs into time: what kernels take, and what passes wait for.
///
/// Work of passes and of recomputation becomes a + b T + c sum(l^2) of `linear_layer_time`. Exchanges that are not hidden, the host, and
/// the shards of ZeRO become `layer::pace`; `layer::exchanges` is empty then. Where adapters or parts are trained, passes take less as
/// their FLOPs are fewer. The embedding takes no time. What a step takes once, and the transfers between stages, are in the rates: see
/// `timed_rates`.
///
/// @param chain    the layers of `layers_of(model, by)`; options may have been taken out
/// @param model    the shape
/// @param by       how the model is trained
/// @param on       the device
/// @param with     rates, and what else time depends on
/// @param typical  a micro-batch on all devices of a context-parallel group: times are nearest to `parts_of_layer` from a quarter to twice
///                 of its tokens, in samples of its mean length
/// @param stages   number of pipeline stages: with several, shards of parameters are gathered once in a step
/// @throws invalid_input as `parts_of_layer`, or if the chain has another number of layers
/// @par Complexity
/// O(layers), and `linear_layer_time` for each kind of layer.
/// @par Determinism
/// A pure function of its arguments, in integers: units are `time_units(by)` of a picosecond.
/// @par Source
/// This library (docs/time-model.md).
template <class = when_called>
inline void time_layers(std::vector<layer>& chain, transformer const& model, model_setting const& by, device const& on,
                        time_setting const& with, batch_shape const& typical, std::uint64_t stages = 1) {
  detail::kernel_times known;
  detail::time_all(chain, model, by, on, with, typical, stages, known);
}

/// @brief Turns the work of a vision-language model's chain from FLOPs into time, as for a language model.
///
/// Layers of the tower take the time of their tokens by tile. Patch embedding and projector take their FLOPs at the rate of large products.
///
/// @param chain    the layers of `layers_of(model, by)`
/// @param model    the shape
/// @param by       how the model is trained
/// @param on       the device
/// @param with     rates, and what else time depends on
/// @param typical  a micro-batch, with its image tiles
/// @param stages   as the other overload
/// @throws invalid_input as the other overload
template <class = when_called>
inline void time_layers(std::vector<layer>& chain, vision_language_model const& model, model_setting const& by, device const& on,
                        time_setting const& with, batch_shape const& typical, std::uint64_t stages = 1) {
  std::array<detail::kernel_times, 2> known;
  detail::time_all(chain, model, by, on, with, typical, stages, known);
}

}  // namespace ballast::inline v0_2
