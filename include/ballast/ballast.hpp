// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes every room of ballast. All of it needs only the standard library; `cost/calibrate.hpp`,
/// `plan/calibrate_steps.hpp` and `plan/observe.hpp`,
/// which need Eigen, are not included.
///
/// To compile less, include the rooms that you use: `ballast/plan.hpp` for whole plans, `ballast/packing.hpp` for packs, and so on.

#include <ballast/attention.hpp>
#include <ballast/balance.hpp>
#include <ballast/batching.hpp>
#include <ballast/chunks.hpp>
#include <ballast/core.hpp>
#include <ballast/cost.hpp>
#include <ballast/curriculum.hpp>
#include <ballast/footprint.hpp>
#include <ballast/graph.hpp>
#include <ballast/layout.hpp>
#include <ballast/levels.hpp>
#include <ballast/loss.hpp>
#include <ballast/memory.hpp>
#include <ballast/methods.hpp>
#include <ballast/packing.hpp>
#include <ballast/partition.hpp>
#include <ballast/patterns.hpp>
#include <ballast/pipeline.hpp>
#include <ballast/plan.hpp>
#include <ballast/recompute.hpp>
#include <ballast/sharding.hpp>
#include <ballast/staging.hpp>
#include <ballast/streams.hpp>
#include <ballast/weights.hpp>
