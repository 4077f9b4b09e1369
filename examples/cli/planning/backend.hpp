// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "errors.hpp"

#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <cstdint>
#include <span>
#include <string_view>

// Where `pack` packs: here, or on a GPU where the program was built with CUDA. The plan is the same.

namespace ballast_cli {

#if defined(BALLAST_CLI_CUDA)
inline constexpr bool built_with_cuda = true;
#else
inline constexpr bool built_with_cuda = false;
#endif

enum class backend { host, cuda };

struct backend_name {
  ballast_cli::backend backend;
  std::string_view word;
};
inline constexpr backend_name backends[] = {{backend::host, "host"}, {backend::cuda, "cuda"}};

/// Best-fit decreasing on the current GPU; defined where `built_with_cuda`, for 32-bit and 64-bit indices. Throws gpu_failure.
template <class Index>
[[nodiscard]] ballast::packing<Index> pack_on_gpu(std::span<std::int64_t const> lengths, ballast::packing_options const& options);

}  // namespace ballast_cli
