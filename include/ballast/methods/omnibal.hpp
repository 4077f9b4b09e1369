// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/vector/capacities.hpp>
#include <ballast/packing/vector/iterative_sampling.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/rank_distance.hpp>
#include <ballast/packing/vector/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief OmniBal's data balance: packs by iterative sampling and filtering, steps by its random sampler.

/// @brief The method of Yao et al., "OmniBal: towards fast instruct-tuning for vision-language models via omniverse computation balance".
namespace ballast::inline v0_2::omnibal {

/// @brief Options of OmniBal's data balance. The defaults are the published settings.
struct options {
  std::int64_t most_tiles = 9;      ///< Q_v: largest number of image tiles of a pack; a pack with this many is full
  std::int64_t most_tokens = 4096;  ///< Q_t: largest text length of a pack, the tokens of its tiles included
  std::int64_t spare_tokens = 128;  ///< Q_t - Q'_t: a pack with room for at most this many tokens is full
  bool choose_capacities = false;   ///< whether to choose Q_v and Q_t from the data (4 to 5 samples per pack), not by the two above
  std::uint32_t rounds = 50;        ///< T: passes over the samples that are not in a full pack
  std::uint64_t ranks = 8;          ///< number of data-parallel ranks, at least 1
  std::uint64_t seed = 1024;        ///< seed of the passes
  std::uint64_t epoch = 0;          ///< seed of the sampler
};

/// @brief The plan of an epoch: packs and steps.
///
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct data_plan {
  std::vector<std::int64_t> capacity;  ///< Q_v and Q_t, as given or as chosen
  vector_packing<Index> packing;       ///< the packs in the order they were made, and a lower bound on their number
  batching<Index> steps;               ///< one pack per rank and step; `dropped` has samples above a capacity and those of the tail
  std::vector<double> distance;        ///< rank distance of tiles, and of tokens
};

/// @brief Plans an epoch as OmniBal does: packs by iterative sampling and filtering, cut into one shard per rank; all shards are trained in
/// one random order, and the tail is dropped.
///
/// Samples that the published code loses silently are listed here, and the best round is kept. To train on balanced steps, call
/// `plan_steps({tiles, tokens}, {.capacity = {9, 4096}, .ranks = 8})` instead: it makes fewer packs, drops nothing and balances both
/// measures.
///
/// @tparam Index  type of the sample indices
/// @param tiles   image tiles of each sample
/// @param tokens  text length of each sample, its tiles' tokens included; each at least 1
/// @param o       options
/// @return packs, steps and the two distances
/// @throws invalid_input if an option or a measure is out of range, or `tiles` and `tokens` differ in size
/// @par Complexity
/// As `iterative_sampling`, and as `choose_capacities` if that is requested.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// arXiv 2407.20761, section 4.1; the sampler and the settings are those of its code.
template <index_type Index = std::uint32_t>
[[nodiscard]] data_plan<Index> plan_data(std::span<std::int64_t const> tiles, std::span<std::int64_t const> tokens, options const& o = {}) {
  sample_measures const samples{tiles, tokens};
  data_plan<Index> plan;
  plan.capacity = {o.most_tiles, o.most_tokens};
  if (o.choose_capacities) plan.capacity = choose_capacities(samples, {.ranks = o.ranks, .seed = o.seed}).chosen().capacity;
  auto const full_tokens = plan.capacity[1] - o.spare_tokens;
  plan.packing = iterative_sampling<Index>(samples, {.capacity = plan.capacity, .oversize = oversize::set_aside, .seed = o.seed},
                                           {.rounds = o.rounds, .filter = {plan.capacity[0], full_tokens}});

  auto const& packs = plan.packing.packs;
  auto const ranks = static_cast<std::size_t>(o.ranks), shard = packs.size() / (ranks == 0 ? 1 : ranks);
  groups<Index> order;
  for (auto const k : random_permutation<Index>(shard, o.epoch))
    for (std::size_t r = 0; r < ranks; ++r) order.push_back(packs[r * shard + k]);
  std::vector<std::int64_t> lengths(tokens.begin(), tokens.end());
  for (auto i : plan.packing.set_aside) lengths[i] = (std::min)(lengths[i], plan.capacity[1]);  // they are in no pack
  plan.steps = deal_steps(std::move(order), lengths, {.capacity = plan.capacity[1], .ranks = o.ranks, .left_over = left_over::drop},
                          token_cost{}, {.how = dealing::in_order});
  plan.distance = rank_distances(plan.steps.packs, samples, o.ranks);
  return plan;
}

}  // namespace ballast::inline v0_2::omnibal
