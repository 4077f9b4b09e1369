// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief The face of layout/: what attention kernels take of packs (cumulative lengths, position and segment ids, masks, shares of a row).

#include <ballast/layout/concepts.hpp>
#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/layout/document_mask.hpp>
#include <ballast/layout/position_ids.hpp>
#include <ballast/layout/segment_ids.hpp>
#include <ballast/layout/zigzag.hpp>
