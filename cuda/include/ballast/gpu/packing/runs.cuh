// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#include <ballast/gpu/packing/detail/buffers.cuh>
#include <ballast/packing/runs.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

/// @file
/// @brief A plan of runs in memory of a backend.

namespace ballast::inline v0_2::gpu {

/// @brief A plan of runs as kernels read it; its members are those of `ballast::pack_runs`.
struct runs_view {
  pack_run const* runs = nullptr;      ///< runs, on the device, ordered by `first`
  std::size_t run_count = 0;           ///< number of runs
  pack_block const* blocks = nullptr;  ///< blocks, on the device, ordered by `first_pack`
  std::size_t block_count = 0;         ///< number of blocks
  std::int64_t capacity = 0;           ///< tokens of one pack
  std::int64_t sample_multiple = 1;    ///< lengths are rounded up to a multiple of this
  std::uint64_t samples = 0;           ///< number of samples
  std::uint64_t packs = 0;             ///< number of packs
};

/// @brief A plan of runs on the device, 48 bytes per run; the next plan reuses its memory.
/// @tparam On  the backend
template <class On>
class device_runs {
 public:
  using error_type = typename On::error_type;  ///< error type of the backend
  /// @brief Makes an object without a plan. @param on the backend
  explicit device_runs(On on) : runs_(on), blocks_(on) {}
  /// @brief Queues the copy of a plan, without waiting for work that was queued before on its stream.
  /// @param plan  the plan; it may change after the call returns
  /// @return the error, if any
  [[nodiscard]] error_type upload(pack_runs const& plan) {
    auto const error = upload_runs(plan.runs);
    return error != error_type{} ? error : upload_rest(plan);
  }
  /// @brief Queues the copy of the runs alone, which a planner has before the rest; `upload_rest` must follow.
  /// @param runs  the runs; they may change after the call returns
  /// @return the error, if any
  [[nodiscard]] error_type upload_runs(std::span<pack_run const> runs) {
    view_ = {.run_count = runs.size()};
    return runs_.upload(runs);
  }
  /// @brief Queues the copy of everything but the runs. @param plan the plan; its `runs` are not read @return the error, if any
  [[nodiscard]] error_type upload_rest(pack_runs const& plan) {
    auto const error = blocks_.upload(plan.blocks);
    if (error == error_type{})
      view_ = {runs_.data(),  view_.run_count,      blocks_.data(), plan.blocks.size(),
               plan.capacity, plan.sample_multiple, plan.samples,   plan.packs};
    return error;
  }
  /// @brief Tells what the next plan is for, so that `expand` returns the size of its scratch memory before there is a plan.
  /// @param samples  number of samples @param capacity  tokens of one pack
  void expect(std::uint64_t samples, std::int64_t capacity) noexcept { view_ = {.capacity = capacity, .samples = samples}; }
  /// @brief The plan, for work that is queued on the same stream.
  [[nodiscard]] runs_view const& view() const noexcept { return view_; }

 private:
  detail::uploaded<pack_run, On> runs_;
  detail::uploaded<pack_block, On> blocks_;
  runs_view view_;
};

}  // namespace ballast::inline v0_2::gpu
