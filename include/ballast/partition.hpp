// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of partition/: a chain of weighted layers into contiguous stages.

#include <ballast/partition/bounds.hpp>
#include <ballast/partition/check.hpp>
#include <ballast/partition/fault.hpp>
#include <ballast/partition/k_best.hpp>
#include <ballast/partition/min_max.hpp>
#include <ballast/partition/min_max_runs.hpp>
#include <ballast/partition/options.hpp>
#include <ballast/partition/probe.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/partition/second_objective.hpp>
#include <ballast/partition/stage_cost.hpp>
#include <ballast/partition/trade_off.hpp>
#include <ballast/partition/virtual_stages.hpp>
#include <ballast/partition/workspace.hpp>
