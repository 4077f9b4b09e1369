// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of pipeline/: the timeline of stages and micro-batches under a schedule.

#include <ballast/pipeline/bounds.hpp>
#include <ballast/pipeline/check.hpp>
#include <ballast/pipeline/fault.hpp>
#include <ballast/pipeline/order.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/simulate.hpp>
#include <ballast/pipeline/tasks.hpp>
#include <ballast/pipeline/work.hpp>
