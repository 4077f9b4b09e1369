// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/schedulers.hpp"

#include <cstdint>
#include <span>

// What frameworks schedule batches with in 2026, as rows of `schedulers()`. Groups may have any number of GPUs.

namespace ballast_cli {

/// Megatron-Core's default_dynamic_cp: GPUs for each pack.
[[nodiscard]] scheduled megatron_dynamic_cp(std::span<std::int64_t const> lengths, scheduling_setting const& on);
/// Megatron-Core's dp_balanced: packs in the order of arrival, on the size of groups that is best for the batch.
[[nodiscard]] scheduled megatron_dp_balanced(std::span<std::int64_t const> lengths, scheduling_setting const& on);
/// slime: packs by first fit, split and dealt by work, on the size of groups that is best for the batch.
[[nodiscard]] scheduled slime(std::span<std::int64_t const> lengths, scheduling_setting const& on);
/// The batch rebalance of transformers: padded micro-batches, for the best number of them that fit and the best size of groups.
[[nodiscard]] scheduled transformers(std::span<std::int64_t const> lengths, scheduling_setting const& on);
/// Padded micro-batches of transformers' cut and of the cut whose most expensive one costs least, each micro-batch of all GPUs cut again
/// such that its slowest GPU is fastest; never slower than `transformers`.
[[nodiscard]] scheduled best_padded_cut(std::span<std::int64_t const> lengths, scheduling_setting const& on);

}  // namespace ballast_cli
