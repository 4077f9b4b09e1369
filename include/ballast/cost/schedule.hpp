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
/// @brief Pipeline schedules as types: where the layers of a stage stand, and how many micro-batches it has in flight.

namespace ballast::inline v0_2 {

/// @brief What a stage holds at most, in micro-batches of one *chunk* (neighbouring layers; one of the `chunks` of a stage).
struct micro_batches_in_flight {
  std::uint64_t activations = 0;  ///< forward begun, backward (its input part, where split) not ended
  std::uint64_t held = 0;         ///< the same, and those of which only the weight part is left; never below `activations`
  friend constexpr bool operator==(micro_batches_in_flight const&, micro_batches_in_flight const&) = default;
};

/// @brief A schedule: chunks of a stage, the stage of each virtual stage, whether the backward is split, and what is in flight.
///
/// A model that is cut for S stages of v chunks is a chain of S v virtual stages, numbered from 0. Stages are numbered from 0.
template <class S>
concept pipeline_schedule = std::copyable<S> && requires(S const& s, std::uint64_t n) {
  { S::name } -> std::convertible_to<std::string_view>;
  { S::splits_backward } -> std::convertible_to<bool>;
  { s.chunks_per_stage() } -> std::convertible_to<std::uint64_t>;
  { s.stage_of(n, n) } -> std::convertible_to<std::uint64_t>;
  { s.in_flight(n, n, n) } -> std::same_as<micro_batches_in_flight>;
};

/// @brief What schedules have in common whose stages are neighbouring layers.
struct one_chunk_a_stage {
  /// @brief Chunks of a stage.
  [[nodiscard]] constexpr std::uint64_t chunks_per_stage() const noexcept { return 1; }
  /// @brief The stage of a virtual stage. @param virtual_stage its number @return the stage
  [[nodiscard]] constexpr std::uint64_t stage_of(std::uint64_t virtual_stage, std::uint64_t /*stages*/) const noexcept {
    return virtual_stage;
  }
};

/// @brief All forwards, then all backwards, the last micro-batch first. Source: Huang et al., "GPipe", arXiv 1811.06965.
struct gpipe_schedule : one_chunk_a_stage {
  static constexpr std::string_view name = "gpipe";  ///< as users know it
  static constexpr bool splits_backward = false;     ///< the weight part belongs to the backward
  /// @brief All micro-batches. @param micro_batches of a step @return what any stage holds
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t /*stage*/, std::uint64_t /*stages*/,
                                                            std::uint64_t micro_batches) const noexcept {
    return {micro_batches, micro_batches};
  }
};

/// @brief One forward, one backward after a warm-up of S - s - 1 forwards. Source: Narayanan et al., "PipeDream", arXiv 1806.03377.
struct one_f_one_b_schedule : one_chunk_a_stage {
  static constexpr std::string_view name = "1f1b";  ///< as users know it
  static constexpr bool splits_backward = false;    ///< the weight part belongs to the backward
  /// @brief min(M, S - s). @param stage s @param stages S @param micro_batches M @return what the stage holds
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t stage, std::uint64_t stages,
                                                            std::uint64_t micro_batches) const noexcept {
    auto const count = (std::min)(micro_batches, stages - stage);
    return {count, count};
  }
};

/// @brief Interleaved 1F1B: stage s has the virtual stages s, S + s, 2 S + s, …; micro-batches pass in groups of S, so M is a multiple of
/// S.
///
/// Source: Narayanan et al., "Efficient large-scale language model training on GPU clusters using Megatron-LM", arXiv 2104.04473.
struct interleaved_schedule {
  static constexpr std::string_view name = "interleaved";  ///< as users know it
  static constexpr bool splits_backward = false;           ///< the weight part belongs to the backward
  std::uint64_t chunks = 2;                                ///< v, chunks of a stage, at least 2
  /// @brief Chunks of a stage.
  [[nodiscard]] constexpr std::uint64_t chunks_per_stage() const noexcept { return chunks; }
  /// @brief The stage of a virtual stage. @param virtual_stage its number @param stages S @return the stage
  [[nodiscard]] constexpr std::uint64_t stage_of(std::uint64_t virtual_stage, std::uint64_t stages) const noexcept {
    return virtual_stage % stages;
  }
  /// @brief min(M v, 2 (S - s - 1) + (v - 1) S + 1). @param stage s @param stages S @param micro_batches M @return what the stage holds
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t stage, std::uint64_t stages,
                                                            std::uint64_t micro_batches) const noexcept {
    auto const count = (std::min)(micro_batches * chunks, 2 * (stages - stage - 1) + (chunks - 1) * stages + 1);
    return {count, count};
  }
};

/// @brief 1F1B with a split backward: weight parts fill the waits, and no stage holds more micro-batches than the first stage of 1F1B.
///
/// Source: Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241: ZB-H1.
struct zb1p_schedule : one_chunk_a_stage {
  static constexpr std::string_view name = "zb1p";  ///< as users know it
  static constexpr bool splits_backward = true;     ///< input and weight part are tasks of their own
  /// @brief min(M, S - s) activations, min(M, S) held. @param stage s @param stages S @param micro_batches M @return what the stage holds
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t stage, std::uint64_t stages,
                                                            std::uint64_t micro_batches) const noexcept {
    return {(std::min)(micro_batches, stages - stage), (std::min)(micro_batches, stages)};
  }
};

/// @brief A split backward, and a warm-up of 2 (S - s) - 1 forwards that leaves no stage waiting for its first backward, for twice the
/// memory.
///
/// Source: Qi et al., "Zero Bubble Pipeline Parallelism", arXiv 2401.10241: ZB-H2.
struct zb2p_schedule : one_chunk_a_stage {
  static constexpr std::string_view name = "zb2p";  ///< as users know it
  static constexpr bool splits_backward = true;     ///< input and weight part are tasks of their own
  /// @brief min(M, 2 (S - s) - 1) activations, min(M, 2 S - 1) held. @param stage s @param stages S @param micro_batches M
  /// @return what the stage holds
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t stage, std::uint64_t stages,
                                                            std::uint64_t micro_batches) const noexcept {
    return {(std::min)(micro_batches, 2 * (stages - stage) - 1), (std::min)(micro_batches, 2 * stages - 1)};
  }
};

/// @brief A split backward on two chunks laid as a V: stage s has the virtual stages s and 2 S - 1 - s, so the loss is on stage 0.
///
/// Source: Qi et al., "Pipeline Parallelism with Controllable Memory", arXiv 2405.15362: ZB-V.
struct zbv_schedule {
  static constexpr std::string_view name = "zbv";  ///< as users know it
  static constexpr bool splits_backward = true;    ///< input and weight part are tasks of their own
  /// @brief Chunks of a stage.
  [[nodiscard]] constexpr std::uint64_t chunks_per_stage() const noexcept { return 2; }
  /// @brief The stage of a virtual stage. @param virtual_stage its number @param stages S @return the stage
  [[nodiscard]] constexpr std::uint64_t stage_of(std::uint64_t virtual_stage, std::uint64_t stages) const noexcept {
    return virtual_stage < stages ? virtual_stage : 2 * stages - 1 - virtual_stage;
  }
  /// @brief min(2 M, 2 S), half-stage activations all. @param stages S @param micro_batches M @return what any stage holds
  [[nodiscard]] constexpr micro_batches_in_flight in_flight(std::uint64_t /*stage*/, std::uint64_t stages,
                                                            std::uint64_t micro_batches) const noexcept {
    auto const count = 2 * (std::min)(micro_batches, stages);
    return {count, count};
  }
};

static_assert(pipeline_schedule<gpipe_schedule> && pipeline_schedule<one_f_one_b_schedule> && pipeline_schedule<interleaved_schedule> &&
              pipeline_schedule<zb1p_schedule> && pipeline_schedule<zb2p_schedule> && pipeline_schedule<zbv_schedule>);

/// @brief A schedule that is chosen at run time; `std::visit` reaches it.
using any_schedule = std::variant<gpipe_schedule, one_f_one_b_schedule, interleaved_schedule, zb1p_schedule, zb2p_schedule, zbv_schedule>;

/// @brief The schedule of a name: gpipe, 1f1b, interleaved, zb1p, zb2p or zbv.
/// @param name    one of these
/// @param chunks  chunks of a stage, for `interleaved`
/// @return the schedule
/// @throws invalid_input for another name; the sentence lists those there are
[[nodiscard]] constexpr any_schedule schedule_named(std::string_view name, std::uint64_t chunks = 2) {
  if (name == gpipe_schedule::name) return gpipe_schedule{};
  if (name == one_f_one_b_schedule::name) return one_f_one_b_schedule{};
  if (name == interleaved_schedule::name) return interleaved_schedule{.chunks = chunks};
  if (name == zb1p_schedule::name) return zb1p_schedule{};
  if (name == zb2p_schedule::name) return zb2p_schedule{};
  if (name == zbv_schedule::name) return zbv_schedule{};
  throw invalid_input("no schedule \"" + std::string(name) + "\"; there are gpipe, 1f1b, interleaved, zb1p, zb2p, zbv");
}

/// @brief What a stage holds at most under a schedule that is chosen at run time.
/// @param schedule       any
/// @param stage          its number, below `stages`
/// @param stages         of the pipeline
/// @param micro_batches  of a step
/// @return micro-batches of one chunk
[[nodiscard]] constexpr micro_batches_in_flight in_flight(any_schedule const& schedule, std::uint64_t stage, std::uint64_t stages,
                                                          std::uint64_t micro_batches) {
  return std::visit([&](auto const& s) { return s.in_flight(stage, stages, micro_batches); }, schedule);
}

}  // namespace ballast::inline v0_2
