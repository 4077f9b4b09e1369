// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/level.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/steps.hpp>
#include <ballast/methods/hbp_profile.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief HBP, hierarchical balance packing (Yao et al., arXiv 2503.07680): packs by level, steps of packs with similar attention, short
/// levels first. `hbp_profile.hpp` chooses the levels.

namespace ballast::inline v0_2::hbp {

/// @brief The base packer of the paper, for `pack_levels`: iterative sampling and filtering.
struct isf_packer {
  sampling_options sampling{};  ///< rounds and filter
  std::uint64_t seed = 0;       ///< any value; another seed is another plan
  /// @brief Packs samples. @param lengths tokens of each sample @param options the level's capacity @return the plan
  template <index_type Index>
  [[nodiscard]] vector_packing<Index> operator()(std::span<std::int64_t const> lengths, packing_options const& options, Index) const {
    return iterative_sampling<Index>(sample_measures({lengths}), {.capacity = {options.capacity}, .seed = seed}, sampling);
  }
};

/// @brief Options of HBP. The defaults are those of the paper where it states them.
struct options {
  std::uint64_t devices = 32;                                ///< number of devices
  sampling_options sampling{};                               ///< rounds and filter of the base packer
  level_fill fill = level_fill::always;                      ///< whether long packs are filled with short samples
  bool balanced = true;                                      ///< whether steps have packs of similar attention; false for the ablation
  ballast::left_over left_over = ballast::left_over::split;  ///< policy for an incomplete last step; the paper does not state it
  ballast::oversize oversize = ballast::oversize::reject;    ///< policy for samples that are too long; the paper does not state it
  std::uint64_t warm_up = 500;                               ///< number of steps of the shortest level at the beginning of training
  std::uint64_t seed = 0;                                    ///< any value; another seed is another plan
  std::uint64_t epoch = 0;                                   ///< another epoch is another order
};

/// @brief The plan of an epoch by HBP.
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct plan {
  level_packing<Index> packed;  ///< packs of every level
  level_batching<Index> steps;  ///< steps of every level
  curriculum_plan order;        ///< the dynamic training pipeline: the order of all steps of all levels
};

/// @brief Plans an epoch as HBP does: packs by level, steps of packs with similar attention, short level first.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample
/// @param levels   from `select_levels` or `choose_levels`
/// @param o        devices, filling, warm-up, seed, …
/// @return packs, steps and their order
/// @throws invalid_input as `pack_levels`, `steps_by_level` and `plan_curriculum`
/// @par Complexity
/// As `iterative_sampling`, plus O(packs log packs).
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t, length_range R>
[[nodiscard]] plan<Index> plan_training(R const& lengths, std::span<level const> levels, options const& o = {}) {
  plan<Index> p;
  p.packed = pack_levels<Index>(lengths, levels, {.oversize = o.oversize, .fill = o.fill}, isf_packer{o.sampling, o.seed});
  p.steps = steps_by_level(
      p.packed, {.devices = o.devices, .balanced = o.balanced, .left_over = o.left_over, .seed = o.seed, .epoch = o.epoch}, attention_only);
  std::vector<curriculum_source> sources;
  for (std::size_t i = 0; i < levels.size(); ++i) sources.push_back({.setting = levels[i], .steps = p.steps.steps[i].steps()});
  p.order = plan_curriculum(sources, {.warm_up = o.warm_up, .seed = o.seed, .epoch = o.epoch});
  return p;
}

}  // namespace ballast::inline v0_2::hbp
