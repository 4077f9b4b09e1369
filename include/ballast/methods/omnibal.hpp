// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
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

/// @brief Limits of a pack. The defaults are the published settings.
struct pack_limits {
  std::int64_t tiles = 9;      ///< Q_v: largest number of image tiles of a pack; a pack with this many is full
  std::int64_t tokens = 4096;  ///< Q_t: largest text length of a pack, the tokens of its tiles included
  std::int64_t spare = 128;    ///< Q_t - Q'_t: a pack with room for at most this many tokens is full
  friend constexpr bool operator==(pack_limits const&, pack_limits const&) = default;
};

/// @brief Options of OmniBal's data balance. The defaults are the published settings.
struct options {
  pack_limits limits{};            ///< limits of a pack, for `plan_data` of one data set
  bool choose_capacities = false;  ///< whether to choose Q_v and Q_t of each data set from its samples (4 to 5 samples per pack)
  std::uint32_t filters = 0;       ///< number of filters tried: Q'_t = Q_t, Q_t - 4, …, the published number is 10; 0: `limits.spare`
  std::uint32_t rounds = 50;       ///< T: passes over the samples that are not in a full pack
  sampling_finish finish = sampling_finish::next_fit;  ///< how samples in no full pack are packed; `best_fit` makes fewer packs
  kept_round keep = kept_round::last;                  ///< which round's packs are used; `best` makes fewer packs
  std::uint64_t ranks = 8;                             ///< number of data-parallel ranks, at least 1
  std::uint64_t micro_batches = 1;                     ///< packs of one rank in one step, at least 1
  std::uint64_t seed = 1024;                           ///< seed of the passes
  std::uint64_t epoch = 0;                             ///< seed of the sampler
};

/// @brief A data set with limits of its own, so that its samples share no pack and no step with those of another.
struct data_set {
  std::span<std::int64_t const> tiles{};   ///< image tiles of each sample
  std::span<std::int64_t const> tokens{};  ///< text length of each sample, its tiles' tokens included; each at least 1
  pack_limits limits{};                    ///< limits of its packs
};

/// @brief The packs of one data set.
///
/// @tparam Index  type of the sample indices
template <index_type Index = std::uint32_t>
struct packed_set {
  pack_limits limits;             ///< as given or as chosen
  vector_packing<Index> packing;  ///< the packs in the order they were made, and a lower bound on their number
};

/// @brief The plan of an epoch: packs and steps.
///
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct data_plan {
  std::vector<packed_set<Index>> sets;  ///< the packs of each data set, with indices of its own samples
  batching<Index> steps;         ///< one pack per place; indices count the samples of all sets, one set after the other; `dropped` has
                                 ///< samples above a capacity and those of the tail
  std::vector<double> distance;  ///< mean rank distance over the micro-batches of steps: of tiles, and of tokens
};

/// @brief Packs a data set as OmniBal does: by iterative sampling and filtering.
///
/// By default this is the published procedure: the packs of the last round, in which next fit made the packs that are not full. On some
/// data the last round has more packs than an earlier one (docs/omnibal.md); `options::finish` and `options::keep` avoid it. Samples that
/// the published code loses without a message are listed in `set_aside`.
///
/// @tparam Index  type of the sample indices
/// @param set  the samples and limits of their packs
/// @param o    options; `o.limits` is not read
/// @return limits and packs
/// @throws invalid_input if an option or a measure is out of range, or tiles and tokens differ in size
/// @par Complexity
/// As `iterative_sampling`, for each filter that is tried, and as `choose_capacities` if that is requested.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// arXiv 2407.20761, section 4.1, and its code: `search_arguments` chooses capacities, `find_best_groups` the filter.
template <index_type Index = std::uint32_t>
[[nodiscard]] packed_set<Index> pack_data(data_set const& set, options const& o = {}) {
  sample_measures const samples{set.tiles, set.tokens};
  sampling_options const sampling{.rounds = o.rounds, .filter = {}, .finish = o.finish, .keep = o.keep};
  packed_set<Index> out{.limits = set.limits, .packing = {}};
  if (o.choose_capacities && samples.size() > 0) {
    auto const found =
        ballast::choose_capacities(samples, {.ranks = o.ranks, .spare = set.limits.spare, .sampling = sampling, .seed = o.seed});
    out.limits.tiles = found.chosen().capacity[0];
    out.limits.tokens = found.chosen().capacity[1];
  }
  auto const pack = [&](std::int64_t spare) {
    std::vector<std::int64_t> const capacity{out.limits.tiles, out.limits.tokens};
    auto filtered = sampling;
    filtered.filter = full_packs(capacity, spare);
    return iterative_sampling<Index>(samples, {.capacity = capacity, .oversize = oversize::set_aside, .seed = o.seed}, filtered);
  };
  if (o.filters > 0) out.limits.spare = 0;
  out.packing = pack(out.limits.spare);
  for (std::uint32_t trial = 1; trial < o.filters; ++trial)
    if (auto other = pack(4 * std::int64_t{trial}); other.packs.size() < out.packing.packs.size()) {
      out.packing = std::move(other);
      out.limits.spare = 4 * std::int64_t{trial};
    }
  return out;
}

/// @brief Plans an epoch of several data sets as OmniBal does. Each set is packed under limits of its own, and cut into one shard per rank;
/// all shards of a set are trained in one random order, and the tail is dropped. The steps of all sets come in random order.
///
/// @tparam Index  type of the sample indices and pack numbers
/// @param sets  the data sets, for example one with images and one without
/// @param o     options; `o.limits` is not read
/// @return packs, steps and the two distances
/// @throws invalid_input as `pack_data`, or if the ranks or micro-batches are not in 1 … 2^20 - 1
/// @par Complexity
/// As `pack_data` for each set.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// As `pack_data`; the sampler is that of its code, and `multi_group` there plans sets with limits of their own.
template <index_type Index = std::uint32_t>
[[nodiscard]] data_plan<Index> plan_data_sets(std::span<data_set const> sets, options const& o = {}) {
  batching_options shape{.capacity = 1, .ranks = o.ranks, .micro_batches = o.micro_batches, .left_over = left_over::drop};
  auto const ranks = static_cast<std::size_t>((std::max)(o.ranks, std::uint64_t{1}));  // deal_steps throws if one is 0
  auto const rows = static_cast<std::size_t>((std::max)(o.micro_batches, std::uint64_t{1}));
  data_plan<Index> plan;
  std::vector<std::int64_t> tiles, tokens;
  groups<Index> packs;
  std::vector<std::vector<std::size_t>> steps;  // numbers of packs, a row of all ranks after the other
  for (auto const& set : sets) {
    plan.sets.push_back(pack_data<Index>(set, o));
    auto const& [limits, packing] = plan.sets.back();
    auto const before = static_cast<Index>(tiles.size());
    tiles.insert(tiles.end(), set.tiles.begin(), set.tiles.end());
    tokens.insert(tokens.end(), set.tokens.begin(), set.tokens.end());
    require_index<Index>(tokens.size(), "samples");
    for (auto const i : packing.set_aside) tokens[before + i] = (std::min)(tokens[before + i], limits.tokens);  // they are in no pack
    shape.capacity = (std::max)(shape.capacity, limits.tokens);
    auto const first = packs.size(), shard = packing.packs.size() / ranks;
    std::vector<Index> pack;
    for (auto const members : packing.packs) {
      pack.clear();
      for (auto const i : members) pack.push_back(static_cast<Index>(before + i));
      packs.push_back(pack);
    }
    auto const order = random_permutation<Index>(shard, o.epoch);
    for (std::size_t row = 0; row + rows <= shard; row += rows) {
      auto& step = steps.emplace_back();
      for (auto k = row; k < row + rows; ++k)
        for (std::size_t r = 0; r < ranks; ++r) step.push_back(first + r * shard + order[k]);
    }
  }
  groups<Index> dealt;
  auto const order = random_permutation<Index>(sets.size() > 1 ? steps.size() : 0, o.epoch);
  for (std::size_t s = 0; s < steps.size(); ++s)
    for (auto const p : steps[order.empty() ? s : order[s]]) dealt.push_back(packs[p]);
  plan.steps = deal_steps(std::move(dealt), tokens, shape, token_cost{}, {.how = dealing::in_order});
  plan.distance = rank_distances(plan.steps.packs, {tiles, tokens}, o.ranks);
  return plan;
}

/// @brief As above, for one data set with the limits `o.limits`.
///
/// To train on balanced steps, call `plan_steps({tiles, tokens}, {.steps = {.capacity = 4096, .ranks = 8}, .others = {9}})` instead: it
/// makes fewer packs, drops nothing and balances both measures.
///
/// @tparam Index  type of the sample indices and pack numbers
/// @param tiles   image tiles of each sample
/// @param tokens  text length of each sample, its tiles' tokens included; each at least 1
/// @param o       options
/// @return packs, steps and the two distances
/// @throws invalid_input as the overload above
/// @par Complexity
/// As `pack_data`.
/// @par Determinism
/// A pure function of its arguments.
template <index_type Index = std::uint32_t>
[[nodiscard]] data_plan<Index> plan_data(std::span<std::int64_t const> tiles, std::span<std::int64_t const> tokens, options const& o = {}) {
  data_set const set{.tiles = tiles, .tokens = tokens, .limits = o.limits};
  return plan_data_sets<Index>(std::span(&set, 1), o);
}

}  // namespace ballast::inline v0_2::omnibal
