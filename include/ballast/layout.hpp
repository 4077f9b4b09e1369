// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of layout/: the arrays that attention kernels need for packed samples.
///
/// `cu_seqlens` makes the cumulative lengths of a pack or of all packs; `position_ids` and `segment_ids` follow from them,
/// and `document_mask` from those. `packed_row` makes all of them at once. `zigzag_indices` says which tokens a context-parallel rank
/// holds, and `context_cu_seqlens` how many. `gather_rows` copies stored tokens into rows, `unpad_rows` reads the mask of padded rows.
/// @code
/// for (auto const pack : plan.packs) {
///   ballast::packed_row<std::int32_t> const row(pack, lengths);
///   attend(row.cu_seqlens(), row.max_seqlen());                    // FlashAttention's variable-length kernels
///   embed(row.position_ids());                                     // from 0 in every sample
/// }
/// @endcode

#include <ballast/layout/concepts.hpp>
#include <ballast/layout/context_cu_seqlens.hpp>
#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/layout/document_mask.hpp>
#include <ballast/layout/gather_rows.hpp>
#include <ballast/layout/packed_row.hpp>
#include <ballast/layout/position_ids.hpp>
#include <ballast/layout/segment_ids.hpp>
#include <ballast/layout/unpad_rows.hpp>
#include <ballast/layout/zigzag.hpp>
