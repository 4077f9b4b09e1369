// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/version.hpp>
#include <ballast/gpu/packing/detail/buffers.cuh>
#include <ballast/packing/runs.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

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
  explicit device_runs(On on) : staged_(on), memory_(on) {}
  /// @brief Queues the copy of a plan, without waiting for work that was queued before on its stream.
  /// @param plan  the plan; it may change after the call returns
  /// @return the error, if any
  [[nodiscard]] error_type upload(pack_runs const& plan) {
    static_assert(std::is_trivially_copyable_v<pack_run> && std::is_trivially_copyable_v<pack_block> && alignof(pack_block) <= 8);
    view_ = {};
    auto const run_bytes = plan.runs.size() * sizeof(pack_run);
    auto const bytes = run_bytes + plan.blocks.size() * sizeof(pack_block);
    if (auto const error = staged_.reserve(bytes); error != error_type{}) return error;
    if (auto const error = memory_.reserve(bytes); error != error_type{}) return error;
    if (bytes != 0) {
      std::memcpy(staged_.template as<std::byte>(), plan.runs.data(), run_bytes);
      std::memcpy(staged_.template as<std::byte>() + run_bytes, plan.blocks.data(), bytes - run_bytes);
      if (auto const error = staged_.upload(memory_.data(), bytes); error != error_type{}) return error;
    }
    view_ = {reinterpret_cast<pack_run const*>(memory_.data()),
             plan.runs.size(),
             reinterpret_cast<pack_block const*>(memory_.data() + run_bytes),
             plan.blocks.size(),
             plan.capacity,
             plan.sample_multiple,
             plan.samples,
             plan.packs};
    return {};
  }
  /// @brief The plan, for work that is queued on the same stream.
  [[nodiscard]] runs_view const& view() const noexcept { return view_; }

 private:
  detail::host_buffer<On> staged_;
  detail::device_buffer<On> memory_;
  runs_view view_;
};

}  // namespace ballast::inline v0_2::gpu
