// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/pipeline/order.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// @brief A timeline: when each stage does what, and what follows from it.

namespace ballast::inline v0_2 {

/// @brief Which argument proves that no order of the tasks ends earlier.
enum class pipeline_bound : std::uint8_t {
  longest_path,   ///< the way of one micro-batch through all stages and back
  busiest_stage,  ///< what one stage has to do, after the shortest way to it and before the shortest way back
};

/// @brief The bound's name as users know it. @param bound any of them @return a word for reports
[[nodiscard]] constexpr std::string_view to_string(pipeline_bound bound) noexcept {
  return bound == pipeline_bound::longest_path ? "longest-path" : "busiest-stage";
}

/// @brief One task on the timeline, for drawing.
struct pipeline_event {
  std::int64_t start = 0;                       ///< when it begins; the first forward begins at 0
  std::int64_t end = 0;                         ///< when it ends
  std::uint32_t micro_batch = 0;                ///< its micro-batch
  std::uint32_t virtual_stage = 0;              ///< its virtual stage
  std::uint32_t stage = 0;                      ///< the stage that it is on
  pipeline_pass pass = pipeline_pass::forward;  ///< what is done; a backward includes its recomputed forward
  friend constexpr bool operator==(pipeline_event const&, pipeline_event const&) = default;
};

/// @brief What one stage does in all.
struct stage_figures {
  std::int64_t start = 0;        ///< begin of its first task
  std::int64_t end = 0;          ///< end of its last task
  std::int64_t busy = 0;         ///< sum of its tasks' times
  std::int64_t peak_memory = 0;  ///< most bytes of activations and residues at once; parameters are not in it
  friend constexpr bool operator==(stage_figures const&, stage_figures const&) = default;
};

/// @brief What the simulator returns.
struct pipeline_timeline {
  /// Time from the first task's begin to the last one's end, and what no order of the same tasks on the same stages goes below.
  certificate makespan;
  pipeline_bound bound = pipeline_bound::longest_path;  ///< what proves `makespan.lower_bound`
  /// Longest time between the begin of a stage's first task and the end of its last: the time of a step where stages need not wait for each
  /// other between steps.
  std::int64_t span = 0;
  std::vector<stage_figures> stages;   ///< by stage
  std::vector<pipeline_event> events;  ///< by stage, then in the order of execution; empty unless asked for

  /// @brief The share of all stages' time until the last task's end in which they wait.
  [[nodiscard]] double bubble() const noexcept { return idle(makespan.value); }
  /// @brief The same over `span`: what is waited if each stage goes on to the next step on its own.
  [[nodiscard]] double span_bubble() const noexcept { return idle(span); }

 private:
  [[nodiscard]] double idle(std::int64_t time) const noexcept {
    if (time == 0) return 0.0;
    double waits = 0;
    for (auto const& s : stages) waits += static_cast<double>(time - s.busy);
    return waits / (static_cast<double>(time) * static_cast<double>(stages.size()));
  }
};

/// @brief A lower bound on the makespan, and the argument behind it.
struct makespan_bound {
  std::int64_t time = 0;                                ///< no order ends earlier
  pipeline_bound bound = pipeline_bound::longest_path;  ///< why
  friend constexpr bool operator==(makespan_bound const&, makespan_bound const&) = default;
};

}  // namespace ballast::inline v0_2
