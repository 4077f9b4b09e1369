// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/graph/graph.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// @brief The validator of graphs of operators and tensors.

namespace ballast::inline v0_2 {

/// @brief The rule that a graph breaks, in the order in which they are checked. `index` is an operator, or a tensor where it says so.
struct graph_fault : common_fault {
  static constexpr rule wrong_rows{"inputs and outputs must have a row for each of the {expected} operators; one has {found}"};
  static constexpr rule no_such_tensor{"operator {index} names tensor {found}, but there are {expected}"};
  static constexpr rule named_twice{"operator {index} names tensor {found} twice"};
  static constexpr rule made_twice{"operator {index} makes tensor {found}, which an earlier operator makes too"};
  static constexpr rule read_too_early{"operator {index} reads tensor {found} before operator {expected} makes it"};
  static constexpr rule negative_size{"tensor {index} has a negative size, {found}"};
  static constexpr rule shares_unread{"tensor {index} uses the memory of tensor {found}, which the operator that makes it must read"};
  static constexpr rule read_overwritten{"operator {index} reads tensor {found} after tensor {expected} has overwritten it"};
  static constexpr rule negative_number{"operator {index} has a negative time or workspace, {found}"};
  static constexpr rule too_large{"the sizes of all tensors with the largest workspace, or the times of all operators, reach 2^62"};
};

namespace detail {

// Rules of a graph, one function for each group of them; the first fault found is the verdict.
template <class Number>
class graph_rules {
 public:
  explicit graph_rules(basic_graph<Number> const& g) : g_(g) {}

  [[nodiscard]] verdict check() {
    for (auto const* rows : {&g_.inputs, &g_.outputs}) {
      if (rows->size() != g_.size()) return {graph_fault::wrong_rows, 0, rows->size(), g_.size()};
      if (auto const v = check_offsets(rows->offsets, rows->members.size()); !v.valid()) return v;
    }
    for (auto const step : {&graph_rules::check_rows, &graph_rules::check_order, &graph_rules::check_shares, &graph_rules::check_sizes})
      if (auto const v = (this->*step)(); !v.valid()) return v;
    return {};
  }

 private:
  [[nodiscard]] verdict check_rows() {
    std::vector<std::size_t> named(g_.tensors.size(), g_.size());
    for (std::size_t v = 0; v < g_.size(); ++v) {
      for (auto const* rows : {&g_.inputs, &g_.outputs})
        for (auto const t : (*rows)[v]) {
          if (t >= g_.tensors.size()) return {graph_fault::no_such_tensor, v, t, g_.tensors.size()};
          if (named[t] == v) return {graph_fault::named_twice, v, t};
          named[t] = v;
        }
    }
    return {};
  }
  [[nodiscard]] verdict check_order() {
    maker_.assign(g_.tensors.size(), g_.size());
    for (std::size_t v = 0; v < g_.size(); ++v)
      for (auto const t : g_.outputs[v]) {
        if (maker_[t] != g_.size()) return {graph_fault::made_twice, v, t};
        maker_[t] = v;
      }
    for (std::size_t v = 0; v < g_.size(); ++v)
      for (auto const t : g_.inputs[v])
        if (maker_[t] != g_.size() && maker_[t] >= v) return {graph_fault::read_too_early, v, t, maker_[t]};
    return {};
  }
  [[nodiscard]] verdict check_shares() {
    constexpr auto own = graph_tensor<Number>::own;
    std::vector<std::size_t> last_reader(g_.tensors.size(), g_.size());
    std::vector<std::uint8_t> read(g_.tensors.size(), 0);  // whether the maker of each tensor reads what that one shares the memory of
    for (std::size_t v = 0; v < g_.size(); ++v) {
      for (auto const t : g_.inputs[v]) last_reader[t] = v;
      for (auto const t : g_.outputs[v])
        if (auto const shared = g_.tensors[t].shares; shared < g_.tensors.size() && last_reader[shared] == v) read[t] = 1;
    }
    for (std::size_t t = 0; t < g_.tensors.size(); ++t)
      if (g_.tensors[t].shares != own && read[t] == 0) return {graph_fault::shares_unread, t, g_.tensors[t].shares};
    std::vector<std::uint32_t> content(g_.tensors.size()), overwritten(g_.tensors.size(), own);  // contents by which tensor
    std::iota(content.begin(), content.end(), 0U);
    for (std::size_t v = 0; v < g_.size(); ++v) {
      for (auto const t : g_.inputs[v])  // a view reads what it is a view of
        if (auto const by = overwritten[content[t]]; by != own) return {graph_fault::read_overwritten, v, t, by};
      for (auto const t : g_.outputs[v]) {
        auto const& of = g_.tensors[t];
        if (of.shares == own) continue;
        of.in_place ? overwritten[content[of.shares]] = t : content[t] = content[of.shares];
      }
    }
    return {};
  }
  [[nodiscard]] verdict check_sizes() {
    if constexpr (std::integral<Number>) {
      std::int64_t left = std::int64_t{1} << 62, time_left = left;
      for (std::size_t t = 0; t < g_.tensors.size(); ++t) {
        if (g_.tensors[t].bytes < 0) return {graph_fault::negative_size, t, g_.tensors[t].bytes};
        if (g_.tensors[t].bytes >= left) return {graph_fault::too_large, t};
        left -= g_.tensors[t].bytes;
      }
      for (std::size_t v = 0; v < g_.size(); ++v) {
        auto const& o = g_.operators[v];
        if ((std::min)(o.workspace, o.time) < 0) return {graph_fault::negative_number, v, (std::min)(o.workspace, o.time)};
        if (o.workspace >= left || o.time >= time_left) return {graph_fault::too_large, v};
        time_left -= o.time;
      }
    }
    return {};
  }

  basic_graph<Number> const& g_;
  std::vector<std::size_t> maker_;
};

}  // namespace detail

/// @brief Checks a graph against its definition.
/// @tparam Number  type of sizes and times; only integers are checked for their sign and sum
/// @param g  any graph
/// @return the first broken rule
/// @par Complexity
/// O(operators + tensors + inputs + outputs).
template <class Number>
[[nodiscard]] verdict check_graph(basic_graph<Number> const& g) {
  return detail::graph_rules<Number>(g).check();
}

/// @brief Describes a verdict in a sentence with the names of operators and tensors.
/// @tparam Number  type of sizes and times
/// @param v  a verdict of `check_graph`
/// @param g  the graph that it is about
/// @return for instance `operator 7 (add) reads tensor 3 (x) before operator 9 (mul) makes it`
template <class Number>
[[nodiscard]] std::string describe(verdict const& v, basic_graph<Number> const& g) {
  return detail::fill_sentence(v, [&](std::string_view before, std::int64_t i) {
    auto const in = [&](auto const& all) {
      return static_cast<std::size_t>(i) < all.size() ? all[static_cast<std::size_t>(i)].name : std::string();
    };
    auto const name = before.ends_with("operator ") ? in(g.operators) : before.ends_with("tensor ") ? in(g.tensors) : std::string();
    return name.empty() ? name : " (" + name + ")";
  });
}

/// @brief Throws unless a graph is valid.
/// @tparam Number  type of sizes and times
/// @param g  any graph
/// @throws invalid_input with the sentence of `describe`
template <class Number>
void require_valid(basic_graph<Number> const& g) {
  auto const v = check_graph(g);
  require(v.valid(), [&] { return describe(v, g); });
}

}  // namespace ballast::inline v0_2
