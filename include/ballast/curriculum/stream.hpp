// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/curriculum/detail/valid_sources.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/curriculum/plan_curriculum.hpp>
#include <ballast/curriculum/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief `curriculum_stream`: hands out the steps of several epochs one by one, and resumes at any step.

namespace ballast::inline v0_2 {

/// @brief The state of a `curriculum_stream`: what a checkpoint keeps in order to resume it.
struct curriculum_state {
  std::uint64_t step = 0;         ///< number of steps handed out since the start
  std::uint64_t fingerprint = 0;  ///< hash of the step, the sources and the options, which include the seed
  friend constexpr bool operator==(curriculum_state const&, curriculum_state const&) = default;
};

/// @brief Hands out the steps of several epochs one by one. It keeps the plan of one epoch at a time.
///
/// A restarted trainer makes a stream with the same arguments and calls `resume` with the saved state. The number of epochs may differ, so
/// training can be prolonged.
class curriculum_stream {
 public:
  /// @brief Validates the arguments and plans the first epoch.
  /// @param sources  levels or data sets
  /// @param options  order, warm-up and seed; `options.epoch` is the first epoch
  /// @param epochs   number of epochs; `options.epoch + epochs` must be at most 2^31
  /// @throws invalid_input as `plan_curriculum`, or for too many epochs
  /// @par Complexity
  /// O(epochs * sources + keys), and planning one epoch.
  curriculum_stream(std::vector<curriculum_source> sources, curriculum_options options, std::uint64_t epochs = 1)
      : sources_(std::move(sources)), options_(options), plan_(plan_curriculum(sources_, options_)), fingerprint_(fingerprint()) {
    require(epochs <= detail::most_curriculum_steps && options_.epoch + epochs <= detail::most_curriculum_steps + 1,
            [&] { return "epochs = " + std::to_string(epochs) + " from epoch " + std::to_string(options_.epoch) + " on exceed 2^31"; });
    for (std::uint64_t e = 0; e < epochs; ++e) steps_ += detail::steps_in_epoch(sources_, options_.epoch + e);
  }

  /// @brief Number of steps in all epochs.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  /// @brief Whether all steps have been handed out.
  [[nodiscard]] bool done() const noexcept { return step_ == steps_; }
  /// @brief The plan of the current epoch.
  [[nodiscard]] curriculum_plan const& plan() const noexcept { return plan_; }

  /// @brief Hands out the next step.
  /// @return its source, index, setting and epoch
  /// @throws invalid_input when `done()`
  /// @par Complexity
  /// O(1), except for the first step of an epoch, which plans that epoch.
  [[nodiscard]] curriculum_step next() {
    require(!done(), [&] { return "all " + std::to_string(steps_) + " steps are done"; });
    while (place_ == plan_.size()) turn_to(plan_.epoch + 1);
    ++step_;
    return plan_.at(place_++);
  }

  /// @brief The state to save in a checkpoint.
  [[nodiscard]] curriculum_state state() const noexcept { return {step_, fingerprint_at(step_)}; }

  /// @brief Continues where another stream with the same sources and options was.
  /// @param from  the state of that stream
  /// @throws invalid_input if the state was changed, or that stream had other sources or options, or has handed out more steps than this
  /// stream has; this stream is then unchanged
  /// @par Complexity
  /// O(epochs * sources), and planning one epoch.
  void resume(curriculum_state const& from) {
    require(from.fingerprint == fingerprint_at(from.step),
            [] { return std::string("the state is damaged, or of a stream with other sources or options"); });
    require(from.step <= steps_,
            [&] { return "step = " + std::to_string(from.step) + " is beyond the stream's " + std::to_string(steps_); });
    auto epoch = options_.epoch;
    auto rest = from.step;
    for (std::uint64_t count = 0; rest > (count = detail::steps_in_epoch(sources_, epoch)); ++epoch) rest -= count;
    if (epoch != plan_.epoch) turn_to(epoch);
    place_ = static_cast<std::size_t>(rest);
    step_ = from.step;
  }

 private:
  void turn_to(std::uint64_t epoch) {
    auto o = options_;
    o.epoch = epoch;
    plan_ = plan_curriculum(sources_, o);
    place_ = 0;
  }

  [[nodiscard]] std::uint64_t fingerprint_at(std::uint64_t step) const noexcept {
    fnv1a h;
    h.append(fingerprint_);
    h.append(step);
    return h.value();
  }
  [[nodiscard]] std::uint64_t fingerprint() const {
    fnv1a h;
    for (auto const& source : sources_) {
      h.append(static_cast<std::uint64_t>(source.setting.capacity));
      h.append(source.setting.sp);
      h.append(source.setting.recomputed_layers);
      h.append(source.steps);
      h.append(source.keys.size());
      for (auto key : source.keys) h.append(static_cast<std::uint64_t>(key));
      h.append(source.per_epoch.size());
      for (auto count : source.per_epoch) h.append(count);
    }
    for (auto o : {static_cast<std::uint64_t>(options_.order), options_.warm_up, std::uint64_t{options_.warm_up_share}, options_.buckets,
                   options_.seed, options_.epoch})
      h.append(o);
    return h.value();
  }

  std::vector<curriculum_source> sources_;
  curriculum_options options_;
  curriculum_plan plan_;
  std::uint64_t fingerprint_;  // hash of sources and options
  std::uint64_t steps_ = 0;    // number of steps in all epochs
  std::uint64_t step_ = 0;     // steps handed out
  std::size_t place_ = 0;      // position in the plan of the current epoch
};

}  // namespace ballast::inline v0_2
