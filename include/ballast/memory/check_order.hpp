// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/graph/graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `check_order`: the validator of orders of a graph's operators. It shares no code with what makes them.

namespace ballast::inline v0_2 {

/// @brief The rule that an order breaks, in the order in which they are checked; `index` is the step.
struct order_fault : common_fault {
  static constexpr rule wrong_size{"there are {found} steps for {expected} operators"};
  static constexpr rule no_such_operator{"step {index} runs operator {found} of {expected}"};
  static constexpr rule run_twice{"step {index} runs operator {found}, which has run"};
  static constexpr rule read_too_early{"step {index} reads tensor {found}, which an operator makes that has not run"};
  static constexpr rule read_overwritten{"step {index} reads tensor {found}, whose memory has been overwritten"};
  static constexpr rule wrong_peak{"the peak is {found} by the result, but {expected} in step {index}"};
};

namespace detail {

// Runs the operators one by one and looks at the tensors after each.
template <class = when_called>
class order_rules {
 public:
  order_rules(graph const& g, std::span<std::uint32_t const> order) : g_(g), order_(order), source_(g.tensors.size()) {
    std::iota(source_.begin(), source_.end(), 0U);
    memory_ = source_;
    for (auto const t : g.outputs.members) {  // what t shares the memory of comes before
      if (g.tensors[t].shares == graph_tensor<>::own) continue;
      memory_[t] = memory_[g.tensors[t].shares];
      if (!g.tensors[t].in_place) source_[t] = source_[g.tensors[t].shares];
    }
  }

  // Whether the operators can run in this order.
  [[nodiscard]] verdict check_steps() {
    if (order_.size() != g_.size()) return {order_fault::wrong_size, 0, order_.size(), g_.size()};
    std::vector<bool> ran(g_.size(), false), there(g_.tensors.size(), true), lost(g_.tensors.size(), false);
    for (auto const t : g_.outputs.members) there[t] = false;
    for (std::size_t i = 0; i < order_.size(); ++i) {
      auto const v = order_[i];
      if (v >= g_.size()) return {order_fault::no_such_operator, i, v, g_.size()};
      if (ran[v]) return {order_fault::run_twice, i, v};
      ran[v] = true;
      for (auto const t : g_.inputs[v]) {
        if (!there[t]) return {order_fault::read_too_early, i, t};
        if (lost[source_[t]]) return {order_fault::read_overwritten, i, t};
      }
      for (auto const t : g_.outputs[v]) {
        there[t] = true;
        if (overwrites(t)) lost[source_[g_.tensors[t].shares]] = true;
      }
    }
    return {};
  }
  // The largest memory of a step, and the first step that has it.
  [[nodiscard]] std::pair<std::int64_t, std::size_t> peak() const {
    auto const never = order_.size() + 1;
    std::vector<std::size_t> first(g_.tensors.size(), never), last(g_.tensors.size(), 0);  // steps from 1; 0 is the start
    std::vector<bool> made(g_.tensors.size(), false);
    for (auto const t : g_.outputs.members) made[t] = true;
    for (std::size_t i = 0; i < order_.size(); ++i)
      for (auto const* rows : {&g_.outputs, &g_.inputs})
        for (auto const t : (*rows)[order_[i]]) {
          auto const m = memory_[t];
          first[m] = made[m] ? (std::min)(first[m], i + 1) : 0;
          last[m] = i + 1;
        }
    for (std::size_t t = 0; t < g_.tensors.size(); ++t)
      if (g_.tensors[t].kept) {
        auto const m = memory_[t];
        if (!made[m]) first[m] = 0;
        last[m] = order_.size();
      }
    std::vector<std::int64_t> change(order_.size() + 2, 0);
    for (std::size_t t = 0; t < g_.tensors.size(); ++t)
      if (memory_[t] == t && first[t] != never) change[first[t]] += g_.tensors[t].bytes, change[last[t] + 1] -= g_.tensors[t].bytes;
    std::pair<std::int64_t, std::size_t> out{change[0], 0};
    auto now = change[0];
    for (std::size_t i = 0; i < order_.size(); ++i) {
      now += change[i + 1];
      if (auto const running = now + g_.operators[order_[i]].workspace; running > out.first) out = {running, i};
    }
    return out;
  }

 private:
  [[nodiscard]] bool overwrites(std::uint32_t t) const { return g_.tensors[t].in_place && g_.tensors[t].shares != graph_tensor<>::own; }

  graph const& g_;
  std::span<std::uint32_t const> order_;
  std::vector<std::uint32_t> source_, memory_;  // of each tensor, the one whose content it has, and the one whose memory
};

}  // namespace detail

/// @brief Checks an order of operators, and what is said of its memory, against the definition.
/// @param g      the graph
/// @param order  its operators in the order in which they run
/// @param peak   the reported peak and its lower bound, in bytes
/// @return the first broken rule
/// @throws invalid_input if the graph is not valid
/// @par Complexity
/// O(operators + tensors + inputs + outputs).
template <class = when_called>
[[nodiscard]] verdict check_order(graph const& g, std::span<std::uint32_t const> order, certificate const& peak) {
  require_valid(g);
  detail::order_rules<> rules(g, order);
  if (auto const v = rules.check_steps(); !v.valid()) return v;
  auto const [value, step] = rules.peak();
  if (peak.value != value) return {order_fault::wrong_peak, step, peak.value, value};
  if (peak.lower_bound < 0 || peak.lower_bound > value) return {order_fault::wrong_bound, 0, peak.lower_bound, value};
  return {};
}

}  // namespace ballast::inline v0_2
