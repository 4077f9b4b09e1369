// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief All of ballast that needs the standard library alone.

#include <ballast/balance.hpp>
#include <ballast/batching.hpp>
#include <ballast/core.hpp>
#include <ballast/cost.hpp>
#include <ballast/curriculum.hpp>
#include <ballast/layout.hpp>
#include <ballast/levels.hpp>
#include <ballast/loss.hpp>
#include <ballast/methods.hpp>
#include <ballast/packing.hpp>
#include <ballast/partition.hpp>
#include <ballast/pipeline.hpp>
#include <ballast/plan.hpp>
#include <ballast/recompute.hpp>
#include <ballast/staging.hpp>
