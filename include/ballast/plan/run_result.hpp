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

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// @brief What a plan of a whole run tells: stages, modelled times, memory, and where the device-time goes.

namespace ballast::inline v0_2 {

/// @brief What costs a run most beyond its forward and backward passes.
enum class run_loss : std::uint8_t {
  none,       ///< nothing: devices compute all the time
  recompute,  ///< forward passes that are repeated to save memory
  bubble,     ///< stages that wait inside a rank's pipeline
  waiting,    ///< ranks that wait for the slowest of their step
};

/// @brief The loss's name as users know it. @param loss any of them @return a word for reports
[[nodiscard]] constexpr std::string_view to_string(run_loss loss) noexcept {
  switch (loss) {
    case run_loss::none: return "none";
    case run_loss::recompute: return "recompute";
    case run_loss::bubble: return "bubble";
    case run_loss::waiting: return "waiting";
  }
  return "none";
}

/// @brief Where the device-time goes: nanoseconds, added up over all devices and steps.
struct run_shares {
  std::int64_t work = 0;       ///< forward and backward
  std::int64_t recompute = 0;  ///< repeated forward
  std::int64_t bubble = 0;     ///< devices that wait while their rank's pipeline runs
  std::int64_t waiting = 0;    ///< devices that wait for the slowest rank of the step

  /// @brief All of it: the steps' times by ranks and stages, exactly. @return the sum
  [[nodiscard]] constexpr std::int64_t total() const noexcept { return work + recompute + bubble + waiting; }
  /// @brief A part as a share of all. @param part one of the four @return 0 … 1; 0 for a run of no time
  [[nodiscard]] constexpr double share(std::int64_t part) const noexcept {
    return total() == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(total());
  }
  /// @brief The largest of the three losses. @return of equal ones the first; `none` if all are 0
  [[nodiscard]] constexpr run_loss largest_loss() const noexcept {
    auto most = std::int64_t{0};
    auto loss = run_loss::none;
    auto const consider = [&](run_loss which, std::int64_t time) {
      if (time <= most) return;
      most = time;
      loss = which;
    };
    consider(run_loss::recompute, recompute);
    consider(run_loss::bubble, bubble);
    consider(run_loss::waiting, waiting);
    return loss;
  }
  friend constexpr bool operator==(run_shares const&, run_shares const&) = default;
};

/// @brief The memory of a stage's device.
struct run_memory {
  std::int64_t state = 0;        ///< bytes of parameters, gradients and optimiser states
  std::int64_t activations = 0;  ///< most bytes of activations at once, in any step of any rank
  std::int64_t budget = 0;       ///< bytes there are
  /// @brief What the stage holds at its peak. @return bytes
  [[nodiscard]] constexpr std::int64_t bytes() const noexcept { return state + activations; }
  friend constexpr bool operator==(run_memory const&, run_memory const&) = default;
};

/// @brief A plan of a whole run and what it is worth. Times are nanoseconds of a model.
struct whole_run {
  ballast::status status = ballast::status::infeasible;  ///< infeasible: fewer layers than stages, or `shortage`
  run_shortage shortage;                                 ///< where memory is what makes it infeasible; otherwise 0
  batch_shape mean;                                      ///< of a micro-batch, rounded up: what stages are levelled for
  batch_shape largest;                                   ///< each number the largest of any micro-batch: what their memory is planned for
  joint_stages<> model;                  ///< boundaries, options by layer, and figures: time of the mean micro-batch, bytes of the largest
  std::vector<stage_layer> layers;       ///< what the stages were planned of: time of the mean micro-batch, bytes of the largest
  std::vector<std::uint64_t> in_flight;  ///< by stage: micro-batches held at most
  std::vector<std::int64_t> steps;       ///< time of each step: that of its slowest rank
  certificate time;                ///< of all steps; no order of the same tasks on the same stages and ranks takes less than the bound
  run_shares shares;               ///< where the device-time goes
  std::vector<run_memory> memory;  ///< by stage

  std::uint64_t slowest_step = 0;  ///< the longest step, the first of equal ones
  std::uint64_t slowest_rank = 0;  ///< its slowest rank
  pipeline_timeline timeline;      ///< of that rank in that step, with its events
  std::vector<stage_work> works;   ///< of the timeline, micro-batch after micro-batch: `works[micro_batch * stages + stage]`

  /// @brief Mean time of a step. @return milliseconds; 0 without steps
  [[nodiscard]] double step_ms() const noexcept {
    return steps.empty() ? 0.0 : static_cast<double>(time.value) / 1e6 / static_cast<double>(steps.size());
  }
};

/// @brief What limits a run, in sentences for people.
/// @param run  a plan
/// @return two sentences for a run with time, one for a plan that does not fit, none for a run without steps
[[nodiscard]] inline std::vector<std::string> describe(whole_run const& run) {
  if (run.status != status::feasible) {
    if (run.shortage.needed == 0) return {"There are fewer layers than stages."};
    return {"No cut into stages fits " + std::to_string(run.shortage.budget) + " bytes a device: in the leanest, stage " +
            std::to_string(run.shortage.stage) + " needs " + std::to_string(run.shortage.needed) + ", which is " +
            std::to_string(run.shortage.needed - run.shortage.budget) + " more."};
  }
  auto const& of = run.shares;
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
    case run_loss::none: return {all, "Nothing is lost."};
    case run_loss::recompute: return {all, "Recomputation costs most: with more memory, or smaller micro-batches, less of it is needed."};
    case run_loss::bubble: return {all, "The bubble costs most: more micro-batches in a step, or fewer stages, make it a smaller part."};
    case run_loss::waiting: return {all, "Waiting for the slowest rank costs most: the longest samples bound how level steps can be."};
  }
  return {all};
}

}  // namespace ballast::inline v0_2
