// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

/// @file
/// @brief Pipeline schedules as types: which layers a stage has, and for how many micro-batches it holds activations.

namespace ballast::inline v0_2 {

/// @brief The most that a stage holds, in micro-batches of one *chunk* (a chunk is neighbouring layers; a stage has one or more).
struct micro_batches_in_flight {
  std::uint64_t activations = 0;  ///< micro-batches whose forward has begun and whose backward (or its input part, if split) has not ended
  std::uint64_t held = 0;         ///< the same, plus those of which only the weight part is left; at least `activations`
  friend constexpr bool operator==(micro_batches_in_flight const&, micro_batches_in_flight const&) = default;
};

/// @brief A pipeline schedule: chunks per stage, the stage of each virtual stage, whether the backward is split, and micro-batches in
/// flight.
///
/// A model for S stages of v chunks is a chain of S v virtual stages. Stages and virtual stages are numbered from 0.
template <class S>
concept pipeline_schedule = std::copyable<S> && requires(S const& s, std::uint64_t n) {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::splits_backward } -> std::convertible_to<bool>;
  { s.chunks_per_stage() } -> std::convertible_to<std::uint64_t>;
  { s.stage_of(n, n) } -> std::convertible_to<std::uint64_t>;
  { s.in_flight(n, n, n) } -> std::same_as<micro_batches_in_flight>;
};

/// @brief Common members of the schedules with one chunk per stage.
struct one_chunk_a_stage {
  /// @brief Number of chunks of a stage: 1.
  [[nodiscard]] constexpr std::uint64_t chunks_per_stage() const noexcept { return 1; }
  /// @brief The stage of a virtual stage: the same number. @param virtual_stage number of the virtual stage @return the stage
  [[nodiscard]] constexpr std::uint64_t stage_of(std::uint64_t virtual_stage, std::uint64_t /*stages*/) const noexcept {
    return virtual_stage;
  }
  friend constexpr bool operator==(one_chunk_a_stage const&, one_chunk_a_stage const&) = default;
};

/// @brief GPipe: all forwards, then all backwards, the last micro-batch first. Source: Huang et al., "GPipe", arXiv 1811.06965.
struct gpipe_schedule : one_chunk_a_stage {
  static constexpr std::string_view name = "gpipe";  ///< name of the schedule
  static constexpr bool splits_backward = false;     ///< the weight part belongs to the backward
  /// @brief All M micro-batches. @param micro_batches M, number of micro-batches in a step @return the most that any stage holds
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t /*stage*/, std::uint64_t /*stages*/,
                                                            std::uint64_t micro_batches) const noexcept {
    return {micro_batches, micro_batches};
  }
};

/// @brief 1F1B: one forward, one backward after a warm-up of S - s - 1 forwards. Source: Narayanan et al., "PipeDream", arXiv 1806.03377.
struct one_f_one_b_schedule : one_chunk_a_stage {
  static constexpr std::string_view name = "1f1b";  ///< name of the schedule
  static constexpr bool splits_backward = false;    ///< the weight part belongs to the backward
  /// @brief min(M, S - s). @param stage s @param stages S @param micro_batches M @return the most that the stage holds
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t stage, std::uint64_t stages,
                                                            std::uint64_t micro_batches) const noexcept {
    auto const count = (std::min)(micro_batches, stages - stage);
    return {count, count};
  }
};

/// @brief Interleaved 1F1B: stage s has the virtual stages s, S + s, 2 S + s, …; micro-batches advance in groups of S, so M must be a
/// multiple of S.
///
/// Source: Narayanan et al., "Efficient large-scale language model training on GPU clusters using Megatron-LM", arXiv 2104.04473.
struct interleaved_schedule {
  static constexpr std::string_view name = "interleaved";  ///< name of the schedule
  static constexpr bool splits_backward = false;           ///< the weight part belongs to the backward
  std::uint64_t chunks = 2;                                ///< v, number of chunks of a stage, at least 2
  /// @brief Number of chunks of a stage.
  [[nodiscard]] constexpr std::uint64_t chunks_per_stage() const noexcept { return chunks; }
  /// @brief The stage of a virtual stage. @param virtual_stage number of the virtual stage @param stages S @return the stage
  [[nodiscard]] constexpr std::uint64_t stage_of(std::uint64_t virtual_stage, std::uint64_t stages) const noexcept {
    return virtual_stage % stages;
  }
  /// @brief min(M v, 2 (S - s - 1) + (v - 1) S + 1). @param stage s @param stages S @param micro_batches M @return the most that it holds
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t stage, std::uint64_t stages,
                                                            std::uint64_t micro_batches) const noexcept {
    auto const count = (std::min)(micro_batches * chunks, 2 * (stages - stage - 1) + (chunks - 1) * stages + 1);
    return {count, count};
  }
  friend constexpr bool operator==(interleaved_schedule const&, interleaved_schedule const&) = default;
};

/// @brief ZB-H1: 1F1B with a split backward; weight parts fill waiting times. No stage holds more micro-batches than the first
/// stage of 1F1B.
///
/// Source: Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241: ZB-H1.
struct zb1p_schedule : one_chunk_a_stage {
  static constexpr std::string_view name = "zb1p";  ///< name of the schedule
  static constexpr bool splits_backward = true;     ///< the input part and the weight part are separate tasks
  /// @brief min(M, S - s) activations, min(M, S) held. @param stage s @param stages S @param micro_batches M @return the most of each
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t stage, std::uint64_t stages,
                                                            std::uint64_t micro_batches) const noexcept {
    return {(std::min)(micro_batches, stages - stage), (std::min)(micro_batches, stages)};
  }
};

/// @brief ZB-H2: a split backward, and a warm-up of 2 (S - s) - 1 forwards with which no stage waits for its first backward, at twice the
/// memory.
///
/// Source: Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241: ZB-H2.
struct zb2p_schedule : one_chunk_a_stage {
  static constexpr std::string_view name = "zb2p";  ///< name of the schedule
  static constexpr bool splits_backward = true;     ///< the input part and the weight part are separate tasks
  /// @brief min(M, 2 (S - s) - 1) activations, min(M, 2 S - 1) held. @param stage s @param stages S @param micro_batches M
  /// @return the most of each that the stage holds
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t stage, std::uint64_t stages,
                                                            std::uint64_t micro_batches) const noexcept {
    return {(std::min)(micro_batches, 2 * (stages - stage) - 1), (std::min)(micro_batches, 2 * stages - 1)};
  }
};

/// @brief ZB-V: a split backward on two chunks in a V: stage s has the virtual stages s and 2 S - 1 - s, so the loss is on stage 0.
///
/// Source: Qi et al., "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362: ZB-V.
struct zbv_schedule {
  static constexpr std::string_view name = "zbv";  ///< name of the schedule
  static constexpr bool splits_backward = true;    ///< the input part and the weight part are separate tasks
  /// @brief Number of chunks of a stage: 2.
  [[nodiscard]] constexpr std::uint64_t chunks_per_stage() const noexcept { return 2; }
  /// @brief The stage of a virtual stage. @param virtual_stage number of the virtual stage @param stages S @return the stage
  [[nodiscard]] constexpr std::uint64_t stage_of(std::uint64_t virtual_stage, std::uint64_t stages) const noexcept {
    return virtual_stage < stages ? virtual_stage : 2 * stages - 1 - virtual_stage;
  }
  /// @brief 2 min(M, S), all of half a stage each. @param stages S @param micro_batches M @return the most that any stage holds
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t /*stage*/, std::uint64_t stages,
                                                            std::uint64_t micro_batches) const noexcept {
    auto const count = 2 * (std::min)(micro_batches, stages);
    return {count, count};
  }
  friend constexpr bool operator==(zbv_schedule const&, zbv_schedule const&) = default;
};

static_assert(pipeline_schedule<gpipe_schedule> && pipeline_schedule<one_f_one_b_schedule> && pipeline_schedule<interleaved_schedule> &&
              pipeline_schedule<zb1p_schedule> && pipeline_schedule<zb2p_schedule> && pipeline_schedule<zbv_schedule>);

/// @brief A schedule that is chosen at run time; use `std::visit` to reach its type.
using any_schedule = std::variant<gpipe_schedule, one_f_one_b_schedule, interleaved_schedule, zb1p_schedule, zb2p_schedule, zbv_schedule>;

/// @brief Finds a schedule by name: gpipe, 1f1b, interleaved, zb1p, zb2p or zbv.
/// @param name    one of these names
/// @param chunks  number of chunks of a stage, for `interleaved`
/// @return the schedule
/// @throws invalid_input, with a list of the names, for any other name
[[nodiscard]] constexpr any_schedule schedule_named(std::string_view name, std::uint64_t chunks = 2) {
  if (name == gpipe_schedule::name) return gpipe_schedule{};
  if (name == one_f_one_b_schedule::name) return one_f_one_b_schedule{};
  if (name == interleaved_schedule::name) return interleaved_schedule{.chunks = chunks};
  if (name == zb1p_schedule::name) return zb1p_schedule{};
  if (name == zb2p_schedule::name) return zb2p_schedule{};
  if (name == zbv_schedule::name) return zbv_schedule{};
  throw invalid_input("no schedule \"" + std::string(name) + "\"; there are gpipe, 1f1b, interleaved, zb1p, zb2p, zbv");
}

/// @brief The most that a stage holds under a schedule that is chosen at run time.
/// @param schedule       any schedule
/// @param stage          number of the stage, below `stages`
/// @param stages         number of stages of the pipeline
/// @param micro_batches  number of micro-batches in a step
/// @return micro-batches of one chunk
[[nodiscard]] constexpr micro_batches_in_flight in_flight(any_schedule const& schedule, std::uint64_t stage, std::uint64_t stages,
                                                          std::uint64_t micro_batches) {
  return std::visit([&](auto const& s) { return s.in_flight(stage, stages, micro_batches); }, schedule);
}

}  // namespace ballast::inline v0_2
