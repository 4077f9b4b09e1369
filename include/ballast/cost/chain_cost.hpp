// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/evaluate.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/cost/polynomial.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

/// @file
/// @brief `chain_cost`: what samples and micro-batches cost in a chain of layers. `chain_cost_of` makes it from layers with times.

namespace ballast::inline v0_2 {

/// @brief What a micro-batch costs in a chain of layers, as if one device held them all: the sum of its samples' costs, and a constant.
///
/// Give `tokens` to a planner as the cost of a sample, and `per_micro_batch` as `batching_options::cost_per_micro_batch`,
/// `sharding_options::cost_per_pass` or `chunk_work_options::per_chunk`.
struct chain_cost {
  quadratic_cost tokens{.linear = 0, .quadratic = 0};  ///< units of a sample by its tokens, forward and backward
  std::int64_t per_tile = 0;                           ///< units of an image tile
  std::int64_t per_micro_batch = 0;                    ///< units that a micro-batch takes beside its samples
  std::int64_t picoseconds = 1;                        ///< picoseconds of a unit, at least 1

  /// @brief The cost of a sample of image tiles and tokens. @param tiles_and_tokens both measures, with `fits(tiles_and_tokens)`
  [[nodiscard]] constexpr std::int64_t operator()(std::span<std::int64_t const> tiles_and_tokens) const noexcept {
    return per_tile * tiles_and_tokens.front() + tokens(tiles_and_tokens.back());
  }
  /// @brief Whether there are two measures, and the cost is below 2^63. @param tiles_and_tokens image tiles, then tokens
  [[nodiscard]] constexpr bool fits(std::span<std::int64_t const> tiles_and_tokens) const noexcept {
    return tiles_and_tokens.size() == 2 && tokens.fits(tiles_and_tokens[1]) &&
           (checked(per_tile) * checked(tiles_and_tokens[0]) + checked(tokens(tiles_and_tokens[1]))).fits();
  }
  /// @brief Milliseconds of a unit, which `figures_of` and `compare_with_usual` take.
  [[nodiscard]] constexpr double ms_per_unit() const noexcept { return static_cast<double>(picoseconds) / 1e9; }
  friend constexpr bool operator==(chain_cost const&, chain_cost const&) = default;
};

/// @brief The cost of samples and micro-batches in a chain of layers, in small units of time.
///
/// The coefficients of all layers are summed up in units of work, with what recomputation adds, and turned into time: each is rounded up
/// once. Waits for exchanges are added: what one takes without tokens is part of the constant, as gathers of parameters are, and the rest
/// is a straight line through the waits of one micro-batch. Where kernels are timed, the constant has what that micro-batch waits for the
/// host and for shards.
///
/// A picosecond is fine enough for any model. If a data set has so many tokens that its sum of costs comes near 2^63, planners refuse it:
/// take a larger unit. 10^7 samples of 10^5 tokens need one of 128 picoseconds in a model of 8 billion parameters on an H100.
///
/// @param layers       the layers of a model, first to last; measured, or modelled
/// @param at           the micro-batch whose waits count, such as the tokens of the capacity; without tokens and tiles they are constant
/// @param rates        rates that turn work into time
/// @param picoseconds  picoseconds of a unit of the result, 1 ... 10^6
/// @param option       the option that each layer takes; empty: the first of each, which recomputes nothing
/// @return the cost, in units
/// @throws invalid_input if `option` has another size or names no option, the unit is out of range, or as `layer_evaluator`, its
/// `require_fits` and `exposed_time`; if a coefficient reaches 2^58 units
/// @par Complexity
/// O(layers).
/// @par Determinism
/// All arithmetic is in integers.
template <class = when_called>
[[nodiscard]] inline chain_cost chain_cost_of(std::span<layer const> layers, batch_shape const& at, layer_rates const& rates = {},
                                              std::int64_t picoseconds = 1, std::span<std::uint32_t const> option = {}) {
  constexpr std::int64_t ps_of_ns = 1000, ps_of_ms = 1'000'000'000;
  require(picoseconds >= 1 && picoseconds <= 1'000'000,
          [&] { return sentence("picoseconds = ", picoseconds, " of a unit must be in 1 ... 10^6"); });
  require(option.empty() || option.size() == layers.size(),
          [&] { return sentence("option has ", option.size(), " entries for ", layers.size(), " layers"); });
  layer_evaluator const evaluate(rates);
  evaluate.require_fits(layers, at);
  auto const unit = checked(rates.work_per_ms) * checked(picoseconds);
  require(unit.fits(), [&] { return sentence("work_per_ms = ", rates.work_per_ms, " times ", picoseconds, " picoseconds reaches 2^63"); });

  batch_cost work;
  std::int64_t constant = 0, by_token = 0, by_tile = 0;  // nanoseconds of waits
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const& l = layers[i];
    auto const which = option.empty() ? 0 : std::size_t{option[i]};
    require(which < l.options.size(),
            [&] { return sentence(entry("option", i, which), ": layer \"", l.name, "\" has ", l.options.size(), " options"); });
    auto const& taken = l.options[which];
    work = work + l.forward + l.backward + taken.work;
    auto const full = taken.recomputed == recomputation::full;
    if (l.pace != layer_pace{}) {  // what is linear, and what else the micro-batch waits for
      auto const linear = l.pace.forward + l.pace.backward + (full ? l.pace.forward : batch_cost{});
      auto const waits = evaluate.waits(l, at);
      work = work + linear;
      constant += (std::max)(waits.forward + waits.backward + (full ? waits.again : 0) - evaluate.time_of(linear(at)), std::int64_t{0});
    }
    if (l.exchanges.empty()) continue;
    auto const time = [&](batch_shape const& batch) {
      auto const waits = evaluate.waits(l, batch);
      return waits.forward + waits.backward + (full ? waits.again : 0);
    };
    auto const none = time({});
    constant += none;
    if (at.tokens > 0) by_token += time({.tokens = at.tokens}) - none;
    if (at.tiles > 0) by_tile += time({.tiles = at.tiles}) - none;
  }
  detail::layer_rate const of_work(ps_of_ms, unit.value);
  auto const units = [&](char const* what, std::int64_t coefficient, std::int64_t waits, std::int64_t by) {
    detail::layer_rate const of_waits(ps_of_ns, (std::max)(by, std::int64_t{1}) * picoseconds);
    require(of_work.fits(coefficient) && of_waits.fits(waits),
            [&] { return sentence("the layers bring the time of ", what, " to 2^58 units or more: take more picoseconds in a unit"); });
    return of_work(coefficient) + of_waits(waits);
  };
  return {.tokens = {.linear = units("a token", work.per_token, by_token, at.tokens),
                     .quadratic = units("a squared token", work.per_square, 0, 1)},
          .per_tile = units("a tile", work.per_tile, by_tile, at.tiles),
          .per_micro_batch = units("a micro-batch", work.per_batch, constant, 1),
          .picoseconds = picoseconds};
}

/// @brief The time of the packs of a level, from the layers of one of the `sp` devices that share a pack: each pays the constant.
/// @param cost  `chain_cost_of` layers that are made for `sp` devices (`parallelism::context`), in picoseconds
/// @param sp    number of devices that share a pack, at least 1
/// @return device-picoseconds per pack, token and squared length
/// @throws invalid_input if the unit is not a picosecond, `sp` is 0, or a product reaches 2^63
[[nodiscard]] constexpr level_time level_time_of(chain_cost const& cost, std::uint32_t sp) {
  require(cost.picoseconds == 1,
          [&] { return sentence("a unit of ", cost.picoseconds, " picoseconds: the time of a level is in single ones"); });
  require(sp > 0, [] { return "sp = 0 must be positive"; });
  auto const all = [&](std::int64_t of_one) {
    auto const product = checked(of_one) * checked(sp);
    require(product.fits(), [&] { return sentence(of_one, " picoseconds on each of ", sp, " devices reach 2^63"); });
    return product.value;
  };
  return {.per_pack = all(cost.per_micro_batch), .per_token = all(cost.tokens.linear), .per_square = all(cost.tokens.quadratic)};
}

}  // namespace ballast::inline v0_2
