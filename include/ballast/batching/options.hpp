// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>

#include <cstdint>
#include <span>
#include <string>

/// @file
/// @brief What planners of steps are asked: the shape of a step, where ranks wait for each other, what is left over; and what `plan_steps`,
/// `deal_steps` and `stream_steps` are asked besides.

namespace ballast::inline v0_2 {

/// @brief Where ranks wait for each other, which decides what a step costs.
///
/// c(r, m) is the cost of the samples in micro-batch m of rank r.
enum class synchronisation : std::uint8_t {
  per_step,         ///< at the optimiser step (DDP, ZeRO-1 and 2, `no_sync`): max over r of the sum over m of c(r, m)
  per_micro_batch,  ///< at every micro-batch (FSDP, ZeRO-3): sum over m of max over r of c(r, m)
  pipeline,         ///< a rank is a pipeline of P stages: max over r of (sum over m of c(r, m) + (P - 1) * max over m of c(r, m))
};

/// @brief What happens where the packs do not come out as a whole number of steps.
enum class left_over : std::uint8_t {
  split,    ///< packs are split until they do; every sample is trained on exactly once
  shorten,  ///< the last step has empty places; every sample is trained on exactly once
  repeat,   ///< the last step is filled up with packs of the start, whose samples are listed in `repeated`
  drop,     ///< the incomplete step is left out, and its samples are listed in `dropped`
};

/// @brief The request to a planner of steps. Only `capacity` has no default.
struct batching_options {
  std::int64_t capacity = 0;        ///< tokens of one micro-batch on one rank, never exceeded; at least 1
  std::uint64_t ranks = 1;          ///< data-parallel ranks; at least 1
  std::uint64_t micro_batches = 1;  ///< micro-batches of one rank in one step; at least 1
  ballast::synchronisation synchronisation = ballast::synchronisation::per_step;  ///< where ranks wait
  std::uint64_t stages = 1;                                  ///< pipeline stages, for `synchronisation::pipeline`; at least 1
  ballast::left_over left_over = ballast::left_over::split;  ///< what happens to an incomplete last step
  std::uint64_t seed = 0;                                    ///< any value; another seed is another order
  std::uint64_t epoch = 0;                                   ///< another epoch is another order of the same seed
  std::int64_t cost_per_micro_batch = 0;  ///< what a micro-batch costs beside its samples (launches, say), in units of the cost
  std::int64_t cost_per_step = 0;  ///< what a step costs each rank beside its micro-batches (all-reduce, optimiser), in the same units
  /// Share of the places' capacity, in thousandths, that planners with a choice fill before they give up fill for balance. A plan is less
  /// full only where they know none that reaches it.
  std::uint32_t least_fill = 0;
};

/// @brief The seed of one epoch. @param o  of its seed and epoch @return a seed that other epochs of the same seed do not share
[[nodiscard]] constexpr std::uint64_t epoch_seed(batching_options const& o) noexcept {
  return splitmix64(splitmix64(o.seed)() + o.epoch)();
}

/// @brief What binds samples to each other, and whether ranks may share one.
struct step_constraints {
  std::span<std::uint64_t const> together{};  ///< a key per sample: those of one key share a micro-batch; empty = none belong together
  std::span<std::uint64_t const> apart{};     ///< a key per sample: those of two keys never share a micro-batch; empty = all may
  std::uint64_t most_ranks_shared =
      1;                             ///< most ranks that may split a sample among them (context parallelism), a power of two; 1 = none do
  std::uint32_t share_overhead = 0;  ///< what splitting adds to a sample's cost, in thousandths
};

/// @brief Which packs share a step.
enum class dealing : std::uint8_t {
  in_order,  ///< the next ones, pack k of a step to rank k % ranks, micro-batch k / ranks: what a trainer does that neither shuffles nor
             ///< knows costs; the naive plan of every comparison here
  random,    ///< random ones, dealt likewise: the usual plan of trainers that pack. Ranks wait for whichever drew the longest samples
  sorted,    ///< packs of like cost, balanced over the ranks: neighbours of a window sorted by cost share a step
  rows,      ///< in each micro-batch packs of like cost, in each step rows of all costs: for trainers that wait at every micro-batch
};

/// @brief In which order steps of unequal cost are trained.
enum class emission : std::uint8_t {
  cyclic,      ///< eight strata of cost in turn, shuffled inside: neighbouring steps average out
  shuffled,    ///< at random
  decreasing,  ///< most expensive first
};

/// @brief How packs are dealt. All but `how` is of `dealing::sorted` and `dealing::rows` alone.
struct deal_options {
  dealing how = dealing::sorted;  ///< which packs share a step
  std::uint64_t window = 0;       ///< steps of packs that are sorted together, in a random order of all packs; 0 = the whole set
  ballast::emission emission = ballast::emission::cyclic;  ///< order of the steps inside a window; rows always come at random
  bool redeal = false;  ///< whether the samples of each step (row) are dealt to its places anew, where that lowers its cost
};

/// @brief How much randomness is given up for balance, and which way. Shares are in thousandths.
struct stream_options {
  /// Share of a step's capacity that is drawn for it. 0 draws all of it, and gives back a tenth at most where that balances the step.
  std::uint32_t fill = 980;
  /// A sample that costs more than this share of a rank's mean step waits in the pool for its like; 0 = no pool.
  std::uint32_t threshold = 350;
  /// The pool holds this many samples per rank before some must go. `whole_epoch` gathers all outliers first, and spreads everything
  /// else evenly over the steps.
  std::uint32_t pool = 4;
  std::uint32_t oldest = 0;  ///< steps that a sample may wait in the pool before it is taken with its neighbours; 0 = no limit
  /// A sample that costs more than this share of a rank's mean step is split over several ranks (context parallelism); 0 = none is.
  std::uint32_t share = 0;
  std::uint32_t share_overhead = 0;     ///< what splitting adds to a sample's cost
  std::uint64_t most_ranks_shared = 0;  ///< most ranks that share a sample, a power of two; 0 = as many as there are
  friend constexpr bool operator==(stream_options const&, stream_options const&) = default;

  static constexpr std::uint32_t whole_epoch = 0xffffffffU;  ///< for `pool`
};

namespace detail {

inline void require_valid(batching_options const& o) {
  require(o.capacity > 0, [&] { return "capacity = " + std::to_string(o.capacity) + " must be positive"; });
  auto const counted = [](std::uint64_t value, char const* name) {
    require(value > 0 && value < std::uint64_t{1} << 20,
            [&] { return std::string(name) + " = " + std::to_string(value) + " must be in 1 ... 2^20 - 1"; });
  };
  counted(o.ranks, "ranks");
  counted(o.micro_batches, "micro_batches");
  counted(o.stages, "stages");
  auto const priced = [](std::int64_t value, char const* name) {
    require(value >= 0, [&] { return std::string(name) + " = " + std::to_string(value) + " must not be negative"; });
  };
  priced(o.cost_per_micro_batch, "cost_per_micro_batch");
  priced(o.cost_per_step, "cost_per_step");
  require(o.least_fill <= 1000, [&] { return "least_fill = " + std::to_string(o.least_fill) + " must be at most 1000"; });
  require(o.capacity <= (std::int64_t{1} << 62) / static_cast<std::int64_t>(o.ranks * o.micro_batches),
          [&] { return "capacity = " + std::to_string(o.capacity) + " times ranks and micro_batches exceeds 2^62"; });
}

}  // namespace detail
}  // namespace ballast::inline v0_2
