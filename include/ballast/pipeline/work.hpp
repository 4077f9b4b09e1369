// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

/// @file
/// @brief What one micro-batch costs on one virtual stage: times, transfers and bytes.

namespace ballast::inline v0_2 {

/// @brief Times and bytes of one micro-batch on one virtual stage; any unit of time, none negative.
struct stage_work {
  std::int64_t forward = 0;     ///< time of the forward
  std::int64_t backward = 0;    ///< time of the backward's input part: the gradient that the stage before waits for
  std::int64_t weight = 0;      ///< time of the backward's weight part; joined to the input part by schedules that do not split
  std::int64_t recompute = 0;   ///< time of forward work that is repeated at the start of the backward
  std::int64_t transfer = 0;    ///< time from the end here to the arrival at the next virtual stage, and of the gradient's way back
  std::int64_t kept = 0;        ///< bytes from the start of the forward to the end of the backward (of its input part, where split)
  std::int64_t recomputed = 0;  ///< bytes more while the backward runs: what was recomputed
  std::int64_t residue = 0;     ///< bytes from the end of the input part to the end of the weight part
  friend constexpr bool operator==(stage_work const&, stage_work const&) = default;
};

/// @brief Tells the work of a micro-batch on a virtual stage, called as `work(virtual_stage, micro_batch)`; pure.
template <class W>
concept stage_work_model = std::regular_invocable<W const&, std::uint64_t, std::uint64_t> &&
                           std::convertible_to<std::invoke_result_t<W const&, std::uint64_t, std::uint64_t>, stage_work>;

}  // namespace ballast::inline v0_2
