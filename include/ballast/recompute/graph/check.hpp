// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/verdict.hpp>
#include <ballast/graph/check.hpp>
#include <ballast/recompute/graph/recompute_graph.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief `check_graph_recompute`: the validator of `recompute_graph`. It shares no code with the search.

namespace ballast::inline v0_2 {

/// @brief The rule that a rewritten graph breaks; `index` is an operator of the rewritten graph unless something else is said.
struct graph_recompute_fault : common_fault {
  static constexpr rule wrong_status{"the result is not feasible, though it holds a graph or the given graph is within the budget"};
  static constexpr rule wrong_size{"entry or size {index} of the lists of operators and tensors does not fit the graphs"};
  static constexpr rule invalid{"the rewritten graph is not valid at {index}"};
  static constexpr rule wrong_operator{"operator {index} is out of the given order, a second copy, or a copy of no forward operator"};
  static constexpr rule changed_operator{"operator {index} differs from the one that it runs in more than its name and kind"};
  static constexpr rule changed_tensor{"tensor {index} differs from the one that it is or copies in more than its name"};
  static constexpr rule wrong_input{"operator {index} does not read what the one that it runs reads, or does not wait for its first run"};
  static constexpr rule wrong_output{"operator {index} does not make what the one that it runs makes"};
  static constexpr rule not_dropped{"operator {index} reads tensor {found}, which is dropped, or a copy of a tensor that is not"};
  static constexpr rule wrong_time{"the copies take {expected}, not {found}, or the lower bound of their time is wrong"};
  static constexpr rule wrong_peak{"the peak is {expected}, not {found}, or contradicts its lower bound or the budget"};
};

namespace detail {

// Rules of a rewritten graph, one function for each group of them.
template <class = when_called>
class graph_recompute_rules {
 public:
  using fault = graph_recompute_fault;
  static constexpr auto none = graph_tensor<>::own;

  graph_recompute_rules(graph_recompute const& plan, graph const& g) : p_(plan), h_(plan.rewritten), g_(g) {}

  [[nodiscard]] verdict check() {
    auto const tensors = g_.tensors.size();
    if (p_.operator_of.size() != h_.size()) return {fault::wrong_size, p_.operator_of.size()};
    if (h_.tensors.size() < tensors || p_.tensor_of.size() != h_.tensors.size() - tensors) return {fault::wrong_size, p_.tensor_of.size()};
    for (std::size_t i = 0; i < p_.tensor_of.size(); ++i)
      if (p_.tensor_of[i] >= tensors && p_.tensor_of[i] != none) return {fault::wrong_size, i};
    if (!check_graph(h_).valid()) return {fault::invalid, check_graph(h_).index};
    dropped_.assign(tensors, 0);
    for (auto const t : p_.dropped) {
      if (t >= tensors) return {fault::wrong_size, t};
      dropped_[t] = 1;
    }
    for (auto const t : g_.outputs.members)  // what t shares the memory of comes before
      if (g_.tensors[t].shares != none) dropped_[t] = dropped_[g_.tensors[t].shares];
    for (auto const step :
         {&graph_recompute_rules::check_operators, &graph_recompute_rules::check_tensors, &graph_recompute_rules::check_reads})
      if (auto const v = (this->*step)(); !v.valid()) return v;
    return {};
  }

 private:
  // The tensor of the given graph that a tensor is or copies, or none.
  [[nodiscard]] std::uint32_t of(std::uint32_t t) const { return t < g_.tensors.size() ? t : p_.tensor_of[t - g_.tensors.size()]; }

  [[nodiscard]] verdict check_operators() {
    std::vector<std::uint8_t> runs(g_.size());
    copy_.assign(h_.size(), 0);
    std::uint32_t next = 0;
    std::int64_t time = 0;
    for (std::size_t q = 0; q < h_.size(); ++q) {
      auto const o = p_.operator_of[q];
      if (o > next || o >= g_.size()) return {fault::wrong_operator, q, o, next};
      copy_[q] = o < next ? 1 : 0;
      next += o == next ? 1 : 0;
      auto const &a = g_.operators[o], &b = h_.operators[q];
      if (copy_[q] && (++runs[o] > 1 || a.kind != operator_kind::forward)) return {fault::wrong_operator, q, o, next};
      if (a.time != b.time || a.workspace != b.workspace || b.name != a.name + (copy_[q] ? " (again)" : "") ||
          b.kind != (copy_[q] ? operator_kind::backward : a.kind))
        return {fault::changed_operator, q};
      time += copy_[q] ? b.time : 0;
    }
    if (next != g_.size()) return {fault::wrong_operator, h_.size(), next};
    if (p_.time.value != time || p_.time.lower_bound > time || p_.time.lower_bound < 0) return {fault::wrong_time, 0, p_.time.value, time};
    return {};
  }
  [[nodiscard]] verdict check_tensors() {
    for (std::uint32_t t = 0; t < h_.tensors.size(); ++t) {
      auto const o = of(t);
      auto const& b = h_.tensors[t];
      auto const wrong = [&] {
        if (t < g_.tensors.size()) return !(b == g_.tensors[t]);
        if (o == none) return b.bytes != 0 || b.kept || b.shares != none;
        auto const& a = g_.tensors[o];
        return a.bytes != b.bytes || a.kind != b.kind || b.kept || b.in_place || a.in_place || (a.shares == none) != (b.shares == none) ||
               (b.shares != none && of(b.shares) != a.shares);
      };
      if (wrong()) return {fault::changed_tensor, t};
    }
    return {};
  }
  [[nodiscard]] verdict check_reads() {
    std::vector<std::size_t> waits(h_.tensors.size(),
                                   g_.size());  // for a tensor without a counterpart, the operator whose first run makes it
    for (std::size_t q = 0; q < h_.size(); ++q) {
      auto const o = p_.operator_of[q];
      std::vector<std::uint32_t> reads, makes, expected_reads, expected_makes;
      bool waited = false;
      for (auto const t : h_.inputs[q]) {
        if (of(t) != none)
          reads.push_back(of(t));
        else if (waits[t] != o || !copy_[q])
          return {fault::wrong_input, q, t};
        else
          waited = true;
        if (of(t) == none || copy_[q]) continue;
        auto const late = g_.operators[o].kind != operator_kind::forward && dropped_[of(t)] != 0;
        if ((t != of(t)) != late) return {fault::not_dropped, q, t};
      }
      for (auto const t : h_.outputs[q]) {
        if (of(t) == none ? copy_[q] != 0 : (of(t) != t) != (copy_[q] != 0)) return {fault::wrong_output, q, t};
        if (of(t) != none)
          makes.push_back(of(t));
        else
          waits[t] = o;
      }
      expected_reads.assign(g_.inputs[o].begin(), g_.inputs[o].end());
      expected_makes.assign(g_.outputs[o].begin(), g_.outputs[o].end());
      for (auto* list : {&reads, &makes, &expected_reads, &expected_makes}) std::sort(list->begin(), list->end());
      if (reads != expected_reads || waited != (copy_[q] != 0)) return {fault::wrong_input, q};
      if (makes != expected_makes) return {fault::wrong_output, q};
    }
    return {};
  }

  graph_recompute const& p_;
  graph const& h_;
  graph const& g_;
  std::vector<std::uint8_t> copy_, dropped_;
};

}  // namespace detail

/// @brief Checks that a rewritten graph computes what the given graph does, with the dropped tensors computed again, within the budget.
///
/// @tparam Peak  a `graph_peak`
/// @param plan    the result of `recompute_graph`
/// @param g       the graph that it was given
/// @param budget  the budget that it was given
/// @param peak    the peak that it was given
/// @return the first broken rule
/// @par Complexity
/// O(graph log graph), and a call of `peak`.
template <graph_peak Peak>
[[nodiscard]] verdict check_graph_recompute(graph_recompute const& plan, graph const& g, std::int64_t budget, Peak const& peak) {
  using fault = graph_recompute_fault;
  if (plan.status != status::feasible) {
    auto const empty = plan.rewritten == graph{} && plan.dropped.empty() && peak(g) > budget;
    return empty ? verdict{} : verdict{fault::wrong_status, 0};
  }
  if (auto const v = detail::graph_recompute_rules<>(plan, g).check(); !v.valid()) return v;
  auto const found = std::int64_t{peak(plan.rewritten)};
  if (found != plan.peak || found > budget || found < plan.lower_peak) return {fault::wrong_peak, 0, plan.peak, found};
  return {};
}

}  // namespace ballast::inline v0_2
