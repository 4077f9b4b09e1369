// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of recompute/: saved tensors into those that are kept, computed again or sent to the host.

#include <ballast/recompute/chain.hpp>
#include <ballast/recompute/chain_step.hpp>
#include <ballast/recompute/check.hpp>
#include <ballast/recompute/choose.hpp>
#include <ballast/recompute/compiled.hpp>
#include <ballast/recompute/forward_operator.hpp>
#include <ballast/recompute/keep.hpp>
#include <ballast/recompute/option.hpp>
#include <ballast/recompute/peak.hpp>
#include <ballast/recompute/selection.hpp>
