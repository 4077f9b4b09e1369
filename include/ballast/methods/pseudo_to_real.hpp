// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/collective.hpp>
#include <ballast/curriculum/phase_switch.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/footprint/parameter_sharing.hpp>
#include <ballast/staging/offload.hpp>
#include <ballast/staging/offload_layer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief Pseudo-to-Real (M6-10T): first all layers share parameters, then every layer has its own and offloads what does not fit.
/// @par Source
/// Lin et al., "M6-10T: A Sharing-Delinking Paradigm for Efficient Multi-Trillion Parameter Pretraining", arXiv 2110.03888.

namespace ballast::inline v0_2::pseudo_to_real {

/// @brief The shape of M6-10T: 48 layers with hidden width 1,024; 10,240 experts of two matrices with inner width 9,984.
/// @return the layers with their parameters, without FLOPs
/// @par Source
/// Lin et al., arXiv 2110.03888; the shape also in ConnollyLeon/awesome-Auto-Parallelism, Models.md.
[[nodiscard]] constexpr layer_stack m6_10t() noexcept {
  return {.layers = 48, .parameters = std::int64_t{10'240} * 2 * 1'024 * 9'984 + std::int64_t{4} * 1'024 * 1'024};
}

/// @brief A run to plan.
struct settings {
  layer_stack stack{};             ///< layers, with the parameters of each; `flops` is not used
  std::int64_t summed = 0;         ///< parameters of a layer whose gradients data-parallel ranks sum: all but experts
  std::int64_t devices = 1;        ///< number of devices; they divide all parameters evenly
  training_state state{};          ///< bytes per parameter
  moment_bytes moments{};          ///< those of the moments among the optimiser states
  std::int64_t device_memory = 0;  ///< bytes of a device for states and buffers
  std::int64_t host_memory = 0;    ///< bytes of the host for each device
  host_rates rates{};              ///< rates between a device and its host
  std::int64_t forward = 0;        ///< nanoseconds of the forward pass of a layer, exchanges of tokens included
  std::int64_t backward = 0;       ///< nanoseconds of the backward pass of a layer
  fabric links{};                  ///< links for the exchange of gradients
  std::uint64_t buffers = 2;       ///< buffers for offloaded layers
  switch_options run{};            ///< steps and the switch
};

/// @brief A phase as planned.
struct planned_phase {
  stack_costs costs;                                     ///< what is stored, on one device and in all
  bool weights_fit = false;                              ///< whether the parameters alone fit the device
  bool fits = false;                                     ///< whether all states fit the device without offloading
  ballast::status status = ballast::status::infeasible;  ///< whether there is a plan
  std::int64_t exchange = 0;                             ///< nanoseconds in which a step exchanges gradients, not hidden
  std::int64_t step_time = 0;                            ///< nanoseconds of a step; 0 without a plan
  offload_plan offload;  ///< what is in host memory; for the first phase empty, because it must fit the device
};

/// @brief A planned run.
struct plan {
  planned_phase pseudo;  ///< all layers share parameters
  planned_phase real;    ///< every layer has its own
  switched_run run;      ///< the switch, the time of the run, the tensors that are copied
};

namespace detail {

/// Nanoseconds of summing gradients and gathering new parameters, each once in a step.
template <class = when_called>
[[nodiscard]] inline std::int64_t exchange_ns(settings const& with, std::int64_t sets) {
  rank_group const all{.ranks = with.devices};
  auto const ps = collective_time(collective::reduce_scatter, sets * with.summed * with.state.gradient, all, with.links) +
                  collective_time(collective::all_gather, sets * with.summed * with.state.parameter, all, with.links);
  return divide_up(ps, std::int64_t{1000});
}

template <class = when_called>
[[nodiscard]] inline planned_phase evaluate(settings const& with, parameter_sharing const& sharing) {
  planned_phase out;
  out.costs = evaluate_stack(with.stack, sharing, with.devices, with.state);
  out.weights_fit = out.costs.states.parameter <= with.device_memory;
  out.fits = out.costs.states.total() <= with.device_memory;
  out.exchange = exchange_ns(with, parameter_sets(with.stack.layers, sharing));
  return out;
}

}  // namespace detail

/// @brief Plans both phases, and then the run.
///
/// The first phase must fit the devices: its layers use the same parameters all the time, so nothing is gained by offloading them. The
/// second offloads as `plan_offload` chooses. Neither phase hides its exchange of gradients.
///
/// @param with  the run
/// @return both phases and the run; a phase without a plan says which memory is too small
/// @throws invalid_input as `evaluate_stack`, `collective_time`, `plan_offload` and `plan_phase_switch`, or if `summed` is out of range
/// @par Complexity
/// As `plan_offload`.
/// @par Determinism
/// A pure function of its argument.
template <class = when_called>
[[nodiscard]] inline plan plan_training(settings const& with) {
  plan out;
  ballast::detail::require_within("summed", with.summed, 0, with.stack.parameters);
  out.pseudo = detail::evaluate(with, shared_parameters(with.stack.layers));
  out.real = detail::evaluate(with, own_parameters);
  auto const computed = with.stack.layers * (with.forward + with.backward);
  if (out.pseudo.fits) {
    out.pseudo.status = status::feasible;
    out.pseudo.step_time = computed + out.pseudo.exchange;
  } else {
    out.pseudo.offload.status = status::infeasible;
    out.pseudo.offload.shortage = short_memory::device;
    out.pseudo.offload.needed = out.pseudo.costs.states.total();
  }
  auto const one = evaluate_stack({.layers = 1, .parameters = with.stack.parameters}, own_parameters, with.devices, with.state);
  std::vector<offload_layer> const layers(static_cast<std::size_t>(with.stack.layers),
                                          {.forward = with.forward, .backward = with.backward, .states = one.states});
  out.real.offload = plan_offload(
      layers, {.device_memory = with.device_memory, .host_memory = with.host_memory, .rates = with.rates, .buffers = with.buffers});
  out.real.status = out.real.offload.status;
  if (out.real.status == status::feasible) out.real.step_time = out.real.offload.time.value + out.real.exchange;
  auto const tensors = linked_tensors(with.stack, shared_parameters(with.stack.layers), with.state, with.moments);
  out.run = plan_phase_switch(
      {run_phase{"pseudo", out.pseudo.status, out.pseudo.step_time}, run_phase{"real", out.real.status, out.real.step_time}}, tensors,
      with.run);
  return out;
}

/// @brief Describes whether a phase fits, in a sentence.
/// @param phase  a planned phase
/// @param name   its name, such as "Real"
/// @param with   the run
/// @return for example "Real needs 39.3 GB of parameters a device, more than its 32.0 GB, and …"
template <class = when_called>
[[nodiscard]] inline std::string describe(planned_phase const& phase, std::string const& name, settings const& with) {
  auto const gb = [](std::int64_t bytes) {
    auto const tenths = divide_up(2 * bytes - 100'000'000, std::int64_t{200'000'000});  // to the nearest
    return sentence(tenths / 10, ".", tenths % 10, " GB");
  };
  auto const& s = phase.costs.states;
  if (phase.fits)
    return name + " needs " + gb(s.total()) + " of states a device and fits its " + gb(with.device_memory) + " without offloading";
  auto text = name + " needs " + gb(s.parameter) + " of parameters and " + gb(s.total()) + " of states a device";
  text += phase.weights_fit ? "; the states do not fit its " : "; not even the parameters fit its ";
  text += gb(with.device_memory);
  auto const& o = phase.offload;
  if (o.status == status::feasible) return text + ": " + gb(o.memory.host) + " are in host memory";
  if (o.shortage == short_memory::none) return text + ", and no plan was found";
  return text + ", and the " + (o.shortage == short_memory::device ? "device" : "host") + " would need " + gb(o.needed) +
         " for each device";
}

}  // namespace ballast::inline v0_2::pseudo_to_real
