// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of recompute/: which saved tensors are kept, computed again or sent to the host, within a memory budget.
///
/// `keep_tensors` decides for each kind of tensors whether to keep it, `choose_options` chooses one of several options for each layer,
/// `checkpoint_chain` places checkpoints along a chain, and `recompute_graph` rewrites a graph of operators.
/// `evict` runs a graph of operators within a memory limit, with subgraphs that `plan_evictions` found before the batch was known.
/// @code
/// std::vector<ballast::saved_tensor> const tensors{{.bytes = 64 << 20, .time = 700, .count = 32}};
/// auto const plan = ballast::keep_tensors(tensors, budget);        // budget in bytes
/// plan.kept[0];                                                    // how many of the 32 tensors of kind 0 are kept
/// plan.time.value;                                                 // time to compute the others again
/// plan.time.lower_bound;                                           // no plan within the budget takes less
/// @endcode

#include <ballast/recompute/chain.hpp>
#include <ballast/recompute/chain_step.hpp>
#include <ballast/recompute/check.hpp>
#include <ballast/recompute/choose.hpp>
#include <ballast/recompute/graph/check.hpp>
#include <ballast/recompute/graph/check_eviction.hpp>
#include <ballast/recompute/graph/evict.hpp>
#include <ballast/recompute/graph/eviction_plan.hpp>
#include <ballast/recompute/graph/recompute_graph.hpp>
#include <ballast/recompute/keep_tensors.hpp>
#include <ballast/recompute/memory_option.hpp>
