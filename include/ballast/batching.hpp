// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of batching/: packs and samples into steps of ranks and micro-batches.

#include <ballast/batching/check.hpp>
#include <ballast/batching/check_micro_batches.hpp>
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/fault.hpp>
#include <ballast/batching/measured_options.hpp>
#include <ballast/batching/measured_steps.hpp>
#include <ballast/batching/micro_batch_options.hpp>
#include <ballast/batching/micro_batches.hpp>
#include <ballast/batching/mixture.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/pipeline_steps.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/resume.hpp>
#include <ballast/batching/stream_steps.hpp>
#include <ballast/batching/weigh.hpp>
#include <ballast/batching/weighed_samples.hpp>
