// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/groups.hpp>
#include <ballast/core/version.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

/// @file
/// @brief The tasks of pipeline stages, their order and which of several ready ones a stage does; times and bytes of a micro-batch on a
/// virtual stage.

namespace ballast::inline v0_2 {

/// @brief The kind of a task.
enum class pipeline_pass : std::uint8_t {
  forward,         ///< needs the forward of the previous virtual stage
  backward,        ///< both parts in one; needs the (input part of the) backward of the next virtual stage
  backward_input,  ///< only the input part of the backward
  weight,          ///< the weight part, any time after the input part
};

/// @brief One task of a stage.
struct pipeline_task {
  std::uint32_t micro_batch = 0;                ///< number of its micro-batch
  std::uint32_t virtual_stage = 0;              ///< number of its virtual stage
  pipeline_pass pass = pipeline_pass::forward;  ///< kind of task
  friend constexpr bool operator==(pipeline_task const&, pipeline_task const&) = default;
};

/// @brief The tasks of every stage in order, stage after stage in flat arrays.
struct pipeline_order {
  std::uint64_t micro_batches = 0;        ///< number of micro-batches in a step
  std::vector<std::uint32_t> stage_of;    ///< for each virtual stage, its stage
  std::vector<std::uint64_t> offsets{0};  ///< stages + 1 entries: where the tasks of each stage begin
  std::vector<pipeline_task> tasks;       ///< each forward and backward once; each weight part once or, with `fill`, never
  /// One entry per stage if the simulator places weight parts: each fills a wait of at least half its time, and the oldest are done before
  /// a forward for which the stage would hold more than this many micro-batches. Empty if `tasks` lists weight parts.
  std::vector<std::uint64_t> fill;
  /// Micro-batches that are consecutive pieces of one sample, in the order of its tokens; each micro-batch is in exactly one chain, alone
  /// if it depends on no other. Empty if all are independent. On each virtual stage a piece attends to the keys and values of the pieces
  /// before it, so the forwards of a chain ascend, and the backwards (input parts, if split) descend.
  groups<std::uint32_t> chains;

  /// @brief Number of stages.
  [[nodiscard]] std::size_t stages() const noexcept { return offsets.size() - 1; }
  friend bool operator==(pipeline_order const&, pipeline_order const&) = default;
};

/// @brief Which of several ready backwards a stage does. Only one of each chain is ready at a time.
enum class list_tie : std::uint8_t {
  later_chunk,    ///< the one with most chunks of its chain before it, then the earliest in the order: long chains go back without a rest
  earlier_chain,  ///< the earliest in the order: first in, first out
  later_chain,    ///< the latest in the order: last in, first out
};

/// @brief Times and bytes of one micro-batch on one virtual stage; any unit of time, none negative.
struct stage_work {
  std::int64_t forward = 0;     ///< time of the forward
  std::int64_t backward = 0;    ///< time of the input part of the backward, whose gradient the previous virtual stage waits for
  std::int64_t weight = 0;      ///< time of the weight part of the backward; schedules that do not split do it with the input part
  std::int64_t recompute = 0;   ///< time of forward work that is repeated at the start of the backward
  std::int64_t transfer = 0;    ///< time from the end here to the arrival at the next virtual stage; the same for the gradient's way back
  std::int64_t kept = 0;        ///< bytes held from the start of the forward to the end of the backward (of its input part, if split)
  std::int64_t recomputed = 0;  ///< additional bytes of recomputed activations while the backward runs
  std::int64_t residue = 0;     ///< bytes held from the end of the input part to the end of the weight part
  friend constexpr bool operator==(stage_work const&, stage_work const&) = default;
};

/// @brief A pure callable `work(virtual_stage, micro_batch)` that returns the work of a micro-batch on a virtual stage.
template <class W>
concept stage_work_model = std::regular_invocable<W const&, std::uint64_t, std::uint64_t> &&
                           std::convertible_to<std::invoke_result_t<W const&, std::uint64_t, std::uint64_t>, stage_work>;

}  // namespace ballast::inline v0_2
