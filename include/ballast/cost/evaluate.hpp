// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/layer.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>

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
  std::int64_t link_bytes_per_ms = 0;    ///< bytes per millisecond that a link between stages moves, one way; 0: transfers take no time
  friend constexpr bool operator==(layer_rates const&, layer_rates const&) = default;
};

/// @brief Time and bytes of a layer for one micro-batch, under one of the layer's options. Each number is rounded up once.
struct layer_figures {
  std::int64_t time = 0;       ///< nanoseconds of forward and backward together, without recomputation
  std::int64_t forward = 0;    ///< nanoseconds of the forward pass
  std::int64_t backward = 0;   ///< nanoseconds of the backward pass, without recomputation
  std::int64_t recompute = 0;  ///< nanoseconds of recomputation that the option adds
  std::int64_t transfer = 0;   ///< nanoseconds on the link to the next stage, if a stage ends with this layer
  std::int64_t bytes = 0;      ///< bytes held from the forward to the backward pass
  friend constexpr bool operator==(layer_figures const&, layer_figures const&) = default;
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
    return multiply(static_cast<std::uint64_t>(value), times).high < by && (*this)(value) < std::int64_t{1} << 58;
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
              (std::max)(rates.link_bytes_per_ms, std::int64_t{1})) {}

  /// @brief Evaluates one layer.
  /// @param of     the layer
  /// @param taken  one of its options
  /// @param batch  the micro-batch; no number may exceed those of a `largest` that passed `require_fits` with this layer's chain
  /// @return time and bytes
  /// @par Complexity
  /// O(1), without an allocation.
  /// @par Determinism
  /// All arithmetic is in integers.
  [[nodiscard]] layer_figures operator()(layer const& of, layer_option const& taken, batch_shape const& batch) const {
    auto const forward = of.forward(batch), backward = of.backward(batch);
    return {.time = time_(forward + backward),
            .forward = time_(forward),
            .backward = time_(backward),
            .recompute = time_(taken.work(batch)),
            .transfer = link_(bytes_(of.boundary(batch))),
            .bytes = bytes_(taken.bytes(batch))};
  }

  /// @brief Throws unless the times and bytes of a chain stay below 2^58 for all its stages and options.
  ///
  /// It checks the sum of all layers with all their options, for the largest micro-batch. This sum bounds every stage and micro-batch.
  ///
  /// @param layers   the chain
  /// @param largest  a micro-batch of which each number is the largest of all micro-batches
  /// @throws invalid_input naming the layer that has no options or a negative cost, or that brings a sum to 2^58
  void require_fits(std::span<layer const> layers, batch_shape const& largest) const {
    batch_cost work, bytes;
    for (auto const& l : layers) {
      auto const add = [&](batch_cost& sum, batch_cost const& more) {
        auto const both = [](std::int64_t a, std::int64_t b) { return checked(a) + checked(b); };
        auto const token = both(sum.per_token, more.per_token), square = both(sum.per_square, more.per_square),
                   tile = both(sum.per_tile, more.per_tile);
        require(token.fits() && square.fits() && tile.fits(),
                [&] { return "layer \"" + l.name + "\" has a negative cost, or brings a sum to 2^63"; });
        sum = {token.value, square.value, tile.value};
      };
      auto const fits = [&](batch_cost const& cost, detail::layer_rate const& rate, char const* what) {
        require(cost.fits(largest) && rate.fits(cost(largest)),
                [&] { return "layer \"" + l.name + "\" brings the " + what + " of the largest micro-batch to 2^58 or more"; });
      };
      require(!l.options.empty(), [&] { return "layer \"" + l.name + "\" has no options"; });
      add(work, l.forward);
      add(work, l.backward);
      for (auto const& o : l.options) {
        add(work, o.work);
        add(bytes, o.bytes);
      }
      fits(work, time_, "nanoseconds");
      fits(bytes, bytes_, "bytes");
      batch_cost handed;
      add(handed, l.boundary);
      fits(handed, bytes_, "bytes");
      require(link_.fits(bytes_(handed(largest))),
              [&] { return "layer \"" + l.name + "\" hands on bytes that take 2^58 nanoseconds or more"; });
    }
  }

 private:
  static constexpr std::int64_t nanoseconds_of_ms = 1'000'000;
  static std::int64_t at_least(char const* field, std::int64_t value, std::int64_t least) {
    require(value >= least,
            [&] { return std::string(field) + " = " + std::to_string(value) + " must be at least " + std::to_string(least); });
    return value;
  }

  detail::layer_rate time_, bytes_, link_;
};

}  // namespace ballast::inline v0_2
