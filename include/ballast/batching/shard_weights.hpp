// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/normaliser.hpp>
#include <ballast/loss/totals.hpp>
#include <ballast/loss/weights.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief `shard_weights`: loss weights with which shards train as the unsharded batch does.

namespace ballast::inline v0_2 {

/// @brief Computes the weight of each piece of a rank, so that the optimiser gets the gradient of the unsharded batch.
///
/// Multiply the sum of the token losses of each piece by its weight, add up over the pass, and call backward. Ranks may have different
/// numbers of passes, and may share samples in groups of any size: all of them together are the data-parallel ranks whose gradients the
/// framework reduces.
///
/// @tparam Index  index type of the shards
/// @param plan        the shards of one global batch; samples that are left out count nowhere
/// @param rank        below `plan.ranks()`
/// @param counts      number of counted labels of each complete sample, in [0, 2^40)
/// @param normaliser  what is minimised; its scope must be the step, since any other depends on the shards
/// @param path        what the framework does to gradients. Its numbers of ranks and micro-batches are those of the plan, whatever it says
/// @return one weight for each piece of the rank, pass after pass
/// @throws invalid_input if there is no such rank, the scope is not the step, a sample has no count, a count belongs to no sample of the
/// plan or is out of range, or as `loss_weights`
/// @par Complexity
/// O(samples + pieces of all ranks).
/// @par Determinism
/// As `loss_weights`.
template <index_type Index>
[[nodiscard]] std::vector<double> shard_weights(shards<Index> const& plan, std::size_t rank, std::span<std::int64_t const> counts,
                                                loss_normaliser const& normaliser, gradient_path path) {
  require(rank < plan.ranks(), [&] { return sentence("rank = ", rank, " must be below ", plan.ranks()); });
  require(normaliser.scope == loss_scope::step,
          [] { return "the scope of the normaliser must be the step: others depend on how the batch is sharded"; });
  enum class place : char { nowhere, left_out, trained };
  std::vector<place> place_of(counts.size(), place::nowhere);
  for (auto const& p : plan.pieces) {
    require(p.sample < counts.size(), [&] { return sentence("counts has ", counts.size(), " entries, none for sample ", p.sample); });
    place_of[p.sample] = place::trained;
  }
  for (auto const i : plan.left_out)
    if (i < counts.size()) place_of[i] = place::left_out;
  std::vector<std::int64_t> trained;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    detail::require_count(counts, i);
    require(place_of[i] != place::nowhere,
            [&] { return entry("counts", i, counts[i]) + " belongs to no sample of the plan, neither in a pass nor left out"; });
    if (place_of[i] == place::trained) trained.push_back(counts[i]);
  }
  path.ranks = static_cast<std::int64_t>(plan.ranks());
  path.context = 1;
  path.micro_batches = (std::max)(std::int64_t{1}, static_cast<std::int64_t>(plan.passes(rank)));
  auto const weight = sequence_weight_of(loss_totals_of(trained, normaliser), normaliser, path);
  std::vector<double> out;
  for (std::size_t m = 0; m < plan.passes(rank); ++m)
    for (auto const& p : plan(rank, m)) out.push_back(weight(counts[p.sample]));
  return out;
}

}  // namespace ballast::inline v0_2
