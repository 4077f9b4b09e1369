// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/curriculum/detail/order_steps.hpp>
#include <ballast/curriculum/detail/sequence.hpp>
#include <ballast/curriculum/detail/valid_sources.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/curriculum/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief `plan_curriculum`: orders the steps of an epoch.

namespace ballast::inline v0_2 {

/// @brief Orders the steps of one epoch: a warm-up on the smallest capacity, then all other steps in the order `options.order`.
///
/// Each source has exactly the number of steps in its `per_epoch`, so the length of an epoch is known before planning. The plan is a pure
/// function of its arguments, so training can continue at any step after planning again.
///
/// @param sources  levels or data sets, with their setting, number of steps and keys
/// @param options  order, warm-up, seed and epoch
/// @return source and index of every step, in training order
///
/// @post if a source has n steps and an epoch trains c steps of it, each step is trained c / n times, rounded down or up; after any number
/// of epochs, the numbers of times that two steps of a source were trained differ by at most one
/// @post with `interleaved`, after the warm-up every source is within 2 - 1 / (k - 1) steps of its share at every point, where k > 1
/// sources have steps left; with two sources within less than 1 step
/// @throws invalid_input unless every capacity, every SP degree and the number of buckets are positive, keys match their steps in number,
/// no source without steps must give some, and every epoch has fewer than 2^31 steps
/// @par Complexity
/// O(steps log sources) for `interleaved`, O(steps) for `random`, O(steps log steps) by keys.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// Warm-up: Yao et al., "Hierarchical Balance Packing", arXiv 2503.07680, section on the dynamic training pipeline. Limit of the warm-up:
/// this library. Interleaving: Tijdeman, "The chairman assignment problem", Discrete Mathematics 32 (1980), rotated by a random phase.
template <class = when_called>
[[nodiscard]] inline curriculum_plan plan_curriculum(std::span<curriculum_source const> sources, curriculum_options const& options = {}) {
  detail::require_valid(sources, options);
  auto const total = static_cast<std::size_t>(detail::steps_in_epoch(sources, options.epoch));
  curriculum_plan plan;
  plan.epoch = options.epoch;
  std::vector<std::uint64_t> count;
  for (auto const& source : sources) {
    plan.settings.push_back(source.setting);
    count.push_back(detail::steps_in_epoch(source, options.epoch));
  }
  auto const early = detail::warm_up_counts(sources, count, options);
  for (std::size_t s = 0; s < count.size(); ++s) {
    plan.warm_up += early[s];
    count[s] -= early[s];
  }
  auto const seed = [&](detail::curriculum_draw what, std::uint64_t part) {
    return detail::curriculum_seed(options.seed, what, {options.epoch, part});
  };
  plan.source.reserve(total);
  detail::append_interleaved(plan.source, early, seed(detail::curriculum_draw::phase, 0));
  if (options.order == curriculum_order::interleaved) {
    detail::append_interleaved(plan.source, count, seed(detail::curriculum_draw::phase, 1));
  } else {
    for (std::uint32_t s = 0; s < count.size(); ++s) plan.source.insert(plan.source.end(), static_cast<std::size_t>(count[s]), s);
    detail::shuffle(plan.source, static_cast<std::size_t>(plan.warm_up), seed(detail::curriculum_draw::mix, 0));
  }
  std::vector<std::vector<std::uint32_t>> sequence;
  sequence.reserve(sources.size());
  for (std::size_t s = 0; s < sources.size(); ++s) sequence.push_back(detail::epoch_sequence(sources[s], s, options.epoch, options.seed));
  std::vector<std::size_t> taken(sources.size(), 0);
  plan.index.reserve(total);
  for (auto s : plan.source) plan.index.push_back(sequence[s][taken[s]++]);
  if (options.order > curriculum_order::random && total > plan.warm_up) detail::order_by_key(plan, sources, options);
  return plan;
}

}  // namespace ballast::inline v0_2
