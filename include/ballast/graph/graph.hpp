// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `graph`: the operators and tensors of a training step, in compressed rows. `check_graph` (check.hpp) validates one.

namespace ballast::inline v0_2 {

/// @brief The part of a training step to which an operator belongs.
enum class operator_kind : std::uint8_t { forward, backward, update };

/// @brief What a tensor holds.
enum class tensor_kind : std::uint8_t {
  activation,  ///< made by the forward pass, or input data
  gradient,    ///< of an activation or a parameter
  parameter,   ///< weights
  state,       ///< of the optimiser
  temporary,   ///< made and read within one part of the step
};

/// @brief An operator of a graph.
/// @tparam Number  `std::int64_t`, or `symbolic` where sizes and times depend on the batch
template <class Number = std::int64_t>
struct graph_operator {
  std::string name{};                           ///< for reports; may be empty
  operator_kind kind = operator_kind::forward;  ///< forward, backward or update
  Number time{};                                ///< how long it runs, in any unit, not negative; used where a plan runs it again
  Number workspace{};                           ///< bytes that it needs only while it runs, not negative

  friend bool operator==(graph_operator const&, graph_operator const&) = default;
};

/// @brief A tensor of a graph.
/// @tparam Number  `std::int64_t`, or `symbolic` where sizes and times depend on the batch
template <class Number = std::int64_t>
struct graph_tensor {
  static constexpr auto own = (std::numeric_limits<std::uint32_t>::max)();  ///< `shares` of a tensor with memory of its own

  std::string name{};                          ///< for reports; may be empty
  tensor_kind kind = tensor_kind::activation;  ///< what it holds
  Number bytes{};                              ///< its size, not negative; not counted if it shares memory
  bool kept = false;                           ///< whether it is still needed when the step is over
  std::uint32_t shares = own;                  ///< tensor whose memory this one uses: a view of it, or the result of a change in place
  bool in_place = false;                       ///< whether making this one destroys what `shares` held: all its other readers run before

  friend bool operator==(graph_tensor const&, graph_tensor const&) = default;
};

/// @brief A directed acyclic graph of operators and tensors, both numbered from 0.
///
/// Operators are in *program order*: an order in which they can run. A tensor that no operator makes is there from the start. A tensor
/// needs memory from when it is made until its last reader has run, or until the end if it is kept.
///
/// @tparam Number  type of sizes and times: `std::int64_t`, or `symbolic` where they depend on the batch
template <class Number = std::int64_t>
struct basic_graph {
  std::vector<graph_operator<Number>> operators;  ///< in program order
  std::vector<graph_tensor<Number>> tensors;      ///< in any order
  groups<std::uint32_t> inputs;                   ///< for each operator, the tensors that it reads, each once
  groups<std::uint32_t> outputs;                  ///< for each operator, the tensors that it makes

  /// @brief Adds a tensor. @param made the tensor @return its index
  std::uint32_t add(graph_tensor<Number> made) {
    tensors.push_back(std::move(made));
    return static_cast<std::uint32_t>(tensors.size() - 1);
  }
  /// @brief Adds an operator behind all others.
  /// @param made   the operator
  /// @param reads  indices of the tensors that it reads
  /// @param makes  indices of the tensors that it makes
  /// @return its index
  std::uint32_t add(graph_operator<Number> made, std::span<std::uint32_t const> reads, std::span<std::uint32_t const> makes) {
    operators.push_back(std::move(made));
    inputs.push_back(reads);
    outputs.push_back(makes);
    return static_cast<std::uint32_t>(operators.size() - 1);
  }
  /// @brief Adds an operator behind all others.
  /// @param made   the operator
  /// @param reads  indices of the tensors that it reads
  /// @param makes  indices of the tensors that it makes
  /// @return its index
  std::uint32_t add(graph_operator<Number> made, std::initializer_list<std::uint32_t> reads, std::initializer_list<std::uint32_t> makes) {
    return add(std::move(made), std::span(reads.begin(), reads.size()), std::span(makes.begin(), makes.size()));
  }
  /// @brief Number of operators.
  [[nodiscard]] std::size_t size() const noexcept { return operators.size(); }

  friend bool operator==(basic_graph const&, basic_graph const&) = default;
};

/// @brief A graph whose sizes and times are known.
using graph = basic_graph<>;

namespace detail {

// Rows and members of a relation, exchanged.
template <class = when_called>
[[nodiscard]] groups<std::uint32_t> transposed(groups<std::uint32_t> const& of, std::size_t rows) {
  groups<std::uint32_t> out;
  out.offsets.assign(rows + 1, 0);
  for (auto const m : of.members) ++out.offsets[m + 1];
  for (std::size_t r = 0; r < rows; ++r) out.offsets[r + 1] += out.offsets[r];
  auto next = out.offsets;
  out.members.resize(of.members.size());
  for (std::size_t g = 0; g < of.size(); ++g)
    for (auto const m : of[g]) out.members[static_cast<std::size_t>(next[m]++)] = static_cast<std::uint32_t>(g);
  return out;
}

}  // namespace detail

/// @brief Which operators make and read the tensors of a graph, and which tensors share memory.
struct graph_uses {
  static constexpr auto none = (std::numeric_limits<std::uint32_t>::max)();  ///< `maker` of a tensor that is there from the start

  std::vector<std::uint32_t> maker;   ///< for each tensor, the operator that makes it, or `none`
  groups<std::uint32_t> readers;      ///< for each tensor, the operators that read it, in program order
  std::vector<std::uint32_t> memory;  ///< for each tensor, the tensor with memory of its own whose memory it uses; itself if it shares none
  std::vector<std::uint32_t> content;  ///< for each tensor, the one that it is a view of, in any number of steps; itself if it is no view
};

/// @brief Finds the makers and readers of all tensors of a graph.
/// @tparam Number  type of sizes and times
/// @param g  a valid graph
/// @return makers, readers, shared memory and contents
/// @par Complexity
/// O(operators + tensors + inputs + outputs).
template <class Number>
[[nodiscard]] graph_uses uses_of(basic_graph<Number> const& g) {
  graph_uses out;
  out.maker.assign(g.tensors.size(), graph_uses::none);
  for (std::size_t v = 0; v < g.size(); ++v)
    for (auto const t : g.outputs[v]) out.maker[t] = static_cast<std::uint32_t>(v);
  out.readers = detail::transposed(g.inputs, g.tensors.size());
  out.memory.resize(g.tensors.size());
  std::iota(out.memory.begin(), out.memory.end(), 0U);
  out.content = out.memory;
  for (auto const t : g.outputs.members) {  // in program order: what t shares the memory of was made before
    auto const& of = g.tensors[t];
    if (of.shares == graph_tensor<Number>::own) continue;
    out.memory[t] = out.memory[of.shares];
    if (!of.in_place) out.content[t] = out.content[of.shares];
  }
  return out;
}

}  // namespace ballast::inline v0_2
