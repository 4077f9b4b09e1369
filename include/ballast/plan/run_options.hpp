// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/curriculum/options.hpp>
#include <ballast/plan/plan_data.hpp>
#include <ballast/plan/step_order.hpp>

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

/// @file
/// @brief Options of `training_run`.

namespace ballast::inline v0_2 {

/// @brief The order in which a training run trains the steps of an epoch, if it is not the order of the plan.
struct run_order {
  curriculum_order order = curriculum_order::ascending_buckets;  ///< such as short samples first
  step_key key = step_key::mean_length;                          ///< what steps are sorted by
  std::uint64_t buckets = 16;                                    ///< for the orders by buckets; at least 1
};

/// @brief Options of `training_run`.
struct run_options {
  data_plan_options data;    ///< shape of a step, over-size policy and seed; `data.steps.epoch` is the first epoch
  std::uint64_t epochs = 1;  ///< at least 1
  /// Steps of an epoch. 0: as many as the plan of the epoch has, which differs a little from epoch to epoch. Otherwise every epoch has
  /// this number: the rest of a pass through the data is carried over into the next epoch, and no sample is trained on more than once more
  /// often than any other.
  std::uint64_t steps_per_epoch = 0;
  /// Tokens of a step if all its micro-batches are full. 0: `data.steps.micro_batches` says how many there are; otherwise it follows from
  /// this, also when the number of ranks changes.
  std::int64_t tokens_per_step = 0;
  std::optional<run_order> order{};  ///< order of the steps within a pass; none: that of the plan
  /// Cuts planning short. The plan is then valid, `training_run::complete` is false, and the hash differs from that of other ranks.
  std::stop_token stop{};
  progress_callback
      progress{};  ///< is told how far the plan of a pass is, as `search_limits::progress` of `plan_steps`; has to outlive the run
};

/// @brief Micro-batches of each rank that make up a step of a number of tokens.
/// @param tokens    tokens of a step if all micro-batches are full
/// @param capacity  tokens of a micro-batch
/// @param ranks     data-parallel ranks
/// @return the number of micro-batches of a rank
/// @throws invalid_input unless the tokens are a positive multiple of `capacity * ranks`; the sentence names the nearest
[[nodiscard]] inline std::uint64_t micro_batches_of(std::int64_t tokens, std::int64_t capacity, std::uint64_t ranks) {
  require(capacity > 0 && ranks > 0 && ranks < std::uint64_t{1} << 20 && capacity <= (std::int64_t{1} << 42),
          [&] { return sentence("capacity = ", capacity, " and ranks = ", ranks, " must be positive"); });
  auto const of_ranks = capacity * static_cast<std::int64_t>(ranks);
  require(tokens >= of_ranks && tokens % of_ranks == 0, [&] {
    auto const below = tokens / of_ranks * of_ranks;
    return sentence("tokens_per_step = ", tokens, " is no multiple of capacity * ranks = ", of_ranks, "; the nearest are ",
                    (below > 0 ? std::to_string(below) + " and " : ""),
                    static_cast<std::uint64_t>(below > 0 ? below : 0) + static_cast<std::uint64_t>(of_ranks));
  });
  return static_cast<std::uint64_t>(tokens / of_ranks);
}

}  // namespace ballast::inline v0_2
