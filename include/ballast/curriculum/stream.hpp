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
/// @brief Epoch after epoch, step by step, from any step.

namespace ballast::inline v0_2 {

/// @brief How far training is: all that a checkpoint needs to keep of its curriculum.
struct curriculum_state {
  std::uint64_t step = 0;         ///< steps trained since it began
  std::uint64_t fingerprint = 0;  ///< of the sources and options, seed among them
  friend constexpr bool operator==(curriculum_state const&, curriculum_state const&) = default;
};

/// @brief Hands out the steps of several epochs one by one and holds the plan of one epoch at a time.
///
/// A restarted trainer gives the same arguments and the state it has saved. More epochs than before are allowed, so training can be
/// prolonged.
class curriculum_stream {
 public:
  /// @brief Checks the arguments and plans the first epoch.
  /// @param sources  levels or data sets
  /// @param options  order, warm-up and seed; `epoch` is the first
  /// @param epochs   how many there are; `options.epoch + epochs` is at most 2^31
  /// @throws invalid_input as `plan_curriculum`, or for too many epochs
  /// @par Complexity
  /// O(epochs * sources + keys), and planning one epoch.
  curriculum_stream(std::vector<curriculum_source> sources, curriculum_options options, std::uint64_t epochs = 1)
      : sources_(std::move(sources)), options_(options), plan_(plan_curriculum(sources_, options_)), fingerprint_(fingerprint()) {
    require(epochs <= detail::most_curriculum_steps && options_.epoch + epochs <= detail::most_curriculum_steps + 1,
            [&] { return "epochs = " + std::to_string(epochs) + " from epoch " + std::to_string(options_.epoch) + " on exceed 2^31"; });
    for (std::uint64_t e = 0; e < epochs; ++e) steps_ += detail::steps_in_epoch(sources_, options_.epoch + e);
  }

  /// @brief Number of steps of all epochs.
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  /// @brief Whether all steps have been handed out.
  [[nodiscard]] bool done() const noexcept { return step_ == steps_; }
  /// @brief The plan of the epoch at hand.
  [[nodiscard]] curriculum_plan const& plan() const noexcept { return plan_; }

  /// @brief The next step.
  /// @return its source, index, setting and epoch
  /// @throws invalid_input when `done()`
  /// @par Complexity
  /// O(1), but for the first step of an epoch, which plans it.
  [[nodiscard]] curriculum_step next() {
    require(!done(), [&] { return "all " + std::to_string(steps_) + " steps are done"; });
    while (place_ == plan_.size()) turn_to(plan_.epoch + 1);
    ++step_;
    return plan_.at(place_++);
  }

  /// @brief What to save in a checkpoint.
  [[nodiscard]] curriculum_state state() const noexcept { return {step_, fingerprint_}; }

  /// @brief Goes on where another stream of the same arguments stood.
  /// @param from  its state
  /// @throws invalid_input if its sources or options were others, or it has more steps than this one; this stream then stays where it is
  /// @par Complexity
  /// O(epochs * sources), and planning one epoch.
  void resume(curriculum_state const& from) {
    require(from.fingerprint == fingerprint_, [] { return std::string("the state is of a stream with other sources or options"); });
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
  std::uint64_t fingerprint_;  // of sources and options
  std::uint64_t steps_ = 0;    // of all epochs
  std::uint64_t step_ = 0;     // handed out
  std::size_t place_ = 0;      // in the plan at hand
};

}  // namespace ballast::inline v0_2
