// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of graph/: operators and tensors, what repeats among them, and sizes that are not known yet.
///
/// `graph` is what planners of memory and of recomputation read. `repeated_blocks` finds layers that are equal, `symbolic` is a size over
/// dimensions that a batch brings, and `dimension_basis` finds what equal sizes say about them. `check_graph` validates a graph.

#include <ballast/graph/check.hpp>
#include <ballast/graph/dimension_basis.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/repeat_layers.hpp>
#include <ballast/graph/repeated_blocks.hpp>
#include <ballast/graph/repeated_subgraphs.hpp>
#include <ballast/graph/subgraphs.hpp>
#include <ballast/graph/symbolic.hpp>
#include <ballast/graph/symbolic_graph.hpp>
