// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/graph/graph.hpp>

#include <string>
#include <string_view>

// The operators and tensors of a training step as JSON; docs/formats.md describes it.

namespace ballast_cli {

[[nodiscard]] std::string_view to_string(ballast::operator_kind kind) noexcept;
[[nodiscard]] std::string_view to_string(ballast::tensor_kind kind) noexcept;

/// Reads a graph; all operators and tensors have names, each kind different ones. A tensor that an operator reads twice is an input once.
/// Throws bad_input, naming `name` and the place, also where the graph is not valid.
[[nodiscard]] ballast::graph read_graph(std::string_view bytes, std::string const& name);

/// Numbers the names of operators, and of tensors, that occur again: "name (2)".
void make_names_differ(ballast::graph& graph);

/// The same as JSON, an operator or tensor a line. Needs a valid graph whose names differ.
[[nodiscard]] std::string graph_json(ballast::graph const& graph);

}  // namespace ballast_cli
