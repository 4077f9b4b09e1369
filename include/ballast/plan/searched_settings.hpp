// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/certificate.hpp>
#include <ballast/core/search_limits.hpp>
#include <ballast/core/status.hpp>
#include <ballast/cost/layer.hpp>
#include <ballast/cost/schedule.hpp>
#include <ballast/plan/training_plan.hpp>
#include <ballast/plan/training_setting.hpp>

#include <cstddef>
#include <cstdint>
#include <stop_token>
#include <vector>

/// @file
/// @brief Data, options and result of `search_degrees`.

namespace ballast::inline v0_2 {

/// @brief The packs of a data set, as a search over degrees sees them.
struct pack_sizes {
  batch_shape mean{};     ///< the mean pack, rounded up
  batch_shape largest{};  ///< of each number the most that a pack may have
  friend constexpr bool operator==(pack_sizes const&, pack_sizes const&) = default;
};

/// @brief Options of `search_degrees`. `gpus`, `memory`, `sequence` and `global_batch` have no default.
///
/// Each list has the values that the search may choose from. An empty list stands for all values that suit the model and divide the
/// devices, as its comment says.
struct search_options {
  std::int64_t gpus = 0;          ///< number of devices of the training, in [1, 2^20]
  std::int64_t memory = 0;        ///< bytes of each device that a setting may use, at least 1
  std::int64_t sequence = 0;      ///< tokens of a pack, at least 1; no sample is longer
  std::int64_t global_batch = 0;  ///< number of packs in a step, over all ranks; at least 1. A setting whose ranks times the packs of a
                                  ///< micro-batch do not divide it is left out, unless none divides it
  std::int64_t tiles = 0;         ///< image tiles of a pack, for vision-language models
  std::vector<std::int64_t> tensor{};          ///< tensor-parallel degrees; empty: up to a node, divisors of the heads and the key heads
  std::vector<std::int64_t> context{};         ///< context-parallel degrees; empty: those that cut a pack into twice as many parts
  std::vector<std::int64_t> expert{};          ///< expert-parallel degrees; empty: divisors of the experts
  std::vector<std::int64_t> vision_tensor{0};  ///< tensor-parallel degrees of a vision tower; 0: that of the language model; empty: all
                                               ///< divisors of it
  std::vector<std::uint64_t> stages{};         ///< numbers of pipeline stages; empty: up to the number of layers
  std::vector<int> zero{1, 2, 3};              ///< ZeRO stages; 2 is tried without a pipeline alone, as frameworks have it
  std::vector<std::int64_t> micro_batch{};     ///< packs of a micro-batch; empty: powers of two
  std::vector<std::uint64_t> chunks{};         ///< chunks of a stage, at least 2, for interleaved schedules; empty: those that give all
                                               ///< chunks equally many layers, with or without embedding and head
  std::vector<any_schedule> schedules{one_f_one_b_schedule{}, interleaved_schedule{}};  ///< where there are several stages; interleaved
                                                                                        ///< ones have the numbers of chunks of `chunks`
  std::size_t keep = 10;                                                                ///< most settings that are returned, at least 1
  std::int64_t packs = 1024;      ///< packs of data that the returned settings are simulated with: at least a step, at least 1
  std::uint64_t max_samples = 0;  ///< most samples in a pack; 0 = no limit
  std::stop_token stop{};         ///< when a stop is requested, the best settings so far are returned
  progress_callback progress{};   ///< is told how many settings of the space are judged
};

/// @brief A setting that fits, with its modelled time.
struct ranked_setting {
  training_setting setting;  ///< degrees, stages, schedule, ZeRO stage and micro-batches
  /// Nanoseconds of `search_options::global_batch` packs in a step of equal micro-batches, all of the mean size: what the search
  /// minimises. A step of a setting that takes more packs counts by the share that these are of its packs, rounded up.
  std::int64_t step = 0;
  training_plan plan{};  ///< stages, recomputation, memory and times: of the data, if there are any, otherwise of such a step
};

/// @brief The result of `search_degrees`.
struct searched_settings {
  ballast::status status = ballast::status::infeasible;  ///< infeasible: no setting of the space fits in memory;
                                                         ///< unknown: none was found before a stop
  std::vector<ranked_setting> ranked{};                  ///< the best settings: one for each choice of TP, CP, EP and stages, fastest first
  certificate step{};          ///< least `ranked_setting::step`, and a lower bound for all settings of the space: equal where the search
                               ///< is complete, as it is a proof
  std::uint64_t settings = 0;  ///< number of settings in the space
  std::uint64_t excluded = 0;  ///< number of those whose lower bound showed that they are not among the best
  std::uint64_t unfit = 0;     ///< number of those that do not fit in memory, with chunks of equal time if a stage has several
  std::uint64_t planned = 0;   ///< number of those that were planned
  /// Number of settings that do not divide `global_batch`. They are left out and not counted above, unless there are no others.
  std::uint64_t indivisible = 0;
  bool per_pack = false;  ///< whether no setting divides `global_batch`: all take more packs a step, and are compared per pack
  bool complete = true;   ///< false if a requested stop ended the search
};

}  // namespace ballast::inline v0_2
