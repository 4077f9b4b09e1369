// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>

#include <span>
#include <string>
#include <string_view>

// The operators and tensors of a training step as JSON; docs/formats.md describes it.

namespace ballast_cli {

[[nodiscard]] std::string_view to_string(ballast::operator_kind kind) noexcept;
[[nodiscard]] std::string_view to_string(ballast::tensor_kind kind) noexcept;

/// Reads a graph; all operators and tensors have names, each kind different ones. A tensor that an operator reads twice is an input once.
/// Throws bad_input, naming `name` and the place, also where the graph is not valid.
[[nodiscard]] ballast::graph read_graph(std::string_view bytes, std::string const& name);

/// The same where sizes and times may be polynomials over dimensions, as text: "4 batch length^2 + 12". None may be negative within the
/// ranges.
[[nodiscard]] ballast::basic_graph<ballast::symbolic> read_symbolic_graph(std::string_view bytes, std::string const& name,
                                                                          std::span<ballast::dimension const> dimensions);

/// Numbers the names of operators, and of tensors, that occur again: "name (2)".
void make_names_differ(ballast::graph& graph);
void make_names_differ(ballast::basic_graph<ballast::symbolic>& graph);

/// The same as JSON, an operator or tensor a line. Needs a valid graph whose names differ.
[[nodiscard]] std::string graph_json(ballast::graph const& graph);
[[nodiscard]] std::string graph_json(ballast::basic_graph<ballast::symbolic> const& graph, std::span<ballast::dimension const> dimensions);

}  // namespace ballast_cli
