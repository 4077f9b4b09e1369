// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/random.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief What a planner of steps is asked: the shape of a step, where ranks wait for each other, and what to do with what is left over.

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
  std::uint64_t epoch = 0;                                   ///< another epoch is another order of the same run
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
