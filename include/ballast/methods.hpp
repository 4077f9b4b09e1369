// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of methods/: published systems, composed of the rooms below.

#include <ballast/methods/hbp.hpp>
#include <ballast/methods/longalign.hpp>
#include <ballast/methods/omnibal.hpp>
#include <ballast/methods/omnibal_partition.hpp>
#include <ballast/methods/omnibal_recompute.hpp>
