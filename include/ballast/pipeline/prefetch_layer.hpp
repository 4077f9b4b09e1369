// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief Layers that keep states in host memory, as the timeline of a training step sees them, and that timeline.

namespace ballast::inline v0_2 {

/// @brief Times of one layer in a step. All are in one unit, such as nanoseconds.
struct prefetch_layer {
  std::int64_t forward = 0;    ///< time of the forward pass on the device
  std::int64_t backward = 0;   ///< time of the backward pass on the device, updates there included
  bool loaded = false;         ///< its parameters are loaded into a buffer before the forward pass, and again before the backward pass
  bool spilled = false;        ///< its backward pass fills a buffer, which is free again after `store`
  std::int64_t load = 0;       ///< time of each of the two loads on the channel to the device; 0 unless `loaded`
  std::int64_t store = 0;      ///< time on the channel to the host, after the backward pass
  std::int64_t update = 0;     ///< time of the host's optimiser, after `store`
  std::int64_t give_back = 0;  ///< time on the channel to the device, after `update`: new parameters that stay there

  friend constexpr bool operator==(prefetch_layer const&, prefetch_layer const&) = default;
};

/// @brief A task of the timeline.
enum class prefetch_task : std::uint8_t {
  load_forward,   ///< parameters to the device, for the forward pass
  forward,        ///< the forward pass
  load_backward,  ///< parameters to the device, for the backward pass
  backward,       ///< the backward pass
  store,          ///< gradients or updated parameters to the host
  update,         ///< the host's optimiser
  give_back,      ///< updated parameters to the device
};

/// @brief When a task of a layer runs.
struct prefetch_event {
  prefetch_task task{};     ///< what runs
  std::uint32_t layer = 0;  ///< of which layer
  std::int64_t begin = 0;   ///< when it begins
  std::int64_t end = 0;     ///< when it ends

  friend constexpr bool operator==(prefetch_event const&, prefetch_event const&) = default;
};

/// @brief The timeline of a step.
struct prefetch_timeline {
  certificate makespan;                ///< time of the step; no order of transfers and no number of buffers is below the lower bound
  std::vector<prefetch_event> events;  ///< all tasks in the order in which they were placed; empty unless asked for

  friend bool operator==(prefetch_timeline const&, prefetch_timeline const&) = default;
};

/// @brief Throws unless layers and buffers are valid.
/// @param layers   layers, first to last; fewer than 2^31, with a sum of all times of at most 2^58
/// @param buffers  number of buffers
/// @throws invalid_input naming the entry
inline void require_valid(std::span<prefetch_layer const> layers, std::uint64_t buffers) {
  require(layers.size() < std::size_t{1} << 31, [&] { return sentence(layers.size(), " layers are 2^31 or more"); });
  require(buffers >= 1 && buffers < std::uint64_t{1} << 31, [&] { return sentence("buffers = ", buffers, " must be in 1 ... 2^31 - 1"); });
  auto left = std::int64_t{1} << 58;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const& l = layers[i];
    auto const take = [&](std::int64_t value, std::int64_t times, char const* field) {
      require(value >= 0 && value <= left / times,
              [&] { return sentence("layers[", i, "].", field, " = ", value, " is negative, or brings the sum above 2^58"); });
      left -= times * value;
    };
    take(l.forward, 1, "forward");
    take(l.backward, 1, "backward");
    take(l.load, 2, "load");
    take(l.store, 1, "store");
    take(l.update, 1, "update");
    take(l.give_back, 1, "give_back");
    require(l.loaded || l.load == 0, [&] { return sentence("layers[", i, "].load = ", l.load, " of a layer that is not loaded"); });
  }
}

}  // namespace ballast::inline v0_2
