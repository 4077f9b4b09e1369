// SPDX-License-Identifier: Apache-2.0
#include "planning/backend.hpp"

#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/core/on_stream.cuh>
#include <ballast/gpu/packing/best_fit_decreasing.cuh>

#include <cuda_runtime_api.h>

#include <string>

namespace ballast_cli {

template <class Index>
ballast::packing<Index> pack_on_gpu(std::span<std::int64_t const> lengths, ballast::packing_options const& options) try {
  namespace gpu = ballast::gpu;
  gpu::on_stream const on{};
  gpu::array<std::int64_t, gpu::on_stream> const there(on, lengths.size());
  gpu::check(on.upload(there.data(), lengths.data(), lengths.size()), "upload");
  auto const packed = gpu::best_fit_decreasing<Index>(on, there.data(), lengths.size(), options);

  ballast::packing<Index> plan{.status = packed.status, .count = packed.count, .bound = packed.bound, .tokens = packed.tokens};
  plan.packs = {gpu::fetch(on, packed.packs.offsets), gpu::fetch(on, packed.packs.members)};
  return plan;
} catch (ballast::gpu::gpu_error const& e) {
  throw gpu_failure(std::string("--backend cuda: ") + cudaGetErrorString(static_cast<cudaError_t>(e.code())));
}

template ballast::packing<std::uint32_t> pack_on_gpu(std::span<std::int64_t const>, ballast::packing_options const&);
template ballast::packing<std::uint64_t> pack_on_gpu(std::span<std::int64_t const>, ballast::packing_options const&);

}  // namespace ballast_cli
