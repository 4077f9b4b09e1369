// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of balance/: weighted items into a fixed number of sets of balanced load.

#include <ballast/balance/balance.hpp>
#include <ballast/balance/bounds.hpp>
#include <ballast/balance/bulk.hpp>
#include <ballast/balance/check.hpp>
#include <ballast/balance/dealt_sets.hpp>
#include <ballast/balance/fault.hpp>
#include <ballast/balance/karmarkar_karp.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/balance/pair_exchange.hpp>
#include <ballast/balance/rate_matching.hpp>
#include <ballast/balance/refine.hpp>
#include <ballast/balance/result.hpp>
#include <ballast/balance/snake.hpp>
#include <ballast/balance/workspace.hpp>
