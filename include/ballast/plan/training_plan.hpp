// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/work.hpp>
#include <ballast/plan/shortage.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/result.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// @brief What a plan of training tells: stages, modelled times, memory, and where the device-time goes.

namespace ballast::inline v0_2 {

/// @brief What takes time beside forward and backward passes.
enum class lost_time : std::uint8_t {
  none,       ///< nothing: devices compute all the time
  recompute,  ///< forward passes that are repeated to save memory
  bubble,     ///< stages that wait inside a rank's pipeline
  waiting,    ///< ranks that wait for the slowest of their step
};

/// @brief The loss's name as users know it. @param loss any of them @return a word for reports
[[nodiscard]] constexpr std::string_view to_string(lost_time loss) noexcept {
  switch (loss) {
    case lost_time::none: return "none";
    case lost_time::recompute: return "recompute";
    case lost_time::bubble: return "bubble";
    case lost_time::waiting: return "waiting";
  }
  return "none";
}

/// @brief Where the device-time goes: nanoseconds, added up over all devices and steps.
struct time_shares {
  std::int64_t work = 0;       ///< forward and backward
  std::int64_t recompute = 0;  ///< repeated forward
  std::int64_t bubble = 0;     ///< devices that wait while their rank's pipeline runs
  std::int64_t waiting = 0;    ///< devices that wait for the slowest rank of the step

  /// @brief All of it: the steps' times by ranks and stages, exactly. @return the sum
  [[nodiscard]] constexpr std::int64_t total() const noexcept { return work + recompute + bubble + waiting; }
  /// @brief A part as a share of all. @param part one of the four @return 0 … 1; 0 where there is no time
  [[nodiscard]] constexpr double share(std::int64_t part) const noexcept {
    return total() == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(total());
  }
  /// @brief The largest of the three losses. @return of equal ones the first; `none` if all are 0
  [[nodiscard]] constexpr lost_time largest_loss() const noexcept {
    auto most = std::int64_t{0};
    auto loss = lost_time::none;
    auto const consider = [&](lost_time which, std::int64_t time) {
      if (time <= most) return;
      most = time;
      loss = which;
    };
    consider(lost_time::recompute, recompute);
    consider(lost_time::bubble, bubble);
    consider(lost_time::waiting, waiting);
    return loss;
  }
  friend constexpr bool operator==(time_shares const&, time_shares const&) = default;
};

/// @brief The memory of a stage's device.
struct stage_memory {
  std::int64_t state = 0;        ///< bytes of parameters, gradients and optimiser states
  std::int64_t activations = 0;  ///< most bytes of activations at once, in any step of any rank
  std::int64_t budget = 0;       ///< bytes there are
  /// @brief What the stage holds at its peak. @return bytes
  [[nodiscard]] constexpr std::int64_t bytes() const noexcept { return state + activations; }
  friend constexpr bool operator==(stage_memory const&, stage_memory const&) = default;
};

/// @brief The plan of all steps on a timeline, and what it is worth. Times are nanoseconds of a model.
struct training_plan {
  ballast::status status = ballast::status::infeasible;  ///< infeasible: fewer layers than stages, or `shortage`
  memory_shortage shortage;                              ///< where memory is what makes it infeasible; otherwise 0
  batch_shape mean;                                      ///< of a micro-batch, rounded up: what stages are balanced for
  batch_shape largest;                                   ///< each number the largest of any micro-batch: what their memory is planned for
  joint_stages<> stages;                 ///< boundaries, options by layer, and figures: time of the mean micro-batch, bytes of the largest
  std::vector<stage_layer> layers;       ///< what the stages were planned of: time of the mean micro-batch, bytes of the largest
  std::vector<std::uint64_t> in_flight;  ///< by stage: micro-batches held at most
  std::vector<std::int64_t> steps;       ///< time of each step: that of its slowest rank
  certificate time;                  ///< of all steps; no order of the same tasks on the same stages and ranks takes less than the bound
  time_shares shares;                ///< where the device-time goes
  std::vector<stage_memory> memory;  ///< by stage

  std::uint64_t slowest_step = 0;  ///< the longest step, the first of equal ones
  std::uint64_t slowest_rank = 0;  ///< its slowest rank
  pipeline_timeline timeline;      ///< of that rank in that step, with its events
  std::vector<stage_work> works;   ///< of the timeline, micro-batch after micro-batch: `works[micro_batch * stages + stage]`

  /// @brief Mean time of a step. @return milliseconds; 0 without steps
  [[nodiscard]] double step_ms() const noexcept {
    return steps.empty() ? 0.0 : static_cast<double>(time.value) / 1e6 / static_cast<double>(steps.size());
  }
};

/// @brief What limits training, in sentences for people.
/// @param plan  as `plan_training` returned it
/// @return two sentences for a plan with time, one for a plan that does not fit, none for a plan without steps
[[nodiscard]] inline std::vector<std::string> describe(training_plan const& plan) {
  if (plan.status != status::feasible) {
    if (plan.shortage.needed == 0) return {"There are fewer layers than stages."};
    return {"No cut into stages fits " + std::to_string(plan.shortage.budget) + " bytes a device: in the leanest, stage " +
            std::to_string(plan.shortage.stage) + " needs " + std::to_string(plan.shortage.needed) + ", which is " +
            std::to_string(plan.shortage.needed - plan.shortage.budget) + " more."};
  }
  auto const& of = plan.shares;
  if (of.total() == 0) return {};
  auto const percent = [&](std::int64_t part) {
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.2f %%", 100 * of.share(part));
    return std::string(text);
  };
  std::string const all = "Of the device-time " + percent(of.work) + " is forward and backward, " + percent(of.recompute) +
                          " recomputed forward, " + percent(of.bubble) + " waiting inside pipelines, " + percent(of.waiting) +
                          " waiting for the slowest rank.";
  switch (of.largest_loss()) {
    case lost_time::none: return {all, "Nothing is lost."};
    case lost_time::recompute: return {all, "Recomputation costs most: with more memory, or smaller micro-batches, less of it is needed."};
    case lost_time::bubble: return {all, "The bubble costs most: more micro-batches in a step, or fewer stages, make it a smaller part."};
    case lost_time::waiting: return {all, "Waiting for the slowest rank costs most: the longest samples bound how balanced steps can be."};
  }
  return {all};
}

}  // namespace ballast::inline v0_2
