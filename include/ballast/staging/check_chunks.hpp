// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/check.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/staging/check.hpp>
#include <ballast/staging/chunk_options.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief The validator of plans of stages with several chunks. It shares no code with the planner.

namespace ballast::inline v0_2 {

/// @brief Checks a plan of stages with several chunks against the definition, layer by layer. It does not prove the lower bound again.
///
/// @tparam Index  type of the boundaries
/// @param plan     the plan; may hold any values
/// @param layers   the layers that were planned
/// @param held     the virtual stages of the request
/// @param options  the options of the request
/// @return the first broken rule; its index is the boundary, the stage, for `too_few_layers` the virtual stage, or for `bad_option` the
/// layer
/// @throws invalid_input as `plan_chunks` of the same arguments
/// @par Complexity
/// O(layers * virtual stages of a stage, plus all rows of `held`).
template <index_type Index>
[[nodiscard]] verdict check_chunks(joint_stages<Index> const& plan, std::span<stage_layer const> layers, chunks_in_flight const& held,
                                   chunk_options const& options) {
  require_valid(fold_layers(layers), held, options);
  auto const& cuts = plan.partition.boundaries;
  auto const chunks = held.stage_of.size(), stages = options.capacity.size(), n = layers.size();
  if (plan.partition.status != status::feasible)
    return {cuts.empty() && plan.figures.empty() && plan.option.empty() ? staging_fault::none : staging_fault::plan_refused, 0};
  if (cuts.size() != chunks + 1 || plan.figures.size() != stages || plan.option.size() != n) return {staging_fault::wrong_size, 0};
  if (auto const v = check_offsets(cuts, n, staging_fault::bad_boundaries); !v.valid()) return v;
  for (std::size_t k = 0; k < chunks; ++k)
    if (cuts[k + 1] - cuts[k] < options.min_layers) return {staging_fault::too_few_layers, k};
  for (std::size_t i = 0; i < n; ++i)
    if (plan.option[i] >= layers[i].options.size()) return {staging_fault::bad_option, i};
  std::int64_t slowest = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    staged_figures own;
    std::vector<std::int64_t> bytes;  // of one micro-batch, by chunk
    for (std::size_t k = 0; k < chunks; ++k) {
      if (held.stage_of[k] != s) continue;
      bytes.push_back(0);
      for (auto i = static_cast<std::size_t>(cuts[k]); i < cuts[k + 1]; ++i) {
        auto const& taken = layers[i].options[plan.option[i]];
        own.time += layers[i].time;
        own.added += taken.time;
        own.transfer += taken.transfer;
        own.state += layers[i].state;
        own.working = (std::max)(own.working, layers[i].working);
        own.activations += taken.memory;
        bytes.back() += taken.memory;
      }
    }
    auto const hidden = own.time / 100 * options.hidden_percent + own.time % 100 * options.hidden_percent / 100;
    own.added += (std::max)(own.transfer - hidden, std::int64_t{0});
    for (std::size_t at = 0; at < held.held[s].size(); at += bytes.size()) {
      auto sum = own.state + own.working;
      for (std::size_t c = 0; c < bytes.size(); ++c) sum += static_cast<std::int64_t>(held.held[s][at + c]) * bytes[c];
      own.memory = (std::max)(own.memory, sum);
    }
    if (own.memory > options.capacity[s]) return {staging_fault::over_capacity, s};
    if (own != plan.figures[s]) return {staging_fault::wrong_figures, s};
    slowest = (std::max)(slowest, own.time + own.added);
  }
  return check_certificate(plan.partition.bottleneck, slowest);
}

}  // namespace ballast::inline v0_2
