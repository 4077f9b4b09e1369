// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/calibrated_rates.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/level_time.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/cost/transformer_cost.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/footprint/model_setting.hpp>
#include <ballast/footprint/optimizer.hpp>
#include <ballast/footprint/sample_time.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief A model of time and memory under sequence parallelism (Ulysses) and recomputed layers. Its results are modelled, not measured.
///
/// The time of a pack has three parts: matrix products at a share of the device's peak, where recomputed layers run their forward pass
/// once more; the all-to-all exchanges of queries, keys, values and outputs (forward, backward and recomputed), over the links within a
/// node and over the network beyond; and a fixed time to gather the sharded parameters and reduce the gradients. Memory is that of
/// `layers_of` under ZeRO-3 on one stage, as in every plan of stages: sharded states, kept activations, the largest working set, gathered
/// parameters.
///
/// Six constants are fitted, not predicted. Utilisation, link share and the two bandwidths are fitted to the times of tables 18 and 19 of
/// HBP, and the framework's factor to the recomputed layers of table 4; the reserve is fitted to other measurements (docs/footprint.md).
/// docs/levels.md shows the fit, and what a fit without packs of 64K tokens predicts for them.

namespace ballast::inline v0_2 {

/// @brief A model, its devices, and the constants of the time and memory model. Defaults: 32 H100, ZeRO-3; fitted to one model on them.
struct sequence_parallel_setup {
  transformer model{};                            ///< the model to train
  ballast::device device = device_named("h100");  ///< the accelerator
  std::uint32_t devices = 32;                     ///< number of devices of the training; states are sharded over all of them
  std::uint32_t per_node = 8;                     ///< number of devices in a node, which links connect
  std::uint32_t utilisation = 383;                ///< thousandths of the peak that matrix products reach, recomputed ones included; fitted
  std::uint32_t link_share = 80;                  ///< thousandths of the link bandwidth that an exchange reaches; fitted
  std::int64_t network_bandwidth = 20'000'000'000;        ///< bytes/s that a device exchanges with other nodes; fitted
  std::int64_t parameter_bandwidth = 520'000'000'000;     ///< bytes/s of parameters and gradients, for time not overlapped; fitted
  ballast::framework framework = framework_named("hbp");  ///< how large activations are; its factor is fitted
  head_loss loss{};                                       ///< how the loss is computed
  ballast::optimizer optimizer = optimizer_named("adam-bf16-gradients");  ///< what the optimiser keeps
  std::int64_t reserved_bytes = std::int64_t{4} << 30;                    ///< bytes for context, buffers and fragmentation; fitted
  std::optional<time_setting> kernels{};                                  ///< what kernels reach, in place of `utilisation`
  std::int64_t kernel_time = 1540;  ///< thousandths of what `kernels` say that kernels take, in [100, 10^4]; fitted
};

/// @brief Throws unless all constants are in range.
/// @param on   model, devices and constants
/// @throws invalid_input naming the field
inline void require_valid(sequence_parallel_setup const& on) {
  require_valid(on.model);
  auto const counted = [](char const* name, std::uint32_t value) {
    require(value > 0 && value <= 1U << 20, [&] { return std::string(name) + " = " + std::to_string(value) + " must be in 1 ... 2^20"; });
  };
  counted("devices", on.devices);
  counted("per_node", on.per_node);
  counted("utilisation", on.utilisation);
  counted("link_share", on.link_share);
  require(on.device.bf16_flops >= 1'000'000'000 && on.device.link_bandwidth > 0 && on.device.memory_bytes > 0,
          [&] { return "the device \"" + std::string(on.device.name) + "\" has no peak rate, link bandwidth or memory"; });
  require(on.network_bandwidth > 0 && on.parameter_bandwidth > 0,
          [] { return std::string("network_bandwidth and parameter_bandwidth must be positive"); });
  require(on.reserved_bytes >= 0, [&] { return "reserved_bytes = " + std::to_string(on.reserved_bytes) + " must not be negative"; });
}

/// @brief Throws unless all constants and a level are in range.
/// @param on   model, devices and constants
/// @param at   the level
/// @throws invalid_input naming the field
inline void require_valid(sequence_parallel_setup const& on, level const& at) {
  require_valid(on);
  require(at.capacity > 0 && at.capacity < std::int64_t{1} << 31,
          [&] { return "capacity = " + std::to_string(at.capacity) + " must be in 1 ... 2^31 - 1"; });
  require(at.sp > 0 && at.sp <= on.devices,
          [&] { return "sp = " + std::to_string(at.sp) + " must be in 1 ... " + std::to_string(on.devices) + ", the devices"; });
  require(std::int64_t{at.recomputed_layers} <= on.model.layers, [&] {
    return "recomputed_layers = " + std::to_string(at.recomputed_layers) + " of " + std::to_string(on.model.layers) + " layers";
  });
}

/// @brief The modelled time of a level's packs.
/// @param on   model, devices and constants
/// @param at   the level
/// @return device-picoseconds per pack, token and squared length, rounded up
/// @throws invalid_input if a constant or the level is out of range
/// @par Determinism
/// All arithmetic is in integers.
/// @par Source
/// Exchanges: Jacobs et al., "DeepSpeed Ulysses", arXiv 2309.14509; if there are fewer key and value heads than devices, they are repeated.
template <class = when_called>
[[nodiscard]] inline level_time modelled_level_time(sequence_parallel_setup const& on, level const& at) {
  require_valid(on, at);
  auto const layers = static_cast<std::uint64_t>(on.model.layers), again = std::uint64_t{at.recomputed_layers};
  level_time time;
  if (on.kernels) {
    auto with = *on.kernels;
    with.rates = calibrated(with.rates, {.time = on.kernel_time});
    auto const alone = sample_time(on.model, on.device, with, {},
                                   {.capacity = divide_up(at.capacity, std::int64_t{at.sp}), .recomputed_layers = at.recomputed_layers});
    time = {.per_pack = alone.per_micro_batch * at.sp, .per_token = alone.tokens.linear, .per_square = alone.tokens.quadratic};
  } else {
    auto const forward = forward_flops(on.model);
    auto const head = static_cast<std::uint64_t>(head_flops_per_token(on.model));
    auto const work = static_cast<std::uint64_t>(training_factor) * layers + again;  // forward passes of a layer, times the layers
    auto const causal = forward.causal ? 2U : 1U;                                    // pairs are l (l + 1) / 2
    auto const in_layers = static_cast<std::uint64_t>(forward.per_token + forward.per_windowed_pair * forward.windowed_keys()) - head +
                           (forward.causal ? static_cast<std::uint64_t>(forward.per_pair) / 2 : 0);
    auto const flops_ps = [&](std::uint64_t flops) {  // picoseconds of `flops` FLOPs, divided by the layers
      auto const rate = static_cast<std::uint64_t>(on.device.bf16_flops) / 1'000'000'000 * on.utilisation;
      return static_cast<std::int64_t>(multiply_divide_up(flops, 1'000'000, rate * layers));
    };
    time.per_token = flops_ps(in_layers * work + static_cast<std::uint64_t>(training_factor) * layers * head);
    time.per_square = flops_ps(static_cast<std::uint64_t>(forward.per_pair) * work / causal);
  }
  if (on.devices > 1) {
    auto const bytes = 3 * 2 * static_cast<std::uint64_t>(parameters(on.model));  // gathered twice, gradients once, 16 bits each
    time.per_pack +=
        static_cast<std::int64_t>(multiply_divide_up(bytes * at.sp, 1'000'000'000'000, static_cast<std::uint64_t>(on.parameter_bandwidth)));
  }
  if (at.sp > 1) {
    auto const v = on.model.v_width > 0 ? on.model.v_width : on.model.head_width;
    auto const shared = on.model.kv_rank > 0 ? on.model.query_heads : on.model.kv_heads;
    auto const kv = (std::min)(on.model.query_heads, (std::max)(shared, std::int64_t{at.sp}));
    std::int64_t of_layers = 0;
    for (std::int64_t l = 0; l < on.model.layers; ++l)
      of_layers += (detail::is_scored(on.model, l) ? (on.model.query_heads + kv) * (on.model.head_width + v) : 0) +
                   (detail::is_linear(on.model, l) ? detail::linear_exchanged(on.model) : 0) +
                   (detail::is_space(on.model, l) ? detail::space_exchanged(on.model.space) : 0);
    auto const widths = static_cast<std::uint64_t>(of_layers);
    auto const sent = 2 * widths * (2 * layers + again) / layers;  // 16 bits each; forward, backward, and forward again
    auto const inside = std::uint64_t{(std::min)(at.sp, on.per_node) - 1}, outside = std::uint64_t{at.sp} - 1 - inside;
    auto const exchange = [&](std::uint64_t peers, std::uint64_t bandwidth) {
      return static_cast<std::int64_t>(multiply_divide_up(sent * peers, 1'000'000'000'000, bandwidth * at.sp));
    };
    time.per_token += exchange(inside, static_cast<std::uint64_t>(on.device.link_bandwidth) / 1000 * on.link_share);
    time.per_token += exchange(outside, static_cast<std::uint64_t>(on.network_bandwidth));
  }
  return time;
}

namespace detail {
/// The layers of a level's packs on one device, of which the first ones are recomputed.
template <class = when_called>
[[nodiscard]] inline std::vector<layer> level_layers(sequence_parallel_setup const& on) {
  return layers_of(
      on.model,
      {.spread = {.data = std::int64_t{on.devices}, .zero = 3}, .optimizer = on.optimizer, .framework = on.framework, .loss = on.loss});
}
template <class = when_called>
[[nodiscard]] inline std::int64_t memory_left(sequence_parallel_setup const& on, level const& at, std::vector<layer> const& layers) {
  batch_shape const batch{.tokens = divide_up(at.capacity, std::int64_t{at.sp})};
  auto const room = on.device.memory_bytes - on.reserved_bytes;
  checked bytes(0), working(0);
  std::int64_t again = at.recomputed_layers;
  for (auto const& l : layers) {
    auto const full = l.options.size() > 1 && again-- > 0;
    auto const& kept = (full ? l.options.back() : l.options.front()).bytes;
    auto const of = [&](batch_cost const& cost) { return checked(cost.fits(batch) ? cost(batch) : checked::none); };
    auto const more = of(l.working) + checked(l.buffers);
    bytes = bytes + checked(l.state) + of(kept);
    if (!more.fits() || more.value > working.value) working = more;
  }
  auto const all = bytes + working;
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  return all.fits() && all.value < most / 2 ? room - all.value : -most / 2;
}
}  // namespace detail

/// @brief The memory that a device has left with full packs of a level, as modelled.
/// @param on   model, devices and constants
/// @param at   the level; its first `recomputed_layers` layers are recomputed in full
/// @return bytes, negative if a pack does not fit; it depends only on the tokens per device, `capacity / sp`, and the recomputed layers
/// @throws invalid_input if a constant or the level is out of range
template <class = when_called>
[[nodiscard]] inline std::int64_t remaining_memory(sequence_parallel_setup const& on, level const& at) {
  require_valid(on, at);
  return detail::memory_left(on, at, detail::level_layers(on));
}

/// @brief The levels that fit in memory, each with the fewest recomputed layers, and their times: candidates for `choose_levels`.
///
/// For every level with an SP degree above 1, the list also has its slice: packs of `capacity / sp` tokens on one device, which need the
/// same memory and no exchange.
///
/// @param on        model, devices and constants
/// @param capacity  candidate pack lengths
/// @param degrees   candidate SP degrees
/// @return levels by capacity, then degree, without duplicates; empty if nothing fits
/// @throws invalid_input if a constant, capacity or degree is out of range
/// @par Complexity
/// O(capacities * degrees * layers^2).
template <class = when_called>
[[nodiscard]] inline std::vector<timed_level> modelled_levels(sequence_parallel_setup const& on, std::span<std::int64_t const> capacity,
                                                              std::span<std::uint32_t const> degrees) {
  require_valid(on);
  std::vector<timed_level> out;
  auto const layers = detail::level_layers(on);
  auto const left = [&](level const& at) { return detail::memory_left(on, at, layers); };
  auto const add = [&](level const& at) { out.push_back({at, modelled_level_time(on, at)}); };
  for (auto const c : capacity)
    for (auto const sp : degrees) {
      level at{.capacity = c, .sp = sp};
      require_valid(on, at);
      while (std::int64_t{at.recomputed_layers} < on.model.layers && left(at) < 0) ++at.recomputed_layers;
      if (left(at) < 0) continue;
      add(at);
      if (sp > 1 && c >= std::int64_t{sp}) add({c / std::int64_t{sp}, 1, at.recomputed_layers});
    }
  auto const key = [](timed_level const& a, timed_level const& b) {
    auto const &x = a.setting, &y = b.setting;
    if (x.capacity != y.capacity) return x.capacity < y.capacity;
    return x.sp != y.sp ? x.sp < y.sp : x.recomputed_layers < y.recomputed_layers;
  };
  std::sort(out.begin(), out.end(), key);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace ballast::inline v0_2
