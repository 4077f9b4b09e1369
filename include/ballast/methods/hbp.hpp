// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/level.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/steps.hpp>
#include <ballast/loss/gradient_path.hpp>
#include <ballast/loss/presets.hpp>
#include <ballast/loss/totals.hpp>
#include <ballast/loss/weights.hpp>
#include <ballast/methods/hbp_profile.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// @file
/// @brief HBP, hierarchical balance packing (Yao et al., arXiv 2503.07680): packs by level, steps of packs with similar attention, short
/// levels first, and a loss in which tokens count the same on all ranks. `hbp_profile.hpp` chooses the levels.

namespace ballast::inline v0_2::hbp {

/// @brief Iterative sampling and filtering as published, without a filter. @return options: next fit, and the packs of the last round
[[nodiscard]] inline sampling_options published_sampling() { return {.finish = sampling_finish::next_fit, .keep = kept_round::last}; }

/// @brief The base packer of the paper, for `pack_levels`: iterative sampling and filtering.
///
/// Without a filter, a pack that leaves at most 128 tokens free is full, as in the authors' code.
struct isf_packer {
  sampling_options sampling = published_sampling();  ///< rounds, filter, finish and kept round
  std::uint64_t seed = 0;                            ///< any value; another seed is another plan
  /// @brief Packs samples. @param lengths tokens of each sample @param options the level's capacity @return the plan
  template <index_type Index>
  [[nodiscard]] vector_packing<Index> operator()(std::span<std::int64_t const> lengths, packing_options const& options, Index) const {
    std::vector<std::int64_t> const capacity{options.capacity};
    auto with_filter = sampling;
    if (with_filter.filter.empty()) with_filter.filter = full_packs(capacity, 128);
    return iterative_sampling<Index>(sample_measures({lengths}), {.capacity = capacity, .seed = seed}, with_filter);
  }
};

/// @brief Options of HBP. The defaults are those of the paper where it states them.
struct options {
  std::uint64_t devices = 32;                                ///< number of devices
  sampling_options sampling = published_sampling();          ///< rounds, filter, finish and kept round of the base packer
  level_fill fill = level_fill::always;                      ///< whether long packs are filled with short samples
  bool balanced = true;                                      ///< whether steps have packs of similar attention; false for the ablation
  ballast::left_over left_over = ballast::left_over::split;  ///< policy for an incomplete last step; the paper does not state it
  ballast::oversize oversize = ballast::oversize::reject;    ///< policy for samples that are too long; the paper does not state it
  std::uint64_t warm_up = 500;                               ///< number of steps of the shortest level at the beginning of training
  loss_preset loss = loss_preset_named("hbp-ave-token");     ///< what each step minimises; its numbers of ranks are not read
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
  loss_preset loss;             ///< what each step minimises: see `path_of` and `loss_weights_of`
};

/// @brief Plans an epoch as HBP does: packs by level, steps of packs with similar attention, short level first.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @param lengths  tokens of each sample
/// @param levels   from `select_levels` or `choose_levels`
/// @param o        devices, filling, warm-up, seed, …
/// @return packs, steps, their order and their loss
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
  p.loss = o.loss;
  return p;
}

/// @brief What happens to the gradients of one step. Its level decides how many ranks there are, and how many devices share a sample.
/// @tparam Index  type of the sample indices
/// @param p  the plan
/// @param i  position of the step in `p.order`, below its size
/// @return the path of the plan's loss, with the numbers of this step
template <index_type Index>
[[nodiscard]] gradient_path path_of(plan<Index> const& p, std::size_t i) {
  auto const step = p.order.at(i);
  auto path = p.loss.path;
  path.ranks = static_cast<std::int64_t>(p.steps.steps[step.source].ranks);
  path.context = std::int64_t{step.setting.sp};
  path.micro_batches = static_cast<std::int64_t>(p.steps.steps[step.source].micro_batches);
  return path;
}

/// @brief The weight of each of a rank's sequences in one step: the loss normaliser of HBP's training pipeline (section 4.3).
///
/// Multiply the sum of each sequence's token losses by its weight, add up, and call backward. The plan knows the sequences of all ranks, so
/// nothing is all-reduced. Ave-Token divides the losses of a rank by its number of sequences times the mean number of labels of the step's
/// sequences. That is the mean over the step's tokens only if all ranks have the same number of sequences; set `options::loss` to "hf" for
/// the mean over tokens in any case.
///
/// @tparam Index  type of the sample indices
/// @param p       the plan
/// @param i       position of the step in `p.order`, below its size
/// @param rank    rank of the step, below `path_of(p, i).ranks`; all devices that share its packs use the same weights
/// @param labels  number of counted labels of each sample, then of each piece; `p.packed.lengths` if all tokens count
/// @return one weight per sequence, in the order of `packs_of(index, rank)`
/// @throws invalid_input if `rank` or the size of `labels` is wrong; also as `loss_weights`
/// @par Complexity
/// O(sequences of the step).
/// @par Determinism
/// As `loss_weights`.
template <index_type Index>
[[nodiscard]] std::vector<double> loss_weights_of(plan<Index> const& p, std::size_t i, std::size_t rank,
                                                  std::span<std::int64_t const> labels) {
  auto const step = p.order.at(i);
  auto const& steps = p.steps.steps[step.source];
  require(rank < steps.ranks, [&] { return sentence("rank = ", rank, " of ", steps.ranks, " ranks"); });
  require(labels.size() == p.packed.lengths.size(),
          [&] { return sentence(labels.size(), " labels for ", p.packed.lengths.size(), " samples and pieces"); });
  auto const& normaliser = p.loss.normaliser;
  auto const add = [&](auto const& pack, std::vector<std::int64_t>& counts) {
    for (auto const m : pack) counts.push_back(labels[static_cast<std::size_t>(m)]);
  };
  std::vector<std::int64_t> all;
  for (auto const pack : steps.packs_of(step.index)) add(pack, all);
  auto const totals = loss_totals_of(all, normaliser);
  auto const path = path_of(p, i);
  std::vector<double> out;
  std::vector<std::int64_t> part;  // the sequences of the rank, or of one micro-batch
  auto const weigh = [&] {
    auto const weights = loss_weights(part, totals, normaliser, path, loss_totals_of(part, normaliser));
    out.insert(out.end(), weights.begin(), weights.end());
    part.clear();
  };
  for (auto const pack : steps.packs_of(step.index, rank)) {
    add(pack, part);
    if (normaliser.scope == loss_scope::micro_batch) weigh();
  }
  if (!part.empty()) weigh();
  return out;
}

}  // namespace ballast::inline v0_2::hbp
