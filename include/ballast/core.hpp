// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of core/: the words every room uses.

#include <ballast/core/certificate.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/classes.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/executor.hpp>
#include <ballast/core/fold_values.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/core/histogram.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/metrics/communication.hpp>
#include <ballast/core/metrics/padding.hpp>
#include <ballast/core/metrics/randomness.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/runs.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/version.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/core/wide.hpp>
