// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/pipeline/prefetch_layer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// @brief Layers whose states may be in host memory, what each choice takes of both memories and of the links, and plans of choices.

namespace ballast::inline v0_2 {

/// @brief What of a layer is in host memory; the rest is on the device.
///
/// Gradients are there only where optimiser states are: otherwise the device would fetch them again to apply them.
enum class hosted : std::uint8_t {
  none,                      ///< nothing
  parameters,                ///< parameters: loaded twice in a step, stored after the device has updated them
  optimizer,                 ///< optimiser states: the host updates the parameters, and the device gets them back
  parameters_and_optimizer,  ///< both: the host updates its own parameters
  gradients_and_optimizer,   ///< optimiser states and gradients (ZeRO-Offload)
  all,                       ///< all three (ZeRO-Infinity)
};

/// @brief Number of values of `hosted`.
inline constexpr std::size_t hosted_choices = 6;

/// @brief The name of a choice. @param what any enumerator @return words, such as "parameters and optimizer"
[[nodiscard]] constexpr std::string_view to_string(hosted what) noexcept {
  switch (what) {
    case hosted::none: return "nothing";
    case hosted::parameters: return "parameters";
    case hosted::optimizer: return "optimizer";
    case hosted::parameters_and_optimizer: return "parameters and optimizer";
    case hosted::gradients_and_optimizer: return "gradients and optimizer";
    case hosted::all: return "parameters, gradients and optimizer";
  }
  return {};
}

/// @brief Whether parameters are in host memory. @param what the choice @return true if so
[[nodiscard]] constexpr bool hosts_parameters(hosted what) noexcept {
  return what == hosted::parameters || what == hosted::parameters_and_optimizer || what == hosted::all;
}
/// @brief Whether gradients are in host memory alone. @param what the choice @return true if so
[[nodiscard]] constexpr bool hosts_gradients(hosted what) noexcept {
  return what == hosted::gradients_and_optimizer || what == hosted::all;
}
/// @brief Whether optimiser states are in host memory. @param what the choice @return true if so
[[nodiscard]] constexpr bool hosts_optimizer(hosted what) noexcept { return what != hosted::none && what != hosted::parameters; }

/// @brief A layer, as plans of offloading see it.
struct offload_layer {
  std::int64_t forward = 0;        ///< nanoseconds of the forward pass
  std::int64_t backward = 0;       ///< nanoseconds of the backward pass, recomputation included
  std::int64_t device_update = 0;  ///< nanoseconds in which the device updates the parameters
  state_size states{};             ///< bytes of each kind of state on one device; at most 2^50 each

  friend constexpr bool operator==(offload_layer const&, offload_layer const&) = default;
};

/// @brief Rates between a device and its host, for one device while all devices of the host work. Each at least 10^6.
struct host_rates {
  std::int64_t up = 0;      ///< bytes/s from the host to the device
  std::int64_t down = 0;    ///< bytes/s from the device to the host
  std::int64_t update = 0;  ///< bytes/s of optimiser states that the host updates for the device

  friend constexpr bool operator==(host_rates const&, host_rates const&) = default;
};

/// @brief Options of `plan_offload`. Memories and rates have no default.
struct offload_options {
  std::int64_t device_memory = 0;  ///< bytes of the device for states and buffers
  std::int64_t host_memory = 0;    ///< bytes of the host for states of this device
  host_rates rates{};              ///< rates between both
  std::uint64_t buffers = 2;       ///< buffers on the device, if any layer needs one, 1 … 1024; each as large as the largest need
  std::uint64_t work = 200'000;    ///< limit on the search, in simulated layers: about 20 nanoseconds each
};

/// @brief Bytes that a placement takes.
struct offload_memory {
  std::int64_t device = 0;   ///< on the device, buffers included
  std::int64_t buffers = 0;  ///< of which buffers
  std::int64_t host = 0;     ///< on the host

  friend constexpr bool operator==(offload_memory const&, offload_memory const&) = default;
};

/// @brief The memory that is too small.
enum class short_memory : std::uint8_t {
  none,    ///< none
  device,  ///< that of the device: `needed` is the least that any choice takes
  host,    ///< that of the host: no plan that fits the device takes less than `needed`
};

/// @brief A plan of what is in host memory.
struct offload_plan {
  ballast::status status = ballast::status::unknown;  ///< `unknown`: none was found, and none is ruled out
  certificate time;                                   ///< nanoseconds of a step, and a lower bound for every plan that fits
  std::vector<hosted> placement;                      ///< for each layer, what is in host memory
  offload_memory memory;                              ///< bytes that it takes
  prefetch_timeline timeline;                         ///< the step, with all tasks
  short_memory shortage = short_memory::none;         ///< if infeasible: the memory that is too small
  std::int64_t needed = 0;                            ///< if infeasible: the bytes that it would have to have
  std::uint64_t work = 0;                             ///< work spent, in the unit of `offload_options::work`

  friend bool operator==(offload_plan const&, offload_plan const&) = default;
};

/// @brief Nanoseconds in which a rate moves or updates bytes.
/// @param bytes  bytes, 0 … 2^52
/// @param rate   bytes/s, at least 10^6
/// @return nanoseconds, rounded up
[[nodiscard]] constexpr std::int64_t transfer_ns(std::int64_t bytes, std::int64_t rate) noexcept {
  return static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(bytes), 1'000'000'000U, static_cast<std::uint64_t>(rate)));
}

/// @brief The times of a layer in the timeline of a step.
///
/// Parameters on the host are loaded twice, and stored after an update by the device. Optimiser states on the host mean that gradients go
/// down, the host updates, and parameters that stay on the device go up. A layer without gradients and optimiser states is frozen.
///
/// @param layer  the layer, valid
/// @param what   what of it is in host memory
/// @param rates  the rates, valid
/// @return its times
[[nodiscard]] constexpr prefetch_layer prefetch_layer_of(offload_layer const& layer, hosted what, host_rates const& rates) noexcept {
  auto const& s = layer.states;
  auto const away = hosts_parameters(what), by_host = hosts_optimizer(what);
  auto const frozen = s.gradient == 0 && s.optimizer == 0;
  prefetch_layer out{.forward = layer.forward, .backward = layer.backward, .loaded = away && s.parameter > 0};
  if (out.loaded) out.load = transfer_ns(s.parameter, rates.up);
  if (frozen) return out;
  if (!by_host) out.backward += layer.device_update;
  out.store = by_host ? transfer_ns(s.gradient, rates.down) : away ? transfer_ns(s.parameter, rates.down) : 0;
  out.spilled = (hosts_gradients(what) && s.gradient > 0) || (out.loaded && !by_host);
  if (by_host) out.update = transfer_ns(s.optimizer, rates.update);
  if (by_host && !away) out.give_back = transfer_ns(s.parameter, rates.up);
  return out;
}

/// @brief Bytes that a placement takes on the device and on the host.
///
/// A buffer holds the parameters of a layer, if they are on the host, and its gradients, if they are. The host needs gradients wherever it
/// has the optimiser states, as `place` (footprint/optimizer.hpp) says.
///
/// @param layers     the layers
/// @param placement  what of each is in host memory; as many entries
/// @param buffers    number of buffers, if any layer needs one
/// @return the bytes
template <class = when_called>
[[nodiscard]] inline offload_memory memory_of(std::span<offload_layer const> layers, std::span<hosted const> placement,
                                              std::uint64_t buffers) {
  offload_memory out;
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const& s = layers[i].states;
    auto const p = hosts_parameters(placement[i]) ? s.parameter : 0, g = hosts_gradients(placement[i]) ? s.gradient : 0;
    auto const o = hosts_optimizer(placement[i]) ? s.optimizer : 0;
    largest = (std::max)(largest, p + g);
    out.device += s.total() - p - g - o;
    out.host += p + o + (hosts_optimizer(placement[i]) ? s.gradient : 0);
  }
  out.buffers = static_cast<std::int64_t>(buffers) * largest;
  out.device += out.buffers;
  return out;
}

/// @brief Throws unless layers and options are valid, and all times and all bytes together are at most 2^58.
/// @param layers   the layers; fewer than 2^24
/// @param options  the options
/// @throws invalid_input naming the entry
template <class = when_called>
inline void require_valid(std::span<offload_layer const> layers, offload_options const& options) {
  detail::require_within("rates.up", options.rates.up, 1'000'000, std::int64_t{1} << 50);
  detail::require_within("rates.down", options.rates.down, 1'000'000, std::int64_t{1} << 50);
  detail::require_within("rates.update", options.rates.update, 1'000'000, std::int64_t{1} << 50);
  detail::require_within("device_memory", options.device_memory, 0, std::int64_t{1} << 60);
  detail::require_within("host_memory", options.host_memory, 0, std::int64_t{1} << 60);
  require(options.buffers >= 1 && options.buffers <= 1024,
          [&] { return "buffers = " + std::to_string(options.buffers) + " must be in [1, 1024]"; });
  require(layers.size() < std::size_t{1} << 24, [&] { return std::to_string(layers.size()) + " layers are 2^24 or more"; });
  auto time = std::int64_t{1} << 58, bytes = time;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto const& l = layers[i];
    auto const within = [&](char const* field, std::int64_t value, std::int64_t& left, std::int64_t most) {
      require(value >= 0 && value <= (std::min)(left, most), [&] {
        return "layers[" + std::to_string(i) + "]." + field + " = " + std::to_string(value) +
               " is negative, too large, or brings the sum above 2^58";
      });
      left -= value;
    };
    constexpr auto most = std::int64_t{1} << 50;
    within("forward", l.forward, time, time);
    within("backward", l.backward, time, time);
    within("device_update", l.device_update, time, time);
    within("states.parameter", l.states.parameter, bytes, most);
    within("states.gradient", l.states.gradient, bytes, most);
    within("states.optimizer", l.states.optimizer, bytes, most);
    auto const moved = 3 * transfer_ns(l.states.parameter, options.rates.up) +
                       transfer_ns((std::max)(l.states.parameter, l.states.gradient), options.rates.down);
    within("states: time of transfers", moved, time, time);
    within("states: time of updates", transfer_ns(l.states.optimizer, options.rates.update), time, time);
  }
}

}  // namespace ballast::inline v0_2
