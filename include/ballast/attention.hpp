// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of attention/: attention apart from the tokens it belongs to.
///
/// `attention_tasks` are pieces of attention that may run where their tokens are not: `water_filling` moves as few of them as balance
/// needs, `document_shares` splits each document over all ranks of a group, and `check_attention_tasks` validates them.

#include <ballast/attention/attention_tasks.hpp>
#include <ballast/attention/check_attention_tasks.hpp>
#include <ballast/attention/document_shares.hpp>
#include <ballast/attention/water_filling.hpp>
