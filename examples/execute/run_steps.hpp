// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "data.hpp"
#include "ranks.hpp"
#include "transformer.hpp"

#include <ballast/batching/result.hpp>
#include <ballast/loss.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

// Runs a step of packs as ranks would: each its micro-batches, whose gradients a framework adds or averages as a loss preset says.

namespace execute {

using packs_of_ranks = std::vector<std::vector<std::vector<std::uint32_t>>>;  // for each rank, the samples of each micro-batch

inline packs_of_ranks packs_of_step(ballast::batching<> const& plan, std::size_t step) {
  packs_of_ranks out(plan.ranks);
  for (std::size_t rank = 0; rank < out.size(); ++rank)
    for (auto const pack : plan.packs_of(step, rank)) out[rank].push_back({pack.begin(), pack.end()});
  return out;
}

/// Labels of each sample of a pack.
inline std::vector<std::int64_t> counts_of(samples const& data, std::vector<std::uint32_t> const& pack) {
  std::vector<std::int64_t> out;
  for (auto const sample : pack) out.push_back(data.learnt[sample]);
  return out;
}

/// The gradient that reaches the optimiser. A pack is a row, or with `packed = false` its samples are trained one by one.
inline numbers run_step(transformer const& model, numbers const& p, samples const& data, packs_of_ranks const& packs,
                        ballast::loss_preset preset, bool packed) {
  preset.path.ranks = static_cast<std::int64_t>(packs.size());
  auto const& [name, normaliser, path] = preset;
  auto const totals_of = [&](std::vector<std::uint32_t> const& pack) { return ballast::loss_totals_of(counts_of(data, pack), normaliser); };
  ballast::loss_totals all;
  for (auto const& of_rank : packs)
    for (auto const& pack : of_rank) all += totals_of(pack);
  rank_group run(model, exchange::ring);
  std::vector<numbers> gradient(packs.size(), numbers(model.size()));
  numbers out(model.size());
  for (std::size_t rank = 0; rank < packs.size(); ++rank) {
    auto of_rank = path;
    of_rank.micro_batches = std::max<std::int64_t>(1, static_cast<std::int64_t>(packs[rank].size()));
    ballast::loss_totals mine;
    for (auto const& pack : packs[rank]) mine += totals_of(pack);
    for (auto const& pack : packs[rank]) {
      auto const part = normaliser.scope == ballast::loss_scope::rank ? mine : totals_of(pack);
      auto const weights = ballast::loss_weights(counts_of(data, pack), all, normaliser, of_rank, part);
      rank_pass pass{.rank = rank, .at = {}, .group = {}};
      for (std::size_t i = 0; i < pack.size(); ++i) {
        for (auto token : data.tokens[pack[i]]) {
          token.sample = static_cast<std::uint32_t>(i);  // a sequence of its own, even if a sample is repeated
          token.weight *= weights[i];
          pass.at.push_back(token);
        }
        pass.group.assign(pass.at.size(), alone);
        if (packed && i + 1 < pack.size()) continue;
        (void)run.train(p, {pass}, gradient);
        pass.at.clear();
      }
    }
    auto divisor = path.across_ranks == ballast::gradient_reduction::average ? static_cast<double>(packs.size()) : 1.0;
    if (path.across_micro_batches == ballast::gradient_reduction::average) divisor *= static_cast<double>(of_rank.micro_batches);
    if (path.divides_by_tokens) divisor *= static_cast<double>(std::max<std::int64_t>(1, all.tokens()));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += gradient[rank][i] / divisor;
  }
  return out;
}

/// The gradient of a normaliser by its formula, sample by sample: the mean over its scopes of the sums of T^-p times losses, over W.
inline numbers by_formula(transformer const& model, numbers const& p, samples const& data, packs_of_ranks const& packs,
                          ballast::loss_normaliser const& normaliser) {
  struct part {
    std::vector<std::uint32_t> samples{};
    double share;  // of the mean over all parts
  };
  std::vector<part> parts;
  std::vector<std::uint32_t> all;
  for (auto const& of_rank : packs) {
    part mine{.samples = {}, .share = 1 / static_cast<double>(packs.size())};
    for (auto const& pack : of_rank) {
      mine.samples.insert(mine.samples.end(), pack.begin(), pack.end());
      if (normaliser.scope == ballast::loss_scope::micro_batch) parts.push_back({pack, mine.share / static_cast<double>(of_rank.size())});
    }
    all.insert(all.end(), mine.samples.begin(), mine.samples.end());
    if (normaliser.scope == ballast::loss_scope::rank) parts.push_back(mine);
  }
  if (normaliser.scope == ballast::loss_scope::step) parts.push_back({all, 1});
  double tokens = 0, sequences = 0;
  for (auto const i : all) {
    tokens += static_cast<double>(data.learnt[i]);
    sequences += data.learnt[i] > 0;
  }
  std::vector<double> weights(data.lengths.size());
  for (auto const& [of_part, share] : parts) {
    double weight = 0, counted = 0, empty = 0;
    for (auto const i : of_part) {
      (data.learnt[i] > 0 ? counted : empty) += 1;
      if (data.learnt[i] > 0) weight += std::pow(static_cast<double>(data.learnt[i]), 1 - normaliser.power);
    }
    auto const number = counted + (normaliser.count_empty ? empty : 0), length = static_cast<double>(normaliser.length);
    double w = 1;
    using divisor = ballast::loss_divisor;
    switch (normaliser.divisor) {
      case divisor::one: break;
      case divisor::weights: w = weight; break;
      case divisor::sequences: w = number; break;
      case divisor::length: w = length; break;
      case divisor::sequence_length: w = number * length; break;
      case divisor::average_tokens: w = number * tokens / sequences; break;
    }
    for (auto const i : of_part)
      if (data.learnt[i] > 0) weights[i] += share * std::pow(static_cast<double>(data.learnt[i]), -normaliser.power) / w;
  }
  return unpacked(model, p, data, weights);
}

/// Runs a step and compares it with the formula, and bit for bit with the same samples one by one.
inline void compare_step(outcome& to, transformer const& model, numbers const& p, samples const& data, packs_of_ranks const& packs,
                         ballast::loss_preset const& preset) {
  auto const packed = run_step(model, p, data, packs, preset, true);
  to.add(difference(packed, by_formula(model, p, data, packs, preset.normaliser)),
         packed == run_step(model, p, data, packs, preset, false));
}
/// Runs `packs` where `meant` were planned.
inline void compare_steps_apart(outcome& to, transformer const& model, numbers const& p, samples const& data, packs_of_ranks const& meant,
                                packs_of_ranks const& packs, ballast::loss_preset const& preset) {
  to.add(difference(run_step(model, p, data, packs, preset, true), by_formula(model, p, data, meant, preset.normaliser)), true);
}

}  // namespace execute
