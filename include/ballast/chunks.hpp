// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of chunks/: long samples into chains of chunks, on ranks and on a pipeline.
///
/// `make_chunks` cuts samples that are longer than a chunk and packs the others, `deal_chunks` deals the chains to ranks, `chunk_work` says
/// what the stages of a pipeline do for each chunk, `retained_tasks` orders the passes of a sample in chunks, and `choose_chunks` chooses
/// size and retention. `check_chunks` validates any chunks.
/// @code
/// auto const chunks = ballast::make_chunks(lengths, {.size = 8192});
/// for (auto const chain : chunks.chains)
///   for (auto const chunk : chain)                                 // in this order: a chunk attends to those before it
///     for (auto const& [sample, begin, end] : chunks[chunk]) train_on(sample, begin, end);
/// @endcode

#include <ballast/chunks/check.hpp>
#include <ballast/chunks/choose_chunks.hpp>
#include <ballast/chunks/chunk_retention.hpp>
#include <ballast/chunks/chunk_work.hpp>
#include <ballast/chunks/deal_chunks.hpp>
#include <ballast/chunks/equal_time_chunks.hpp>
#include <ballast/chunks/make_chunks.hpp>
