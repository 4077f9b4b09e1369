// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>

#include <cstdint>
#include <vector>

/// @file
/// @brief `repeated_subgraphs`: which parts of a graph are copies of each other, and which repetitions count.

namespace ballast::inline v0_2 {

/// @brief Which repeated subgraphs are worth a plan of their own.
struct subgraph_limits {
  std::uint32_t repeats = 2;    ///< fewest copies, at least 2
  std::uint32_t operators = 1;  ///< fewest operators of a copy
  std::uint32_t kinds = 1;      ///< fewest operators of a copy that all look different
  std::uint32_t rounds = 64;    ///< most rounds of refinement; a layer needs at most as many as its longest path has operators
  /// Whether names count. Copies then have the same names but for their numbers, and an operator belongs to the scope that its name says
  /// with its last number: "layers.3.up" belongs to "layers.3".
  bool names = false;
};

/// @brief The limits of the open framework EPL (alibaba/EasyParallelLibrary), without its depth of scopes: four copies, more than 20
/// operators, more than five kinds.
inline constexpr subgraph_limits epl_subgraph_limits{.repeats = 4, .operators = 21, .kinds = 6};

/// @brief Copies of a subgraph. Operators at the same position of two copies correspond: they look alike, and read and are read alike
/// within the copy.
struct repeated_subgraph {
  groups<std::uint32_t> copies{};  ///< for each copy, by its first operator, its operators; the first copy is in program order
  std::uint32_t kinds = 0;         ///< how many operators of a copy look different

  friend bool operator==(repeated_subgraph const&, repeated_subgraph const&) = default;
};

/// @brief The repeated subgraphs of a graph: each operator is in one copy of one of them, or in `alone`.
struct repeated_subgraphs {
  std::vector<repeated_subgraph> classes{};  ///< by their first operator
  std::vector<std::uint32_t> alone{};        ///< operators of no class, ascending
  std::uint32_t rounds = 0;                  ///< rounds of refinement
  bool complete = true;                      ///< whether refinement ended before `rounds` did

  friend bool operator==(repeated_subgraphs const&, repeated_subgraphs const&) = default;
};

}  // namespace ballast::inline v0_2
