// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// @brief Includes all of loss/: the weight of each token's loss, such that packed training computes the same gradient as unpacked
/// training.
///
/// `label_counts` counts the labels of each sequence, `loss_totals_of` adds them up for the normaliser, and `loss_weights` and
/// `token_weights` give the weights. `loss_preset_named` has the conventions of common trainers. `segment_figures` measures the values of
/// each sequence.
/// @code
/// auto const preset = ballast::loss_preset_named("hf");
/// auto const counts = ballast::label_counts(labels, cu_seqlens);
/// auto totals = ballast::loss_totals_of(counts, preset.normaliser); // add up totals.words over all ranks: one all-reduce of int64
/// auto const weights = ballast::loss_weights(counts, totals, preset.normaliser, preset.path);
/// auto const per_token = ballast::token_weights(weights, labels, cu_seqlens); // loss = sum of per_token[t] * cross_entropy[t]
/// @endcode

#include <ballast/loss/fixed_point_sum.hpp>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/label_counts.hpp>
#include <ballast/loss/normaliser.hpp>
#include <ballast/loss/presets.hpp>
#include <ballast/loss/segment_figures.hpp>
#include <ballast/loss/token_weights.hpp>
#include <ballast/loss/totals.hpp>
#include <ballast/loss/weights.hpp>
