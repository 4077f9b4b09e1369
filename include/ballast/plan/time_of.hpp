// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/device.hpp>
#include <ballast/cost/kernel_rates.hpp>
#include <ballast/cost/kernel_time.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/parameter_groups.hpp>
#include <ballast/cost/transformer.hpp>
#include <ballast/footprint/layer_time.hpp>
#include <ballast/plan/training_setting.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

/// @file
/// @brief `time_of`: where the time of a training step goes, part by part, for each stage.

namespace ballast::inline v0_2 {

/// @brief Picoseconds of a step on one device of a stage, all its micro-batches together. All stages take the same total.
struct time_parts {
  std::int64_t gemm = 0;       ///< matrix products, head included
  std::int64_t experts = 0;    ///< grouped matrix products of experts
  std::int64_t attention = 0;  ///< attention
  std::int64_t memory = 0;     ///< operators that move bytes: norms, activation functions, loss, permutation of rows
  std::int64_t exchange = 0;   ///< exchanges of layers and of FSDP that are not hidden, and what hidden ones take from computation
  std::int64_t recompute = 0;  ///< what the backward pass computes again
  std::int64_t host = 0;       ///< waiting for the host, which launches kernels and reads the tokens of experts
  std::int64_t p2p = 0;        ///< transfers between stages that are not hidden
  std::int64_t bubble = 0;     ///< waiting for other stages, and for slower devices
  std::int64_t end = 0;        ///< exchange of gradients and parameters, optimiser, and what a step costs besides
  friend constexpr bool operator==(time_parts const&, time_parts const&) = default;

  /// @brief What the stage does for its micro-batches. @return picoseconds
  [[nodiscard]] constexpr std::int64_t work() const noexcept { return gemm + experts + attention + memory + exchange + recompute + host; }
  /// @brief The time of a step. @return picoseconds, the same for all stages
  [[nodiscard]] constexpr std::int64_t total() const noexcept { return work() + p2p + bubble + end; }
};

namespace detail {

/// Adds up the times of stages, for time_of.
template <class = when_called>
class stage_timer {
 public:
  stage_timer(transformer const& model, training_setting const& by, device const& on, time_setting const& with, batch_shape const& batch,
              std::span<layer_option const> taken)
      : model_(model), by_(by), on_(on), with_(with), batch_(batch), taken_(taken), links_(links_of(on)) {
    auto const head = head_time(model, by.model, on, with, batch.tokens);
    head_.gemm = head.gemm.both();
    head_.memory = head.memory.both();
  }

  /// One micro-batch on a stage.
  [[nodiscard]] time_parts operator()(std::size_t stage, std::vector<std::uint32_t> const& cuts) {
    time_parts out;
    auto const stages = static_cast<std::size_t>(by_.pipeline.stages);
    auto const first = std::uint32_t{model_.vocabulary > 0 ? 1U : 0U};
    auto const layers = static_cast<std::uint32_t>(model_.layers), mtp = static_cast<std::uint32_t>(model_.mtp_layers);
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      if (std::visit([&](auto const& s) { return s.stage_of(c, stages); }, by_.pipeline.schedule) != stage) continue;
      std::int64_t n = 0;  // layers of the chunk in front of this one
      for (auto i = (std::max)(cuts[c], first); i < (std::min)(cuts[c + 1], first + layers + mtp); ++i, ++n) {
        auto const behind = i >= first + layers;  // a layer for multi-token prediction, with a head of its own
        add(out, time_of_layer(behind ? model_.layers - 1 : static_cast<std::int64_t>(i - first), n, i));
        if (behind) add(out, head_);
      }
      if (c + 2 == cuts.size()) add(out, head_);
    }
    return out;
  }

  /// The end of a step. All stages wait for each other: parameters are those of a mean stage.
  [[nodiscard]] std::int64_t end(std::int64_t stage_time) const {
    auto const& rates = with_.rates;
    auto const& spread = by_.model.spread;
    auto const stages = static_cast<std::int64_t>(by_.pipeline.stages), t = spread.tensor;
    std::int64_t plain = 0, experts = 0;
    for (std::int64_t l = 0; l < model_.layers; ++l) {
      auto const [dense, routed] = parameters_on_device(model_, l, by_.model);
      plain += dense;
      experts += routed;
    }
    auto const matrix = model_.vocabulary * model_.hidden / t;
    plain = plain / stages + matrix * (stages > 1 || model_.tied || model_.outputs > 0 ? 1 : 2);
    experts /= stages;
    auto const over = expert_group(by_.model);
    std::int64_t exchange = 0;
    if (spread.zero < 2) {
      for (auto const each : {4, 2}) {
        exchange += ring_time(each * plain, {spread.data, t}, links_, rates);
        if (experts > 0) exchange += ring_time(each * experts, over, links_, rates);
      }
      if (with_.gradient_overlap)
        exchange = (std::max)(thousandths_of(exchange, rates.gradient_least), exchange - thousandths_of(stage_time, rates.gradient_hidden));
    }
    auto const sharded = spread.zero > 0;
    auto const held = plain / (sharded ? spread.data : 1) + experts / (sharded ? over.ranks : 1);
    return exchange + ps_of(checked(held) * checked(rates.optimizer), memory_rate(on_, rates), "the optimiser") + rates.step;
  }

 private:
  struct kind {
    bool known = false;
    layer_parts parts{};
    layer_pass pass{};
    device_parameters parameters{};
  };

  static void add(time_parts& to, time_parts const& more) {
    constexpr std::array fields{&time_parts::gemm,     &time_parts::experts,   &time_parts::attention, &time_parts::memory,
                                &time_parts::exchange, &time_parts::recompute, &time_parts::host};
    for (auto const f : fields) {
      auto const sum = checked(to.*f) + checked(more.*f);
      require(sum.fits() && sum.value < std::int64_t{1} << 59, [] { return std::string("a micro-batch takes 2^59 picoseconds or more"); });
      to.*f = sum.value;
    }
  }

  [[nodiscard]] std::int64_t recomputed(kind const& k, std::int64_t place, std::size_t i) const {
    using enum recompute_setting::kind;
    if (!taken_.empty()) {
      auto const& option = taken_[i];
      return recompute_time(k.parts, k.pass,
                            option.recomputed == recomputation::full        ? again::full
                            : option.recomputed == recomputation::selective ? again::modules
                                                                            : again::nothing,
                            option.modules);
    }
    auto const& r = by_.recompute;
    auto const how =
        r.what == modules    ? again::modules
        : r.what == products ? again::products
        : r.what == uniform || (r.what == block && place < r.layers) || (r.what == alternate && place % r.layers == r.layers - 1)
            ? again::full
            : again::nothing;
    return recompute_time(k.parts, k.pass, how, r.modules);
  }

  /// A layer, the `place`-th of its chunk and the `i`-th of the chain, with FSDP.
  [[nodiscard]] time_parts time_of_layer(std::int64_t layer, std::int64_t place, std::size_t i) {
    auto& k = kinds_[kind_of(model_, layer)];
    if (!k.known) {
      k.known = true;
      k.parts = parts_of_layer(model_, layer, by_.model, on_, with_, batch_);
      k.pass = overlapped(k.parts, model_, by_.model, with_);
      k.parameters = parameters_on_device(model_, layer, by_.model);
    }
    time_parts out{.gemm = k.parts.gemm.both(),
                   .experts = k.parts.experts.both(),
                   .attention = k.parts.attention.both(),
                   .memory = k.parts.memory.both(),
                   .exchange = k.pass.exchange.both(),
                   .recompute = recomputed(k, place, i),
                   .host = k.pass.host.both()};
    out.exchange += sharding(k, out.recompute);
    return out;
  }

  /// What FSDP adds to a layer: copies, and each pass takes at least its exchanges, which make computation slower.
  [[nodiscard]] std::int64_t sharding(kind const& k, std::int64_t again) const {
    auto const& spread = by_.model.spread;
    auto const piped = by_.pipeline.stages > 1;
    if (spread.zero < 2 || (piped && spread.zero < 3)) return 0;
    auto const& rates = with_.rates;
    auto const [plain, experts] = k.parameters;
    rank_group const all{spread.data, spread.tensor};
    auto gather = ring_time(2 * plain, all, links_, rates),
         scatter = ring_time((with_.float_reduction ? 4 : 2) * plain, all, links_, rates);
    if (experts > 0) {
      auto const more = ring_time(2 * experts, expert_group(by_.model), links_, rates);
      gather += more;
      scatter += more;
    }
    auto const once = piped || spread.zero == 2;  // gathered once in a step
    auto const copy = ps_of(checked(rates.shard_copy) * checked(plain + experts), memory_rate(on_, rates), "FSDP");
    auto const longer = [&](std::int64_t time, std::int64_t exchange) {
      return (std::max)(time + thousandths_of((std::min)(time, exchange), rates.stolen), exchange);
    };
    auto const forward = k.pass.time.forward, backward = k.pass.time.backward + again;
    auto const forward_copy = thousandths_of(copy, 300);
    return longer(forward + forward_copy, once ? gather / by_.micro_batches : gather) - forward +
           longer(backward + copy - forward_copy, (once ? 0 : gather) + scatter) - backward;
  }

  transformer const& model_;
  training_setting const& by_;
  device const& on_;
  time_setting const& with_;
  batch_shape const batch_;
  std::span<layer_option const> const taken_;
  link_rates const links_;
  time_parts head_{};
  std::array<kind, layer_kinds> kinds_{};
};
}  // namespace detail

/// @brief Where the time of a training step goes, for each stage, with micro-batches of one size.
///
/// A step takes its micro-batches on the slowest stage, the filling of the pipeline by a mean stage, and its end. `bubble` of a stage is
/// what the step takes beyond the stage's own work. Stages are those of `boundaries_of`; the embedding takes no time, and each layer for
/// multi-token prediction takes a layer and a head. Schedules that split the backward pass fill the bubble to a third (Qi et al., arXiv
/// 2401.10241).
///
/// @param model  the shape; its vocabulary as it is padded
/// @param by     the setting; memory in `pipeline.memory` is not read
/// @param on     the device, with the bandwidths of its links and the number of devices in a node
/// @param with   what kernels reach, and what else time depends on
/// @param batch  a micro-batch on the devices of a context-parallel group: `tokens` and `squares`
/// @param taken  for each layer of the chain of `layers_of`, the option that it takes: what it recomputes, in place of `by.recompute`; of
///               embedding and head it is not read. Empty: by the setting
/// @return one entry for each stage
/// @throws invalid_input as `require_valid` of the setting, if `taken` has another number of layers, or if a kernel takes 2^56 picoseconds
///         or a step 2^63
/// @post all stages have the same `total()`
/// @par Complexity
/// O(layers + stages * chunks): equal layers are timed once.
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// This library (docs/time-model.md).
template <class = when_called>
[[nodiscard]] inline std::vector<time_parts> time_of(transformer const& model, training_setting const& by, device const& on,
                                                     time_setting const& with, batch_shape const& batch,
                                                     std::span<layer_option const> taken = {}) {
  auto const cuts = boundaries_of(by, model);
  require(taken.empty() || taken.size() == cuts.back(), [&] {
    return "taken has " + std::to_string(taken.size()) + " entries, and the chain has " + std::to_string(cuts.back()) + " layers";
  });
  auto const& rates = with.rates;
  auto const stages = static_cast<std::int64_t>(by.pipeline.stages), micro = by.micro_batches;
  detail::stage_timer<> timer(model, by, on, with, batch, taken);
  std::vector<time_parts> out;
  auto sum = checked(0);
  std::int64_t slowest = 0;
  for (std::size_t s = 0; s < by.pipeline.stages; ++s) {
    out.push_back(timer(s, cuts));
    sum = sum + checked(out.back().work());
    slowest = (std::max)(slowest, out.back().work());
  }
  require(sum.fits(), [] { return std::string("a micro-batch takes 2^63 picoseconds or more"); });
  auto const mean = sum.value / stages, chunks = static_cast<std::int64_t>(by.chunks());
  std::int64_t shown = 0, fill = 0;  // of each micro-batch between stages; of a step
  if (stages > 1) {
    auto const links = links_of(on);
    auto const tokens = divide_up(batch.tokens, by.model.spread.context);
    auto const bytes = checked(tokens) * checked(2 * model.hidden);
    auto const rate = detail::thousandths_of(links.between, rates.network) * by.model.spread.tensor;
    auto const send = links.inside == 0 ? 0 : detail::ps_of(bytes, rate, "a transfer between stages") + rates.send;
    shown = chunks == 1 ? 2 * send : detail::thousandths_of(2 * send, 300) * chunks;
    auto const split = std::visit([](auto const& s) { return s.splits_backward; }, by.pipeline.schedule);
    auto const filled = checked(stages - 1) * checked(mean / (split ? 3 : chunks) + 2 * send);
    require(filled.fits(), [] { return std::string("the pipeline fills in 2^63 picoseconds or more"); });
    fill = filled.value;
  }
  auto const end = timer.end(mean);
  auto const nodes = (std::max)(by.gpus() / 8, std::int64_t{1});
  auto const before = checked(micro) * checked(slowest + shown) + checked(fill) + checked(end);
  auto const jitter = rates.jitter * detail::log2_thousandths(nodes);  // in millionths
  auto const total = before.fits() && before.value < std::int64_t{1} << 61
                         ? before + checked(static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(before.value),
                                                                                         static_cast<std::uint64_t>(jitter), 1'000'000)))
                         : checked(checked::none);
  require(total.fits(), [] { return std::string("a step takes 2^61 picoseconds or more"); });
  for (auto& p : out) {
    for (auto const f : {&time_parts::gemm, &time_parts::experts, &time_parts::attention, &time_parts::memory, &time_parts::exchange,
                         &time_parts::recompute, &time_parts::host})
      p.*f *= micro;
    p.p2p = micro * shown;
    p.end = end;
    p.bubble = total.value - p.work() - p.p2p - p.end;
  }
  return out;
}

/// @brief Where the time of a training step goes, with micro-batches of full sequences.
/// @param model  the shape; its vocabulary as it is padded
/// @param by     the setting
/// @param on     the device
/// @param with   what kernels reach, and what else time depends on
/// @return as the other overload
/// @throws invalid_input as the other overload
/// @par Complexity
/// As the other overload.
template <class = when_called>
[[nodiscard]] inline std::vector<time_parts> time_of(transformer const& model, training_setting const& by, device const& on,
                                                     time_setting const& with) {
  require_valid(by, model);
  auto const tokens = by.micro_batch * by.sequence;
  return time_of(model, by, on, with, {.tokens = tokens, .squares = tokens * by.sequence, .tiles = 0});
}

/// @brief The stage that waits least. @param stages as `time_of` returned them, at least one @return the first of them
[[nodiscard]] inline time_parts const& slowest_of(std::vector<time_parts> const& stages) {
  return *std::max_element(stages.begin(), stages.end(), [](auto const& a, auto const& b) { return a.work() < b.work(); });
}

}  // namespace ballast::inline v0_2
