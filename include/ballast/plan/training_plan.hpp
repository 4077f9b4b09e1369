// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/partition/result.hpp>
#include <ballast/pipeline/result.hpp>
#include <ballast/pipeline/tasks.hpp>
#include <ballast/staging/layer.hpp>
#include <ballast/staging/result.hpp>
#include <ballast/staging/shortage.hpp>

#include <cstdint>
#include <string_view>
#include <vector>

/// @file
/// @brief `training_plan`: the result of `plan_training`: stages, modelled times, memory, and where the device-time goes.

namespace ballast::inline v0_2 {

/// @brief What takes device-time besides forward and backward passes.
enum class lost_time : std::uint8_t {
  none,       ///< nothing: devices compute all the time
  recompute,  ///< forward passes that are repeated to save memory
  exchange,   ///< exchanges between devices that computation does not hide
  optimizer,  ///< the optimiser, which reads and writes the states
  bubble,     ///< stages that wait while their rank's pipeline runs
  waiting,    ///< ranks that wait for the slowest rank of their step
};

/// @brief The name of a loss for reports. @param loss any of them @return a word, such as "bubble"
[[nodiscard]] constexpr std::string_view to_string(lost_time loss) noexcept {
  switch (loss) {
    case lost_time::none: return "none";
    case lost_time::recompute: return "recompute";
    case lost_time::exchange: return "exchange";
    case lost_time::optimizer: return "optimizer";
    case lost_time::bubble: return "bubble";
    case lost_time::waiting: return "waiting";
  }
  return "none";
}

/// @brief Where the device-time goes: nanoseconds, summed over all devices and steps.
struct time_shares {
  std::int64_t work = 0;       ///< nanoseconds of forward and backward passes
  std::int64_t recompute = 0;  ///< nanoseconds of repeated forward passes
  std::int64_t exchange = 0;   ///< nanoseconds in which devices wait for exchanges of activations, gradients and parameters
  std::int64_t optimizer = 0;  ///< nanoseconds of the optimiser
  std::int64_t bubble = 0;     ///< nanoseconds in which devices wait while their rank's pipeline runs, or other stages end the step
  std::int64_t waiting = 0;    ///< nanoseconds in which devices wait for the slowest rank of the step
  /// @brief The sum of the parts: exactly the time of all steps, times ranks and stages. @return nanoseconds
  [[nodiscard]] constexpr std::int64_t total() const noexcept { return work + recompute + exchange + optimizer + bubble + waiting; }
  /// @brief A part as a share of the sum. @param part one of the parts @return the share, in [0, 1]; 0 if the sum is 0
  [[nodiscard]] constexpr double share(std::int64_t part) const noexcept {
    return total() == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(total());
  }
  /// @brief The largest of the losses. @return the first of equal ones; `none` if all are 0
  [[nodiscard]] constexpr lost_time largest_loss() const noexcept {
    auto most = std::int64_t{0};
    auto loss = lost_time::none;
    auto const consider = [&](lost_time which, std::int64_t time) {
      if (time <= most) return;
      most = time;
      loss = which;
    };
    consider(lost_time::recompute, recompute);
    consider(lost_time::exchange, exchange);
    consider(lost_time::optimizer, optimizer);
    consider(lost_time::bubble, bubble);
    consider(lost_time::waiting, waiting);
    return loss;
  }
  friend constexpr bool operator==(time_shares const&, time_shares const&) = default;
};

/// @brief The memory of the device of one stage.
struct stage_memory {
  std::int64_t state = 0;        ///< bytes of parameters, gradients and optimiser states
  std::int64_t activations = 0;  ///< largest number of bytes of activations and working sets at any time, over all steps and ranks
  std::int64_t budget = 0;       ///< bytes that the plan may use
  /// @brief The peak memory of the stage: states and activations. @return bytes
  [[nodiscard]] constexpr std::int64_t bytes() const noexcept { return state + activations; }
  friend constexpr bool operator==(stage_memory const&, stage_memory const&) = default;
};

/// @brief Stages of a model, and all steps of a data plan on a modelled timeline. Times are in nanoseconds.
struct training_plan {
  ballast::status status = ballast::status::infeasible;  ///< infeasible: there are too few layers, or see `shortage`; unknown, with several
                                                         ///< chunks per stage: no plan was found, and it is not proven that there is none;
                                                         ///< nor is it if infeasible, where the tensors of a framework are counted
  memory_shortage shortage;              ///< how much memory is missing, if that makes it infeasible and stages have one chunk; otherwise 0
  batch_shape mean;                      ///< size of the mean micro-batch, rounded up: stages are balanced for it
  batch_shape largest;                   ///< largest of each number over all micro-batches: memory is planned for it
  joint_stages<> stages;                 ///< partition, options, and figures: time of the mean micro-batch, bytes of the largest
  std::vector<stage_layer> layers;       ///< the layers that were planned: time of the mean micro-batch, bytes of the largest
  std::vector<std::uint64_t> in_flight;  ///< for each stage, the most micro-batches that it holds
  std::vector<std::int64_t> steps;       ///< time of each step: that of its slowest rank, and `end_of_step`
  std::int64_t end_of_step = 0;          ///< time at the end of each step: exchanges and optimiser of the stage that takes longest
  certificate time;                  ///< time of all steps, and a lower bound for any order of the same tasks on the same stages and ranks
  time_shares shares;                ///< where the device-time goes
  std::vector<stage_memory> memory;  ///< memory of each stage
  /// Bytes of each stage that `layers` were planned for: the memory of a device or, where the tensors of a framework are counted, what is
  /// left of it beside all that `layers` do not have; negative if that is more than the memory.
  std::vector<std::int64_t> capacity;

  std::uint64_t slowest_step = 0;  ///< the longest step, the first of equal ones
  std::uint64_t slowest_rank = 0;  ///< the slowest rank of that step
  pipeline_timeline timeline;      ///< timeline of that rank in that step, with its events
  /// Work of the timeline's tasks: `works[micro_batch * v + virtual_stage]` for v virtual stages, which are the stages if the schedule has
  /// one chunk per stage.
  std::vector<stage_work> works;

  /// @brief The mean time of a step. @return milliseconds; 0 if there are no steps
  [[nodiscard]] double step_ms() const noexcept {
    return steps.empty() ? 0.0 : static_cast<double>(time.value) / 1e6 / static_cast<double>(steps.size());
  }
};

}  // namespace ballast::inline v0_2
