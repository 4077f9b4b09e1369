// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of packing/: samples into packs of bounded capacity, and what trainers make of them.

#include <ballast/packing/best_fit.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>
#include <ballast/packing/bin_completion.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/capacities.hpp>
#include <ballast/packing/check.hpp>
#include <ballast/packing/check_duals.hpp>
#include <ballast/packing/count.hpp>
#include <ballast/packing/cu_seqlens.hpp>
#include <ballast/packing/document_mask.hpp>
#include <ballast/packing/expand.hpp>
#include <ballast/packing/first_fit.hpp>
#include <ballast/packing/first_fit_decreasing.hpp>
#include <ballast/packing/greedy_fill.hpp>
#include <ballast/packing/iterative_sampling.hpp>
#include <ballast/packing/level_choice.hpp>
#include <ballast/packing/levels.hpp>
#include <ballast/packing/measures.hpp>
#include <ballast/packing/member_lengths.hpp>
#include <ballast/packing/near_optimal.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/pack.hpp>
#include <ballast/packing/patterns.hpp>
#include <ballast/packing/portfolio.hpp>
#include <ballast/packing/position_ids.hpp>
#include <ballast/packing/rank_distance.hpp>
#include <ballast/packing/result.hpp>
#include <ballast/packing/run_length.hpp>
#include <ballast/packing/runs.hpp>
#include <ballast/packing/segment_ids.hpp>
#include <ballast/packing/shuffled.hpp>
#include <ballast/packing/vector_best_fit.hpp>
#include <ballast/packing/vector_bounds.hpp>
#include <ballast/packing/vector_check.hpp>
#include <ballast/packing/vector_near_optimal.hpp>
#include <ballast/packing/vector_options.hpp>
#include <ballast/packing/vector_result.hpp>
#include <ballast/packing/windowed.hpp>
#include <ballast/packing/worst_fit.hpp>
#include <ballast/packing/zigzag.hpp>
