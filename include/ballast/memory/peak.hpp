// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/memory/buffer.hpp>
#include <ballast/memory/detail/order_problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <vector>

/// @file
/// @brief `evaluate_order` and `buffers_of`: the memory that a graph needs if its operators run in a given order.

namespace ballast::inline v0_2 {

/// @brief The memory of an order of operators, in bytes.
struct order_peak {
  std::int64_t peak = 0;              ///< most memory in use at a time
  std::uint64_t step = 0;             ///< the first step that uses this much
  std::int64_t start = 0;             ///< memory in use before the first step
  std::vector<std::int64_t> running;  ///< of each step, memory in use while its operator runs, with its outputs and workspace
  std::vector<std::int64_t> behind;   ///< of each step, memory in use when it is over

  friend bool operator==(order_peak const&, order_peak const&) = default;
};

/// @brief The buffers of a graph whose operators run in a given order. Times are steps: operator `order[i]` runs at time i.
struct order_buffers {
  static constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();  ///< no buffer

  std::vector<buffer> buffers;              ///< first those of tensors, in the order of their indices, then workspaces in program order
  std::vector<std::uint32_t> of_tensor;     ///< buffer of each tensor; tensors that share memory have the same; `none`: never in use
  std::vector<std::uint32_t> of_workspace;  ///< buffer of each operator's workspace; `none` if it has 0 bytes

  friend bool operator==(order_buffers const&, order_buffers const&) = default;
};

namespace detail {

// The memory while the operators run in an order that is valid.
template <class = when_called>
[[nodiscard]] order_peak profile_of(order_problem const& p, std::span<std::uint32_t const> order) {
  order_sweep<> sweep(p, false);
  order_peak out{.peak = p.start, .step = 0, .start = p.start, .running = {}, .behind = {}};
  out.running.reserve(order.size());
  out.behind.reserve(order.size());
  for (auto const v : order) {
    out.running.push_back(sweep.running(v));
    if (out.running.back() > out.peak) out.peak = out.running.back(), out.step = out.running.size() - 1;
    sweep.step(v, [](std::uint32_t) {});
    out.behind.push_back(sweep.memory());
  }
  return out;
}

// The step of each operator; throws if the order is none in which they can run.
template <class = when_called>
[[nodiscard]] std::vector<std::uint32_t> require_order(order_problem const& p, std::span<std::uint32_t const> order) {
  auto const n = p.size();
  require(order.size() == n, [&] { return sentence("order has ", order.size(), " entries for ", n, " operators"); });
  std::vector<std::uint32_t> step(n, order_problem::none);
  for (std::size_t i = 0; i < n; ++i) {
    auto const v = order[i];
    require(v < n, [&] { return sentence(entry("order", i, v), ", but there are ", n, " operators"); });
    require(step[v] == order_problem::none, [&] { return sentence(entry("order", i, v), " is also entry ", step[v]); });
    step[v] = static_cast<std::uint32_t>(i);
    for (auto const u : p.before[v])
      require(step[u] != order_problem::none, [&] { return sentence(entry("order", i, v), " must run behind operator ", u); });
  }
  return step;
}

}  // namespace detail

/// @brief Computes how much memory is in use at each step of an order.
///
/// While an operator runs, memory holds what was in use before, its outputs, and its workspace. Behind it, all tensors are freed that
/// nobody reads any more and that are not kept; tensors that share memory are freed together.
///
/// @param g      the graph
/// @param order  its operators in the order in which they run
/// @return the peak, where it is, and the memory of each step
/// @throws invalid_input if the graph is not valid, or if the operators cannot run in this order
/// @par Complexity
/// O(operators + tensors + inputs + outputs).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] order_peak evaluate_order(graph const& g, std::span<std::uint32_t const> order) {
  require_valid(g);
  auto const p = detail::order_lowering<>(g).lower();
  std::ignore = detail::require_order(p, order);
  return detail::profile_of(p, order);
}

/// @brief Makes the buffers that a layout of memory must place if the operators run in this order.
///
/// A tensor's buffer is in use from the step that makes it, or from 0, until the step of its last user is over; a tensor that is kept,
/// until the last step is over. Tensors that share memory are one buffer. A workspace is in use for the step of its operator.
///
/// @param g      the graph
/// @param order  its operators in the order in which they run
/// @return the buffers, and which tensors and operators they belong to
/// @post at each step, the sizes of the buffers in use add up to `evaluate_order(g, order).running`
/// @throws invalid_input as `evaluate_order`
/// @par Complexity
/// O(operators + tensors + inputs + outputs).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] order_buffers buffers_of(graph const& g, std::span<std::uint32_t const> order) {
  require_valid(g);
  auto const step = detail::require_order(detail::order_lowering<>(g).lower(), order);
  auto const uses = uses_of(g);
  auto const last = (std::max)(static_cast<std::int64_t>(g.size()), std::int64_t{1});
  std::vector<std::int64_t> end(g.tensors.size(), 0);  // of the memory that a tensor has of its own
  for (std::size_t v = 0; v < g.size(); ++v)
    for (auto const* rows : {&g.inputs, &g.outputs})
      for (auto const t : (*rows)[v]) end[uses.memory[t]] = (std::max)(end[uses.memory[t]], std::int64_t{step[v]} + 1);
  for (std::size_t t = 0; t < g.tensors.size(); ++t)
    if (g.tensors[t].kept) end[uses.memory[t]] = last;
  order_buffers out;
  std::vector<std::uint32_t> number(g.tensors.size(), order_buffers::none);
  auto const add = [&](std::int64_t lower, std::int64_t upper, std::int64_t size) {
    out.buffers.push_back({.lower = lower, .upper = upper, .size = size});
    return static_cast<std::uint32_t>(out.buffers.size() - 1);
  };
  for (std::size_t t = 0; t < g.tensors.size(); ++t)
    if (uses.memory[t] == t && end[t] > 0 && g.tensors[t].bytes > 0)
      number[t] = add(uses.maker[t] == graph_uses::none ? 0 : step[uses.maker[t]], end[t], g.tensors[t].bytes);
  for (auto const t : uses.memory) out.of_tensor.push_back(number[t]);
  for (std::size_t v = 0; v < g.size(); ++v)
    out.of_workspace.push_back(g.operators[v].workspace == 0 ? order_buffers::none
                                                             : add(step[v], std::int64_t{step[v]} + 1, g.operators[v].workspace));
  return out;
}

}  // namespace ballast::inline v0_2
