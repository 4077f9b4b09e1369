// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/search_limits.hpp>

#include <cstdint>
#include <span>

/// @file
/// @brief Options of the planners of steps: the shape of a step, where ranks wait for each other, what happens to an incomplete last step;
/// and the options of single planners.

namespace ballast::inline v0_2 {

/// @brief Where ranks wait for each other. This decides what a step costs.
///
/// In the formulas of a step's cost, c(r, m) is the cost of the samples in micro-batch m of rank r.
enum class synchronisation : std::uint8_t {
  per_step,         ///< at the optimiser step (DDP, ZeRO-1 and 2, `no_sync`): max over r of the sum over m of c(r, m)
  per_micro_batch,  ///< at every micro-batch (FSDP, ZeRO-3): sum over m of max over r of c(r, m)
  pipeline,         ///< a rank is a pipeline of P stages: max over r of (sum over m of c(r, m) + (P - 1) * max over m of c(r, m))
};

/// @brief What happens to the last step if the packs do not fill it.
enum class left_over : std::uint8_t {
  split,    ///< packs are split until the last step is full; every sample is trained on exactly once
  shorten,  ///< the last step has empty places; every sample is trained on exactly once
  repeat,   ///< the last step is filled with packs of earlier steps, whose samples are listed in `repeated`
  drop,     ///< the incomplete step is left out, and its samples are listed in `dropped`
};

/// @brief Options of a planner of steps. Only `capacity` has no default.
struct batching_options {
  static constexpr std::uint32_t automatic = ~std::uint32_t{0};  ///< of `time_for_randomness`

  std::int64_t capacity = 0;        ///< tokens of one micro-batch on one rank, never exceeded; at least 1
  std::uint64_t ranks = 1;          ///< data-parallel ranks; at least 1
  std::uint64_t micro_batches = 1;  ///< micro-batches of one rank in one step; at least 1
  ballast::synchronisation synchronisation = ballast::synchronisation::per_step;  ///< where ranks wait for each other
  std::uint64_t stages = 1;                                  ///< pipeline stages, for `synchronisation::pipeline`; at least 1
  ballast::left_over left_over = ballast::left_over::split;  ///< what happens to an incomplete last step
  std::uint64_t seed = 0;                                    ///< any value; another seed gives another order
  std::uint64_t epoch = 0;                                   ///< another epoch gives another order under the same seed
  /// Fixed cost of a micro-batch (launches, for example), added to its samples' costs, in the same units.
  std::int64_t cost_per_micro_batch = 0;
  std::int64_t cost_per_step = 0;  ///< fixed cost of a step for each rank (all-reduce, optimiser), in the same units
  /// Share of the capacity of all places, in thousandths, below which `plan_steps` does not give up fill for balance. A plan is less full
  /// only if the planner knows no plan that reaches this share.
  std::uint32_t least_fill = 0;
  /// Time that `plan_steps` may give for random steps, in thousandths of the fastest plan that it knows: of the plans that take no more, it
  /// returns the fastest that is about as random as the most random one, by the design effect over eight steps in a row
  /// (`step_randomness`). 0 plans the fastest steps, 20 gives up to 2 %, 1000 plans the most random steps whatever they take, and
  /// `automatic` is what the planner does by itself. Read where ranks wait per step, without `apart` keys, `max_samples` and pipelines.
  /// It cannot be combined with `least_fill`.
  std::uint32_t time_for_randomness = automatic;
  /// Whether all ranks run the same number of micro-batches in a step, as trainers need that exchange data at every micro-batch (FSDP,
  /// ZeRO-3, expert parallelism). Packs are split for that, so every pack still meets the capacity. Only the last step, and steps with
  /// shared samples, can stay unequal: if a step has fewer samples than ranks times the largest number of any rank, its packs are merged;
  /// it is unequal if they do not fit into fewer, come from different packs of `deal_steps`, or there are fewer samples than ranks
  /// (`batching::idle_ranks`).
  bool equal_micro_batches = true;
};

/// @brief The seed of one epoch. @param o options with seed and epoch @return a seed that differs from those of other epochs under the same
/// seed
[[nodiscard]] constexpr std::uint64_t epoch_seed(batching_options const& o) noexcept {
  return splitmix64(splitmix64(o.seed)() + o.epoch)();
}

/// @brief Which samples, and how many, may share a micro-batch, and how many ranks may share a sample.
struct step_constraints {
  /// A key for each sample: samples with the same key share a micro-batch; empty = no such constraint.
  std::span<std::uint64_t const> together{};
  /// A key for each sample: samples with different keys never share a micro-batch; empty = no such constraint.
  std::span<std::uint64_t const> apart{};
  /// Most ranks that may split one sample (context parallelism), a power of two; 1 = no sample is split. Above 1, samples may be longer
  /// than the capacity.
  std::uint64_t most_ranks_shared = 1;
  std::uint32_t share_overhead = 0;  ///< extra cost of a split sample, in thousandths of its cost
  /// Most samples in a micro-batch; 0 = no limit. It cannot be combined with keys or with samples that ranks share.
  std::uint64_t max_samples = 0;
};

/// @brief Which samples of a global batch must or must not share a micro-batch, and the number of micro-batches.
struct micro_batch_constraints {
  /// A key for each sample: samples with the same key share a micro-batch; empty = no such constraint.
  std::span<std::uint64_t const> together{};
  /// A key for each sample: samples with different keys never share a micro-batch; empty = no such constraint.
  std::span<std::uint64_t const> apart{};
  std::uint64_t at_least = 1;  ///< fewest micro-batches of a rank, from 1 to 2^20 - 1
  std::uint64_t exactly = 0;   ///< demanded number of micro-batches of a rank, below 2^20; 0 = as few as the planner finds
  bool equal_counts = false;   ///< whether the numbers of samples in any two micro-batches may differ by at most one
  bool small_ends = false;     ///< whether the cheapest micro-batches of a rank come first and last, and the most expensive in the middle
};

/// @brief Which packs share a step.
enum class dealing : std::uint8_t {
  in_order,  ///< the next packs in order; pack k of a step goes to rank k % ranks, micro-batch k / ranks. This is the naive plan of
             ///< comparisons: a trainer that neither shuffles nor knows costs
  random,    ///< random packs, dealt as `in_order`: the usual plan of trainers that pack. Ranks wait for the rank that drew the longest
             ///< samples
  sorted,    ///< packs of similar cost: each window is sorted by cost, neighbours share a step and are balanced over the ranks
  rows,      ///< packs of similar cost in each micro-batch, micro-batches of all costs in each step: for trainers that wait at every
             ///< micro-batch
};

/// @brief The order in which steps of unequal cost are trained.
enum class emission : std::uint8_t {
  cyclic,      ///< steps from eight strata of cost in turn, in random order within a stratum: neighbouring steps average out
  shuffled,    ///< random order
  decreasing,  ///< most expensive first
};

/// @brief Options of `deal_steps`. Only `dealing::sorted` and `dealing::rows` read the fields after `how`.
struct deal_options {
  dealing how = dealing::sorted;  ///< which packs share a step
  std::uint64_t window = 0;  ///< number of steps whose packs are sorted together, after all packs were put in a random order; 0 = all steps
  ballast::emission emission = ballast::emission::cyclic;  ///< order of the steps within a window; read by `dealing::sorted`
  bool redeal = false;  ///< whether the samples of each step (or row) are distributed over its places again if that lowers its cost
};

/// @brief How `stream_steps` gives up randomness for balance. Shares are in thousandths. Seldom set: `plan_steps` tries several.
struct stream_tuning {
  /// Share of a step's capacity that is drawn for the step. With 0, the full capacity is drawn, and up to a tenth is returned to the stream
  /// if that balances the step.
  std::uint32_t fill = 980;
  /// Samples that cost more than this share of a rank's mean step are gathered from the whole epoch, so that a step has some of similar
  /// cost for all ranks; all other samples are spread evenly over the steps. 0 = none are gathered.
  std::uint32_t threshold = 350;
  /// A sample that costs more than this share of a rank's mean step is split over several ranks (context parallelism); 0 = no sample is
  /// split for its cost.
  std::uint32_t share = 0;
  friend constexpr bool operator==(stream_tuning const&, stream_tuning const&) = default;
};

/// @brief Options of `stream_steps`: which samples ranks share.
struct stream_options {
  std::uint32_t share_overhead = 0;  ///< extra cost of a split sample, in thousandths of its cost
  /// Most ranks that share a sample, a power of two; 0 = no limit. If this or `tuning.share` is not 0, samples that are longer than the
  /// capacity are split too.
  std::uint64_t most_ranks_shared = 0;
  stream_tuning tuning{};  ///< how full steps are, and what becomes of samples of high cost
  friend constexpr bool operator==(stream_options const&, stream_options const&) = default;
};

namespace detail {

inline void require_valid(batching_options const& o) {
  require(o.capacity > 0, [&] { return sentence("capacity = ", o.capacity, " must be positive"); });
  auto const counted = [](std::uint64_t value, char const* name) {
    require(value > 0 && value < std::uint64_t{1} << 20, [&] { return sentence(name, " = ", value, " must be in 1 ... 2^20 - 1"); });
  };
  counted(o.ranks, "ranks");
  counted(o.micro_batches, "micro_batches");
  counted(o.stages, "stages");
  auto const priced = [](std::int64_t value, char const* name) {
    require(value >= 0, [&] { return sentence(name, " = ", value, " must not be negative"); });
  };
  priced(o.cost_per_micro_batch, "cost_per_micro_batch");
  priced(o.cost_per_step, "cost_per_step");
  require(o.least_fill <= 1000, [&] { return sentence("least_fill = ", o.least_fill, " must be at most 1000"); });
  require(o.time_for_randomness <= 1000 || o.time_for_randomness == batching_options::automatic,
          [&] { return sentence("time_for_randomness = ", o.time_for_randomness, " must be at most 1000, or automatic"); });
  require(o.least_fill == 0 || o.time_for_randomness == batching_options::automatic,
          [] { return "least_fill and time_for_randomness exclude each other"; });
  require(o.capacity <= (std::int64_t{1} << 62) / static_cast<std::int64_t>(o.ranks * o.micro_batches),
          [&] { return sentence("capacity = ", o.capacity, " times ranks and micro_batches exceeds 2^62"); });
}

/// The most ranks that share a sample under these options, as `weigh` takes it.
[[nodiscard]] constexpr std::uint64_t most_ranks_shared(stream_options const& s) noexcept {
  return s.tuning.share == 0 && s.most_ranks_shared == 0 ? 1 : s.most_ranks_shared;
}

}  // namespace detail
}  // namespace ballast::inline v0_2
