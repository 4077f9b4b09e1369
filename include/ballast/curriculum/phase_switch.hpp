// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/footprint/memory.hpp>
#include <ballast/footprint/parameter_sharing.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief A run in two phases: when the second takes over, how long both take, and which tensors it copies from the first.

namespace ballast::inline v0_2 {

/// @brief A phase of a run, as it was planned.
struct run_phase {
  std::string name;                                    ///< name, such as "pseudo"
  ballast::status status = ballast::status::feasible;  ///< whether a plan exists in which it fits
  std::int64_t step_time = 0;                          ///< nanoseconds of a step, 1 … 2^50 if feasible

  friend bool operator==(run_phase const&, run_phase const&) = default;
};

/// @brief A tensor of the first phase that the second phase starts from.
struct linked_tensor {
  std::string name;          ///< name, such as "parameters of layers 0 to 47"
  std::int64_t bytes = 0;    ///< bytes of the tensor on all devices together, 0 … 2^60
  std::int64_t users = 1;    ///< tensors of the second phase that are copies of it, 1 … 2^20
  std::int64_t divisor = 1;  ///< values of each copy are those of the tensor divided by this, 1 … 2^40

  friend bool operator==(linked_tensor const&, linked_tensor const&) = default;
};

/// @brief Bytes per parameter of the moments of an optimiser; what else it keeps is a master copy of the parameters.
struct moment_bytes {
  std::int64_t first = 4;   ///< mean of gradients
  std::int64_t second = 4;  ///< mean of their squares; 0: the optimiser has none

  friend constexpr bool operator==(moment_bytes const&, moment_bytes const&) = default;
};

/// @brief A request: the steps of the run, and when the second phase takes over.
struct switch_options {
  std::uint64_t steps = 0;       ///< steps of both phases together, 1 … 2^40
  std::uint64_t at = 0;          ///< steps of the first phase, at most `steps`; ignored with a budget
  std::int64_t time_budget = 0;  ///< nanoseconds of the run: as few steps of the first phase as keep it; 0: `at` is given
  std::int64_t copy_rate = 0;    ///< bytes/s at which tensors are copied, all devices together, at least 10^6; 0: it takes no time
};

/// @brief Copies of one tensor.
struct tensor_copy {
  std::uint64_t tensor = 0;  ///< index of the tensor in the list of the first phase
  std::int64_t copies = 1;   ///< number of copies; 1: it is taken over as it is
  std::int64_t bytes = 0;    ///< bytes of all copies
  std::int64_t divisor = 1;  ///< values of each copy are those of the tensor divided by this

  friend constexpr bool operator==(tensor_copy const&, tensor_copy const&) = default;
};

/// @brief A run in two phases.
struct switched_run {
  ballast::status status = ballast::status::infeasible;  ///< that of the first phase that is not feasible; infeasible, too, if the budget
                                                         ///< is too small
  std::uint64_t blocked_by = 2;                          ///< if not feasible: 0 or 1, the phase; 2: the budget of time
  certificate first_steps;                               ///< steps of the first phase; with a budget, no fewer keep it
  std::uint64_t second_steps = 0;                        ///< steps of the second phase
  std::int64_t first_time = 0;                           ///< nanoseconds of the first phase
  std::int64_t copy_time = 0;                            ///< nanoseconds of copying, 0 unless both phases have steps
  std::int64_t second_time = 0;                          ///< nanoseconds of the second phase
  std::vector<tensor_copy> copies;                       ///< one entry per tensor, empty unless both phases have steps
  std::int64_t copied_bytes = 0;                         ///< bytes of all copies
  std::int64_t least_time = 0;                           ///< nanoseconds of the shortest run with any switch; 0 if a phase is not feasible

  /// @brief Nanoseconds of the run.
  [[nodiscard]] constexpr std::int64_t time() const noexcept { return first_time + copy_time + second_time; }
  friend bool operator==(switched_run const&, switched_run const&) = default;
};

/// @brief The tensors of a stack of layers that share parameters: parameters, master copy and moments of each set. Gradients are not
/// copied.
///
/// The gradient of parameters that L layers share is the sum over these layers. A first moment is therefore L times, and a second moment
/// L^2 times, what a layer with parameters of its own would have: copies of them are divided by L and L^2. The number of steps by which
/// Adam corrects its moments goes on where moments are copied, and begins again where they are not.
///
/// @param stack    the layers
/// @param sharing  which of them share
/// @param state    bytes per parameter for each kind of state
/// @param moments  bytes per parameter of the moments, at most `state.optimizer` together
/// @return up to four tensors a set, in the order of the layers; the optimiser states without bytes are left out
/// @throws invalid_input as `evaluate_stack`, or if the moments are out of range
/// @par Complexity
/// O(sets).
template <class = when_called>
[[nodiscard]] inline std::vector<linked_tensor> linked_tensors(layer_stack const& stack, parameter_sharing const& sharing,
                                                               training_state const& state = {}, moment_bytes const& moments = {}) {
  static_cast<void>(evaluate_stack(stack, sharing, 1, state));  // refuses what is out of range
  detail::require_within("moments.first", moments.first, 0, state.optimizer);
  detail::require_within("moments.second", moments.second, 0, state.optimizer - moments.first);
  std::vector<linked_tensor> out;
  for (std::int64_t first = 0; first < stack.layers; first += sharing.layers) {
    auto const users = (std::min)(sharing.layers, stack.layers - first);
    auto const of = (users == 1 ? " of layer " : " of layers ") + std::to_string(first) +
                    (users == 1 ? "" : " to " + std::to_string(first + users - 1));
    auto const add = [&](char const* what, std::int64_t bytes, std::int64_t divisor) {
      if (bytes > 0) out.push_back({what + of, stack.parameters * bytes, users, divisor});
    };
    out.push_back({"parameters" + of, stack.parameters * state.parameter, users, 1});
    add("master copy", state.optimizer - moments.first - moments.second, 1);
    add("first moments", moments.first, users);
    add("second moments", moments.second, users * users);
  }
  return out;
}

namespace detail {

template <class = when_called>
inline void require_valid(std::array<run_phase, 2> const& phases, std::span<linked_tensor const> tensors, switch_options const& options) {
  for (std::size_t p = 0; p < 2; ++p)
    require(phases[p].status != status::feasible || (phases[p].step_time >= 1 && phases[p].step_time <= std::int64_t{1} << 50),
            [&] { return sentence("phases[", p, "].step_time = ", phases[p].step_time, " must be in [1, 2^50]"); });
  require(options.steps >= 1 && options.steps <= std::uint64_t{1} << 40,
          [&] { return sentence("steps = ", options.steps, " must be in [1, 2^40]"); });
  require(options.time_budget != 0 || options.at <= options.steps,
          [&] { return sentence("at = ", options.at, " must be at most ", options.steps, ", the steps"); });
  require(options.time_budget >= 0, [&] { return sentence("time_budget = ", options.time_budget, " must not be negative"); });
  require_within("copy_rate", options.copy_rate == 0 ? 1'000'000 : options.copy_rate, 1'000'000, std::int64_t{1} << 60);
  auto sum = checked(0);
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    auto const& of = tensors[t];
    require(of.bytes >= 0 && of.users >= 1 && of.divisor >= 1, [&] {
      return sentence("tensors[", t, "]: bytes = ", of.bytes, " must not be negative, users = ", of.users, " and divisor = ", of.divisor,
                      " must be positive");
    });
    sum = sum + checked(of.bytes) * checked(of.users);
    require(sum.fits() && sum.value <= std::int64_t{1} << 60,
            [&] { return sentence("tensors[", t, "] brings the copies above 2^60 bytes"); });
  }
  auto const slowest = (std::max)(phases[0].step_time, phases[1].step_time);
  require(slowest <= (std::int64_t{1} << 61) / static_cast<std::int64_t>(options.steps),
          [&] { return sentence("steps = ", options.steps, " of ", slowest, " ns are above 2^61 ns"); });
}

/// Nanoseconds of copying bytes at a rate; none at rate 0.
template <class = when_called>
[[nodiscard]] inline std::int64_t copy_ns(std::int64_t bytes, std::int64_t rate) {
  if (rate == 0) return 0;
  constexpr std::int64_t second = 1'000'000'000, most = std::int64_t{1} << 60;
  require(bytes / rate < most / second, [&] { return sentence("copying ", bytes, " bytes takes 2^60 ns or more"); });
  return static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(bytes), second, static_cast<std::uint64_t>(rate)));
}

}  // namespace detail

/// @brief Plans a run in two phases, before the first one starts.
///
/// Both phases must be feasible, even if the switch leaves no step to one of them: the plan is for runs that go on. With a budget of time,
/// the first phase gets as few steps as keep it.
///
/// @param phases   the first and the second phase: whether they fit, and their step times
/// @param tensors  tensors of the first phase, with the number of copies that the second one needs (`linked_tensors`)
/// @param options  steps, and the switch or the budget
/// @return the run; its time is steps of each phase times its step time, and the time of copying between them
/// @throws invalid_input if an entry is out of range, or if the run takes more than 2^61 ns
/// @par Complexity
/// O(tensors).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Lin et al., "M6-10T", arXiv 2110.03888: training with shared parameters first, then with delinked ones.
template <class = when_called>
[[nodiscard]] inline switched_run plan_phase_switch(std::array<run_phase, 2> const& phases, std::span<linked_tensor const> tensors,
                                                    switch_options const& options) {
  detail::require_valid(phases, tensors, options);
  switched_run out;
  for (std::size_t p = 0; p < 2; ++p)
    if (phases[p].status != status::feasible) {
      out.status = phases[p].status;
      out.blocked_by = p;
      return out;
    }
  auto const bytes = std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0},
                                     [](std::int64_t sum, linked_tensor const& t) { return sum + t.bytes * t.users; });
  auto const copying = detail::copy_ns(bytes, options.copy_rate);
  auto const all = static_cast<std::int64_t>(options.steps), t1 = phases[0].step_time, t2 = phases[1].step_time;
  out.least_time = all * (std::min)(t1, t2);
  auto at = static_cast<std::int64_t>(options.at);
  if (options.time_budget > 0) {
    auto const over = all * t2 + copying - options.time_budget;  // what an early switch is above the budget
    if (all * t2 <= options.time_budget) {
      at = 0;
    } else if (auto const few = t1 < t2 ? (over + t2 - t1 - 1) / (t2 - t1) : all; few < all) {
      at = (std::max)(few, std::int64_t{1});
    } else if (all * t1 <= options.time_budget) {
      at = all;
    } else {
      return out;
    }
  }
  out.status = status::feasible;
  out.first_steps = {at, at};
  out.second_steps = static_cast<std::uint64_t>(all - at);
  out.first_time = at * t1;
  out.second_time = (all - at) * t2;
  if (at == 0 || at == all) return out;
  out.copy_time = copying;
  out.copied_bytes = bytes;
  for (std::size_t t = 0; t < tensors.size(); ++t)
    out.copies.push_back({t, tensors[t].users, tensors[t].bytes * tensors[t].users, tensors[t].divisor});
  return out;
}

}  // namespace ballast::inline v0_2
