// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "planning/schedulers.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Schedulers side by side: each plans the same batches, and the same model says how long its plans take.

namespace ballast_cli {

/// What all steps of one scheduler come to. Times are modelled; shares are those of the time of all GPUs.
struct judged_scheduler {
  std::string word, about, randomness;
  std::string policy;                  ///< of its passes
  std::optional<std::string> no_plan;  ///< why there are no figures: a sentence
  std::uint64_t steps = 0, samples = 0, tokens = 0;
  double step_ms = 0;                                        ///< mean over the steps
  double bound_ms = 0;                                       ///< mean lower bound on a step with the samples that it has
  double slowest_over_mean = 1;                              ///< time of the steps over the mean time in which a GPU trains
  double compute = 0, exchange = 0, fixed = 0, waiting = 0;  ///< shares
  std::int64_t most_tokens = 0;                              ///< in a pass of one GPU
  std::int64_t memory_bytes = 0;                             ///< modelled, of a GPU in that pass; 0: not known
  double planner_ms = 0;                                     ///< mean over the steps, of this machine
  double start_ms = 0;                                       ///< of the planner before the first step
  std::uint64_t delayed = 0;                                 ///< samples that came at least one step later
  double token_delay = 0;                                    ///< mean delay of a token, in steps
  std::uint64_t dropped = 0;                                 ///< samples in no step at the end
  std::vector<double> ms_of_steps;
  bool epoch = false;  ///< whether its steps are its own, of the samples of all batches

  [[nodiscard]] double ms_per_token() const { return step_ms * static_cast<double>(steps) / static_cast<double>(tokens); }
  [[nodiscard]] double gap() const { return bound_ms > 0 ? step_ms / bound_ms - 1 : 0; }
};

/// Lower bounds on batches, each computed once.
class batch_bounds {
 public:
  explicit batch_bounds(scheduling_setting const& on) : on_(on) {}
  /// Nanoseconds that no plan of these samples is below.
  [[nodiscard]] std::int64_t operator()(std::span<std::int64_t const> lengths, sample_division division);

 private:
  scheduling_setting on_;
  std::map<std::pair<std::vector<std::int64_t>, sample_division>, std::int64_t> known_;  // by ascending lengths
};

/// Plans `steps` batches of `batch` samples in their order (the last may be smaller) with one scheduler. What it leaves for later is at the
/// front of its next batch. A scheduler of epochs makes steps of its own of all these samples.
[[nodiscard]] judged_scheduler judge(scheduler const& by, std::span<std::int64_t const> lengths, std::uint64_t batch, std::uint64_t steps,
                                     scheduling_setting const& on, batch_bounds& bounds);

/// Times batches that were planned elsewhere, with indices of the data as samples. Each must pass the validator: throws bad_input, naming
/// `name` and the batch. Samples of the first `steps` batches that are in none are dropped.
[[nodiscard]] judged_scheduler judge(std::string const& name, std::span<ballast::shards<> const> plan,
                                     std::span<std::int64_t const> lengths, std::uint64_t batch, std::uint64_t steps,
                                     scheduling_setting const& on, batch_bounds& bounds);

}  // namespace ballast_cli
