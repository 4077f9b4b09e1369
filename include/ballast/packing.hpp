// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of packing/: samples into packs of bounded capacity, as few packs as possible.
///
/// `pack` is the default packer: best-fit decreasing, or a search for fewer packs if it is given `search_limits`. `best_fit_decreasing`,
/// `near_optimal` and the others are single algorithms, `count_packs` gives bounds without packing, and `check_packing` validates any plan.
/// packing/vector/ packs under several capacities at once.
/// @code
/// auto const plan = ballast::pack(lengths, {.capacity = 8192});
/// for (auto const pack : plan.packs) train_on(pack);               // a span of sample indices
/// plan.count.value;                                                // number of packs
/// plan.count.lower_bound;                                          // no plan has fewer
/// auto const fewer = ballast::pack(lengths, {.capacity = 8192}, ballast::search_limits{}); // searches for up to about a second
/// @endcode

#include <ballast/packing/best_fit.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/check_duals.hpp>
#include <ballast/packing/check_padded.hpp>
#include <ballast/packing/expand.hpp>
#include <ballast/packing/first_fit.hpp>
#include <ballast/packing/first_fit_decreasing.hpp>
#include <ballast/packing/near_optimal.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/oversize.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/packing/padded_batches.hpp>
#include <ballast/packing/raise_pack_count.hpp>
#include <ballast/packing/result.hpp>
#include <ballast/packing/run_length.hpp>
#include <ballast/packing/runs.hpp>
#include <ballast/packing/shuffled.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/bin_completion.hpp>
#include <ballast/packing/vector/bounds.hpp>
#include <ballast/packing/vector/capacities.hpp>
#include <ballast/packing/vector/check.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/near_optimal.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/portfolio.hpp>
#include <ballast/packing/vector/rank_distance.hpp>
#include <ballast/packing/vector/result.hpp>
#include <ballast/packing/windowed.hpp>
#include <ballast/packing/worst_fit.hpp>
