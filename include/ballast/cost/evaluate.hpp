// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/cost/exchange.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/link_time.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief Time and bytes of a layer for one micro-batch, from the layer's work and the rates of a device.

namespace ballast::inline v0_2 {

/// @brief Rates that turn the work of layers into time. With the default rates, work is in nanoseconds and transfers take no time.
///
/// Layers that were measured on one micro-batch of T tokens scale with the tokens: set `per_token` to the time and the bytes of that
/// micro-batch, `work_per_ms` to T times the time units in a millisecond, and `units_per_byte` to T.
struct layer_rates {
  std::int64_t work_per_ms = 1'000'000;  ///< units of work that a device does in a millisecond, at least 1
  std::int64_t units_per_byte = 1;       ///< units of `layer_option::bytes` and `layer::boundary` per byte, at least 1
  std::int64_t link_bytes_per_ms = 0;    ///< bytes per millisecond that a link between stages moves, one way; 0: as `stage_devices` says
  fabric links{};                        ///< links for the exchanges of layers; by default exchanges take no time
  hidden_share hidden{};                 ///< share of each kind of exchange that computation hides; by default nothing is hidden
  std::int64_t stage_devices = 0;        ///< devices of a stage, neighbours of those of the next: transfers between stages use `links`;
                                         ///< 0: they take no time, unless `link_bytes_per_ms` is given
  std::int64_t memory_bytes_per_ms = 0;  ///< bytes per millisecond of a device's memory, for the optimiser; 0: it takes no time
  std::int64_t step = 0;                 ///< nanoseconds of a step beside all layers, not negative; they count as the optimiser's
  std::int64_t gradient_hidden = 0;      ///< thousandths of a micro-batch that hide the exchange of gradients at the end of a step
  std::int64_t gradient_least = 1000;    ///< thousandths of that exchange that are never hidden, in [0, 1000]
};

/// @brief Time and bytes of a layer for one micro-batch, under one of the layer's options. Each number is rounded up once.
struct layer_figures {
  std::int64_t time = 0;       ///< nanoseconds of forward and backward together, without recomputation
  std::int64_t forward = 0;    ///< nanoseconds of the forward pass
  std::int64_t backward = 0;   ///< nanoseconds of the backward pass, without recomputation
  std::int64_t recompute = 0;  ///< nanoseconds of recomputation that the option adds
  std::int64_t transfer = 0;   ///< nanoseconds on the link to the next stage, if a stage ends with this layer
  std::int64_t bytes = 0;      ///< bytes held from the forward to the backward pass
  std::int64_t working = 0;    ///< bytes in addition while the backward pass runs, buffers included
  friend constexpr bool operator==(layer_figures const&, layer_figures const&) = default;
};

/// @brief The time in which a device waits for the exchanges of a layer. Each number is rounded up once.
struct layer_waits {
  std::int64_t forward = 0;   ///< nanoseconds in the forward pass of a micro-batch
  std::int64_t backward = 0;  ///< nanoseconds in the backward pass of a micro-batch, without recomputation
  std::int64_t again = 0;     ///< nanoseconds in the backward pass in addition under full recomputation, which repeats the forward pass
  friend constexpr bool operator==(layer_waits const&, layer_waits const&) = default;
};

/// @brief The time of a device at the end of a step, after all its micro-batches. Each number is rounded up once.
struct step_end {
  std::int64_t exchange = 0;   ///< nanoseconds in which the device waits for exchanges of gradients and parameters
  std::int64_t optimizer = 0;  ///< nanoseconds in which the optimiser reads and writes the device's states
  friend constexpr bool operator==(step_end const&, step_end const&) = default;
};

namespace detail {
/// `value * times / by`, rounded up.
struct layer_rate {
  std::uint64_t times, by;
  layer_rate(std::int64_t t, std::int64_t b)
      : times(static_cast<std::uint64_t>(t / std::gcd(t, b))), by(static_cast<std::uint64_t>(b / std::gcd(t, b))) {}
  [[nodiscard]] std::int64_t operator()(std::int64_t value) const {
    auto const v = static_cast<std::uint64_t>(value);
    auto const product = multiply(v, times);
    if (product.high == 0) return static_cast<std::int64_t>(divide_up(product.low, by));
    return static_cast<std::int64_t>(multiply_divide_up(v, times, by));
  }
  /// Whether the product is below 2^58, which planners of stages and simulators require.
  [[nodiscard]] bool fits(std::int64_t value) const {
    constexpr auto most = (std::uint64_t{1} << 58) - 1;
    return !(multiply(most, by) < multiply(static_cast<std::uint64_t>(value), times));
  }
};
}  // namespace detail

/// @brief Computes time and bytes of layers for micro-batches. All plans of stages and all timelines use this one evaluation.
///
/// A stage is evaluated as one layer too: as the sum of its layers under the options that they take.
class layer_evaluator {
 public:
  /// @brief Prepares the rates. @param rates rates of a device and its links @throws invalid_input naming a rate that is out of range
  explicit layer_evaluator(layer_rates const& rates)
      : time_(nanoseconds_of_ms, at_least("work_per_ms", rates.work_per_ms, 1)),
        bytes_(1, at_least("units_per_byte", rates.units_per_byte, 1)),
        link_(at_least("link_bytes_per_ms", rates.link_bytes_per_ms, 0) == 0 ? 0 : nanoseconds_of_ms,
              (std::max)(rates.link_bytes_per_ms, std::int64_t{1})),
        memory_(at_least("memory_bytes_per_ms", rates.memory_bytes_per_ms, 0) == 0 ? 0 : nanoseconds_of_ms,
                (std::max)(rates.memory_bytes_per_ms, std::int64_t{1})),
        links_(rates.links),
        hidden_(rates.hidden),
        step_(rates.step),
        gradient_hidden_(rates.gradient_hidden),
        gradient_least_(rates.gradient_least),
        stage_devices_(at_least("stage_devices", rates.stage_devices, 0)) {
    at_least("links.per_node", links_.per_node, 1);
    detail::require_within("step", step_, 0, std::int64_t{1} << 58);
    detail::require_within("gradient_hidden", gradient_hidden_, 0, 1000);
    detail::require_within("gradient_least", gradient_least_, 0, 1000);
  }

  /// @brief Evaluates one layer, without its exchanges (`waits`).
  /// @param of     the layer
  /// @param taken  one of its options
  /// @param batch  the micro-batch; no number may exceed those of a `largest` that passed `require_fits` with this layer's chain
  /// @param from   the stage that the layer ends, from 0
  /// @param to     the stage of the next layer: both decide which links its boundary takes
  /// @return time and bytes
  /// @par Complexity
  /// O(1), without an allocation.
  /// @par Determinism
  /// All arithmetic is in integers.
  [[nodiscard]] layer_figures operator()(layer const& of, layer_option const& taken, batch_shape const& batch, std::uint64_t from = 0,
                                         std::uint64_t to = 1) const {
    auto const forward = of.forward(batch), backward = of.backward(batch);
    return {.time = time_(forward + backward),
            .forward = time_(forward),
            .backward = time_(backward),
            .recompute = time_(taken.work(batch)),
            .transfer = transfer(bytes_(of.boundary(batch)), from, to),
            .bytes = bytes_(taken.bytes(batch)),
            .working = working(of, batch)};
  }
  /// @brief The time of some work. @param units of work, not negative @return nanoseconds, rounded up
  [[nodiscard]] std::int64_t time_of(std::int64_t units) const { return time_(units); }
  /// @brief The bytes of a layer in addition to what it keeps, while its backward pass runs. @param of the layer @param batch the
  /// micro-batch, as for evaluation @return bytes
  [[nodiscard]] std::int64_t working(layer const& of, batch_shape const& batch) const { return bytes_(of.working(batch)) + of.buffers; }
  /// @brief The waits of a layer for its exchanges and, where kernels are timed, for the host.
  /// @param of     the layer
  /// @param batch  the micro-batch, as for evaluation
  /// @return nanoseconds
  /// @throws invalid_input as `exposed_time`
  /// @par Complexity
  /// O(exchanges of the layer).
  /// @par Determinism
  /// All arithmetic is in integers.
  [[nodiscard]] layer_waits waits(layer const& of, batch_shape const& batch) const {
    if (of.pace != layer_pace{}) return paced(of, batch);
    if (of.exchanges.empty()) return {};
    std::vector<layer_exchange> all, forward;
    for (auto const& e : of.exchanges) all.push_back(e(batch));
    for (auto const& e : all)
      if (e.when == exchange_phase::forward && e.what != traffic::parameter) forward.push_back(e);
    auto const time = exposed_time(all, links_, hidden_);
    return {from_ps(time.forward), from_ps(time.backward), from_ps(exposed_time(forward, links_, hidden_).forward)};
  }
  /// @brief The time of a device at the end of a step, of which no micro-batch hides anything. @param of a layer, or the sum of layers
  /// @return nanoseconds @throws invalid_input as `exposed_time`
  [[nodiscard]] step_end end_of_step(layer const& of) const {
    std::vector<layer_exchange> all;
    for (auto const& e : of.exchanges)
      if (e.when == exchange_phase::step) all.push_back(e({}));
    return {from_ps(exposed_time(all, links_, hidden_).step) + time_(of.pace.step), memory_(of.updated)};
  }
  /// @brief The end of a step behind a micro-batch, which hides a part of its exchange, and with what a step takes beside all layers.
  /// @param of     the sum of `end_of_step` over the layers of a stage
  /// @param batch  nanoseconds of the stage for a micro-batch, not negative; where it is longer, no end is longer
  /// @return nanoseconds
  [[nodiscard]] step_end behind(step_end const& of, std::int64_t batch) const {
    auto const part = [](std::int64_t whole, std::int64_t thousandths) {
      return whole / 1000 * thousandths + whole % 1000 * thousandths / 1000;
    };
    return {(std::max)(part(of.exchange, gradient_least_), of.exchange - part(batch, gradient_hidden_)), of.optimizer + step_};
  }

  /// @brief Throws unless the times and bytes of a chain stay below 2^58 for all its stages and options.
  ///
  /// It checks the sum of all layers with all their options, for the largest micro-batch. This sum bounds every stage and micro-batch.
  ///
  /// @param layers   the chain
  /// @param largest  a micro-batch of which each number is the largest of all micro-batches
  /// @param counts   how often the chain has each layer, at least once; empty: once
  /// @throws invalid_input naming the layer that has no options or a negative cost, or that brings a sum to 2^58
  void require_fits(std::span<layer const> layers, batch_shape const& largest, std::span<std::int64_t const> counts = {}) const {
    constexpr auto most = std::int64_t{1} << 58;
    batch_cost work, bytes;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      auto const& l = layers[i];
      auto const add_times = [&](checked count, batch_cost& sum, batch_cost const& more) {
        auto const both = [&](std::int64_t a, std::int64_t b) { return checked(a) + count * checked(b); };
        auto const token = both(sum.per_token, more.per_token), square = both(sum.per_square, more.per_square),
                   tile = both(sum.per_tile, more.per_tile), batch = both(sum.per_batch, more.per_batch);
        require(token.fits() && square.fits() && tile.fits() && batch.fits(),
                [&] { return "layer \"" + l.name + "\" has a negative cost, or brings a sum to 2^63"; });
        sum = {token.value, square.value, tile.value, batch.value};
      };
      auto const add = [&](batch_cost& sum, batch_cost const& more) { add_times(checked(counts.empty() ? 1 : counts[i]), sum, more); };
      auto const fits = [&](batch_cost const& cost, detail::layer_rate const& rate, char const* what) {
        require(cost.fits(largest) && rate.fits(cost(largest)),
                [&] { return "layer \"" + l.name + "\" brings the " + what + " of the largest micro-batch to 2^58 or more"; });
      };
      require(!l.options.empty(), [&] { return "layer \"" + l.name + "\" has no options"; });
      add(work, l.forward);
      add(work, l.backward);
      add(work, l.pace.forward);
      add(work, l.pace.backward);
      for (auto const value : {l.pace.host_forward, l.pace.host_backward, l.pace.copied_forward, l.pace.copied_backward,
                               l.pace.shards_forward, l.pace.shards_backward, l.pace.step})
        add(work, {.per_batch = value});
      require(l.pace.stolen >= 0 && l.pace.stolen <= 1000, [&] { return "layer \"" + l.name + "\" has pace.stolen outside [0, 1000]"; });
      for (auto const& o : l.options) {
        add(work, o.work);
        add(bytes, o.bytes);
      }
      add(bytes, l.working);
      for (auto const value : {l.apart, l.updated, l.buffers})
        require(value >= 0 && value < most,
                [&] { return "layer \"" + l.name + "\" has bytes apart, updated or in buffers outside [0, 2^58)"; });
      fits(work, time_, "nanoseconds");
      fits(bytes, bytes_, "bytes");
      batch_cost handed;
      add_times(checked(1), handed, l.boundary);
      fits(handed, bytes_, "bytes");
      auto const sent = bytes_(handed(largest));
      auto const crosses = [&](link_time const& link) { return link.fits(sent) && link(sent) / 1000 < most; };
      require(stage_devices_ == 0 ? link_.fits(sent) : crosses(links_.inside) && crosses(links_.between),
              [&] { return "layer \"" + l.name + "\" hands on bytes that take 2^58 nanoseconds or more"; });
    }
  }

 private:
  static constexpr std::int64_t nanoseconds_of_ms = 1'000'000;
  /// The waits of a layer by its pace.
  [[nodiscard]] layer_waits paced(layer const& of, batch_shape const& batch) const {
    auto const& p = of.pace;
    auto const longer = [&](std::int64_t time, std::int64_t shards) {  // a pass beside which shards travel
      auto const hidden = (std::min)(time, shards);
      return (std::max)(time + hidden / 1000 * p.stolen + hidden % 1000 * p.stolen / 1000, shards);
    };
    auto const forward = of.forward(batch), backward = of.backward(batch);
    auto const again = (std::max)(forward + p.forward(batch), p.host_forward);
    return {time_(longer(again + p.copied_forward, p.shards_forward) - forward),
            time_(longer((std::max)(backward + p.backward(batch), p.host_backward) + p.copied_backward, p.shards_backward) - backward),
            time_(again - forward)};
  }
  [[nodiscard]] static std::int64_t from_ps(std::int64_t picoseconds) { return divide_up(picoseconds, std::int64_t{1000}); }
  [[nodiscard]] std::int64_t transfer(std::int64_t bytes, std::uint64_t from, std::uint64_t to) const {
    if (stage_devices_ == 0) return link_(bytes);
    // Megatron-LM numbers the devices of a stage one after the other
    auto const node = [&](std::uint64_t stage) { return static_cast<std::int64_t>(stage) * stage_devices_ / links_.per_node; };
    return from_ps((node(from) == node(to) ? links_.inside : links_.between)(bytes));
  }
  static std::int64_t at_least(char const* field, std::int64_t value, std::int64_t least) {
    require(value >= least,
            [&] { return std::string(field) + " = " + std::to_string(value) + " must be at least " + std::to_string(least); });
    return value;
  }

  detail::layer_rate time_, bytes_, link_, memory_;
  fabric links_;
  hidden_share hidden_;
  std::int64_t step_, gradient_hidden_, gradient_least_;
  std::int64_t stage_devices_;
};

}  // namespace ballast::inline v0_2
