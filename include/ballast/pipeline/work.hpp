// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

/// @file
/// @brief `stage_work`: times, transfers and bytes of one micro-batch on one virtual stage.

namespace ballast::inline v0_2 {

/// @brief Times and bytes of one micro-batch on one virtual stage; any unit of time, none negative.
struct stage_work {
  std::int64_t forward = 0;     ///< time of the forward
  std::int64_t backward = 0;    ///< time of the input part of the backward, whose gradient the previous virtual stage waits for
  std::int64_t weight = 0;      ///< time of the weight part of the backward; schedules that do not split do it with the input part
  std::int64_t recompute = 0;   ///< time of forward work that is repeated at the start of the backward
  std::int64_t transfer = 0;    ///< time from the end here to the arrival at the next virtual stage; the same for the gradient's way back
  std::int64_t kept = 0;        ///< bytes held from the start of the forward to the end of the backward (of its input part, if split)
  std::int64_t recomputed = 0;  ///< additional bytes of recomputed activations while the backward runs
  std::int64_t residue = 0;     ///< bytes held from the end of the input part to the end of the weight part
  friend constexpr bool operator==(stage_work const&, stage_work const&) = default;
};

/// @brief A pure callable `work(virtual_stage, micro_batch)` that returns the work of a micro-batch on a virtual stage.
template <class W>
concept stage_work_model = std::regular_invocable<W const&, std::uint64_t, std::uint64_t> &&
                           std::convertible_to<std::invoke_result_t<W const&, std::uint64_t, std::uint64_t>, stage_work>;

}  // namespace ballast::inline v0_2
