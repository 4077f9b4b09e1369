// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/pipeline/order.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// @brief `pipeline_timeline`: when each stage does which task, and the figures that follow.

namespace ballast::inline v0_2 {

/// @brief The argument that proves a lower bound on the makespan.
enum class pipeline_bound : std::uint8_t {
  longest_path,   ///< the longest way through the tasks of one micro-batch, or of one chain of them
  busiest_stage,  ///< all tasks of one stage, after the ways to them and before the ways back
};

/// @brief The name of a bound for reports. @param bound any of them @return a word, such as "longest-path"
[[nodiscard]] constexpr std::string_view to_string(pipeline_bound bound) noexcept {
  return bound == pipeline_bound::longest_path ? "longest-path" : "busiest-stage";
}

/// @brief One task on the timeline, for drawing.
struct pipeline_event {
  std::int64_t start = 0;                       ///< time when it begins; the first forward begins at 0
  std::int64_t end = 0;                         ///< time when it ends
  std::uint32_t micro_batch = 0;                ///< number of its micro-batch
  std::uint32_t virtual_stage = 0;              ///< number of its virtual stage
  std::uint32_t stage = 0;                      ///< number of its stage
  pipeline_pass pass = pipeline_pass::forward;  ///< kind of task; a backward includes its recomputed forward
  friend constexpr bool operator==(pipeline_event const&, pipeline_event const&) = default;
};

/// @brief Times and memory of one stage.
struct stage_figures {
  std::int64_t start = 0;        ///< begin of its first task
  std::int64_t end = 0;          ///< end of its last task
  std::int64_t busy = 0;         ///< sum of the times of its tasks
  std::int64_t peak_memory = 0;  ///< largest number of bytes of activations and residues at any time; without parameters
  friend constexpr bool operator==(stage_figures const&, stage_figures const&) = default;
};

/// @brief The result of the simulator.
struct pipeline_timeline {
  /// Time from the begin of the first task to the end of the last, with a lower bound for any order of the same tasks on the same stages.
  certificate makespan;
  pipeline_bound bound = pipeline_bound::longest_path;  ///< the argument that proves `makespan.lower_bound`
  /// Longest time over the stages from the begin of a stage's first task to the end of its last: the time of a step if stages need not wait
  /// for each other between steps.
  std::int64_t span = 0;
  std::vector<stage_figures> stages;   ///< figures of each stage
  std::vector<pipeline_event> events;  ///< tasks stage by stage, in the order of execution; empty unless requested

  /// @brief The share of the time of all stages, over the makespan, that is spent waiting.
  [[nodiscard]] double bubble() const noexcept { return idle(makespan.value); }
  /// @brief The share of the time of all stages, over `span`, that is spent waiting: for stages that begin the next step on their own.
  [[nodiscard]] double span_bubble() const noexcept { return idle(span); }

 private:
  [[nodiscard]] double idle(std::int64_t time) const noexcept {
    if (time == 0) return 0.0;
    double waits = 0;
    for (auto const& s : stages) waits += static_cast<double>(time - s.busy);
    return waits / (static_cast<double>(time) * static_cast<double>(stages.size()));
  }
};

/// @brief A lower bound on the makespan, and the argument that proves it.
struct makespan_bound {
  std::int64_t time = 0;                                ///< the lower bound
  pipeline_bound bound = pipeline_bound::longest_path;  ///< the argument
  friend constexpr bool operator==(makespan_bound const&, makespan_bound const&) = default;
};

}  // namespace ballast::inline v0_2
