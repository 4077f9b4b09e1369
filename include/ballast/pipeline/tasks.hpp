// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

/// @file
/// @brief What the stages of a pipeline do, and in which order.

namespace ballast::inline v0_2 {

/// @brief What a task is.
enum class pipeline_pass : std::uint8_t {
  forward,         ///< needs the forward of the virtual stage before
  backward,        ///< both parts in one; needs the (input part of the) backward of the virtual stage behind
  backward_input,  ///< the input part alone
  weight,          ///< the weight part, any time after the input part
};

/// @brief One task of a stage.
struct pipeline_task {
  std::uint32_t micro_batch = 0;                ///< its micro-batch
  std::uint32_t virtual_stage = 0;              ///< its virtual stage
  pipeline_pass pass = pipeline_pass::forward;  ///< what is done
  friend constexpr bool operator==(pipeline_task const&, pipeline_task const&) = default;
};

/// @brief The tasks of every stage in their order, stage after stage in flat arrays.
struct pipeline_order {
  std::uint64_t micro_batches = 0;        ///< of a step
  std::vector<std::uint32_t> stage_of;    ///< by virtual stage: the stage that it is on
  std::vector<std::uint64_t> offsets{0};  ///< stages + 1 entries: where a stage's tasks begin
  std::vector<pipeline_task> tasks;       ///< each forward and backward once; each weight part once or, with `fill`, never
  /// By stage, where weight parts are not listed but placed by the simulator: each fills a wait of at least half its time, and the oldest
  /// ones are done before a forward for which the stage would hold more than that many micro-batches. Empty where they are listed.
  std::vector<std::uint64_t> fill;

  /// @brief Number of stages.
  [[nodiscard]] std::size_t stages() const noexcept { return offsets.size() - 1; }
  friend bool operator==(pipeline_order const&, pipeline_order const&) = default;
};

}  // namespace ballast::inline v0_2
